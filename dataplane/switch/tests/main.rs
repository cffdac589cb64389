//! A switch with queues, links, groups and clients.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod bound_registers;
mod common;
mod fast_path;
mod generators;
#[cfg(feature = "shell")]
mod outcomes;
mod queues;
#[cfg(feature = "shell")]
mod server;
mod traces;
mod traffic;
mod watched;
