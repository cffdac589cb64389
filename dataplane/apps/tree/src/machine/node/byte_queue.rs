//! Bytes of a stream that follow each other, from the first that is kept to the last that came.

use std::collections::VecDeque;

/// Bytes of a stream, from `base` on without a gap.
#[derive(Debug, Clone, Default)]
pub(super) struct ByteQueue {
    base: u64,
    bytes: VecDeque<u8>,
}

impl ByteQueue {
    pub(super) fn at(base: u64) -> ByteQueue {
        ByteQueue { base, bytes: VecDeque::new() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Appends stand-ins for bytes that did not come.
    pub(super) fn push_missing(&mut self, count: u64) {
        // The stream granted this many, so they fit the memory.
        self.bytes.resize(self.bytes.len() + count as usize, 0);
    }

    pub(super) fn discard_below(&mut self, base: u64) {
        // At most the number of bytes held.
        let gone = (base.saturating_sub(self.base) as usize).min(self.bytes.len());
        self.bytes.drain(..gone);
        self.base += gone as u64;
    }

    /// At most `most` bytes from the offset `from` on, as two pieces that follow each other; empty where the
    /// queue has none.
    pub(super) fn read(&self, from: u64, most: usize) -> (&[u8], &[u8]) {
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

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(test)]
#[path = "tests/byte_queue.rs"]
mod tests;
