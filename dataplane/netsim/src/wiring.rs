//! The links at and within an island, and the next event due there.

use groupflow_base::min_tree::MinTree;
use groupflow_base::Nanos;

use crate::frame_queue::{append, FrameQueue};
use crate::ids::NodeId;
use crate::outlet::{LinkTarget, Outlet};
use crate::trace::{TraceKind, Tracer};

/// No outlet: the port has no link.
pub const UNCONNECTED: u32 = u32::MAX;

/// The far end of a link: the frames on their way to a node.
#[derive(Debug)]
pub struct Inlet {
    /// The frames, by when they arrive.
    pub queue: FrameQueue,
    /// The inlet's leaf of the tree.
    pub leaf: usize,
    /// The node's place in the island.
    pub place: usize,
    pub port: u16,
}

/// The links of an island, with a leaf in the tree for each inlet and each node's own deadline.
#[derive(Debug)]
pub struct Wiring {
    /// Near ends.
    pub outlets: Vec<Outlet>,
    /// Far ends.
    pub inlets: Vec<Inlet>,
    /// The times of all that is due.
    pub tree: MinTree,
    /// The earliest arrival among the frames for other islands, of this window.
    pub earliest: Nanos,
    /// The events recorded, if the caller asked for a trace.
    pub tracer: Option<Tracer>,
}

impl Wiring {
    /// Appends to an inlet the frames that another island sent there.
    pub fn take(&mut self, inlet: usize, batch: &mut Vec<u8>) {
        let inlet = &mut self.inlets[inlet];
        inlet.queue.take(batch);
        self.tree.set(inlet.leaf, inlet.queue.next());
    }
}

/// The wiring, seen from a node that sends.
pub struct Exit<'a> {
    pub wiring: &'a mut Wiring,
    /// The outlet of each of the node's ports.
    pub outlets: &'a [u32],
    /// The virtual time.
    pub now: Nanos,
    pub node: NodeId,
    /// The node's place in the island.
    pub place: usize,
}

impl Exit<'_> {
    /// Sends a frame whose last bit enters the link behind `port` at `sent`, which is not before now, and
    /// never earlier than for the port's frame before. False: the port has no link.
    #[inline(always)]
    pub fn send(&mut self, port: u16, sent: Nanos, head: &[u8], tail: u32) -> bool {
        let number = self.outlets.get(usize::from(port)).copied().unwrap_or(UNCONNECTED);
        let Some(outlet) = self.wiring.outlets.get_mut(number as usize) else { return false };
        if !outlet.carry(sent, head, tail) {
            if let Some(tracer) = &mut self.wiring.tracer {
                tracer.record(self.now, self.place, self.node, TraceKind::Lost, port, head, tail);
            }
            return true;
        }
        let arrival = sent + outlet.delay;
        match outlet.destination {
            LinkTarget::Mailbox(_) => {
                append(&mut outlet.batch, arrival, head, tail);
                self.wiring.earliest = self.wiring.earliest.min(arrival);
            }
            LinkTarget::Inlet(inlet) => {
                let inlet = &mut self.wiring.inlets[inlet];
                inlet.queue.push(arrival, head, tail);
                self.wiring.tree.set(inlet.leaf, inlet.queue.next());
            }
        }
        true
    }
}
