//! A network that runs; settings and readings meanwhile: windows of TCP receivers, whether a sender has
//! anything to send, delays and rates of links.

use std::sync::Arc;

use groupflow_base::{BitRate, Nanos};
use groupflow_switch::p4rt::{PipelineConfig, Status};
use groupflow_switch::proto::p4::v1::Update;

use crate::build::Builder;
use crate::engine::NodeSlot;
use crate::error::BuildError;
use crate::host::tcp_end::TcpEnd;
use crate::ids::{FlowId, NodeId};
use crate::node::SimNode;
use crate::spec::{LinkSpec, NetworkSpec};
use crate::switch::P4Switch;
use crate::tcp::{Reading, TcpReceiver, TcpSender};
use crate::trace::Tracer;
use crate::wiring::Wiring;

/// A network, its traffic, and the time.
#[derive(Debug)]
pub struct Network {
    pub(crate) spec: NetworkSpec,
    /// The hosts of each flow: its sender's and its receiver's.
    pub(crate) ends: Vec<(NodeId, NodeId)>,
    /// For each flow, the most bytes that can be on its links at once: the sum of rate times delay.
    capacities: Vec<f64>,
    /// The nodes, by id.
    pub(crate) nodes: Vec<NodeSlot>,
    pub(crate) wiring: Wiring,
    pub(crate) next_sample: Nanos,
    /// The virtual time: every event before this time has happened.
    pub(crate) now: Nanos,
    /// Frames that switches and routers took.
    pub(crate) hops: u64,
}

impl Network {
    /// Builds a network at time zero. Switches name their program by its place in `programs`.
    pub fn new(spec: NetworkSpec, programs: &[Arc<PipelineConfig>]) -> Result<Network, BuildError> {
        let builder = Builder::new(&spec, programs)?;
        let (mut nodes, mut wiring) = builder.build()?;
        nodes.iter_mut().for_each(|slot| wiring.set(slot.leaf, slot.node.deadline()));
        let flows = builder.flows().flows.iter();
        let ends = flows.clone().map(|flow| (flow.from, flow.to)).collect();
        let capacities = flows.map(|flow| flow.capacity_bytes).collect();
        let (next_sample, now, hops) = (Nanos(spec.sample_ns), Nanos::ZERO, 0);
        Ok(Network { spec, ends, capacities, nodes, wiring, next_sample, now, hops })
    }

    pub fn spec(&self) -> &NetworkSpec {
        &self.spec
    }

    /// For each flow, the most bytes that can be on its links at once.
    pub fn capacities(&self) -> &[f64] {
        &self.capacities
    }

    pub fn node(&self, name: &str) -> Option<NodeId> {
        let found = self.spec.nodes.iter().position(|node| node.name == name)?;
        u32::try_from(found).ok().map(NodeId)
    }

    /// Carries out a P4Runtime update at a switch; `None` if the node is no switch.
    pub fn write(&mut self, switch: NodeId, update: &Update) -> Option<Result<(), Status>> {
        self.with_switch(switch, |switch| switch.apply(update))
    }

    /// Calls a function on a switch; `None` if the node is no switch.
    pub fn with_switch<R>(&mut self, node: NodeId, act: impl FnOnce(&mut P4Switch) -> R) -> Option<R> {
        self.spec.nodes.get(node.index())?;
        let now = self.now();
        self.with_node(node, |node| match node {
            SimNode::Switch(switch) => {
                switch.catch_up(now);
                let result = act(switch);
                switch.touched(now);
                Some(result)
            }
            _ => None,
        })
    }

    /// Calls a function on a node, which may change what the node does next.
    pub(crate) fn with_node<R>(&mut self, node: NodeId, act: impl FnOnce(&mut SimNode) -> R) -> R {
        let slot = &mut self.nodes[node.index()];
        let result = act(&mut slot.node);
        self.wiring.set(slot.leaf, slot.node.deadline());
        result
    }

    /// Sets whether the observer is told all events.
    pub fn set_trace(&mut self, traced: bool) {
        self.wiring.tracer = traced.then(|| Tracer::new(self.nodes.len()));
    }

    /// The virtual time: every event before this time has happened.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Whether the scenario's end has come.
    pub fn finished(&self) -> bool {
        self.now().0 >= self.spec.duration_ns
    }

    /// Frames that switches and routers took so far.
    pub fn hops(&self) -> u64 {
        self.hops
    }

    pub fn flow(&self, name: &str) -> Option<FlowId> {
        let found = self.spec().flows.iter().position(|flow| flow.name == name)?;
        u32::try_from(found).ok().map(FlowId)
    }

    /// Lets the receiver of a flow with `receive_window` advertise `bytes`, from its next
    /// acknowledgement on. `None`: the flow has no TCP receiver at a host.
    pub fn set_receive_window(&mut self, flow: FlowId, bytes: u64) -> Option<()> {
        self.with_receiver(flow, |receiver| receiver.set_window(bytes))
    }

    /// The measurements of the receiver of a flow with `receive_window`; round trips since the last reading.
    pub fn read_receiver(&mut self, flow: FlowId) -> Option<Reading> {
        self.with_receiver(flow, TcpReceiver::read)
    }

    /// Lets a greedy TCP flow begin now, or go on after a pause; delivered bytes stay delivered.
    pub fn resume_flow(&mut self, flow: FlowId) -> Option<()> {
        self.with_sender(flow, |sender, now| sender.resume(now))
    }

    /// Lets a greedy TCP flow send nothing new from now on; data in flight is still delivered.
    pub fn pause_flow(&mut self, flow: FlowId) -> Option<()> {
        self.with_sender(flow, |sender, _| sender.pause())
    }

    /// Gives the link between two nodes this delay from now on, in both directions; frames that are on the
    /// link arrive as they would have. False: the delay is shorter than before, and nothing changes. `None`:
    /// there is no such link.
    pub fn lengthen_link(&mut self, a: NodeId, b: NodeId, delay: Nanos) -> Option<bool> {
        let place = self.link(a, b)?;
        let there = self.wiring.links[2 * place].lengthen(delay);
        let back = self.wiring.links[2 * place + 1].lengthen(delay);
        Some(there && back)
    }

    /// Gives the link between a host and a router without P4 this rate from now on, in both directions.
    /// `None`: there is no such link.
    pub fn set_link_rate(&mut self, a: NodeId, b: NodeId, rate: BitRate) -> Option<()> {
        let link = self.spec.links[self.link(a, b)?].clone();
        for end in [link.a, link.b] {
            let node = self.node(&end.node)?;
            self.with_node(node, |node| node.set_rate(end.port, rate))?;
        }
        Some(())
    }

    /// The place of the link between two nodes.
    fn link(&self, a: NodeId, b: NodeId) -> Option<usize> {
        let name = |node: NodeId| self.spec().nodes.get(node.index()).map(|node| node.name.as_str());
        let (a_name, b_name) = (name(a)?, name(b)?);
        self.spec().links.iter().position(|link: &LinkSpec| {
            let ends = (link.a.node.as_str(), link.b.node.as_str());
            ends == (a_name, b_name) || ends == (b_name, a_name)
        })
    }

    fn with_sender<R>(&mut self, flow: FlowId, act: impl FnOnce(&mut TcpSender, Nanos) -> R) -> Option<R> {
        let ((from, _), now) = (*self.ends.get(flow.index())?, self.now());
        self.with_tcp(from, flow, |end| end.with_sender(now, |sender| act(sender, now))).flatten()
    }

    fn with_receiver<R>(&mut self, flow: FlowId, act: impl FnOnce(&mut TcpReceiver) -> R) -> Option<R> {
        let ((_, to), now) = (*self.ends.get(flow.index())?, self.now());
        self.with_tcp(to, flow, |end| end.with_receiver(now, act)).flatten()
    }

    fn with_tcp<R>(&mut self, node: NodeId, flow: FlowId, act: impl FnOnce(&mut TcpEnd) -> R) -> Option<R> {
        self.with_node(node, |node| match node {
            SimNode::Host(host) => host.place_of(flow).and_then(|place| host.with_tcp(place, act)),
            _ => None,
        })
    }
}
