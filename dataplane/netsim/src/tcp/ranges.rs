//! A set of packet numbers kept as sorted, disjoint, non-adjacent ranges.
//!
//! Acknowledgements touch the ends: new data at the back, filled holes at the front. Both cost O(1) amortised; anything else a
//! binary search. The size is that of the holes, not of the window.

use std::collections::VecDeque;

/// `start..end`, never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub start: u64,
    pub end: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct RangeSet {
    ranges: VecDeque<Range>,
}

impl RangeSet {
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub fn first(&self) -> Option<Range> {
        self.ranges.front().copied()
    }

    pub fn last(&self) -> Option<Range> {
        self.ranges.back().copied()
    }

    /// From the highest range down.
    pub fn descending(&self) -> impl Iterator<Item = Range> + '_ {
        self.ranges.iter().rev().copied()
    }

    /// Adds `start..end`; `added` hears of each part that was not there.
    pub fn insert(&mut self, start: u64, end: u64, mut added: impl FnMut(Range)) {
        if start >= end {
            return;
        }
        let first = match self.ranges.back_mut() {
            None => self.ranges.len(),
            Some(last) if start > last.end => self.ranges.len(),
            Some(last) if start >= last.start => {
                if end > last.end {
                    added(Range { start: last.end, end });
                    last.end = end;
                }
                return;
            }
            Some(_) => self.first_reaching(start),
        };
        let mut merged = Range { start, end };
        let mut at = start;
        let mut past = first;
        while let Some(range) = self.ranges.get(past).filter(|range| range.start <= end) {
            if at < range.start {
                added(Range { start: at, end: range.start });
            }
            at = at.max(range.end);
            merged = Range { start: merged.start.min(range.start), end: merged.end.max(range.end) };
            past += 1;
        }
        if at < end {
            added(Range { start: at, end });
        }
        if past == first {
            self.ranges.insert(first, merged);
        } else {
            self.ranges[first] = merged;
            self.ranges.drain(first + 1..past);
        }
    }

    /// Removes what is below `bound`; `removed` hears of it.
    pub fn remove_below(&mut self, bound: u64, mut removed: impl FnMut(Range)) {
        while let Some(front) = self.ranges.front_mut() {
            if front.start >= bound {
                break;
            }
            let end = front.end.min(bound);
            removed(Range { start: front.start, end });
            if end < front.end {
                front.start = end;
                break;
            }
            self.ranges.pop_front();
        }
    }

    /// The range that holds `number`.
    pub fn containing(&self, number: u64) -> Option<Range> {
        let range = match self.ranges.back() {
            Some(last) if number >= last.start => *last,
            _ => *self.ranges.get(self.first_reaching(number.saturating_add(1)))?,
        };
        (range.start <= number && number < range.end).then_some(range)
    }

    /// The least number from `from` on that is not in the set.
    pub fn first_missing(&self, from: u64) -> u64 {
        match self.ranges.front() {
            Some(front) if from >= front.start => self.containing(from).map_or(from, |range| range.end),
            _ => from,
        }
    }

    /// Index of the first range whose end is at or past `number`.
    fn first_reaching(&self, number: u64) -> usize {
        match self.ranges.front() {
            Some(front) if front.end >= number => 0,
            _ => self.ranges.partition_point(|range| range.end < number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn numbers(ranges: &[Range]) -> Vec<u64> {
        ranges.iter().flat_map(|range| range.start..range.end).collect()
    }

    proptest! {
        #[test]
        fn it_is_a_set(steps in proptest::collection::vec((0u64..60, 0u64..12, any::<bool>()), 1..40)) {
            let (mut set, mut model) = (RangeSet::default(), BTreeSet::new());
            for (start, length, remove) in steps {
                let mut told = Vec::new();
                let expected: Vec<u64> = if remove {
                    set.remove_below(start, |range| told.push(range));
                    model.iter().copied().filter(|n| *n < start).collect()
                } else {
                    set.insert(start, start + length, |range| told.push(range));
                    (start..start + length).filter(|n| !model.contains(n)).collect()
                };
                prop_assert_eq!(numbers(&told), expected.clone());
                for number in expected {
                    if remove { model.remove(&number); } else { model.insert(number); }
                }
                let mut held: Vec<Range> = set.descending().collect();
                held.reverse();
                prop_assert_eq!(numbers(&held), model.iter().copied().collect::<Vec<_>>());
                prop_assert!(held.windows(2).all(|pair| pair[0].end < pair[1].start));
                for number in 0..75 {
                    prop_assert_eq!(set.containing(number).is_some(), model.contains(&number));
                    let missing = (number..).find(|n| !model.contains(n));
                    prop_assert_eq!(Some(set.first_missing(number)), missing);
                }
            }
        }
    }
}
