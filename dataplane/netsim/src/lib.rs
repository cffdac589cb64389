//! Networks in virtual time: links, hosts, routers and P4 switches, the same run after run.
//!
//! A [`Network`] is built from a [`spec::NetworkSpec`]; its switches are told their entries; then it runs,
//! and an [`Observer`] is told what is measured. Nothing here reads a clock or a socket.
//!
//! The crate imports the machines that it drives: `groupflow-switch` without its shell, the endpoints of
//! `groupflow-session`, and the machine of round multicast. TCP endpoints are its own ([`tcp`]), as no socket
//! can be told the time.

#![forbid(unsafe_code)]

mod address_table;
mod agent;
mod barrier;
mod bones;
mod broadcast;
mod build;
mod drops;
mod ecn;
mod engine;
mod error;
mod fifo;
mod flows;
mod frame_queue;
mod host;
mod ids;
mod island;
mod loss;
mod mail;
mod network;
mod node;
mod outlet;
mod pausable;
mod pause;
mod random;
mod record;
mod relays;
mod routes;
mod sample;
pub mod spec;
mod steering;
mod switch;
pub mod tcp;
mod trace;
mod transit;
mod transmitter;
mod wire;
mod wiring;

pub use drops::{DropSite, Drops};
pub use engine::Observer;
pub use error::{BuildError, RunError};
pub use ids::{FlowId, LinkId, NodeId};
pub use loss::LossSpec;
pub use network::{FlowPath, Network};
pub use record::{Files, Recorder};
pub use sample::{BoneSample, CacheSample, FlowSample, LinkSample, QueueSample, Sample, TcpSample};
pub use switch::P4Switch;
pub use trace::{TraceKind, TraceRecord};
