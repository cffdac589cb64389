//! The errors of a stream's calls.

use thiserror::Error;

use super::BranchId;

/// The reason why a call was refused; it changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FanoutError {
    /// More bytes came from upstream than might be taken.
    #[error("{bytes} bytes came from upstream where {intake} may be taken")]
    Overrun {
        bytes: u64,
        /// The bytes that might be taken.
        intake: u64,
    },
    /// Bytes came after the end of the stream.
    #[error("bytes came from upstream after the stream's end at {end}")]
    AfterEnd {
        /// The stream's length.
        end: u64,
    },
    /// A branch is to begin at a byte that is no longer cached.
    #[error("the cache begins at byte {base}, byte {wanted} is discarded")]
    Discarded {
        /// The byte at which the branch is to begin.
        wanted: u64,
        /// The first byte that is cached.
        base: u64,
    },
    /// A branch is to begin after the bytes that have come.
    #[error("byte {wanted} is wanted and the stream has come to byte {received}")]
    Ahead {
        /// The byte at which the branch is to begin.
        wanted: u64,
        /// The bytes that have come.
        received: u64,
    },
    /// More bytes are reported as sent than there were to send.
    #[error("{bytes} bytes are said to be sent of {sendable}")]
    Oversent {
        /// The bytes reported as sent.
        bytes: u64,
        /// The bytes that there were to send.
        sendable: u64,
    },
    /// A branch acknowledges bytes that it was not sent.
    #[error("byte {offset} is acknowledged and {sent} were sent")]
    NotSent { offset: u64, sent: u64 },
    /// The branch does not exist, or no longer exists.
    #[error("no branch {}", .0.0)]
    NoBranch(BranchId),
}
