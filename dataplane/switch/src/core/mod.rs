//! The switch without a clock or a socket: traffic manager, links, replication engine.
//!
//! `traffic_manager` and the modules below it (`queue`, `shaper`, `scheduler`) know no paper; `diffusion` is
//! the one module that does, and `port` joins them.

mod agenda; // the total order of events
mod config; // ports, links and priorities of a switch
mod diffusion; // each flow's available bandwidth under diffusion-type flow control
mod events; // events inside the switch
mod generator; // frames that the switch itself makes
mod link; // one direction of an emulated link: losses and rate
mod link_spec; // the form in which users describe a link
mod outcomes; // all that may become of a packet
mod packet_rate; // rates of queues
mod port; // a port: the link to the switch, the queues, the link from the switch
mod queue; // one queue
mod queue_control; // changes of queues, ports and generators by users and programs
mod queue_settings; // queues as users and as programs see them
mod replication; // multicast groups and clone sessions
mod scheduler; // the choice of the queue that is served next
mod shaper; // the time at which a queue's head may leave
mod spec_text; // parts `KEY=VALUE` of descriptions
mod stats; // counters for users
mod switch; // the switch as a value
mod trace; // the form of a trace
mod tracer; // the record of chosen packets, and of frames at the ports
mod traffic_manager; // the queues of one port
mod wires; // frames that leave egress, and frames on the wires

pub use config::{ConfigError, FlowControl, SwitchConfig, DEFAULT_PRIORITIES, MAX_PORT, MAX_PRIORITIES};
pub use events::{LOOPBACK_DELAY, LOOPBACK_LIMIT};
pub use generator::{Generator, GeneratorError, Generators, GENERATOR_LIMIT};
pub use link::{Loss, Pacer, QUEUE_LIMIT};
pub use link_spec::{parse_port_link, Direction, LinkChange};
pub use packet_rate::PacketRate;
pub use port::MAX_FRAME;
pub use queue::Amount;
pub use queue_settings::{parse_port_queue, parse_queue_rate, QueueChange, QueuePlace};
pub use queue_settings::{QueueRegister, QueueRegisters, NOMINAL_PACKET, QUEUE_BYTES_LIMIT};
pub use replication::{
    CloneSession, Replica, ReplicationEngine, ReplicationError, CLONE_LIMIT, REPLICA_LIMIT,
};
pub use stats::{PortStats, QueueStats, SwitchStats};
pub use switch::{Emitted, Forwarding, SentFrame, Switch, ToController};
pub use trace::{Branch, SeenFrame, Trace, TraceFilter, TraceRequest};
pub use tracer::Tracer;
