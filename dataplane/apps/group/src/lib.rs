//! The agents of a session on a UDP socket: `gfagent send`, `recv`, `member` and `cache`.
//!
//! One thread runs one loop around one [`groupflow_session::Endpoint`]: receive a batch, let the machine act,
//! send a batch, sleep ([`groupflow_host::shell`]).

pub mod args;
pub mod cache;
pub mod member;
pub mod recv;
pub mod send;
pub mod stdin;
