//! One hub sends files to many caches (rims) in rounds, as in *Adaptive Multicasting Cache Bone*.
//!
//! | module | subject |
//! |---|---|
//! | [`machine`] | the state machines of hub and rim, and their messages: no I/O, no clock |
//! | `agent` | `gfagent bone-hub` and `bone-rim`, which run the machines on sockets (feature `agent`) |
//!
//! The machines take readers of frames, time and range sets from `groupflow_base`, and from
//! `groupflow_session` the types of a datagram. The agents also use the sockets, options and reports of
//! `groupflow_host`.

pub mod machine;

#[cfg(feature = "agent")]
pub mod agent;
