//! Networks in virtual time: links, hosts, routers and P4 switches, the same run after run.
//!
//! A [`Network`] is built from a [`spec::NetworkSpec`]; its switches are told their entries; then it runs,
//! and an [`Observer`] is told of all measurements. Nothing here reads a clock or a socket.
//!
//! The crate imports the machines that it drives: `groupflow-switch` without its shell, `groupflow-pipeline`
//! for the switches' programs, the endpoints of `groupflow-session` and `groupflow-transport`, and the
//! machines of round multicast, split agents and clustered trees. TCP endpoints are its own ([`tcp`]), as no
//! socket can be told the time.

#![forbid(unsafe_code)]

mod build; // from a description to a network that runs
mod engine; // the order of events
mod error; // errors of building and running
mod fifo; // routers that drop at the tail, and satellites
mod flows; // the flows between hosts
mod frame_queue; // frames on the way
mod host; // hosts
mod ids; // numbers of nodes, links and flows
mod link; // one direction of a link
mod loss; // the losses of a link
mod network; // a network that runs; settings and readings meanwhile
mod node; // the ends of links
mod random; // random numbers that are the same on every machine
mod record; // CSV files of measurements
mod relays; // the streams that split agents relay
mod router; // the ports of routers
mod routes; // the way to every host
mod sample; // measurements
pub mod spec; // the description of a network
mod switch; // P4 switches
pub mod tcp; // TCP endpoints
mod trace; // events in total order
mod transit; // a flow's bytes on a link
mod trees; // the trees' dispatchers and hosts
pub mod wire; // the bytes of frames
mod wiring; // islands and the links between nodes

pub use engine::Observer;
pub use error::{BuildError, RunError};
pub use ids::{FlowId, NodeId};
pub use loss::LossSpec;
pub use network::Network;
pub use record::{Files, Recorder};
pub use sample::{
    BoneSample, CacheSample, DropSite, Drops, FlowSample, LinkSample, QueueSample, Sample, TreeSample,
};
pub use switch::P4Switch;
pub use trace::{TraceKind, TraceRecord};
