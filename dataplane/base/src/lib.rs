//! The floor of the workspace: what has no subject of its own. Every other crate may import it; it imports none of them.

pub mod machine;
pub mod ranges;
mod rate;
mod time;

pub use machine::{Datagram, Dest, Machine, Transmit};
pub use rate::BitRate;
pub use time::Nanos;
