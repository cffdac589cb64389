//! The switch as a value: packets and the time go in, packets and the next deadline come out.

use groupflow_pipeline::units::{Nanos, Port};
use groupflow_pipeline::{
    Arrival, CloneRequest, Departure, Digest, Emission, Ingress, Instance, Packet, Pipeline, Program, Verdict,
};
use std::collections::VecDeque;
use std::sync::Arc;

use super::agenda::{Agenda, Stage};
use super::config::{ConfigError, SwitchConfig, MAX_PORT};
use super::link_spec::LinkChange;
use super::port::{PortState, MAX_FRAME};
use super::replication::ReplicationEngine;
use super::stats::{CpuStats, PipelineStats, SwitchDrops, SwitchStats};
use super::traffic_manager::{Queued, Refusal};

/// How long a resubmitted or recirculated packet is on its way. It bounds what such packets can take of
/// the switch's time, as a loop's bandwidth does in hardware.
pub const LOOPBACK_DELAY: Nanos = Nanos::from_micros(1);
/// The most packets that are on their way to ingress again.
pub const LOOPBACK_LIMIT: usize = 4096;
/// How often egress may clone a copy of a copy.
pub const CLONE_GENERATIONS: u8 = 3;
/// The most packets that wait for the controller.
const CPU_QUEUE: u32 = 4096;

/// A frame that leaves the switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// When it left.
    pub time: Nanos,
    /// Where it left.
    pub port: Port,
    /// The frame.
    pub bytes: Vec<u8>,
}

/// A packet for the controller, with the program's `packet_in` header in front.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToController {
    /// When it left the pipeline.
    pub time: Nanos,
    /// Header and payload.
    pub bytes: Vec<u8>,
}

/// What came out of a switch.
#[derive(Debug, Default)]
pub struct Emitted {
    /// Frames.
    pub outputs: Vec<Output>,
    /// Packets for the controller.
    pub packet_ins: Vec<ToController>,
    /// Digest messages for the controller.
    pub digests: Vec<(Nanos, Digest)>,
}

/// What a switch does with packets: the program with its state, and the replication engine's.
#[derive(Debug)]
pub struct Forwarding {
    /// The program with tables, registers, counters and meters.
    pub pipeline: Pipeline,
    /// Multicast groups and clone sessions.
    pub replication: ReplicationEngine,
}

/// A switch. See [`Switch::inject`] and [`Switch::advance`].
#[derive(Debug)]
pub struct Switch {
    config: SwitchConfig,
    forwarding: Option<Forwarding>,
    /// The attached ports in the order of their numbers, then the CPU port. A port's position here is
    /// its place on the agenda; the loopback's place comes after.
    ports: Vec<PortState>,
    /// The place of each port number.
    places: Vec<Option<u16>>,
    agenda: Agenda,
    loopback: VecDeque<(Nanos, Arrival, Vec<u8>)>,
    clock: Nanos,
    emitted: Emitted,
    drops: SwitchDrops,
    cpu: CpuStats,
}

impl Switch {
    /// A switch without a program: it drops everything.
    pub fn new(config: SwitchConfig) -> Result<Switch, ConfigError> {
        config.check()?;
        let mut numbers = config.ports.clone();
        numbers.sort_unstable();
        numbers.push(config.cpu_port);
        let mut places = vec![None; usize::from(MAX_PORT) + 1];
        let mut ports = Vec::with_capacity(numbers.len());
        for (place, port) in (0..).zip(&numbers) {
            places[usize::from(port.0)] = Some(place);
            ports.push(PortState::new(*port, config.priorities, config.seed));
        }
        if let Some(cpu) = ports.last_mut() {
            cpu.out_wire.parameters.queue_packets = CPU_QUEUE;
        }
        let mut switch = Switch {
            agenda: Agenda::new(ports.len() + 1),
            config: SwitchConfig { links: Vec::new(), ..config.clone() },
            forwarding: None,
            ports,
            places,
            loopback: VecDeque::new(),
            clock: Nanos::ZERO,
            emitted: Emitted::default(),
            drops: SwitchDrops::default(),
            cpu: CpuStats::default(),
        };
        for (port, change) in &config.links {
            switch.change_link(*port, change)?;
        }
        Ok(switch)
    }

    /// The state that a program starts with on this switch.
    pub fn fresh(&self, program: Arc<Program>) -> Forwarding {
        let options =
            groupflow_pipeline::Options { drop_port: self.config.drop_port, seed: self.config.seed };
        Forwarding {
            pipeline: Pipeline::with_options(program, options),
            replication: ReplicationEngine::default(),
        }
    }

    /// Replaces program and state. Packets that wait for the old program's egress are dropped.
    pub fn install(&mut self, forwarding: Forwarding) {
        let waiting: u64 = self.ports.iter_mut().map(|port| port.out_queues.flush()).sum();
        self.drops.reloaded += waiting + self.loopback.len() as u64;
        self.loopback.clear();
        self.forwarding = Some(forwarding);
    }

    /// The program and its state, if there is one.
    pub fn forwarding(&self) -> Option<&Forwarding> {
        self.forwarding.as_ref()
    }

    /// The program and its state, to change it.
    pub fn forwarding_mut(&mut self) -> Option<&mut Forwarding> {
        self.forwarding.as_mut()
    }

    /// What the switch is made of. Links are as they were at first; see [`Switch::stats`].
    pub fn config(&self) -> &SwitchConfig {
        &self.config
    }

    /// Changes the links of a port.
    pub fn change_link(&mut self, port: Port, change: &LinkChange) -> Result<(), ConfigError> {
        let place = self.place(port).filter(|_| port != self.config.cpu_port);
        let place = place.ok_or(ConfigError::NoSuchPort(port))?;
        self.ports[usize::from(place)].change_link(change);
        Ok(())
    }

    /// A frame arrives at a port's interface. What was due before happens first.
    ///
    /// `now` may be a little before what was already advanced to (a frame that was read late): it then
    /// still goes through the emulated link as of when it arrived.
    pub fn inject(&mut self, now: Nanos, port: Port, bytes: &[u8]) {
        self.run(now);
        let Some(place) = self.place(port).filter(|_| port != self.config.cpu_port) else {
            self.drops.no_such_port += 1;
            return;
        };
        let state = &mut self.ports[usize::from(place)];
        if bytes.len() > MAX_FRAME {
            state.in_drops.oversize += 1;
        } else if state.in_is_transparent() {
            if state.in_wire.pass(bytes.len()) {
                self.deliver(now, place, bytes);
            }
        } else if let Some(ready) = state.queue_inbound(now, bytes) {
            self.agenda.schedule(ready, place, Stage::Receive);
        }
    }

    /// A packet of the controller, with the program's `packet_out` header in front.
    pub fn packet_out(&mut self, now: Nanos, bytes: &[u8]) {
        self.run(now);
        self.cpu.packet_outs += 1;
        self.ingress(now, Arrival::on(self.config.cpu_port), bytes);
    }

    /// Lets everything happen that is due by `now`, adds what came out to `emitted`, and says when the
    /// next thing is due.
    pub fn advance(&mut self, now: Nanos, emitted: &mut Emitted) -> Option<Nanos> {
        self.run(now);
        emitted.outputs.append(&mut self.emitted.outputs);
        emitted.packet_ins.append(&mut self.emitted.packet_ins);
        emitted.digests.append(&mut self.emitted.digests);
        self.agenda.next()
    }

    /// When the next thing is due.
    pub fn deadline(&mut self) -> Option<Nanos> {
        self.agenda.next()
    }

    /// What the switch counted.
    pub fn stats(&self) -> SwitchStats {
        let front = self.ports.len() - 1;
        let mut cpu = self.cpu;
        cpu.drops.egress = self.ports[front].out_drops.egress;
        cpu.drops.queue_full = self.ports[front].out_queues.counters().map(|queue| queue.dropped).sum();
        let pipeline = self.forwarding.as_ref().map(|f| f.pipeline.stats()).unwrap_or_default();
        SwitchStats {
            ports: self.ports[..front].iter().map(PortState::stats).collect(),
            cpu,
            drops: self.drops,
            pipeline: PipelineStats {
                parser_errors: pipeline.parser_errors,
                register_out_of_range: pipeline.register_out_of_range,
                counter_out_of_range: pipeline.counter_out_of_range,
                meter_out_of_range: pipeline.meter_out_of_range,
                assertions_failed: pipeline.assertions_failed,
                step_limit: pipeline.step_limit,
            },
        }
    }

    /// Starts new high-water marks.
    pub fn reset_high_water(&mut self) {
        self.ports.iter_mut().for_each(PortState::reset_high_water);
    }

    fn place(&self, port: Port) -> Option<u16> {
        self.places.get(usize::from(port.0)).copied().flatten()
    }

    fn run(&mut self, now: Nanos) {
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

    fn deliver(&mut self, now: Nanos, place: u16, bytes: &[u8]) {
        let state = &mut self.ports[usize::from(place)];
        state.delivered.0 += 1;
        state.delivered.1 += bytes.len() as u64;
        let arrival = Arrival::on(state.port);
        self.ingress(now, arrival, bytes);
    }

    fn ingress(&mut self, now: Nanos, arrival: Arrival, bytes: &[u8]) {
        self.clock = self.clock.max(now);
        let Some(forwarding) = &mut self.forwarding else {
            self.drops.no_program += 1;
            return;
        };
        let port = arrival.port;
        let Ingress { verdict, packet, clones, digests } = forwarding.pipeline.ingress(self.clock, arrival, bytes);
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
                let again = Arrival { port, instance: Instance::Resubmit, restored: Some(preserved) };
                self.send_round(now, again, bytes.to_vec());
            }
            _ => self.drops.ingress += 1,
        }
    }

    fn multicast(&mut self, now: Nanos, group: u16, packet: Packet) {
        let replicas = self.forwarding.as_ref().and_then(|f| f.replication.group(group)).map(<[_]>::to_vec);
        let Some(replicas) = replicas else {
            self.drops.no_such_group += 1;
            return;
        };
        for replica in replicas {
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
            Emission::Send(bytes) => self.send(now, place, truncated(bytes, queued.truncate)),
            Emission::Recirculate { bytes, preserved } => {
                let again = Arrival {
                    port: state.port,
                    instance: Instance::Recirculated,
                    restored: Some(preserved),
                };
                self.send_round(now, again, truncated(bytes, queued.truncate));
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
