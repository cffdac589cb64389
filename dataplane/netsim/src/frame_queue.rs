//! Frames on their way, packed one behind the other into buffers that are used again.
//!
//! A frame is a head (every byte of it carried) and a tail (bytes that exist as a length only). One
//! costs 16 bytes and its head, and no allocation once the buffers have grown to the traffic.

use std::collections::VecDeque;
use std::ops::Range;

use groupflow_base::Nanos;

/// A buffer of packed frames: time, tail, length of the head, head.
type Batch = Vec<u8>;

const RECORD: usize = 16;
/// A buffer is closed at this size.
const BATCH_BYTES: usize = 16 << 10;
/// Used buffers that are kept.
const SPARE: usize = 8;

/// Packs a frame behind those in a batch.
#[inline]
fn append(batch: &mut Batch, time: Nanos, head: &[u8], tail: u32) {
    let lengths = u64::from(tail) | (head.len() as u64) << 32;
    let record = u128::from(time.0) | u128::from(lengths) << 64;
    batch.reserve(RECORD + head.len());
    batch.extend_from_slice(&record.to_le_bytes());
    batch.extend_from_slice(head);
}

/// The first frame of a queue, as a view of its bytes.
#[derive(Debug)]
pub struct Lent {
    batch: Batch,
    head: Range<usize>,
    /// Bytes that exist as a length only.
    pub tail: u32,
}

impl Lent {
    #[inline]
    pub fn head(&mut self) -> &mut [u8] {
        &mut self.batch[self.head.clone()]
    }
}

/// A queue of frames, first in, first out, whose times never decrease.
#[derive(Debug)]
pub struct FrameQueue {
    batches: VecDeque<Batch>,
    /// The offset of the first frame in the first batch.
    offset: usize,
    next: Nanos,
    spare: Vec<Batch>,
}

impl Default for FrameQueue {
    fn default() -> FrameQueue {
        FrameQueue { batches: VecDeque::new(), offset: 0, next: Nanos::MAX, spare: Vec::new() }
    }
}

impl FrameQueue {
    /// The time of the first frame; [`Nanos::MAX`] if there is none.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.next
    }

    #[inline]
    pub fn push(&mut self, time: Nanos, head: &[u8], tail: u32) {
        match self.batches.back_mut() {
            Some(batch) if batch.len() < BATCH_BYTES => append(batch, time, head, tail),
            _ => {
                let mut batch = self.spare.pop().unwrap_or_default();
                append(&mut batch, time, head, tail);
                self.batches.push_back(batch);
            }
        }
        if self.next == Nanos::MAX {
            self.next = time;
        }
    }

    /// Lends the first frame: until it is given back, others may be pushed but none taken.
    #[inline(always)]
    pub fn lend(&mut self) -> Option<Lent> {
        let batch = self.batches.front_mut()?;
        let record = &batch[self.offset..self.offset + RECORD];
        let (tail, bytes) = (u32_of(&record[8..12]), u32_of(&record[12..]) as usize);
        let start = self.offset + RECORD;
        let head = start..start + bytes;
        Some(Lent { batch: std::mem::take(batch), head, tail })
    }

    /// Takes back a lent buffer; its frame is gone from the queue.
    #[inline(always)]
    pub fn give_back(&mut self, lent: Lent) {
        let Lent { mut batch, head, .. } = lent;
        self.offset = head.end;
        let Some(front) = self.batches.front_mut() else { return };
        if !front.is_empty() {
            // Frames that were pushed meanwhile, if the batch was the last one.
            batch.append(front);
        }
        match batch.get(head.end..head.end + 8) {
            Some(time) => {
                self.next = Nanos(u64_of(time));
                *front = batch;
            }
            None => {
                *front = batch;
                self.drop_front();
            }
        }
    }

    /// Goes on to the next batch: all frames of the first are gone.
    fn drop_front(&mut self) {
        self.offset = 0;
        if let Some(mut batch) = self.batches.pop_front() {
            if self.spare.len() < SPARE {
                batch.clear();
                self.spare.push(batch);
            }
        }
        self.next = self.time_at_offset();
    }

    #[inline]
    fn time_at_offset(&self) -> Nanos {
        self.batches.front().map_or(Nanos::MAX, |batch| Nanos(u64_of(&batch[self.offset..self.offset + 8])))
    }
}

fn u64_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

fn u32_of(bytes: &[u8]) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(bytes);
    u32::from_le_bytes(word)
}

#[cfg(test)]
#[path = "tests/frame_queue.rs"]
mod tests;
