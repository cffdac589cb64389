//! A satellite, or its ground station: a frame to a multicast address leaves by all other ports.
//!
//! Everything else is forwarded as a router does. Each port has a queue, and may damage the frames that
//! leave: bit errors, so that a long frame is lost more often than a short one. The distance from one error
//! to the next is exponentially distributed.

use std::sync::Arc;

use groupflow_base::{BitRate, Nanos};

use crate::drops::DropList;
use crate::ecn::Marker;
use crate::fifo::{destination, Fifo, QueueLimit};
use crate::ids::{LinkId, NodeId};
use crate::random::{Draws, Random};
use crate::routes::Routes;
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

/// A satellite or a ground station.
#[derive(Debug)]
pub struct Broadcast {
    router: Fifo,
    /// The bit errors of each port.
    errors: Vec<Option<Errors>>,
}

impl Broadcast {
    /// A node without ports.
    pub fn new(node: NodeId, routes: Arc<Routes>) -> Broadcast {
        Broadcast { router: Fifo::new(node, routes, Marker::new(None)), errors: Vec::new() }
    }

    /// Attaches a link. `error_bytes`: from one bit error to the next, on average.
    pub fn attach(
        &mut self, port: u16, rate: Option<BitRate>, limit: QueueLimit, error_bytes: Option<u64>,
        (seed, link): (u64, LinkId),
    ) {
        self.router.attach(port, rate, limit);
        self.errors.resize_with(self.errors.len().max(usize::from(port) + 1), || None);
        let random = || Random::new(seed, Draws::Errors(link.0));
        self.errors[usize::from(port)] = error_bytes.map(|mean| Errors::new(mean, random()));
    }

    /// Handles a frame that arrives.
    pub fn receive(&mut self, from: u16, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        if destination(head).is_some_and(|address| address >> 28 == MULTICAST) {
            for port in (0..self.errors.len() as u16).filter(|&port| port != from) {
                self.send(port, head, tail, exit);
            }
        } else if let Some(port) = self.router.port_towards(head) {
            self.send(port, head, tail, exit);
        }
    }

    fn send(&mut self, port: u16, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        let Some(sent) = self.router.queue(port, exit.now, head, tail) else { return };
        let bytes = head.len() as u64 + u64::from(tail);
        let errors = self.errors[usize::from(port)].as_mut();
        if !errors.is_some_and(|errors| errors.damage(bytes)) {
            exit.send(port, sent, head, tail);
        }
    }

    /// Calls `each` with a port and the packets and bytes that wait there.
    pub fn queues(&mut self, now: Nanos, each: impl FnMut(u16, u32, u64)) {
        self.router.queues(now, each);
    }

    pub fn drops(&self, list: &mut DropList<'_>) {
        self.router.drops(list);
        for (number, errors) in (0..).zip(&self.errors) {
            list.at_port(number, "damaged", errors.as_ref().map_or(0, |errors| errors.damaged));
        }
    }
}

#[cfg(test)]
#[path = "tests/broadcast.rs"]
mod tests;
