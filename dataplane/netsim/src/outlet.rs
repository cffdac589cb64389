//! The near end of one direction of a link: it decides which frames are lost, and when the others arrive.

use groupflow_base::Nanos;

use crate::frame_queue::Batch;
use crate::loss::LossProcess;
use crate::random::Random;
use crate::transit::{Marks, Transit};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkTarget {
    /// The island's inlet of this number.
    Inlet(usize),
    /// Another island, through this mailbox.
    Mailbox(usize),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutletCounters {
    /// Frames that entered the link or are announced to it, including lost frames.
    pub frames: u64,
    /// Bytes of these frames.
    pub bytes: u64,
    /// Frames lost at random.
    pub lost: u64,
    /// Frames lost because the link was down.
    pub down: u64,
}

/// The near end of a link.
#[derive(Debug)]
pub struct Outlet {
    pub delay: Nanos,
    /// The rule by which the link loses frames.
    pub loss: LossProcess,
    /// The random numbers of the loss.
    pub random: Random,
    /// The times when the link is down, in order: from, until.
    pub downs: Vec<(Nanos, Nanos)>,
    /// The first of `downs` that is not over.
    pub next_down: usize,
    pub destination: LinkTarget,
    /// Frames for another island, of this window.
    pub batch: Batch,
    pub counters: OutletCounters,
    /// The numbers of frames that had entered the link at each sample: nodes announce frames ahead of their
    /// time.
    pub entered: Marks,
    /// The flows that are watched on the link, in the order of [`Transit::sort`].
    pub transits: Vec<Transit>,
}

impl Outlet {
    /// Sets a delay that is no shorter than before: otherwise frames would overtake each other, and islands
    /// would run too far ahead. Returns whether the new delay is long enough.
    pub fn lengthen(&mut self, delay: Nanos) -> bool {
        if delay < self.delay {
            return false;
        }
        let by = delay - std::mem::replace(&mut self.delay, delay);
        self.transits.iter_mut().for_each(|transit| transit.lengthen(by));
        true
    }

    /// Whether a frame whose last bit entered the link at `sent` arrives (a delay later).
    #[inline]
    pub fn carry(&mut self, sent: Nanos, head: &[u8], tail: u32) -> bool {
        let bytes = head.len() as u64 + u64::from(tail);
        self.entered.note(sent, self.counters.frames, self.counters.bytes);
        self.counters.frames += 1;
        self.counters.bytes += bytes;
        if !self.transits.is_empty() {
            if let Some(transit) = Transit::find(&mut self.transits, head) {
                transit.enter(sent, bytes);
            }
        }
        if self.next_down < self.downs.len() && self.is_down(sent) {
            self.counters.down += 1;
            return false;
        }
        if self.loss.loses(&mut self.random) {
            self.counters.lost += 1;
            return false;
        }
        true
    }

    /// Frames and bytes that have entered the link at the next sample's time, which must have come.
    pub fn sample(&mut self) -> (u64, u64) {
        self.entered.take(self.counters.frames, self.counters.bytes)
    }

    /// Whether the link is down at any time from when the frame has left until it arrives.
    fn is_down(&mut self, sent: Nanos) -> bool {
        while self.downs.get(self.next_down).is_some_and(|&(_, until)| until <= sent) {
            self.next_down += 1;
        }
        self.downs.get(self.next_down).is_some_and(|&(from, _)| from < sent + self.delay || from == sent)
    }
}

#[cfg(test)]
#[path = "tests/outlet.rs"]
mod tests;
