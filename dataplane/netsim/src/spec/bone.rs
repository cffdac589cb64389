//! Hubs and rims of round multicast (`groupflow_bone::machine`).

use std::net::Ipv4Addr;

use groupflow_bone::machine::{Method, Repair};
use serde::{Deserialize, Serialize};

/// A hub or a rim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoneSpec {
    /// Its name.
    pub name: String,
    /// The host it runs on.
    pub host: String,
    /// Its UDP port.
    pub udp_port: u16,
    /// When it begins; before, it hears nothing.
    #[serde(default)]
    pub start_ns: u64,
    /// When a rim leaves.
    #[serde(default)]
    pub stop_ns: Option<u64>,
    /// What it does.
    pub role: BoneRole,
}

/// What it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum BoneRole {
    /// Sends a file.
    Hub(Box<HubSpec>),
    /// Receives it.
    Rim {
        /// Whether it forgets what it had when the hub goes back.
        #[serde(default)]
        forgets: bool,
    },
}

/// A hub; `groupflow_bone::machine::HubConfig` says what each of these is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubSpec {
    /// Bytes of the file.
    pub bytes: u64,
    /// Where rims listen.
    pub group: Ipv4Addr,
    /// And at which port.
    pub group_port: u16,
    /// How it sends.
    pub method: MethodSpec,
    /// What it sends again.
    pub repair: RepairSpec,
    /// Bytes of payload, of the first round at least.
    pub packet: u16,
    /// The smallest that the size becomes.
    pub least_packet: u16,
    /// The largest.
    pub most_packet: u16,
    /// Packets of a round.
    pub per_round: u16,
    /// Between two packets.
    pub interval_ns: u64,
    /// How long it gathers who takes part.
    pub join_wait_ns: u64,
    /// How long it gathers reception results.
    pub result_wait_ns: u64,
    /// How much later a packet may come.
    pub grace_ns: u64,
    /// With more rims than this, not all answer.
    pub crowd: u32,
    /// The time that an answer is given then.
    pub per_answer_ns: u64,
    /// How often in a row the hub asks a rim that does not answer.
    pub patience: u8,
    /// The most rims.
    pub max_rims: u32,
    /// Of unicast: the hosts of the rims, at the group's port.
    #[serde(default)]
    pub targets: Vec<Ipv4Addr>,
}

/// See [`Method`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MethodSpec {
    /// Adaptive.
    Scheduled,
    /// Of a fixed size.
    Unscheduled,
    /// To one after the other.
    Unicast,
}

/// See [`Repair`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepairSpec {
    /// From the earliest on.
    GoBackN,
    /// What is lacking.
    Selective,
    /// Other packets of a block.
    Erasure,
}

impl From<MethodSpec> for Method {
    fn from(spec: MethodSpec) -> Method {
        match spec {
            MethodSpec::Scheduled => Method::Scheduled,
            MethodSpec::Unscheduled => Method::Unscheduled,
            MethodSpec::Unicast => Method::Unicast,
        }
    }
}

impl From<RepairSpec> for Repair {
    fn from(spec: RepairSpec) -> Repair {
        match spec {
            RepairSpec::GoBackN => Repair::GoBackN,
            RepairSpec::Selective => Repair::Selective,
            RepairSpec::Erasure => Repair::Erasure,
        }
    }
}
