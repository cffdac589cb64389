//! A set of numbers (bytes of a stream, packets), as disjoint ranges.
//!
//! Streams touch the ends: new numbers at the back, filled gaps at the front. Both cost O(1) amortised;
//! anything else a binary search, and a move of the ranges on the shorter side.

use std::collections::VecDeque;
use std::ops::Range;

/// Maximal ranges, ascending: neighbours are joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges {
    ranges: VecDeque<Range<u64>>,
    total: u64,
}

impl Ranges {
    /// Numbers in the set.
    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub fn first(&self) -> Option<Range<u64>> {
        self.ranges.front().cloned()
    }

    pub fn last(&self) -> Option<Range<u64>> {
        self.ranges.back().cloned()
    }

    /// The ranges, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + '_ {
        self.ranges.iter().cloned()
    }

    pub fn containing(&self, number: u64) -> Option<Range<u64>> {
        let range = match self.ranges.back() {
            Some(last) if number >= last.start => last,
            _ => self.ranges.get(self.first_reaching(number.saturating_add(1)))?,
        };
        range.contains(&number).then(|| range.clone())
    }

    /// The least number from `from` on that is not in the set.
    pub fn first_missing(&self, from: u64) -> u64 {
        match self.ranges.front() {
            Some(front) if from >= front.start => self.containing(from).map_or(from, |range| range.end),
            _ => from,
        }
    }

    /// How many numbers of `range` are not in the set.
    pub fn missing(&self, range: &Range<u64>) -> u64 {
        let from = self.first_reaching(range.start);
        let touching = self.ranges.range(from..).take_while(|held| held.start < range.end);
        let within = touching.map(|held| held.end.min(range.end).saturating_sub(held.start.max(range.start)));
        range.end.saturating_sub(range.start).saturating_sub(within.sum())
    }

    /// Whether a range overlaps one of the set, or follows or precedes it without a gap.
    pub fn touches(&self, range: &Range<u64>) -> bool {
        self.ranges.get(self.first_reaching(range.start)).is_some_and(|held| held.start <= range.end)
    }

    /// Adds a range; returns how many of its numbers were not there.
    pub fn insert(&mut self, range: Range<u64>) -> u64 {
        let before = self.total;
        self.insert_with(range, |_| {});
        self.total - before
    }

    /// Adds a range; `added` is told each part that was not there.
    pub fn insert_with(&mut self, range: Range<u64>, mut added: impl FnMut(Range<u64>)) {
        let Range { start, end } = range;
        if start >= end {
            return;
        }
        let total = &mut self.total;
        let mut added = |part: Range<u64>| {
            *total += part.end - part.start;
            added(part);
        };
        let first = match self.ranges.back_mut() {
            None => self.ranges.len(),
            Some(last) if start > last.end => self.ranges.len(),
            Some(last) if start >= last.start => {
                if end > last.end {
                    added(last.end..end);
                    last.end = end;
                }
                return;
            }
            Some(_) => first_reaching(&self.ranges, start),
        };
        let mut merged = start..end;
        let mut at = start;
        let mut past = first;
        while let Some(range) = self.ranges.get(past).filter(|range| range.start <= end) {
            if at < range.start {
                added(at..range.start);
            }
            at = at.max(range.end);
            merged = merged.start.min(range.start)..merged.end.max(range.end);
            past += 1;
        }
        if at < end {
            added(at..end);
        }
        if past == first {
            self.ranges.insert(first, merged);
        } else {
            self.ranges[first] = merged;
            self.ranges.drain(first + 1..past);
        }
    }

    pub fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let mut at = self.first_reaching(range.start.saturating_add(1));
        while let Some(held) = self.ranges.get(at).filter(|held| held.start < range.end).cloned() {
            let (low, high) = (held.start..range.start.max(held.start), range.end.min(held.end)..held.end);
            self.total -= high.start - low.end;
            match (low.is_empty(), high.is_empty()) {
                (true, true) => drop(self.ranges.remove(at)),
                (true, false) => self.ranges[at] = high,
                (false, true) => {
                    self.ranges[at] = low;
                    at += 1;
                }
                (false, false) => {
                    self.ranges[at] = low;
                    self.ranges.insert(at + 1, high);
                    return;
                }
            }
        }
    }

    /// Takes all numbers below `bound` out.
    pub fn remove_below(&mut self, bound: u64) {
        self.remove_below_with(bound, |_| {});
    }

    /// Takes all numbers below `bound` out; `removed` is told each part.
    pub fn remove_below_with(&mut self, bound: u64, mut removed: impl FnMut(Range<u64>)) {
        while let Some(front) = self.ranges.front_mut().filter(|front| front.start < bound) {
            let part = front.start..front.end.min(bound);
            self.total -= part.end - part.start;
            front.start = part.end;
            if front.is_empty() {
                self.ranges.pop_front();
            }
            removed(part);
        }
    }

    /// Takes up to `most` numbers from the front of the lowest range.
    pub fn take_first(&mut self, most: u64) -> Option<Range<u64>> {
        let range = self.first().filter(|_| most > 0)?;
        let end = range.end.min(range.start.saturating_add(most));
        self.remove_below(end);
        Some(range.start..end)
    }

    /// The lowest gaps before `end`, at most so many.
    pub fn gaps(&self, end: u64, most: usize) -> Vec<Range<u64>> {
        let (mut gaps, mut from) = (Vec::new(), 0);
        for range in &self.ranges {
            if range.start >= end || gaps.len() >= most {
                break;
            }
            if from < range.start {
                gaps.push(from..range.start);
            }
            from = range.end;
        }
        if from < end && gaps.len() < most {
            gaps.push(from..end);
        }
        gaps
    }

    /// Empties the set; its memory stays.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.total = 0;
    }

    fn first_reaching(&self, number: u64) -> usize {
        first_reaching(&self.ranges, number)
    }
}

/// Index of the first range whose end is at or past `number`.
fn first_reaching(ranges: &VecDeque<Range<u64>>, number: u64) -> usize {
    match ranges.front() {
        Some(front) if front.end >= number => 0,
        _ => ranges.partition_point(|range| range.end < number),
    }
}
