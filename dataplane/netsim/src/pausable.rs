//! A router that obeys pause frames, and sends them: its frames stay in the queue until they may leave.
//!
//! A port without pauses sends to the nanosecond as [`Fifo`](crate::fifo::Fifo) does, with
//! twice as many events. Frames are counted by the port they came in by, as in IEEE 802.1Qbb.

use std::collections::VecDeque;

use groupflow_base::min_tree::MinTree;
use groupflow_base::Nanos;

use crate::frame_queue::FrameQueue;
use crate::pause::{self, PauseSpec, Restraint};
use crate::router::{PortQueue, Ports};
use crate::sample::NodeSample;
use crate::wiring::Exit;

#[derive(Debug)]
pub struct PausablePort {
    queue: PortQueue,
    frames: FrameQueue,
    /// The port that each waiting frame came in by.
    inputs: VecDeque<u16>,
    /// The time until which the neighbour wants no frames.
    paused_until: Nanos,
    /// The packets stored here that came in by this port.
    restraint: Restraint,
}

impl PausablePort {
    /// A port. Without thresholds it obeys pause frames, but sends none.
    pub fn new(queue: PortQueue, thresholds: Option<PauseSpec>) -> PausablePort {
        let restraint = Restraint::new(thresholds, queue.rate());
        let (frames, inputs) = (FrameQueue::default(), VecDeque::new());
        PausablePort { queue, frames, inputs, paused_until: Nanos::ZERO, restraint }
    }

    /// When the port has a frame to send, and may send it.
    fn due(&self) -> Nanos {
        let data = if self.inputs.is_empty() { Nanos::MAX } else { self.paused_until };
        let due = data.min(self.restraint.due());
        if due == Nanos::MAX {
            due
        } else {
            due.max(self.queue.free_at())
        }
    }

    /// Whether a frame need not wait.
    fn is_idle(&self, now: Nanos) -> bool {
        self.inputs.is_empty()
            && self.queue.free_at() <= now
            && self.paused_until <= now
            && self.restraint.due() > now
    }

    /// Queues a frame. False: there is no room.
    fn store(&mut self, now: Nanos, input: u16, head: &mut [u8], tail: u32) -> bool {
        let room = self.queue.join(head, tail);
        if room {
            self.frames.push(now, head, tail);
            self.inputs.push_back(input);
        }
        room
    }
}

#[derive(Debug)]
pub struct Pausable {
    ports: Ports<PausablePort>,
    /// When each port has something to send.
    due: MinTree,
}

impl Pausable {
    /// A router in which nothing has happened.
    pub fn new(ports: Ports<PausablePort>) -> Pausable {
        let due = MinTree::new(ports.len());
        Pausable { ports, due }
    }

    /// When the router has something to do.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.due.time()
    }

    /// Sends the frames that may leave now.
    pub fn advance(&mut self, exit: &mut Exit<'_>) {
        while self.due.time() <= exit.now {
            self.send(self.due.first() as u16, exit);
        }
    }

    /// Handles a frame that arrives.
    pub fn receive(&mut self, input: u16, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        if let Some(quanta) = pause::read(head) {
            if let Some(port) = self.ports.get(input) {
                port.paused_until = exit.now + pause::span(quanta, port.queue.rate());
            }
            self.update(input);
        } else {
            self.forward(input, head, tail, exit);
        }
        self.advance(exit);
    }

    fn forward(&mut self, input: u16, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        let Some(number) = self.ports.towards(head) else { return };
        let Some(port) = self.ports.get(number) else { return };
        if port.is_idle(exit.now) {
            let (_, sent) = port.queue.send(exit.now, head.len() as u64 + u64::from(tail));
            exit.send(number, sent, head, tail);
        } else if port.store(exit.now, input, head, tail) {
            self.update(number);
            if let Some(from) = self.ports.get(input) {
                from.restraint.enter();
            }
            self.update(input);
        }
    }

    /// Sends a frame: pause frames go before data.
    fn send(&mut self, number: u16, exit: &mut Exit<'_>) {
        let Some(port) = self.ports.get(number) else { return };
        if port.restraint.due() <= exit.now {
            let (head, tail) = pause::frame(port.restraint.announce(exit.now));
            let (_, sent) = port.queue.send(exit.now, head.len() as u64 + u64::from(tail));
            exit.send(number, sent, &head, tail);
        } else if let (Some(mut frame), Some(input)) = (port.frames.lend(), port.inputs.pop_front()) {
            let tail = frame.tail;
            let bytes = frame.head().len() as u64 + u64::from(tail);
            port.queue.leave(bytes);
            let (_, sent) = port.queue.send(exit.now, bytes);
            exit.send(number, sent, frame.head(), tail);
            port.frames.give_back(frame);
            if let Some(from) = self.ports.get(input) {
                from.restraint.leave();
            }
            self.update(input);
        }
        self.update(number);
    }

    #[inline]
    fn update(&mut self, number: u16) {
        if let Some(port) = self.ports.get(number) {
            self.due.set(usize::from(number), port.due());
        }
    }

    pub fn sample(&mut self, sample: &mut NodeSample<'_>) {
        sample.dropped("no_route", self.ports.no_route);
        for (number, port) in self.ports.iter() {
            port.queue.sample(number, sample);
            sample.signalled(Some(number), "pauses", port.restraint.pauses());
        }
    }
}
