//! The parts that all agents share: sockets, polling, TLS, reports, and values of the command line. gfswitch
//! has the clock, the wake-ups and the private Unix socket from here.
//!
//! There is no async runtime. In an emulation twenty agents and their switches share a few cores: a loop that
//! wakes once a millisecond and moves all packets that have gathered costs less than a task that wakes for
//! every packet, and is simpler to follow.
//!
//! `groupflow_base` gives time, quantities and `trait Machine`.

pub mod error; // errors with a remedy
pub mod files; // a file or pipe to send; the file or pipe that receives
pub mod json; // lines and objects of JSON
pub mod link; // a connection, in TLS or not, with its outbox
pub mod poller; // epoll, by mio
pub mod process; // clock, wake-ups, locks, descriptors and signals
pub mod report; // events, and the progress of a transfer
pub mod shell; // the loop around a session's machine
pub mod socket; // the loop's UDP socket, with datagrams in batches
pub mod sockopt; // socket options, Unix sockets
pub mod subcommand; // subcommands of gfagent, and values of the command line
pub mod tcp; // TCP sockets and their kernel state
pub mod tls; // certificates and trust
