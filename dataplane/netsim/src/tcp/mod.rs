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
//!
//! | module | subject |
//! |---|---|
//! | `config` | settings of an endpoint, with the defaults of the RFCs and of ns-2 |
//! | `sender`, `output`, `rtt` | the sender; the segments that it sends; round-trip time and timeout |
//! | `receiver`, `advertised` | the receiver; a window that is set while the connection runs |
//! | `allowance` | bounds beyond the congestion window |
//! | `controller`, `reduction` | congestion control; how the window closes |
//! | `classic`, `sack`, `scoreboard`, `departures` | recovery from losses: by variant; its state; Vegas's |
//! | `cubic`, `compound`, `vegas` | windows of CUBIC, Compound TCP and Vegas |
//! | `segment`, `sequence`, `wire` | a segment; packet and sequence numbers; header bytes |
//! | `stats`, `trips` | reports of endpoints; a receiver's measurements |

mod advertised;
mod allowance;
mod classic;
mod compound;
mod config;
mod controller;
mod cubic;
mod departures;
mod output;
mod receiver;
mod reduction;
mod rtt;
mod sack;
mod scoreboard;
mod segment;
mod sender;
mod sequence;
mod stats;
mod trips;
mod vegas;
mod wire;

pub use config::{Behaviour, DataSource, DelayedAck, RtoConfig, TcpReceiverConfig, TcpSenderConfig, Variant};
pub use receiver::TcpReceiver;
pub use segment::{Ecn, Sack, SackBlock, Segment, TcpFlags, Timestamps, MAX_SACK_BLOCKS};
pub use sender::TcpSender;
pub use stats::{TcpReceiverStats, TcpSenderStats};
pub use trips::Reading;
pub use wire::{decode, encode, MAX_HEADER};
