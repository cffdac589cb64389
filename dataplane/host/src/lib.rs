//! The parts that all agents share: sockets, polling, TLS, reports, and values of the command line.
//!
//! There is no async runtime. In an emulation twenty agents and their switches share a few cores: a loop that
//! wakes once a millisecond and moves all packets that have gathered costs less than a task that wakes for
//! every packet, and is simpler to follow.
//!
//! `groupflow_base` gives time, quantities and `trait Machine`.
//!
//! | module | subject |
//! |---|---|
//! | [`subcommand`] | subcommands of gfagent, and values of the command line |
//! | [`error`], [`report`] | errors with a remedy; events, and the progress of a transfer |
//! | [`shell`], [`socket`] | the loop around a machine; its UDP socket, with datagrams in batches |
//! | [`poller`], [`tcp`], [`sockopt`] | epoll; TCP sockets and their kernel state; other options, Unix sockets |
//! | [`link`], [`tls`] | a connection, in TLS or not, with its outbox; certificates and trust |
//! | [`files`] | a file or pipe to send; the file or pipe that receives |
//! | [`json`], [`process`] | lines and objects of JSON; descriptors and signals |

pub mod error;
pub mod files;
pub mod json;
pub mod link;
pub mod poller;
pub mod process;
pub mod report;
pub mod shell;
pub mod socket;
pub mod sockopt;
pub mod subcommand;
pub mod tcp;
pub mod tls;
