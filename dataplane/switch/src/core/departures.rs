//! Frames after egress: dropped, sent round again, or put on the wire, and the clones that egress asks for.

use groupflow_base::Nanos;
use groupflow_pipeline::{Arrival, DropReason, EgressOutcome, Fate, Frame, Instance, Port};

use super::agenda::LinkStage;
use super::events::NOWHERE;
use super::port::MAX_FRAME;
use super::replication::Lineage;
use super::switch::{SentFrame, Switch, ToController};
use super::tracer::TraceHandle;
use super::traffic_manager::Origin;

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
    /// Where the packet is, for the record.
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
        let EgressOutcome { fate, clone } = outcome;
        self.obey_registers(now);
        if let Some(length) = way.truncate {
            frame.truncate(length);
        }
        match fate {
            Fate::Recirculate(preserved) => {
                let (port, restored) = (way.port, Some(preserved));
                let again = Arrival { port, instance: Instance::Recirculated, restored, tail: frame.tail };
                self.again(now, again, way.place(), frame.bytes, way.trace);
            }
            _ if way.place == NOWHERE => {
                self.drops.no_such_port += 1;
                self.tracer.verdict(way.trace, way.place(), true, || "dropped: no such port".into());
                self.spare.push(frame.bytes);
            }
            Fate::Drop(reason) => {
                let end = self.end_text(way.trace, reason);
                self.record_end(way.trace, way.place(), end);
                match reason {
                    DropReason::Absorbed => self.absorbed += 1,
                    _ => self.ports[usize::from(way.place)].out_drops.egress += 1,
                }
                self.spare.push(frame.bytes);
            }
            Fate::Send => self.send::<RECORDED>(now, way, frame),
        }
        if let Some(clone) = clone {
            self.clone_out(now, clone, Instance::CloneEgress, lineage.next(), way.trace);
        }
        if RECORDED {
            self.tracer.end(way.trace);
        }
    }

    /// Sends a frame.
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
            let is_up = self.ports[usize::from(place)].out_wire.is_up();
            self.tracer.crossed(trace, at_once.is_some(), is_up);
        }
        match at_once {
            Some(time) => {
                let Frame { bytes, tail } = frame;
                self.emitted.outputs.push(SentFrame { time, port, bytes, tail });
            }
            None => self.spare.push(frame.bytes),
        }
    }

    /// Puts a frame on the outbound wire.
    fn send_later(&mut self, now: Nanos, way: LeavingPacket, frame: Frame, length: usize) {
        let (place, state) = (way.place, &mut self.ports[usize::from(way.place)]);
        let sent = state.out_wire.send(now, frame, length);
        if let Some(due) = state.out_wire.due() {
            self.agenda.schedule(due, place, LinkStage::Depart);
        }
        if !sent || way.trace.is_some() {
            let is_up = self.ports[usize::from(place)].out_wire.is_up();
            self.tracer.crossed(way.trace, sent, is_up);
        }
    }
}
