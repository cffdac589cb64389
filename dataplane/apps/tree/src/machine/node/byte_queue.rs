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
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The queue reads as a plain vector does that forgets nothing.
        #[test]
        fn bytes_are_read_as_they_were_pushed(
            steps in proptest::collection::vec((0..40_usize, 0..40_u64, 0..60_u64, 0..60_usize), 1..60),
        ) {
            let (mut queue, mut all) = (ByteQueue::at(100), Vec::<u8>::new());
            let mut base = 0;
            for (count, discard, from, most) in steps {
                let new: Vec<u8> = (all.len()..all.len() + count).map(|at| (at * 7) as u8).collect();
                queue.push(&new);
                all.extend(new);
                base = (base + discard).min(all.len() as u64);
                queue.discard_below(100 + base);
                let from = base + from;
                let end = all.len().min((from as usize).saturating_add(most));
                let expected = all.get(from as usize..end).unwrap_or(&[]);
                let (first, second) = queue.read(100 + from, most);
                prop_assert_eq!([first, second].concat(), expected);
                prop_assert_eq!(queue.len() as u64, all.len() as u64 - base);
            }
            prop_assert_eq!(queue.read(0, 10), (&[][..], &[][..]), "before the stream");
        }
    }
}
