//! The shell: sockets, clock and command line for the switch and its P4Runtime service.

mod answer; // answers to reads
mod args; // the options of a switch that starts
mod attachment; // a port's sockets, attached anew to an interface that is made again
mod cli; // the command line
mod connections; // the clients' connections and their bounds
mod control; // the control socket
mod datapath; // the thread that moves packets
mod error; // errors that end a switch
mod incoming;
mod lateness; // the data path's lateness
mod pcapng; // files of packets
mod report; // the output of `gfswitch stats`
mod ring; // a ring in shared memory
mod run; // a switch, from its start to a signal
mod rx; // reception, with repairs of frames
mod server; // P4Runtime over gRPC
mod shared; // the state that the data path's thread and the control plane share
mod socket; // packet sockets
mod streams; // the clients' open streams
mod thrift; // refusals of calls of BMv2's Thrift services
mod trace_text; // the output of `gfswitch trace`
mod tx; // sending

pub use cli::main;
pub use connections::Connections;
pub use control::{ask, find_switch, trace_switch, ControlRequest, ControlSocket};
pub use error::ShellError;
pub use report::render;
pub use ring::Ring;
pub use server::P4RuntimeService;
pub use shared::{Shared, ToControlPlane};
pub use socket::{bind, interface_index, packet_socket};
pub use trace_text::render_trace;
pub use tx::Transmitter;
