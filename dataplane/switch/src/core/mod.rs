//! The switch without a clock or a socket: traffic manager, links, replication engine.

mod agenda;
mod config;
mod events;
mod link;
mod link_spec;
mod port;
mod quantity;
mod queue;
mod replication;
mod stats;
mod switch;
mod traffic_manager;

pub use config::{ConfigError, SwitchConfig, MAX_PORT, MAX_PRIORITIES};
pub use events::{CLONE_GENERATIONS, LOOPBACK_DELAY, LOOPBACK_LIMIT};
pub use link::{LinkParameters, LINE_LIMIT, QUEUE_LIMIT};
pub use link_spec::{parse_port_link, Direction, LinkChange, LinkSpecError};
pub use port::MAX_FRAME;
pub use quantity::{parse_span, Loss, QuantityError, Rate};
pub use queue::QueueCounters;
pub use replication::{
    CloneSession, Replica, ReplicationEngine, ReplicationError, GROUP_LIMIT, REPLICA_LIMIT, SESSION_LIMIT,
};
pub use stats::{
    CpuDrops, CpuStats, InDrops, InStats, LinkStats, OutDrops, OutStats, PipelineStats, PortStats,
    QueueStats, SwitchDrops, SwitchStats,
};
pub use switch::{Emitted, Forwarding, Output, Switch, ToController};
