//! A router without P4: looks up the address, queues first in first out, drops at the tail.
//!
//! When a frame arrives, the frames before it are known, and so is the time when it leaves. It is put on the
//! link at once, ahead of its time: a hop is one event.

use std::collections::VecDeque;

use groupflow_base::Nanos;

use crate::router::{PortQueue, Ports};
use crate::sample::NodeSample;
use crate::wiring::Exit;

/// A port with its queue.
#[derive(Debug)]
pub struct FifoPort {
    queue: PortQueue,
    /// When each waiting frame begins to be sent, and its bytes.
    waiting: VecDeque<(Nanos, u64)>,
}

impl FifoPort {
    pub fn new(queue: PortQueue) -> FifoPort {
        FifoPort { queue, waiting: VecDeque::new() }
    }

    /// Frames that have begun to be sent no longer wait.
    #[inline]
    fn settle(&mut self, now: Nanos) {
        while let Some(&(start, bytes)) = self.waiting.front() {
            if start > now {
                return;
            }
            self.waiting.pop_front();
            self.queue.leave(bytes);
        }
    }

    /// When a frame's last bit leaves; `None`: there is no room. The frame may be marked.
    #[inline]
    pub fn queue(&mut self, now: Nanos, head: &mut [u8], tail: u32) -> Option<Nanos> {
        self.settle(now);
        let waits = self.queue.free_at() > now;
        if waits && !self.queue.join(head, tail) {
            return None;
        }
        let bytes = head.len() as u64 + u64::from(tail);
        let (start, end) = self.queue.send(now, bytes);
        if waits {
            self.waiting.push_back((start, bytes));
        }
        Some(end)
    }

    pub fn sample(&mut self, now: Nanos, number: u16, sample: &mut NodeSample<'_>) {
        self.settle(now);
        self.queue.sample(number, sample);
    }
}

#[derive(Debug)]
pub struct Fifo(pub Ports<FifoPort>);

impl Fifo {
    /// Handles a frame that arrives.
    pub fn receive(&mut self, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        let Some(number) = self.0.towards(head) else { return };
        let sent = self.0.get(number).and_then(|port| port.queue(exit.now, head, tail));
        if let Some(sent) = sent {
            exit.send(number, sent, head, tail);
        }
    }

    pub fn sample(&mut self, now: Nanos, sample: &mut NodeSample<'_>) {
        sample.dropped("no_route", self.0.no_route);
        self.0.iter().for_each(|(number, port)| port.sample(now, number, sample));
    }
}
