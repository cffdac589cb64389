//! Drops: their places and reasons.

use std::collections::BTreeMap;

use crate::ids::NodeId;

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

/// Enters a node's counters into [`Drops`], without those that are zero.
pub struct DropList<'a> {
    pub node: NodeId,
    /// The map to which the counters are added.
    pub drops: &'a mut Drops,
}

impl DropList<'_> {
    /// Adds packets of the node itself.
    pub fn at_node(&mut self, reason: &'static str, packets: u64) {
        self.add(None, None, reason, packets);
    }

    pub fn at_port(&mut self, port: u16, reason: &'static str, packets: u64) {
        self.add(Some(port), None, reason, packets);
    }

    pub fn at_queue(&mut self, port: u16, queue: u8, packets: u64) {
        self.add(Some(port), Some(queue), "queue_full", packets);
    }

    fn add(&mut self, port: Option<u16>, queue: Option<u8>, reason: &'static str, packets: u64) {
        if packets > 0 {
            *self.drops.entry(DropSite { node: self.node, port, queue, reason }).or_default() += packets;
        }
    }
}
