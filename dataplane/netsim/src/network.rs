//! A network that runs.

use std::sync::Arc;

use groupflow_base::Nanos;
use groupflow_switch::p4rt::{PipelineConfig, Status};
use groupflow_switch::proto::p4::v1::Update;

use crate::build::Builder;
use crate::engine::NodeSlot;
use crate::error::BuildError;
use crate::ids::NodeId;
use crate::node::SimNode;
use crate::spec::NetworkSpec;
use crate::switch::P4Switch;
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

    /// The description that the network was built from.
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
}
