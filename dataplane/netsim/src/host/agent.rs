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

use groupflow_base::min_tree::MinTree;
use groupflow_base::{BitRate, Nanos};

use super::split_end::{Interfaces, SplitEnd, Spot};
use super::{FlowEnd, HostInterface};
use crate::ids::FlowId;
use crate::relays::Relay;
use crate::sample::NodeSample;
use crate::wiring::Exit;

#[derive(Debug)]
pub struct SplitNode {
    interfaces: Interfaces,
    /// The flow of each end, by port and place, and the number of the stream that comes or goes by it.
    ends: Vec<Vec<(FlowId, Option<usize>)>>,
    machine: SplitEnd,
    /// The time at which each interface has something to do.
    deadlines: MinTree,
    /// How long the agent is busy with a packet, in or out.
    service: Nanos,
    /// The time until which the agent is busy with the packets it has taken.
    busy_until: Nanos,
}

impl SplitNode {
    /// An agent without ports, which takes this time for a packet.
    pub fn new(service: Nanos) -> SplitNode {
        SplitNode {
            interfaces: Interfaces::default(),
            ends: Vec::new(),
            machine: SplitEnd::new(),
            deadlines: MinTree::new(0),
            service,
            busy_until: Nanos::ZERO,
        }
    }

    /// Attaches a link, with the ends of flows whose packets leave by it.
    pub fn attach(&mut self, port: u16, rate: Option<BitRate>, ends: Vec<FlowEnd>) {
        let (index, by_port) = (usize::from(port), &mut self.interfaces.by_port);
        if by_port.len() <= index {
            by_port.resize_with(index + 1, || None);
            self.ends.resize_with(index + 1, Vec::new);
        }
        self.ends[index] = ends.iter().map(|end| (end.flow, None)).collect();
        by_port[index] = Some(HostInterface::new(port, rate, ends));
        self.deadlines = MinTree::new(by_port.len());
        for port in 0..self.ends.len() {
            self.reschedule(port);
        }
    }

    /// Passes a stream on. Its flows have been attached.
    pub fn relay(&mut self, relay: Relay) {
        let Some(upstream) = self.spot(relay.upstream) else { return };
        let branches: Vec<Spot> = relay.branches.iter().filter_map(|&flow| self.spot(flow)).collect();
        let number = self.machine.relay(relay, upstream, branches.clone());
        for spot in branches.into_iter().chain([upstream]) {
            self.ends[usize::from(spot.port)][spot.place].1 = Some(number);
        }
    }

    fn spot(&self, flow: FlowId) -> Option<Spot> {
        (0..).zip(&self.ends).find_map(|(port, ends)| {
            let place = ends.iter().position(|&(other, _)| other == flow)?;
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
            let sent = self.interfaces.by_port[port].as_mut().is_some_and(|interface| interface.step(exit));
            if sent {
                self.busy_until = exit.now + self.service;
            }
            self.reschedule(port);
        }
    }

    /// Handles a frame that arrives.
    pub fn receive(&mut self, port: u16, head: &[u8], tail: u32, exit: &mut Exit<'_>) {
        let index = usize::from(port);
        let Some(Some(interface)) = self.interfaces.by_port.get_mut(index) else { return };
        self.busy_until = self.busy_until.max(exit.now) + self.service;
        if let Some(place) = interface.take_in(exit.now, head, tail) {
            if let (_, Some(stream)) = self.ends[index][place] {
                self.machine.on_packet(exit.now, stream, Spot { port, place }, &mut self.interfaces);
            }
        }
        self.reschedule(index);
        while let Some(port) = self.interfaces.touched.pop() {
            self.reschedule(usize::from(port));
        }
        self.advance(exit);
    }

    fn reschedule(&mut self, port: usize) {
        let deadline = self.interfaces.by_port[port].as_ref().map_or(Nanos::MAX, HostInterface::deadline);
        self.deadlines.set(port, deadline);
    }

    pub fn sample(&mut self, sample: &mut NodeSample<'_>) {
        sample.cache(self.machine.cached, self.machine.peak);
        sample.signalled(None, "aborted", self.machine.aborted);
        self.interfaces.by_port.iter_mut().flatten().for_each(|interface| interface.sample(sample));
    }
}
