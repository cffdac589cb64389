//! The flows of a network: their ends at hosts, and their way; members of sessions, hubs and rims of round
//! multicast.

use std::collections::HashMap;

use groupflow_base::Nanos;
use groupflow_transport::ids::MAX_PAYLOAD;

use crate::error::BuildError;
use crate::host::machine_end::MachineEnd;
use crate::host::tcp_end::{configure, TcpEnd};
use crate::host::udp::{UdpSink, UdpSource, LARGEST_FRAME, LEAST_FRAME};
use crate::host::{bone_end, group_end, Backlog, End, FlowEnd, MessageSource};
use crate::ids::{FlowId, LinkId, NodeId};
use crate::random::{Draws, Random};
use crate::relays::{self, Relay};
use crate::routes::{Hop, Routes};
use crate::spec::{
    AgentSpec, BoneRole, BoneSpec, FlowSpec, HostSpec, LinkSpec, MemberRole, MemberSpec, MessagesSpec,
    NetworkSpec, NodeKind, SourceSpec, UdpSpec,
};
use crate::tcp::DataSource;
use crate::transit::Transit;
use crate::trees;
use crate::wire::{Addresses, PROTOCOL_TCP, PROTOCOL_UDP};

#[derive(Debug, Clone)]
pub(crate) struct ResolvedFlow {
    pub(crate) spec: FlowSpec,
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    addresses: Addresses,
    /// The addresses of the receiver's packets.
    back: Addresses,
    pub(crate) path: Vec<LinkId>,
    /// The most bytes that can be on the path's links at once; those without a rate or a delay do not count.
    pub(crate) capacity_bytes: f64,
}

impl ResolvedFlow {
    fn refused(&self, error: BuildError) -> BuildError {
        BuildError::new(format!("flows.{}", self.spec.name), error)
    }
}

/// A machine at a host: a member of a session, or a hub or a rim.
#[derive(Debug)]
struct Resident<Spec> {
    spec: Spec,
    host: NodeId,
    /// The addresses of packets that it sends; the destination varies.
    addresses: Addresses,
}

#[derive(Debug, Default)]
pub(crate) struct Flows {
    pub(crate) flows: Vec<ResolvedFlow>,
    members: Vec<Resident<MemberSpec>>,
    bones: Vec<Resident<BoneSpec>>,
    relays: Vec<Relay>,
    seed: u64,
    /// The flows on each link, by number.
    on_link: HashMap<LinkId, Vec<FlowId>>,
}

impl Flows {
    pub(crate) fn new(
        spec: &NetworkSpec, nodes: &HashMap<&str, NodeId>, routes: &Routes, steps: &[Vec<Hop>],
    ) -> Result<Flows, BuildError> {
        let mut flows = Flows { seed: spec.seed, ..Flows::default() };
        let mut ports = HashMap::new();
        for (number, flow) in (0..).zip(&spec.flows) {
            let resolved = resolve(spec, nodes, routes, steps, flow)?;
            for (node, port) in [(resolved.from, flow.source_port), (resolved.to, flow.destination_port)] {
                if let Some(other) = ports.insert((node, protocol(&flow.source), port), &flow.name) {
                    let problem = format!("flow {other:?} has port {port} of the host already");
                    return Err(BuildError::new(format!("flows.{}", flow.name), problem));
                }
            }
            for link in &resolved.path {
                flows.on_link.entry(*link).or_default().push(FlowId(number));
            }
            flows.flows.push(resolved);
        }
        let mut settle = |kind: &str, name, host: &str, port| {
            let refuse = |field: &str, problem| BuildError::new(format!("{kind}.{name}.{field}"), problem);
            let found = nodes.get(host).map(|&node| (node, &spec.nodes[node.index()].kind));
            let Some((node, NodeKind::Host(at))) = found else {
                return Err(refuse("host", format!("unknown host {host:?}")));
            };
            match ports.insert((node, PROTOCOL_UDP, port), name) {
                Some(other) => Err(refuse("udp_port", format!("{other:?} has the port already"))),
                None => Ok((node, addresses((at, port), (at, port)))),
            }
        };
        for member in &spec.members {
            let (host, addresses) = settle("members", &member.name, &member.host, member.udp_port)?;
            check_member(member)?;
            flows.members.push(Resident { spec: member.clone(), host, addresses });
        }
        for bone in &spec.bones {
            let (host, addresses) = settle("bones", &bone.name, &bone.host, bone.udp_port)?;
            check_bone(bone)?;
            flows.bones.push(Resident { spec: bone.clone(), host, addresses });
        }
        trees::check(spec, &mut ports)?;
        flows.relays = relays::resolve(spec, &flows.flows)?;
        Ok(flows)
    }

    pub(crate) fn transits(&self, link: LinkId, sample: Nanos, delay: Nanos) -> Vec<Transit> {
        let flows = self.on_link.get(&link).map_or(&[][..], Vec::as_slice);
        let transit =
            |&flow: &FlowId| Transit::new(flow, self.flows[flow.index()].addresses.key(), sample, delay);
        if delay == Nanos::ZERO {
            return Vec::new();
        }
        let mut transits: Vec<Transit> = flows.iter().map(transit).collect();
        Transit::sort(&mut transits);
        transits
    }

    /// The ends of flows at a host. `limit` packets of a source wait for the interface.
    pub(crate) fn ends(
        &self, spec: &NetworkSpec, node: NodeId, limit: u32,
    ) -> Result<Vec<FlowEnd>, BuildError> {
        let mut ends = self.ends_at(node, None, limit)?;
        let mut numbers = (self.flows.len() as u32..).map(FlowId);
        for (member, number) in self.members.iter().zip(&mut numbers) {
            if member.host == node {
                ends.push(self.member_end(number, member)?);
            }
        }
        for (bone, number) in self.bones.iter().zip(&mut numbers) {
            if bone.host == node {
                ends.push(bone.end(number, self.seed));
            }
        }
        ends.extend(trees::ends(spec, node, &mut numbers));
        Ok(ends)
    }

    /// The ends of flows at a node; with a link, only those whose packets leave by it.
    pub(crate) fn ends_at(
        &self, node: NodeId, link: Option<LinkId>, limit: u32,
    ) -> Result<Vec<FlowEnd>, BuildError> {
        let leaves = |by: Option<LinkId>| link.is_none() || link == by;
        let mut ends = Vec::new();
        for (number, flow) in (0..).zip(&self.flows) {
            if flow.from == node && leaves(flow.path.first().copied()) {
                ends.push(self.sending_end(FlowId(number), flow, limit)?);
            }
            if flow.to == node && leaves(flow.path.last().map(|last| last.reverse())) {
                ends.push(self.receiving_end(FlowId(number), flow)?);
            }
        }
        Ok(ends)
    }

    /// The streams that an agent, or a host, passes on.
    pub(crate) fn relays_at(&self, node: NodeId) -> impl Iterator<Item = &Relay> {
        self.relays.iter().filter(move |relay| relay.agent == node)
    }

    fn member_end(&self, flow: FlowId, member: &Resident<MemberSpec>) -> Result<FlowEnd, BuildError> {
        let start = Nanos(member.spec.start_ns);
        let seed = self.seed.wrapping_add(u64::from(flow.0));
        let messages = match member.spec.role {
            MemberRole::Sender { messages: Some(spec), .. } => {
                Some(self.messages(spec, MAX_PAYLOAD as u32, member.host, start, Nanos::MAX))
            }
            _ => None,
        };
        let machine = group_end::member(&member.spec, seed);
        let unreadable = |error| BuildError::new(format!("members.{}.role", member.spec.name), error);
        let end =
            MachineEnd::new(member.addresses, (start, Nanos::MAX), machine.map_err(unreadable)?, messages);
        let end = FlowEnd::new(flow, PROTOCOL_UDP, member.spec.udp_port, Box::new(end));
        Ok(FlowEnd { shaped_as: member.spec.shaped_as, ..end })
    }

    fn messages(
        &self, spec: MessagesSpec, mss: u32, host: NodeId, start: Nanos, stop: Nanos,
    ) -> MessageSource {
        MessageSource::new(spec, mss, Random::new(self.seed, Draws::Messages(host.0)), start, stop)
    }

    fn sending_end(&self, number: FlowId, flow: &ResolvedFlow, limit: u32) -> Result<FlowEnd, BuildError> {
        let start = Nanos(flow.spec.start_ns);
        let stop = flow.spec.stop_ns.map_or(Nanos::MAX, Nanos);
        let end: Box<dyn End> = match &flow.spec.source {
            SourceSpec::Udp(udp) => {
                let random = Random::new(self.seed, Draws::Flow(number.0));
                Box::new(UdpSource::new(flow.addresses, udp.clone(), random, (start, stop), limit))
            }
            SourceSpec::Tcp(tcp) => {
                let (mut sender, _) = configure(&flow.spec, tcp)?;
                if self.relays.iter().any(|relay| relay.branches.contains(&number)) {
                    sender.data = DataSource::Supplied;
                    sender.start = Nanos::MAX; // when the stream has come to the agent
                }
                let messages = tcp.messages.map(|spec| self.messages(spec, tcp.mss, flow.from, start, stop));
                let end = TcpEnd::sending(&flow.addresses, sender, messages);
                Box::new(end.map_err(|error| flow.refused(error))?)
            }
        };
        let end = FlowEnd::new(number, protocol(&flow.spec.source), flow.spec.source_port, end);
        let backlog = flow.spec.backlog.map(Backlog::new);
        Ok(FlowEnd { shaped_as: flow.spec.shaped_as, backlog, ..end })
    }

    fn receiving_end(&self, number: FlowId, flow: &ResolvedFlow) -> Result<FlowEnd, BuildError> {
        let end: Box<dyn End> = match &flow.spec.source {
            SourceSpec::Udp(_) => Box::new(UdpSink::default()),
            SourceSpec::Tcp(tcp) => {
                let (_, mut receiver) = configure(&flow.spec, tcp)?;
                receiver.held = self.relays.iter().any(|relay| relay.holds(number));
                let end = TcpEnd::receiving(&flow.back, receiver);
                Box::new(end.map_err(|error| flow.refused(error))?)
            }
        };
        Ok(FlowEnd::new(number, protocol(&flow.spec.source), flow.spec.destination_port, end))
    }
}

fn protocol(source: &SourceSpec) -> u8 {
    match source {
        SourceSpec::Udp(_) => PROTOCOL_UDP,
        SourceSpec::Tcp(_) => PROTOCOL_TCP,
    }
}

fn resolve(
    spec: &NetworkSpec, nodes: &HashMap<&str, NodeId>, routes: &Routes, steps: &[Vec<Hop>], flow: &FlowSpec,
) -> Result<ResolvedFlow, BuildError> {
    let field = |name: &str| format!("flows.{}.{name}", flow.name);
    let find = |end: &str, name: &str| -> Result<(NodeId, &HostSpec), BuildError> {
        let unknown = || BuildError::new(field(end), format!("unknown host {name:?}"));
        let node = *nodes.get(name).ok_or_else(unknown)?;
        match &spec.nodes[node.index()].kind {
            NodeKind::Host(host) | NodeKind::Agent(AgentSpec { host, .. }) => Ok((node, host)),
            _ => Err(BuildError::new(field(end), format!("{name:?} is neither a host nor an agent"))),
        }
    };
    let ((from, source), (to, destination)) = (find("from", &flow.from)?, find("to", &flow.to)?);
    if from == to {
        return Err(BuildError::new(field("to"), "the flow goes nowhere: it is the host it comes from"));
    }
    if flow.stop_ns.is_some_and(|stop| stop <= flow.start_ns) {
        return Err(BuildError::new(field("stop_ns"), "not after start_ns"));
    }
    match &flow.source {
        SourceSpec::Udp(udp) => check_udp(udp, field)?,
        SourceSpec::Tcp(tcp) => {
            configure(flow, tcp)?;
        }
    }
    let path = routes.path(from, destination.ip.into(), steps);
    let path = path.ok_or_else(|| {
        BuildError::new(field("to"), format!("there is no way from {:?} to {:?}", flow.from, flow.to))
    })?;
    for link in path.iter().rev().skip(1) {
        let between = far_end(spec, *link);
        if nodes.get(between).is_some_and(|node| is_agent(spec, *node)) {
            let problem =
                format!("the way leads through {between:?}, and an agent passes nothing on but streams");
            return Err(BuildError::new(field("to"), problem));
        }
    }
    let sender = (source, flow.source_port);
    let receiver = (destination, flow.destination_port);
    let (addresses, back) = (addresses(sender, receiver), addresses(receiver, sender));
    let bytes = |link: &LinkId| {
        let link = &spec.links[link.index() / 2];
        link.rate_bps.map_or(0.0, |rate| rate as f64 * link.delay_ns as f64 / 8e9)
    };
    let capacity_bytes = path.iter().map(bytes).sum();
    Ok(ResolvedFlow { spec: flow.clone(), from, to, addresses, back, path, capacity_bytes })
}

fn far_end(spec: &NetworkSpec, link: LinkId) -> &str {
    let LinkSpec { a, b, .. } = &spec.links[link.index() / 2];
    if link.0 % 2 == 0 {
        &b.node
    } else {
        &a.node
    }
}

pub(crate) fn is_agent(spec: &NetworkSpec, node: NodeId) -> bool {
    matches!(spec.nodes[node.index()].kind, NodeKind::Agent(_))
}

fn check_member(member: &MemberSpec) -> Result<(), BuildError> {
    let problem = match member.role {
        MemberRole::Sender { messages: Some(messages), bytes, .. } => {
            messages.problem((bytes > 0).then_some(bytes))
        }
        _ => None,
    };
    problem.map_or(Ok(()), |problem| {
        Err(BuildError::new(format!("members.{}.role.messages", member.name), problem))
    })
}

/// The addresses of packets from one end to another, by way of its gateway.
pub(crate) fn addresses(
    (from, source_port): (&HostSpec, u16), (to, destination_port): (&HostSpec, u16),
) -> Addresses {
    Addresses {
        source_mac: from.mac.0,
        destination_mac: from.gateway_mac.0,
        source: from.ip,
        destination: to.ip,
        source_port,
        destination_port,
    }
}

fn check_udp(udp: &UdpSpec, field: impl Fn(&str) -> String) -> Result<(), BuildError> {
    if udp.rate_bps == 0 {
        return Err(BuildError::new(field("rate_bps"), "must be above zero"));
    }
    if !(LEAST_FRAME..=LARGEST_FRAME).contains(&udp.frame_bytes) {
        let problem = format!("{} is not between {LEAST_FRAME} and {LARGEST_FRAME}", udp.frame_bytes);
        return Err(BuildError::new(field("frame_bytes"), problem));
    }
    Ok(())
}

const PACKETS: std::ops::RangeInclusive<u16> = 1..=groupflow_bone::machine::message::MAX_PACKET;

impl Resident<BoneSpec> {
    fn end(&self, flow: FlowId, seed: u64) -> FlowEnd {
        let seed = seed.wrapping_add(u64::from(flow.0));
        let machine = bone_end::bone(&self.spec, self.addresses.source, seed);
        let span = (Nanos(self.spec.start_ns), self.spec.stop_ns.map_or(Nanos::MAX, Nanos));
        let end = MachineEnd::new(self.addresses, span, machine, None);
        FlowEnd::new(flow, PROTOCOL_UDP, self.spec.udp_port, Box::new(end))
    }
}

fn check_bone(bone: &BoneSpec) -> Result<(), BuildError> {
    let refuse = |name: &str, problem: String| {
        Err(BuildError::new(format!("bones.{}.role.{name}", bone.name), problem))
    };
    match &bone.role {
        BoneRole::Hub { config, .. } if !config.group.ip().is_multicast() => {
            refuse("group", format!("{} is no multicast address", config.group.ip()))
        }
        BoneRole::Hub { config, .. } if !PACKETS.contains(&config.packet) => {
            refuse("packet", format!("{} is not between 1 and {}", config.packet, PACKETS.end()))
        }
        BoneRole::Hub { config, .. } if config.interval == Nanos::ZERO => {
            refuse("interval_ns", "must be above zero".into())
        }
        _ => Ok(()),
    }
}
