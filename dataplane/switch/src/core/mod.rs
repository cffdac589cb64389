//! The switch without a clock or a socket: traffic manager, links, replication engine.
//!
//! `traffic_manager` and the modules below it (`queue`, `shaper`, `scheduler`) know no paper; `diffusion` is
//! the one module that does, and `port` joins them.
//!
//! | module | subject |
//! |---|---|
//! | `switch`, `events` | the switch as a value; events inside it |
//! | `departures`, `wires` | frames that leave egress; frames on the wires |
//! | `agenda` | the total order of events |
//! | `config` | ports, links and priorities of a switch |
//! | `port` | a port: the link to the switch, the queues, the link from it |
//! | `link`, `link_spec`, `pacer` | one direction of an emulated link; how users describe it; its rate |
//! | `spec_text` | parts `KEY=VALUE` of descriptions |
//! | `traffic_manager`, `queue` | the queues of one port; one queue |
//! | `shaper`, `scheduler` | when a queue's head may leave; which queue is served next |
//! | `queue_settings`, `queue_registers` | queues as users describe them; queues as programs see them |
//! | `queue_control` | changes of queues, ports and generators by users and programs |
//! | `diffusion` | each flow's available bandwidth under diffusion-type flow control |
//! | `replication` | multicast groups and clone sessions |
//! | `generator` | frames that the switch itself makes |
//! | `packet_rate`, `loss` | rates of queues; proportions of packets lost |
//! | `tracer`, `trace` | the record of chosen packets, and of frames at the ports; its form |
//! | `stats` | counters as they are shown to users |

mod agenda;
mod config;
mod departures;
mod diffusion;
mod events;
mod generator;
mod link;
mod link_spec;
mod loss;
mod pacer;
mod packet_rate;
mod port;
mod queue;
mod queue_control;
mod queue_registers;
mod queue_settings;
mod replication;
mod scheduler;
mod shaper;
mod spec_text;
mod stats;
mod switch;
mod trace;
mod tracer;
mod traffic_manager;
mod wires;

pub use config::{ConfigError, FlowControl, SwitchConfig, DEFAULT_PRIORITIES, MAX_PORT, MAX_PRIORITIES};
pub use events::{LOOPBACK_DELAY, LOOPBACK_LIMIT};
pub use generator::{Generator, GeneratorError, Generators, GENERATOR_LIMIT, PERIOD_MIN};
pub use link::{LinkParameters, LINE_LIMIT, QUEUE_LIMIT};
pub use link_spec::{parse_port_link, Direction, LinkChange};
pub use loss::Loss;
pub use pacer::Pacer;
pub use packet_rate::{PacketRate, QueueRate};
pub use port::MAX_FRAME;
pub use queue::{Amount, QueueCounters, QueueDrops};
pub use queue_registers::{QueueRegister, QueueRegisters};
pub use queue_settings::{
    parse_port_queue, parse_queue_rate, QueueChange, QueuePlace, QueueSettings, NOMINAL_PACKET,
    QUEUE_BYTES_LIMIT,
};
pub use replication::{
    CloneSession, Replica, ReplicationEngine, ReplicationError, CLONE_LIMIT, REPLICA_LIMIT, SESSION_LIMIT,
};
pub use spec_text::SpecError;
pub use stats::{
    CpuDrops, CpuStats, InDrops, InStats, LinkDrops, OutDrops, OutStats, PortStats, QueueStats, SwitchDrops,
    SwitchStats,
};
pub use switch::{Emitted, Forwarding, SentFrame, Switch, ToController};
pub use trace::{Branch, QueuePass, SeenFrame, Trace, TraceError, TraceFilter, TraceRequest};
pub use tracer::{TraceHandle, Tracer};
