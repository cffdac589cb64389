//! A router without P4: looks up the address, queues first in first out, drops at the tail.
//!
//! When a frame arrives, the frames before it are known, and so is the time when it leaves. It is put on the
//! link at once, ahead of its time: a hop is one event.
//!
//! A satellite, or its ground station, is such a router that repeats a frame to a multicast address at all
//! other ports, and whose ports may damage the frames that leave.

use std::collections::VecDeque;

use groupflow_base::Nanos;

use crate::loss::BitErrors;
use crate::router::{destination, PortQueue, Ports};
use crate::sample::NodeSample;
use crate::wiring::Exit;

/// 224.0.0.0/4.
const MULTICAST: u32 = 0b1110;

#[derive(Debug)]
pub struct FifoPort {
    pub queue: PortQueue,
    /// When each waiting frame begins to be sent, and its bytes.
    waiting: VecDeque<(Nanos, u64)>,
    /// The bit errors of the frames that leave.
    errors: Option<Box<BitErrors>>,
}

impl FifoPort {
    pub fn new(queue: PortQueue, errors: Option<BitErrors>) -> FifoPort {
        FifoPort { queue, waiting: VecDeque::new(), errors: errors.map(Box::new) }
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

    /// Sends a frame, which may be marked, unless there is no room.
    #[inline]
    fn forward(&mut self, number: u16, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        self.settle(exit.now);
        let waits = self.queue.free_at() > exit.now;
        if waits && !self.queue.join(head, tail) {
            return;
        }
        let bytes = head.len() as u64 + u64::from(tail);
        let (start, end) = self.queue.send(exit.now, bytes);
        if waits {
            self.waiting.push_back((start, bytes));
        }
        if !self.errors.as_mut().is_some_and(|errors| errors.damage(bytes)) {
            exit.send(number, end, head, tail);
        }
    }
}

#[derive(Debug)]
pub struct Fifo {
    pub ports: Ports<FifoPort>,
    /// Whether multicast leaves by all other ports.
    pub repeats: bool,
}

impl Fifo {
    /// Handles a frame that arrives.
    pub fn receive(&mut self, from: u16, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        if self.repeats && destination(head).is_some_and(|address| address >> 28 == MULTICAST) {
            let others = self.ports.iter().filter(|&(number, _)| number != from);
            others.for_each(|(number, port)| port.forward(number, head, tail, exit));
        } else if let Some(number) = self.ports.towards(head) {
            if let Some(port) = self.ports.get(number) {
                port.forward(number, head, tail, exit);
            }
        }
    }

    pub fn sample(&mut self, now: Nanos, sample: &mut NodeSample<'_>) {
        sample.dropped("no_route", self.ports.no_route);
        for (number, port) in self.ports.iter() {
            port.settle(now);
            port.queue.sample(number, sample);
            sample.dropped_at(number, "damaged", port.errors.as_ref().map_or(0, |errors| errors.damaged));
        }
    }
}
