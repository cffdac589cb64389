//! The streams of a cache agent, under one byte bound, by the time they want to act.

use std::collections::{BTreeMap, BTreeSet};

use groupflow_base::Nanos;

use crate::ids::{MemberId, SessionId};
use crate::store::Store;
use crate::stream_cache::StreamCache;
use crate::wire::Packet;

/// Streams at a time.
const BOUND: usize = 2048;
/// A stream that wants to act but does nothing is asked again after this.
const PAUSE: Nanos = Nanos::from_millis(1);

/// What names a stream.
pub(crate) type StreamKey = (SessionId, MemberId);

#[derive(Debug)]
struct Slot {
    stream: StreamCache,
    due: Option<Nanos>,
}

/// All streams of an agent.
#[derive(Debug)]
pub(crate) struct StreamTable {
    slots: BTreeMap<StreamKey, Slot>,
    schedule: BTreeSet<(Nanos, StreamKey)>,
    max_bytes: u64,
    stored: u64,
    stored_peak: u64,
    promised: u64,
    promised_peak: u64,
}

impl StreamTable {
    pub(crate) fn new(max_bytes: u64) -> StreamTable {
        StreamTable {
            slots: BTreeMap::new(),
            schedule: BTreeSet::new(),
            max_bytes,
            stored: 0,
            stored_peak: 0,
            promised: 0,
            promised_peak: 0,
        }
    }

    /// Adds the stream if it is not here. False when there are too many.
    pub(crate) fn ensure(&mut self, now: Nanos, key: StreamKey) -> bool {
        if !self.slots.contains_key(&key) {
            if self.slots.len() >= BOUND {
                return false;
            }
            let stream = StreamCache::new(now, key.0, key.1);
            self.slots.insert(key, Slot { stream, due: None });
        }
        true
    }

    pub(crate) fn contains(&self, key: StreamKey) -> bool {
        self.slots.contains_key(&key)
    }

    pub(crate) fn remove(&mut self, key: StreamKey) -> Option<StreamCache> {
        let slot = self.slots.remove(&key)?;
        self.stored -= slot.stream.store.bytes();
        self.promised -= slot.stream.store.promised();
        if let Some(due) = slot.due {
            self.schedule.remove(&(due, key));
        }
        Some(slot.stream)
    }

    /// Lets `act` change the stream, then accounts for its bytes and its next deadline.
    pub(crate) fn with<R>(&mut self, key: StreamKey, act: impl FnOnce(&mut StreamCache) -> R) -> Option<R> {
        let slot = self.slots.get_mut(&key)?;
        let (stored, promised) = (slot.stream.store.bytes(), slot.stream.store.promised());
        let result = act(&mut slot.stream);
        self.stored = self.stored - stored + slot.stream.store.bytes();
        self.promised = self.promised - promised + slot.stream.store.promised();
        self.stored_peak = self.stored_peak.max(self.stored);
        self.promised_peak = self.promised_peak.max(self.promised);
        let due = slot.stream.next_deadline();
        self.reschedule(key, due);
        Some(result)
    }

    fn reschedule(&mut self, key: StreamKey, due: Option<Nanos>) {
        let Some(slot) = self.slots.get_mut(&key) else {
            return;
        };
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

    /// Gives every stream whose time has come the chance to `act`, until one has a result.
    pub(crate) fn poll<R>(
        &mut self,
        now: Nanos,
        mut act: impl FnMut(&mut StreamCache) -> Option<R>,
    ) -> Option<R> {
        while let Some(&(due, key)) = self.schedule.first() {
            if due > now {
                return None;
            }
            if let Some(result) = self.with(key, &mut act).flatten() {
                return Some(result);
            }
            if self.slots.get(&key).and_then(|slot| slot.due).is_some_and(|due| due <= now) {
                self.reschedule(key, Some(now + PAUSE));
            }
        }
        None
    }

    pub(crate) fn next_deadline(&self) -> Option<Nanos> {
        self.schedule.first().map(|&(due, _)| due)
    }

    /// Evicts history, the stream's own first, until the packet fits. False when it is here
    /// already or only promised packets are left.
    pub(crate) fn make_room(&mut self, key: StreamKey, packet: &Packet<'_>) -> bool {
        let cost = Store::cost(packet.payload);
        let Some(slot) = self.slots.get_mut(&key) else {
            return false;
        };
        if !slot.stream.lacks(packet.header.seq) {
            return false;
        }
        let own_bound = slot.stream.bound();
        while slot.stream.store.bytes() + cost > own_bound || self.stored + cost > self.max_bytes {
            let freed = slot.stream.store.evict();
            if freed == 0 {
                break;
            }
            self.stored -= freed;
        }
        if slot.stream.store.bytes() + cost > own_bound {
            return false;
        }
        while self.stored + cost > self.max_bytes {
            let stores = self.slots.values_mut().map(|slot| &mut slot.stream.store);
            let freed = stores.max_by_key(|store| store.history()).map_or(0, Store::evict);
            if freed == 0 {
                return false;
            }
            self.stored -= freed;
        }
        true
    }

    /// Whether a window more would fit beside all that is promised.
    pub(crate) fn room_for_window(&self, key: StreamKey) -> bool {
        self.slots.get(&key).is_some_and(|slot| {
            let window = slot.stream.window_bytes();
            let own = slot.stream.store.promised() + window <= slot.stream.bound();
            own && self.promised + window <= self.max_bytes
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (StreamKey, &StreamCache)> {
        self.slots.iter().map(|(&key, slot)| (key, &slot.stream))
    }

    pub(crate) fn stored(&self) -> u64 {
        self.stored
    }

    pub(crate) fn stored_peak(&self) -> u64 {
        self.stored_peak
    }

    pub(crate) fn promised(&self) -> u64 {
        self.promised
    }

    pub(crate) fn promised_peak(&self) -> u64 {
        self.promised_peak
    }

    pub(crate) fn max_bytes(&self) -> u64 {
        self.max_bytes
    }
}
