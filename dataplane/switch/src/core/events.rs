//! The events inside a switch: frames move along wires, through pipeline and queues.

use groupflow_base::Nanos;
use groupflow_pipeline::{
    Arrival, CloneRequest, Departure, DropReason, Frame, Ingress, Instance, Packet, Port, Unicast, Verdict,
};

use super::agenda::LinkStage;
use super::replication::{CloneSession, Lineage};
use super::switch::Switch;
use super::trace::QueuePass;
use super::tracer::{cause, TraceHandle};
use super::traffic_manager::{EnqueueError, Origin, PortService, Queued, Served};
use super::wires::LeavingPacket;

/// How long a resubmitted or recirculated packet is on its way. It bounds the share that such packets can
/// take of the switch's time, as a loop's bandwidth does in hardware.
pub const LOOPBACK_DELAY: Nanos = Nanos::from_micros(1);
/// The most packets that are on their way to ingress again.
pub const LOOPBACK_LIMIT: usize = 4096;
/// How often egress clones a copy of a copy before the next goes by the loop, which bounds the copies at
/// once.
const CLONES_AT_ONCE: u16 = 4;
/// The place of ports that the switch does not have: their packets go through egress, and end there.
pub(super) const NOWHERE: u16 = u16::MAX;

#[derive(Debug)]
pub(super) enum Round {
    Ingress(Arrival, Vec<u8>, Option<TraceHandle>),
    Egress(Port, Queued, u8),
}

impl Switch {
    /// Carries out all events that are due by `now` and keeps their output: for a change that takes effect at
    /// `now`.
    #[inline]
    pub fn catch_up(&mut self, now: Nanos) {
        if self.agenda.is_due(now) {
            self.run_due(now);
        }
        self.reached = self.reached.max(now);
    }

    fn run_due(&mut self, now: Nanos) {
        while let Some((time, place, stage)) = self.agenda.pop(now) {
            if usize::from(place) >= self.ports.len() {
                if place == self.loopback_place() {
                    self.loop_back(time);
                } else {
                    self.generate(time);
                }
                continue;
            }
            match stage {
                LinkStage::Receive => self.receive(time, place),
                LinkStage::Arrive => self.arrive(time, place),
                LinkStage::Transmit => self.transmit(time, place),
                LinkStage::Depart => self.depart(time, place),
            }
        }
    }

    pub(super) fn generators_place(&self) -> u16 {
        self.ports.len() as u16 + 1
    }

    /// Gives the pipeline the generators' frames that are due.
    fn generate(&mut self, now: Nanos) {
        let mut frame = self.spare.pop().unwrap_or_default();
        while let Some((time, port)) =
            self.forwarding.as_mut().and_then(|f| f.generators.tick(now, &mut frame))
        {
            self.ingress(time, Arrival::on(port), &frame);
        }
        self.spare.push(frame);
        self.schedule_generators();
    }

    /// Runs ingress and carries out its decision.
    ///
    /// A packet that need not wait, since its one port is idle and nothing limits its queue, goes through
    /// egress at once and never becomes a value. The result equals that of `dispose` in all that can be seen:
    /// the frames that leave, their times, the counters and the program's registers. (tests/fast_path.rs
    /// compares both.)
    pub(super) fn ingress(&mut self, now: Nanos, arrival: Arrival, bytes: &[u8]) {
        self.clock = self.clock.max(now);
        if !self.tracer.is_idle() {
            let trace = self.begin_trace(now, &arrival, bytes);
            if trace.is_some() || self.tracer.captures {
                return self.ingress_recorded(now, arrival, bytes, trace);
            }
        }
        let Some(forwarding) = &mut self.forwarding else {
            self.drops.no_program += 1;
            return;
        };
        let at_hand = forwarding.pipeline.arrive(self.clock, &arrival, bytes);
        let packet = at_hand.unicast();
        let place = packet.and_then(|packet| self.places.get(usize::from(packet.port.0)).copied().flatten());
        if let (Some(Unicast { port, priority: queue, bytes }), Some(place)) = (packet, place) {
            if self.ports[usize::from(place)].lets_through(now, queue, bytes) {
                let departure = Departure { port, enq_timestamp: now, ..Departure::default() };
                let mut frame = Frame { bytes: self.spare.pop().unwrap_or_default(), tail: 0 };
                let outcome = at_hand.egress(&departure, &mut frame);
                let (origin, truncate, trace) = (Origin::default(), None, None);
                let way = LeavingPacket { place, port, queue, bytes, truncate, origin, trace };
                return self.leave::<false>(now, way, Lineage::default(), outcome, frame);
            }
        }
        let done = at_hand.hold();
        self.dispose(now, arrival, bytes, done, None);
    }

    /// Runs ingress while packets are recorded, and carries out its decision: each packet takes the longer
    /// way, which says what becomes of it.
    #[cold]
    pub(super) fn ingress_recorded(
        &mut self, now: Nanos, arrival: Arrival, bytes: &[u8], trace: Option<TraceHandle>,
    ) {
        self.clock = self.clock.max(now);
        let Some(forwarding) = &mut self.forwarding else {
            self.drops.no_program += 1;
            return self.tracer.drop(trace, None, "no program");
        };
        let done = if self.tracer.is_traced(trace) {
            let (done, steps) = forwarding.pipeline.trace_ingress(self.clock, &arrival, bytes);
            self.tracer.record(trace, now, steps);
            done
        } else {
            forwarding.pipeline.ingress(self.clock, arrival.clone(), bytes)
        };
        self.dispose(now, arrival, bytes, done, trace);
        self.tracer.end(trace);
    }

    /// Carries out the decision of ingress.
    fn dispose(
        &mut self, now: Nanos, arrival: Arrival, bytes: &[u8], done: Ingress, trace: Option<TraceHandle>,
    ) {
        let Ingress { verdict, packet, clone, digests } = done;
        // Asked before a clone of the packet goes through egress.
        let end = if let Verdict::Drop(reason) = &verdict { self.end_text(trace, *reason) } else { None };
        self.obey_registers(now);
        if !digests.is_empty() {
            self.emitted.digests.extend(digests.into_vec().into_iter().map(|digest| (now, digest)));
        }
        if let Some(clone) = clone {
            self.clone_out(now, clone, Instance::CloneIngress, Lineage::default(), trace);
        }
        match (verdict, packet) {
            (Verdict::Unicast(port), Some(packet)) => {
                self.tracer.verdict(trace, None, false, || format!("to {port}"));
                let queued = self.copy(packet, Origin::default(), now, trace);
                self.enqueue(now, port, queued, None);
            }
            (Verdict::Multicast(group), Some(packet)) => self.multicast(now, group, packet, trace),
            (Verdict::Resubmit(preserved), _) => {
                let again = Arrival { instance: Instance::Resubmit, restored: Some(preserved), ..arrival };
                self.again(now, again, None, bytes.to_vec(), trace);
            }
            (verdict, _) => {
                match verdict {
                    Verdict::Drop(DropReason::Absorbed) => self.absorbed += 1,
                    _ => self.drops.ingress += 1,
                }
                self.record_end(trace, None, end);
            }
        }
    }

    fn multicast(&mut self, now: Nanos, group: u16, packet: Packet, trace: Option<TraceHandle>) {
        let replicas = self.forwarding.as_ref().and_then(|f| f.replication.group(group)).cloned();
        let Some((last, others)) = replicas.as_ref().and_then(|replicas| replicas.split_last()) else {
            // A group without replicas exists, and sends nothing.
            let is_absent = replicas.is_none();
            let end = if is_absent {
                self.drops.no_such_group += 1;
                "dropped: there is no"
            } else {
                self.absorbed += 1;
                "absorbed: nobody is in"
            };
            self.tracer.verdict(trace, None, is_absent, || format!("{end} multicast group {group}"));
            return self.recycle(packet);
        };
        self.tracer.verdict(trace, None, false, || format!("to multicast group {group}"));
        let origin = |rid| Origin { instance: Instance::Replication, rid, group };
        for replica in others {
            let Some(forwarding) = &mut self.forwarding else { return };
            let another = forwarding.pipeline.replicate(&packet);
            let queued = self.copy(another, origin(replica.instance), now, trace);
            self.enqueue(now, replica.port, queued, None);
        }
        let queued = self.copy(packet, origin(last.instance), now, trace);
        self.enqueue(now, last.port, queued, None);
    }

    pub(super) fn clone_out(
        &mut self, now: Nanos, clone: CloneRequest, instance: Instance, lineage: Lineage,
        trace: Option<TraceHandle>,
    ) {
        let session = self.forwarding.as_ref().and_then(|f| f.replication.session(clone.session));
        let Some(CloneSession { replicas, priority, truncate }) = session else {
            let branch = self.tracer.branch(trace, "clone", now);
            let why = format_args!("there is no clone session {}", clone.session);
            return self.tracer.drop(branch, None, why);
        };
        let (priority, truncate) = (*priority, *truncate);
        let allowed = lineage.take(replicas.len());
        let cut = replicas.len() - allowed;
        let replicas = replicas[..allowed].to_vec();
        for replica in replicas {
            let origin = Origin { instance, rid: replica.instance, group: 0 };
            let mut queued = self.copy(clone.packet.clone(), origin, now, trace);
            queued.truncate = truncate;
            queued.lineage = lineage.clone();
            if lineage.generation() % CLONES_AT_ONCE == CLONES_AT_ONCE - 1 {
                let round = Round::Egress(replica.port, queued, priority);
                self.send_round(now, Some((replica.port, origin)), round);
                continue;
            }
            self.enqueue(now, replica.port, queued, Some(priority));
        }
        if cut > 0 {
            self.drops.clone_limit += cut as u64;
            let branch = self.tracer.branch(trace, "clone", now);
            self.tracer.drop(branch, None, "too many clones of one packet");
        }
    }

    pub(super) fn enqueue(&mut self, now: Nanos, port: Port, queued: Queued, priority: Option<u8>) {
        let Some(place) = self.place(port) else {
            // The packet's egress may clone or recirculate, as in BMv2.
            self.clock = self.clock.max(now);
            return self.egress(now, NOWHERE, port, Served { queued, queue: 0, bytes: 0, depth: 0 });
        };
        let state = &mut self.ports[usize::from(place)];
        let priority = priority.unwrap_or_else(|| queued.packet.priority());
        let bytes = u32::try_from(queued.packet.wire_len()).unwrap_or(u32::MAX);
        if let Some(branch) = self.tracer.of(queued.trace) {
            let depth = state.out_queues.states().nth(priority.into()).map_or(0, |(_, queue)| queue.packets);
            branch.time = now;
            let (port, rid) = (port.0, queued.origin.rid);
            branch.queue = Some(QueuePass { port, queue: priority, rid, depth, waited: Nanos::ZERO });
        }
        if let Err(error) = state.out_queues.admit(priority, bytes, state.out_wire.parameters.depth()) {
            state.out_drops.priority += u64::from(error == EnqueueError::Priority);
            let full = error == EnqueueError::Full;
            let why = if full { "the queue is full" } else { "the port has no such queue" };
            self.tracer.drop(queued.trace, Some((port, queued.origin)), why);
            return self.recycle(queued.packet);
        }
        if state.shares.note_packet(priority) {
            self.reshare(now, place);
        }
        let state = &mut self.ports[usize::from(place)];
        // An idle wire takes a packet at once, so that no queue fills in front of it. Clones of egress come
        // back here from within transmit(), as often as CLONES_AT_ONCE.
        let ready = state.out_wire.ready();
        if ready <= now && state.out_queues.serve_at_once(priority, bytes, ready < now) {
            self.clock = self.clock.max(now);
            return self.egress(now, place, port, Served { queued, queue: priority, bytes, depth: 0 });
        }
        let depth = state.out_queues.push(now, queued, priority, bytes);
        self.note_depth(place, priority, depth);
        if ready <= now {
            self.transmit(now, place);
        } else {
            self.schedule_transmit(now, place);
        }
    }

    /// Runs egress for the packets that the outbound wire can take now.
    fn transmit(&mut self, now: Nanos, place: u16) {
        self.clock = self.clock.max(now);
        loop {
            let state = &mut self.ports[usize::from(place)];
            let (port, ready) = (state.port, state.out_wire.ready());
            if ready > now {
                return self.schedule_transmit(now, place);
            }
            match state.out_queues.pop(now, ready < now) {
                PortService::Packet(served) => {
                    self.note_depth(place, served.queue, served.depth);
                    self.egress(now, place, port, served);
                }
                PortService::At(time) => return self.agenda.schedule(time, place, LinkStage::Transmit),
                PortService::Nothing => return,
            }
        }
    }

    fn egress(&mut self, now: Nanos, place: u16, port: Port, served: Served) {
        let Served { queued, queue, bytes, depth } = served;
        let Some(forwarding) = &mut self.forwarding else { return };
        let departure = Departure {
            port,
            rid: queued.origin.rid,
            instance: queued.origin.instance,
            enq_timestamp: queued.enqueued_at,
            enq_qdepth: queued.enqueue_depth,
            deq_qdepth: depth,
            deq_timedelta: now - queued.enqueued_at,
        };
        let mut frame = Frame { bytes: self.spare.pop().unwrap_or_default(), tail: 0 };
        let Queued { packet, origin, lineage, truncate, trace, .. } = queued;
        let outcome = if self.tracer.is_traced(trace) {
            let (outcome, steps) =
                forwarding.pipeline.trace_egress(self.clock, packet, &departure, &mut frame);
            self.tracer.record(trace, now, steps);
            if let Some(branch) = self.tracer.of(trace) {
                let Departure { port, rid, enq_qdepth: depth, deq_timedelta: waited, .. } = departure;
                branch.queue = Some(QueuePass { port: port.0, queue, rid, depth, waited });
            }
            outcome
        } else {
            forwarding.pipeline.egress_into(self.clock, packet, departure, &mut frame)
        };
        let way = LeavingPacket { place, port, queue, bytes, truncate, origin, trace };
        if trace.is_some() || self.tracer.captures {
            self.leave::<true>(now, way, lineage, outcome, frame);
        } else {
            self.leave::<false>(now, way, lineage, outcome, frame);
        }
    }

    /// The end, in words, of the packet that the pipeline had last, and whether it is a drop; if recorded.
    pub(super) fn end_text(&self, trace: Option<TraceHandle>, reason: DropReason) -> Option<(bool, String)> {
        let forwarding = self.forwarding.as_ref().filter(|_| trace.is_some())?;
        let text = forwarding.pipeline.drop_text(reason);
        Some(match reason {
            DropReason::Absorbed => (false, text),
            _ => (true, format!("dropped: {text}")),
        })
    }

    /// Records the end of a packet that the program lets go nowhere.
    pub(super) fn record_end(
        &mut self, trace: Option<TraceHandle>, place: Option<(Port, Origin)>, end: Option<(bool, String)>,
    ) {
        if let Some((dropped, text)) = end {
            self.tracer.verdict(trace, place, dropped, || text);
        }
    }

    fn recycle(&mut self, packet: Packet) {
        if let Some(forwarding) = &mut self.forwarding {
            forwarding.pipeline.recycle(packet);
        }
    }

    fn copy(&mut self, packet: Packet, origin: Origin, now: Nanos, trace: Option<TraceHandle>) -> Queued {
        let trace = self.tracer.branch(trace, cause(origin.instance), now);
        let (truncate, lineage, enqueue_depth) = (None, Lineage::default(), 0);
        Queued { packet, origin, truncate, lineage, enqueued_at: now, enqueue_depth, trace }
    }
}
