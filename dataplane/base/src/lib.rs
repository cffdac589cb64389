//! The floor of the workspace: subjects that other crates share. Every other crate may import it; it imports
//! none of them.

pub mod codec; // readers and writers of fields, the envelope of frames
mod crowd; // `gives_way`: fairness among silent connections
mod digest; // `Digest`, a SHA-256
pub mod events; // events to come, in a total order
pub mod feedback; // frames of diffusion-type flow control
pub mod lines; // lines cut from bytes that come in pieces
pub mod machine; // a protocol endpoint as a value, without clock or socket; its datagrams
pub mod min_tree; // the first of a fixed set of times
pub mod quantity; // quantities as people write them
pub mod ranges; // a set of numbers, as disjoint ranges
pub mod reassembly; // bytes of a stream put in order, held until earlier ones arrive
pub mod stream; // `StreamId`; bytes of a stream that follow each other
mod time; // `Nanos` and `BitRate`
mod token; // `Token`, a secret that two sides share
pub mod wire; // messages by declaration: fields, structs and kinds

pub use codec::CodecError;
pub use crowd::gives_way;
pub use digest::Digest;
pub use machine::{Datagram, Dest, Machine, SeekableBytes, Transmit};
#[doc(hidden)]
pub use serde; // for `wire_enum!`
pub use stream::StreamId;
pub use time::{BitRate, Nanos};
pub use token::Token;
