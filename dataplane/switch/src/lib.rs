//! gfswitch: a v1model switch as a value, its P4Runtime logic, and the shell that gives both sockets and a
//! clock.
//!
//! - [`core`] is the switch: packets and the time go in, packets and the next deadline come out.
//! - [`p4rt`] is the controller's side of it: P4Runtime messages in, messages out.
//! - `shell` does the I/O. It is a feature, so that simulators and the Python bindings build without it.
//!
//! The crate imports `groupflow-pipeline`, which runs the P4 program, and `groupflow-base` for the time. Of
//! outside crates, `core` uses `rand_chacha` for losses that repeat and `serde` for counters; `p4rt` uses
//! `prost` for P4Runtime's messages and `prost-reflect` for the text form of P4Info; the shell uses `tonic`
//! and `tokio` for gRPC, `libc` for packet sockets, and `clap` for the command line.

pub mod core;
pub mod p4rt;
pub mod proto;
#[cfg(feature = "shell")]
pub mod shell;
