//! Files to many caches in rounds: the machines of hub and rim, and the agents that run them on sockets.

pub mod machine;

#[cfg(feature = "agent")]
pub mod agent;
