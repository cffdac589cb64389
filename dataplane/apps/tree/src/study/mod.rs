//! Studies of clustered trees in virtual time.
//!
//! Nodes and dispatchers are those of [`crate::machine`]. One study places up to ten thousand hosts on a
//! network of routers ([`large`]): no stream is sent, but its edges are laid over the links between routers
//! and counted ([`measure`]). The other study sends a stream byte by byte, and one host is slow ([`slow`]).
//!
//! | module | subject |
//! |---|---|
//! | [`routers`] | transit-stub networks, and their shortest paths |
//! | [`wires`] | connections that carry bytes, at the rates of the hosts' links |
//! | [`stream_tree`], `drive` | the hosts of a tree with these connections, and their dispatchers |
//! | [`large`] | the study of many hosts |
//! | [`measure`] | link stress, delay stretch and depth; also of chains, unicast and IP multicast |
//! | [`slow`] | the study of one slow host |
//! | [`group`] | the share of the stream that the hosts of one kind have |

mod drive;
pub mod group;
pub mod large;
pub mod measure;
pub mod routers;
pub mod slow;
pub mod stream_tree;
pub mod wires;

pub use large::{run, LargeStudyOutcome, LargeStudySpec};
