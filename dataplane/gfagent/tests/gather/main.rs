//! `gfagent gather-serve` and `gfagent gather-send` over loopback.

mod faults;
mod harness;
mod listing;
mod proxy;
mod refusals;
mod reports;
mod streams;
mod tls;
