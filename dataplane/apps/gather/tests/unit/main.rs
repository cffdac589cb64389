//! The parts alone, each under the name of its file.

mod decoder;
mod names;
mod outgoing;
mod roster;
