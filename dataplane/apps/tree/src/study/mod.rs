//! The study of large clustered trees in virtual time.
//!
//! Nodes and dispatchers are those of [`crate::machine`]. Up to ten thousand hosts are placed on a network of
//! routers: no stream is sent, but its edges are laid over the links between routers and counted. A stream
//! over links with rates is netsim's.

mod drive; // the hosts of a stream tree, and their dispatchers
pub mod large; // the study of many hosts: link stress, stretch, depth; also of chains and multicast
pub mod routers; // transit-stub networks, and their shortest paths
pub mod stream_tree; // a tree whose hosts have connections of `wires`
pub mod wires; // connections that carry bytes after the latency of a path
