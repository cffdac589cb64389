//! The counters of a switch, as users see them. Each packet that goes no further is in one of them.

use groupflow_pipeline::Stats;
use serde::Serialize;

use super::link::{LinkParameters, WireCounters};
use super::packet_rate::PacketRate;
use super::queue::QueueCounters;
use super::queue_settings::QueueSettings;

/// Packets that vanished inside the switch, apart from ports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SwitchDrops {
    /// Packets that the program dropped in ingress.
    pub ingress: u64,
    /// Packets that arrived when there was no program.
    pub no_program: u64,
    /// Copies for a port that the switch does not have.
    pub no_such_port: u64,
    /// Packets for a multicast group that does not exist.
    pub no_such_group: u64,
    /// Packets that were resubmitted or recirculated when too many of these were under way.
    pub loopback_full: u64,
    /// Clones of one packet beyond what egress may make of it and of its clones.
    pub clone_limit: u64,
    /// Packets that waited when another program was loaded.
    pub reloaded: u64,
}

/// Packets that vanished at an emulated link, or before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LinkDrops {
    /// Packets for which the link's queue was full.
    pub queue_full: u64,
    /// The link lost them.
    pub loss: u64,
    /// The link was down.
    pub down: u64,
    /// Frames longer than the switch takes or sends.
    pub oversize: u64,
    /// Too many on the way at once.
    pub line_full: u64,
}

impl LinkDrops {
    /// The counters with those of a wire.
    pub fn of(wire: WireCounters, queue_full: u64, oversize: u64) -> LinkDrops {
        LinkDrops { queue_full, loss: wire.lost, down: wire.down, oversize, line_full: wire.line_full }
    }
}

/// Packets that vanished on their way into the switch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct InDrops {
    /// At the link.
    #[serde(flatten)]
    pub link: LinkDrops,
    /// Packets for which the kernel had no room; only the shell knows their number.
    pub kernel: u64,
}

/// Packets that vanished on their way out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OutDrops {
    /// At the link.
    #[serde(flatten)]
    pub link: LinkDrops,
    /// Packets that the program dropped in egress.
    pub egress: u64,
    /// Packets for whose priority the port has no queue.
    pub priority: u64,
    /// Packets that the interface refused; only the shell knows their number.
    pub interface: u64,
}

/// The inbound direction of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct InStats {
    /// Packets given to the pipeline.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
    /// Packets that vanished.
    pub drops: InDrops,
    /// The emulated link.
    pub link: LinkParameters,
    /// The packets that wait for it.
    pub queue: QueueCounters,
}

/// A queue of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct QueueStats {
    /// The queue's number; 0 is the lowest.
    pub priority: u8,
    /// The queue's settings.
    #[serde(flatten)]
    pub settings: QueueSettings,
    /// J~: the rate that the program asked for, which takes precedence over the set one.
    pub demand: Option<PacketRate>,
    /// L: the queue's share of the port by eq. 13, if it has one.
    pub share: Option<PacketRate>,
    /// State and history.
    #[serde(flatten)]
    pub counters: QueueCounters,
}

/// The outbound direction of a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutStats {
    /// Packets put on the wire, lost ones included.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
    /// Packets that vanished.
    pub drops: OutDrops,
    /// The emulated link.
    pub link: LinkParameters,
    /// Bytes of a packet where packets/s are computed from the bit rate.
    pub nominal_packet: u32,
    /// The packets that wait for it.
    pub queues: Vec<QueueStats>,
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PortStats {
    /// The port's number.
    pub port: u16,
    /// The port's interface, which only the shell knows.
    pub interface: Option<String>,
    /// Whether the port's link is up.
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
    /// Packets for which no controller was primary; only the shell knows their number.
    pub no_primary: u64,
}

/// All counters of a switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SwitchStats {
    /// The ports in the order of their numbers.
    pub ports: Vec<PortStats>,
    /// The controller's port.
    pub cpu: CpuStats,
    /// Packets that vanished between ports.
    pub drops: SwitchDrops,
    /// Packets that went no further because they had done their work: no drops.
    pub absorbed: u64,
    /// The errors that the program itself met.
    pub pipeline: Stats,
}
