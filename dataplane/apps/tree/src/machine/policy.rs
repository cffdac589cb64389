//! The controller's rules for a tree, which the machines carry out.

use groupflow_base::Nanos;
use serde::{Deserialize, Serialize};

/// The direct child of a host that is moved down when the backlog for one of them grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Demotion {
    /// No child is moved.
    Never,
    /// The child with the largest total latency, whichever is slow (the paper, section 3.1.2).
    LargestLatency,
    /// The child for which the backlog grows.
    Slowest,
}

/// The rules of a tree, the same for all of its dispatchers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Latency, one way: hosts that do not share a router are in one cluster only if they are nearer than
    /// this.
    pub threshold: Nanos,
    /// The most hosts in a cluster.
    pub max_members: usize,
    /// The most clusters directly below a cluster that may be founded. Clusters whose parent is empty or
    /// cannot serve them are kept up to twice as many; further ones go to the parent, and at the root their
    /// hosts begin again.
    pub max_clusters: usize,
    /// How many hosts a joining host measures at once.
    pub probes: usize,
    /// The most children of a host, whatever it offers.
    pub max_children: u16,
    /// The most hosts that may be joining one cluster.
    pub max_joins: usize,
    /// Time after which a silent host counts as failed, and an idle join as ended.
    pub patience: Nanos,
    /// The child that is moved down.
    pub demotion: Demotion,
    /// How long a silent host is waited for, with the bytes that it needs; from `patience` on, its children
    /// have other parents. Zero: it is not waited for.
    pub absence: Nanos,
    /// Time after a demotion below a host during which no other follows; the moved host takes no children
    /// meanwhile.
    pub settling: Nanos,
    /// Time for which a host that was reported as slow takes no children.
    pub slow_for: Nanos,
    /// Whether a new cluster takes over clusters beside it that are nearer to it than to their parent.
    pub takes_over: bool,
    /// The longest delay of a host from the source, one way, as the sum of its edges' latencies; `None`: any.
    pub delay_bound: Option<Nanos>,
    /// Each host measures the latencies to its parent and to other hosts once in this time; zero: never.
    pub review: Nanos,
    /// A host is moved to a parent that was found to be nearer if its delay falls by at least as much.
    pub margin: Nanos,
}

impl Policy {
    /// How long a host is waited for that is on its way to another cluster.
    pub(super) fn way(&self) -> Nanos {
        self.patience.max(self.absence)
    }
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
            absence: Nanos::ZERO,
            settling: Nanos::from_millis(2000),
            slow_for: Nanos::from_millis(30_000),
            takes_over: true,
            delay_bound: None,
            review: Nanos::from_millis(30_000),
            margin: Nanos::from_millis(2),
        }
    }
}
