//! Networks in virtual time: links, hosts, routers and P4 switches, the same run after run.
//!
//! A [`Network`] is built from a [`spec::NetworkSpec`]; its switches are told their entries; then it runs,
//! and an [`Observer`] is told of all measurements. Nothing here reads a clock or a socket.
//!
//! The crate imports the machines that it drives: `groupflow-switch` without its shell, `groupflow-pipeline`
//! for the switches' programs, the endpoints of `groupflow-session` and `groupflow-transport`, and the
//! machine of round multicast. TCP endpoints are its own ([`tcp`]), as no socket can be told the time.
//!
//! | module | subject |
//! |---|---|
//! | [`spec`], `build`, `error` | the description of a network; from there to one that can run; errors |
//! | `network`, `steering` | a network that runs; settings and readings meanwhile |
//! | `engine`, `wiring` | the order of events; islands and the links between nodes |
//! | `node`, `ids` | the ends of links; names |
//! | `link`, `loss`, `frame_queue` | a link; its losses; frames on the way |
//! | `router`, `fifo`, `ecn` | the ports of routers; routers that drop at the tail; congestion marks |
//! | `pausable`, `pause` | routers that pause; pause frames |
//! | `switch`, `broadcast` | P4 switches; satellites and their ground stations |
//! | `host`, `flows`, `wire` | hosts; the flows between them; the bytes of their frames |
//! | [`tcp`] | TCP endpoints |
//! | `relays` | the streams that split agents relay |
//! | `bones` | hubs and rims of round multicast |
//! | `routes` | the way to every host |
//! | `sample`, `record`, `transit` | measurements; their CSV files; a flow's bytes on a link |
//! | `trace` | events in total order |
//! | `random` | random numbers that are the same on every machine |

#![forbid(unsafe_code)]

mod bones;
mod broadcast;
mod build;
mod ecn;
mod engine;
mod error;
mod fifo;
mod flows;
mod frame_queue;
mod host;
mod ids;
mod link;
mod loss;
mod network;
mod node;
mod pausable;
mod pause;
mod random;
mod record;
mod relays;
mod router;
mod routes;
mod sample;
pub mod spec;
mod steering;
mod switch;
pub mod tcp;
mod trace;
mod transit;
pub mod wire;
mod wiring;

pub use engine::Observer;
pub use error::{BuildError, RunError};
pub use ids::{FlowId, NodeId};
pub use loss::LossSpec;
pub use network::Network;
pub use record::{Files, Recorder};
pub use sample::{BoneSample, CacheSample, DropSite, Drops, FlowSample, LinkSample, QueueSample, Sample};
pub use switch::P4Switch;
pub use trace::{TraceKind, TraceRecord};
