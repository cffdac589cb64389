//! State machines, without I/O, for one client's stream over several TCP connections to a server that
//! gathers.
//!
//! A *stream* is a client's bytes, counted from 0. It goes over *stripes*, one TCP connection each, whose
//! number may change while the stream runs. [`Outgoing`] decides which bytes go to which stripe, and sends
//! them again over another when a stripe is lost; [`Reassembly`] puts them back in order. Both hold a bounded
//! number of bytes: the server gives a *limit* beyond which nothing is sent, and `limit - delivered` is the
//! room that it has.
//!
//! *Delivered* bytes are at their destination (a file or a pipe), so that a restarted server goes on behind
//! them; the client drops bytes only once they are delivered.
//!
//! [`Reassembly`]: groupflow_base::reassembly::Reassembly

mod admission; // whether the client of a HELLO may send
pub mod frame; // the frames on a stripe, the names in them, and their parser
mod outgoing; // the sending side

pub use admission::{admit, token_hash, Refused};
pub use frame::{ClientName, Epoch, GatherFrame, Item, RefusalCode, Side, StripeDecoder};
pub use outgoing::{Outgoing, Send, StripeId};
