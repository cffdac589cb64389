//! `gfagent bone-hub` and `gfagent bone-rim`: a hub sends files to many caches in rounds (*Adaptive
//! Multicasting Cache Bone*), and the caches serve the files to their clients.
//!
//! The rounds are the work of [`crate::machine`]. Each command runs a machine in the loop of
//! [`groupflow_host::shell`], and an HTTP server in a thread of its own, with an async runtime: HTTP clients
//! are many and slow, datagrams are neither. [`groupflow_session`] carries the messages through a session's
//! switches, if the user wants that.

pub mod args; // options
mod carrier; // plain multicast, or multicast through a session's switches
mod folder; // a hub's folder, and the files that it sends
mod http; // the HTTP server
mod hub; // `gfagent bone-hub`
mod hub_driver; // a hub's machine, joined with its files
mod incoming; // a file that is arriving
mod note; // events of the drivers
mod orders; // orders on stdin: new bounds
mod rim; // `gfagent bone-rim`
mod rim_driver; // a rim's machine, joined with its files
mod serve; // a rim's HTTP answers
mod shelf; // state shared by loop and HTTP server, of rim and hub; the loop's wake-up
mod store; // a rim's files and their index on disk
