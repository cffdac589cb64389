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
    pub ingress: u64,
    pub no_program: u64,
    /// Copies for a port that the switch does not have.
    pub no_such_port: u64,
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
    pub queue_full: u64,
    pub loss: u64,
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
    #[serde(flatten)]
    pub link: LinkDrops,
    /// Packets for which the kernel had no room; only the shell knows their number.
    pub kernel: u64,
}

/// Packets that vanished on their way out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OutDrops {
    #[serde(flatten)]
    pub link: LinkDrops,
    pub egress: u64,
    /// Packets for whose priority the port has no queue.
    pub priority: u64,
    /// Packets that the interface refused; only the shell knows their number.
    pub interface: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct InStats {
    /// Packets given to the pipeline.
    pub packets: u64,
    pub bytes: u64,
    pub drops: InDrops,
    pub link: LinkParameters,
    pub queue: QueueCounters,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct QueueStats {
    /// The queue's number; 0 is the lowest.
    pub priority: u8,
    #[serde(flatten)]
    pub settings: QueueSettings,
    /// J~: the rate that the program asked for, which takes precedence over the set one.
    pub demand: Option<PacketRate>,
    /// L: the queue's share of the port by eq. 13, if it has one.
    pub share: Option<PacketRate>,
    #[serde(flatten)]
    pub counters: QueueCounters,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutStats {
    /// Packets put on the wire, lost ones included.
    pub packets: u64,
    pub bytes: u64,
    pub drops: OutDrops,
    pub link: LinkParameters,
    /// Bytes of a packet where packets/s are computed from the bit rate.
    pub nominal_packet: u32,
    pub queues: Vec<QueueStats>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PortStats {
    pub port: u16,
    /// The port's interface, which only the shell knows.
    pub interface: Option<String>,
    pub up: bool,
    #[serde(rename = "in")]
    pub inbound: InStats,
    #[serde(rename = "out")]
    pub outbound: OutStats,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CpuStats {
    pub packet_ins: u64,
    pub packet_outs: u64,
    pub drops: CpuDrops,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CpuDrops {
    /// The queue was full, or the controller took them too slowly.
    pub queue_full: u64,
    pub egress: u64,
    /// Packets for which no controller was primary; only the shell knows their number.
    pub no_primary: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SwitchStats {
    pub ports: Vec<PortStats>,
    pub cpu: CpuStats,
    /// Packets that vanished between ports.
    pub drops: SwitchDrops,
    /// Packets that went no further because they had done their work: no drops.
    pub absorbed: u64,
    /// The errors that the program itself met.
    pub pipeline: Stats,
}
