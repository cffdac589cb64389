//! The cache beside a switch: it keeps packets of every stream that passes, within one byte bound, repairs
//! losses from them, and acknowledges upstream if the stream's terms say so.
//!
//! A packet that is still missing at some branch is never dropped. At the bound, new packets are neither kept
//! nor acknowledged, which closes the sender's window.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use groupflow_base::{CodecError, Datagram, Machine, Nanos, Transmit};
use rand_chacha::ChaCha8Rng;

mod repair; // the packets that go out again, and their targets
mod report; // events and figures
mod requesters; // hosts that ask: their budgets, and those that lag
mod store; // one stream's packets, promised ones and history
mod stream; // one stream: packets kept, fetched, repaired, acknowledged

use store::{PacketStore, FULL_PACKET};
use stream::StreamCache;

use crate::ids::{MemberId, Seq, SessionId};
use crate::nack::Nack;
use crate::terms::{Share, Terms};
use crate::wire::{GroupPacket, Kind};

pub use report::{CacheEvent, CacheStats, StreamCounters, StreamStats};
pub use requesters::LagChange;

/// The most streams at a time.
const BOUND: usize = 2048;
/// A stream whose time has come but that does nothing has its next turn after this time.
const PAUSE: Nanos = Nanos::from_millis(1);
/// A stream that was never delegated is forgotten after this silence.
const STRAY: Nanos = Nanos::from_secs(60);

/// The name of a stream: its session and its sender.
pub type StreamKey = (SessionId, MemberId);

#[derive(Debug)]
struct CachedStream {
    stream: StreamCache,
    due: Option<Nanos>,
    /// Another window of the stream's packets would not fit.
    full: bool,
}

/// The cached streams, under one byte bound, ordered by the time of their next turn.
#[derive(Debug)]
pub struct Cache {
    member: MemberId,
    rng: ChaCha8Rng,
    slots: BTreeMap<StreamKey, CachedStream>,
    schedule: BTreeSet<(Nanos, StreamKey)>,
    max_bytes: u64,
    stored: u64,
    stored_peak: u64,
    /// Bytes of packets that some branch has not acknowledged.
    pub promised: u64,
    promised_peak: u64,
    past: StreamCounters,
    events: VecDeque<CacheEvent>,
}

impl Cache {
    /// An empty cache of `max_bytes`, whose delays are drawn from `rng`.
    pub fn new(max_bytes: u64, rng: ChaCha8Rng) -> Cache {
        Cache {
            member: MemberId::NONE,
            rng,
            slots: BTreeMap::new(),
            schedule: BTreeSet::new(),
            max_bytes,
            stored: 0,
            stored_peak: 0,
            promised: 0,
            promised_peak: 0,
            past: StreamCounters::default(),
            events: VecDeque::new(),
        }
    }

    /// Lets the cache acknowledge as `member` from now on; before this call it does not acknowledge.
    pub fn set_member(&mut self, member: MemberId) {
        self.member = member;
    }

    /// Delegates a stream to this cache, by these terms and shares of receivers. A stream that is not
    /// delegated is only kept, and is forgotten when it falls silent. False: there are too many streams.
    pub fn delegate(&mut self, now: Nanos, key: StreamKey, terms: Terms, shares: &[Share]) -> bool {
        let known = self.ensure(now, key);
        if known {
            self.with(key, |stream, _| stream.delegate(terms, shares));
            self.acknowledge(now, key);
        }
        known
    }

    pub fn forget(&mut self, key: StreamKey) {
        let Some(CachedStream { stream, due, .. }) = self.slots.remove(&key) else { return };
        self.stored -= stream.store.bytes;
        self.promised -= stream.store.promised;
        self.past.add(stream.counters);
        if let Some(due) = due {
            self.schedule.remove(&(due, key));
        }
    }

    /// Drops the streams that were never delegated and fell silent; returns their names.
    pub fn forget_strays(&mut self, now: Nanos) -> Vec<StreamKey> {
        let is_stray = |stream: &StreamCache| !stream.delegated && now - stream.last_heard > STRAY;
        let slots = self.slots.iter().filter(|(_, slot)| is_stray(&slot.stream));
        let strays: Vec<StreamKey> = slots.map(|(&key, _)| key).collect();
        strays.iter().for_each(|&key| self.forget(key));
        strays
    }

    /// Acknowledges packets as far as possible, and notices when the bound is reached or left.
    fn acknowledge(&mut self, now: Nanos, key: StreamKey) {
        let room = self.room_for_window(key);
        self.with(key, |stream, _| stream.acknowledge(now, room));
        if let Some(slot) = self.slots.get_mut(&key).filter(|slot| slot.full == room) {
            slot.full = !room;
            self.events.push_back(if room { CacheEvent::Room(key) } else { CacheEvent::Full(key) });
        }
    }

    pub fn poll_event(&mut self) -> Option<CacheEvent> {
        self.events.pop_front()
    }

    /// Adds the stream if the cache does not have it. False: there are too many streams.
    fn ensure(&mut self, now: Nanos, key: StreamKey) -> bool {
        if !self.slots.contains_key(&key) {
            if self.slots.len() >= BOUND {
                return false;
            }
            let stream = StreamCache::new(now, key.0, key.1);
            self.slots.insert(key, CachedStream { stream, due: None, full: false });
        }
        true
    }

    /// Lets `act` change the stream, then accounts for its bytes and its next deadline.
    fn with<R>(
        &mut self, key: StreamKey, act: impl FnOnce(&mut StreamCache, &mut ChaCha8Rng) -> R,
    ) -> Option<R> {
        let slot = self.slots.get_mut(&key)?;
        let (stored, promised) = (slot.stream.store.bytes, slot.stream.store.promised);
        let result = act(&mut slot.stream, &mut self.rng);
        self.stored = self.stored - stored + slot.stream.store.bytes;
        self.promised = self.promised - promised + slot.stream.store.promised;
        self.stored_peak = self.stored_peak.max(self.stored);
        self.promised_peak = self.promised_peak.max(self.promised);
        let due = slot.stream.next_deadline();
        self.reschedule(key, due);
        Some(result)
    }

    fn reschedule(&mut self, key: StreamKey, due: Option<Nanos>) {
        let Some(slot) = self.slots.get_mut(&key) else { return };
        if slot.due == due {
            return;
        }
        if let Some(old) = slot.due {
            self.schedule.remove(&(old, key));
        }
        if let Some(new) = due {
            self.schedule.insert((new, key));
        }
        slot.due = due;
    }

    /// Evicts history, the stream's own first, until the packet fits. False: the cache has the packet
    /// already, or only promised packets are left.
    fn make_room(&mut self, key: StreamKey, packet: &GroupPacket<'_>) -> bool {
        let cost = PacketStore::cost(packet.payload);
        let Some(slot) = self.slots.get_mut(&key) else { return false };
        if !slot.stream.lacks(packet.header.seq) {
            return false;
        }
        let own_bound = slot.stream.bound();
        while slot.stream.store.bytes + cost > own_bound || self.stored + cost > self.max_bytes {
            let freed = slot.stream.store.evict();
            if freed == 0 {
                break;
            }
            self.stored -= freed;
        }
        if slot.stream.store.bytes + cost > own_bound {
            return false;
        }
        while self.stored + cost > self.max_bytes {
            let stores = self.slots.values_mut().map(|slot| &mut slot.stream.store);
            let freed = stores.max_by_key(|store| store.history()).map_or(0, PacketStore::evict);
            if freed == 0 {
                return false;
            }
            self.stored -= freed;
        }
        true
    }

    /// Whether another window of packets would fit beside all promised packets.
    fn room_for_window(&self, key: StreamKey) -> bool {
        self.slots.get(&key).is_some_and(|slot| {
            let window = u64::from(slot.stream.terms.window) * FULL_PACKET;
            let own = slot.stream.store.promised + window <= slot.stream.bound();
            own && self.promised + window <= self.max_bytes
        })
    }

    fn counters(&self) -> StreamCounters {
        let mut all = self.past;
        self.slots.values().for_each(|slot| all.add(slot.stream.counters));
        all
    }

    pub fn stats(&self) -> CacheStats {
        CacheStats {
            cache_bytes: self.promised,
            cache_peak_bytes: self.promised_peak,
            stored_bytes: self.stored,
            stored_peak_bytes: self.stored_peak,
            max_bytes: self.max_bytes,
            full: self.slots.values().any(|slot| slot.full),
            counters: self.counters(),
            streams: self.slots.values().map(|slot| slot.stream.stats()).collect(),
        }
    }
}

impl Machine for Cache {
    type Error = CodecError;

    fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), CodecError> {
        let packet = GroupPacket::parse(datagram.bytes)?;
        let header = packet.header;
        let (data, nack) = match header.kind {
            Kind::Data | Kind::Repair => (true, None),
            Kind::Sync | Kind::Ack => (false, None),
            Kind::Nack => (false, Some(Nack::parse(packet.payload))),
            _ => return Ok(()),
        };
        if header.session.0 == 0 || header.source == MemberId::NONE {
            return Err(CodecError::value("source", header.source.0));
        }
        if header.seq > Seq::LAST.next() || (data && header.seq == Seq::ZERO) {
            return Err(CodecError::value("seq", header.seq.0));
        }
        let nack = nack.transpose()?;
        let key = (header.session, header.source);
        let known = self.slots.contains_key(&key);
        if !self.ensure(now, key) {
            return Ok(());
        }
        if !known {
            self.events.push_back(CacheEvent::New(key));
        }
        let room = data && self.make_room(key, &packet);
        let change = self.with(key, |stream, rng| {
            stream.last_heard = now;
            match (header.kind, &nack) {
                (Kind::Data | Kind::Repair, _) => stream.on_packet(now, &packet, room, rng),
                (Kind::Sync, _) => stream.on_sync(now, &header, rng),
                (Kind::Ack, _) if header.member == MemberId::NONE => stream.on_branches(now, &header),
                (_, Some(nack)) => return stream.on_nack(now, datagram.from, header.member, nack, rng),
                _ => {}
            }
            None
        });
        self.acknowledge(now, key);
        self.events.extend(change.flatten().map(|change| CacheEvent::Lag(key, change)));
        Ok(())
    }

    /// Gives every stream whose time has come its turn, until one has a packet to send.
    fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        let member = self.member;
        while let Some(&(due, key)) = self.schedule.first() {
            if due > now {
                return None;
            }
            if let Some(transmit) = self.with(key, |stream, _| stream.poll_transmit(now, member)).flatten() {
                return Some(transmit);
            }
            if self.slots.get(&key).and_then(|slot| slot.due).is_some_and(|due| due <= now) {
                self.reschedule(key, Some(now + PAUSE));
            }
        }
        None
    }

    fn next_deadline(&self) -> Option<Nanos> {
        self.schedule.first().map(|&(due, _)| due)
    }
}
