//! A file that a hub is given to send, and the report on its transfer.

use groupflow_base::Nanos;
use groupflow_transport::source::SeekableBytes;

use super::names::FileName;

pub struct Offer {
    pub name: FileName,
    /// The file's access mode.
    pub mode: u16,
    /// The file's digest, for the rims.
    pub digest: [u8; 32],
    pub source: Box<dyn SeekableBytes>,
}

impl std::fmt::Debug for Offer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Offer").field("name", &self.name).field("size", &self.source.len()).finish()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferOutcome {
    /// Every rim that took part and was not dropped has the file; unscheduled: no rim asked for more.
    Done,
    /// No rim took part, or none is left.
    Nobody,
    /// The file could not be read.
    Unreadable(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferReport {
    pub name: FileName,
    pub outcome: TransferOutcome,
    /// The file's size in bytes.
    pub size: u64,
    /// When the first message was sent.
    pub started: Nanos,
    /// When the end was known.
    pub ended: Nanos,
    /// Payload bytes sent, to all rims or (unicast) to one after the other.
    pub sent: u64,
    /// Packets that carried these bytes.
    pub packets: u64,
    pub rounds: u32,
    /// Reception results that arrived.
    pub answers: u64,
    /// Rims that reported that they are complete.
    pub complete: usize,
    /// Rims that were dropped.
    pub lost: usize,
}
