//! A clustered tree of hosts that passes a stream from one source to many hosts.
//!
//! The machines take time, readers of frames, reassembly and tokens from `groupflow_base`, and a stream's
//! branches from `groupflow_transport`; the agents also use the sockets, TLS and options of `groupflow_host`.

pub mod machine; // the state machines of dispatcher and node, and their messages: no I/O, no clock
pub mod study; // studies of large trees in virtual time

#[cfg(feature = "agent")]
pub mod agent; // `gfagent tree-send` and `tree-recv`, which run a node on sockets (feature `agent`)
