//! Frames on a switch's wires: from the links, to the links, and round to ingress again.

use groupflow_base::Nanos;
use groupflow_pipeline::{Arrival, Frame, Port};

use super::agenda::LinkStage;
use super::events::{Round, LOOPBACK_DELAY, LOOPBACK_LIMIT};
use super::switch::{SentFrame, Switch};
use super::tracer::{cause, TraceHandle};
use super::traffic_manager::{Origin, Queued};

impl Switch {
    /// The loopback's place on the agenda, behind those of the ports.
    pub(super) fn loopback_place(&self) -> u16 {
        self.ports.len() as u16
    }

    /// Moves frames from the inbound queue to the inbound wire.
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

    /// Takes frames off the inbound wire.
    pub(super) fn arrive(&mut self, now: Nanos, place: u16) {
        while let Some((due, frame)) = self.ports[usize::from(place)].in_wire.arrive(now) {
            self.deliver(due, place, &frame.bytes, frame.tail);
            self.spare.push(frame.bytes);
        }
        if let Some(due) = self.ports[usize::from(place)].in_wire.due() {
            self.agenda.schedule(due, place, LinkStage::Arrive);
        }
    }

    /// Gives a frame of a port to the pipeline.
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

    /// Takes frames off the outbound wire.
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
