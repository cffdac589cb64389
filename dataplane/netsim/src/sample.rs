//! The measurements of an instant.

use groupflow_base::Nanos;

use crate::drops::Drops;
use crate::ids::NodeId;

/// The state of a flow. Counts are from the beginning of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FlowSample {
    /// Packets the sender sent, repeated ones included.
    pub sent_packets: u64,
    /// Payload bytes an application handed over (of TCP with messages).
    pub offered_bytes: Option<u64>,
    /// Packets the receiver took (of TCP: that arrived).
    pub delivered_packets: u64,
    /// Payload bytes the receiver delivered (of TCP: in order).
    pub delivered_bytes: u64,
    /// Sum of the packets' times on the way (UDP).
    pub delay_ns: u128,
    /// Packets that came after a later one (UDP).
    pub reordered: u64,
    /// Packets on the links of the path.
    pub in_transit_packets: u64,
    /// Bytes on the links of the path.
    pub in_transit_bytes: u64,
    /// The rate a shaped flow was told, Q26.6 packets/s.
    pub shaped_rate: Option<u32>,
    /// Whether a sender or receiver of a group session is done.
    pub finished: Option<bool>,
    /// Packets that the sender of a group session sent again.
    pub retransmissions: Option<u64>,
    pub tcp: Option<TcpSample>,
    /// A round multicast hub's transfer, when it is over.
    pub bone: Option<BoneSample>,
}

/// A transfer of round multicast.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BoneSample {
    pub done: bool,
    /// Time from the first message to the end.
    pub duration: Nanos,
    /// Payload bytes sent.
    pub sent_bytes: u64,
    /// Packets that carried these bytes.
    pub packets: u64,
    pub rounds: u32,
    /// Reception results that came.
    pub answers: u64,
    /// Rims that said that they have everything.
    pub complete: u32,
    /// Rims that were given up.
    pub lost: u32,
}

/// The state of a TCP sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TcpSample {
    /// Congestion window, in segments.
    pub window: f64,
    /// Slow-start threshold, in segments.
    pub threshold: f64,
    /// Segments in flight.
    pub in_flight: u64,
    /// Smoothed round-trip time.
    pub round_trip: Nanos,
    /// Segments sent again.
    pub retransmissions: u64,
    pub timeouts: u64,
    pub fast_retransmits: u64,
    /// Reductions of the window for marked packets.
    pub ecn_reductions: u64,
    /// Whether all data to be sent is acknowledged.
    pub finished: bool,
}

/// The packets and bytes that wait in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSample {
    pub node: NodeId,
    pub port: u16,
    pub queue: u8,
    /// Packets, without the one being sent.
    pub packets: u32,
    /// Bytes of these packets.
    pub bytes: u64,
}

/// The frames that a node has sent out of a port, lost ones included, from the beginning of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSample {
    pub node: NodeId,
    pub port: u16,
    pub frames: u64,
    /// Bytes of these frames.
    pub bytes: u64,
}

/// The bytes that a split agent, or a cache agent, holds because some branch has not acknowledged them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheSample {
    pub node: NodeId,
    /// Bytes of all its streams.
    pub bytes: u64,
    /// The most bytes that were ever held.
    pub peak_bytes: u64,
}

/// The state of the network at an instant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    pub time: Nanos,
    /// The flows, by number.
    pub flows: Vec<FlowSample>,
    /// All queues, in the order of nodes, ports and queues.
    pub queues: Vec<QueueSample>,
    /// Both directions of all links, in the order of nodes and ports.
    pub links: Vec<LinkSample>,
    /// The caches of all agents, in the order of nodes.
    pub caches: Vec<CacheSample>,
    /// The drops from the beginning of the run.
    pub drops: Drops,
    /// Frames marked (`ecn_marked`) and neighbours told to stop (`pauses`), from the beginning of the run.
    pub signals: Drops,
    /// Frames that switches and routers took from the beginning of the run.
    pub hops: u64,
}
