//! The parts alone, each under the name of its file.

mod admission;
mod decoder;
mod names;
mod outgoing;
