//! A branch: how far it was sent, how far it has acknowledged.

use super::FanoutError;

/// A branch's number in its stream; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchId(pub u32);

/// The progress of the end of the stream (the FIN).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FinState {
    Open,
    Sent,
    Acknowledged,
}

/// Offsets of one branch: `acked <= sent`.
#[derive(Debug, Clone)]
pub(super) struct Branch {
    pub(super) id: BranchId,
    pub(super) sent: u64,
    pub(super) acked: u64,
    pub(super) end: FinState,
    /// The stream does not wait for the branch (see [`super::isolation`]).
    pub(super) isolated: bool,
}

impl Branch {
    pub(super) fn new(id: BranchId, at: u64) -> Branch {
        Branch { id, sent: at, acked: at, end: FinState::Open, isolated: false }
    }

    /// Takes an acknowledgement; an old one changes nothing.
    pub(super) fn acknowledge(&mut self, offset: u64) -> Result<(), FanoutError> {
        if offset > self.sent {
            return Err(FanoutError::NotSent { offset, sent: self.sent });
        }
        self.acked = self.acked.max(offset);
        Ok(())
    }
}
