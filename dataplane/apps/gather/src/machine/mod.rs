//! One client's stream over several TCP connections to a server that gathers: state machines without I/O.
//!
//! A *stream* is a client's bytes, counted from 0. It goes over *stripes*, one TCP connection each, whose
//! number changes while it runs. [`Outgoing`] says which bytes go to which stripe, and again to another when
//! a stripe dies; [`Incoming`] puts them together in order. Both hold a bounded number of bytes: the server
//! gives a *limit* beyond which nothing is sent, `limit - delivered` being the room that it has.
//!
//! *Delivered* bytes are where they go (a file, a pipe), so that a server that is started again goes on
//! behind them; only then the client lets go of them.
//!
//! | module | is |
//! |---|---|
//! | [`names`] | who a client is: name, stream |
//! | [`frame`], [`decoder`] | what goes over a stripe, and its parser |
//! | [`outgoing`] | the sending side |
//! | [`incoming`] | the receiving side |
//! | [`roster`] | who may send, and from where |
//! | [`coding`], `coder`, [`repairs`] | erasure coding: groups and their parity; at the sending side; at the receiving one |

pub(crate) mod coder;
pub mod coding;
pub mod decoder;
pub mod frame;
pub mod incoming;
pub mod names;
pub mod outgoing;
pub mod repairs;
pub mod roster;

pub use coding::{Code, Group};
pub use decoder::{Decoder, Item};
pub use frame::{Frame, RefusalCode, Side};
pub use incoming::Incoming;
pub use names::{ClientName, Epoch, StreamId};
pub use outgoing::{Outgoing, OutgoingError, Send, StripeId};
pub use repairs::Parity;
pub use roster::{Admitted, Refused, Roster};
