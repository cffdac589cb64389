//! What a node is told when it begins.

use groupflow_base::Nanos;
use groupflow_transport::fanout::Mode;

use super::super::names::HostId;

/// What becomes of a child, or of the host's own reader, that is so slow that what it needs is about to leave
/// the cache. Until then the others do not notice it, in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slow {
    /// All wait for it: nothing is lost, and the slowest sets the pace once the caches are full. Who takes
    /// nothing at all is waited for as long as `NodeConfig::stall` says.
    Wait,
    /// It is sent from the cache for as long as that has what it needs, and then cut off: a child looks for a
    /// parent that still has it, a reader is told.
    Isolate,
    /// It goes on later in the stream, at a multiple of `align`: what is between is skipped, and said to be.
    Skip {
        /// Bytes; a skip never cuts a record of this size.
        align: u64,
    },
}

/// A node's part of the policy, and its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeConfig {
    /// Who it is.
    pub host: HostId,
    /// N2N: those above may forget what the host has in its cache, but for the history; E2E: what all below
    /// it have, so that the stream goes on without a gap whoever dies.
    pub mode: Mode,
    /// What becomes of who is slow.
    pub slow: Slow,
    /// Bytes that the cache holds.
    pub capacity: u64,
    /// Of them, bytes that all children have and that are kept for those that come from a parent that died.
    pub history: u64,
    /// Bytes that may be on the way from the parent.
    pub window: u64,
    /// A child for which so many bytes wait, and more than half of them longer than for the fastest, is
    /// reported.
    pub slow_after: u64,
    /// So is one that does not have after so long what there was then, and lags by more than half of it
    /// behind the fastest: a stream of a low rate takes long to fill `slow_after`. It is reported again after
    /// as long. None is reported that has come less than so long ago, or lacks less than so long ago.
    pub late_after: Nanos,
    /// Connections to the parent.
    pub sockets: u16,
    /// Connections of a child.
    pub max_sockets: u16,
    /// Children.
    pub max_children: usize,
    /// Who says nothing for so long and two round trips is gone; a third of it is between two signs of life.
    pub silence: Nanos,
    /// Between two signs of life to the dispatcher: a host that a child could not reach gets no other before
    /// the next one.
    pub alive: Nanos,
    /// A parent that does not know its child yet is asked again for so long.
    pub patience: Nanos,
    /// What a child that is gone did not say to have is kept for those below it for so long, if the
    /// dispatcher does not say before that they have another parent.
    pub keep: Nanos,
    /// A reader that takes nothing for so long ([`Slow::Wait`]), while something waits, is cut off; a child
    /// ([`Slow::Isolate`], too) after twice as long, so that the host itself which is at fault is first.
    pub stall: Nanos,
    /// Whether the host itself reads the stream, or only passes it on.
    pub reads: bool,
    /// The parent's DATA are to come in datagrams where the connection carries them, and what is missing is
    /// waited for so long ([`Slow::Skip`], and one connection only); `None`: as a stream.
    pub datagrams: Option<Nanos>,
}

impl NodeConfig {
    /// Of a host, with defaults for a stream of some 100 Mbit/s.
    pub fn new(host: HostId) -> NodeConfig {
        NodeConfig {
            host,
            mode: Mode::EndToEnd,
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
            reads: true,
            datagrams: None,
        }
    }
}
