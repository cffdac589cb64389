//! The floor of the workspace: what has no subject of its own. Every other crate may import it; it imports
//! none of them.

pub mod codec;
pub mod events;
pub mod machine;
pub mod min_tree;
pub mod quantity;
pub mod ranges;
mod rate;
pub mod reassembly;
pub mod store;
mod time;
mod token;

pub use codec::CodecError;
pub use machine::{Datagram, Dest, Machine, Transmit};
pub use rate::BitRate;
pub use time::Nanos;
pub use token::Token;
