//! `gfagent gather-serve` and `gfagent gather-send`: many clients' streams, each over several TCP
//! connections. The server sets the number and the windows of these connections while they run.
//!
//! Server and client are each one thread with one epoll. The server measures and obeys: in every round it
//! reports what each client has reached, and it carries out tunings; it knows nothing of targets or
//! priorities (docs/reference/gather.md). [`crate::machine`] decides which byte goes where; `groupflow_host`
//! gives sockets, polling, TLS, options and reports.

mod admission; // connections and streams at their beginning and their end
pub mod args; // options
pub mod client; // the client's loop
mod client_stripe; // the client's end of a stripe
mod clients; // the list of clients
mod control; // rounds and tunings
mod flow; // a client's stream, its destination, and the server's end of its stripes
mod serve; // `gfagent gather-serve` and `gather-send`
mod server; // the server's loop
mod tune; // settings; the window of a live connection
