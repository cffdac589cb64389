//! A host's own queue of a flow that it shapes: what TCP may send waits here, not in TCP.

use groupflow_base::Nanos;

use crate::frame_queue::FrameQueue;
use crate::spec::BacklogSpec;

#[derive(Debug)]
pub struct Backlog {
    spec: BacklogSpec,
    frames: FrameQueue,
    waiting: u32,
    /// Packets that found no room.
    pub dropped: u64,
}

impl Backlog {
    /// An empty queue.
    pub fn new(spec: BacklogSpec) -> Backlog {
        Backlog { spec, frames: FrameQueue::default(), waiting: 0, dropped: 0 }
    }

    /// Since when a packet waits; [`Nanos::MAX`]: none does.
    pub fn since(&self) -> Nanos {
        self.frames.next()
    }

    /// By how much the host exceeds the rate it is told, as D_0 n_0.
    pub fn surplus(&self) -> i64 {
        i64::from(self.spec.gain) * i64::from(self.waiting)
    }

    /// Takes in a packet, or drops it.
    pub fn push(&mut self, now: Nanos, head: &[u8], tail: u32) {
        if self.waiting >= self.spec.packets {
            self.dropped += 1;
            return;
        }
        self.waiting += 1;
        self.frames.push(now, head, tail);
    }

    /// Takes out the packet that has waited longest; returns the length of its tail.
    pub fn pop(&mut self, head: &mut Vec<u8>) -> Option<u32> {
        let mut frame = self.frames.lend()?;
        head.clear();
        head.extend_from_slice(frame.head());
        let tail = frame.tail;
        self.frames.give_back(frame);
        self.waiting -= 1;
        Some(tail)
    }
}
