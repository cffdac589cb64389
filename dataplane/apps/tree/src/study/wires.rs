//! Connections between hosts in virtual time: bytes in order, at the rates of the hosts' links, without
//! packets.
//!
//! Each host has a link of its own to a network that limits no rate, but may add latency. On a host's
//! upstream link all its connections take turns (as with the fair queues of Linux); its downstream link is
//! one queue. A connection has a bounded send buffer, and at most a window of bytes under way: so bytes for a
//! slow host wait at their sender, and few in the network.

use std::collections::{BTreeMap, VecDeque};

use groupflow_base::events::EventQueue;
use groupflow_base::{BitRate, Nanos};

use super::routers::Routers;
use crate::machine::{ConnId, HostId};

/// Bytes that a sender's socket holds unsent: as many as `gfagent` lets the kernel hold (TCP_NOTSENT_LOWAT),
/// and a batch.
const UNSENT: usize = (128 << 10) + BATCH;
/// Bytes given to a connection at once, as `gfagent` does; one that has as much room waits for none.
pub const BATCH: usize = 64 << 10;
/// Bytes of a connection under way. A link of 20 Mbit/s with a round trip of 10 ms holds 25,000. With 64 KiB,
/// a link of 1 Mbit/s has a queue of half a second, and some hosts take one behind it for dead while that
/// builds up.
const WINDOW: usize = 32 << 10;
/// On a long path, as many bytes are under way as this rate brings in a round trip.
const LONG: BitRate = BitRate(20_000_000);
/// How long a connection sends in its turn, and at most how many bytes; it sends at least a segment.
const TURN: Nanos = Nanos::from_millis(2);
const MOST: u64 = 8 << 10;
/// Payload bytes of a segment, and bytes of its headers: Ethernet, IPv4, and TCP with timestamps.
const SEGMENT: u64 = 1448;
const HEADERS: u64 = 66;

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
    /// There is room again to send.
    Room(ConnEnd),
    /// The other end closed the connection, or is gone.
    Closed(ConnEnd),
}

/// One direction of a connection: the wire, and the side that sends.
type WireDirection = (u64, usize);

#[derive(Debug)]
enum WireStep {
    Ask(u64),
    Answer(u64),
    /// The end that sends in this direction loses its connection.
    Lose(WireDirection),
    Free(HostId),
    Arrive(WireDirection, Vec<u8>, bool),
    Deliver(WireDirection, Vec<u8>, bool),
    Acknowledge(WireDirection, usize),
}

#[derive(Debug, Clone, Copy)]
pub struct HostAttachment {
    pub router: Option<usize>,
    /// Latency from the host to its router, or to the middle of the network, one way.
    pub access: Nanos,
    /// Rate from the host to the network.
    pub up: BitRate,
    /// Rate from the network to the host.
    pub down: BitRate,
}

/// A host's link.
#[derive(Debug)]
struct AccessLink {
    attachment: HostAttachment,
    /// Directions that have bytes to send, in turns.
    turns: VecDeque<WireDirection>,
    busy: bool,
    /// The child that has not acknowledged its bytes, if one child is served after the other.
    served: Option<WireDirection>,
    /// When everything that has arrived at the downstream link will have passed it.
    down_until: Nanos,
}

impl AccessLink {
    /// The most bytes of a turn.
    fn turn(&self) -> usize {
        self.attachment.up.bytes_in(TURN).clamp(SEGMENT, MOST) as usize
    }
}

/// Time that these bytes of a connection take.
fn takes(rate: BitRate, bytes: usize) -> Nanos {
    let bytes = bytes as u64;
    rate.time_for(bytes + HEADERS * bytes.div_ceil(SEGMENT).max(1))
}

#[derive(Debug, Default)]
struct SendQueue {
    unsent: VecDeque<u8>,
    flying: usize,
    waits: bool,
    ended: bool,
}

#[derive(Debug)]
struct StudyWire {
    hosts: [HostId; 2],
    /// The ends' numbers; `None`: the end does not exist yet, or any more.
    ends: [Option<ConnId>; 2],
    ways: [SendQueue; 2],
    window: usize,
}

#[derive(Debug, Default)]
pub struct Wires {
    pub routers: Option<Routers>,
    links: BTreeMap<HostId, AccessLink>,
    wires: BTreeMap<u64, StudyWire>,
    found: BTreeMap<ConnEnd, WireDirection>,
    steps: EventQueue<WireStep>,
    numbers: u64,
    /// Whether a host sends bytes to a child only when the child before has received its own. A child is the
    /// end that asked for the connection.
    pub one_by_one: bool,
}

impl Wires {
    pub fn with_routers(routers: Routers) -> Wires {
        Wires { routers: Some(routers), ..Wires::default() }
    }

    pub fn add_host(&mut self, host: HostId, attachment: HostAttachment) {
        let turns = VecDeque::new();
        let link = AccessLink { attachment, turns, busy: false, served: None, down_until: Nanos::ZERO };
        self.links.insert(host, link);
    }

    /// The host's router, if there are routers.
    pub fn router(&self, host: HostId) -> Option<usize> {
        self.links.get(&host)?.attachment.router
    }

    /// Changes the rate of a host's link, in both directions.
    pub fn set_rate(&mut self, host: HostId, rate: BitRate) {
        if let Some(link) = self.links.get_mut(&host) {
            (link.attachment.up, link.attachment.down) = (rate, rate);
        }
    }

    /// Latency between two hosts, one way, without queues.
    pub fn latency(&self, a: HostId, b: HostId) -> Nanos {
        let links = [a, b].into_iter().filter_map(|host| self.links.get(&host));
        links.fold(self.between(a, b), |sum, link| sum + link.attachment.access)
    }

    /// Round-trip time of a connection, without queues.
    pub fn round_trip(&self, end: ConnEnd) -> Nanos {
        let wire = self.found.get(&end).and_then(|way| self.wires.get(&way.0));
        let one_way = wire.map_or(Nanos::ZERO, |wire| self.latency(wire.hosts[0], wire.hosts[1]));
        one_way + one_way
    }

    /// Latency from a host to its router, or to the middle of the network.
    pub fn access(&self, host: HostId) -> Nanos {
        self.links.get(&host).map_or(Nanos::ZERO, |link| link.attachment.access)
    }

    /// Latency between two hosts' routers, one way.
    pub fn between(&self, a: HostId, b: HostId) -> Nanos {
        let ends = self.router(a).zip(self.router(b));
        self.routers.as_ref().zip(ends).map_or(Nanos::ZERO, |(routers, (a, b))| routers.latency(a, b))
    }

    /// When [`Wires::step`] is to be called.
    pub fn deadline(&self) -> Nanos {
        self.steps.next().unwrap_or(Nanos::MAX)
    }

    /// Carries out one step; returns its event, if it has one.
    pub fn step(&mut self) -> Option<WireEvent> {
        let (now, step) = self.steps.pop()?;
        match step {
            WireStep::Ask(wire) => Some(WireEvent::Asked { wire, to: self.wires.get(&wire)?.hosts[1] }),
            WireStep::Answer(wire) => Some(WireEvent::Connected(self.end((wire, 0))?)),
            WireStep::Lose(way) => self.close(way),
            WireStep::Free(host) => {
                self.links.get_mut(&host)?.busy = false;
                self.serve(now, host)
            }
            WireStep::Arrive(way, bytes, last) => {
                let to = self.wires.get(&way.0)?.hosts[1 - way.1];
                let link = self.links.get_mut(&to)?;
                link.down_until = now.max(link.down_until) + takes(link.attachment.down, bytes.len());
                let when = link.down_until;
                self.at(when, WireStep::Deliver(way, bytes, last));
                None
            }
            WireStep::Deliver((wire, side), bytes, last) => {
                let [a, b] = self.wires.get(&wire)?.hosts;
                self.at(now + self.latency(a, b), WireStep::Acknowledge((wire, side), bytes.len()));
                match last {
                    true => self.close((wire, 1 - side)),
                    false => Some(WireEvent::Bytes(self.end((wire, 1 - side))?, bytes)),
                }
            }
            WireStep::Acknowledge(way, count) => {
                let wire = self.wires.get_mut(&way.0)?;
                wire.ways[way.1].flying -= count;
                let host = wire.hosts[way.1];
                self.links.entry(host).and_modify(|link| link.served = link.served.filter(|&now| now != way));
                self.line_up(way);
                self.serve(now, host)
            }
        }
    }

    pub fn connect(&mut self, now: Nanos, from: ConnEnd, to: HostId) {
        self.numbers += 1;
        let wire = self.numbers;
        let (ends, ways) = ([Some(from.1), None], Default::default());
        let latency = self.latency(from.0, to);
        let window = WINDOW.max(LONG.bytes_in(latency + latency) as usize);
        self.wires.insert(wire, StudyWire { hosts: [from.0, to], ends, ways, window });
        self.found.insert(from, (wire, 0));
        self.at(now + latency, WireStep::Ask(wire));
    }

    pub fn accept(&mut self, now: Nanos, wire: u64, conn: ConnId) {
        if let Some(found) = self.wires.get_mut(&wire) {
            found.ends[1] = Some(conn);
            let [from, to] = found.hosts;
            self.found.insert((to, conn), (wire, 1));
            self.at(now + self.latency(from, to), WireStep::Answer(wire));
        }
    }

    pub fn refuse(&mut self, now: Nanos, wire: u64) {
        if let Some([from, to]) = self.wires.get(&wire).map(|found| found.hosts) {
            self.at(now + self.latency(from, to), WireStep::Lose((wire, 0)));
        }
    }

    pub fn room(&self, end: ConnEnd) -> usize {
        let unsent =
            self.found.get(&end).and_then(|way| Some(self.wires.get(&way.0)?.ways[way.1].unsent.len()));
        unsent.map_or(0, |unsent| UNSENT.saturating_sub(unsent))
    }

    /// Sends bytes, at most as many as there is room for.
    pub fn send(&mut self, now: Nanos, end: ConnEnd, bytes: &[u8]) {
        let Some(&way) = self.found.get(&end) else { return };
        if let Some(wire) = self.wires.get_mut(&way.0) {
            wire.ways[way.1].unsent.extend(bytes);
        }
        self.line_up(way);
        self.serve(now, end.0);
    }

    /// Ends the connection at this end; the other end first receives all bytes that were sent.
    pub fn finish(&mut self, now: Nanos, end: ConnEnd) {
        let Some(way) = self.found.remove(&end) else { return };
        if let Some(wire) = self.wires.get_mut(&way.0) {
            wire.ends[way.1] = None;
            wire.ways[way.1].ended = true;
        }
        self.line_up(way);
        self.serve(now, end.0);
    }

    /// Takes a host off the network; the other ends of its connections notice after this time.
    pub fn vanish(&mut self, now: Nanos, host: HostId, silence: Nanos) {
        for conn in self.of(host) {
            let Some((wire, side)) = self.found.remove(&(host, conn)) else { continue };
            let Some(found) = self.wires.get_mut(&wire) else { continue };
            found.ends[side] = None;
            found.ways[side].unsent.clear();
            let [a, b] = found.hosts;
            self.at(now + silence + self.latency(a, b), WireStep::Lose((wire, 1 - side)));
        }
    }

    /// All connections of a host, in order.
    pub fn of(&self, host: HostId) -> Vec<ConnId> {
        let ends = (host, ConnId(0))..=(host, ConnId(u64::MAX));
        self.found.range(ends).map(|(&(_, conn), _)| conn).collect()
    }

    fn at(&mut self, when: Nanos, step: WireStep) {
        self.steps.schedule(when, step);
    }

    fn end(&self, (wire, side): WireDirection) -> Option<ConnEnd> {
        let found = self.wires.get(&wire)?;
        Some((found.hosts[side], found.ends[side]?))
    }

    /// The other end has closed; bytes sent now would not arrive.
    fn close(&mut self, way: WireDirection) -> Option<WireEvent> {
        let end = self.end(way);
        self.wires.remove(&way.0);
        let end = end?;
        self.found.remove(&end);
        Some(WireEvent::Closed(end))
    }

    /// Queues a direction for its turn, if it may send something.
    fn line_up(&mut self, way: WireDirection) {
        let Some(wire) = self.wires.get_mut(&way.0) else { return };
        let sending = &mut wire.ways[way.1];
        let may = !sending.unsent.is_empty() && sending.flying < wire.window;
        let last = sending.unsent.is_empty() && sending.ended;
        if (may || last) && !sending.waits {
            sending.waits = true;
            self.links.entry(wire.hosts[way.1]).and_modify(|link| link.turns.push_back(way));
        }
    }

    /// Lets the connection whose turn it is send, if the host's link is free.
    fn serve(&mut self, now: Nanos, host: HostId) -> Option<WireEvent> {
        let link = self.links.get_mut(&host).filter(|link| !link.busy)?;
        // A connection that was closed meanwhile has no turn.
        let exists = |way: &WireDirection| self.wires.contains_key(&way.0);
        link.turns.retain(exists);
        let waits = link.served.filter(exists).is_some();
        let is_to_child = |way: &WireDirection| way.1 == 1;
        let way = link.turns.remove(link.turns.iter().position(|way| !(waits && is_to_child(way)))?)?;
        link.busy = true;
        link.served = link.served.or((self.one_by_one && is_to_child(&way)).then_some(way));
        let wire = self.wires.get_mut(&way.0)?;
        let sending = &mut wire.ways[way.1];
        let was_full = UNSENT - sending.unsent.len() < BATCH;
        let count = sending.unsent.len().min(link.turn()).min(wire.window - sending.flying);
        let through = now + takes(link.attachment.up, count);
        let bytes: Vec<u8> = sending.unsent.drain(..count).collect();
        sending.flying += count;
        sending.waits = false;
        let last = bytes.is_empty();
        let [a, b] = wire.hosts;
        self.at(through, WireStep::Free(host));
        self.at(through + self.latency(a, b), WireStep::Arrive(way, bytes, last));
        if last {
            // Nothing follows the end.
            self.wires.entry(way.0).and_modify(|wire| wire.ways[way.1].ended = false);
        }
        self.line_up(way);
        self.end(way).filter(|_| was_full).map(WireEvent::Room)
    }
}
