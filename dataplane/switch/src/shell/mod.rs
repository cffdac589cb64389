//! The shell: sockets, clock and command line for the switch and its P4Runtime service.

mod cli;
mod clock;
mod control;
mod datapath;
mod error;
mod frame;
mod lateness;
mod pcap;
mod report;
mod ring;
mod run;
mod rx;
mod server;
mod shared;
mod socket;
mod streams;
mod tx;

pub use cli::main;
pub use clock::Clock;
pub use control::{ask, ControlRequest, ControlSocket};
pub use error::ShellError;
pub use lateness::{Lateness, LatenessStats, Limits, Window};
pub use report::{render, report, SwitchReport};
pub use run::{run, Options};
pub use server::Service;
pub use shared::{Shared, ToControlPlane};
