//! Events and figures of a receiver, for its owner.

use thiserror::Error;

use crate::assembly::FormatError;
use crate::ids::{MemberId, Seq};

/// The reason why a receiver stops before the end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReceiverError {
    /// A packet is missing that no cache and no sender has any more.
    #[error("{missing} is no longer available, the first available one is {available}")]
    Gone {
        missing: Seq,
        /// The first packet that is available.
        available: Seq,
    },
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// An event of a stream that arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceiverEvent {
    /// The first packet came.
    Started {
        source: MemberId,
        /// The packet's number.
        seq: Seq,
    },
    /// The whole stream has arrived in order; its last bytes may still have to be taken.
    Complete,
    Failed(ReceiverError),
}

/// Figures for progress reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Bytes delivered in order.
    pub bytes: u64,
    /// Distinct packets received.
    pub packets: u64,
    /// Packets among these that arrived as REPAIR, or as DATA sent again.
    pub repaired: u64,
    /// Packets among these that arrived as DATA sent again.
    pub retransmitted: u64,
    /// Packets that had arrived before.
    pub duplicates: u64,
    pub nacks: u64,
    /// Packets that wait for an earlier one.
    pub queued: u64,
    pub datagrams: u64,
}
