//! Runs a network: the events of each island in total order.
//!
//! Nodes joined by links without delay form an island. A tournament tree has a leaf for the deadline of each
//! of its nodes and one for the next arrival at each of their ports. Leaves are in the order of nodes; a
//! node's deadline comes before its ports. Of equal times the lowest leaf is the first, so that the order is
//! total.
//!
//! The island with the earliest event runs next, for as long as its lookahead: the least delay of the links
//! from other islands. Nothing that happens there can reach it sooner. So a node handles many frames one
//! after the other, while its state is in the processor's caches.

use std::ops::ControlFlow;

use groupflow_base::Nanos;

use crate::error::RunError;
use crate::ids::{LinkId, NodeId};
use crate::link::FarEnd;
use crate::network::Network;
use crate::node::SimNode;
use crate::sample::{FlowSample, NodeSample, Sample};
use crate::trace::{TraceKind, TraceRecord};
use crate::wiring::{Exit, Leaf, Subject};

/// The longest window, so that progress is told and memory for traces stays bounded.
const LONGEST_WINDOW: Nanos = Nanos::from_millis(10);
/// Events at one instant after which time is taken to stand still.
const INSTANT_LIMIT: u32 = 1 << 24;

/// An observer of a run, which it is told of between windows.
pub trait Observer {
    fn sample(&mut self, _sample: &Sample) {}

    /// The events since the last call, in total order.
    fn trace(&mut self, _records: &[TraceRecord]) {}

    /// Notes that time has come to `now`. `Break` ends the run with the window that follows; the run can be
    /// taken up again.
    fn progress(&mut self, _now: Nanos) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Observer for () {}

#[derive(Debug)]
pub struct NodeSlot {
    pub node: SimNode,
    /// The link behind each port; `None`: the port has none.
    pub ports: Vec<Option<LinkId>>,
    /// The leaf for its own deadline.
    pub leaf: Leaf,
}

impl Network {
    /// Runs until the end of the scenario, or until the observer breaks the run off.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<(), RunError> {
        self.run_until(Nanos(self.spec.duration_ns), observer)
    }

    /// Runs until `until`, or until the observer breaks the run off. Events at `until` itself have then
    /// not happened yet.
    pub fn run_until(&mut self, until: Nanos, observer: &mut dyn Observer) -> Result<(), RunError> {
        while self.now < until {
            let stop = observer.progress(self.now).is_break();
            // If there is nothing to do, time goes on to the next event.
            let reach = self.wiring.order.time().max(self.now).saturating_add(LONGEST_WINDOW);
            let end = reach.min(self.next_sample).min(until);
            self.window(end)?;
            self.now = end;
            if let Some(tracer) = &mut self.wiring.tracer {
                tracer.tell(observer);
            }
            if end == self.next_sample {
                self.next_sample += Nanos(self.spec.sample_ns);
                observer.sample(&self.sample());
            }
            if stop {
                break;
            }
        }
        Ok(())
    }

    /// Carries out all events before `end`.
    fn window(&mut self, end: Nanos) -> Result<(), RunError> {
        while self.wiring.order.time() < end {
            let island = self.wiring.order.first();
            let reach = self.wiring.order.time().saturating_add(self.wiring.islands[island].lookahead);
            self.run_island(island, reach.min(end))?;
        }
        Ok(())
    }

    /// Carries out all events of an island before `end`.
    fn run_island(&mut self, number: usize, end: Nanos) -> Result<(), RunError> {
        let (mut instant, mut events) = (Nanos::ZERO, 0);
        loop {
            let island = &self.wiring.islands[number];
            let now = island.tree.time();
            if now >= end {
                self.wiring.order.set(number, now);
                return Ok(());
            }
            if now > instant {
                (instant, events) = (now, 0);
            }
            events += 1;
            let subject = island.subjects[island.tree.first()];
            if events > INSTANT_LIMIT {
                let node = match subject {
                    Subject::Deadline(node) => node,
                    Subject::Arrival(link) => self.wiring.links[link.index()].end.node,
                };
                return Err(RunError { time: now, node });
            }
            let node = match subject {
                Subject::Arrival(link) => self.arrive(now, link),
                Subject::Deadline(node) => {
                    let slot = &mut self.nodes[node.index()];
                    let mut exit = Exit { wiring: &mut self.wiring, ports: &slot.ports, now, node };
                    slot.node.advance(&mut exit);
                    node
                }
            };
            let slot = &mut self.nodes[node.index()];
            self.wiring.islands[number].tree.set(slot.leaf.place, slot.node.deadline());
        }
    }

    /// Hands the next frame of a link to the node at its end, which is returned.
    #[inline]
    fn arrive(&mut self, now: Nanos, number: LinkId) -> NodeId {
        let link = &mut self.wiring.links[number.index()];
        let FarEnd { node, port, leaf } = link.end;
        let Some(mut frame) = link.queue.lend() else { return node };
        let tail = frame.tail;
        if let Some(tracer) = &mut self.wiring.tracer {
            tracer.record(now, node, TraceKind::Received, port, frame.head(), tail);
        }
        let slot = &mut self.nodes[node.index()];
        self.hops += u64::from(slot.node.forwards());
        let mut exit = Exit { wiring: &mut self.wiring, ports: &slot.ports, now, node };
        slot.node.receive(port, frame.head(), tail, &mut exit);
        let link = &mut self.wiring.links[number.index()];
        link.queue.give_back(frame);
        self.wiring.islands[leaf.island].tree.set(leaf.place, link.queue.next());
        node
    }

    /// Measures all nodes and links; no event at or after now has happened.
    pub fn sample(&mut self) -> Sample {
        let flows = vec![FlowSample::default(); self.spec.flow_names().count()];
        let mut sample = Sample { time: self.now, flows, hops: self.hops, ..Sample::default() };
        for (node, slot) in (0..).map(NodeId).zip(&mut self.nodes) {
            let mut sample = NodeSample { node, sample: &mut sample };
            slot.node.sample(self.now, &mut sample);
            for (port, link) in (0..).zip(&slot.ports) {
                if let Some(link) = link {
                    self.wiring.links[link.index()].sample(port, &mut sample);
                }
            }
        }
        sample
    }
}
