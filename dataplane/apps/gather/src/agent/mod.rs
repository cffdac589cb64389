//! `gfagent gather-serve` and `gfagent gather-send`: many clients' streams, each over several TCP connections
//! whose windows and number the server sets while they run.
//!
//! One thread and one epoll each. The server measures and obeys: every round it tells what each client has
//! reached, and it takes tunings; it knows nothing of targets or priorities (docs/gather.md).
//!
//! | module | is |
//! |---|---|
//! | [`serve`], [`server`] | the server's command; its loop |
//! | `admission`, `endings`, `control` | who comes in; how streams end; rounds out and tunings in |
//! | [`stripe`], [`flow`], [`place`] | a connection; a client's stream; where it goes |
//! | [`round`], [`tune`], [`window`] | what is measured; what is set; the window of a live connection |
//! | [`lines`] | JSON lines in and out that stop nobody |
//! | [`send`], [`client`], [`link`] | the client's command; its loop; a connection |
//! | [`channel`], [`identity`], [`trust`] | a connection's bytes, with or without TLS; the server's certificate; how a client knows it |
//! | [`sender`] | a client for programs in Rust |
//! | [`args`], [`secure`], [`clients`], [`tcp_info`], [`came`] | options; those of TLS; the list of clients; what the kernel knows of a connection; a read of it |
//!
//! Which byte goes where is decided in [`crate::machine`].

mod admission;
pub mod args;
pub mod client;
pub mod clients;
mod control;
mod endings;
pub mod flow;
pub mod lines;
pub mod link;
pub mod place;
pub mod round;
pub mod send;
pub mod sender;
pub mod serve;
pub mod server;
pub mod stripe;
pub mod tune;
pub mod window;
