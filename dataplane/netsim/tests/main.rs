//! Networks in virtual time, and the theory of them.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod agent;
mod common;
mod determinism;
mod ecn;
mod large;
mod links;
mod steering;
mod tcp;
mod tcp_config;
mod tcp_net;
mod tcp_reactions;
mod tcp_transfer;
mod tcp_wire;
mod theory;
mod tree;
