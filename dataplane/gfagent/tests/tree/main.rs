//! Hosts of a clustered tree as programs, over loopback.

mod control;
mod dispatch;
mod programs;
mod quic;
mod sessions;
