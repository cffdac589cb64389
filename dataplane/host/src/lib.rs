//! What the agents share: sockets, polling, TLS, reports, values of the command line.
//!
//! There is no async runtime: twenty agents and their switches share a few cores in an emulation, and a loop that wakes
//! once a millisecond and moves what has gathered costs less than a task that wakes for every packet, and is simpler to
//! follow.

pub mod batch;
pub mod came;
pub mod channel;
pub mod error;
pub mod fields;
pub mod identity;
pub mod input;
pub mod options;
pub mod outbox;
pub mod output;
pub mod poller;
pub mod process;
pub mod progress;
pub mod report;
pub mod secure;
pub mod shell;
pub mod socket;
pub mod sockopt;
pub mod subcommand;
pub mod tcp;
pub mod tcp_info;
pub mod trust;
