//! Connections between hosts in virtual time: bytes in order, after the latency of the path.
//!
//! No stream is sent here, only the frames by which hosts make and end their edges: they are so few that no
//! link's rate counts. Links with rates, and TCP, are in netsim.

use std::collections::BTreeMap;

use groupflow_base::events::EventQueue;
use groupflow_base::Nanos;

use super::routers::Routers;
use crate::machine::{ConnId, HostId};

/// One end of a connection, named by its host and the host's number for the connection.
pub type ConnEnd = (HostId, ConnId);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireEvent {
    /// A host asks to connect; the answer is [`Wires::accept`] or [`Wires::refuse`] with this wire.
    Asked { wire: u64, to: HostId },
    /// A connection that this end asked for was accepted.
    Connected(ConnEnd),
    /// Bytes came to this end.
    Bytes(ConnEnd, Vec<u8>),
    /// The other end closed the connection, or is gone.
    Closed(ConnEnd),
}

/// One direction of a connection: the wire, and the side that sends.
type WireDirection = (u64, usize);

#[derive(Debug)]
enum WireStep {
    Ask(u64),
    Answer(u64),
    Deliver(WireDirection, Vec<u8>),
    /// The end to which this direction leads loses its connection.
    End(WireDirection),
}

#[derive(Debug, Clone, Copy)]
pub struct HostAttachment {
    pub router: usize,
    /// Latency from the host to its router, one way.
    pub access: Nanos,
}

#[derive(Debug)]
struct StudyWire {
    hosts: [HostId; 2],
    /// The ends' numbers; `None`: the end does not exist yet, or any more.
    ends: [Option<ConnId>; 2],
}

#[derive(Debug)]
pub struct Wires {
    pub routers: Routers,
    attachments: BTreeMap<HostId, HostAttachment>,
    wires: BTreeMap<u64, StudyWire>,
    found: BTreeMap<ConnEnd, WireDirection>,
    steps: EventQueue<WireStep>,
    numbers: u64,
}

impl Wires {
    pub fn new(routers: Routers) -> Wires {
        let (attachments, wires, found) = Default::default();
        Wires { routers, attachments, wires, found, steps: EventQueue::default(), numbers: 0 }
    }

    pub fn add_host(&mut self, host: HostId, attachment: HostAttachment) {
        self.attachments.insert(host, attachment);
    }

    pub fn router(&self, host: HostId) -> Option<usize> {
        Some(self.attachments.get(&host)?.router)
    }

    /// Latency between two hosts, one way.
    pub fn latency(&self, a: HostId, b: HostId) -> Nanos {
        self.access(a) + self.between(a, b) + self.access(b)
    }

    /// Round-trip time of a connection.
    pub fn round_trip(&self, end: ConnEnd) -> Nanos {
        let wire = self.found.get(&end).and_then(|way| self.wires.get(&way.0));
        let one_way = wire.map_or(Nanos::ZERO, |wire| self.latency(wire.hosts[0], wire.hosts[1]));
        one_way + one_way
    }

    /// Latency from a host to its router.
    pub fn access(&self, host: HostId) -> Nanos {
        self.attachments.get(&host).map_or(Nanos::ZERO, |attachment| attachment.access)
    }

    /// Latency between two hosts' routers, one way.
    pub fn between(&self, a: HostId, b: HostId) -> Nanos {
        let routers = self.router(a).zip(self.router(b));
        routers.map_or(Nanos::ZERO, |(a, b)| self.routers.latency(a, b))
    }

    /// When [`Wires::step`] is to be called.
    pub fn deadline(&self) -> Nanos {
        self.steps.next().unwrap_or(Nanos::MAX)
    }

    /// Carries out one step; returns its event, if it has one.
    pub fn step(&mut self) -> Option<WireEvent> {
        let (_, step) = self.steps.pop()?;
        match step {
            WireStep::Ask(wire) => Some(WireEvent::Asked { wire, to: self.wires.get(&wire)?.hosts[1] }),
            WireStep::Answer(wire) => Some(WireEvent::Connected(self.end((wire, 0))?)),
            WireStep::Deliver((wire, side), bytes) => {
                Some(WireEvent::Bytes(self.end((wire, 1 - side))?, bytes))
            }
            WireStep::End((wire, side)) => {
                let end = self.end((wire, 1 - side));
                self.wires.remove(&wire);
                self.found.remove(&end?);
                end.map(WireEvent::Closed)
            }
        }
    }

    pub fn connect(&mut self, now: Nanos, from: ConnEnd, to: HostId) {
        self.numbers += 1;
        let wire = self.numbers;
        self.wires.insert(wire, StudyWire { hosts: [from.0, to], ends: [Some(from.1), None] });
        self.found.insert(from, (wire, 0));
        self.after_latency(now, (wire, 0), WireStep::Ask(wire));
    }

    pub fn accept(&mut self, now: Nanos, wire: u64, conn: ConnId) {
        if let Some(found) = self.wires.get_mut(&wire) {
            found.ends[1] = Some(conn);
            self.found.insert((found.hosts[1], conn), (wire, 1));
            self.after_latency(now, (wire, 1), WireStep::Answer(wire));
        }
    }

    pub fn refuse(&mut self, now: Nanos, wire: u64) {
        self.after_latency(now, (wire, 1), WireStep::End((wire, 1)));
    }

    pub fn send(&mut self, now: Nanos, end: ConnEnd, bytes: Vec<u8>) {
        if let Some(&way) = self.found.get(&end) {
            self.after_latency(now, way, WireStep::Deliver(way, bytes));
        }
    }

    /// Ends the connection at this end; the other end first receives all bytes that were sent.
    pub fn finish(&mut self, now: Nanos, end: ConnEnd) {
        if let Some(way) = self.leave(end) {
            self.after_latency(now, way, WireStep::End(way));
        }
    }

    /// Takes a host off the network; the other ends of its connections notice after this time.
    pub fn vanish(&mut self, now: Nanos, host: HostId, silence: Nanos) {
        for conn in self.of(host) {
            self.finish(now + silence, (host, conn));
        }
    }

    /// All connections of a host, in order.
    pub fn of(&self, host: HostId) -> Vec<ConnId> {
        let ends = (host, ConnId(0))..=(host, ConnId(u64::MAX));
        self.found.range(ends).map(|(&(_, conn), _)| conn).collect()
    }

    fn after_latency(&mut self, now: Nanos, way: WireDirection, step: WireStep) {
        if let Some([a, b]) = self.wires.get(&way.0).map(|wire| wire.hosts) {
            self.steps.schedule(now + self.latency(a, b), step);
        }
    }

    fn end(&self, (wire, side): WireDirection) -> Option<ConnEnd> {
        let found = self.wires.get(&wire)?;
        Some((found.hosts[side], found.ends[side]?))
    }

    /// Forgets an end of a connection; returns the direction in which it sent.
    fn leave(&mut self, end: ConnEnd) -> Option<WireDirection> {
        let way = self.found.remove(&end)?;
        self.wires.get_mut(&way.0)?.ends[way.1] = None;
        Some(way)
    }
}
