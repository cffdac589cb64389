//! The measurements of an instant.

use std::collections::BTreeMap;

use groupflow_base::Nanos;
use serde::Serialize;

use crate::ids::{FlowId, NodeId};
use crate::tcp::TcpSenderStats;

/// The state of a flow. Counts are from the beginning of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FlowSample {
    /// Packets the sender sent, repeated ones included.
    pub sent_packets: u64,
    /// Payload bytes an application handed over (of TCP with messages).
    pub offered_bytes: Option<u64>,
    /// Packets the receiver took (of TCP: that arrived).
    pub delivered_packets: u64,
    /// Payload bytes the receiver delivered (of TCP: in order); `None`: nothing here receives.
    pub delivered_bytes: Option<u64>,
    /// Payload bytes that all receivers have acknowledged (senders of group sessions, hubs).
    pub acknowledged_bytes: Option<u64>,
    /// When the source sent its first packet; to a group: its first payload.
    pub first: Option<Nanos>,
    /// When the receiver delivered its latest payload; of a sender to a group: when the transfer was
    /// complete.
    pub latest: Option<Nanos>,
    /// Sum of the packets' times on the way (UDP).
    pub delay_ns: Option<u128>,
    /// Packets that came after a later one (UDP).
    pub reordered: u64,
    /// Packets on the links of the path.
    pub in_transit_packets: u64,
    /// Bytes on the links of the path.
    pub in_transit_bytes: u64,
    /// The rate a shaped flow was told, Q26.6 packets/s.
    pub shaped_rate: Option<u32>,
    /// Whether a TCP sender, or a sender or receiver of a group session, is done.
    pub finished: Option<bool>,
    /// Packets that the sender sent again (TCP, group sessions).
    pub retransmissions: Option<u64>,
    /// Packets that a receiver of a group session got as repairs, or that a cache agent sent as such.
    pub repairs: Option<u64>,
    pub tcp: Option<TcpSenderStats>,
    /// A round multicast hub's transfer, when it is over.
    pub bone: Option<BoneSample>,
    /// A host's place in a clustered tree.
    pub tree: Option<TreeSample>,
}

/// A host of a clustered tree, as results have it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct TreeSample {
    /// The parent, by its place among the tree's members.
    pub parent: Option<u64>,
    /// Whether the host ever had a parent.
    pub joined: bool,
    /// Orders to another parent since then.
    pub moves: u64,
    /// Reports that data accumulate for a child of the host.
    pub backlogs: u64,
    /// Bytes that the host's reader was told it will not get.
    pub skipped: u64,
    /// Whether the stream was broken off at this host.
    pub cut_off: bool,
    /// Whether the host has the whole stream.
    pub complete: bool,
}

/// A transfer of round multicast, as results have it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct BoneSample {
    pub done: bool,
    /// Time from the first message to the end.
    pub duration_s: f64,
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

/// The place and the reason of drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DropSite {
    pub node: NodeId,
    /// The port, where the drop was at one.
    pub port: Option<u16>,
    /// The queue, where the drop was at one.
    pub queue: Option<u8>,
    /// The reason: the name of a counter, such as `queue_full`.
    pub reason: &'static str,
}

/// The number of dropped packets, by place and reason.
pub type Drops = BTreeMap<DropSite, u64>;

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
    /// Frames marked (`ecn_marked`), packets that had done their work
    /// (`absorbed`) and TCP streams that agents gave up (`aborted`), from the beginning of the run.
    pub signals: Drops,
    /// Frames that switches and routers took from the beginning of the run.
    pub hops: u64,
}

/// The part of a sample that a node measures. Counters that are zero are left out.
pub struct NodeSample<'a> {
    pub node: NodeId,
    pub sample: &'a mut Sample,
}

impl NodeSample<'_> {
    pub fn flow(&mut self, flow: FlowId) -> &mut FlowSample {
        &mut self.sample.flows[flow.index()]
    }

    pub fn queue(&mut self, port: u16, queue: u8, packets: u32, bytes: u64) {
        self.sample.queues.push(QueueSample { node: self.node, port, queue, packets, bytes });
    }

    pub fn link(&mut self, port: u16, frames: u64, bytes: u64) {
        self.sample.links.push(LinkSample { node: self.node, port, frames, bytes });
    }

    pub fn cache(&mut self, bytes: u64, peak_bytes: u64) {
        self.sample.caches.push(CacheSample { node: self.node, bytes, peak_bytes });
    }

    /// Adds packets that the node itself dropped.
    pub fn dropped(&mut self, reason: &'static str, packets: u64) {
        count(&mut self.sample.drops, DropSite { node: self.node, port: None, queue: None, reason }, packets);
    }

    pub fn dropped_at(&mut self, port: u16, reason: &'static str, packets: u64) {
        let site = DropSite { node: self.node, port: Some(port), queue: None, reason };
        count(&mut self.sample.drops, site, packets);
    }

    pub fn dropped_by_queue(&mut self, port: u16, queue: u8, packets: u64) {
        let (port, queue) = (Some(port), Some(queue));
        let site = DropSite { node: self.node, port, queue, reason: "queue_full" };
        count(&mut self.sample.drops, site, packets);
    }

    /// Adds events that are no drops, at a port or of the whole node.
    pub fn signalled(&mut self, port: Option<u16>, reason: &'static str, packets: u64) {
        let site = DropSite { node: self.node, port, queue: None, reason };
        count(&mut self.sample.signals, site, packets);
    }
}

fn count(drops: &mut Drops, site: DropSite, packets: u64) {
    if packets > 0 {
        *drops.entry(site).or_default() += packets;
    }
}
