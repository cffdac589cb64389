//! `gfagent tree-send` and `gfagent tree-recv`: a host of a clustered tree, which takes a stream from its
//! parent and hands it to its children.
//!
//! The host is one thread with one epoll. [`crate::machine::TreeNode`] decides what it does, and the
//! dispatchers (`groupflow tree serve`) decide which hosts are its parent and its children. `groupflow_host`
//! gives sockets, polling, TLS, options and reports.
//!
//! | module | subject |
//! |---|---|
//! | [`args`] | options |
//! | [`run`] | the commands: input, output, and how they end |
//! | [`host`] | the loop |
//! | [`dispatcher_link`] | the connection to the dispatchers: lines of JSON |
//! | [`dial`] | a connection that is being made |
//! | [`probes`] | measurements of the latency to other hosts |
//! | [`router`] | the router that this host is behind |
//! | [`shared`] | the tree's certificate, which all of its hosts have |

pub mod args;
pub mod dial;
pub mod dispatcher_link;
pub mod host;
pub mod probes;
pub mod router;
pub mod run;
pub mod shared;
