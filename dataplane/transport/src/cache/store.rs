//! A cache's packets: those not yet acknowledged by every branch are promised and stay, older
//! ones are history and go when room is needed.

use std::collections::BTreeMap;

use crate::ids::{Seq, MAX_PAYLOAD};
use crate::wire::Flags;

/// Bytes counted for a packet besides its payload.
const OVERHEAD: u64 = 64;
/// Bytes counted for a full packet.
pub const FULL_PACKET: u64 = MAX_PAYLOAD as u64 + OVERHEAD;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cached {
    /// FIN and BOUNDARY.
    pub flags: Flags,
    pub payload: Box<[u8]>,
}

impl Cached {
    fn cost(&self) -> u64 {
        self.payload.len() as u64 + OVERHEAD
    }
}

#[derive(Debug)]
pub struct PacketStore {
    packets: BTreeMap<u32, Cached>,
    /// Every branch has the packets below this one.
    floor: Seq,
    /// Bytes kept.
    pub(super) bytes: u64,
    /// The bytes kept that some branch has not acknowledged.
    pub(super) promised: u64,
    /// The most bytes that were ever promised.
    pub(super) promised_peak: u64,
}

impl PacketStore {
    /// An empty store, in which every packet to come is promised.
    pub fn new() -> PacketStore {
        PacketStore { packets: BTreeMap::new(), floor: Seq::ZERO, bytes: 0, promised: 0, promised_peak: 0 }
    }

    /// Bytes that a packet with this payload would take.
    pub fn cost(payload: &[u8]) -> u64 {
        payload.len() as u64 + OVERHEAD
    }

    /// Keeps a packet that the store does not have.
    pub fn insert(&mut self, seq: Seq, flags: Flags, payload: &[u8]) {
        let cached = Cached { flags: flags.only(Flags::FIN.with(Flags::BOUNDARY)), payload: payload.into() };
        let cost = cached.cost();
        if self.packets.insert(seq.0, cached).is_none() {
            self.bytes += cost;
            if seq >= self.floor {
                self.promised += cost;
                self.promised_peak = self.promised_peak.max(self.promised);
            }
        }
    }

    /// Notes that every branch has the packets below `floor`, which falls when a branch joins.
    pub fn set_floor(&mut self, floor: Seq) {
        let (low, high) = (self.floor.min(floor), self.floor.max(floor));
        let moved: u64 = self.packets.range(low.0..high.0).map(|(_, cached)| cached.cost()).sum();
        if floor > self.floor {
            self.promised -= moved;
        } else {
            self.promised += moved;
            self.promised_peak = self.promised_peak.max(self.promised);
        }
        self.floor = floor;
    }

    /// Drops the oldest packet of the history; returns the bytes gained, 0 if every packet is promised.
    pub fn evict(&mut self) -> u64 {
        match self.packets.first_entry() {
            Some(entry) if *entry.key() < self.floor.0 => {
                let cost = entry.remove().cost();
                self.bytes -= cost;
                cost
            }
            _ => 0,
        }
    }

    pub fn get(&self, seq: Seq) -> Option<&Cached> {
        self.packets.get(&seq.0)
    }

    pub fn contains(&self, seq: Seq) -> bool {
        self.packets.contains_key(&seq.0)
    }

    /// Packets kept.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Bytes that could be evicted.
    pub fn history(&self) -> u64 {
        self.bytes - self.promised
    }
}

impl Default for PacketStore {
    fn default() -> PacketStore {
        PacketStore::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(count: u32) -> PacketStore {
        let mut store = PacketStore::new();
        for seq in 1..=count {
            store.insert(Seq(seq), Flags::RETX, &[0; 36]);
        }
        store
    }

    #[test]
    fn only_what_every_branch_has_is_evicted() {
        let mut store = store(3);
        assert_eq!((store.bytes, store.promised, store.evict()), (300, 300, 0));
        store.set_floor(Seq(3));
        assert_eq!((store.bytes, store.promised, store.history()), (300, 100, 200));
        assert_eq!((store.evict(), store.evict(), store.evict()), (100, 100, 0));
        assert!(store.contains(Seq(3)) && !store.contains(Seq(2)));
        assert_eq!((store.bytes, store.promised_peak), (100, 300));
    }

    #[test]
    fn a_branch_that_joins_makes_history_a_promise_again() {
        let mut store = store(3);
        store.set_floor(Seq(4));
        assert_eq!(store.promised, 0);
        store.set_floor(Seq(2));
        assert_eq!(store.promised, 200);
        store.insert(Seq(1), Flags::NONE, &[0; 36]);
        assert_eq!(store.bytes, 300, "a packet counts once");
    }

    #[test]
    fn only_lasting_flags_are_kept() {
        let mut store = PacketStore::new();
        store.insert(Seq(1), Flags::FIN.with(Flags::RETX), b"x");
        assert_eq!(store.get(Seq(1)).map(|c| c.flags), Some(Flags::FIN));
    }
}
