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

mod acks; // the acknowledgements of a receiver or a cache
pub mod assembly; // packets brought into order, bytes or datagrams
pub mod cache;
pub mod fanout;
pub mod ids; // sessions, members, packet numbers, and the sizes of packets
pub mod nack; // requests for missing packets, on the wire
pub mod receiver;
mod requests; // the time of each request; the round-trip time
pub mod sender;
pub mod source; // the source of a sender: a file, a byte stream or datagrams
pub mod terms; // the node that acknowledges, and the effect of a slow receiver
#[cfg(feature = "testing")]
#[path = "tests/testing.rs"]
pub mod testing;
pub mod wire; // the group header

pub use ids::{MemberId, Seq, SessionId};
