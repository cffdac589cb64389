//! A host: the ends of flows behind one network interface.
//!
//! An end is asked for a packet when the interface can take it: what a flow has to send waits in the
//! flow, as under a kernel that limits what it queues, and flows take turns.

mod end;
mod shaper;
pub mod tcp_end;
pub mod udp;

use groupflow_pipeline::units::Nanos;
use groupflow_switch::core::Rate;

pub use end::{End, EndKind};
pub use shaper::Shaper;

use crate::address_table::AddressTable;
use crate::drops::DropList;
use crate::min_tree::MinTree;
use crate::sample::FlowSample;
use crate::transmitter::Transmitter;
use crate::wire::{read, Received};
use crate::wiring::Exit;

/// A host's only port.
const PORT: u16 = 0;

/// A host.
#[derive(Debug)]
pub struct Host {
    interface: Transmitter,
    ends: Vec<End>,
    /// The end of each protocol and local port.
    by_port: AddressTable,
    /// When each end has something to do.
    timers: MinTree,
    /// Since when, or from when on, each end has something to send.
    wants: MinTree,
    head: Vec<u8>,
    unexpected: u64,
}

impl Host {
    /// A host whose interface has this rate.
    pub fn new(rate: Option<Rate>, ends: Vec<End>) -> Host {
        let keys: Vec<_> =
            (0..).zip(&ends).map(|(place, end)| (key(end.protocol, end.port), place)).collect();
        let mut host = Host {
            interface: Transmitter::new(rate),
            by_port: AddressTable::new(&keys),
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

    /// When it has something to do.
    pub fn deadline(&self) -> Nanos {
        let wants = self.wants.time();
        let transmit = if wants == Nanos::MAX { wants } else { wants.max(self.interface.free_at()) };
        transmit.min(self.timers.time())
    }

    /// Does what is due, and sends what can be sent.
    pub fn advance(&mut self, exit: &mut Exit<'_>) {
        let now = exit.now;
        loop {
            if self.timers.time() <= now {
                let place = self.timers.first();
                self.ends[place].on_timer(now);
                self.update(place);
            } else if self.wants.time() <= now && self.interface.free_at() <= now {
                self.transmit(exit);
            } else {
                return;
            }
        }
    }

    /// Sends a packet of whoever has waited longest.
    fn transmit(&mut self, exit: &mut Exit<'_>) {
        let place = self.wants.first();
        if let Some(tail) = self.ends[place].poll(exit.now, &mut self.head) {
            let (_, sent) = self.interface.send(exit.now, self.head.len() as u32 + tail);
            exit.send(PORT, sent, &self.head, tail);
        }
        self.update(place);
    }

    /// A frame arrives.
    pub fn receive(&mut self, head: &[u8], tail: u32, exit: &mut Exit<'_>) {
        match read(head, tail) {
            Received::Transport { protocol, destination_port, ecn, segment, length, .. } => {
                let Some(place) = self.by_port.get(key(protocol, destination_port)) else {
                    self.unexpected += 1;
                    return;
                };
                let place = place as usize;
                self.ends[place].receive(exit.now, segment, length, ecn);
                self.update(place);
            }
            Received::Feedback { flow, rate, .. } => self.reshape(flow, rate),
            Received::Other => self.unexpected += 1,
        }
        self.advance(exit);
    }

    /// A node tells a flow's rate.
    fn reshape(&mut self, flow: u16, rate: i32) {
        let Some(place) = self.ends.iter().position(|end| end.shaped_as == Some(flow)) else {
            self.unexpected += 1;
            return;
        };
        self.ends[place].shaper.set_rate(rate.max(0) as u32);
        self.update(place);
    }

    fn update(&mut self, place: usize) {
        let end = &self.ends[place];
        self.timers.set(place, end.deadline());
        self.wants.set(place, end.wants());
    }

    /// Measures the flows.
    pub fn sample(&self, flows: &mut [FlowSample]) {
        for end in &self.ends {
            end.sample(&mut flows[end.flow.index()]);
        }
    }

    /// Lists what was dropped.
    pub fn drops(&self, list: &mut DropList<'_>) {
        list.at_node("unexpected", self.unexpected);
        list.at_node("malformed", self.ends.iter().map(End::malformed).sum());
        let full = self.ends.iter().map(End::dropped).sum();
        list.at_queue(PORT, 0, full);
    }
}

fn key(protocol: u8, port: u16) -> u32 {
    u32::from(protocol) << 16 | u32::from(port)
}
