//! The agent beside a switch: keeps packets of every stream that its switch is asked to cache,
//! within one byte bound, repairs from them, and acknowledges upstream where it is told to.
//!
//! Nothing that some branch still lacks is ever dropped. At the bound, new packets are not kept
//! and not acknowledged, which closes the sender's window.

use std::collections::{BTreeMap, VecDeque};

use groupflow_base::{Datagram, Nanos, Transmit};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::cache_report::{stream_stats, CacheEvent, CacheStats, StreamCounters, StreamStats};
use crate::control::{
    Answer, Delegated, LeaveReason, Query, Reply, Report, ReportKind, Request, RequestId, Role, StartAt,
};
use crate::ids::{MemberId, Seq, SessionId};
use crate::member::{Member, MemberConfig, MemberEvent, State};
use crate::nack::Nack;
use crate::outbox::Outbox;
use crate::stream_cache::Terms;
use crate::stream_table::{StreamKey, StreamTable};
use crate::wire::{Header, Kind, Packet, WireError};

/// A stream the controller never delegated is forgotten after this silence.
const STRAY: Nanos = Nanos::from_secs(60);
/// The controller did not know a stream: ask again after this.
const QUERY_AGAIN: Nanos = Nanos::from_secs(1);
/// No answer at all.
const QUERY_ANEW: Nanos = Nanos::from_secs(5);
/// Housekeeping.
const TICK: Nanos = Nanos::from_secs(1);

/// The agent beside a switch.
#[derive(Debug, Clone)]
pub struct CacheConfig {
    /// The agent's name.
    pub name: String,
    /// Its token, if agents need one.
    pub token: String,
    /// Bytes over all streams.
    pub max_bytes: u64,
    /// Seeds the random delays.
    pub seed: u64,
}

/// A stream the controller was asked about.
#[derive(Debug, Clone, Copy)]
struct Queried {
    request: RequestId,
    /// Ask anew, unless answered: the outbox may have had to drop the request.
    again_at: Nanos,
}

/// A cache agent.
#[derive(Debug)]
pub struct CacheAgent {
    member: Member,
    rng: ChaCha8Rng,
    streams: StreamTable,
    /// Requests about streams, apart from the membership's.
    outbox: Outbox,
    queries: BTreeMap<StreamKey, Queried>,
    full: bool,
    /// Counters of streams that were forgotten.
    past: StreamCounters,
    tick_due: Nanos,
    events: VecDeque<CacheEvent>,
}

impl CacheAgent {
    /// An agent that makes itself known at once.
    pub fn new(now: Nanos, config: CacheConfig) -> CacheAgent {
        let mut rng = ChaCha8Rng::seed_from_u64(config.seed);
        let first_request: u32 = rng.gen();
        let mut member = Member::new(MemberConfig {
            session: SessionId(0),
            source: MemberId::NONE,
            role: Role::Cache,
            start: StartAt::Now,
            name: config.name,
            token: config.token,
            port: 0,
            patience: None,
            first_request,
        });
        member.join(now);
        CacheAgent {
            member,
            rng,
            streams: StreamTable::new(config.max_bytes),
            // Half the number space away from the membership's ids: they never meet.
            outbox: Outbox::new(first_request ^ 0x8000_0000),
            queries: BTreeMap::new(),
            full: false,
            past: StreamCounters::default(),
            tick_due: now + TICK,
            events: VecDeque::new(),
        }
    }

    /// Takes a datagram in. What is no group packet is refused.
    pub fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), WireError> {
        let packet = Packet::parse(datagram.bytes)?;
        let header = packet.header;
        match header.kind {
            Kind::Reply => self.on_reply(now, &Reply::parse(packet.payload)?),
            Kind::Data | Kind::Repair | Kind::Sync | Kind::Ack | Kind::Nack => {
                if header.session.0 == 0 || header.source == MemberId::NONE {
                    return Err(WireError::Value { field: "source", value: header.source.0.into() });
                }
                let stream_packet = matches!(header.kind, Kind::Data | Kind::Repair);
                if header.seq > Seq::LAST.next() || (stream_packet && header.seq == Seq::ZERO) {
                    return Err(WireError::Value { field: "seq", value: header.seq.0.into() });
                }
                self.on_stream(now, datagram, &packet)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn on_stream(
        &mut self,
        now: Nanos,
        datagram: Datagram<'_>,
        packet: &Packet<'_>,
    ) -> Result<(), WireError> {
        let header = packet.header;
        let key = (header.session, header.source);
        let nack = match header.kind {
            Kind::Nack => Some(Nack::parse(packet.payload)?),
            _ => None,
        };
        let known = self.streams.contains(key);
        if !self.streams.ensure(now, key) {
            return Ok(());
        }
        if !known {
            self.query(now, key);
        }
        let data = matches!(header.kind, Kind::Data | Kind::Repair);
        let room = data && self.streams.make_room(key, packet);
        let rng = &mut self.rng;
        let change = self.streams.with(key, |stream| {
            stream.last_heard = now;
            match (header.kind, &nack) {
                (Kind::Data | Kind::Repair, _) => stream.on_packet(now, packet, room, rng),
                (Kind::Sync, _) => stream.on_sync(now, &header, rng),
                (Kind::Ack, _) if header.member == MemberId::NONE => stream.on_branches(now, &header),
                (_, Some(nack)) => return stream.on_nack(now, datagram.from, header.member, nack, rng),
                _ => {}
            }
            None
        });
        self.acknowledge(now, key);
        if let Some(change) = change.flatten() {
            let kind = if change.slow { ReportKind::SlowBranch } else { ReportKind::CaughtUp };
            self.report(now, key, kind, change.member, change.behind);
        }
        Ok(())
    }

    /// Acknowledges what can be, and notices when the bound is reached or left.
    fn acknowledge(&mut self, now: Nanos, key: StreamKey) {
        let room = self.streams.room_for_window(key);
        self.streams.with(key, |stream| stream.acknowledge(now, room));
        if room == self.full {
            self.full = !room;
            self.events.push_back(if room { CacheEvent::Room } else { CacheEvent::Full });
            let kind = if room { ReportKind::CacheRoom } else { ReportKind::CacheFull };
            let kib = u32::try_from(self.streams.promised() / 1024).unwrap_or(u32::MAX);
            self.report(now, key, kind, MemberId::NONE, kib);
        }
    }

    fn on_reply(&mut self, now: Nanos, reply: &Reply) {
        let ours = self.outbox.answered(reply.request);
        match &reply.answer {
            Answer::Delegated(delegated) => self.on_delegated(now, delegated),
            Answer::Unknown | Answer::Refused { .. } if ours => {
                for queried in self.queries.values_mut().filter(|q| q.request == reply.request) {
                    queried.again_at = now + QUERY_AGAIN;
                }
            }
            _ if ours => {}
            _ => {
                self.member.handle(now, reply);
                self.member_events();
            }
        }
    }

    fn on_delegated(&mut self, now: Nanos, delegated: &Delegated) {
        let key = (delegated.session, delegated.source);
        if !delegated.active {
            return self.forget(key);
        }
        if !self.streams.ensure(now, key) {
            return;
        }
        if let Some(queried) = self.queries.remove(&key) {
            self.outbox.answered(queried.request);
        }
        self.streams.with(key, |stream| {
            stream.terms = Terms::from(delegated);
            stream.delegated = true;
        });
        self.acknowledge(now, key);
    }

    fn forget(&mut self, key: StreamKey) {
        if let Some(queried) = self.queries.remove(&key) {
            self.outbox.answered(queried.request);
        }
        if let Some(stream) = self.streams.remove(key) {
            self.past.add(stream.counters);
        }
    }

    fn query(&mut self, now: Nanos, key: StreamKey) {
        let request = self.outbox.next_id();
        let header = self.header(Kind::Query, key);
        self.outbox.push(now, request, header, &Request::Query(Query { request }));
        let again_at = now + QUERY_ANEW;
        if let Some(old) = self.queries.insert(key, Queried { request, again_at }) {
            self.outbox.answered(old.request);
        }
    }

    fn report(&mut self, now: Nanos, key: StreamKey, kind: ReportKind, about: MemberId, value: u32) {
        let request = self.outbox.next_id();
        let report = Report { kind, about, value, request };
        let header = self.header(Kind::Report, key);
        self.outbox.push(now, request, header, &Request::Report(report));
    }

    fn header(&self, kind: Kind, key: StreamKey) -> Header {
        Header { member: self.member.id(), ..Header::new(kind, key.0, key.1) }
    }

    fn member_events(&mut self) {
        for event in self.member.events() {
            let event = match event {
                MemberEvent::Joined { joined, again, took } => CacheEvent::Joined { joined, again, took },
                MemberEvent::Refused { code, text } => CacheEvent::Refused { code, text },
                MemberEvent::ControllerSilent(quiet) => CacheEvent::ControllerSilent(quiet),
                MemberEvent::ControllerBack => CacheEvent::ControllerBack,
                MemberEvent::Left => CacheEvent::Left,
                MemberEvent::JoinTimeout | MemberEvent::Notice(_) | MemberEvent::Receivers(_) => continue,
            };
            self.events.push_back(event);
        }
    }

    /// The next packet to send.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        if now >= self.tick_due {
            self.tick(now);
        }
        if let Some(transmit) = self.member.poll_transmit(now).or_else(|| self.outbox.poll_transmit(now)) {
            return Some(transmit);
        }
        self.member_events();
        let id = self.member.id();
        self.streams.poll(now, |stream| stream.poll_transmit(now, id))
    }

    fn tick(&mut self, now: Nanos) {
        self.tick_due = now + TICK;
        let is_due = |q: &Queried| q.again_at <= now;
        let again: Vec<StreamKey> =
            self.queries.iter().filter(|(_, q)| is_due(q)).map(|(&key, _)| key).collect();
        for key in again {
            self.query(now, key);
        }
        let is_stray = |last: Nanos, delegated: bool| !delegated && now - last > STRAY;
        let stray: Vec<StreamKey> = self
            .streams
            .iter()
            .filter(|(_, s)| is_stray(s.last_heard, s.delegated))
            .map(|(key, _)| key)
            .collect();
        for key in stray {
            self.forget(key);
        }
        let kib = u32::try_from(self.streams.stored() / 1024).unwrap_or(u32::MAX);
        let counters = self.counters();
        let repairs = counters.repairs_unicast + counters.repairs_multicast;
        self.member.set_position(kib, u32::try_from(repairs).unwrap_or(u32::MAX));
    }

    /// When [`CacheAgent::poll_transmit`] has something to do next.
    pub fn next_deadline(&self) -> Option<Nanos> {
        let (member, outbox) = (self.member.next_deadline(), self.outbox.next_deadline());
        [member, outbox, Some(self.tick_due), self.streams.next_deadline()].into_iter().flatten().min()
    }

    /// Leaves.
    pub fn leave(&mut self, now: Nanos) {
        self.member.leave(now, LeaveReason::Done);
    }

    /// What happened since the last call.
    pub fn events(&mut self) -> impl Iterator<Item = CacheEvent> + '_ {
        self.events.drain(..)
    }

    /// Whether the membership has ended.
    pub fn over(&self) -> bool {
        self.member.state() == State::Over
    }

    fn counters(&self) -> StreamCounters {
        let mut all = self.past;
        for (_, stream) in self.streams.iter() {
            all.add(stream.counters);
        }
        all
    }

    /// Figures for reports.
    pub fn stats(&self) -> CacheStats {
        let streams: Vec<StreamStats> = self.streams.iter().map(|(key, s)| stream_stats(key, s)).collect();
        CacheStats {
            cache_bytes: self.streams.promised(),
            cache_peak_bytes: self.streams.promised_peak(),
            stored_bytes: self.streams.stored(),
            stored_peak_bytes: self.streams.stored_peak(),
            max_bytes: self.streams.max_bytes(),
            full: self.full,
            counters: self.counters(),
            streams,
        }
    }
}
