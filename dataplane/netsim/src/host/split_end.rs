//! The machine of a split agent: that of `groupflow_split::machine`, whose connections are TCP ends.
//!
//! Here TCP can hold its acknowledgements back: upstream's TCP acknowledges what the machine says, byte by
//! byte (Emina et al., ICN 2011, section III.B), and not what it has received, as a kernel's does. So an
//! agent's TCP acknowledges end-to-end what its members have, and to the agent before it this agent is a
//! member like others: no frames go upstream. Connections are neither refused nor lost, so that no timer is
//! ever due.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use groupflow_base::{Nanos, StreamId};
use groupflow_split::machine::{
    Action, Branch, BranchKind, BranchSpec, BranchState, LateStart, MachineConfig, Replies, SessionSpec,
    Source, SplitMachine, Stream,
};
use groupflow_transport::fanout::BranchId;
use groupflow_transport::terms::Policy;

use super::tcp_end::TcpEnd;
use super::HostInterface;
use crate::relays::Relay;
use crate::tcp::TcpSender;

/// A cache without bound (Table I of the paper).
const UNBOUNDED: u64 = u64::MAX;
const NOBODY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);

/// The place of a TCP end: the port, and the end's number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    pub port: u16,
    pub place: usize,
}

/// The interfaces of an agent, and the ports at which something has changed.
#[derive(Debug, Default)]
pub struct Interfaces {
    pub by_port: Vec<Option<HostInterface>>,
    pub touched: Vec<u16>,
}

impl Interfaces {
    fn tcp<R>(&mut self, spot: Spot, act: impl FnOnce(&mut TcpEnd) -> R) -> Option<R> {
        self.touched.push(spot.port);
        self.by_port.get_mut(usize::from(spot.port))?.as_mut()?.with_tcp(spot.place, act)
    }
}

#[derive(Debug)]
struct Connections {
    relay: Relay,
    upstream: Spot,
    /// In the order of the session's branches.
    branches: Vec<Spot>,
    begun: bool,
    /// Whether bytes have come that the machine did not take yet.
    waiting: bool,
    /// The offset that upstream's TCP may acknowledge; `None`: it may not answer the SYN yet.
    released: Option<u64>,
}

#[derive(Debug)]
pub struct SplitEnd {
    machine: SplitMachine,
    connections: Vec<Connections>,
    pub cached: u64,
    pub peak: u64,
    /// Streams that the machine gave up.
    pub aborted: u64,
}

impl SplitEnd {
    pub fn new() -> SplitEnd {
        let config = MachineConfig { connect: Nanos::MAX, max_streams: usize::MAX, max_cache: UNBOUNDED };
        let machine = SplitMachine::new(config);
        SplitEnd { machine, connections: Vec::new(), cached: 0, peak: 0, aborted: 0 }
    }

    /// Adds a stream that will come; returns its number.
    pub fn relay(&mut self, relay: Relay, upstream: Spot, branches: Vec<Spot>) -> usize {
        let (begun, waiting, released) = (false, false, None);
        self.connections.push(Connections { relay, upstream, branches, begun, waiting, released });
        self.connections.len() - 1
    }

    /// Handles a packet that a TCP end of a stream has taken.
    pub fn on_packet(&mut self, now: Nanos, number: usize, spot: Spot, interfaces: &mut Interfaces) {
        let id = StreamId(number as u64);
        let connections = &mut self.connections[number];
        if !connections.begun && !connections.begin(now, id, &mut self.machine, interfaces) {
            return;
        }
        let Some(stream) = self.machine.stream(id) else { return };
        let before = stream.core.cached();
        connections.turn(now, stream, spot, interfaces);
        self.cached = self.cached - before + stream.core.cached();
        self.peak = self.peak.max(self.cached);
        if let Some(outcome) = stream.outcome(now) {
            self.cached -= stream.core.cached();
            self.aborted += u64::from(outcome.is_err());
            self.machine.close(id, &outcome);
            self.machine.events();
        }
    }
}

impl Connections {
    /// Begins the stream once its connection has come; returns whether it has.
    fn begin(
        &mut self, now: Nanos, id: StreamId, machine: &mut SplitMachine, interfaces: &mut Interfaces,
    ) -> bool {
        self.begun = interfaces.tcp(self.upstream, |tcp| tcp.connected()).unwrap_or(false);
        if self.begun {
            let source = Source { peer: NOBODY, is_agent: false };
            let stream = machine.begin(now, id, Arc::new(session(&self.relay)), source, 0);
            // There are branches, so that the stream is not refused.
            let _ = machine.accept(now, stream);
        }
        self.begun
    }

    /// Moves all bytes that can be moved, after a packet at one of the stream's ends.
    fn turn(&mut self, now: Nanos, stream: &mut Stream, spot: Spot, interfaces: &mut Interfaces) {
        let mut moves = match self.branches.iter().position(|&branch| branch == spot) {
            Some(place) => self.hear(now, stream, place, interfaces) || self.waiting,
            None => true,
        };
        stream.advance(now);
        while let Some(action) = stream.next_action() {
            if let Action::Connect(id) = action {
                moves |= self.connect(now, stream, id, interfaces);
            }
        }
        if moves {
            self.take(now, stream, interfaces);
            self.hand_out(now, stream, interfaces);
        }
        let held = self.relay.holds(self.relay.upstream);
        if held && stream.is_connected() && self.released < Some(stream.core.acknowledged()) {
            let acknowledged = stream.core.acknowledged();
            self.released = Some(acknowledged);
            interfaces.tcp(self.upstream, |tcp| {
                tcp.open(now);
                tcp.with_receiver(now, |receiver| receiver.release(acknowledged));
            });
        }
    }

    /// Tells the machine what a branch's TCP has come to. Returns whether it now takes bytes.
    fn hear(&mut self, now: Nanos, stream: &mut Stream, place: usize, interfaces: &mut Interfaces) -> bool {
        let Some(Branch { id, state, .. }) = stream.branches.get(place) else { return false };
        let (id, spot) = (*id, self.branches[place]);
        if *state == BranchState::Connecting {
            return self.connected(stream, id, spot, interfaces);
        }
        let reached = |sender: &mut TcpSender| (sender.acked(), sender.is_finished());
        let reached = interfaces.tcp(spot, |tcp| tcp.with_sender(now, reached)).flatten();
        if let Some((acked, finished)) = reached {
            stream.on_acknowledged(id, acked, finished);
            if finished && !stream.counts_by_tcp(id) {
                // The member has everything, and ends its side.
                stream.on_heard_end(now, id);
            }
        }
        false
    }

    fn connect(
        &mut self, now: Nanos, stream: &mut Stream, id: BranchId, interfaces: &mut Interfaces,
    ) -> bool {
        let place = stream.branches.iter().position(|branch| branch.id == id);
        let Some(&spot) = place.and_then(|place| self.branches.get(place)) else { return false };
        interfaces.tcp(spot, |tcp| tcp.open(now));
        self.connected(stream, id, spot, interfaces)
    }

    /// Notes that a branch is connected, if it is.
    fn connected(&self, stream: &mut Stream, id: BranchId, spot: Spot, interfaces: &mut Interfaces) -> bool {
        let connected = interfaces.tcp(spot, |tcp| tcp.connected()).unwrap_or(false);
        if connected {
            stream.on_connected(id);
        }
        connected
    }

    /// Takes the bytes that upstream's TCP has in order, as many as the machine takes.
    fn take(&mut self, now: Nanos, stream: &mut Stream, interfaces: &mut Interfaces) {
        let delivered = |tcp: &mut TcpEnd| tcp.with_receiver(now, |receiver| receiver.delivered());
        let delivered = interfaces.tcp(self.upstream, delivered).flatten().unwrap_or(0);
        let there = delivered - stream.core.received;
        let taken = there.min(stream.core.intake());
        stream.on_received(taken);
        self.waiting = taken < there;
        if self.relay.length == Some(stream.core.received) {
            stream.on_source_end();
        }
    }

    /// Hands all that branches may get to their TCP, and tells it the end.
    fn hand_out(&self, now: Nanos, stream: &mut Stream, interfaces: &mut Interfaces) {
        for (place, &spot) in self.branches.iter().enumerate() {
            let Some(&Branch { id, .. }) = stream.branches.get(place) else { continue };
            let range = stream.sendable(id);
            let bytes = range.end - range.start;
            stream.on_sent(id, bytes);
            let ends = stream.end_due(id);
            if ends {
                stream.on_end_sent(id);
            }
            if bytes > 0 || ends {
                let supply = |sender: &mut TcpSender| {
                    sender.supply(bytes);
                    if ends {
                        sender.close();
                    }
                };
                interfaces.tcp(spot, |tcp| tcp.with_sender(now, supply));
            }
        }
    }
}

/// The session of a stream. Its cache bounds what a branch is behind; end-to-end, acknowledgements do.
fn session(relay: &Relay) -> SessionSpec {
    let branch = |member: u32| BranchSpec {
        kind: BranchKind::Member(member),
        name: String::new(),
        address: NOBODY,
        join: LateStart::Now,
        links: Vec::new(),
    };
    SessionSpec {
        id: 0,
        address: *NOBODY.ip(),
        ports: Vec::new(),
        mode: relay.mode,
        cache_bytes: relay.cache_bytes.unwrap_or(UNBOUNDED),
        history_bytes: 0,
        allowance_bytes: UNBOUNDED,
        congestion: None,
        send_buffer: None,
        receive_buffer: None,
        policy: Policy::Strict,
        replies: Replies::Drop,
        neighbours: Vec::new(),
        branches: (1..).zip(&relay.branches).map(|(member, _)| branch(member)).collect(),
    }
}
