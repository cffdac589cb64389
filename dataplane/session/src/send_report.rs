//! What a sender tells its owner.

use groupflow_base::{BitRate, Nanos};
use thiserror::Error;

use crate::control::{Joined, Notice, Refusal};
use crate::source::SourceError;

/// Why a sender gave up.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SendError {
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
    /// After a restart the controller gave the stream another member id.
    #[error("the controller gave this sender another member id")]
    Renamed,
    /// Nobody is left to send to.
    #[error("no receivers are left{}", names(.lost))]
    NoReceivers {
        /// Those that were lost.
        lost: Vec<String>,
    },
    /// No acknowledgement, and a known cause.
    #[error("no acknowledgement for {} s: {who} does not answer", .quiet.as_millis() / 1000)]
    NoAcknowledgement {
        /// For how long.
        quiet: Nanos,
        /// Who is to blame.
        who: String,
    },
    /// The stream cannot go on.
    #[error(transparent)]
    Source(#[from] SourceError),
}

fn names(lost: &[String]) -> String {
    match lost {
        [] => String::new(),
        lost => format!(", lost: {}", lost.join(", ")),
    }
}

/// How a stream ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// From the first packet to the last acknowledgement.
    pub took: Nanos,
    /// Members that were lost on the way.
    pub lost: Vec<String>,
    /// Receivers in the session at the end.
    pub receivers: u16,
}

/// What a sender tells its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SenderEvent {
    /// Taken in (again).
    Joined {
        /// What the controller said.
        joined: Joined,
        /// It was a member before.
        again: bool,
        /// From the first JOIN to the answer.
        took: Nanos,
    },
    /// There are enough receivers, the stream begins.
    Started {
        /// How many.
        receivers: u16,
    },
    /// Something happened in the session.
    Notice(Notice),
    /// No acknowledgement for this long; still trying.
    Stalled(Nanos),
    /// The controller does not answer.
    ControllerSilent(Nanos),
    /// It answers again.
    ControllerBack,
    /// Everyone has everything.
    Complete(Summary),
    /// It gave up.
    Failed(SendError),
    /// The membership ended; nothing more is sent.
    Left,
}

/// Figures for progress reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Payload bytes acknowledged by the whole group.
    pub acked_bytes: u64,
    /// Payload bytes sent, repetitions counted.
    pub sent_bytes: u64,
    /// Bytes of frames sent, repetitions counted.
    pub sent_wire: u64,
    /// Distinct packets sent.
    pub packets: u64,
    /// Packets sent again.
    pub retransmitted: u64,
    /// NACKs that came this far.
    pub nacks: u64,
    /// NACK ranges without room.
    pub nacks_dropped: u64,
    /// Polls sent.
    pub polls: u64,
    /// Packets sent and not acknowledged.
    pub outstanding: u32,
    /// The pacing rate.
    pub pacing: BitRate,
    /// The smoothed round-trip time.
    pub rtt: Option<Nanos>,
}
