//! Hosts of a clustered tree within one process, over loopback.

mod control;
mod dispatch;
mod quic;
mod sessions;
