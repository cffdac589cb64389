//! The parts alone, each under the name of its file.

mod listening;
mod pending;
