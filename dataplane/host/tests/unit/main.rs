//! The parts alone, each under the name of its file.

mod batch;
mod identity;
mod input;
mod options;
mod output;
mod private;
mod process;
mod progress;
mod shell;
mod subcommand;
mod tcp;
mod tcp_info;
