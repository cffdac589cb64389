//! What a receiver tells its owner.

use groupflow_base::Nanos;
use thiserror::Error;

use crate::assembly::FormatError;
use crate::control::{Joined, Notice, Refusal};
use crate::ids::{MemberId, Seq};

/// Why a receiver gave up.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReceiveError {
    /// The controller does not want it.
    #[error("refused by the controller: {text}")]
    Refused {
        /// Why.
        code: Refusal,
        /// Why, in words.
        text: String,
    },
    /// The controller did not answer JOIN.
    #[error("no answer from the controller")]
    JoinTimeout,
    /// The session was deleted.
    #[error("the session was deleted")]
    SessionDeleted,
    /// The sender is gone and its stream is not complete.
    #[error("the sender {name} is gone before the end of its stream")]
    SenderLost {
        /// The sender.
        name: String,
    },
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
    /// Neither controller nor sender is heard.
    #[error("neither the controller nor the sender was heard for {} s", .0.as_millis() / 1000)]
    Deaf(Nanos),
}

/// What a receiver tells its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceiverEvent {
    /// Taken in (again).
    Joined {
        /// What the controller said.
        joined: Joined,
        /// It was a member before.
        again: bool,
        /// From the first JOIN to the answer.
        took: Nanos,
    },
    /// The first packet came.
    Started {
        /// The stream.
        source: MemberId,
        /// Its number.
        seq: Seq,
    },
    /// Something happened in the session.
    Notice(Notice),
    /// The controller does not answer.
    ControllerSilent(Nanos),
    /// It answers again.
    ControllerBack,
    /// Everything is in order; it may still have to be taken.
    Complete,
    /// It gave up.
    Failed(ReceiveError),
    /// The membership ended; nothing more is sent.
    Left,
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
    /// Packets without room.
    pub no_room: u64,
    /// NACKs sent.
    pub nacks: u64,
    /// Packets that wait for an earlier one.
    pub queued: u64,
    /// Datagrams begun.
    pub datagrams: u64,
}
