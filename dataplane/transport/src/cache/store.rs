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

/// In a new store every packet to come is promised.
#[derive(Debug, Default)]
pub struct PacketStore {
    packets: BTreeMap<u32, Cached>,
    /// Every branch has the packets below this one.
    floor: Seq,
    pub(super) bytes: u64,
    /// The bytes kept that some branch has not acknowledged.
    pub(super) promised: u64,
    pub(super) promised_peak: u64,
}

impl PacketStore {
    /// Bytes that a packet with this payload would take.
    pub fn cost(payload: &[u8]) -> u64 {
        payload.len() as u64 + OVERHEAD
    }

    /// Keeps a packet that the store does not have.
    pub fn insert(&mut self, seq: Seq, flags: Flags, payload: &[u8]) {
        let cached = Cached { flags: flags.only(Flags::FIN.with(Flags::BOUNDARY)), payload: payload.into() };
        let cost = PacketStore::cost(payload);
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
        let moved: u64 =
            self.packets.range(low.0..high.0).map(|(_, cached)| PacketStore::cost(&cached.payload)).sum();
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
                let cost = PacketStore::cost(&entry.remove().payload);
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

    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Bytes that could be evicted.
    pub fn history(&self) -> u64 {
        self.bytes - self.promised
    }
}

#[cfg(test)]
#[path = "tests/store.rs"]
mod tests;
