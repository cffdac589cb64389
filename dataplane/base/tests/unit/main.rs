//! The parts alone, each under the name of its file.

mod byte_queue;
mod codec;
mod crowd;
mod events;
mod feedback;
mod lines;
mod min_tree;
mod quantity;
mod ranges;
mod rate;
mod reassembly;
mod store;
mod time;
mod token;
mod wire;
