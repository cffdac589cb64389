//! The group transport's state machines.
//!
//! Nothing here reads a clock or a socket. A machine is a value: it is given datagrams and the
//! time ([`Nanos`] since an origin of the owner's choice), and gives packets to send, the time it
//! wants to be called again, and events. Randomness comes from a seed, so two runs are equal.
//!
//! | machine | is |
//! |---|---|
//! | [`sender::Sender`] | who sends a stream into a session: window, pacing, repair |
//! | [`receiver::Receiver`] | who receives one: order, NACKs, acknowledgements |
//! | [`cache::CacheAgent`] | the agent beside a switch: caches, repairs, acknowledges |
//! | [`listener::Listener`] | who takes a session's streams as TCP connections |
//! | [`pipe::Outlet`], [`pipe::Inlet`] | a byte stream between two hosts over sender and receiver, without a session |
//! | [`member::Member`] | the membership that each of them contains |
//! | [`split::Stream`] | a TCP connection that is split at agents, as offsets |
//! | [`gather::Outgoing`], [`gather::Incoming`] | a stream over several TCP connections: who sends it, who gathers it |
//! | [`bone::Hub`], [`bone::Rim`] | a file to many caches in rounds: who sends it, who receives it |
//! | [`tree::Dispatcher`] | who keeps a clustered tree of hosts |
//! | [`tree::Node`] | a host in it, which takes a stream and passes it on |

pub mod acks;
pub mod assembly;
pub mod bone;
pub mod cache;
pub mod cache_report;
pub mod control;
mod flight;
pub mod gather;
pub mod ids;
mod incoming;
pub mod intervals;
pub mod listener;
pub mod member;
pub mod nack;
pub mod outbox;
pub mod pipe;
mod polls;
pub mod rate;
pub mod receive_report;
pub mod receiver;
pub mod repair;
mod repeats;
mod reply;
pub mod requesters;
pub mod requests;
pub mod rtt;
pub mod send_report;
pub mod sender;
pub mod source;
pub mod split;
pub mod store;
mod stream_cache;
mod stream_table;
pub mod transmit;
pub mod tree;
mod watch;
pub mod wire;

pub use ids::{BitRate, MemberId, Nanos, Seq, SessionId};
pub use transmit::{Datagram, Dest, Transmit};
