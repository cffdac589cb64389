//! A set of numbers (bytes of a stream, packets), as disjoint ranges.

use std::ops::Range;

use rangemap::RangeSet;

/// Maximal ranges, ascending: neighbours are joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges {
    ranges: RangeSet<u64>,
    /// Numbers in the set.
    pub total: u64,
}

impl Ranges {
    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub fn first(&self) -> Option<Range<u64>> {
        self.ranges.first().cloned()
    }

    pub fn last(&self) -> Option<Range<u64>> {
        self.ranges.last().cloned()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + '_ {
        self.ranges.iter().cloned()
    }

    pub fn containing(&self, number: u64) -> Option<Range<u64>> {
        self.ranges.get(&number).cloned()
    }

    /// The least number from `from` on that is not in the set.
    pub fn first_missing(&self, from: u64) -> u64 {
        self.ranges.get(&from).map_or(from, |range| range.end)
    }

    /// How many numbers of `range` are not in the set.
    pub fn missing(&self, range: &Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        self.ranges.gaps(range).map(|gap| gap.end - gap.start).sum()
    }

    /// Adds a range; returns how many of its numbers were not there.
    pub fn insert(&mut self, range: Range<u64>) -> u64 {
        let added = self.missing(&range);
        if !range.is_empty() {
            self.ranges.insert(range);
        }
        self.total += added;
        added
    }

    /// Adds a range, unless the set would then have more than `most` ranges. A range split in two by
    /// [`Ranges::remove`] may exceed this by one.
    pub fn insert_within(&mut self, range: Range<u64>, most: usize) {
        let joined = range.start.saturating_sub(1)..range.end.saturating_add(1);
        if self.count() < most || self.ranges.overlaps(&joined) {
            self.insert(range);
        }
    }

    /// Adds a range; `added` is told each part that was not there.
    pub fn insert_with(&mut self, range: Range<u64>, added: impl FnMut(Range<u64>)) {
        if !range.is_empty() {
            self.ranges.gaps(&range).for_each(added);
            self.insert(range);
        }
    }

    pub fn remove(&mut self, range: Range<u64>) {
        if !range.is_empty() {
            self.total -= range.end - range.start - self.missing(&range);
            self.ranges.remove(range);
        }
    }

    pub fn remove_below(&mut self, bound: u64) {
        self.remove(0..bound);
    }

    /// Takes all numbers below `bound` out; `removed` is told each part.
    pub fn remove_below_with(&mut self, bound: u64, mut removed: impl FnMut(Range<u64>)) {
        self.ranges.overlapping(0..bound).for_each(|range| removed(range.start..range.end.min(bound)));
        self.remove_below(bound);
    }

    /// Takes up to `most` numbers from the front of the lowest range.
    pub fn take_first(&mut self, most: u64) -> Option<Range<u64>> {
        let range = self.first().filter(|_| most > 0)?;
        let end = range.end.min(range.start.saturating_add(most));
        self.remove_below(end);
        Some(range.start..end)
    }

    /// The `most` lowest gaps before `end`.
    pub fn gaps(&self, end: u64, most: usize) -> Vec<Range<u64>> {
        self.ranges.gaps(&(0..end)).filter(|gap| !gap.is_empty()).take(most).collect()
    }

    pub fn clear(&mut self) {
        self.ranges.clear();
        self.total = 0;
    }
}
