//! From a description to a network that can run.

use std::collections::HashMap;
use std::sync::Arc;

use groupflow_base::min_tree::MinTree;
use groupflow_base::{BitRate, Nanos};
use groupflow_pipeline::Port;
use groupflow_switch::core::SwitchConfig;
use groupflow_switch::p4rt::PipelineConfig;

use crate::broadcast::Broadcast;
use crate::ecn::Marker;
use crate::engine::{Cell, Simulation};
use crate::error::BuildError;
use crate::fifo::{Fifo, QueueLimit};
use crate::flows::Flows;
use crate::frame_queue::{Batch, FrameQueue};
use crate::host::agent::SplitNode;
use crate::host::HostInterface;
use crate::ids::{LinkId, NodeId};
use crate::island::{Island, Leaf, NodeSlot};
use crate::loss::LossProcess;
use crate::node::SimNode;
use crate::outlet::{LinkTarget, Outlet, OutletCounters};
use crate::pausable::Pausable;
use crate::pause::Thresholds;
use crate::random::{Draws, Random};
use crate::routes::Routes;
use crate::spec::{AgentSpec, BroadcastSpec, FifoSpec, LinkSpec, NetworkSpec, NodeKind};
use crate::switch::{P4Switch, SwitchPort};
use crate::transit::Marks;
use crate::wiring::{Inlet, Wiring, UNCONNECTED};

mod graph;

use graph::{attachments, host_addresses, islands, node_numbers, steps, LinkAttachment};

/// A network on its way from description to simulation.
pub(crate) struct Builder<'a> {
    spec: &'a NetworkSpec,
    programs: &'a [Arc<PipelineConfig>],
    /// The links of each node, by port.
    attachments: Vec<Vec<LinkAttachment>>,
    routes: Arc<Routes>,
    flows: Flows,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(
        spec: &'a NetworkSpec, programs: &'a [Arc<PipelineConfig>],
    ) -> Result<Builder<'a>, BuildError> {
        if spec.duration_ns == 0 {
            return Err(BuildError::new("duration_ns", "must be above zero"));
        }
        if spec.sample_ns == 0 {
            return Err(BuildError::new("sample_ns", "must be above zero"));
        }
        let nodes = node_numbers(spec)?;
        let attachments = attachments(spec, &nodes)?;
        let steps = steps(spec, &attachments);
        let names: Vec<String> = spec.nodes.iter().map(|node| node.name.clone()).collect();
        let routes = Arc::new(Routes::new(&host_addresses(spec), &steps, &names));
        let flows = Flows::new(spec, &nodes, &routes, &steps)?;
        Ok(Builder { spec, programs, attachments, routes, flows })
    }

    /// The flows, described for results.
    pub(crate) fn flows(&self) -> &Flows {
        &self.flows
    }

    pub(crate) fn build(&mut self) -> Result<Simulation, BuildError> {
        let island_of = islands(self.spec, &self.attachments);
        let count = island_of.iter().max().map_or(0, |last| last + 1);
        let mut members = vec![Vec::new(); count];
        for (node, &island) in island_of.iter().enumerate() {
            members[island].push(NodeId(node as u32));
        }
        let mut places = vec![(0, 0); self.spec.nodes.len()];
        let mut cells = Vec::with_capacity(count);
        for (island, nodes) in members.iter().enumerate() {
            for (place, node) in nodes.iter().enumerate() {
                places[node.index()] = (island, place);
            }
            cells.push(self.cell(nodes, &island_of)?);
        }
        let between = |link: &&LinkSpec| link.delay_ns > 0;
        let lookahead = self.spec.links.iter().filter(between).map(|link| Nanos(link.delay_ns)).min();
        let lookahead = if count > 1 { lookahead.unwrap_or(Nanos::MAX) } else { Nanos::MAX };
        let (mailboxes, sample) = (2 * self.spec.links.len(), Nanos(self.spec.sample_ns));
        let flows = self.spec.flows.len() + self.spec.members.len() + self.spec.bones.len();
        Ok(Simulation::new(cells, mailboxes, lookahead, sample, flows, places))
    }

    fn cell(&mut self, nodes: &[NodeId], island_of: &[usize]) -> Result<Cell, BuildError> {
        let (mut leaves, mut inlets, mut feeds) = (Vec::new(), Vec::new(), Vec::new());
        let mut inlet_of = HashMap::new();
        let mut node_leaves = Vec::new();
        for (place, node) in nodes.iter().enumerate() {
            node_leaves.push(leaves.len());
            leaves.push(Leaf::Deadline(place));
            for attachment in &self.attachments[node.index()] {
                let incoming = attachment.link.reverse();
                inlet_of.insert(incoming, inlets.len());
                if island_of[attachment.far.index()] != island_of[node.index()] {
                    feeds.push((inlets.len(), incoming.index()));
                }
                let (leaf, port) = (leaves.len(), attachment.port);
                leaves.push(Leaf::Inlet(inlets.len()));
                inlets.push(Inlet { queue: FrameQueue::default(), leaf, place, port });
            }
        }
        let (mut outlets, mut slots) = (Vec::new(), Vec::new());
        for (&node, &leaf) in nodes.iter().zip(&node_leaves) {
            let ports =
                self.attachments[node.index()].iter().map(|a| usize::from(a.port) + 1).max().unwrap_or(0);
            let mut by_port = vec![UNCONNECTED; ports];
            for attachment in self.attachments[node.index()].clone() {
                by_port[usize::from(attachment.port)] = outlets.len() as u32;
                let destination = match inlet_of.get(&attachment.link) {
                    Some(&inlet) => LinkTarget::Inlet(inlet),
                    None => LinkTarget::Mailbox(attachment.link.index()),
                };
                outlets.push(self.outlet(attachment.link, destination)?);
            }
            slots.push(NodeSlot { id: node, node: self.node(node)?, outlets: by_port, leaf });
        }
        let tree = MinTree::new(leaves.len());
        let wiring = Wiring { outlets, inlets, tree, earliest: Nanos::MAX, tracer: None };
        Ok(Cell { island: Island::new(slots, wiring, leaves), feeds })
    }

    fn outlet(&self, link: LinkId, destination: LinkTarget) -> Result<Outlet, BuildError> {
        let spec = &self.spec.links[link.index() / 2];
        let field = |name: &str| format!("links[{}].{name}", link.index() / 2);
        let above = || BuildError::new(field("loss"), "a proportion is above the whole");
        let downs: Vec<_> = spec.down_ns.iter().map(|&(from, until)| (Nanos(from), Nanos(until))).collect();
        let ordered =
            downs.iter().all(|(from, until)| from < until) && downs.windows(2).all(|w| w[0].1 <= w[1].0);
        if !ordered {
            return Err(BuildError::new(field("down_ns"), "not in order, or they overlap"));
        }
        let delay = Nanos(spec.delay_ns);
        let sample = Nanos(self.spec.sample_ns);
        Ok(Outlet {
            delay,
            loss: LossProcess::new(spec.loss).ok_or_else(above)?,
            random: Random::new(self.spec.seed, Draws::Link(link.0)),
            downs,
            next_down: 0,
            destination,
            batch: Batch::new(),
            counters: OutletCounters::default(),
            entered: Marks::new(sample, Nanos::ZERO),
            transits: self.flows.transits(link, sample, delay),
        })
    }

    fn node(&mut self, node: NodeId) -> Result<SimNode, BuildError> {
        let attachments = &self.attachments[node.index()];
        let rate_of = |link: LinkId| self.rate(link);
        match &self.spec.nodes[node.index()].kind {
            NodeKind::Host(_) => {
                let first = attachments.first();
                let rate = first.map_or(Ok(None), |attachment| rate_of(attachment.link))?;
                let limit = first.map_or(0, |a| self.spec.links[a.link.index() / 2].queue_packets);
                let ends = self.flows.ends(node, limit)?;
                if self.flows.relays_at(node).next().is_none() {
                    return Ok(SimNode::Host(Box::new(HostInterface::new(0, rate, ends))));
                }
                let mut member = SplitNode::new(Nanos::ZERO);
                member.attach(0, rate, ends);
                Ok(self.relaying(node, member))
            }
            NodeKind::Agent(spec) => {
                let mut agent = SplitNode::new(self.service(node, spec)?);
                for attachment in attachments {
                    let ends = self.flows.ends_at(node, Some(attachment.link), 0)?;
                    agent.attach(attachment.port, rate_of(attachment.link)?, ends);
                }
                Ok(self.relaying(node, agent))
            }
            NodeKind::Fifo(spec) => {
                self.check_below_queues(node, "ecn", spec.ecn)?;
                let (routes, marker) = (Arc::clone(&self.routes), Marker::new(spec.ecn));
                let thresholds = self.thresholds(node)?;
                if thresholds.is_some() || attachments.iter().any(|a| self.pauses(a.far)) {
                    let mut router = Pausable::new(node, routes, thresholds, marker);
                    for attachment in attachments {
                        let rate = rate_of(attachment.link)?;
                        router.attach(attachment.port, rate, self.limit(attachment.link));
                    }
                    return Ok(SimNode::Pausable(Box::new(router)));
                }
                let mut fifo = Fifo::new(node, routes, marker);
                for attachment in attachments {
                    fifo.attach(attachment.port, rate_of(attachment.link)?, self.limit(attachment.link));
                }
                Ok(SimNode::Fifo(Box::new(fifo)))
            }
            NodeKind::Broadcast(spec) => {
                let mut medium = Broadcast::new(node, Arc::clone(&self.routes));
                for attachment in attachments {
                    let errors = self.error_bytes(node, spec, attachment.far)?;
                    let (link, port) = (attachment.link, attachment.port);
                    medium.attach(port, rate_of(link)?, self.limit(link), errors, (self.spec.seed, link));
                }
                Ok(SimNode::Broadcast(Box::new(medium)))
            }
            NodeKind::Switch(spec) => {
                let missing =
                    || self.refuse(node, "program", format!("there is no program {}", spec.program));
                let program = self.programs.get(spec.program).ok_or_else(missing)?;
                let port = |&LinkAttachment { port, link, .. }: &LinkAttachment| {
                    Ok(SwitchPort { port, rate: rate_of(link)?, limit: self.limit(link) })
                };
                let ports: Vec<SwitchPort> =
                    attachments.iter().map(port).collect::<Result<_, BuildError>>()?;
                let config = SwitchConfig {
                    cpu_port: Port(spec.cpu_port),
                    drop_port: Port(spec.drop_port),
                    priorities: spec.queues,
                    eager: true,
                    seed: self.spec.seed.wrapping_add(u64::from(node.0)),
                    ..SwitchConfig::default()
                };
                let switch = P4Switch::new(config, &ports, Arc::clone(program))
                    .map_err(|error| self.refuse(node, "ports", error.to_string()))?;
                Ok(SimNode::Switch(Box::new(switch)))
            }
        }
    }

    /// A node with the streams that it passes on.
    fn relaying(&self, node: NodeId, mut agent: SplitNode) -> SimNode {
        self.flows.relays_at(node).cloned().for_each(|relay| agent.relay(relay));
        SimNode::Agent(Box::new(agent))
    }

    fn rate(&self, link: LinkId) -> Result<Option<BitRate>, BuildError> {
        let number = link.index() / 2;
        match self.spec.links[number].rate_bps {
            Some(0) => Err(BuildError::new(format!("links[{number}].rate_bps"), "must be above zero")),
            rate => Ok(rate.map(BitRate)),
        }
    }

    /// Bytes from one bit error to the next, of frames that leave for a neighbour.
    fn error_bytes(
        &self, node: NodeId, spec: &BroadcastSpec, far: NodeId,
    ) -> Result<Option<u64>, BuildError> {
        match spec.error_bytes.get(&self.spec.nodes[far.index()].name) {
            Some(0) => Err(self.refuse(node, "error_bytes", "must be above zero".into())),
            mean => Ok(mean.copied()),
        }
    }

    /// How long an agent is busy with a packet.
    fn service(&self, node: NodeId, spec: &AgentSpec) -> Result<Nanos, BuildError> {
        match spec.packets_per_second {
            None => Ok(Nanos::ZERO),
            Some(rate @ 1..=1_000_000_000) => Ok(Nanos(1_000_000_000 / rate)),
            Some(rate) => {
                let problem = format!("{rate} will not do; write 1 to 1000000000");
                Err(self.refuse(node, "packets_per_second", problem))
            }
        }
    }

    /// Whether a node sends pause frames.
    fn pauses(&self, node: NodeId) -> bool {
        matches!(&self.spec.nodes[node.index()].kind, NodeKind::Fifo(FifoSpec { pause: Some(_), .. }))
    }

    /// When a router tells its neighbours to stop, if it does. The neighbours must understand that.
    fn thresholds(&self, node: NodeId) -> Result<Option<Thresholds>, BuildError> {
        let NodeKind::Fifo(FifoSpec { pause: Some(pause), .. }) = &self.spec.nodes[node.index()].kind else {
            return Ok(None);
        };
        let (xoff, xon) = (pause.xoff, pause.xon);
        self.check_below_queues(node, "xoff", Some(xoff))?;
        if xon > xoff {
            let problem = format!("{xon} packets are above xoff, which is {xoff}; write less");
            return Err(self.refuse(node, "xon", problem));
        }
        for attachment in &self.attachments[node.index()] {
            let far = &self.spec.nodes[attachment.far.index()];
            if matches!(far.kind, NodeKind::Switch(_)) {
                let problem = format!("the P4 switch {} does not obey pause frames; use a fifo", far.name);
                return Err(self.refuse(node, "xoff", problem));
            }
        }
        Ok(Some(Thresholds { xoff, xon }))
    }

    /// A threshold counts for the queues of links with a rate: without a rate no frame waits.
    fn check_below_queues(&self, node: NodeId, name: &str, threshold: Option<u32>) -> Result<(), BuildError> {
        let Some(threshold) = threshold else { return Ok(()) };
        if threshold == 0 {
            return Err(self.refuse(node, name, "is zero; write 1 packet or more".into()));
        }
        for attachment in &self.attachments[node.index()] {
            let link = &self.spec.links[attachment.link.index() / 2];
            if link.rate_bps.is_some() && threshold >= link.queue_packets {
                let (port, queue) = (attachment.port, link.queue_packets);
                let problem = format!(
                    "{threshold} packets are never reached: port {port} drops when {queue} wait; write less"
                );
                return Err(self.refuse(node, name, problem));
            }
        }
        Ok(())
    }

    fn refuse(&self, node: NodeId, field: &str, problem: String) -> BuildError {
        BuildError::new(format!("nodes.{}.{field}", self.spec.nodes[node.index()].name), problem)
    }

    fn limit(&self, link: LinkId) -> QueueLimit {
        let spec = &self.spec.links[link.index() / 2];
        QueueLimit { packets: spec.queue_packets, bytes: spec.queue_bytes.unwrap_or(u64::MAX) }
    }
}
