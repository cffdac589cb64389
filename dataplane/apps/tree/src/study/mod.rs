//! Studies of clustered trees in virtual time.
//!
//! One study places up to ten thousand hosts on a network of routers ([`large`]). It is about graphs and
//! messages, not packets: the dispatchers are those of [`crate::machine`], and a message takes as long as the
//! shortest path. Links have latencies and no rates; the stream is not sent, but its edges are laid over the
//! links and counted ([`measure`]).
//!
//! The other study sends a stream byte by byte over a tree of nodes, one of which is slow ([`slow`]).
//!
//! | module | subject |
//! |---|---|
//! | [`routers`] | transit-stub networks, and their shortest paths |
//! | [`overlay`] | hosts and dispatchers in virtual time, without a stream |
//! | [`measure`] | link stress, delay stretch and depth; also of chains, unicast and IP multicast |
//! | [`large`] | the study of many hosts |
//! | [`wires`] | connections that carry bytes, at the rates of the hosts' links |
//! | [`stream_tree`] | a stream over a tree of hosts, with these connections |
//! | [`group`] | the share of the stream that the hosts of one kind have |
//! | [`slow`] | the study of one slow host |

pub mod group;
pub mod large;
pub mod measure;
pub mod overlay;
pub mod routers;
pub mod slow;
pub mod stream_tree;
pub mod wires;

pub use large::{run, LargeStudyOutcome, LargeStudySpec};
