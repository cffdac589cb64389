//! The nodes at the ends of links.

use groupflow_base::Nanos;

use crate::agent::Agent;
use crate::broadcast::Broadcast;
use crate::drops::DropList;
use crate::fifo::Fifo;
use crate::host::Host;
use crate::ids::NodeId;
use crate::pausable::Pausable;
use crate::sample::{CacheSample, FlowSample, QueueSample};
use crate::switch::P4Switch;
use crate::wiring::Exit;

/// A node.
#[derive(Debug)]
pub enum Node {
    /// A host, where flows begin and end.
    Host(Box<Host>),
    /// A router without P4.
    Fifo(Box<Fifo>),
    /// A satellite, or its ground station.
    Broadcast(Box<Broadcast>),
    /// A router without P4 that neighbours can pause.
    Pausable(Box<Pausable>),
    /// A switch that runs a P4 program.
    Switch(Box<P4Switch>),
    /// A split agent.
    Agent(Box<Agent>),
}

impl Node {
    /// When the node has something to do by itself.
    #[inline]
    pub fn deadline(&mut self) -> Nanos {
        match self {
            Node::Host(host) => host.deadline(),
            Node::Fifo(_) | Node::Broadcast(_) => Nanos::MAX,
            Node::Pausable(router) => router.deadline(),
            Node::Switch(switch) => switch.deadline(),
            Node::Agent(agent) => agent.deadline(),
        }
    }

    /// Carries out everything due.
    pub fn advance(&mut self, exit: &mut Exit<'_>) {
        match self {
            Node::Host(host) => host.advance(exit),
            Node::Fifo(_) | Node::Broadcast(_) => {}
            Node::Pausable(router) => router.advance(exit),
            Node::Switch(switch) => switch.advance(exit),
            Node::Agent(agent) => agent.advance(exit),
        }
    }

    /// Handles a frame that arrives.
    #[inline]
    pub fn receive(&mut self, port: u16, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        match self {
            Node::Host(host) => host.receive(head, tail, exit),
            Node::Fifo(fifo) => fifo.receive(head, tail, exit),
            Node::Broadcast(node) => node.receive(port, head, tail, exit),
            Node::Pausable(router) => router.receive(port, head, tail, exit),
            Node::Switch(switch) => switch.receive(port, head, tail, exit),
            Node::Agent(agent) => agent.receive(port, head, tail, exit),
        }
    }

    /// Whether a frame that arrives is one hop more.
    pub fn forwards(&self) -> bool {
        !matches!(self, Node::Host(_))
    }

    /// Measures flows and queues.
    pub fn sample(
        &mut self,
        now: Nanos,
        node: NodeId,
        flows: &mut [FlowSample],
        queues: &mut Vec<QueueSample>,
    ) {
        let mut push = |port, queue, packets, bytes| {
            queues.push(QueueSample { node, port, queue, packets, bytes });
        };
        match self {
            Node::Host(host) => host.sample(flows),
            Node::Agent(agent) => agent.sample(flows),
            Node::Fifo(fifo) => fifo.queues(now, |port, packets, bytes| push(port, 0, packets, bytes)),
            Node::Broadcast(node) => node.queues(now, |port, packets, bytes| push(port, 0, packets, bytes)),
            Node::Pausable(router) => router.queues(|port, packets, bytes| push(port, 0, packets, bytes)),
            Node::Switch(switch) => switch.queues(push),
        }
    }

    /// Measures the caches of an agent.
    pub fn caches(&self, node: NodeId, caches: &mut Vec<CacheSample>) {
        if let Node::Agent(agent) = self {
            caches.push(agent.cache(node));
        }
    }

    /// Lists the marks and pauses that the node told senders and neighbours.
    pub fn signals(&self, list: &mut DropList<'_>) {
        match self {
            Node::Fifo(fifo) => fifo.signals(list),
            Node::Pausable(router) => router.signals(list),
            Node::Host(_) | Node::Broadcast(_) | Node::Switch(_) | Node::Agent(_) => {}
        }
    }

    /// Lists the drops.
    pub fn drops(&self, list: &mut DropList<'_>) {
        match self {
            Node::Host(host) => host.drops(list),
            Node::Fifo(fifo) => fifo.drops(list),
            Node::Broadcast(node) => node.drops(list),
            Node::Pausable(router) => router.drops(list),
            Node::Switch(switch) => switch.drops(list),
            Node::Agent(agent) => agent.drops(list),
        }
    }
}
