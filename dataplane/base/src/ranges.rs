//! A set of bytes of a stream, as disjoint ranges.

use std::collections::BTreeMap;
use std::ops::Range;

/// Maximal ranges: neighbours are joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges {
    /// start -> end, half open.
    ranges: BTreeMap<u64, u64>,
    bytes: u64,
}

impl Ranges {
    /// Bytes in the set.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Ranges in the set.
    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The lowest range.
    pub fn first(&self) -> Option<Range<u64>> {
        self.ranges.iter().next().map(|(&start, &end)| start..end)
    }

    /// The range that an offset is in.
    pub fn containing(&self, offset: u64) -> Option<Range<u64>> {
        let (&start, &end) = self.ranges.range(..=offset).next_back()?;
        (end > offset).then_some(start..end)
    }

    /// Bytes of `range` that are not in the set.
    pub fn missing(&self, range: &Range<u64>) -> u64 {
        let Range { start, end } = *range;
        if start >= end {
            return 0;
        }
        let before = self.ranges.range(..start).next_back().map(|(_, &to)| to.min(end).saturating_sub(start));
        let within: u64 = self.ranges.range(start..end).map(|(&from, &to)| to.min(end) - from).sum();
        end - start - before.unwrap_or(0) - within
    }

    /// Adds a range; the bytes that were not there.
    pub fn insert(&mut self, range: Range<u64>) -> u64 {
        let Range { mut start, mut end } = range;
        if start >= end {
            return 0;
        }
        let before = self.bytes;
        if let Some((&from, &to)) = self.ranges.range(..start).next_back() {
            if to >= start {
                start = from;
            }
        }
        let touched: Vec<u64> = self.ranges.range(start..=end).map(|(&from, _)| from).collect();
        for from in touched {
            if let Some(to) = self.ranges.remove(&from) {
                self.bytes -= to - from;
                end = end.max(to);
            }
        }
        self.ranges.insert(start, end);
        self.bytes += end - start;
        self.bytes - before
    }

    /// Takes all before `offset` out.
    pub fn remove_below(&mut self, offset: u64) {
        while let Some((&start, &end)) = self.ranges.first_key_value().filter(|(&start, _)| start < offset) {
            self.ranges.remove(&start);
            if end > offset {
                self.ranges.insert(offset, end);
                self.bytes -= offset - start;
            } else {
                self.bytes -= end - start;
            }
        }
    }

    /// Takes up to `most` bytes from the front of the lowest range.
    pub fn take_first(&mut self, most: u64) -> Option<Range<u64>> {
        let range = self.first().filter(|_| most > 0)?;
        let end = range.end.min(range.start.saturating_add(most));
        self.remove_below(end);
        Some(range.start..end)
    }

    /// The lowest gaps before `end`, at most so many.
    pub fn gaps(&self, end: u64, most: usize) -> Vec<Range<u64>> {
        let (mut gaps, mut from) = (Vec::new(), 0);
        for (&start, &stop) in &self.ranges {
            if start >= end || gaps.len() >= most {
                break;
            }
            if from < start {
                gaps.push(from..start);
            }
            from = stop;
        }
        if from < end && gaps.len() < most {
            gaps.push(from..end);
        }
        gaps
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        *self = Ranges::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        /// Beside a bitmap.
        #[test]
        fn it_is_a_set(steps in vec((0..3_u8, 0..60_u64, 0..60_u64), 1..80)) {
            let (mut ranges, mut bits) = (Ranges::default(), [false; 60]);
            for (step, a, b) in steps {
                let within = |bits: &[bool; 60]| (a..b).filter(|&i| !bits[i as usize]).count() as u64;
                match step {
                    0 => {
                        prop_assert_eq!(ranges.missing(&(a..b)), within(&bits));
                        let around = ranges.containing(a);
                        prop_assert_eq!(around.is_some(), bits[a as usize]);
                        prop_assert!(around.into_iter().flatten().all(|i| bits[i as usize]));
                        prop_assert_eq!(ranges.insert(a..b), within(&bits));
                        (a..b).for_each(|i| bits[i as usize] = true);
                    }
                    1 => {
                        ranges.remove_below(a);
                        (0..a).for_each(|i| bits[i as usize] = false);
                    }
                    _ => {
                        let first = bits.iter().position(|&bit| bit).filter(|_| b > 0);
                        let taken = ranges.take_first(b);
                        prop_assert_eq!(taken.as_ref().map(|r| r.start as usize), first);
                        taken.into_iter().flatten().for_each(|i| bits[i as usize] = false);
                    }
                }
                let gaps: u64 = ranges.gaps(60, 100).iter().map(|gap| gap.end - gap.start).sum();
                prop_assert_eq!(gaps, bits.iter().filter(|&&bit| !bit).count() as u64);
                prop_assert!(ranges.gaps(60, 100).iter().flat_map(|gap| gap.clone()).all(|i| !bits[i as usize]));
                let runs = (0..60).filter(|&i| bits[i] && (i == 0 || !bits[i - 1])).count();
                prop_assert_eq!(ranges.count(), runs);
                prop_assert_eq!(ranges.bytes(), bits.iter().filter(|&&bit| bit).count() as u64);
            }
        }
    }
}
