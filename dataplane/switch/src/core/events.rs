//! What happens inside a switch: frames move along wires, through pipeline and queues.

use groupflow_pipeline::units::{Nanos, Port};
use groupflow_pipeline::{Arrival, CloneRequest, Departure, Emission, Ingress, Instance, Packet, Verdict};

use super::agenda::Stage;
use super::port::MAX_FRAME;
use super::switch::{Output, Switch, ToController};
use super::traffic_manager::{Queued, Refusal};

/// How long a resubmitted or recirculated packet is on its way. It bounds what such packets can take of
/// the switch's time, as a loop's bandwidth does in hardware.
pub const LOOPBACK_DELAY: Nanos = Nanos::from_micros(1);
/// The most packets that are on their way to ingress again.
pub const LOOPBACK_LIMIT: usize = 4096;
/// How often egress may clone a copy of a copy.
pub const CLONE_GENERATIONS: u8 = 3;

impl Switch {
    /// Carries out everything that is due by `now`.
    pub(super) fn run(&mut self, now: Nanos) {
        while let Some((time, place, stage)) = self.agenda.pop(now) {
            if usize::from(place) == self.ports.len() {
                self.loop_back(time);
                continue;
            }
            match stage {
                Stage::Receive => self.receive(time, place),
                Stage::Arrive => self.arrive(time, place),
                Stage::Transmit => self.transmit(time, place),
                Stage::Depart => self.depart(time, place),
            }
        }
    }

    /// Moves frames from the inbound queue to the inbound wire.
    fn receive(&mut self, now: Nanos, place: u16) {
        let state = &mut self.ports[usize::from(place)];
        while !state.in_queue.is_empty() {
            if state.in_wire.ready() > now {
                self.agenda.schedule(state.in_wire.ready(), place, Stage::Receive);
                break;
            }
            if let Some((bytes, length)) = state.in_queue.pop() {
                state.in_wire.send(now, bytes, length);
            }
        }
        if let Some(due) = state.in_wire.due() {
            self.agenda.schedule(due, place, Stage::Arrive);
        }
    }

    /// Takes frames off the inbound wire.
    fn arrive(&mut self, now: Nanos, place: u16) {
        while let Some((due, bytes)) = self.ports[usize::from(place)].in_wire.arrive(now) {
            self.deliver(due, place, &bytes);
        }
        if let Some(due) = self.ports[usize::from(place)].in_wire.due() {
            self.agenda.schedule(due, place, Stage::Arrive);
        }
    }

    /// Gives a frame of a port to the pipeline.
    pub(super) fn deliver(&mut self, now: Nanos, place: u16, bytes: &[u8]) {
        let state = &mut self.ports[usize::from(place)];
        state.delivered.0 += 1;
        state.delivered.1 += bytes.len() as u64;
        let arrival = Arrival::on(state.port);
        self.ingress(now, arrival, bytes);
    }

    /// Runs ingress and does what it decides.
    pub(super) fn ingress(&mut self, now: Nanos, arrival: Arrival, bytes: &[u8]) {
        self.clock = self.clock.max(now);
        let Some(forwarding) = &mut self.forwarding else {
            self.drops.no_program += 1;
            return;
        };
        let port = arrival.port;
        let Ingress { verdict, packet, clones, digests } =
            forwarding.pipeline.ingress(self.clock, arrival, bytes);
        self.emitted.digests.extend(digests.into_iter().map(|digest| (now, digest)));
        for clone in clones {
            self.clone_out(now, clone, Instance::CloneIngress, 0);
        }
        match (verdict, packet) {
            (Verdict::Unicast(port), Some(packet)) => {
                self.enqueue(now, port, copy(packet, 0, Instance::Normal, now), None);
            }
            (Verdict::Multicast(group), Some(packet)) => self.multicast(now, group, packet),
            (Verdict::Resubmit(preserved), _) => {
                let again =
                    Arrival { port, instance: Instance::Resubmit, restored: Some(preserved), tail: 0 };
                self.send_round(now, again, bytes.to_vec());
            }
            _ => self.drops.ingress += 1,
        }
    }

    fn multicast(&mut self, now: Nanos, group: u16, packet: Packet) {
        let replicas = self.forwarding.as_ref().and_then(|f| f.replication.group(group)).cloned();
        let Some(replicas) = replicas else {
            self.drops.no_such_group += 1;
            return;
        };
        for replica in replicas.iter() {
            let queued = copy(packet.clone(), replica.instance, Instance::Replication, now);
            self.enqueue(now, replica.port, queued, None);
        }
    }

    fn clone_out(&mut self, now: Nanos, clone: CloneRequest, instance: Instance, generation: u8) {
        if generation > CLONE_GENERATIONS {
            self.drops.clone_limit += 1;
            return;
        }
        let session = self.forwarding.as_ref().and_then(|f| f.replication.session(clone.session)).cloned();
        let Some(session) = session else { return };
        for replica in session.replicas {
            let mut queued = copy(clone.packet.clone(), replica.instance, instance, now);
            queued.truncate = session.truncate;
            queued.generation = generation;
            self.enqueue(now, replica.port, queued, Some(session.priority));
        }
    }

    fn enqueue(&mut self, now: Nanos, port: Port, queued: Queued, priority: Option<u8>) {
        let Some(place) = self.place(port) else {
            let drop_port = self.config.drop_port;
            let counter =
                if port == drop_port { &mut self.drops.ingress } else { &mut self.drops.no_such_port };
            *counter += 1;
            return;
        };
        let state = &mut self.ports[usize::from(place)];
        let priority = priority.unwrap_or_else(|| queued.packet.priority());
        let bytes = queued.packet.wire_len();
        match state.out_queues.push(queued, priority, bytes, state.out_depth()) {
            // A wire that is idle takes it at once, so a queue never fills before one. Clones of egress
            // come back here from within transmit(), as often as CLONE_GENERATIONS.
            Ok(()) if state.out_wire.ready() <= now => self.transmit(now, place),
            Ok(()) => self.agenda.schedule(state.out_wire.ready(), place, Stage::Transmit),
            Err(Refusal::Full) => {}
            Err(Refusal::Priority) => state.out_drops.priority += 1,
        }
    }

    /// Runs egress for what the outbound wire can take now.
    fn transmit(&mut self, now: Nanos, place: u16) {
        self.clock = self.clock.max(now);
        loop {
            let state = &mut self.ports[usize::from(place)];
            if state.out_wire.ready() > now {
                if !state.out_queues.is_empty() {
                    self.agenda.schedule(state.out_wire.ready(), place, Stage::Transmit);
                }
                return;
            }
            let Some((queued, depth)) = state.out_queues.pop() else { return };
            self.egress(now, place, queued, depth);
        }
    }

    fn egress(&mut self, now: Nanos, place: u16, queued: Queued, depth: u32) {
        let Some(forwarding) = &mut self.forwarding else { return };
        let state = &mut self.ports[usize::from(place)];
        let departure = Departure {
            port: state.port,
            rid: queued.rid,
            instance: queued.instance,
            enq_timestamp: queued.enqueued_at,
            enq_qdepth: queued.enqueue_depth,
            deq_qdepth: depth,
            deq_timedelta: now - queued.enqueued_at,
        };
        let egress = forwarding.pipeline.egress(self.clock, queued.packet, departure);
        match egress.emission {
            Emission::Drop(_) => state.out_drops.egress += 1,
            Emission::Send(frame) => self.send(now, place, truncated(frame.bytes, queued.truncate)),
            Emission::Recirculate { frame, preserved } => {
                let port = state.port;
                let again =
                    Arrival { port, instance: Instance::Recirculated, restored: Some(preserved), tail: 0 };
                self.send_round(now, again, truncated(frame.bytes, queued.truncate));
            }
        }
        for clone in egress.clones {
            self.clone_out(now, clone, Instance::CloneEgress, queued.generation + 1);
        }
    }

    fn send(&mut self, now: Nanos, place: u16, bytes: Vec<u8>) {
        let state = &mut self.ports[usize::from(place)];
        if state.port == self.config.cpu_port {
            self.cpu.packet_ins += 1;
            self.emitted.packet_ins.push(ToController { time: now, bytes });
        } else if bytes.len() > MAX_FRAME {
            state.out_drops.oversize += 1;
        } else if state.out_is_transparent() {
            if state.out_wire.pass(bytes.len()) {
                self.emitted.outputs.push(Output { time: now, port: state.port, bytes });
            }
        } else {
            let length = bytes.len();
            state.out_wire.send(now, bytes, length);
            if let Some(due) = state.out_wire.due() {
                self.agenda.schedule(due, place, Stage::Depart);
            }
        }
    }

    /// Takes frames off the outbound wire.
    fn depart(&mut self, now: Nanos, place: u16) {
        let state = &mut self.ports[usize::from(place)];
        while let Some((time, bytes)) = state.out_wire.arrive(now) {
            self.emitted.outputs.push(Output { time, port: state.port, bytes });
        }
        if let Some(due) = state.out_wire.due() {
            self.agenda.schedule(due, place, Stage::Depart);
        }
    }

    fn send_round(&mut self, now: Nanos, arrival: Arrival, bytes: Vec<u8>) {
        if self.loopback.len() >= LOOPBACK_LIMIT {
            self.drops.loopback_full += 1;
            return;
        }
        // Late arrivals may be older than what is in the loop already; it stays first in, first out.
        let last = self.loopback.back().map_or(Nanos::ZERO, |(due, _, _)| *due);
        let due = (now + LOOPBACK_DELAY).max(last);
        self.loopback.push_back((due, arrival, bytes));
        self.agenda.schedule(due, self.ports.len() as u16, Stage::Arrive);
    }

    fn loop_back(&mut self, now: Nanos) {
        while let Some((due, arrival, bytes)) = self.loopback.pop_front() {
            if due > now {
                self.loopback.push_front((due, arrival, bytes));
                self.agenda.schedule(due, self.ports.len() as u16, Stage::Arrive);
                return;
            }
            self.ingress(due, arrival, &bytes);
        }
    }
}

fn copy(packet: Packet, rid: u16, instance: Instance, now: Nanos) -> Queued {
    Queued { packet, rid, instance, truncate: None, generation: 0, enqueued_at: now, enqueue_depth: 0 }
}

fn truncated(mut bytes: Vec<u8>, limit: Option<usize>) -> Vec<u8> {
    if let Some(limit) = limit {
        bytes.truncate(limit);
    }
    bytes
}
