//! Events and figures of a receiver, for its owner.

use thiserror::Error;

use crate::assembly::FormatError;
use crate::ids::{MemberId, Seq};

/// The reason why a receiver stops before the end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReceiverError {
    /// A packet is needed that nobody has any more.
    #[error("{missing} is no longer available, the first available one is {available}")]
    Gone {
        /// The packet.
        missing: Seq,
        /// The first one that is.
        available: Seq,
    },
    /// The stream makes no sense.
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// An event of a stream on its way in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceiverEvent {
    /// The first packet came.
    Started {
        /// The stream.
        source: MemberId,
        /// Its number.
        seq: Seq,
    },
    /// Everything is in order; it may still have to be taken.
    Complete,
    /// The receiver has stopped.
    Failed(ReceiverError),
}

/// Figures for progress reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Bytes delivered in order.
    pub bytes: u64,
    /// Distinct packets received.
    pub packets: u64,
    /// Of these: arrived as REPAIR, or as DATA sent again.
    pub repaired: u64,
    /// Of these: DATA sent again.
    pub retransmitted: u64,
    /// Packets that were here before.
    pub duplicates: u64,
    /// NACKs sent.
    pub nacks: u64,
    /// Packets that wait for an earlier one.
    pub queued: u64,
    /// Datagrams begun.
    pub datagrams: u64,
}
