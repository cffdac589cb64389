//! The agents of a session on a UDP socket: `gfagent send`, `recv`, `member` and `cache`.
//!
//! Each command runs one machine of `groupflow_session` in the loop of `groupflow_host::shell`, in one
//! thread: the loop receives a batch, lets the machine act, sends a batch, and sleeps. `groupflow_session`
//! gives the protocol, `groupflow_transport` ids, sources and terms, `groupflow_host` sockets, options and
//! reports, and `groupflow_base` time and quantities. The tests run the binary: `gfagent/tests/loopback`.
//!
//! The machines are those of the session, so all of this crate is agent (feature `agent`).

#[cfg(feature = "agent")]
pub mod args; // the options of the four commands
#[cfg(feature = "agent")]
mod cache; // the command that caches beside a switch
#[cfg(feature = "agent")]
mod member; // the command that joins for a TCP program of the host
#[cfg(feature = "agent")]
mod recv; // the receiving command
#[cfg(feature = "agent")]
mod send; // the sending command, with its input from a pipe
