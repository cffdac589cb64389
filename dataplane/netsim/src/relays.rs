//! Streams at split agents, and at hosts that pass streams on to others, resolved: which connection comes in,
//! and which go out.

use std::collections::{HashMap, HashSet};

use groupflow_transport::fanout::Mode;

use crate::error::BuildError;
use crate::flows::{is_agent, ResolvedFlow};
use crate::ids::{FlowId, NodeId};
use crate::spec::{NetworkSpec, RelaySpec, SourceSpec, TcpSpec};

/// A stream at an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Relay {
    /// The node at which upstream ends: an agent, or a host.
    pub(crate) agent: NodeId,
    pub(crate) upstream: FlowId,
    pub(crate) branches: Vec<FlowId>,
    pub(crate) mode: Mode,
    /// The bound of the cache.
    pub(crate) cache_bytes: Option<u64>,
    /// The stream's length, if it has an end.
    pub(crate) length: Option<u64>,
}

impl Relay {
    /// Whether the acknowledgements of this flow wait for branches.
    pub(crate) fn holds(&self, flow: FlowId) -> bool {
        self.upstream == flow && (self.mode == Mode::EndToEnd || self.cache_bytes.is_some())
    }
}

/// Resolves relays. Each flow to an agent is the upstream of one, each flow from an agent a branch of one.
pub(crate) fn resolve(spec: &NetworkSpec, flows: &[ResolvedFlow]) -> Result<Vec<Relay>, BuildError> {
    let numbers: HashMap<&str, FlowId> =
        (0..).zip(flows).map(|(number, flow)| (flow.spec.name.as_str(), FlowId(number))).collect();
    let mut used = HashSet::new();
    let mut relays: Vec<Relay> = Vec::new();
    for (place, relay) in spec.relays.iter().enumerate() {
        let resolving = Resolving { flows, numbers: &numbers, relay, place };
        let resolved = resolving.resolve()?;
        let branches = resolved.branches.iter().map(|&branch| ("branches", branch));
        for (end, flow) in branches.chain([("upstream", resolved.upstream)]) {
            if !used.insert((end, flow)) {
                let problem = format!("{:?} is passed on by another relay", flows[flow.index()].spec.name);
                return Err(resolving.refuse(end, problem));
            }
        }
        relays.push(resolved);
    }
    for (number, flow) in (0..).zip(flows) {
        for (end, node) in [("upstream", flow.to), ("branches", flow.from)] {
            if is_agent(spec, node) && !used.contains(&(end, FlowId(number))) {
                let problem = "a flow ends at an agent only as part of a relay; add it to relays";
                return Err(BuildError::new(format!("flows.{}", flow.spec.name), problem));
            }
        }
    }
    for place in 0..relays.len() {
        relays[place].length = length(&relays, flows, relays[place].upstream);
    }
    Ok(relays)
}

/// A stream is as long as its sender's data; from agent to agent it is the same one.
fn length(relays: &[Relay], flows: &[ResolvedFlow], mut flow: FlowId) -> Option<u64> {
    // A stream passes each agent at most once.
    for _ in 0..relays.len() {
        match relays.iter().find(|relay| relay.branches.contains(&flow)) {
            Some(relay) => flow = relay.upstream,
            None => break,
        }
    }
    match &flows[flow.index()].spec.source {
        SourceSpec::Tcp(tcp) => tcp.bytes,
        SourceSpec::Udp(_) => None,
    }
}

struct Resolving<'a> {
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
        let &RelaySpec { mode, cache_bytes, .. } = self.relay;
        let (upstream, above) = self.tcp("upstream", &self.relay.upstream)?;
        let agent = self.flows[upstream.index()].to;
        let mut branches = Vec::new();
        for branch in &self.relay.branches {
            let (flow, tcp) = self.tcp("branches", branch)?;
            let problem = if self.flows[flow.index()].from != agent {
                format!("{branch:?} does not begin where {:?} ends", self.relay.upstream)
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
        if mode == Mode::EndToEnd && cache_bytes.is_some() {
            let problem = "end-to-end acknowledges nothing that is cached; leave it out";
            return Err(self.refuse("cache_bytes", problem));
        }
        Ok(Relay { agent, upstream, branches, mode, cache_bytes, length: None })
    }

    fn tcp(&self, field: &str, name: &str) -> Result<(FlowId, &TcpSpec), BuildError> {
        let flow = *self.numbers.get(name).ok_or_else(|| self.refuse(field, format!("no flow {name:?}")))?;
        match &self.flows[flow.index()].spec.source {
            SourceSpec::Tcp(tcp) => Ok((flow, tcp)),
            SourceSpec::Udp(_) => Err(self.refuse(field, format!("{name:?} is no TCP flow"))),
        }
    }
}
