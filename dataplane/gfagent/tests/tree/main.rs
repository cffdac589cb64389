//! Hosts of a clustered tree within one process, over loopback.

mod control;
mod datagrams;
mod dispatch;
mod pipes;
mod sessions;
