//! A set of packet numbers kept as disjoint ranges.

use std::collections::BTreeMap;

use crate::ids::Seq;
use crate::nack::Range;

/// Packet numbers as maximal ranges: neighbours are joined. Bounded by a number of ranges.
#[derive(Debug, Clone)]
pub struct IntervalSet {
    /// first -> last, both inclusive.
    ranges: BTreeMap<u32, u32>,
    /// Ranges it holds at most.
    bound: usize,
}

impl IntervalSet {
    /// An empty set that holds at most `bound` ranges.
    pub fn new(bound: usize) -> IntervalSet {
        IntervalSet { ranges: BTreeMap::new(), bound }
    }

    /// Adds `first..=last`. False, and nothing is added, when the set is full.
    pub fn insert(&mut self, range: Range) -> bool {
        let (mut first, mut last) = (range.first.0, range.last.0);
        if first > last {
            return true;
        }
        if let Some((&before, &end)) = self.ranges.range(..=first).next_back() {
            if end >= last {
                return true;
            }
            if end.saturating_add(1) >= first {
                first = before;
            }
        }
        let joined: Vec<u32> =
            self.ranges.range(first..=last.saturating_add(1)).map(|(&first, _)| first).collect();
        if joined.is_empty() && self.ranges.len() >= self.bound {
            return false;
        }
        for start in joined {
            if let Some(end) = self.ranges.remove(&start) {
                last = last.max(end);
            }
        }
        self.ranges.insert(first, last);
        true
    }

    /// Takes `first..=last` out. A range split in two may exceed the bound by one.
    pub fn remove(&mut self, range: Range) {
        let (first, last) = (range.first.0, range.last.0);
        if first > last {
            return;
        }
        let mut touched: Vec<u32> = self.ranges.range(first..=last).map(|(&start, _)| start).collect();
        if let Some((&start, &end)) = self.ranges.range(..first).next_back() {
            if end >= first {
                touched.push(start);
            }
        }
        for start in touched {
            let Some(end) = self.ranges.remove(&start) else {
                continue;
            };
            if start < first {
                self.ranges.insert(start, first - 1);
            }
            if end > last {
                self.ranges.insert(last + 1, end);
            }
        }
    }

    /// Whether the packet is in the set.
    pub fn contains(&self, seq: Seq) -> bool {
        self.ranges.range(..=seq.0).next_back().is_some_and(|(_, &last)| last >= seq.0)
    }

    /// The lowest packet.
    pub fn first(&self) -> Option<Seq> {
        self.ranges.keys().next().map(|&first| Seq(first))
    }

    /// Takes the lowest packet out.
    pub fn pop_first(&mut self) -> Option<Seq> {
        let (first, last) = self.ranges.pop_first()?;
        if first < last {
            self.ranges.insert(first + 1, last);
        }
        Some(Seq(first))
    }

    /// How many packets are in the set.
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|(&first, &last)| u64::from(last - first) + 1).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The ranges, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Range> + '_ {
        self.ranges.iter().map(|(&first, &last)| Range { first: Seq(first), last: Seq(last) })
    }
}
