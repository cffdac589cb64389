//! A clustered tree of hosts, kept by dispatchers (*A Scalable Middleware Solution for Fast Data Transport*).
//!
//! | here | is |
//! |---|---|
//! | [`Dispatcher`] | the machine that keeps one cluster: who joins, who is below whom, who is moved |
//! | [`Dispatchers`] | those that one process runs, of a whole tree or a part of it |
//! | [`Node`] | the machine of a host: takes a stream from its parent, hands it to its children |
//! | [`policy`] | what the controller decides: thresholds, bounds, who is moved down |
//! | [`cluster`] | the hosts of a cluster as a tree that never has a cycle |
//! | [`message`] | what hosts and dispatchers tell each other |
//! | [`frame`] | what goes over the connections of an edge, and its parser |
//! | [`datagram`] | the body of an edge's datagrams |
//! | [`names`] | who is who |
//!
//! # What the paper leaves open
//!
//! | open | here |
//! |---|---|
//! | how a host finds its cluster | it measures the head of a cluster and of those below it, and goes on to the nearest |
//! | what a host that is near to none does | it founds a cluster below the one it has come to |
//! | which clusters are below which | a new one takes over those beside it that are nearer to it than to their parent |
//! | who is whose parent in a cluster | with room, and the shortest way from the cluster's head over it |
//! | what "data accumulation" is | what waits for a child, and more than for the fastest (`NodeConfig::slow_after`) |
//! | what happens until a slow host is moved | [`node::Slow`] |
//! | how a stream goes on under another parent | at its position: nodes keep what a host below them may still need |
//! | when that is let go of, if the host was of another cluster | when its dispatcher says that all below it have other parents |
//! | how far down a slow host is moved | below one of its siblings or their children; what is below it goes elsewhere |
//!
//! # No cycles
//!
//! A host may be connected to an earlier parent while it is told another. An order is given only if it makes no cycle
//! over all edges that were ordered and all that may still be there; otherwise it waits until others are carried out.
//! Clusters are put below clusters beside them whose hosts have carried out all they were told, or come to their
//! parent's parent: their heads' connections have no cycle, either.
//!
//! # Bounds
//!
//! A dispatcher has at most `Policy::max_members` hosts, `max_joins` that are joining, and twice `max_clusters` below it:
//! `max_clusters` and as many that lost their parent and that no other takes. A node holds its cache, a window of bytes that
//! came out of order, and a frame a connection.

pub mod cluster;
pub mod datagram;
pub mod dispatcher;
pub mod dispatchers;
pub mod frame;
pub mod message;
pub mod names;
pub mod node;
pub mod policy;

pub use cluster::{Cluster, Member, Up};
pub use dispatcher::{Below, Dispatcher};
pub use dispatchers::{Dispatchers, Mail, Told};
pub use frame::{Begin, Frame, Reason};
pub use message::{Between, Founding, FromHost, Join, Output, RefusalCode, ToHost};
pub use names::{ClusterId, HostId, Peer, RouterId, Ticket};
pub use node::{Action, ConnId, Datagram, Node, NodeConfig, Read, Slow};
pub use policy::{Demotion, Policy};
