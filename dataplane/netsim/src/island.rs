//! A part of the network that runs by itself for a while: nodes joined by links without delay.

use groupflow_base::Nanos;

use crate::drops::{DropList, Drops};
use crate::error::RunError;
use crate::ids::NodeId;
use crate::node::SimNode;
use crate::sample::{LinkSample, Sample};
use crate::trace::TraceKind;
use crate::wiring::{Exit, Wiring};

/// Events at one instant after which time is taken to stand still.
const INSTANT_LIMIT: u32 = 1 << 24;

#[derive(Debug)]
pub struct NodeSlot {
    pub id: NodeId,
    pub node: SimNode,
    pub outlets: Vec<u32>,
    /// The leaf of the tree for its own deadline.
    pub leaf: usize,
}

/// The subject of a leaf of the tree.
#[derive(Debug, Clone, Copy)]
pub enum Leaf {
    Deadline(usize),
    Inlet(usize),
}

/// Nodes, the links between them, and the ends of links from and to other islands.
///
/// Leaves are in the order of nodes; a node's deadline comes before its ports. With the tree's rule
/// for equal times, events are in total order.
#[derive(Debug)]
pub struct Island {
    /// The nodes, by id.
    pub slots: Vec<NodeSlot>,
    pub wiring: Wiring,
    pub leaves: Vec<Leaf>,
    /// Frames that switches and routers took.
    pub hops: u64,
}

impl Island {
    /// An island whose nodes have not started.
    pub fn new(slots: Vec<NodeSlot>, wiring: Wiring, leaves: Vec<Leaf>) -> Island {
        let mut island = Island { slots, wiring, leaves, hops: 0 };
        for slot in &mut island.slots {
            island.wiring.tree.set(slot.leaf, slot.node.deadline());
        }
        island
    }

    /// The time of the island's next event.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.wiring.tree.time()
    }

    /// Carries out all events before `end`.
    pub fn run(&mut self, end: Nanos) -> Result<(), RunError> {
        let (mut instant, mut events) = (Nanos::ZERO, 0);
        loop {
            let now = self.wiring.tree.time();
            if now >= end {
                return Ok(());
            }
            if now == instant {
                events += 1;
                if events > INSTANT_LIMIT {
                    return Err(RunError::Stuck { time: now, node: self.slots[0].id });
                }
            } else {
                (instant, events) = (now, 0);
            }
            match self.leaves[self.wiring.tree.first()] {
                Leaf::Inlet(inlet) => self.arrive(now, inlet),
                Leaf::Deadline(place) => {
                    let (node, mut exit) = at(&mut self.slots[place], &mut self.wiring, now, place);
                    node.advance(&mut exit);
                    self.reschedule(place);
                }
            }
        }
    }

    #[inline]
    fn arrive(&mut self, now: Nanos, number: usize) {
        let inlet = &mut self.wiring.inlets[number];
        let (place, port) = (inlet.place, inlet.port);
        let Some(mut frame) = inlet.queue.lend() else { return };
        let (slot, tail) = (&mut self.slots[place], frame.tail);
        if let Some(tracer) = &mut self.wiring.tracer {
            tracer.record(now, place, slot.id, TraceKind::Received, port, frame.head(), tail);
        }
        self.hops += u64::from(slot.node.forwards());
        let (node, mut exit) = at(slot, &mut self.wiring, now, place);
        node.receive(port, frame.head(), tail, &mut exit);
        let inlet = &mut self.wiring.inlets[number];
        inlet.queue.give_back(frame);
        self.wiring.tree.set(inlet.leaf, inlet.queue.next());
        self.reschedule(place);
    }

    #[inline]
    fn reschedule(&mut self, place: usize) {
        let slot = &mut self.slots[place];
        self.wiring.tree.set(slot.leaf, slot.node.deadline());
    }

    /// Notes that a caller from outside changed a node.
    pub fn touched(&mut self, place: usize) {
        self.reschedule(place);
    }

    /// Measures all nodes and links; `now` is not before any event that has happened.
    pub fn sample(&mut self, now: Nanos, sample: &mut Sample) {
        for slot in &mut self.slots {
            slot.node.sample(now, slot.id, &mut sample.flows, &mut sample.queues);
            sample.caches.extend(slot.node.cache(slot.id));
            slot.node.signals(&mut DropList { node: slot.id, drops: &mut sample.signals });
        }
        for outlet in &mut self.wiring.outlets {
            for transit in &mut outlet.transits {
                let (packets, bytes) = transit.sample();
                let flow = &mut sample.flows[transit.flow.index()];
                flow.in_transit_packets += packets;
                flow.in_transit_bytes += bytes;
            }
        }
        self.links(&mut sample.links);
        self.drops(&mut sample.drops);
        sample.hops += self.hops;
    }

    fn links(&mut self, links: &mut Vec<LinkSample>) {
        for slot in &self.slots {
            for (port, &outlet) in (0..).zip(&slot.outlets) {
                if let Some(outlet) = self.wiring.outlets.get_mut(outlet as usize) {
                    let (frames, bytes) = outlet.sample();
                    links.push(LinkSample { node: slot.id, port, frames, bytes });
                }
            }
        }
    }

    fn drops(&self, drops: &mut Drops) {
        for slot in &self.slots {
            let mut list = DropList { node: slot.id, drops };
            slot.node.drops(&mut list);
            for (port, &outlet) in (0..).zip(&slot.outlets) {
                if let Some(outlet) = self.wiring.outlets.get(outlet as usize) {
                    list.at_port(port, "loss", outlet.counters.lost);
                    list.at_port(port, "down", outlet.counters.down);
                }
            }
        }
    }
}

/// A node, and its way to send.
fn at<'a>(
    slot: &'a mut NodeSlot, wiring: &'a mut Wiring, now: Nanos, place: usize,
) -> (&'a mut SimNode, Exit<'a>) {
    let exit = Exit { wiring, outlets: &slot.outlets, now, node: slot.id, place };
    (&mut slot.node, exit)
}
