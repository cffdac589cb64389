//! Frames after egress, with the clones that it asks for, and frames on a switch's wires: from the links, to
//! the links, and round to ingress again.

use groupflow_base::Nanos;
use groupflow_pipeline::{Arrival, DropReason, EgressOutcome, Fate, Frame, Instance, Port};

use super::agenda::LinkStage;
use super::events::{Round, LOOPBACK_DELAY, LOOPBACK_LIMIT, NOWHERE};
use super::port::MAX_FRAME;
use super::replication::Lineage;
use super::switch::{SentFrame, Switch, ToController};
use super::tracer::{cause, TraceHandle};
use super::traffic_manager::{Origin, Queued};

/// A packet that leaves: its port and queue, and the metadata that it got on the way there.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeavingPacket {
    pub place: u16,
    pub port: Port,
    pub queue: u8,
    /// The packet's length when it was queued.
    pub bytes: u32,
    /// The number of bytes to keep, if a clone session says so.
    pub truncate: Option<usize>,
    pub origin: Origin,
    pub trace: Option<TraceHandle>,
}

impl LeavingPacket {
    fn place(&self) -> Option<(Port, Origin)> {
        Some((self.port, self.origin))
    }
}

impl Switch {
    /// Carries out the decision of egress. The copy of the code for packets that are not `RECORDED` has no
    /// words for traces and captures.
    #[inline(always)]
    pub(super) fn leave<const RECORDED: bool>(
        &mut self, now: Nanos, way: LeavingPacket, lineage: Lineage, outcome: EgressOutcome, mut frame: Frame,
    ) {
        self.obey_registers(now);
        if let Some(length) = way.truncate {
            frame.truncate(length);
        }
        match outcome.fate {
            Fate::Recirculate(preserved) => {
                let (port, restored) = (way.port, Some(preserved));
                let again = Arrival { port, instance: Instance::Recirculated, restored, tail: frame.tail };
                self.again(now, again, way.place(), frame.bytes, way.trace);
            }
            Fate::Drop(reason) => {
                let end = self.end_text(way.trace, reason);
                self.record_end(way.trace, way.place(), end);
                match reason {
                    DropReason::Absorbed => self.absorbed += 1,
                    _ if way.place == NOWHERE => self.drops.no_such_port += 1,
                    _ => self.ports[usize::from(way.place)].out_drops.egress += 1,
                }
                self.spare.push(frame.bytes);
            }
            Fate::Send if way.place == NOWHERE => {
                self.drops.no_such_port += 1;
                self.tracer.verdict(way.trace, way.place(), true, || "dropped: no such port".into());
                self.spare.push(frame.bytes);
            }
            Fate::Send => self.send::<RECORDED>(now, way, frame),
        }
        if let Some(clone) = outcome.clone {
            self.clone_out(now, clone, Instance::CloneEgress, lineage.next(), way.trace);
        }
        if RECORDED {
            self.tracer.end(way.trace);
        }
    }

    fn send<const RECORDED: bool>(&mut self, now: Nanos, way: LeavingPacket, frame: Frame) {
        let LeavingPacket { place, queue, bytes: queued_bytes, origin, trace, .. } = way;
        let state = &mut self.ports[usize::from(place)];
        let (port, length) = (state.port, frame.wire_len());
        let to_controller = port == self.config.cpu_port;
        if length > MAX_FRAME && !to_controller {
            state.out_drops.link.oversize += 1;
            let why = || format!("dropped: {length} bytes are more than a frame has");
            self.tracer.verdict(trace, way.place(), true, why);
            return self.spare.push(frame.bytes);
        }
        if let Some(branch) = self.tracer.of(trace.filter(|_| RECORDED)) {
            branch.sent_bytes = length;
        }
        if to_controller {
            self.cpu.packet_ins += 1;
            self.tracer.verdict(trace, way.place(), false, || "to the controller".into());
            self.emitted.packet_ins.push(ToController { time: now, bytes: frame.bytes });
            return;
        }
        if RECORDED {
            self.tracer.leaves(now, port, origin, &frame.bytes);
        }
        if !state.out_wire.is_up() {
            state.out_queues.count_link_down(queue, queued_bytes);
        }
        let at_once = if state.out_is_transparent() {
            state.out_wire.cross(length).then_some(now)
        } else if self.config.eager && state.out_wire.due().is_none() {
            state.out_wire.send_eagerly(now, length)
        } else {
            return self.send_later(now, way, frame, length);
        };
        if RECORDED {
            self.tracer.crossed(trace, at_once.is_some(), state.out_wire.is_up());
        }
        let Frame { bytes, tail } = frame;
        match at_once {
            Some(time) => self.emitted.outputs.push(SentFrame { time, port, bytes, tail }),
            None => self.spare.push(bytes),
        }
    }

    fn send_later(&mut self, now: Nanos, way: LeavingPacket, frame: Frame, length: usize) {
        let (place, state) = (way.place, &mut self.ports[usize::from(way.place)]);
        let sent = state.out_wire.send(now, frame, length);
        if let Some(due) = state.out_wire.due() {
            self.agenda.schedule(due, place, LinkStage::Depart);
        }
        if !sent || way.trace.is_some() {
            self.tracer.crossed(way.trace, sent, state.out_wire.is_up());
        }
    }

    /// The loopback's place on the agenda, behind those of the ports.
    pub(super) fn loopback_place(&self) -> u16 {
        self.ports.len() as u16
    }

    pub(super) fn receive(&mut self, now: Nanos, place: u16) {
        let state = &mut self.ports[usize::from(place)];
        while !state.in_queue.is_empty() {
            if state.in_wire.ready() > now {
                self.agenda.schedule(state.in_wire.ready(), place, LinkStage::Receive);
                break;
            }
            if let Some((frame, length)) = state.in_queue.pop() {
                state.in_wire.send(now, frame, length as usize);
            }
        }
        if let Some(due) = state.in_wire.due() {
            self.agenda.schedule(due, place, LinkStage::Arrive);
        }
    }

    pub(super) fn arrive(&mut self, now: Nanos, place: u16) {
        while let Some((due, frame)) = self.ports[usize::from(place)].in_wire.arrive(now) {
            self.deliver(due, place, &frame.bytes, frame.tail);
            self.spare.push(frame.bytes);
        }
        if let Some(due) = self.ports[usize::from(place)].in_wire.due() {
            self.agenda.schedule(due, place, LinkStage::Arrive);
        }
    }

    #[inline]
    pub(super) fn deliver(&mut self, now: Nanos, place: u16, bytes: &[u8], tail: u32) {
        let state = &mut self.ports[usize::from(place)];
        state.delivered.0 += 1;
        state.delivered.1 += bytes.len() as u64 + u64::from(tail);
        let arrival = Arrival { tail, ..Arrival::on(state.port) };
        if self.tracer.captures {
            self.tracer.arrives(now, state.port, bytes);
            self.ingress(now, arrival, bytes);
            return self.tracer.arrived();
        }
        self.ingress(now, arrival, bytes);
    }

    /// Schedules the port for when its wire is free and a queue's rate lets a packet leave.
    pub(super) fn schedule_transmit(&mut self, now: Nanos, place: u16) {
        let state = &self.ports[usize::from(place)];
        if let Some(eligible) = state.out_queues.eligible() {
            let due = state.out_wire.ready().max(eligible).max(now);
            self.agenda.schedule(due, place, LinkStage::Transmit);
        }
    }

    pub(super) fn depart(&mut self, now: Nanos, place: u16) {
        let state = &mut self.ports[usize::from(place)];
        while let Some((time, Frame { bytes, tail })) = state.out_wire.arrive(now) {
            self.emitted.outputs.push(SentFrame { time, port: state.port, bytes, tail });
        }
        if let Some(due) = state.out_wire.due() {
            self.agenda.schedule(due, place, LinkStage::Depart);
        }
    }

    /// Sends a packet to ingress again, from ingress or from egress at a place.
    pub(super) fn again(
        &mut self, now: Nanos, arrival: Arrival, place: Option<(Port, Origin)>, bytes: Vec<u8>,
        trace: Option<TraceHandle>,
    ) {
        self.tracer.verdict(trace, place, false, || "to ingress again".into());
        let trace = self.tracer.branch(trace, cause(arrival.instance), now);
        self.send_round(now, place, Round::Ingress(arrival, bytes, trace));
    }

    /// Puts a packet into the loop from a place in egress, or from ingress.
    pub(super) fn send_round(&mut self, now: Nanos, place: Option<(Port, Origin)>, round: Round) {
        if self.loopback.len() >= LOOPBACK_LIMIT {
            self.drops.loopback_full += 1;
            let (Round::Ingress(_, _, trace) | Round::Egress(_, Queued { trace, .. }, _)) = round;
            return self.tracer.drop(trace, place, "too many packets go round again");
        }
        // Late arrivals may be older than packets that are in the loop already; the loop stays first in,
        // first out.
        let last = self.loopback.back().map_or(Nanos::ZERO, |(due, _)| *due);
        let due = (now + LOOPBACK_DELAY).max(last);
        self.loopback.push_back((due, round));
        self.agenda.schedule(due, self.loopback_place(), LinkStage::Arrive);
    }

    pub(super) fn loop_back(&mut self, now: Nanos) {
        while let Some((due, round)) = self.loopback.pop_front() {
            if due > now {
                self.loopback.push_front((due, round));
                self.agenda.schedule(due, self.loopback_place(), LinkStage::Arrive);
                return;
            }
            match round {
                Round::Ingress(arrival, bytes, None) => self.ingress(due, arrival, &bytes),
                Round::Ingress(arrival, bytes, trace) => self.ingress_recorded(due, arrival, &bytes, trace),
                Round::Egress(port, queued, priority) => self.enqueue(due, port, queued, Some(priority)),
            }
        }
    }
}
