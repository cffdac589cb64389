//! Studies of clustered trees in virtual time.
//!
//! Nodes and dispatchers are those of [`crate::machine`]. One study places up to ten thousand hosts on a
//! network of routers: no stream is sent, but its edges are laid over the links between routers and counted.
//! The other study sends a stream byte by byte, and one host is slow.

mod drive; // the hosts of a stream tree, and their dispatchers
pub mod large; // the study of many hosts: link stress, stretch, depth; also of chains and multicast
pub mod routers; // transit-stub networks, and their shortest paths
pub mod slow; // the study of one slow host
pub mod stream_tree; // a tree whose hosts have connections of `wires`
pub mod wires; // connections that carry bytes, at the rates of the hosts' links
