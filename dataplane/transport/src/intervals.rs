//! A set of packet numbers kept as disjoint ranges.

use groupflow_base::ranges::Ranges;

use crate::ids::Seq;
use crate::nack::PacketRange;

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
