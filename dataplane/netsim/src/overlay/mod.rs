//! Clustered trees over networks of routers, up to ten thousand hosts: a study of graphs and of messages, not of packets.
//!
//! The dispatchers are those of [`groupflow_protocol::tree`]; what they and the hosts tell each other takes as long as
//! the shortest way between them. Links have latencies and no rates: the stream itself is not sent, its edges are laid
//! over the links and counted ([`measure`]).
//!
//! | here | is |
//! |---|---|
//! | [`routers`] | transit-stub networks, and shortest ways |
//! | [`world`] | hosts and dispatchers in virtual time |
//! | [`measure`] | link stress, delay stretch, depth; chains, unicast and IP multicast beside them |
//! | [`study`] | what is run, and what comes of it |

pub mod measure;
pub mod routers;
pub mod study;
pub mod world;

pub use study::{run, Outcome, Spec};
