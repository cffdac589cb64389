//! The refusals of a stream.

use thiserror::Error;

use super::BranchId;

/// A refusal of a stream, which is left as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FanoutError {
    /// More came from upstream than was asked for.
    #[error("{bytes} bytes came from upstream where {intake} may be taken")]
    Overrun {
        /// The bytes that came.
        bytes: u64,
        /// The bytes that might come.
        intake: u64,
    },
    /// Bytes after the end of the stream.
    #[error("bytes came from upstream after the stream's end at {end}")]
    AfterEnd {
        /// The stream's length.
        end: u64,
    },
    /// A branch is to begin where the cache does not.
    #[error("the cache begins at byte {base}, byte {wanted} is discarded")]
    Discarded {
        /// Where the branch is to begin.
        wanted: u64,
        /// The first byte that is cached.
        base: u64,
    },
    /// A branch is to begin after the bytes that have come.
    #[error("byte {wanted} is wanted and the stream has come to byte {received}")]
    Ahead {
        /// Where the branch is to begin.
        wanted: u64,
        /// The bytes that have come.
        received: u64,
    },
    /// More is said to be sent than there was to send.
    #[error("{bytes} bytes are said to be sent of {sendable}")]
    Oversent {
        /// The bytes that are said to be sent.
        bytes: u64,
        /// The bytes that there were.
        sendable: u64,
    },
    /// A branch acknowledges bytes that it was not sent.
    #[error("byte {offset} is acknowledged and {sent} were sent")]
    NotSent {
        /// The offset that is acknowledged.
        offset: u64,
        /// The bytes that were sent.
        sent: u64,
    },
    /// The branch does not exist, or no longer.
    #[error("no branch {}", .0.0)]
    NoBranch(BranchId),
}
