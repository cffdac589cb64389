//! `gfagent tree-send` and `gfagent tree-recv`: a host of a clustered tree, which takes a stream from its parent and hands it
//! to its children.
//!
//! One thread and one epoll. What is done is decided by [`crate::machine::Node`] and, about who is below whom, by
//! the dispatchers (`groupflow tree serve`).
//!
//! | module | is |
//! |---|---|
//! | [`args`] | options |
//! | [`run`] | the commands: what goes in, what comes out, how it ends |
//! | [`session`] | the same for programs in Rust: what they write goes in, what comes out they read |
//! | [`stop`] | what ends a host early: a signal, or a program that lets go of it |
//! | [`host`] | the loop |
//! | [`control`] | the connection to the dispatchers: lines of JSON |
//! | [`known`] | where dispatchers are |
//! | [`edge`] | a connection to the parent or a child, over TCP |
//! | [`dial`] | a connection over TCP that is being made |
//! | [`quic`] | edges over QUIC: connections, and their socket |
//! | [`probes`] | how far others are |
//! | [`router`] | which router this host is behind |
//! | [`shared`] | the tree's certificate, which all of its hosts have |

pub mod args;
pub mod control;
pub mod dial;
pub mod edge;
pub mod host;
pub mod known;
pub mod probes;
pub mod quic;
pub mod router;
pub mod run;
pub mod session;
pub mod shared;
pub mod stop;
