//! A switch that runs a P4 program: gfswitch's core, with its ports on the simulated links.

use std::sync::Arc;

use groupflow_base::{BitRate, Nanos};
use groupflow_pipeline::Port;
use groupflow_switch::core::{
    ConfigError, Direction, LinkChange, QueueStats, Switch, SwitchConfig, SwitchStats, ToController,
};
use groupflow_switch::p4rt::{packet_in, packet_out, PipelineConfig, Runtime, Status};
use groupflow_switch::proto::p4::v1::{PacketIn, PacketOut, Update};

use crate::router::QueueLimit;
use crate::sample::NodeSample;
use crate::wiring::Exit;

/// P4Runtime's device id of a switch without clients.
const DEVICE_ID: u64 = 1;
/// The most packets that wait for the controller.
const PACKET_INS: usize = 4096;

/// A switch with its P4Runtime state.
#[derive(Debug)]
pub struct P4Switch {
    switch: Switch,
    runtime: Runtime,
    deadline: Nanos,
    /// Packets for the controller, until the controller takes them.
    packet_ins: Vec<ToController>,
    /// The number of packets for the controller that found no room.
    untaken: u64,
}

/// A port of a switch, with its link's rate and the limit of each of its queues.
#[derive(Debug, Clone, Copy)]
pub struct SwitchPort {
    pub port: u16,
    pub rate: Option<BitRate>,
    pub limit: QueueLimit,
}

impl P4Switch {
    /// A switch with a program and no entries.
    pub fn new(
        mut config: SwitchConfig, ports: &[SwitchPort], program: Arc<PipelineConfig>,
    ) -> Result<P4Switch, ConfigError> {
        config.ports = ports.iter().map(|port| Port(port.port)).collect();
        let mut switch = Switch::new(config)?;
        for port in ports {
            let change = LinkChange {
                direction: Direction::Out,
                rate: Some(port.rate),
                queue_packets: Some(port.limit.packets),
                ..LinkChange::default()
            };
            switch.change_link(Port(port.port), &change)?;
        }
        let mut runtime = Runtime::new(DEVICE_ID);
        runtime.install(&mut switch, program);
        Ok(P4Switch { switch, runtime, deadline: Nanos::MAX, packet_ins: Vec::new(), untaken: 0 })
    }

    /// Carries out a P4Runtime update.
    pub fn apply(&mut self, update: &Update) -> Result<(), Status> {
        self.runtime.apply(&mut self.switch, update)
    }

    /// The packets for the controller since the last call, with the time when each left: as P4Runtime has
    /// them.
    pub fn take_packet_ins(&mut self) -> Vec<(Nanos, PacketIn)> {
        let Some(config) = self.runtime.config() else { return Vec::new() };
        let binding = &config.binding.packet_in;
        let packets = self.packet_ins.drain(..);
        packets.filter_map(|packet| Some((packet.time, packet_in(binding, &packet.bytes)?))).collect()
    }

    /// Takes a packet of the controller, at `now`.
    pub fn packet_out(&mut self, now: Nanos, packet: &PacketOut) -> Result<(), Status> {
        let Some(config) = self.runtime.config() else { return Ok(()) };
        let bytes = packet_out(&config.binding.packet_out, packet)?;
        self.switch.packet_out(now, &bytes);
        Ok(())
    }

    /// The switch, to set it up. A change takes effect now.
    pub fn core_mut(&mut self) -> &mut Switch {
        &mut self.switch
    }

    /// Prepares for a change at `now`, when all events before it have happened.
    pub(crate) fn catch_up(&mut self, now: Nanos) {
        if let Some(before) = now.checked_sub(Nanos(1)) {
            self.switch.catch_up(before);
        }
    }

    /// Follows up on a call from outside at `now`.
    pub(crate) fn touched(&mut self, now: Nanos) {
        self.deadline = now;
    }

    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.deadline
    }

    /// Carries out everything due.
    pub fn advance(&mut self, exit: &mut Exit<'_>) {
        let next = self.switch.advance_sending(exit.now, |output| {
            exit.send(output.port.0, output.time, &output.bytes, output.tail);
        });
        self.deadline = next.unwrap_or(Nanos::MAX);
        if let Some(messages) = self.switch.take_messages() {
            self.keep(messages.packet_ins);
        }
    }

    /// Keeps packets for the controller, as far as there is room.
    fn keep(&mut self, mut packets: Vec<ToController>) {
        let room = PACKET_INS.saturating_sub(self.packet_ins.len()).min(packets.len());
        self.untaken += (packets.len() - room) as u64;
        packets.truncate(room);
        self.packet_ins.append(&mut packets);
    }

    /// Handles a frame that arrives.
    pub fn receive(&mut self, port: u16, head: &[u8], tail: u32, exit: &mut Exit<'_>) {
        self.switch.inject_with_tail(exit.now, Port(port), head, tail);
        self.advance(exit);
    }

    pub fn sample(&self, sample: &mut NodeSample<'_>) {
        let SwitchStats { drops, absorbed, ports, .. } = self.switch.stats();
        sample.signalled(None, "absorbed", absorbed);
        sample.dropped("ingress", drops.ingress);
        sample.dropped("no_program", drops.no_program);
        sample.dropped("no_such_port", drops.no_such_port);
        sample.dropped("no_such_group", drops.no_such_group);
        sample.dropped("loopback_full", drops.loopback_full);
        sample.dropped("clone_limit", drops.clone_limit);
        sample.dropped("reloaded", drops.reloaded);
        sample.dropped("no_controller", self.untaken);
        for port in ports {
            let drops = port.outbound.drops;
            sample.dropped_at(port.port, "oversize", port.inbound.drops.link.oversize + drops.link.oversize);
            sample.dropped_at(port.port, "egress", drops.egress);
            sample.dropped_at(port.port, "no_such_queue", drops.priority);
            for queue in port.outbound.queues {
                let QueueStats { priority, counters, .. } = queue;
                sample.dropped_by_queue(port.port, priority, counters.dropped);
                if Port(port.port) != self.switch.config().cpu_port {
                    sample.queue(port.port, priority, counters.packets, counters.bytes);
                }
            }
        }
    }
}
