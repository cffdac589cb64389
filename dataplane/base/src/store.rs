//! Bytes that arrived out of order, held until the bytes before them arrive.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::ranges::Ranges;

/// Bytes of a page, in which memory is taken.
pub const PAGE: usize = 4096;

/// Bytes of a stream at their offsets; a page exists only while some of its bytes are held.
#[derive(Debug, Clone, Default)]
pub struct ByteStore {
    pages: BTreeMap<u64, Box<[u8]>>,
    ranges: Ranges,
}

impl ByteStore {
    /// Bytes held.
    pub fn held(&self) -> u64 {
        self.ranges.total()
    }

    /// Memory of the pages: at most the bytes held, and the rest of two pages for each gap.
    pub fn memory(&self) -> usize {
        self.pages.len() * PAGE
    }

    /// Separate pieces held.
    pub fn pieces(&self) -> usize {
        self.ranges.count()
    }

    /// Bytes of the range that are not held.
    pub fn missing(&self, range: &Range<u64>) -> u64 {
        self.ranges.missing(range)
    }

    /// Inserts bytes at their offset; bytes that are held already must be equal.
    pub fn insert(&mut self, offset: u64, bytes: &[u8]) {
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let within = (at % PAGE as u64) as usize;
            let (now, later) = rest.split_at(rest.len().min(PAGE - within));
            let page = self.pages.entry(at / PAGE as u64).or_insert_with(|| vec![0; PAGE].into_boxed_slice());
            page[within..within + now.len()].copy_from_slice(now);
            at += now.len() as u64;
            rest = later;
        }
        self.ranges.insert(offset..offset + bytes.len() as u64);
    }

    /// The bytes held from `offset` on, without a gap, up to the end of the page; may be empty.
    pub fn at(&self, offset: u64) -> &[u8] {
        let end = self.ranges.containing(offset).map_or(offset, |range| range.end);
        let within = (offset % PAGE as u64) as usize;
        let length = (end - offset).min((PAGE - within) as u64) as usize;
        match self.pages.get(&(offset / PAGE as u64)) {
            Some(page) => &page[within..within + length],
            None => &[],
        }
    }

    /// Drops all bytes before `offset`.
    pub fn discard_below(&mut self, offset: u64) {
        self.ranges.remove_below(offset);
        let kept = match self.ranges.is_empty() {
            true => u64::MAX,
            false => offset / PAGE as u64,
        };
        while self.pages.first_key_value().is_some_and(|(&page, _)| page < kept) {
            self.pages.pop_first();
        }
    }
}
