//! The shell: sockets, clock and command line for the switch and its P4Runtime service.
//!
//! | module | subject |
//! |---|---|
//! | `cli`, `args`, `ignored` | the command line; a switch that starts; its flags without effect |
//! | `run`, `error` | a switch until a signal; errors that end it |
//! | `datapath`, `clock`, `lateness` | the thread that moves packets; its clock; how late it serves them |
//! | `attachment` | a port's sockets, also where its interface is made again |
//! | `rx`, `ring`, `tx`, `socket` | reception; a ring in shared memory; sending; packet sockets |
//! | `frame`, `pcapng` | repairs of received frames; files of packets |
//! | `shared` | state that the data path's thread and the control plane share |
//! | `connections` | the clients' connections and their bounds |
//! | `server`, `answer`, `streams` | P4Runtime over gRPC; answers to reads; the clients' open streams |
//! | `thrift` | refusals of calls of BMv2's Thrift services |
//! | `control`, `report` | the control socket; the output of `gfswitch stats` |
//! | `trace_text` | the output of `gfswitch trace` |

mod answer;
mod args;
mod attachment;
mod cli;
mod clock;
mod connections;
mod control;
mod datapath;
mod error;
mod frame;
mod ignored;
mod incoming;
mod lateness;
mod pcapng;
mod report;
mod ring;
mod run;
mod rx;
mod server;
mod shared;
mod socket;
mod streams;
mod thrift;
mod trace_text;
mod tx;

pub use cli::main;
pub use connections::Connections;
pub use control::{ask, find_switch, trace_switch, ControlRequest, ControlSocket};
pub use error::ShellError;
pub use lateness::LatenessLimits;
pub use report::render;
pub use ring::{Ring, RingSlot};
pub use server::P4RuntimeService;
pub use shared::{Shared, ToControlPlane};
pub use socket::{bind, interface_index, packet_socket, set_option};
pub use trace_text::render_trace;
pub use tx::Transmitter;
