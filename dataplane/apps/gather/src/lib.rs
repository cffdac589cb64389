//! One server gathers the streams of many clients, each over several TCP connections.
//!
//! The crate `groupflow_base` gives the machines readers and writers of frames, sets of ranges, reassembly
//! and tokens; the agents also use the sockets, TLS and options of `groupflow_host`.

pub mod machine; // the state machines of a stream's two ends, and their frames: no I/O, no clock

#[cfg(feature = "agent")]
pub mod agent; // `gfagent gather-serve` and `gather-send`: the machines on sockets (feature `agent`)
