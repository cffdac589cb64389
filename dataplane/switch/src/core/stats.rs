//! The counters of a switch, as users see them. All packets that vanish are in one of these counters.

use groupflow_pipeline::Stats;
use serde::Serialize;

use super::link::{LinkParameters, WireCounters};
use super::packet_rate::PacketRate;
use super::port::QueueState;
use super::queue::QueueCounters;

/// Packets that vanished inside the switch, apart from ports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SwitchDrops {
    /// The program dropped them in ingress.
    pub ingress: u64,
    /// There was no program.
    pub no_program: u64,
    /// Copies for a port that the switch does not have.
    pub no_such_port: u64,
    /// For a multicast group that is not there.
    pub no_such_group: u64,
    /// Resubmitted or recirculated, and too many of these were under way.
    pub loopback_full: u64,
    /// Copies of copies that egress cloned again and again.
    pub clone_limit: u64,
    /// Waiting when another program was loaded.
    pub reloaded: u64,
}

/// Packets that vanished on their way into the switch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct InDrops {
    /// The emulated link's queue was full.
    pub queue_full: u64,
    /// The emulated link lost them.
    pub loss: u64,
    /// The link was down.
    pub down: u64,
    /// Longer than any frame the switch takes.
    pub oversize: u64,
    /// Too many on the way at once.
    pub line_full: u64,
    /// The kernel had no room for them. Known to the shell only.
    pub kernel: u64,
}

/// Packets that vanished on their way out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OutDrops {
    /// The queue was full.
    pub queue_full: u64,
    /// The program dropped them in egress.
    pub egress: u64,
    /// The emulated link lost them.
    pub loss: u64,
    /// The link was down.
    pub down: u64,
    /// Longer than any frame the switch sends.
    pub oversize: u64,
    /// Too many on the way at once.
    pub line_full: u64,
    /// The port has no queue of their priority.
    pub priority: u64,
    /// The interface refused them. Known to the shell only.
    pub interface: u64,
}

/// A link's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LinkStats {
    /// `None` is unlimited.
    pub rate_bps: Option<u64>,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Proportion of packets lost, in parts of 10^9.
    pub loss_ppb: u32,
    /// The most packets that wait.
    pub queue_packets: u32,
}

/// The inbound direction of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct InStats {
    /// Packets given to the pipeline.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that vanished.
    pub drops: InDrops,
    /// The emulated link.
    pub link: LinkStats,
    /// The packets that wait for it.
    pub queue: QueueCounters,
}

/// A queue of a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueueStats {
    /// Its number; 0 is the lowest.
    pub priority: u8,
    /// Higher levels are served first.
    pub level: u8,
    /// The queue's part of its level.
    pub weight: u16,
    /// The rate it was set to, such as `1000pps`; `None` is no limit.
    pub rate: Option<String>,
    /// Whether nothing leaves.
    pub paused: bool,
    /// The most packets that wait; `None` is the link's.
    pub limit_packets: Option<u32>,
    /// The most bytes that wait.
    pub limit_bytes: Option<u64>,
    /// J~: the rate that the program asked for, in 1/64 packet/s. It goes before `rate`.
    pub demand: Option<u32>,
    /// L: its part of the port by eq. 13, in 1/64 packet/s, where there is one.
    pub share: Option<u32>,
    /// State and history.
    #[serde(flatten)]
    pub counters: QueueCounters,
}

impl QueueStats {
    /// The queue's state as users see it.
    pub fn new(priority: u8, state: &QueueState) -> QueueStats {
        let settings = &state.settings;
        QueueStats {
            priority,
            level: settings.level,
            weight: settings.weight,
            rate: settings.rate.map(|rate| rate.to_string()),
            paused: settings.paused,
            limit_packets: settings.limit_packets,
            limit_bytes: settings.limit_bytes,
            demand: state.demand.map(PacketRate::units),
            share: Some(state.share.units()).filter(|_| state.share != PacketRate::UNLIMITED),
            counters: state.counters,
        }
    }
}

/// The outbound direction of a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutStats {
    /// Packets put on the wire, lost ones included.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that vanished.
    pub drops: OutDrops,
    /// The emulated link.
    pub link: LinkStats,
    /// Bytes of a packet where packets/s are computed from the bit rate.
    pub nominal_packet: u32,
    /// The packets that wait for it.
    pub queues: Vec<QueueStats>,
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PortStats {
    /// Its number.
    pub port: u16,
    /// Its interface. Known to the shell only.
    pub interface: Option<String>,
    /// Whether its link is up.
    pub up: bool,
    /// Towards the switch.
    #[serde(rename = "in")]
    pub inbound: InStats,
    /// From the switch.
    #[serde(rename = "out")]
    pub outbound: OutStats,
}

/// Packets from and to the controller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CpuStats {
    /// To the controller.
    pub packet_ins: u64,
    /// From the controller.
    pub packet_outs: u64,
    /// Packets to the controller that vanished.
    pub drops: CpuDrops,
}

/// Packets to the controller that vanished.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CpuDrops {
    /// The queue was full, or the controller took them too slowly.
    pub queue_full: u64,
    /// The program dropped them in egress.
    pub egress: u64,
    /// No controller was primary. Known to the shell only.
    pub no_primary: u64,
}

/// Everything a switch counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SwitchStats {
    /// The ports in the order of their numbers.
    pub ports: Vec<PortStats>,
    /// The controller's port.
    pub cpu: CpuStats,
    /// Packets that vanished in between.
    pub drops: SwitchDrops,
    /// The program's own troubles.
    pub pipeline: Stats,
}

impl From<&LinkParameters> for LinkStats {
    fn from(parameters: &LinkParameters) -> LinkStats {
        LinkStats {
            rate_bps: parameters.rate.map(|rate| rate.0),
            delay_ns: parameters.delay.0,
            loss_ppb: parameters.loss.get(),
            queue_packets: parameters.queue_packets,
        }
    }
}

impl InDrops {
    /// The counters with those of a wire and its queue.
    pub fn with_link(self, wire: WireCounters, queue: QueueCounters) -> InDrops {
        InDrops {
            queue_full: queue.dropped,
            loss: wire.lost,
            down: wire.down,
            line_full: wire.line_full,
            ..self
        }
    }
}

impl OutDrops {
    /// The counters with those of a wire and the queues before it.
    pub fn with_link(self, wire: WireCounters, queues: &[QueueStats]) -> OutDrops {
        OutDrops {
            queue_full: queues.iter().map(|queue| queue.counters.dropped).sum(),
            loss: wire.lost,
            down: wire.down,
            line_full: wire.line_full,
            ..self
        }
    }
}
