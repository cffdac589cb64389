//! Streams of bytes: their numbers, and bytes that follow each other.

use std::collections::VecDeque;
use std::fmt;

/// A stream's number, chosen at random where the stream begins: 16 hexadecimal digits as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

crate::wire_number!(StreamId);

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Bytes of a stream, from `base` on without a gap.
#[derive(Debug, Clone, Default)]
pub struct ByteQueue {
    /// The offset of the first byte.
    pub base: u64,
    bytes: VecDeque<u8>,
}

impl ByteQueue {
    /// An empty queue, whose first byte will be the one at `base`.
    pub fn at(base: u64) -> ByteQueue {
        ByteQueue { base, bytes: VecDeque::new() }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// The offset behind the last byte.
    pub fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    pub fn discard_below(&mut self, base: u64) {
        // At most the number of bytes held.
        let gone = (base.saturating_sub(self.base) as usize).min(self.bytes.len());
        self.bytes.drain(..gone);
        self.base += gone as u64;
    }

    /// At most `most` bytes from the offset `from` on, as two pieces that follow each other; empty where the
    /// queue has none.
    pub fn read(&self, from: u64, most: usize) -> (&[u8], &[u8]) {
        let Some(start) = from.checked_sub(self.base).and_then(|at| usize::try_from(at).ok()) else {
            return (&[], &[]);
        };
        let (first, second) = self.bytes.as_slices();
        let end = start.saturating_add(most);
        let part = |piece: &'_ [u8], before: usize| {
            let at = |offset: usize| offset.saturating_sub(before).min(piece.len());
            at(start)..at(end)
        };
        (&first[part(first, 0)], &second[part(second, first.len())])
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}
