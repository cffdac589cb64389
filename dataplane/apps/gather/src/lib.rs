//! One server gathers the streams of many clients: the machines, and the agents that run them on sockets.

pub mod machine;

#[cfg(feature = "agent")]
pub mod agent;
