//! One stream handed to several branches, as offsets only: a split TCP connection at an agent, or the stream
//! of a clustered tree at a host.
//!
//! A *stream* is one TCP connection of a sender into a session, seen whole: its bytes are counted
//! from 0. An agent takes them from *upstream* (the sender, or the agent before it), caches them
//! and hands each to every *branch* (the next agents, and members). [`Fanout`] says how many
//! bytes may be taken, which bytes each branch is still to get, and which must be kept and may be
//! acknowledged; it never sees a byte. The bytes, the sockets and the clock are its shell's: kernel TCP in
//! `gfagent split`, TCP in virtual time in netsim.
//!
//! The two ways of control are those of Emina et al., ICN 2011, section III: node-to-node (N2N)
//! takes as many bytes as the cache holds, end-to-end (E2E) acknowledges only those that every branch has
//! acknowledged. The differences here:
//!
//! | | N2N | E2E, exact | E2E over kernel TCP |
//! |---|---|---|---|
//! | [`Fanout::intake`] | the cache's room | the cache's room | an allowance ([`Fanout::with_allowance`]) |
//! | [`Fanout::acknowledged`] | all bytes taken | the least branch's | (the kernel acknowledges) |
//!
//! In both, no byte is discarded before every branch that is not isolated ([`Fanout::isolate`]) has
//! acknowledged it.

use thiserror::Error;

mod isolation;
mod stream;

pub use stream::{BranchStart, Fanout};

pub use crate::terms::Mode;

/// A branch's number in its stream; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchId(pub u32);

/// The progress of the end of the stream (the FIN).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FinState {
    Open,
    Sent,
    Acknowledged,
}

/// Offsets of one branch: `acked <= sent`.
#[derive(Debug, Clone)]
struct Branch {
    id: BranchId,
    sent: u64,
    acked: u64,
    end: FinState,
    /// The stream does not wait for the branch (see [`isolation`]).
    isolated: bool,
}

impl Branch {
    fn new(id: BranchId, at: u64) -> Branch {
        Branch { id, sent: at, acked: at, end: FinState::Open, isolated: false }
    }

    /// Takes an acknowledgement; an old one changes nothing.
    fn acknowledge(&mut self, offset: u64) -> Result<(), FanoutError> {
        if offset > self.sent {
            return Err(FanoutError::NotSent { offset, sent: self.sent });
        }
        self.acked = self.acked.max(offset);
        Ok(())
    }
}

/// The reason why a call was refused; it changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FanoutError {
    #[error("{bytes} bytes came from upstream where {intake} may be taken")]
    Overrun { bytes: u64, intake: u64 },
    #[error("bytes came from upstream after the stream's end at {end}")]
    AfterEnd { end: u64 },
    #[error("the cache begins at byte {base}, byte {wanted} is discarded")]
    Discarded { wanted: u64, base: u64 },
    #[error("byte {wanted} is wanted and the stream has come to byte {received}")]
    Ahead { wanted: u64, received: u64 },
    #[error("{bytes} bytes are said to be sent of {sendable}")]
    Oversent { bytes: u64, sendable: u64 },
    #[error("byte {offset} is acknowledged and {sent} were sent")]
    NotSent { offset: u64, sent: u64 },
    #[error("no branch {}", .0.0)]
    NoBranch(BranchId),
}
