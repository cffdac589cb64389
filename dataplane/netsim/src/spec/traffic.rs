//! Flows between hosts: UDP at its own pace, and TCP; hubs and rims of round multicast
//! (`groupflow_bone::machine`).

use groupflow_bone::machine::HubConfig;
use serde::Deserialize;

use crate::tcp::{Behaviour, Variant};

/// Traffic from one host to another.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct FlowSpec {
    /// The name in results.
    pub name: String,
    pub from: String,
    pub to: String,
    pub source_port: u16,
    pub destination_port: u16,
    #[serde(default)]
    pub start_ns: u64,
    #[serde(default)]
    pub stop_ns: Option<u64>,
    /// The number by which feedback packets name it, if it is shaped to the rate they tell.
    #[serde(default)]
    pub shaped_as: Option<u16>,
    /// The host's own queue of the flow, if what the flow may send waits there and not in the flow.
    #[serde(default)]
    pub backlog: Option<BacklogSpec>,
    #[serde(flatten)]
    pub source: SourceSpec,
}

/// A host's queue of a flow that it shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct BacklogSpec {
    /// The most packets.
    pub packets: u32,
    /// D_0 in 1/64 packet/s for each packet that waits: by so much the host exceeds the rate it is told, as
    /// eq. 2 of Takano et al. has it for a node that takes part. 0: it does not.
    pub gain: u32,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SourceSpec {
    Udp(UdpSpec),
    Tcp(TcpSpec),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct UdpSpec {
    /// Bit rate in frame bytes; of an on-off source, while on.
    pub rate_bps: u64,
    /// Bytes of a frame, Ethernet header included; the mean, where they vary.
    pub frame_bytes: u32,
    #[serde(default)]
    pub sizes: Sizes,
    #[serde(default)]
    pub arrivals: Arrivals,
}

/// The sizes of a source's frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sizes {
    /// All frames have the same size.
    #[default]
    Constant,
    /// Sizes are exponentially distributed, within those that IPv4 can carry.
    Exponential,
}

/// The times of a source's frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(tag = "pattern", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// Frames come at the rate.
    #[default]
    Constant,
    /// Gaps between frames are exponentially distributed.
    Poisson,
    /// Frames come at the rate for a while, then the source is silent for a while.
    OnOff {
        /// The time for which the source sends.
        on_ns: u64,
        /// The time for which the source is silent.
        off_ns: u64,
        /// Whether these are means of exponential distributions.
        #[serde(default)]
        random: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TcpSpec {
    pub variant: Variant,
    /// The most segments in flight.
    pub window_packets: u32,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// The defaults of TCP: those of the RFCs and Linux, or ns-2's.
    #[serde(default)]
    pub profile: Behaviour,
    /// Bytes to send; `None`: a stream without end.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// The writes of an application from time to time, instead of a stream without end.
    #[serde(default)]
    pub messages: Option<MessagesSpec>,
    /// Acknowledge every other segment, or after this long. `None` acknowledges each.
    #[serde(default)]
    pub delayed_ack_ns: Option<u64>,
    /// Whether the sender answers to explicit congestion notification (RFC 3168).
    #[serde(default)]
    pub ecn: bool,
    /// Packets in queues that end Vegas' slow start, if not ns-2's 1.
    #[serde(default)]
    pub vegas_gamma: Option<u32>,
    /// Segments at the start, if not the profile's.
    #[serde(default)]
    pub initial_window: Option<u32>,
    /// The least retransmission timeout, if not the profile's.
    #[serde(default)]
    pub min_rto_ns: Option<u64>,
    /// Bytes of the window that the receiver advertises at first, where it is set while the connection runs.
    /// The sender then heeds it, and both use timestamps.
    #[serde(default)]
    pub receive_window: Option<u64>,
    /// Whether the flow sends only when it is told to (`Network::resume_flow`). Such a flow has no end.
    #[serde(default)]
    pub on_demand: bool,
}

/// Messages that an application writes again and again (Emina et al., ICN 2011, section IV.A).
///
/// Message i = 1, 2, ... is written at `period * (x + i)`, x uniform in -0.5 to 0.5. All flows of a host have
/// the same x: a host has the same to say to everyone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessagesSpec {
    /// Bytes of a message; they are rounded up to whole packets, as ns-2 does.
    pub bytes: u64,
    /// The mean time from one message to the next.
    pub period_ns: u64,
}

impl MessagesSpec {
    /// The reason why there can be no such messages; `beside`: bytes to send besides them.
    pub(crate) fn problem(&self, beside: Option<u64>) -> Option<&'static str> {
        match (beside, self) {
            (Some(_), _) => Some("go with a connection without end; leave out one of messages and bytes"),
            (_, MessagesSpec { bytes: 0, .. }) => Some("of no bytes say nothing; write how large they are"),
            (_, MessagesSpec { period_ns: 0, .. }) => {
                Some("need time between them; write a period above zero")
            }
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoneSpec {
    /// The name in results.
    pub name: String,
    /// The host that the machine runs on.
    pub host: String,
    pub udp_port: u16,
    /// When the machine begins; before, it receives nothing.
    #[serde(default)]
    pub start_ns: u64,
    /// When a rim leaves.
    #[serde(default)]
    pub stop_ns: Option<u64>,
    pub role: BoneRole,
}

/// The role of a host in a round multicast.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum BoneRole {
    Hub {
        bytes: u64,
        config: Box<HubConfig>,
    },
    Rim {
        /// Whether the rim forgets its packets when the hub goes back.
        #[serde(default)]
        forgets: bool,
    },
}
