//! `gfagent gather-serve` and `gfagent gather-send`: many clients' streams, each over several TCP
//! connections. The server sets the number and the windows of these connections while they run.
//!
//! Server and client are each one thread with one epoll. The server measures and obeys: in every round it
//! reports what each client has reached, and it carries out tunings; it knows nothing of targets or
//! priorities (docs/reference/gather.md). [`crate::machine`] decides which byte goes where; `groupflow_host`
//! gives sockets, polling, TLS, options and reports.
//!
//! | module | subject |
//! |---|---|
//! | [`args`], [`clients`] | options; the list of clients |
//! | [`serve`], [`server`] | the two commands; the server's loop |
//! | `admission`, `control` | connections and streams at their beginning and their end; rounds and tunings |
//! | [`flow`] | a client's stream, its destination, and the server's end of its stripes |
//! | [`tune`] | settings; the window of a live connection |
//! | [`lines`] | JSON lines in and out that block nothing |
//! | [`client`], [`client_stripe`] | the client's loop; its end of a stripe |

mod admission;
pub mod args;
pub mod client;
mod client_stripe;
mod clients;
mod control;
mod flow;
mod lines;
mod serve;
mod server;
mod tune;
