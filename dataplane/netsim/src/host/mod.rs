//! A host: the ends of flows behind one network interface.
//!
//! An end is asked for a packet when the interface can take it: a flow's data waits in the
//! flow, as under a kernel that limits its queues, and flows take turns.

pub mod agent;
pub mod bone_end;
mod byte_stream;
pub mod dispatchers_end;
mod end;
pub mod group_end;
pub mod machine_end;
mod messages;
mod shaper;
mod split_end;
mod streams;
pub mod tcp_end;
pub mod tree_end;
pub mod udp;

use std::net::SocketAddrV4;

use groupflow_base::min_tree::MinTree;
use groupflow_base::{BitRate, Nanos};
use groupflow_switch::core::Pacer;
use rustc_hash::FxHashMap;

pub use end::{End, FlowEnd};
pub use messages::MessageSource;
pub use shaper::Backlog;

use self::tcp_end::TcpEnd;
use crate::ids::FlowId;
use crate::sample::NodeSample;
use crate::wire::{read, Received, PROTOCOL_TCP};
use crate::wiring::Exit;

/// The port of an end that takes the packets of its protocol which are for no other end.
pub const ANY_PORT: u16 = 0;

/// A host, or one port of a split agent.
#[derive(Debug)]
pub struct HostInterface {
    port: u16,
    pub rate: Option<BitRate>,
    interface: Pacer,
    ends: Vec<FlowEnd>,
    /// The end of each protocol and local port.
    by_port: FxHashMap<u32, usize>,
    /// When each end has something to do.
    timers: MinTree,
    /// Since when, or from when on, each end has something to send.
    wants: MinTree,
    head: Vec<u8>,
    unexpected: u64,
}

impl HostInterface {
    /// A host whose interface is the node's `port` and has this rate.
    pub fn new(port: u16, rate: Option<BitRate>, ends: Vec<FlowEnd>) -> HostInterface {
        let mut host = HostInterface {
            port,
            rate,
            interface: Pacer::default(),
            by_port: ends.iter().map(|end| key(end.protocol, end.port)).zip(0..).collect(),
            timers: MinTree::new(ends.len()),
            wants: MinTree::new(ends.len()),
            ends,
            head: Vec::new(),
            unexpected: 0,
        };
        for place in 0..host.ends.len() {
            host.update(place);
        }
        host
    }

    pub fn deadline(&self) -> Nanos {
        let wants = self.wants.time();
        let transmit = if wants == Nanos::MAX { wants } else { wants.max(self.interface.free_at()) };
        transmit.min(self.timers.time())
    }

    /// Carries out everything due, and sends all that can be sent.
    pub fn advance(&mut self, exit: &mut Exit<'_>) {
        while self.deadline() <= exit.now {
            self.step(exit);
        }
    }

    /// Carries out one action that is due. Returns whether the host sent a packet.
    pub fn step(&mut self, exit: &mut Exit<'_>) -> bool {
        let now = exit.now;
        if self.timers.time() <= now {
            let place = self.timers.first();
            self.ends[place].endpoint.on_timer(now);
            self.update(place);
            return false;
        }
        self.wants.time() <= now && self.interface.free_at() <= now && self.transmit(exit)
    }

    /// Sends a packet of the end that has waited longest, if there is one after all.
    fn transmit(&mut self, exit: &mut Exit<'_>) -> bool {
        let place = self.wants.first();
        let tail = self.ends[place].poll(exit.now, &mut self.head);
        if let Some(tail) = tail {
            let (_, sent) = self.interface.send(self.rate, exit.now, self.head.len() + tail as usize);
            exit.send(self.port, sent, &self.head, tail);
        }
        self.update(place);
        tail.is_some()
    }

    /// Handles a frame that arrives, and sends the packets that it causes.
    pub fn receive(&mut self, head: &[u8], tail: u32, exit: &mut Exit<'_>) {
        self.take_in(exit.now, head, tail);
        self.advance(exit);
    }

    /// Handles a frame that arrives. Returns the place of the end that took it.
    pub fn take_in(&mut self, now: Nanos, head: &[u8], tail: u32) -> Option<usize> {
        match read(head, tail) {
            Received::Transport { protocol, ecn, source, source_port, destination_port, segment, length } => {
                let place = [destination_port, ANY_PORT].map(|port| self.by_port.get(&key(protocol, port)));
                let Some(place) = place.into_iter().flatten().next().copied() else {
                    self.unexpected += 1;
                    return None;
                };
                let from = SocketAddrV4::new(source, source_port);
                self.ends[place].endpoint.receive(now, from, segment, length, ecn);
                self.update(place);
                return Some(place);
            }
            Received::Feedback(told) => self.reshape(told.flow, told.rate),
            Received::Other => self.unexpected += 1,
        }
        None
    }

    /// Calls a function on the TCP endpoint at this place, which may then have something to send.
    pub fn with_tcp<R>(&mut self, place: usize, act: impl FnOnce(&mut TcpEnd) -> R) -> Option<R> {
        let result = act(self.ends.get_mut(place)?.endpoint.tcp()?);
        self.update(place);
        Some(result)
    }

    /// The place of the TCP endpoint that a flow has here.
    pub fn place_of(&self, flow: FlowId) -> Option<usize> {
        self.ends.iter().position(|end| end.flow == flow && end.protocol == PROTOCOL_TCP)
    }

    /// Handles a flow's rate that a node tells.
    fn reshape(&mut self, flow: u16, rate: i32) {
        let Some(place) = self.ends.iter().position(|end| end.shaped_as == Some(flow)) else {
            self.unexpected += 1;
            return;
        };
        self.ends[place].set_rate(rate);
        self.update(place);
    }

    fn update(&mut self, place: usize) {
        let end = &self.ends[place];
        self.timers.set(place, end.endpoint.deadline());
        self.wants.set(place, end.wants());
    }

    pub fn sample(&mut self, sample: &mut NodeSample<'_>) {
        sample.dropped("unexpected", self.unexpected);
        for end in &mut self.ends {
            end.sample(sample.flow(end.flow));
            sample.dropped("malformed", end.endpoint.malformed());
            sample.dropped_by_queue(self.port, 0, end.dropped());
            if let Some((bytes, peak)) = end.endpoint.cache() {
                sample.cache(bytes, peak);
            }
        }
    }
}

fn key(protocol: u8, port: u16) -> u32 {
    u32::from(protocol) << 16 | u32::from(port)
}

#[cfg(test)]
mod tests;
