//! One hub sends files to many caches (rims) in rounds, as in *Adaptive Multicasting Cache Bone*.
//!
//! The machines take readers of frames, time, datagrams and sets of ranges from `groupflow_base`; the agents
//! also use `groupflow_transport`, `groupflow_session` and `groupflow_host`.

pub mod machine; // the state machines of hub and rim, and their messages: no I/O, no clock

#[cfg(feature = "agent")]
pub mod agent; // `gfagent bone-hub` and `bone-rim`, which run the machines on sockets (feature `agent`)
