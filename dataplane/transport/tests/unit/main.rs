//! The parts alone, each under the name of its file.

mod assembly;
mod cache;
mod ids;
mod nack;
mod report;
mod wire;
