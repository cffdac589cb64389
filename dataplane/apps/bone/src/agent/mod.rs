//! `gfagent bone-hub` and `gfagent bone-rim`: a hub sends files to many caches in rounds (*Adaptive
//! Multicasting Cache Bone*), and the caches serve the files to their clients.
//!
//! The rounds are the work of [`crate::machine`]. Each command runs a machine in the loop of
//! [`groupflow_host::shell`], and an HTTP server in a thread of its own, with an async runtime: HTTP clients
//! are many and slow, datagrams are neither. [`groupflow_session`] carries the messages through a session's
//! switches, if the user wants that.
//!
//! | module | subject |
//! |---|---|
//! | [`args`] | options |
//! | [`hub`], [`rim`] | the commands |
//! | [`hub_driver`], [`rim_driver`] | the machines joined with their files |
//! | [`carrier`] | plain multicast, or multicast through a session's switches |
//! | [`folder`] | a hub's folder, and the files that it sends |
//! | [`store`] | a rim's files and their index on disk |
//! | [`shelf`] | the state shared by loop and HTTP server, of rim and hub; the wake-up |
//! | [`http`], [`serve`] | the server; a rim's answers |
//! | [`orders`], [`note`] | orders on stdin: the bound that holds; events of the drivers |
//! | [`digest`], [`incoming`] | SHA-256, and the stamp that shows whether a file was changed; a file that is arriving |

pub mod args;
mod carrier;
mod digest;
mod folder;
mod http;
mod hub;
mod hub_driver;
mod incoming;
mod note;
mod orders;
mod rim;
mod rim_driver;
mod serve;
mod shelf;
mod store;
