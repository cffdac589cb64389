//! Sessions: membership, and the part of a member in its session, as state machines.
//!
//! This crate puts the controller's word on top of `groupflow-transport`, which moves a stream between
//! endpoints that are given; it imports that crate and `groupflow-base`, and
//! `groupflow-host` for agents. An [`Endpoint`] is one [`Member`],
//! one machine of the transport, and the [`Part`] that decides how these act on each other: when the
//! controller has said JOINED, the part makes the machine; when the machine is done or fails, the part ends
//! the membership. Joining, keeping alive, leaving, the order of packets and of events exist once, for every
//! part. A membership's events reach the endpoint's owner as they are ([`MemberEvent`]).
//!
//! | part | is | its machine of the transport |
//! |---|---|---|
//! | [`Sending`] | the sender of a stream | [`groupflow_transport::sender::Sender`] |
//! | [`Receiving`] | a receiver of one | [`groupflow_transport::receiver::Receiver`] |
//! | [`Caching`] | the cache agent beside a switch | [`groupflow_transport::cache::Cache`] |
//! | [`Listening`] | a member that takes streams as TCP connections | none |
//!
//! Nothing here reads a clock or a socket; randomness comes from a seed.

#[cfg(feature = "agent")]
pub mod agent; // options, reports and errors of the agents of a session
pub mod caching; // the cache agent beside a switch
pub mod control; // the messages of hosts and of the controller
pub mod endpoint; // a member with its part
pub mod member; // the membership of one host
pub mod receiving; // a receiver of a stream
pub mod sending; // the sender of a stream

pub use caching::Caching;
pub use endpoint::{Endpoint, Listening, Part, Seat};
pub use member::{Member, MemberConfig, MemberError, MemberEvent};
pub use receiving::{ReceiveConfig, ReceiveError, ReceiveEvent, Receiving};
pub use sending::{SendConfig, SendError, SendEvent, Sending};
