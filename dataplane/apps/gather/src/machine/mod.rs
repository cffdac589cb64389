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
//! The crate `groupflow_base` gives readers and writers of frames, sets of ranges, reassembly and tokens.
//!
//! [`Reassembly`]: groupflow_base::reassembly::Reassembly
//!
//! | module | subject |
//! |---|---|
//! | [`frame`] | the frames on a stripe, the names in them, and their parser |
//! | [`outgoing`] | the sending side |
//! | [`roster`] | the clients that may send, and their stripes |

pub mod frame;
mod outgoing;
mod roster;

pub use frame::{ClientName, Epoch, GatherFrame, Item, RefusalCode, Side, StripeDecoder};
pub use outgoing::{Outgoing, Send, StripeId};
pub use roster::{token_hash, Admitted, Refused, Roster};
