//! A small model of the switch's pipeline: replication, the minimum of the branches' acknowledgements,
//! redirection of NACKs, and acknowledgement upstream by pipeline or agent.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddrV4};

use groupflow_base::Dest;
use groupflow_transport::wire::{Flags, GroupPacket, Header, Kind};
use groupflow_transport::{MemberId, Seq, SessionId};

/// A port of a switch.
pub type PortId = usize;

/// A frame on a link.
#[derive(Debug, Clone)]
pub struct LinkFrame {
    /// The address of the sender.
    pub from: SocketAddrV4,
    /// The address of the receiver.
    pub to: Dest,
    /// The group packet.
    pub bytes: Vec<u8>,
}

/// The entry that the controller wrote for one stream.
#[derive(Debug, Default)]
pub struct StreamEntry {
    /// The port towards the sender.
    pub upstream: PortId,
    /// The highest acknowledgement of each branch.
    pub branches: BTreeMap<PortId, u32>,
    /// Branches that get nothing but unicast repairs: the cache decouples them.
    pub decoupled: BTreeSet<PortId>,
    /// The port of the cache agent.
    pub agent: Option<PortId>,
    /// The agent acknowledges upstream, not the pipeline.
    pub agent_acknowledges: bool,
    /// The highest acknowledgement that went upstream.
    pub forwarded: u32,
    /// The last poll that was answered.
    pub poll: u8,
    /// DATA packets from the sender.
    pub data_seen: u64,
}

/// A switch.
#[derive(Debug, Default)]
pub struct SwitchModel {
    /// The port of each host.
    pub routes: BTreeMap<Ipv4Addr, PortId>,
    /// The entry of each stream, by session and sender.
    pub streams: BTreeMap<(SessionId, MemberId), StreamEntry>,
}

/// An action of a switch on a frame.
#[derive(Debug)]
pub enum SwitchAction {
    /// The frame leaves by this port.
    Send(PortId, LinkFrame),
    /// The frame, which came by this port, goes to the controller.
    Punt(PortId, LinkFrame),
}

impl SwitchModel {
    /// The actions on a frame that comes by `port`.
    pub fn receive(&mut self, port: PortId, frame: LinkFrame) -> Vec<SwitchAction> {
        let Ok(packet) = GroupPacket::parse(&frame.bytes) else { return Vec::new() };
        let header = packet.header;
        if let Dest::Host(address) = frame.to {
            // As in p4src/stages/forwarding.p4: nothing else goes from host to host.
            let passes = matches!(header.kind, Kind::Repair | Kind::Sync);
            let route = self.routes.get(address.ip()).filter(|_| passes);
            return route.map(|&port| SwitchAction::Send(port, frame)).into_iter().collect();
        }
        if matches!(header.kind, Kind::Join | Kind::Leave | Kind::Keepalive | Kind::Query | Kind::Report) {
            return vec![SwitchAction::Punt(port, frame)];
        }
        let Some(stream) = self.streams.get_mut(&(header.session, header.source)) else { return Vec::new() };
        match header.kind {
            Kind::Data | Kind::Sync | Kind::Repair => stream.replicate(port, &frame, header.kind),
            Kind::Ack => stream.aggregate(port, &frame, header),
            Kind::Nack => stream.redirect(port, frame),
            _ => Vec::new(),
        }
    }
}

impl StreamEntry {
    fn replicate(&mut self, port: PortId, frame: &LinkFrame, kind: Kind) -> Vec<SwitchAction> {
        let from_above = port == self.upstream;
        let from_agent = Some(port) == self.agent && kind == Kind::Repair;
        if !from_above && !from_agent {
            return Vec::new();
        }
        self.data_seen += u64::from(kind == Kind::Data);
        let agent = self.agent.filter(|_| from_above);
        self.branches
            .keys()
            .copied()
            .chain(agent)
            .map(|port| SwitchAction::Send(port, frame.clone()))
            .collect()
    }

    fn aggregate(&mut self, port: PortId, frame: &LinkFrame, header: Header) -> Vec<SwitchAction> {
        if Some(port) == self.agent {
            let up = self.agent_acknowledges;
            return up.then(|| SwitchAction::Send(self.upstream, frame.clone())).into_iter().collect();
        }
        let Some(register) = self.branches.get_mut(&port) else { return Vec::new() };
        *register = (*register).max(header.seq.0);
        let minimum = self.branches.values().copied().min().unwrap_or(0);
        let forced = header.flags.has(Flags::FORCED) && header.poll != self.poll;
        if minimum <= self.forwarded && !forced {
            return Vec::new();
        }
        self.forwarded = self.forwarded.max(minimum);
        if header.flags.has(Flags::FORCED) {
            self.poll = header.poll;
        }
        let aggregated = Header { seq: Seq(minimum), member: MemberId::NONE, ..header };
        let frame = LinkFrame { bytes: aggregated.encode(&[]), ..frame.clone() };
        let upstream = (!self.agent_acknowledges).then_some(self.upstream);
        self.agent.into_iter().chain(upstream).map(|port| SwitchAction::Send(port, frame.clone())).collect()
    }

    fn redirect(&mut self, port: PortId, frame: LinkFrame) -> Vec<SwitchAction> {
        let to = match self.agent {
            Some(agent) if agent != port => agent,
            _ => self.upstream,
        };
        vec![SwitchAction::Send(to, frame)]
    }
}
