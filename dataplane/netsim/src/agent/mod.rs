//! A split agent (the paper's SA): a node at which TCP connections end and streams go on over others.
//!
//! Each port is an interface as a host's: a connection is asked for a packet when the link can take one, so
//! that nothing that the agent sends waits in a queue, and none of it is lost before the link. That is the
//! flow control of Emina et al., ICN 2011, section III.A ("session agents perform flow control to avoid the
//! overflow of an output buffer"), in its strictest form: all data that waits, waits in the agent's cache.
//! Connections, and the acknowledgements of others, take turns at the link, packet by packet.
//!
//! An agent takes no time to pass a packet on, unless it is given a number of packets, in and out, that it
//! can handle in a second. Packets that arrive are served first; packets to be sent wait for them.

mod stream;

use groupflow_base::min_tree::MinTree;
use groupflow_base::{BitRate, Nanos};
use stream::Split;

use crate::drops::DropList;
use crate::host::{FlowEnd, HostInterface};
use crate::ids::{FlowId, NodeId};
use crate::relays::Relay;
use crate::sample::{CacheSample, FlowSample};
use crate::wiring::Exit;

/// The place of an end: the port, and the end's number there.
#[derive(Debug, Clone, Copy)]
struct Spot {
    port: u16,
    place: usize,
}

#[derive(Debug, Clone, Copy)]
enum EndRole {
    /// The stream of this number comes by the end.
    Upstream(usize),
    /// The end is this branch of the stream of this number.
    Branch(usize, usize),
}

#[derive(Debug)]
pub struct SplitNode {
    /// The interfaces, by port.
    interfaces: Vec<Option<HostInterface>>,
    /// The flow of each end, by port and place.
    flows: Vec<Vec<FlowId>>,
    /// The role of each end in a stream, by port and place.
    roles: Vec<Vec<Option<EndRole>>>,
    streams: Vec<Split>,
    /// The time at which each interface has something to do.
    deadlines: MinTree,
    /// How long the agent is busy with a packet, in or out.
    service: Nanos,
    /// The time until which the agent is busy with the packets it has taken.
    busy_until: Nanos,
    /// Ports at which something has changed.
    touched: Vec<u16>,
    cached: u64,
    peak: u64,
    /// Packets that a stream refused.
    refused: u64,
}

impl SplitNode {
    /// An agent without ports, which takes this time for a packet.
    pub fn new(service: Nanos) -> SplitNode {
        SplitNode {
            interfaces: Vec::new(),
            flows: Vec::new(),
            roles: Vec::new(),
            streams: Vec::new(),
            deadlines: MinTree::new(0),
            service,
            busy_until: Nanos::ZERO,
            touched: Vec::new(),
            cached: 0,
            peak: 0,
            refused: 0,
        }
    }

    /// Attaches a link, with the ends of flows whose packets leave by it.
    pub fn attach(&mut self, port: u16, rate: Option<BitRate>, ends: Vec<FlowEnd>) {
        let index = usize::from(port);
        if self.interfaces.len() <= index {
            self.interfaces.resize_with(index + 1, || None);
            self.flows.resize_with(index + 1, Vec::new);
            self.roles.resize_with(index + 1, Vec::new);
        }
        self.flows[index] = ends.iter().map(|end| end.flow).collect();
        self.roles[index] = vec![None; ends.len()];
        self.interfaces[index] = Some(HostInterface::new(port, rate, ends));
        self.deadlines = MinTree::new(self.interfaces.len());
        for port in 0..self.interfaces.len() {
            self.reschedule(port);
        }
    }

    /// Passes a stream on. Its flows have been attached.
    pub fn relay(&mut self, relay: &Relay) {
        let number = self.streams.len();
        let Some(upstream) = self.spot(relay.upstream) else { return };
        self.roles[usize::from(upstream.port)][upstream.place] = Some(EndRole::Upstream(number));
        let mut branches = Vec::with_capacity(relay.branches.len());
        for (branch, &flow) in relay.branches.iter().enumerate() {
            let Some(spot) = self.spot(flow) else { return };
            self.roles[usize::from(spot.port)][spot.place] = Some(EndRole::Branch(number, branch));
            branches.push(spot);
        }
        self.streams.push(Split::new(relay, upstream, branches));
    }

    fn spot(&self, flow: FlowId) -> Option<Spot> {
        (0..).zip(&self.flows).find_map(|(port, flows)| {
            let place = flows.iter().position(|&other| other == flow)?;
            Some(Spot { port, place })
        })
    }

    pub fn deadline(&self) -> Nanos {
        match self.deadlines.time() {
            Nanos::MAX => Nanos::MAX,
            time => time.max(self.busy_until),
        }
    }

    /// Carries out everything due, and sends all that can be sent: the port that has waited longest goes
    /// first.
    pub fn advance(&mut self, exit: &mut Exit<'_>) {
        while self.deadline() <= exit.now {
            let port = self.deadlines.first();
            let sent = self.interfaces[port].as_mut().is_some_and(|interface| interface.step(exit));
            if sent {
                self.busy_until = exit.now + self.service;
            }
            self.reschedule(port);
        }
    }

    /// Handles a frame that arrives.
    pub fn receive(&mut self, port: u16, head: &[u8], tail: u32, exit: &mut Exit<'_>) {
        let index = usize::from(port);
        let Some(Some(interface)) = self.interfaces.get_mut(index) else { return };
        self.busy_until = self.busy_until.max(exit.now) + self.service;
        if let Some(place) = interface.take_in(exit.now, head, tail) {
            match self.roles[index][place] {
                Some(EndRole::Upstream(stream)) => self.pass_on(exit.now, stream),
                Some(EndRole::Branch(stream, branch)) => self.acknowledge(exit.now, stream, branch),
                None => {}
            }
        }
        self.reschedule(index);
        self.advance(exit);
    }

    /// Hands the data from upstream to all branches.
    fn pass_on(&mut self, now: Nanos, number: usize) {
        let stream = &mut self.streams[number];
        let before = stream.cached();
        match stream.receive(now, &mut self.interfaces, &mut self.touched) {
            Ok(()) => self.account(before, number),
            Err(_) => self.refused += 1,
        }
        self.reschedule_touched();
    }

    /// Takes a branch's acknowledgement, and lets upstream know where the mode says so.
    fn acknowledge(&mut self, now: Nanos, number: usize, branch: usize) {
        let stream = &mut self.streams[number];
        let before = stream.cached();
        match stream.acknowledge(now, branch, &mut self.interfaces, &mut self.touched) {
            Ok(()) => self.account(before, number),
            Err(_) => self.refused += 1,
        }
        self.reschedule_touched();
    }

    fn account(&mut self, before: u64, number: usize) {
        self.cached = self.cached - before + self.streams[number].cached();
        self.peak = self.peak.max(self.cached);
    }

    fn reschedule_touched(&mut self) {
        while let Some(port) = self.touched.pop() {
            self.reschedule(usize::from(port));
        }
    }

    fn reschedule(&mut self, port: usize) {
        let deadline = self.interfaces[port].as_ref().map_or(Nanos::MAX, HostInterface::deadline);
        self.deadlines.set(port, deadline);
    }

    pub fn sample(&self, flows: &mut [FlowSample]) {
        self.interfaces.iter().flatten().for_each(|interface| interface.sample(flows));
    }

    pub fn cache(&self, node: NodeId) -> CacheSample {
        CacheSample { node, bytes: self.cached, peak_bytes: self.peak }
    }

    pub fn drops(&self, list: &mut DropList<'_>) {
        list.at_node("refused", self.refused);
        self.interfaces.iter().flatten().for_each(|interface| interface.drops(list));
    }
}
