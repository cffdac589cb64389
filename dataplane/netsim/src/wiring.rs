//! The links of a network, and the times of all that is due.

use groupflow_base::min_tree::MinTree;
use groupflow_base::Nanos;

use crate::ids::{LinkId, NodeId};
use crate::link::Link;
use crate::trace::{TraceKind, Tracer};

/// The subject of a leaf of an island's tree.
#[derive(Debug, Clone, Copy)]
pub enum Subject {
    Deadline(NodeId),
    Arrival(LinkId),
}

/// A leaf of an island's tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Leaf {
    pub island: usize,
    pub place: usize,
}

/// Nodes that are joined by links without delay.
#[derive(Debug)]
pub struct Island {
    /// A leaf for each node's own deadline and for the next arrival at each of its ports.
    pub tree: MinTree,
    pub subjects: Vec<Subject>,
    /// The least delay of the links from other islands.
    pub lookahead: Nanos,
}

impl Island {
    /// An island in which nothing is due.
    pub fn new(subjects: Vec<Subject>, lookahead: Nanos) -> Island {
        Island { tree: MinTree::new(subjects.len()), subjects, lookahead }
    }
}

#[derive(Debug)]
pub struct Wiring {
    /// The links, by id.
    pub links: Vec<Link>,
    pub islands: Vec<Island>,
    /// When the next event of each island is due.
    pub order: MinTree,
    /// The events recorded, if the caller asked for a trace.
    pub tracer: Option<Tracer>,
}

impl Wiring {
    pub fn new(links: Vec<Link>, islands: Vec<Island>) -> Wiring {
        let order = MinTree::new(islands.len());
        Wiring { links, islands, order, tracer: None }
    }

    /// Sets when the subject of a leaf is due.
    #[inline]
    pub fn set(&mut self, leaf: Leaf, time: Nanos) {
        let tree = &mut self.islands[leaf.island].tree;
        tree.set(leaf.place, time);
        self.order.set(leaf.island, tree.time());
    }
}

/// The wiring, seen from a node that sends.
pub struct Exit<'a> {
    pub wiring: &'a mut Wiring,
    /// The link behind each of the node's ports.
    pub ports: &'a [Option<LinkId>],
    pub now: Nanos,
    pub node: NodeId,
}

impl Exit<'_> {
    /// Sends a frame whose last bit enters the link behind `port` at `sent`, which is not before now, and
    /// never earlier than for the port's frame before. False: the port has no link.
    #[inline(always)]
    pub fn send(&mut self, port: u16, sent: Nanos, head: &[u8], tail: u32) -> bool {
        let Some(Some(link)) = self.ports.get(usize::from(port)) else { return false };
        let link = &mut self.wiring.links[link.index()];
        let before = link.queue.next();
        if link.carry(sent, head, tail) {
            // Only the first frame on a link changes when the next one arrives.
            let (leaf, next) = (link.end.leaf, link.queue.next());
            if next != before {
                self.wiring.set(leaf, next);
            }
        } else if let Some(tracer) = &mut self.wiring.tracer {
            tracer.record(self.now, self.node, TraceKind::Lost, port, head, tail);
        }
        true
    }
}
