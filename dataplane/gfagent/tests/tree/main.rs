//! Hosts of a clustered tree as programs, over loopback.

mod control;
mod dispatch;
mod programs;
mod sessions;
