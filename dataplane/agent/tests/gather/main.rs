//! `gfagent gather-serve` and `gfagent gather-send` over loopback.

mod faults;
mod harness;
mod library;
mod proxy;
mod refusals;
mod streams;
mod tls;
