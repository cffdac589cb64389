//! From a description to a network that can run.

use std::sync::Arc;

use groupflow_base::{BitRate, Nanos};
use groupflow_pipeline::Port;
use groupflow_switch::core::SwitchConfig;
use groupflow_switch::p4rt::PipelineConfig;

use crate::engine::NodeSlot;
use crate::error::BuildError;
use crate::fifo::{Fifo, FifoPort};
use crate::flows::Flows;
use crate::host::agent::SplitNode;
use crate::host::HostInterface;
use crate::ids::{LinkId, NodeId};
use crate::link::{FarEnd, Link};
use crate::loss::{BitErrors, LossProcess};
use crate::node::SimNode;
use crate::random::{Draws, Random};
use crate::router::{Marker, PortQueue, Ports, QueueLimit};
use crate::routes::Routes;
use crate::spec::{AgentSpec, BroadcastSpec, NetworkSpec, NodeKind};
use crate::switch::{P4Switch, SwitchPort};
use crate::wiring::{Island, Leaf, Subject, Wiring};

mod graph;

use graph::{attachments, host_addresses, islands, node_numbers, steps, LinkAttachment};

/// A network on its way from its description.
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

    /// The nodes, and the links between them.
    pub(crate) fn build(&self) -> Result<(Vec<NodeSlot>, Wiring), BuildError> {
        let island_of = islands(self.spec, &self.attachments);
        let count = island_of.iter().max().map_or(0, |last| last + 1);
        let mut islands: Vec<_> = (0..count).map(|_| (Vec::new(), Nanos::MAX)).collect();
        let nowhere = FarEnd { node: NodeId(0), port: 0, leaf: Leaf::default() };
        let mut ends = vec![nowhere; 2 * self.spec.links.len()];
        let mut nodes = Vec::new();
        for ((node, attachments), &island) in (0..).map(NodeId).zip(&self.attachments).zip(&island_of) {
            let (subjects, lookahead) = &mut islands[island];
            let leaf = Leaf { island, place: subjects.len() };
            subjects.push(Subject::Deadline(node));
            let mut ports = vec![None; attachments.last().map_or(0, |last| usize::from(last.port) + 1)];
            for &LinkAttachment { port, link, far } in attachments {
                ports[usize::from(port)] = Some(link);
                let arriving = link.reverse();
                ends[arriving.index()] = FarEnd { node, port, leaf: Leaf { island, place: subjects.len() } };
                subjects.push(Subject::Arrival(arriving));
                if island_of[far.index()] != island {
                    *lookahead = (*lookahead).min(Nanos(self.spec.links[link.index() / 2].delay_ns));
                }
            }
            nodes.push(NodeSlot { node: self.node(node)?, ports, leaf });
        }
        let islands = islands.into_iter().map(|(subjects, lookahead)| Island::new(subjects, lookahead));
        let links = (0..).map(LinkId).zip(ends).map(|(link, end)| self.link(link, end));
        Ok((nodes, Wiring::new(links.collect::<Result<_, _>>()?, islands.collect())))
    }

    fn link(&self, link: LinkId, end: FarEnd) -> Result<Link, BuildError> {
        let spec = &self.spec.links[link.index() / 2];
        let field = |name: &str| format!("links[{}].{name}", link.index() / 2);
        let above = || BuildError::new(field("loss"), "a proportion is above the whole");
        let downs: Vec<_> = spec.down_ns.iter().map(|&(from, until)| (Nanos(from), Nanos(until))).collect();
        let ordered =
            downs.iter().all(|(from, until)| from < until) && downs.windows(2).all(|w| w[0].1 <= w[1].0);
        if !ordered {
            return Err(BuildError::new(field("down_ns"), "not in order, or they overlap"));
        }
        let (delay, sample) = (Nanos(spec.delay_ns), Nanos(self.spec.sample_ns));
        let random = Random::new(self.spec.seed, Draws::Link(link.0));
        let mut built = Link::new(delay, random, sample, end);
        built.loss = LossProcess::new(spec.loss).ok_or_else(above)?;
        built.downs = downs;
        built.transits = self.flows.transits(link, sample, delay);
        Ok(built)
    }

    fn node(&self, node: NodeId) -> Result<SimNode, BuildError> {
        let attachments = &self.attachments[node.index()];
        let rate_of = |link: LinkId| self.rate(link);
        match &self.spec.nodes[node.index()].kind {
            NodeKind::Host(_) => {
                let first = attachments.first();
                let rate = first.map_or(Ok(None), |attachment| rate_of(attachment.link))?;
                let limit = first.map_or(0, |a| self.spec.links[a.link.index() / 2].queue_packets);
                let ends = self.flows.ends(self.spec, node, limit)?;
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
                let ports = self.ports(node, spec.ecn, |queue, _| Ok(FifoPort::new(queue, None)))?;
                Ok(SimNode::Fifo(Box::new(Fifo { ports, repeats: false })))
            }
            NodeKind::Broadcast(spec) => {
                let port =
                    |queue, at: &LinkAttachment| Ok(FifoPort::new(queue, self.bit_errors(node, spec, at)?));
                let ports = self.ports(node, None, port)?;
                Ok(SimNode::Fifo(Box::new(Fifo { ports, repeats: true })))
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
                    flow_control: spec.flow_control,
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

    /// The ports of a router. A queue with `ecn` frames marks the next ones.
    fn ports<P>(
        &self, node: NodeId, ecn: Option<u32>,
        make: impl Fn(PortQueue, &LinkAttachment) -> Result<P, BuildError>,
    ) -> Result<Ports<P>, BuildError> {
        let mut ports = Ports::new(node, Arc::clone(&self.routes));
        for attachment in &self.attachments[node.index()] {
            let link = attachment.link;
            let queue = PortQueue::new(self.rate(link)?, self.limit(link), Marker::new(ecn));
            ports.attach(attachment.port, make(queue, attachment)?);
        }
        Ok(ports)
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

    /// The bit errors of the frames that leave for a neighbour.
    fn bit_errors(
        &self, node: NodeId, spec: &BroadcastSpec, at: &LinkAttachment,
    ) -> Result<Option<BitErrors>, BuildError> {
        let random = || Random::new(self.spec.seed, Draws::Errors(at.link.0));
        match spec.error_bytes.get(&self.spec.nodes[at.far.index()].name) {
            Some(0) => Err(self.refuse(node, "error_bytes", "must be above zero".into())),
            mean => Ok(mean.map(|&mean| BitErrors::new(mean, random()))),
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
