//! The values that a node is given when it begins.

use groupflow_base::Nanos;

use super::super::names::HostId;

/// The treatment of a child, or of the host's own reader, that is so slow that bytes it needs are about to
/// leave the cache. Until then the others do not notice it, in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slow {
    /// All wait for the slow one: nothing is lost, and the slowest sets the pace once the caches are full.
    /// One that takes nothing at all is waited for as long as `NodeConfig::stall` says.
    Wait,
    /// The slow one is sent bytes from the cache for as long as the cache has those that it needs, and is
    /// then cut off: a child looks for a parent that still has them, a reader is told.
    Isolate,
    /// The slow one goes on later in the stream, at a multiple of `align`; it is told which bytes it skips.
    Skip {
        /// Bytes; a skip never cuts a record of this size.
        align: u64,
    },
}

impl Slow {
    /// The size of a record, which a skip never cuts.
    pub(super) fn align(self) -> u64 {
        match self {
            Slow::Skip { align } => align.max(1),
            Slow::Wait | Slow::Isolate => 1,
        }
    }

    /// The start of the last record that begins at the offset or before.
    pub(super) fn last_record(self, offset: u64) -> u64 {
        offset - offset % self.align()
    }

    /// The start of the first record that begins at the offset or after.
    pub(super) fn next_record(self, offset: u64) -> u64 {
        offset.div_ceil(self.align()).saturating_mul(self.align())
    }
}

/// A node's part of the policy, and its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeConfig {
    /// The host's name in the tree.
    pub host: HostId,
    /// The treatment of a slow child or reader.
    pub slow: Slow,
    /// Bytes that the cache holds.
    pub capacity: u64,
    /// Bytes of the cache that all children have, and that are kept for hosts whose parent died.
    pub history: u64,
    /// Bytes that may be on the way from the parent.
    pub window: u64,
    /// A child for which this many bytes wait, and more than half of them longer than for the fastest child,
    /// is reported.
    pub slow_after: u64,
    /// A child is also reported if it still lacks, after this time, bytes that existed when the time began,
    /// and lags by more than half of it behind the fastest: at a low rate `slow_after` bytes take long to
    /// gather. The report is repeated after the same time. A child that connected within this time, or lacks
    /// less than it did then, is not reported.
    pub late_after: Nanos,
    /// The number of connections to the parent.
    pub sockets: u16,
    /// The most connections of one child.
    pub max_sockets: u16,
    /// The most children.
    pub max_children: usize,
    /// A peer from which nothing came for this long and two round trips is gone; signs of life are sent three
    /// times as often.
    pub silence: Nanos,
    /// The time between two signs of life to the dispatcher: if a child could not reach a host, that host
    /// gets no other child before its next sign.
    pub alive: Nanos,
    /// How long a parent that does not know its child yet is asked again.
    pub patience: Nanos,
    /// How long bytes that a departed child did not say to have are kept for the hosts below it, unless the
    /// dispatcher says earlier that these have another parent.
    pub keep: Nanos,
    /// With [`Slow::Wait`] a reader that takes nothing for this long while bytes wait for it is cut off; a
    /// child (also with [`Slow::Isolate`]) after twice as long, so that a host whose reader is stuck cuts
    /// that off before its parent cuts off the host.
    pub stall: Nanos,
}

impl NodeConfig {
    /// The values for a host, with defaults for a stream of some 100 Mbit/s.
    pub fn new(host: HostId) -> NodeConfig {
        NodeConfig {
            host,
            slow: Slow::Wait,
            capacity: 8 << 20,
            history: 4 << 20,
            window: 1 << 20,
            slow_after: 1 << 20,
            late_after: Nanos::from_millis(1000),
            sockets: 1,
            max_sockets: 16,
            max_children: 16,
            silence: Nanos::from_millis(600),
            alive: Nanos::from_millis(200),
            patience: Nanos::from_millis(2000),
            keep: Nanos::from_millis(10_000),
            stall: Nanos::from_millis(15_000),
        }
    }
}
