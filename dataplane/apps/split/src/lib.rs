//! A split agent, which ends TCP connections and goes on with others.
//!
//! A sender's connection to a session's address becomes a stream. The stream's bytes are cached once and
//! handed to every branch: to the next agents, which learn from a preamble which stream follows and answer in
//! [`machine::frame`]s, and to the members' ordinary TCP listeners.
//!
//! `groupflow_transport` decides in its `fanout` which bytes may be taken, kept and discarded;
//! `groupflow_base` gives time and readers of frames; the agent also uses the sockets, polling and reports of
//! `groupflow_host`. `gfagent/tests/split` runs the binary; netsim runs the machine.

pub mod machine; // sessions, streams and branches, and the messages between agents: no I/O, no clock

#[cfg(feature = "agent")]
mod agent; // `gfagent split`, which runs the machine on sockets (feature `agent`)
#[cfg(feature = "agent")]
pub use agent::args::SplitArgs;
