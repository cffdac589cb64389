//! The parts alone, each under the name of its file.

mod flow;
mod rates;
