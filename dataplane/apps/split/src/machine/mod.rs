//! A split agent without sockets and clock. Its shell, which has both, moves the bytes.
//!
//! A shell opens streams in a [`SplitMachine`]. It tells each [`Stream`] what happened at its connections:
//! bytes that came, were written or acknowledged, connections that were made or lost. Then it calls
//! [`Stream::advance`], and carries out the stream's [`Action`]s. The stream says how many bytes may be taken
//! from upstream, and which bytes each branch may get. Bytes that go downstream pass the machine as counts
//! only; those that go back upstream, frames and replies, pass it as bytes.
//!
//! | module | subject |
//! |---|---|
//! | [`splitter`] | the agent: sessions, and which streams it admits |
//! | [`spec`], [`session`] | a session's settings; its statistics |
//! | [`stream`], [`branches`], [`upstream`] | a stream; its branches; what it tells upstream |
//! | [`tally`] | a stream's counters, receipts and lost members |
//! | [`sharing`] | the rates of links that connections share |
//! | [`frame`] | messages between agents |

mod branches;
pub mod frame;
mod session;
pub mod sharing;
mod spec;
mod splitter;
mod stream;
mod tally;
mod upstream;

pub use branches::{Branch, BranchState, LinkLoss};
pub use spec::{BranchKind, BranchSpec, LateStart, Replies, SessionSpec};
pub use splitter::{MachineConfig, Refusal, SplitMachine};
pub use stream::{Abort, Action, Source, Stream};
