//! A split agent without sockets and clock. Its shell, which has both, moves the bytes.
//!
//! A shell opens streams in a [`SplitMachine`]. It tells each [`Stream`] what happened at its connections:
//! bytes that came, were written or acknowledged, connections that were made or lost. Then it calls
//! [`Stream::advance`], and carries out the stream's [`Action`]s. The stream says how many bytes may be taken
//! from upstream, and which bytes each branch may get. Bytes that go downstream pass the machine as counts
//! only; those that go back upstream, frames and replies, pass it as bytes.

mod branches; // a stream's branches
pub mod frame; // messages between agents
mod session; // a session's statistics
pub mod sharing; // the rates of links that connections share
mod spec; // a session's settings
mod splitter; // all sessions of an agent, and admission of streams
mod stream; // a stream at one agent
mod tally; // a stream's counters, receipts and lost members
mod upstream; // the reports of a stream to its upstream neighbour

pub use branches::{Branch, BranchState, LinkLoss};
pub use spec::{BranchKind, BranchSpec, LateStart, Replies, SessionSpec};
pub use splitter::{MachineConfig, Refusal, SplitMachine};
pub use stream::{Abort, Action, Source, Stream};
