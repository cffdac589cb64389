//! A network that runs.

use std::sync::Arc;

use groupflow_base::Nanos;
use groupflow_switch::p4rt::{PipelineConfig, Status};
use groupflow_switch::proto::p4::v1::Update;

use crate::build::Builder;
use crate::engine::{Observer, Simulation};
use crate::error::{BuildError, RunError};
use crate::ids::NodeId;
use crate::node::SimNode;
use crate::spec::NetworkSpec;
use crate::switch::P4Switch;

/// A network, its traffic, and the time.
#[derive(Debug)]
pub struct Network {
    spec: NetworkSpec,
    /// The hosts of each flow: its sender's and its receiver's.
    pub(crate) ends: Vec<(NodeId, NodeId)>,
    /// For each flow, the most bytes that can be on its links at once: the sum of rate times delay.
    capacities: Vec<f64>,
    pub(crate) simulation: Simulation,
}

impl Network {
    /// Builds a network at time zero. Switches name their program by its place in `programs`.
    pub fn new(spec: NetworkSpec, programs: &[Arc<PipelineConfig>]) -> Result<Network, BuildError> {
        let builder = Builder::new(&spec, programs)?;
        let simulation = builder.build()?;
        let flows = builder.flows().flows.iter();
        let ends = flows.clone().map(|flow| (flow.from, flow.to)).collect();
        let capacities = flows.map(|flow| flow.capacity_bytes).collect();
        Ok(Network { spec, ends, capacities, simulation })
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
        self.simulation.with_node(node, |node| match node {
            SimNode::Switch(switch) => {
                switch.catch_up(now);
                let result = act(switch);
                switch.touched(now);
                Some(result)
            }
            _ => None,
        })
    }

    /// Sets whether the observer is told all events.
    pub fn set_trace(&mut self, traced: bool) {
        self.simulation.set_trace(traced);
    }

    /// Runs until the end of the scenario, or until the observer breaks the run off.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<(), RunError> {
        self.simulation.run(Nanos(self.spec.duration_ns), observer)
    }

    /// Runs until `until`, or until the observer breaks the run off.
    pub fn run_until(&mut self, until: Nanos, observer: &mut dyn Observer) -> Result<(), RunError> {
        self.simulation.run(until, observer)
    }

    /// The virtual time: every event before this time has happened.
    pub fn now(&self) -> Nanos {
        self.simulation.now()
    }

    /// Whether the scenario's end has come.
    pub fn finished(&self) -> bool {
        self.now().0 >= self.spec.duration_ns
    }

    /// Frames that switches and routers took so far.
    pub fn hops(&self) -> u64 {
        self.simulation.hops()
    }
}
