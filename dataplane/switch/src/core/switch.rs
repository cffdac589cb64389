//! The switch as a value: packets and the time go in, packets and the next deadline come out.

use std::collections::VecDeque;
use std::sync::Arc;

use groupflow_base::Nanos;
use groupflow_pipeline::{Arrival, Digest, Frame, Instance, Pipeline, PipelineOptions, Port, Program};

use super::agenda::{Agenda, LinkStage};
use super::config::{ConfigError, SwitchConfig, MAX_PORT};
use super::events::Round;
use super::generator::Generators;
use super::link_spec::LinkChange;
use super::packet_rate::PacketRate;
use super::port::{PortState, MAX_FRAME};
use super::queue_settings::QueueRegisters;
use super::replication::ReplicationEngine;
use super::stats::{CpuStats, PortStats, SwitchDrops, SwitchStats};
use super::trace::{SeenFrame, TraceError, TraceFilter, TraceRequest};
use super::tracer::{TraceHandle, Tracer};

const CPU_QUEUE: u32 = 4096;
const SPARE_BUFFERS: usize = 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentFrame {
    pub time: Nanos,
    pub port: Port,
    pub bytes: Vec<u8>,
    /// Bytes behind these that exist only as a length; see [`Frame`]. 0 for frames that came as a whole.
    pub tail: u32,
}

/// A packet for the controller, with the program's `packet_in` header in front.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToController {
    pub time: Nanos,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Default)]
pub struct Emitted {
    pub outputs: Vec<SentFrame>,
    pub packet_ins: Vec<ToController>,
    pub digests: Vec<(Nanos, Digest)>,
    /// Frames that passed the ports, if [`Switch::see_frames`] asks for them.
    pub seen: Vec<SeenFrame>,
}

/// The processing of packets: the program with its state, and the parts that are replaced with it.
#[derive(Debug)]
pub struct Forwarding {
    /// The program with tables, registers, counters and meters.
    pub pipeline: Pipeline,
    pub replication: ReplicationEngine,
    /// Packet generators. Of an installed program they are changed by [`Switch::change_generators`].
    pub generators: Generators,
    /// The program's registers that belong to queues.
    pub registers: QueueRegisters,
}

/// A switch. See [`Switch::inject`] and [`Switch::advance`].
#[derive(Debug)]
pub struct Switch {
    pub(super) config: SwitchConfig,
    pub(super) forwarding: Option<Forwarding>,
    /// The attached ports in the order of their numbers, then the CPU port. A port's position here is
    /// its place on the agenda; the places of loopback and generators come after.
    pub(super) ports: Vec<PortState>,
    pub(super) places: Vec<Option<u16>>,
    pub(super) agenda: Agenda,
    pub(super) loopback: VecDeque<(Nanos, Round)>,
    /// The time that the program sees, which is that of the event.
    pub(super) clock: Nanos,
    /// All events before this time have happened.
    pub(super) reached: Nanos,
    pub(super) spare: Vec<Vec<u8>>,
    pub(super) emitted: Emitted,
    pub(super) drops: SwitchDrops,
    pub(super) absorbed: u64,
    pub(super) cpu: CpuStats,
    pub(super) tracer: Tracer,
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
            ports.push(PortState::new(*port, config.priorities, config.flow_control, config.seed));
        }
        if let Some(cpu) = ports.last_mut() {
            cpu.out_wire.parameters.queue_packets = CPU_QUEUE;
        }
        let mut switch = Switch {
            agenda: Agenda::new(ports.len() + 2),
            config: SwitchConfig { links: Vec::new(), queues: Vec::new(), ..config.clone() },
            forwarding: None,
            ports,
            places,
            loopback: VecDeque::new(),
            clock: Nanos::ZERO,
            reached: Nanos::ZERO,
            spare: Vec::new(),
            emitted: Emitted::default(),
            drops: SwitchDrops::default(),
            absorbed: 0,
            cpu: CpuStats::default(),
            tracer: Tracer::default(),
        };
        for (port, change) in &config.links {
            switch.change_link(*port, change)?;
        }
        for port in &config.ports {
            switch.set_nominal_packet(*port, config.nominal_packet)?;
        }
        for (place, change) in &config.queues {
            let ports = place.port.as_ref().map_or(&config.ports[..], std::slice::from_ref);
            ports.iter().try_for_each(|port| switch.change_queue(*port, place.queue, change))?;
        }
        Ok(switch)
    }

    /// The state that a program starts with on this switch.
    pub fn fresh(&self, program: Arc<Program>, registers: QueueRegisters) -> Forwarding {
        let SwitchConfig { drop_port, seed, .. } = self.config;
        let options = PipelineOptions { drop_port, seed, ..PipelineOptions::default() };
        let mut pipeline = Pipeline::with_options(program, options);
        if let Some(rate) = registers.rate {
            pipeline.watch(rate.register);
        }
        if let Some(share) = registers.share {
            let none = PacketRate::UNLIMITED.units().into();
            for index in 0..share.size {
                pipeline.register_set(share.register, index, none);
            }
        }
        Forwarding {
            pipeline,
            replication: ReplicationEngine::default(),
            generators: Generators::default(),
            registers,
        }
    }

    /// Replaces program and state. Packets that wait for the old program's egress are dropped; queues keep
    /// their settings, but not the rates that the old program asked for.
    pub fn install(&mut self, forwarding: Forwarding) {
        let waiting: u64 = self.ports.iter_mut().map(|port| port.flush()).sum();
        self.drops.reloaded += waiting + self.loopback.len() as u64;
        self.loopback.clear();
        self.tracer.clear();
        let reached = self.reached;
        self.forwarding = Some(forwarding);
        let down = self.ports.iter().filter(|port| !port.out_wire.is_up()).map(|port| port.port);
        down.collect::<Vec<_>>().into_iter().for_each(|port| self.port_is(port, false));
        self.change_generators(|generators, _| generators.start(reached));
        // Writes of the controller from before the program was installed.
        self.obey_registers(reached);
    }

    pub fn forwarding(&self) -> Option<&Forwarding> {
        self.forwarding.as_ref()
    }

    pub fn forwarding_mut(&mut self) -> Option<&mut Forwarding> {
        self.forwarding.as_mut()
    }

    /// The configuration that the switch began with; [`Switch::stats`] has later changes.
    pub fn config(&self) -> &SwitchConfig {
        &self.config
    }

    pub fn change_link(&mut self, port: Port, change: &LinkChange) -> Result<(), ConfigError> {
        let place = self.place(port).filter(|_| port != self.config.cpu_port);
        let place = place.ok_or(ConfigError::NoSuchPort(port))?;
        self.ports[usize::from(place)].change_link(change);
        self.reshare(self.reached, place);
        if let Some(up) = change.up {
            self.port_is(port, up);
        }
        Ok(())
    }

    /// Tells the groups that watch a port or have backups of it.
    fn port_is(&mut self, port: Port, up: bool) {
        if let Some(forwarding) = &mut self.forwarding {
            forwarding.pipeline.port_is(port, up);
            forwarding.replication.port_is(port, up);
        }
    }

    /// The traces of packets, to choose packets and to take what was recorded.
    pub fn tracer(&mut self) -> &mut Tracer {
        &mut self.tracer
    }

    pub fn trace(&mut self, request: &TraceRequest) -> Result<u64, TraceError> {
        let forwarding = self.forwarding.as_ref().ok_or(TraceError::NoProgram)?;
        let port = request.port.map(Port);
        let generated = |port| forwarding.generators.iter().any(|(_, generator, _)| generator.port == port);
        if let Some(port) = port.filter(|port| self.place(*port).is_none() && !generated(*port)) {
            let ports = self.ports.iter().map(|state| state.port.0.to_string());
            return Err(TraceError::Port(port.0, ports.collect::<Vec<_>>().join(", ")));
        }
        let session = request.session.map(|session| format!("group.session={session}"));
        let fields = request.fields.iter().chain(&session);
        let fields = fields.map(|text| forwarding.pipeline.field_match(text)).collect::<Result<_, _>>()?;
        let TraceRequest { dropped, all, patient, next, .. } = *request;
        self.tracer.arm(TraceFilter { port, fields, dropped, all, patient }, next).ok_or(TraceError::Full)
    }

    /// Begins the record of a packet that comes to ingress, if a filter or a capture wants one.
    pub(super) fn begin_trace(&mut self, now: Nanos, arrival: &Arrival, bytes: &[u8]) -> Option<TraceHandle> {
        if arrival.instance != Instance::Normal {
            return None;
        }
        let mut tracer = std::mem::take(&mut self.tracer);
        let trace = tracer.begin(now, arrival, bytes, self);
        self.tracer = tracer;
        trace
    }

    /// Asks for the frames that pass the ports: [`Emitted::seen`].
    pub fn see_frames(&mut self) {
        self.tracer.captures = true;
    }

    /// Takes a frame that arrives at a port's interface, after the events that are due before.
    ///
    /// `now` may be a little before the time that the switch has reached, for a frame that was read late: the
    /// frame still goes through the emulated link as of its arrival.
    pub fn inject(&mut self, now: Nanos, port: Port, bytes: &[u8]) {
        self.inject_with_tail(now, port, bytes, 0);
    }

    /// Does the same as [`Switch::inject`] for a frame with `tail` further bytes that exist only as a length.
    pub fn inject_with_tail(&mut self, now: Nanos, port: Port, bytes: &[u8], tail: u32) {
        self.catch_up(now);
        let Some(place) = self.place(port).filter(|_| port != self.config.cpu_port) else {
            self.drops.no_such_port += 1;
            return;
        };
        let state = &mut self.ports[usize::from(place)];
        let length = bytes.len() + tail as usize;
        if length > MAX_FRAME {
            state.in_oversize += 1;
        } else if state.in_is_transparent() {
            if state.in_wire.cross(length) {
                self.deliver(now, place, bytes, tail);
            }
        } else if state.in_queue.admit(length as u32, state.in_wire.parameters.depth()) {
            let mut copy = self.spare.pop().unwrap_or_default();
            copy.clear();
            copy.extend_from_slice(bytes);
            state.in_queue.push(Frame { bytes: copy, tail }, length as u32);
            self.agenda.schedule(state.in_wire.ready().max(now), place, LinkStage::Receive);
        }
    }

    /// Takes a packet of the controller, with the program's `packet_out` header in front.
    pub fn packet_out(&mut self, now: Nanos, bytes: &[u8]) {
        self.catch_up(now);
        self.cpu.packet_outs += 1;
        self.ingress(now, Arrival::on(self.config.cpu_port), bytes);
    }

    pub fn reached(&self) -> Nanos {
        self.reached
    }

    /// Takes back the buffers of frames that left, for frames to come: if all of them come back, the switch
    /// allocates none.
    pub fn reuse(&mut self, outputs: &mut Vec<SentFrame>) {
        let room = SPARE_BUFFERS.saturating_sub(self.spare.len());
        self.spare.extend(outputs.drain(..).take(room).map(|output| output.bytes));
    }

    /// Carries out all events that are due by `now`, adds the output to `emitted`, and returns when the next
    /// event is due.
    pub fn advance(&mut self, now: Nanos, emitted: &mut Emitted) -> Option<Nanos> {
        self.catch_up(now);
        if emitted.outputs.is_empty() {
            std::mem::swap(&mut emitted.outputs, &mut self.emitted.outputs);
        } else {
            emitted.outputs.append(&mut self.emitted.outputs);
        }
        emitted.packet_ins.append(&mut self.emitted.packet_ins);
        emitted.digests.append(&mut self.emitted.digests);
        emitted.seen.append(&mut self.tracer.frames);
        self.agenda.next()
    }

    /// Does the same as [`Switch::advance`] for a caller that needs each frame only once: frames go to `send`
    /// one by one and their buffers are used again; the other output is left for [`Switch::take_messages`].
    #[inline]
    pub fn advance_sending(&mut self, now: Nanos, mut send: impl FnMut(&SentFrame)) -> Option<Nanos> {
        self.catch_up(now);
        for output in self.emitted.outputs.drain(..) {
            send(&output);
            if self.spare.len() < SPARE_BUFFERS {
                self.spare.push(output.bytes);
            }
        }
        self.agenda.next()
    }

    /// The packets and digests for the controller, which [`Switch::advance_sending`] left.
    #[inline]
    pub fn take_messages(&mut self) -> Option<Emitted> {
        let Emitted { packet_ins, digests, .. } = &self.emitted;
        let empty = packet_ins.is_empty() && digests.is_empty();
        (!empty).then(|| std::mem::take(&mut self.emitted))
    }

    pub fn deadline(&self) -> Option<Nanos> {
        self.agenda.next()
    }

    pub fn stats(&self) -> SwitchStats {
        let mut ports: Vec<PortStats> = self.port_stats(None).collect();
        let mut cpu = self.cpu;
        if let Some(PortStats { outbound, .. }) = ports.pop() {
            (cpu.drops.egress, cpu.drops.queue_full) =
                (outbound.drops.egress, outbound.drops.link.queue_full);
        }
        SwitchStats {
            ports,
            cpu,
            drops: self.drops,
            absorbed: self.absorbed,
            pipeline: self.forwarding.as_ref().map(|f| f.pipeline.stats()).unwrap_or_default(),
        }
    }

    /// Whether packets are inside: in queues, on links, or on their way to ingress again.
    pub fn holds_packets(&self) -> bool {
        !self.loopback.is_empty() || self.ports.iter().any(PortState::holds_packets)
    }

    pub fn reset_high_water(&mut self) {
        self.ports.iter_mut().for_each(PortState::reset_high_water);
    }

    pub(super) fn place(&self, port: Port) -> Option<u16> {
        self.places.get(usize::from(port.0)).copied().flatten()
    }
}
