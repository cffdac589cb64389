//! Events and figures of a sender, for its owner.

use groupflow_base::{BitRate, Nanos};
use thiserror::Error;

use crate::source::SourceError;

/// The reason why a sender stops before the end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SenderError {
    /// No acknowledgement came for this long, not even the answer to a poll.
    #[error("no acknowledgement for {} s", .0.as_millis() / 1000)]
    Silence(Nanos),
    #[error(transparent)]
    Source(#[from] SourceError),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SenderEvent {
    /// The group's acknowledgement has not moved for this long, though it answers polls; the sender goes on.
    Stalled(Nanos),
    /// The group's acknowledgement has not moved for this long, nor is a poll answered; the sender goes on.
    Unanswered(Nanos),
    /// The group has the whole stream, and the sender has stopped.
    Complete,
    Failed(SenderError),
}

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
    pub retransmitted: u64,
    pub nacks: u64,
    /// Acknowledgements of packets that were not sent. They change nothing.
    pub acks_beyond: u64,
    pub polls: u64,
    pub outstanding: u32,
    pub pacing: BitRate,
    /// The smoothed round-trip time.
    pub rtt: Option<Nanos>,
}
