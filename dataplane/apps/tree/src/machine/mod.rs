//! A clustered tree of hosts, kept by dispatchers (*A Scalable Middleware Solution for Fast Data Transport*).
//!
//! | module | subject |
//! |---|---|
//! | [`dispatcher`] | [`Dispatcher`], the machine that keeps one cluster: its hosts and their parents |
//! | [`dispatchers`] | [`Dispatchers`], all of a tree |
//! | [`node`] | [`TreeNode`], the machine of a host, which passes a stream from its parent to its children |
//! | [`policy`] | the controller's decisions: thresholds, bounds, which host is moved down |
//! | [`cluster`] | the hosts of a cluster as a tree that never has a cycle |
//! | [`message`] | the messages between hosts and dispatchers |
//! | [`dialogue`] | the lines in which a host and the dispatchers' service carry these messages |
//! | [`frame`] | the frames on the connections of an edge, and their parser |
//! | [`names`] | names of hosts, clusters and routers, and tickets |
//!
//! # What the paper leaves open
//!
//! | open in the paper | chosen here |
//! |---|---|
//! | a host's search for its cluster | it measures a head and those below, then goes to the nearest |
//! | a host that is near to no head | it founds a cluster below the one that it has come to |
//! | which cluster is below which | a new one takes over those to which it is nearer than their parent |
//! | the parent of a host in a cluster | has room, and gives the shortest path from the cluster's head |
//! | "data accumulation" | more bytes wait for a child than for the fastest one (`NodeConfig::slow_after`) |
//! | the time until a slow host is moved | [`node::Slow`] |
//! | a stream's continuation under another parent | at its position: nodes keep the bytes needed below |
//! | when bytes kept for another cluster are freed | when its dispatcher says so |
//! | the new place of a slow host | below a sibling or its child; its own children go elsewhere |
//!
//! # No cycles
//!
//! A host may still be connected to an earlier parent when it is told another one. An order is given only if
//! it makes no cycle over all ordered edges and all edges that may still exist; otherwise it waits until
//! other orders are carried out. A cluster is put below a cluster beside it only if that one's hosts have
//! carried out all their orders, or else comes to its parent's parent: so the heads' connections have no
//! cycle, either.
//!
//! # Bounds
//!
//! A dispatcher has at most `Policy::max_members` hosts, `max_joins` joining hosts, and twice `max_clusters`
//! clusters below it: `max_clusters`, and as many that lost their parent and that no other cluster takes. A
//! node holds its cache, a window of bytes that arrived out of order, and a frame for each connection.

pub mod cluster;
pub mod dialogue;
pub mod dispatcher;
pub mod dispatchers;
pub mod frame;
pub mod message;
pub mod names;
pub mod node;
pub mod policy;

pub use cluster::{Cluster, ClusterHost, ParentOrder, Progress};
pub use dispatcher::{Below, Dispatcher, Members};
pub use dispatchers::{Dispatchers, HostMessage};
pub use frame::{Hello, Reason, StartAt, TreeFrame};
pub use message::{FromHost, RefusalCode, ToHost, TreeJoin};
pub use names::{ClusterId, HostId, Peer, RouterId, Ticket};
pub use node::{ConnId, Conns, NodeAction, NodeConfig, ReadItem, Slow, TreeNode};
pub use policy::{Demotion, Policy};
