//! Clustered trees (`groupflow_tree::machine`): their dispatchers, their hosts, and the stream of the source.

use groupflow_tree::machine::{Policy, Slow};
use serde::Deserialize;

/// A tree. Its dispatchers are measured by its name.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeSpec {
    pub name: String,
    /// The host of the dispatchers, and their TCP port; the tree's hosts take connections at the next port.
    pub dispatchers: String,
    pub port: u16,
    pub policy: Policy,
    /// Bytes that each host caches, and how a host is treated that is too slow for that.
    pub cache_bytes: u64,
    pub slow: Slow,
    /// The most packets in flight on a connection, each way.
    pub window_packets: u32,
    /// Whether a host sends to a child only once the child before has what was sent to it.
    #[serde(default)]
    pub one_by_one: bool,
    pub members: Vec<TreeMemberSpec>,
}

/// A host of the tree: its source, or a receiver.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeMemberSpec {
    /// The name in results.
    pub name: String,
    pub host: String,
    /// How many children the host offers to serve.
    pub children: u16,
    /// When the host begins; before, it receives nothing.
    #[serde(default)]
    pub start_ns: u64,
    /// The stream; exactly one host has one.
    #[serde(default)]
    pub source: Option<TreeSourceSpec>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeSourceSpec {
    pub start_ns: u64,
    pub rate_bps: u64,
    /// Bytes of the stream; `None`: it has no end.
    #[serde(default)]
    pub bytes: Option<u64>,
}
