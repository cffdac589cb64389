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
//! | `engine`, `barrier`, `mail` | islands on threads; how threads wait; frames between islands |
//! | `island`, `wiring`, `node`, `ids` | a part that runs by itself; its links; their ends; names |
//! | `outlet`, `loss`, `frame_queue` | a link's near end; losses; frames on the way |
//! | `fifo`, `ecn`, `pausable`, `pause` | routers; congestion marks; routers that pause; pause frames |
//! | `switch`, `broadcast` | P4 switches; satellites and their ground stations |
//! | `host`, `flows`, `wire` | hosts; the flows between them; the bytes of their frames |
//! | [`tcp`] | TCP endpoints |
//! | `relays` | the streams that split agents relay |
//! | `bones` | hubs and rims of round multicast |
//! | `routes`, `address_table` | the way to every host; lookup by address |
//! | `sample`, `record`, `transit` | measurements; their CSV files; a flow's bytes on a link |
//! | `trace`, `drops` | events in total order; dropped frames and why |
//! | `random` | random numbers that are the same on every machine |

#![forbid(unsafe_code)]

mod address_table;
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
pub mod wire;
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
