//! TCP endpoints as values: no clock, no sockets, no randomness.
//!
//! A [`TcpSender`] sends one way to a [`TcpReceiver`], which acknowledges. Both are driven alike:
//!
//! ```text
//! on_segment(now, &segment)     a segment arrived
//! deadline() -> Option<Nanos>   when on_timer wants to be called; it moves at almost every segment
//! on_timer(now)                 does nothing before the deadline, so a stale timer is harmless
//! poll(now) -> Option<Segment>  call until None after each of the above
//! ```
//!
//! Inside, sequence numbers count packets of one fixed size from 0 (the SYN, where there is one) in 64 bits.
//! On the wire they count bytes in 32 bits as TCP's do, and endpoints unwrap them.
//!
//! [`TcpSenderConfig::ns2`] behaves as ns-2 2.35 does with its defaults, with which the older papers
//! measured; [`TcpSenderConfig::new`] follows the RFCs. `docs/results/validation.md` compares the two.

mod classic; // recovery from losses: Tahoe, Reno, NewReno
mod compound; // the window of Compound TCP
mod config; // settings of an endpoint, with the defaults of the RFCs and of ns-2
mod controller; // congestion control
mod cubic; // CUBIC's window
mod departures; // Vegas's times of departure
mod output; // a sender's segments and their bounds
mod receiver; // the receiver
mod reduction; // how the window closes
mod rtt; // round-trip time and timeout
mod sack; // recovery by SACK
mod scoreboard; // what selective acknowledgements say of each packet
mod segment; // a segment, packet and sequence numbers
mod sender; // the sender
mod tuning; // a window that is set while the connection runs, by measurements
mod vegas; // Vegas's window
mod wire; // header bytes

pub use config::{Behaviour, DataSource, RtoConfig, TcpReceiverConfig, TcpSenderConfig, Variant};
pub use receiver::{TcpReceiver, TcpReceiverStats};
pub use segment::{Ecn, Sack, SackBlock, Segment, TcpFlags, Timestamps, MAX_SACK_BLOCKS};
pub use sender::{TcpSender, TcpSenderStats};
pub use tuning::Reading;
pub use wire::{decode, encode};
