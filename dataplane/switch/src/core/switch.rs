//! The switch as a value: packets and the time go in, packets and the next deadline come out.

use groupflow_pipeline::units::{Nanos, Port};
use groupflow_pipeline::{Arrival, Digest, Options, Pipeline, Program};
use std::collections::VecDeque;
use std::sync::Arc;

use super::agenda::{Agenda, Stage};
use super::config::{ConfigError, SwitchConfig, MAX_PORT};
use super::link_spec::LinkChange;
use super::port::{PortState, MAX_FRAME};
use super::replication::ReplicationEngine;
use super::stats::{CpuStats, PipelineStats, SwitchDrops, SwitchStats};

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
    pub(super) config: SwitchConfig,
    pub(super) forwarding: Option<Forwarding>,
    /// The attached ports in the order of their numbers, then the CPU port. A port's position here is
    /// its place on the agenda; the loopback's place comes after.
    pub(super) ports: Vec<PortState>,
    /// The place of each port number.
    places: Vec<Option<u16>>,
    pub(super) agenda: Agenda,
    pub(super) loopback: VecDeque<(Nanos, Arrival, Vec<u8>)>,
    pub(super) clock: Nanos,
    pub(super) emitted: Emitted,
    pub(super) drops: SwitchDrops,
    pub(super) cpu: CpuStats,
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
            Options { drop_port: self.config.drop_port, seed: self.config.seed, ..Options::default() };
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

    pub(super) fn place(&self, port: Port) -> Option<u16> {
        self.places.get(usize::from(port.0)).copied().flatten()
    }
}
