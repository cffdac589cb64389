//! Hubs and rims of round multicast (`groupflow_bone::machine`).

use std::net::Ipv4Addr;

use groupflow_bone::machine::{Method, Repair};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoneSpec {
    /// The name in results.
    pub name: String,
    /// The host that the machine runs on.
    pub host: String,
    pub udp_port: u16,
    /// When the machine begins; before, it receives nothing.
    #[serde(default)]
    pub start_ns: u64,
    /// When a rim leaves.
    #[serde(default)]
    pub stop_ns: Option<u64>,
    pub role: BoneRole,
}

/// The role of a host in a round multicast.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum BoneRole {
    Hub(Box<HubSpec>),
    Rim {
        /// Whether the rim forgets its packets when the hub goes back.
        #[serde(default)]
        forgets: bool,
    },
}

/// A hub; `groupflow_bone::machine::HubConfig` explains each field.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubSpec {
    /// Bytes of the file.
    pub bytes: u64,
    /// The multicast address where rims listen.
    pub group: Ipv4Addr,
    /// The UDP port where rims listen.
    pub group_port: u16,
    #[serde(with = "MethodName")]
    pub method: Method,
    /// The packets to send again.
    #[serde(with = "RepairName")]
    pub repair: Repair,
    /// Bytes of payload, of the first round at least.
    pub packet: u16,
    /// The smallest payload that the hub adapts to, in bytes.
    pub least_packet: u16,
    /// The largest payload that the hub adapts to, in bytes.
    pub most_packet: u16,
    /// Packets of a round.
    pub per_round: u16,
    /// Time between two packets.
    pub interval_ns: u64,
    /// Time (ns) during which the hub gathers participants.
    pub join_wait_ns: u64,
    /// Time (ns) during which the hub gathers reception results.
    pub result_wait_ns: u64,
    /// Time by which a packet may be late.
    pub grace_ns: u64,
    /// With more rims than this, only some of them answer.
    pub crowd: u32,
    /// The time allowed for an answer in such a crowd.
    pub per_answer_ns: u64,
    /// The number of unanswered requests in a row after which a rim is dropped.
    pub patience: u8,
    pub max_rims: u32,
    /// With unicast: the hosts of the rims, at the group's port.
    #[serde(default)]
    pub targets: Vec<Ipv4Addr>,
}

/// The names of [`Method`] in JSON.
#[derive(Deserialize)]
#[serde(remote = "Method", rename_all = "snake_case")]
enum MethodName {
    Scheduled,
    Unscheduled,
    Unicast,
}

/// The names of [`Repair`] in JSON.
#[derive(Deserialize)]
#[serde(remote = "Repair", rename_all = "snake_case")]
enum RepairName {
    GoBackN,
    Selective,
}
