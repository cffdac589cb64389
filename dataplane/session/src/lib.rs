//! Sessions: membership, and what a member does in its session, as state machines.
//!
//! This crate puts the controller's word on top of `groupflow-transport`, which moves a stream between endpoints that are
//! given. An [`Endpoint`] is one [`Member`] and one [`Part`]: the membership joins, keeps alive, reports, leaves and tells its
//! events once, for every part; the part builds its machine of the transport when the controller has said JOINED, and takes
//! it down when the membership ends. A membership's events reach the endpoint's owner as they are ([`MemberEvent`]).
//!
//! | part | is | its machine of the transport |
//! |---|---|---|
//! | [`Sending`] | the sender of a stream | [`groupflow_transport::sender::Sender`] |
//! | [`Receiving`] | a receiver of one | [`groupflow_transport::receiver::Receiver`] |
//! | [`Caching`] | the cache agent beside a switch | [`groupflow_transport::cache::Cache`] |
//! | [`Listening`] | a member that takes streams as TCP connections | none |
//!
//! | module | is |
//! |---|---|
//! | [`control`], `reply` | the messages of hosts and of the controller |
//! | [`outbox`] | requests that are repeated until answered |
//! | [`member`] | the membership of one host |
//! | [`endpoint`] | a member with its part |
//! | [`sending`], [`receiving`], [`caching`], [`listening`] | the parts |
//! | `health` | who was lost, and who is to blame when nothing is acknowledged |
//!
//! Nothing here reads a clock or a socket; randomness comes from a seed.

pub mod caching;
pub mod control;
pub mod endpoint;
mod health;
pub mod listening;
pub mod member;
pub mod outbox;
pub mod receiving;
mod reply;
pub mod sending;

pub use caching::Caching;
pub use endpoint::{Endpoint, Part, Seat};
pub use listening::Listening;
pub use member::{Member, MemberConfig, MemberError, MemberEvent};
pub use receiving::{ReceiveConfig, ReceiveError, ReceiveEvent, Receiving};
pub use sending::{SendConfig, SendError, SendEvent, Sending};
