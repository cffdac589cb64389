//! A satellite, or its ground station: a frame to a multicast address leaves by all other ports.
//!
//! Everything else is forwarded as a router does. Each port has a queue, and may damage the frames that
//! leave: bit errors, so that a long frame is lost more often than a short one. The distance from one error
//! to the next is exponentially distributed.

use groupflow_base::Nanos;

use crate::fifo::FifoPort;
use crate::ids::LinkId;
use crate::random::{Draws, Random};
use crate::router::{destination, PortQueue, Ports};
use crate::sample::NodeSample;
use crate::wiring::Exit;

/// 224.0.0.0/4.
const MULTICAST: u32 = 0b1110;

/// Bit errors of the frames that leave by a port.
#[derive(Debug)]
struct Errors {
    /// Bytes from one error to the next.
    mean: u64,
    random: Random,
    /// Bytes until the next error.
    left: u64,
    /// Frames damaged so far.
    damaged: u64,
}

impl Errors {
    fn new(mean: u64, random: Random) -> Errors {
        let mut errors = Errors { mean, random, left: 0, damaged: 0 };
        errors.left = errors.distance();
        errors
    }

    fn distance(&mut self) -> u64 {
        self.random.exponential(Nanos(self.mean)).0
    }

    /// Whether a frame of so many bytes is damaged.
    fn damage(&mut self, bytes: u64) -> bool {
        if self.left >= bytes {
            self.left -= bytes;
            return false;
        }
        // Exponential distances have no memory, so that the count begins anew with the next frame.
        self.left = self.distance();
        self.damaged += 1;
        true
    }
}

#[derive(Debug)]
pub struct BroadcastPort {
    fifo: FifoPort,
    /// The bit errors of the frames that leave.
    errors: Option<Errors>,
}

impl BroadcastPort {
    /// A port to a link. `error_bytes`: from one bit error to the next, on average.
    pub fn new(queue: PortQueue, error_bytes: Option<u64>, seed: u64, link: LinkId) -> BroadcastPort {
        let errors = error_bytes.map(|mean| Errors::new(mean, Random::new(seed, Draws::Errors(link.0))));
        BroadcastPort { fifo: FifoPort::new(queue), errors }
    }

    fn forward(&mut self, number: u16, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        let Some(sent) = self.fifo.queue(exit.now, head, tail) else { return };
        let bytes = head.len() as u64 + u64::from(tail);
        if !self.errors.as_mut().is_some_and(|errors| errors.damage(bytes)) {
            exit.send(number, sent, head, tail);
        }
    }
}

/// A satellite or a ground station.
#[derive(Debug)]
pub struct Broadcast(pub Ports<BroadcastPort>);

impl Broadcast {
    /// Handles a frame that arrives.
    pub fn receive(&mut self, from: u16, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        if destination(head).is_some_and(|address| address >> 28 == MULTICAST) {
            let others = self.0.iter().filter(|&(number, _)| number != from);
            others.for_each(|(number, port)| port.forward(number, head, tail, exit));
        } else if let Some(number) = self.0.towards(head) {
            if let Some(port) = self.0.get(number) {
                port.forward(number, head, tail, exit);
            }
        }
    }

    pub fn sample(&mut self, now: Nanos, sample: &mut NodeSample<'_>) {
        sample.dropped("no_route", self.0.no_route);
        for (number, port) in self.0.iter() {
            port.fifo.sample(now, number, sample);
            let damaged = port.errors.as_ref().map_or(0, |errors| errors.damaged);
            sample.dropped_at(number, "damaged", damaged);
        }
    }
}

#[cfg(test)]
#[path = "tests/broadcast.rs"]
mod tests;
