//! The nodes at the ends of links.

use groupflow_base::Nanos;

use crate::broadcast::Broadcast;
use crate::drops::DropList;
use crate::fifo::Fifo;
use crate::host::agent::SplitNode;
use crate::host::HostInterface;
use crate::ids::NodeId;
use crate::pausable::Pausable;
use crate::sample::{CacheSample, FlowSample, QueueSample};
use crate::switch::P4Switch;
use crate::wiring::Exit;

#[derive(Debug)]
pub enum SimNode {
    /// A host, where flows begin and end.
    Host(Box<HostInterface>),
    /// A router without P4.
    Fifo(Box<Fifo>),
    /// A satellite, or its ground station.
    Broadcast(Box<Broadcast>),
    /// A router without P4 that neighbours can pause.
    Pausable(Box<Pausable>),
    Switch(Box<P4Switch>),
    Agent(Box<SplitNode>),
}

impl SimNode {
    /// When the node has something to do by itself.
    #[inline]
    pub fn deadline(&mut self) -> Nanos {
        match self {
            SimNode::Host(host) => host.deadline(),
            SimNode::Fifo(_) | SimNode::Broadcast(_) => Nanos::MAX,
            SimNode::Pausable(router) => router.deadline(),
            SimNode::Switch(switch) => switch.deadline(),
            SimNode::Agent(agent) => agent.deadline(),
        }
    }

    /// Carries out everything due.
    pub fn advance(&mut self, exit: &mut Exit<'_>) {
        match self {
            SimNode::Host(host) => host.advance(exit),
            SimNode::Fifo(_) | SimNode::Broadcast(_) => {}
            SimNode::Pausable(router) => router.advance(exit),
            SimNode::Switch(switch) => switch.advance(exit),
            SimNode::Agent(agent) => agent.advance(exit),
        }
    }

    /// Handles a frame that arrives.
    #[inline]
    pub fn receive(&mut self, port: u16, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        match self {
            SimNode::Host(host) => host.receive(head, tail, exit),
            SimNode::Fifo(fifo) => fifo.receive(head, tail, exit),
            SimNode::Broadcast(node) => node.receive(port, head, tail, exit),
            SimNode::Pausable(router) => router.receive(port, head, tail, exit),
            SimNode::Switch(switch) => switch.receive(port, head, tail, exit),
            SimNode::Agent(agent) => agent.receive(port, head, tail, exit),
        }
    }

    /// Whether a frame that arrives is one hop more.
    pub fn forwards(&self) -> bool {
        !matches!(self, SimNode::Host(_))
    }

    /// Measures flows and queues.
    pub fn sample(
        &mut self, now: Nanos, node: NodeId, flows: &mut [FlowSample], queues: &mut Vec<QueueSample>,
    ) {
        let mut push = |port, queue, packets, bytes| {
            queues.push(QueueSample { node, port, queue, packets, bytes });
        };
        match self {
            SimNode::Host(host) => host.sample(flows),
            SimNode::Agent(agent) => agent.sample(flows),
            SimNode::Fifo(fifo) => fifo.queues(now, |port, packets, bytes| push(port, 0, packets, bytes)),
            SimNode::Broadcast(node) => {
                node.queues(now, |port, packets, bytes| push(port, 0, packets, bytes))
            }
            SimNode::Pausable(router) => router.queues(|port, packets, bytes| push(port, 0, packets, bytes)),
            SimNode::Switch(switch) => switch.queues(push),
        }
    }

    pub fn cache(&self, node: NodeId) -> Option<CacheSample> {
        match self {
            SimNode::Agent(agent) => Some(agent.cache(node)),
            SimNode::Host(host) => host.cache(node),
            _ => None,
        }
    }

    /// Lists the marks and pauses that the node told senders and neighbours.
    pub fn signals(&self, list: &mut DropList<'_>) {
        match self {
            SimNode::Fifo(fifo) => fifo.signals(list),
            SimNode::Pausable(router) => router.signals(list),
            SimNode::Host(_) | SimNode::Broadcast(_) | SimNode::Switch(_) | SimNode::Agent(_) => {}
        }
    }

    pub fn drops(&self, list: &mut DropList<'_>) {
        match self {
            SimNode::Host(host) => host.drops(list),
            SimNode::Fifo(fifo) => fifo.drops(list),
            SimNode::Broadcast(node) => node.drops(list),
            SimNode::Pausable(router) => router.drops(list),
            SimNode::Switch(switch) => switch.drops(list),
            SimNode::Agent(agent) => agent.drops(list),
        }
    }
}
