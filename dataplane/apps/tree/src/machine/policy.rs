//! What the controller decides about a tree; the machines only carry it out.

use groupflow_base::Nanos;
use serde::{Deserialize, Serialize};

/// Which of a host's direct children is moved down when what waits for one of them grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Demotion {
    /// Nobody.
    Never,
    /// The one with the largest total latency, whichever is slow (the paper, section 3.1.2).
    LargestLatency,
    /// The one that the backlog is of.
    Slowest,
}

/// The rules of a tree, the same for all of its dispatchers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// One way: hosts that do not share a router are in one cluster only if they are nearer than this.
    pub threshold: Nanos,
    /// Hosts in a cluster.
    pub max_members: usize,
    /// Clusters directly below a cluster beyond which no other is founded there. Those whose parent is empty or cannot serve
    /// them are kept up to twice as many; then they go to the parent, and at the root their hosts begin again.
    pub max_clusters: usize,
    /// Hosts that are measured at once by one that joins.
    pub probes: usize,
    /// Children of a host, whatever it offers.
    pub max_children: u16,
    /// Hosts that are joining one cluster.
    pub max_joins: usize,
    /// A host that says nothing for so long has failed; a join that is not gone on with is over.
    pub patience: Nanos,
    /// Who is moved down.
    pub demotion: Demotion,
    /// After a demotion below a host, none below it for so long; who was moved takes no children as long.
    pub settling: Nanos,
    /// Who was reported as slow takes no children for so long.
    pub slow_for: Nanos,
    /// Whether a new cluster takes over those beside it that are nearer to it than to their parent.
    pub takes_over: bool,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            threshold: Nanos::from_millis(5),
            max_members: 64,
            max_clusters: 16,
            probes: 16,
            max_children: 8,
            max_joins: 256,
            patience: Nanos::from_millis(3000),
            demotion: Demotion::Slowest,
            settling: Nanos::from_millis(2000),
            slow_for: Nanos::from_millis(30_000),
            takes_over: true,
        }
    }
}
