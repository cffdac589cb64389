//! A satellite, or its ground station: what is sent to a multicast address leaves by all other ports.
//!
//! Everything else is forwarded as a router does. Each port has a queue, and may damage what it sends: bit
//! errors, so that a long frame is lost more often than a short one. The distance from one error to the next
//! is exponentially distributed.

use std::sync::Arc;

use groupflow_base::Nanos;
use groupflow_switch::core::Rate;

use crate::drops::DropList;
use crate::ecn::Marker;
use crate::fifo::{destination, Port, QueueLimit};
use crate::ids::{LinkId, NodeId};
use crate::random::{Random, Stream};
use crate::routes::Routes;
use crate::wiring::Exit;

/// 224.0.0.0/4.
const MULTICAST: u32 = 0b1110;

/// Bit errors of what leaves by a port.
#[derive(Debug)]
struct Errors {
    /// Bytes from one error to the next.
    mean: u64,
    random: Random,
    /// Bytes until the next.
    left: u64,
}

impl Errors {
    fn new(mean: u64, random: Random) -> Errors {
        let mut errors = Errors { mean, random, left: 0 };
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
        // Exponential distances have no memory: the next frame begins anew.
        self.left = self.distance();
        true
    }
}

#[derive(Debug)]
struct Outgoing {
    queue: Port,
    errors: Option<Errors>,
    damaged: u64,
}

/// A satellite or a ground station.
#[derive(Debug)]
pub struct Broadcast {
    node: NodeId,
    routes: Arc<Routes>,
    ports: Vec<Option<Outgoing>>,
    no_route: u64,
}

impl Broadcast {
    /// One without ports.
    pub fn new(node: NodeId, routes: Arc<Routes>) -> Broadcast {
        Broadcast { node, routes, ports: Vec::new(), no_route: 0 }
    }

    /// Attaches a link. `error_bytes`: from one bit error to the next, on average.
    pub fn attach(
        &mut self,
        port: u16,
        rate: Option<Rate>,
        limit: QueueLimit,
        error_bytes: Option<u64>,
        (seed, link): (u64, LinkId),
    ) {
        let place = usize::from(port);
        if self.ports.len() <= place {
            self.ports.resize_with(place + 1, || None);
        }
        let errors = error_bytes.map(|mean| Errors::new(mean, Random::new(seed, Stream::Errors(link.0))));
        let queue = Port::new(rate, limit, Marker::new(None));
        self.ports[place] = Some(Outgoing { queue, errors, damaged: 0 });
    }

    /// A frame arrives.
    pub fn receive(&mut self, from: u16, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        let Some(address) = destination(head) else {
            self.no_route += 1;
            return;
        };
        if address >> 28 == MULTICAST {
            for port in (0..self.ports.len() as u16).filter(|&port| port != from) {
                self.send(port, head, tail, exit);
            }
        } else if let Some(port) = self.routes.port(self.node, address) {
            self.send(port, head, tail, exit);
        } else {
            self.no_route += 1;
        }
    }

    fn send(&mut self, port: u16, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        let Some(Some(outgoing)) = self.ports.get_mut(usize::from(port)) else { return };
        let Some(sent) = outgoing.queue.queue(exit.now, head, tail) else { return };
        let bytes = head.len() as u64 + u64::from(tail);
        if outgoing.errors.as_mut().is_some_and(|errors| errors.damage(bytes)) {
            outgoing.damaged += 1;
            return;
        }
        exit.send(port, sent, head, tail);
    }

    /// Calls `each` with port, packets and bytes of what waits.
    pub fn queues(&mut self, now: Nanos, mut each: impl FnMut(u16, u32, u64)) {
        for (number, port) in (0..).zip(&mut self.ports) {
            if let Some(port) = port {
                let (packets, bytes) = port.queue.waiting(now);
                each(number, packets, bytes);
            }
        }
    }

    /// Lists what was dropped.
    pub fn drops(&self, list: &mut DropList<'_>) {
        list.at_node("no_route", self.no_route);
        for (number, port) in (0..).zip(&self.ports) {
            list.at_queue(number, 0, port.as_ref().map_or(0, |port| port.queue.full()));
            list.at_port(number, "damaged", port.as_ref().map_or(0, |port| port.damaged));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_damaged_in_proportion_to_its_length() {
        for bytes in [100, 1000] {
            let mut errors = Errors::new(100_000, Random::new(3, Stream::Errors(0)));
            let damaged = (0..200_000).filter(|_| errors.damage(bytes)).count() as f64 / 200_000.0;
            let expected = 1.0 - (-(bytes as f64) / 100_000.0).exp();
            assert!((damaged / expected - 1.0).abs() < 0.08, "{damaged} {expected}");
        }
    }
}
