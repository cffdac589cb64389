//! Hubs and rims of round multicast (`groupflow_bone::machine`).

use groupflow_bone::machine::HubConfig;
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
    Hub {
        /// Bytes of the file.
        bytes: u64,
        config: Box<HubConfig>,
    },
    Rim {
        /// Whether the rim forgets its packets when the hub goes back.
        #[serde(default)]
        forgets: bool,
    },
}
