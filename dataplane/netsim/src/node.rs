//! The nodes at the ends of links.

use groupflow_base::{BitRate, Nanos};

use crate::fifo::Fifo;
use crate::host::agent::SplitNode;
use crate::host::HostInterface;
use crate::sample::NodeSample;
use crate::switch::P4Switch;
use crate::wiring::Exit;

#[derive(Debug)]
pub enum SimNode {
    /// A host, where flows begin and end.
    Host(Box<HostInterface>),
    /// A router without P4, a satellite, or its ground station.
    Fifo(Box<Fifo>),
    Switch(Box<P4Switch>),
    Agent(Box<SplitNode>),
}

impl SimNode {
    /// When the node has something to do by itself.
    #[inline]
    pub fn deadline(&mut self) -> Nanos {
        match self {
            SimNode::Host(host) => host.deadline(),
            SimNode::Fifo(_) => Nanos::MAX,
            SimNode::Switch(switch) => switch.deadline(),
            SimNode::Agent(agent) => agent.deadline(),
        }
    }

    /// Sets the rate at which frames leave by a port of a host or a router without P4.
    pub fn set_rate(&mut self, port: u16, rate: BitRate) -> Option<()> {
        match self {
            SimNode::Host(host) => host.rate = Some(rate),
            SimNode::Fifo(router) => router.ports.get(port)?.queue.rate = Some(rate),
            _ => return None,
        }
        Some(())
    }

    /// Carries out everything due.
    pub fn advance(&mut self, exit: &mut Exit<'_>) {
        match self {
            SimNode::Host(host) => host.advance(exit),
            SimNode::Fifo(_) => {}
            SimNode::Switch(switch) => switch.advance(exit),
            SimNode::Agent(agent) => agent.advance(exit),
        }
    }

    /// Handles a frame that arrives.
    #[inline]
    pub fn receive(&mut self, port: u16, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        match self {
            SimNode::Host(host) => host.receive(head, tail, exit),
            SimNode::Fifo(fifo) => fifo.receive(port, head, tail, exit),
            SimNode::Switch(switch) => switch.receive(port, head, tail, exit),
            SimNode::Agent(agent) => agent.receive(port, head, tail, exit),
        }
    }

    /// Whether a frame that arrives is one hop more.
    pub fn forwards(&self) -> bool {
        !matches!(self, SimNode::Host(_))
    }

    /// Measures flows, queues, caches, drops and signals.
    pub fn sample(&mut self, now: Nanos, sample: &mut NodeSample<'_>) {
        match self {
            SimNode::Host(host) => host.sample(sample),
            SimNode::Fifo(fifo) => fifo.sample(now, sample),
            SimNode::Switch(switch) => switch.sample(sample),
            SimNode::Agent(agent) => agent.sample(sample),
        }
    }
}
