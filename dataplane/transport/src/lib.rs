//! Reliable transport of a stream to a group, between endpoints that are given.
//!
//! Nothing here reads a clock or a socket, or depends on how an endpoint was made: sessions, members and the
//! controller are in `groupflow-session`, one floor up. A machine
//! ([`groupflow_base::Machine`]) is a value: it is given datagrams and the time, and gives packets to send,
//! the time at which it wants to be called again, and events. Randomness comes from a seed, so two runs are
//! equal. This crate imports `groupflow-base` alone.
//!
//! | machine | is |
//! |---|---|
//! | [`sender::Sender`] | the sender of a stream: window, pacing, repair |
//! | [`receiver::Receiver`] | a receiver of it: order, NACKs, acknowledgements |
//! | [`cache::Cache`] | the cache beside a switch: keeps, repairs, acknowledges |
//! | [`fanout::Fanout`] | one stream for several branches, as offsets: of a split connection, or of a tree |
//!
//! | module | is |
//! |---|---|
//! | [`ids`] | sessions, members, packet numbers, and the sizes of packets |
//! | [`wire`] | the group header |
//! | [`terms`] | which node acknowledges, and the effect of a slow receiver |
//! | [`source`] | the source of a sender: a file, a byte stream or datagrams |
//! | [`assembly`] | packets brought into order, bytes or datagrams |
//! | [`nack`], `requests` | which packets are missing, and when they are asked for; the round-trip time |
//! | `acks` | when a receiver or a cache acknowledges |

mod acks;
pub mod assembly;
pub mod cache;
pub mod fanout;
pub mod ids;
pub mod nack;
pub mod receiver;
mod requests;
pub mod sender;
pub mod source;
pub mod terms;
#[cfg(feature = "testing")]
#[path = "tests/testing.rs"]
pub mod testing;
pub mod wire;

pub use ids::{MemberId, Seq, SessionId};
