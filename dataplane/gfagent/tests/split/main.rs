//! Split agents as processes on 127.0.0.0/8, with real senders and members on real sockets.
//!
//! Every test has a network of its own: 127.N.0.0/16. An agent has its address there, and its sessions
//! another one: under Mininet each agent's host would own the session's address, here they share one host.

mod bounds;
mod faults;
mod harness;
mod refusals;
mod streams;
