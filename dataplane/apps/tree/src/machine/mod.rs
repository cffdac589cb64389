//! A clustered tree of hosts, kept by dispatchers (*A Scalable Middleware Solution for Fast Data Transport*).
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
//! # Bounds
//!
//! A dispatcher has at most `Policy::max_members` hosts, `max_joins` joining hosts, and twice `max_clusters`
//! clusters below it: `max_clusters`, and as many that lost their parent and that no other cluster takes. A
//! node holds its cache, a window of bytes that arrived out of order, and a frame for each connection.

pub mod dispatchers; // the machine that keeps all clusters, and gives each host its parent
pub mod frame; // the frames on the connections of an edge, and their parser
pub mod messages; // the messages of hosts and dispatchers: names, fields, lines
pub mod node; // a host's machine, which passes a stream from its parent to its children
pub mod standing; // a host's standing with the dispatchers

pub use dispatchers::cluster::{Cluster, ClusterHost, ParentOrder, Progress};
pub use dispatchers::dispatcher::Dispatcher;
pub use dispatchers::{Demotion, Dispatchers, HostMessage, Policy};
pub use frame::{Hello, Reason, StartAt, TreeFrame};
pub use messages::{
    ClusterId, FromHost, HostId, Members, Peer, RefusalCode, RouterId, Ticket, ToHost, TreeJoin,
};
pub use node::{ConnId, NodeAction, NodeConfig, ReadItem, Slow, TreeNode};
pub use standing::Standing;
