//! Streams at split agents, and at hosts that pass streams on to others, resolved: which connection comes in,
//! and which go out.

use std::collections::{HashMap, HashSet};

use groupflow_transport::fanout::Mode;

use crate::error::BuildError;
use crate::flows::ResolvedFlow;
use crate::ids::{FlowId, NodeId};
use crate::spec::{NetworkSpec, NodeKind, RelaySpec, SourceSpec, TcpSpec};

/// A stream at an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Relay {
    pub(crate) agent: NodeId,
    pub(crate) upstream: FlowId,
    pub(crate) branches: Vec<FlowId>,
    pub(crate) mode: Mode,
    /// The distance by which the acknowledgement may be beyond that of the branches.
    pub(crate) ahead: Option<u64>,
    /// The stream's length, if it has an end.
    pub(crate) length: Option<u64>,
}

impl Relay {
    /// Whether the acknowledgements of this flow wait for branches.
    pub(crate) fn holds(&self, flow: FlowId) -> bool {
        self.upstream == flow && self.ahead.is_some()
    }
}

/// Resolves relays. Each flow to an agent is the upstream of one, each flow from an agent a branch of one.
pub(crate) fn resolve(
    spec: &NetworkSpec, nodes: &HashMap<&str, NodeId>, flows: &[ResolvedFlow],
) -> Result<Vec<Relay>, BuildError> {
    let numbers: HashMap<&str, FlowId> =
        (0..).zip(flows).map(|(number, flow)| (flow.spec.name.as_str(), FlowId(number))).collect();
    let mut used = HashSet::new();
    let mut relays: Vec<Relay> = Vec::new();
    for (place, relay) in spec.relays.iter().enumerate() {
        let resolving = Resolving { spec, nodes, flows, numbers: &numbers, relay, place };
        let resolved = resolving.resolve()?;
        for (end, flow) in resolved.ends() {
            if !used.insert((end, flow)) {
                let problem = format!("{:?} is passed on by another relay", flows[flow.index()].spec.name);
                return Err(resolving.refuse(end, problem));
            }
        }
        relays.push(resolved);
    }
    let is_agent = |node: NodeId| matches!(spec.nodes[node.index()].kind, NodeKind::Agent(_));
    for (number, flow) in (0..).zip(flows) {
        for (end, node) in [("upstream", flow.to), ("branches", flow.from)] {
            if is_agent(node) && !used.contains(&(end, FlowId(number))) {
                let problem = "a flow ends at an agent only as part of a relay; add it to relays";
                return Err(BuildError::new(format!("flows.{}", flow.spec.name), problem));
            }
        }
    }
    lengths(&mut relays, flows);
    Ok(relays)
}

impl Relay {
    fn ends(&self) -> impl Iterator<Item = (&'static str, FlowId)> + '_ {
        let branches = self.branches.iter().map(|branch| ("branches", *branch));
        std::iter::once(("upstream", self.upstream)).chain(branches)
    }
}

/// A stream is as long as its sender's data; from agent to agent it is the same one.
fn lengths(relays: &mut [Relay], flows: &[ResolvedFlow]) {
    let length = |flow: FlowId| match &flows[flow.index()].spec.source {
        SourceSpec::Tcp(tcp) => tcp.bytes,
        SourceSpec::Udp(_) => None,
    };
    relays.iter_mut().for_each(|relay| relay.length = length(relay.upstream));
    // A stream passes each agent at most once.
    for _ in 0..relays.len() {
        for from in 0..relays.len() {
            let (length, branches) = (relays[from].length, relays[from].branches.clone());
            let next = relays.iter_mut().filter(|relay| branches.contains(&relay.upstream));
            next.for_each(|relay| relay.length = length);
        }
    }
}

struct Resolving<'a> {
    spec: &'a NetworkSpec,
    nodes: &'a HashMap<&'a str, NodeId>,
    flows: &'a [ResolvedFlow],
    numbers: &'a HashMap<&'a str, FlowId>,
    relay: &'a RelaySpec,
    place: usize,
}

impl Resolving<'_> {
    fn refuse(&self, field: &str, problem: impl std::fmt::Display) -> BuildError {
        BuildError::new(format!("relays[{}].{field}", self.place), problem.to_string())
    }

    fn resolve(&self) -> Result<Relay, BuildError> {
        let name = self.relay.agent.as_str();
        let agent = *self.nodes.get(name).ok_or_else(|| self.refuse("agent", format!("no node {name:?}")))?;
        if !matches!(self.spec.nodes[agent.index()].kind, NodeKind::Agent(_) | NodeKind::Host(_)) {
            return Err(self.refuse("agent", format!("{name:?} is neither an agent nor a host")));
        }
        let (upstream, above) = self.tcp("upstream", &self.relay.upstream)?;
        if self.flows[upstream.index()].to != agent {
            return Err(self.refuse("upstream", format!("{:?} does not end at {name}", self.relay.upstream)));
        }
        let mut branches = Vec::new();
        for branch in &self.relay.branches {
            let (flow, tcp) = self.tcp("branches", branch)?;
            let problem = if self.flows[flow.index()].from != agent {
                format!("{branch:?} does not begin at {name}")
            } else if tcp.bytes.is_some() || tcp.messages.is_some() {
                format!("{branch:?} has bytes of its own; it carries the bytes from upstream")
            } else if tcp.mss != above.mss {
                format!("{branch:?} has packets of {} bytes, and upstream of {}", tcp.mss, above.mss)
            } else {
                branches.push(flow);
                continue;
            };
            return Err(self.refuse("branches", problem));
        }
        if branches.is_empty() {
            return Err(self.refuse("branches", "none; name a flow that goes on from the agent"));
        }
        let mode = self.relay.mode;
        let ahead = match (mode, self.relay.cache_bytes) {
            (Mode::NodeToNode, bound) => bound,
            (Mode::EndToEnd, None) => Some(0),
            (Mode::EndToEnd, Some(_)) => {
                let problem = "end-to-end acknowledges nothing that is cached; leave it out";
                return Err(self.refuse("cache_bytes", problem));
            }
        };
        Ok(Relay { agent, upstream, branches, mode, ahead, length: None })
    }

    fn tcp(&self, field: &str, name: &str) -> Result<(FlowId, &TcpSpec), BuildError> {
        let flow = *self.numbers.get(name).ok_or_else(|| self.refuse(field, format!("no flow {name:?}")))?;
        match &self.flows[flow.index()].spec.source {
            SourceSpec::Tcp(tcp) => Ok((flow, tcp)),
            SourceSpec::Udp(_) => Err(self.refuse(field, format!("{name:?} is no TCP flow"))),
        }
    }
}
