//! One stream at a cache agent: its packets are kept, fetched, repaired and acknowledged.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;

use groupflow_base::ranges::Ranges;
use groupflow_base::{Dest, Nanos, Transmit};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::repair::{Recipient, Repairs};
use super::report::{StreamCounters, StreamStats};
use super::requesters::{LagChange, Requesters};
use super::store::{Cached, PacketStore};
use crate::acks::Acknowledger;
use crate::ids::{MemberId, Seq, SessionId};
use crate::nack::{Nack, PacketRange};
use crate::requests::Requests;
use crate::terms::{Mode, Policy, Share, Terms};
use crate::wire::{Flags, GroupPacket, Header, Kind};

/// An agent asks after this time, which is sooner than the receivers behind it.
const NACK_DELAY: (Nanos, Nanos) = (Nanos::from_millis(1), Nanos::from_millis(3));
/// An agent that first hears of a stream at or before this packet assumes that earlier packets were lost,
/// and not that it has come in the middle.
const EARLY: Seq = Seq(4096);
/// A packet further ahead than this is damaged.
const AHEAD_MAX: u32 = 1 << 20;
/// The most packets of one NACK that are answered.
const NACK_BOUND: u32 = 1024;
/// The most ranges of packets that found no room.
const UNSTORED_BOUND: usize = 4096;
/// The most packets that pass through without being kept.
const PASSING_BOUND: usize = 256;
/// The most requesters that wait to hear where the stream is.
const PROBERS_BOUND: usize = 64;
/// Time between two questions to upstream, at least.
const PROBE_PAUSE: Nanos = Nanos::from_millis(200);
/// How often stale requests are looked for.
const EXPIRY: Nanos = Nanos::from_millis(500);

#[derive(Debug)]
pub(super) struct StreamCache {
    session: SessionId,
    source: MemberId,
    pub(super) terms: Terms,
    pub(super) delegated: bool,
    pub(super) store: PacketStore,
    pub(super) counters: StreamCounters,
    pub(super) last_heard: Nanos,
    pub(super) requesters: Requesters,
    requests: Requests,
    repairs: Repairs,
    acks: Acknowledger,
    /// Every branch has the packets below this one.
    branch_min: Option<Seq>,
    /// From this packet on the agent knows which packets are missing.
    origin: Option<Seq>,
    highest: Seq,
    fin: Option<Seq>,
    /// Packets that arrived and for which there was no room.
    unstored: Ranges,
    /// Packets fetched for a requester while there was no room; they go out at once.
    passing: BTreeMap<u32, Cached>,
    expiry_due: Nanos,
    /// Hosts that asked where the stream is.
    probers: Vec<SocketAddrV4>,
    probe_upstream: bool,
    probed: Option<Nanos>,
}

impl StreamCache {
    pub(super) fn new(now: Nanos, session: SessionId, source: MemberId) -> StreamCache {
        StreamCache {
            session,
            source,
            terms: Terms::default(),
            delegated: false,
            store: PacketStore::default(),
            counters: StreamCounters::default(),
            last_heard: now,
            requesters: Requesters::default(),
            requests: Requests::default(),
            repairs: Repairs::default(),
            acks: Acknowledger::new(Seq::FIRST),
            branch_min: None,
            origin: None,
            highest: Seq::ZERO,
            fin: None,
            unstored: Ranges::default(),
            passing: BTreeMap::new(),
            expiry_due: now,
            probers: Vec::new(),
            probe_upstream: false,
            probed: None,
        }
    }

    pub(super) fn delegate(&mut self, terms: Terms, shares: &[Share]) {
        self.terms = terms.bounded();
        self.delegated = true;
        self.repairs.set_shares(shares);
    }

    /// Whether a DATA or REPAIR is new here and worth keeping.
    pub(super) fn lacks(&self, seq: Seq) -> bool {
        !self.store.contains(seq) && (self.origin.is_none() || seq.since(self.highest) <= AHEAD_MAX)
    }

    /// Handles a DATA or REPAIR; `room` tells whether it may be kept.
    pub(super) fn on_packet(
        &mut self, now: Nanos, packet: &GroupPacket<'_>, room: bool, rng: &mut ChaCha8Rng,
    ) {
        let header = packet.header;
        let seq = header.seq;
        let own = PacketRange { first: seq, last: seq };
        if header.flags.has(Flags::GONE) {
            // The packet went to the whole group, and so to the requesters that wait here.
            self.requests.forget(own);
            self.repairs.seen_by_all(now, seq);
            return;
        }
        self.reach(now, seq, rng);
        self.highest = self.highest.max(seq);
        self.requests.arrived(now, seq, header.is_to_one());
        if header.flags.has(Flags::FIN) {
            self.fin = Some(seq);
        }
        if !self.store.contains(seq) {
            if room {
                self.store.insert(seq, header.flags, packet.payload);
                self.unstored.remove(own.numbers());
            } else if Some(seq) >= self.branch_min {
                self.unstored.insert_within(own.numbers(), UNSTORED_BOUND);
            }
        }
        if header.is_to_one() {
            self.pass_on(now, packet);
        } else {
            self.repairs.seen_by_all(now, seq);
        }
        if header.kind == Kind::Data {
            self.acks.observe(now, &header, rng);
        }
    }

    /// Handles a packet that came to this agent alone: its requesters get it, kept or not.
    fn pass_on(&mut self, now: Nanos, packet: &GroupPacket<'_>) {
        let Header { seq, flags, .. } = packet.header;
        if !self.repairs.awaits(seq) {
            return;
        }
        if !self.store.contains(seq) && self.passing.len() < PASSING_BOUND {
            let payload = packet.payload.into();
            self.passing.insert(seq.0, Cached { flags, payload });
        }
        self.repairs.fetched(now, seq);
    }

    pub(super) fn on_sync(&mut self, now: Nanos, header: &Header, rng: &mut ChaCha8Rng) {
        if header.seq == Seq::ZERO && self.origin.is_none() {
            self.origin = Some(Seq::FIRST);
        } else if self.origin.is_none() || header.seq.since(self.highest) <= AHEAD_MAX {
            self.reach(now, header.seq.next(), rng);
        }
        self.acks.observe(now, header, rng);
    }

    /// Notes that the stream has come to packet `seq`: earlier packets that have not arrived are missing.
    fn reach(&mut self, now: Nanos, seq: Seq, rng: &mut ChaCha8Rng) {
        let delay = Nanos(rng.gen_range(NACK_DELAY.0 .0..=NACK_DELAY.1 .0));
        if self.origin.is_none() {
            let origin = if seq <= EARLY { Seq::FIRST } else { seq };
            self.origin = Some(origin);
            self.highest = origin.prev();
        }
        if seq > self.highest.next() {
            let first = self.highest.next().max(self.branch_min.unwrap_or(Seq::ZERO));
            self.requests.add(PacketRange { first, last: seq.prev() }, now + delay);
        }
        self.highest = self.highest.max(seq.prev());
    }

    /// Handles the switch's report of how far all its branches are.
    pub(super) fn on_branches(&mut self, now: Nanos, header: &Header) {
        let value = header.seq;
        let known = self.branch_min;
        // Only the answer to a poll tells the current value; others may have been overtaken.
        if known.is_some_and(|min| value < min) && !header.flags.has(Flags::FORCED) {
            return;
        }
        if value.since(self.highest) > AHEAD_MAX && self.origin.is_some() {
            return;
        }
        if let Some(origin) = self.origin.filter(|&origin| value < origin) {
            // This agent joined in the middle of the stream: the branches still need earlier packets.
            self.requests.add(PacketRange { first: value.max(Seq::FIRST), last: origin.prev() }, now);
            self.origin = Some(value.max(Seq::FIRST));
        }
        let passed = PacketRange { first: known.unwrap_or(Seq::ZERO), last: value.prev() };
        if passed.first <= passed.last {
            self.requests.forget(passed);
            self.unstored.remove_below(value.0.into());
        }
        self.branch_min = Some(value);
        self.store.set_floor(value);
        self.highest = self.highest.max(value.prev());
        if self.origin.is_none() {
            self.origin = Some(value);
        }
    }

    pub(super) fn on_nack(
        &mut self, now: Nanos, from: SocketAddrV4, member: MemberId, nack: &Nack, rng: &mut ChaCha8Rng,
    ) -> Option<LagChange> {
        self.counters.requests += 1;
        let delay = Nanos(rng.gen_range(NACK_DELAY.0 .0..=NACK_DELAY.1 .0));
        let mut budget = NACK_BOUND;
        'ranges: for range in &nack.ranges {
            let last = range.last.min(range.first.forward(budget.saturating_sub(1)));
            if budget == 0 || last.since(self.highest) > AHEAD_MAX {
                break;
            }
            budget -= PacketRange { first: range.first, last }.count();
            // The requester may know of packets that never reached this agent.
            if last > self.highest {
                self.reach(now, last.next(), rng);
            }
            for seq in (range.first.0..=last.0).map(Seq) {
                let here = self.store.contains(seq);
                if !self.repairs.request(now, seq, from, here, self.terms.rate) {
                    self.counters.over_budget += 1;
                    break 'ranges;
                }
                if !here && self.repairs.awaits(seq) {
                    self.requests.add(PacketRange { first: seq, last: seq }, now + delay);
                }
            }
        }
        if nack.ranges.is_empty() {
            self.on_probe(now, from);
        }
        let behind = self.highest.next().since(nack.next);
        self.requesters.asked(now, from, member, behind, self.terms.window)
    }

    /// Handles a question about the stream's position: answers it, or asks upstream.
    fn on_probe(&mut self, now: Nanos, from: SocketAddrV4) {
        if self.highest == Seq::ZERO {
            if !self.probed.is_some_and(|at| now < at + PROBE_PAUSE) {
                self.probed = Some(now);
                self.probe_upstream = true;
            }
        } else if self.probers.len() < PROBERS_BOUND && !self.probers.contains(&from) {
            self.probers.push(from);
        }
    }

    pub(super) fn stats(&self) -> StreamStats {
        StreamStats {
            session: self.session,
            source: self.source,
            cache_bytes: self.store.promised,
            cache_peak_bytes: self.store.promised_peak,
            stored_bytes: self.store.bytes,
            packets: self.store.len() as u64,
            highest: self.highest,
            contiguous: self.contiguous(),
            branch_min: self.branch_min,
            acked: self.acks.value,
            active: self.delegated,
            mode: self.terms.mode,
            policy: self.terms.policy,
            counters: self.counters,
            slow: self.requesters.slow(),
        }
    }

    /// The agent has every packet below this one, or it is no longer needed.
    fn contiguous(&self) -> Seq {
        let from = self.needed_from();
        let missing = self.requests.first_from(from);
        let unstored = self.unstored.first().map(|range| Seq(range.start as u32)).filter(|&seq| seq >= from);
        let here = self.highest.next();
        [missing, unstored].into_iter().flatten().fold(here, Seq::min).max(from)
    }

    fn needed_from(&self) -> Seq {
        self.branch_min.or(self.origin).unwrap_or(Seq::FIRST)
    }

    /// Whether this agent acknowledges by itself, or its switch does.
    fn acknowledges(&self) -> bool {
        let Terms { mode, policy, .. } = self.terms;
        self.delegated && (mode, policy) != (Mode::EndToEnd, Policy::Strict)
    }

    /// Brings the acknowledgement up to date; `room` tells whether another window of packets would fit.
    pub(super) fn acknowledge(&mut self, now: Nanos, room: bool) {
        let began_here = self.origin == Some(Seq::FIRST);
        if !self.acknowledges() || (self.branch_min.is_none() && !began_here) {
            return;
        }
        let min = self.branch_min.unwrap_or(Seq::FIRST);
        let contiguous = self.contiguous();
        let window = self.terms.window;
        let value = match (self.terms.mode, self.terms.policy) {
            (Mode::NodeToNode, Policy::Isolate) => contiguous,
            (Mode::NodeToNode, Policy::Strict) => contiguous.min(min.forward(window / 2)),
            // The stream waits for a branch that is up to half a window behind; the cache makes up for a
            // longer lag. A wait of more than a window would close the sender's window, and isolate no
            // branch.
            (Mode::EndToEnd, _) => min.max(contiguous.back(window / 2)),
        };
        // Without room, only packets that no longer need room are acknowledged.
        let value = if room { value } else { value.min(min) };
        let value = match self.fin {
            Some(fin) if min <= fin => value.min(fin),
            _ => value,
        };
        self.acks.advance(now, value);
        if self.fin.is_some_and(|fin| value > fin && self.acks.unsent()) {
            self.acks.hurry(now);
        }
    }

    /// The next packet to send. `member` is the agent's own id.
    pub(super) fn poll_transmit(&mut self, now: Nanos, member: MemberId) -> Option<Transmit> {
        if now >= self.expiry_due {
            self.expire(now);
        }
        let header = |kind| Header { member, ..Header::new(kind, self.session, self.source) };
        if self.acknowledges() && member != MemberId::NONE {
            if let Some(ack) = self.acks.poll_transmit(now, header(Kind::Ack)) {
                return Some(ack.to_group(&[]));
            }
        }
        if let Some(ranges) = Some(self.requests.take_due(now)).filter(|ranges| !ranges.is_empty()) {
            self.counters.upstream_nacks += 1;
            let seq = ranges.first().map_or(Seq::ZERO, |range| range.first);
            let nack = Nack { next: self.contiguous(), ranges };
            return Some(Header { seq, ..header(Kind::Nack) }.to_group(&nack.encode()));
        }
        if std::mem::take(&mut self.probe_upstream) {
            let nack = Nack { next: self.contiguous(), ranges: Vec::new() };
            return Some(header(Kind::Nack).to_group(&nack.encode()));
        }
        let lagging = self.requesters.poll_sync(now, self.highest);
        if let Some(address) = self.probers.pop().or(lagging) {
            let sync = Header { seq: self.highest, poll: self.acks.poll, ..header(Kind::Sync) };
            return Some(Transmit { dest: Dest::Host(address), bytes: sync.encode(&[]) });
        }
        self.poll_repair(now, header(Kind::Repair))
    }

    fn poll_repair(&mut self, now: Nanos, header: Header) -> Option<Transmit> {
        loop {
            let (seq, recipient) = self.repairs.poll(now, self.terms.rate)?;
            let passing = self.passing.remove(&seq.0);
            let Some(cached) = passing.as_ref().or_else(|| self.store.get(seq)) else { continue };
            let flags = cached.flags.only(Flags::FIN.with(Flags::BOUNDARY));
            let (dest, flags) = match recipient {
                Recipient::One(address) => (Dest::Host(address), flags),
                Recipient::All => (Dest::Group(self.session.group()), flags.with(Flags::RETX)),
            };
            match recipient {
                Recipient::One(_) => self.counters.repairs_unicast += 1,
                Recipient::All => self.counters.repairs_multicast += 1,
            }
            let bytes = Header { seq, flags, ..header }.encode(&cached.payload);
            return Some(Transmit { dest, bytes });
        }
    }

    /// Requesters no longer wait for old packets that do not come.
    fn expire(&mut self, now: Nanos) {
        self.expiry_due = now + EXPIRY;
        self.passing.retain(|&seq, _| self.repairs.awaits(Seq(seq)));
        let needed = self.needed_from();
        for seq in self.repairs.expire(now) {
            if seq < needed {
                self.requests.forget(PacketRange { first: seq, last: seq });
            }
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Nanos> {
        let acks = self.acks.next_deadline().filter(|_| self.acknowledges());
        let requests = self.requests.next_deadline();
        let expiry = (!self.requests.is_empty()).then_some(self.expiry_due);
        let sync = self.requesters.next_deadline(self.highest);
        let probe = (self.probe_upstream || !self.probers.is_empty()).then_some(Nanos::ZERO);
        [probe, acks, requests, expiry, sync, self.repairs.next_deadline()].into_iter().flatten().min()
    }

    /// Bytes that this stream may take.
    pub(super) fn bound(&self) -> u64 {
        match self.terms.max_bytes {
            0 => u64::MAX,
            bound => bound,
        }
    }
}
