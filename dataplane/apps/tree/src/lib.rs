//! A clustered tree of hosts: the machines of dispatcher and node, the agent that runs a node on sockets, and studies of
//! large trees in virtual time.

pub mod machine;
pub mod study;

#[cfg(feature = "agent")]
pub mod agent;
