//! The agents of a session on a UDP socket: `gfagent send`, `recv`, `member` and `cache`.
//!
//! Each command runs one machine of `groupflow_session` in the loop of `groupflow_host::shell`, in one
//! thread: the loop receives a batch, lets the machine act, sends a batch, and sleeps. `groupflow_session`
//! gives the protocol, `groupflow_transport` ids, sources and terms, `groupflow_host` sockets, options and
//! reports, and `groupflow_base` time and quantities. The tests run the binary: `gfagent/tests/loopback`.
//!
//! The machines are those of the session, so all of this crate is agent (feature `agent`).
//!
//! | module | subject |
//! |---|---|
//! | `args` | the options of the four commands |
//! | `send` | the sending command, with its input from a pipe |
//! | `recv` | the receiving command |
//! | `member` | the command that joins for a TCP program of the host |
//! | `cache` | the command that caches beside a switch |

#[cfg(feature = "agent")]
pub mod args;
#[cfg(feature = "agent")]
mod cache;
#[cfg(feature = "agent")]
mod member;
#[cfg(feature = "agent")]
mod recv;
#[cfg(feature = "agent")]
mod send;
