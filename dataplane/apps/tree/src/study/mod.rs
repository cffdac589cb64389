//! Clustered trees over networks of routers, up to ten thousand hosts: a study of graphs and of messages, not of packets.
//!
//! The dispatchers are those of [`crate::machine`]; what they and the hosts tell each other takes as long as
//! the shortest way between them. Links have latencies and no rates: the stream itself is not sent, its edges are laid
//! over the links and counted ([`measure`]).
//!
//! And one cluster that a stream is sent over, byte by byte, from node to node ([`slow`]).
//!
//! | here | is |
//! |---|---|
//! | [`routers`] | transit-stub networks, and shortest ways |
//! | [`world`] | hosts and dispatchers in virtual time |
//! | [`measure`] | link stress, delay stretch, depth; chains, unicast and IP multicast beside them |
//! | [`large`] | what is run, and what comes of it |
//! | [`wires`] | connections that carry bytes, at the rates of the hosts' links |
//! | [`stream`] | a stream over a tree of hosts, with those connections |
//! | [`group`] | what hosts of one kind have of it |
//! | [`slow`] | what one slow host does to the others |

pub mod group;
pub mod large;
pub mod measure;
pub mod routers;
pub mod slow;
pub mod stream;
pub mod wires;
pub mod world;

pub use large::{run, Outcome, Spec};
