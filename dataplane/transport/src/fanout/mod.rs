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

mod branch;
mod error;
mod isolation;
mod stream;

pub use branch::BranchId;
pub use error::FanoutError;
pub use stream::{BranchStart, Fanout};

pub use crate::terms::Mode;
