//! The payload of a NACK: the packets that are missing at a requester; and sets of packet numbers.
//!
//! `u32 next`, the requester's next expected packet, then inclusive ranges `u32 first, u32 last`,
//! ascending, not overlapping.

use groupflow_base::codec::{CodecError, Reader, Writer};
use groupflow_base::ranges::Ranges;

use crate::ids::Seq;

pub const MAX_RANGES: usize = 64;

/// Packets `first..=last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRange {
    /// The lowest number.
    pub first: Seq,
    /// The highest number.
    pub last: Seq,
}

impl PacketRange {
    /// The number of packets.
    pub fn count(self) -> u32 {
        self.last.since(self.first).saturating_add(1)
    }
}

/// A parsed NACK payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nack {
    /// The requester's next expected packet.
    pub next: Seq,
    pub ranges: Vec<PacketRange>,
}

impl Nack {
    /// The payload's bytes; ranges beyond [`MAX_RANGES`] are left for the next NACK.
    pub fn encode(&self) -> Vec<u8> {
        let ranges = self.ranges.get(..MAX_RANGES).unwrap_or(&self.ranges);
        let mut w = Writer::with_capacity(4 + 8 * ranges.len());
        w.u32(self.next.0);
        for range in ranges {
            w.u32(range.first.0).u32(range.last.0);
        }
        w.into_bytes()
    }

    pub fn parse(payload: &[u8]) -> Result<Nack, CodecError> {
        let mut r = Reader::new(payload);
        let next = Seq(r.u32("next")?);
        let mut ranges: Vec<PacketRange> = Vec::new();
        while !r.is_empty() {
            if ranges.len() == MAX_RANGES {
                return Err(CodecError::value("ranges", MAX_RANGES as u64 + 1));
            }
            let range = PacketRange { first: Seq(r.u32("first")?), last: Seq(r.u32("last")?) };
            let floor = ranges.last().map_or(Seq::ZERO, |before| before.last);
            if range.first <= floor {
                return Err(CodecError::value("first", range.first.0));
            }
            if range.last < range.first || range.last > Seq::LAST {
                return Err(CodecError::value("last", range.last.0));
            }
            ranges.push(range);
        }
        Ok(Nack { next, ranges })
    }
}

/// Packet numbers as maximal ranges: neighbours are joined. Bounded by a number of ranges.
#[derive(Debug, Clone)]
pub struct IntervalSet {
    ranges: Ranges,
    /// The most ranges.
    bound: usize,
}

impl IntervalSet {
    /// An empty set that holds at most `bound` ranges.
    pub fn new(bound: usize) -> IntervalSet {
        IntervalSet { ranges: Ranges::default(), bound }
    }

    /// Adds the packets of `range`. False: the set is full, and nothing was added.
    pub fn insert(&mut self, range: PacketRange) -> bool {
        let range = half_open(range);
        if !range.is_empty() && self.ranges.count() >= self.bound && !self.ranges.touches(&range) {
            return false;
        }
        self.ranges.insert(range);
        true
    }

    /// Removes the packets of `range`. A range split in two may exceed the bound by one.
    pub fn remove(&mut self, range: PacketRange) {
        self.ranges.remove(half_open(range));
    }

    /// The lowest packet.
    pub fn first(&self) -> Option<Seq> {
        self.ranges.first().map(|range| Seq(range.start as u32))
    }

    /// Removes the lowest packet.
    pub fn pop_first(&mut self) -> Option<Seq> {
        self.ranges.take_first(1).map(|range| Seq(range.start as u32))
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

fn half_open(range: PacketRange) -> std::ops::Range<u64> {
    range.first.0.into()..u64::from(range.last.0) + 1
}
