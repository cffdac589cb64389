//! The floor of the workspace: subjects that other crates share. Every other crate may import it; it imports
//! none of them.
//!
//! | module | subject |
//! |---|---|
//! | [`machine`] | a protocol endpoint as a value, without clock or socket; its datagrams; bytes of a file |
//! | `time`, [`quantity`] | [`Nanos`] and [`BitRate`]; quantities as people write them |
//! | [`codec`] | readers and writers of fields, the envelope of frames |
//! | [`wire`], [`wire_enum!`] | messages by declaration: fields, structs and kinds; enums of one byte |
//! | [`feedback`] | frames of diffusion-type flow control, as hosts read them |
//! | `token`, `digest` | [`Token`], a secret that two sides share; [`Digest`], a SHA-256 |
//! | `crowd` | [`gives_way`]: which of many silent connections does |
//! | [`ranges`] | a set of numbers, as disjoint ranges |
//! | [`stream`] | [`StreamId`]; bytes of a stream that follow each other |
//! | [`reassembly`] | bytes of a stream put in order, held until earlier ones arrive |
//! | [`events`], [`min_tree`] | events to come, in a total order; the first of a fixed set of times |

pub mod codec;
mod crowd;
mod digest;
pub mod events;
pub mod feedback;
pub mod machine;
pub mod min_tree;
pub mod quantity;
pub mod ranges;
pub mod reassembly;
pub mod stream;
mod time;
mod token;
pub mod wire;

pub use codec::CodecError;
pub use crowd::gives_way;
pub use digest::Digest;
pub use machine::{Datagram, Dest, Machine, SeekableBytes, Transmit};
#[doc(hidden)]
pub use serde; // for `wire_enum!`
pub use stream::StreamId;
pub use time::{BitRate, Nanos};
pub use token::Token;
