//! A network and its traffic as plain data, with every name resolved and every unit the base unit.
//!
//! Scenario files are read in Python (`groupflow.sim`), which hands them over in this form.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use groupflow_switch::core::FlowControl;
use groupflow_transport::fanout::Mode;
use serde::Deserialize;

use crate::loss::LossSpec;

mod traffic;
mod tree;

pub use traffic::{
    Arrivals, BacklogSpec, BoneRole, BoneSpec, FlowSpec, MessagesSpec, Sizes, SourceSpec, TcpSpec, UdpSpec,
};
pub use tree::{TreeMemberSpec, TreeSourceSpec, TreeSpec};

/// A network, its traffic and its measurements.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSpec {
    /// The seed of everything random.
    pub seed: u64,
    /// When the run ends.
    pub duration_ns: u64,
    /// The time between two measurements.
    pub sample_ns: u64,
    pub nodes: Vec<NodeSpec>,
    pub links: Vec<LinkSpec>,
    #[serde(default)]
    pub flows: Vec<FlowSpec>,
    /// The streams that agents pass on.
    #[serde(default)]
    pub relays: Vec<RelaySpec>,
    /// Members of group sessions, and cache agents. They are measured as flows, after the flows.
    #[serde(default)]
    pub members: Vec<MemberSpec>,
    /// Hubs and rims of round multicast. They are measured as flows, after the members.
    #[serde(default)]
    pub bones: Vec<BoneSpec>,
    /// Clustered trees. Their dispatchers and hosts are measured as flows, after the bones.
    #[serde(default)]
    pub trees: Vec<TreeSpec>,
}

impl NetworkSpec {
    /// The names of all that is measured as flows, in order.
    pub fn flow_names(&self) -> impl Iterator<Item = &String> {
        let members = self.members.iter().map(|member| &member.name);
        let bones = self.bones.iter().map(|bone| &bone.name);
        let trees = self.trees.iter().flat_map(|tree| {
            std::iter::once(&tree.name).chain(tree.members.iter().map(|member| &member.name))
        });
        self.flows.iter().map(|flow| &flow.name).chain(members).chain(bones).chain(trees)
    }
}

/// A stream at a split agent: the data of one TCP connection goes on by others.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelaySpec {
    /// The flow that ends at the agent; or at a host, which may have flows of its own, too.
    pub upstream: String,
    /// The flows that begin there and carry the same bytes.
    pub branches: Vec<String>,
    /// When the agent acknowledges (Emina et al., ICN 2011, section III).
    pub mode: Mode,
    /// Node-to-node: the most bytes that the agent caches and acknowledges. `None` has no bound.
    #[serde(default)]
    pub cache_bytes: Option<u64>,
}

/// A member of a group session, or a cache agent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberSpec {
    /// The name in results.
    pub name: String,
    /// The host that the member runs on.
    pub host: String,
    pub udp_port: u16,
    /// The session; 0 for a cache agent.
    pub session: u32,
    /// The session's, or the agents', token.
    pub token: String,
    #[serde(default)]
    pub start_ns: u64,
    /// The number by which feedback packets name a sender's stream, if it is shaped to the rate they tell.
    #[serde(default)]
    pub shaped_as: Option<u16>,
    pub role: MemberRole,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum MemberRole {
    Sender {
        /// The length of the stream; 0 with messages, which have no end.
        #[serde(default)]
        bytes: u64,
        /// The number of joined receivers with which the stream begins.
        receivers: u16,
        /// The highest rate; 0 is no bound.
        #[serde(default)]
        rate_bps: u64,
        /// The writes of an application from time to time, instead of `bytes` at once.
        #[serde(default)]
        messages: Option<MessagesSpec>,
    },
    Receiver,
    Cache {
        /// The bound of all streams' bytes.
        max_bytes: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct NodeSpec {
    /// The name in results.
    pub name: String,
    #[serde(flatten)]
    pub kind: NodeKind,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NodeKind {
    /// A host, where flows begin and end. It has one link, at port 0.
    Host(HostSpec),
    /// A router without P4: a queue a port, first in, first out, tail drop.
    Fifo(FifoSpec),
    /// A satellite, or its ground station: repeats multicast at all other ports.
    Broadcast(BroadcastSpec),
    /// A switch that runs a P4 program.
    Switch(SwitchSpec),
    /// A split agent: TCP connections end at it, none pass.
    Agent(AgentSpec),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct HostSpec {
    /// The host's address.
    pub ip: Ipv4Addr,
    pub mac: Mac,
    /// The MAC of the neighbour that the host addresses frames to.
    pub gateway_mac: Mac,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct AgentSpec {
    /// The agent's addresses.
    #[serde(flatten)]
    pub host: HostSpec,
    /// Packets, in and out, that the agent handles a second; `None` is no limit.
    #[serde(default)]
    pub packets_per_second: Option<u64>,
}

/// The reaction of a router without P4 before a queue is full.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct FifoSpec {
    /// Packets that wait when the next one is marked, if its sender understands marks (ECN).
    #[serde(default)]
    pub ecn: Option<u32>,
}

/// Bit errors of a satellite or a ground station.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct BroadcastSpec {
    /// Bytes from one error to the next, on average, of frames that leave for the neighbour of this name.
    #[serde(default)]
    pub error_bytes: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct SwitchSpec {
    /// The number of the switch's program among those that come with the network.
    pub program: usize,
    /// The port to the controller.
    pub cpu_port: u16,
    pub drop_port: u16,
    /// The number of queues of each port.
    pub queues: u8,
    /// How queues share a port and its buffer.
    #[serde(default)]
    pub flow_control: FlowControl,
}

/// A MAC address, written `02:00:00:00:00:01`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Mac(pub [u8; 6]);

impl TryFrom<String> for Mac {
    type Error = String;

    fn try_from(text: String) -> Result<Mac, String> {
        let mut mac = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut mac {
            let part = parts.next().filter(|part| part.len() == 2);
            *byte = part
                .and_then(|part| u8::from_str_radix(part, 16).ok())
                .ok_or_else(|| format!("{text:?} is not a MAC address such as 02:00:00:00:00:01"))?;
        }
        match parts.next() {
            Some(_) => Err(format!("{text:?} is longer than a MAC address")),
            None => Ok(Mac(mac)),
        }
    }
}

impl From<Mac> for String {
    fn from(mac: Mac) -> String {
        mac.0.map(|byte| format!("{byte:02x}")).join(":")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndSpec {
    pub node: String,
    pub port: u16,
}

/// A link; both directions are the same.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    pub a: EndSpec,
    pub b: EndSpec,
    /// The bit rate; `None` is unlimited. Frame bytes count: no preamble, FCS and gap.
    pub rate_bps: Option<u64>,
    pub delay_ns: u64,
    /// The most packets that wait at each end, not counting the one being sent.
    pub queue_packets: u32,
    /// The most bytes that wait at each end.
    #[serde(default)]
    pub queue_bytes: Option<u64>,
    #[serde(default)]
    pub loss: LossSpec,
    /// When the link is down: from, until; in order, apart from each other.
    #[serde(default)]
    pub down_ns: Vec<(u64, u64)>,
}
