//! `gfagent bone-hub` and `gfagent bone-rim`: files to many caches in rounds (*Adaptive Multicasting Cache Bone*), and
//! the caches, which serve them to their clients.
//!
//! The rounds are [`crate::machine`]'s. Each command runs that machine in the loop of [`groupflow_host::shell`], and
//! an HTTP server in a thread of its own, with an async runtime: clients are many and slow, datagrams are neither.
//!
//! | module | is |
//! |---|---|
//! | [`args`] | options |
//! | [`hub`], [`rim`] | the commands |
//! | [`sender`], [`receiver`] | machines with their files: what moves datagrams |
//! | [`carrier`] | multicast as the network has it, or through a session's switches |
//! | [`folder`], [`outgoing`] | a hub's folder; a file that it sends |
//! | [`store`], [`index`], [`incoming`] | a rim's files; what it knows of them; one that arrives |
//! | [`shelf`], [`desk`], [`wake`] | what loop and HTTP server share: of a rim; of a hub |
//! | [`http`], [`serve`], [`orders`] | the server; a rim's answers; a hub's |
//! | [`range`], [`body`] | which bytes a client gets; how they come |
//! | [`digest`] | SHA-256, and whether a file was touched |

pub mod args;
pub mod body;
pub mod carrier;
pub mod desk;
pub mod digest;
pub mod folder;
pub mod http;
pub mod hub;
pub mod incoming;
pub mod index;
pub mod orders;
pub mod outgoing;
pub mod range;
pub mod receiver;
pub mod rim;
pub mod sender;
pub mod serve;
pub mod shelf;
pub mod store;
pub mod wake;
mod wishes;
