//! One direction of a link. Its near end decides which frames are lost, and when the others arrive; until
//! then they wait at its far end.

use groupflow_base::Nanos;

use crate::frame_queue::FrameQueue;
use crate::ids::NodeId;
use crate::loss::LossProcess;
use crate::random::Random;
use crate::sample::NodeSample;
use crate::transit::{Marks, Transit};
use crate::wiring::Leaf;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Frames that entered the link or are announced to it, including lost frames.
    pub frames: u64,
    /// Bytes of these frames.
    pub bytes: u64,
    /// Frames lost at random.
    pub lost: u64,
    /// Frames lost because the link was down.
    pub down: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FarEnd {
    pub node: NodeId,
    pub port: u16,
    /// The leaf for the next arrival.
    pub leaf: Leaf,
}

#[derive(Debug)]
pub struct Link {
    pub delay: Nanos,
    /// The rule by which the link loses frames.
    pub loss: LossProcess,
    pub random: Random,
    /// The times when the link is down, in order: from, until.
    pub downs: Vec<(Nanos, Nanos)>,
    /// The first of `downs` that is not over.
    next_down: usize,
    counters: LinkCounters,
    /// The numbers of frames that had entered the link at each sample: nodes announce frames ahead of their
    /// time.
    entered: Marks,
    /// The flows that are watched on the link, in the order of [`Transit::sort`].
    pub transits: Vec<Transit>,
    /// The frames on their way, by when they arrive.
    pub queue: FrameQueue,
    pub end: FarEnd,
}

impl Link {
    /// A link that loses nothing, measured at each multiple of `sample`.
    pub fn new(delay: Nanos, random: Random, sample: Nanos, end: FarEnd) -> Link {
        Link {
            delay,
            loss: LossProcess::None,
            random,
            downs: Vec::new(),
            next_down: 0,
            counters: LinkCounters::default(),
            entered: Marks::new(sample, Nanos::ZERO),
            transits: Vec::new(),
            queue: FrameQueue::default(),
            end,
        }
    }

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

    /// Takes a frame whose last bit enters the link at `sent`. False: the link loses it.
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
        self.queue.push(sent + self.delay, head, tail);
        true
    }

    /// Measures the link behind a node's port at the next sample's time, which must have come.
    pub fn sample(&mut self, port: u16, sample: &mut NodeSample<'_>) {
        let (frames, bytes) = self.entered.take(self.counters.frames, self.counters.bytes);
        sample.link(port, frames, bytes);
        sample.dropped_at(port, "loss", self.counters.lost);
        sample.dropped_at(port, "down", self.counters.down);
        for transit in &mut self.transits {
            let (packets, bytes) = transit.sample();
            let flow = sample.flow(transit.flow);
            flow.in_transit_packets += packets;
            flow.in_transit_bytes += bytes;
        }
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
#[path = "tests/link.rs"]
mod tests;
