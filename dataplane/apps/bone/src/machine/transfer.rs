//! A file that a hub is given to send, and what came of it.

use groupflow_base::Nanos;
use groupflow_transport::source::SeekableBytes;

use super::names::FileName;

/// A file to send.
pub struct Offer {
    /// Its name.
    pub name: FileName,
    /// Its access mode.
    pub mode: u16,
    /// Its digest, for the rims.
    pub digest: [u8; 32],
    /// Its bytes.
    pub source: Box<dyn SeekableBytes>,
}

impl std::fmt::Debug for Offer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Offer").field("name", &self.name).field("size", &self.source.len()).finish()
    }
}

/// How a transfer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Everyone has the file who took part and was not lost; unscheduled: nobody asked any more.
    Done,
    /// Nobody took part, or nobody is left.
    Nobody,
    /// The file could not be read.
    Unreadable(String),
}

/// What a transfer was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The file.
    pub name: FileName,
    /// How it ended.
    pub outcome: Outcome,
    /// Bytes of the file.
    pub size: u64,
    /// From the first signal on.
    pub started: Nanos,
    /// Until the end was known.
    pub ended: Nanos,
    /// Bytes of payload sent, to everyone or (unicast) to all one after the other.
    pub sent: u64,
    /// Packets that carried them.
    pub packets: u64,
    /// Rounds.
    pub rounds: u32,
    /// Reception results that came.
    pub answers: u64,
    /// Rims that said that they have everything.
    pub complete: usize,
    /// Rims that were given up.
    pub lost: usize,
}
