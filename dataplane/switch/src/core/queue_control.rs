//! Queues, port settings and generators as users and programs change them.

use groupflow_base::Nanos;
use groupflow_pipeline::Port;

use super::agenda::LinkStage;
use super::config::ConfigError;
use super::generator::Generators;
use super::packet_rate::PacketRate;
use super::port::{PortState, MAX_FRAME};
use super::queue_settings::QueueChange;
use super::stats::PortStats;
use super::switch::Switch;

impl Switch {
    /// Changes a queue. The change takes effect at [`Switch::reached`], also for packets that wait already.
    pub fn change_queue(&mut self, port: Port, queue: u8, change: &QueueChange) -> Result<(), ConfigError> {
        let place = self.place(port).ok_or(ConfigError::NoSuchPort(port))?;
        let queues = &mut self.ports[usize::from(place)].out_queues;
        if !queues.configure(self.reached, queue, change) {
            return Err(ConfigError::NoSuchQueue(port, queue, (queues.len() - 1) as u8));
        }
        self.schedule_transmit(self.reached, place);
        Ok(())
    }

    /// Sets the bytes of a packet where packets/s are computed from the port's bit rate.
    pub fn set_nominal_packet(&mut self, port: Port, bytes: u32) -> Result<(), ConfigError> {
        let place = self.place(port).ok_or(ConfigError::NoSuchPort(port))?;
        if bytes == 0 || bytes as usize > MAX_FRAME {
            return Err(ConfigError::PacketSize(bytes));
        }
        self.ports[usize::from(place)].nominal_packet = bytes;
        self.reshare(self.reached, place);
        Ok(())
    }

    pub fn nominal_packet(&self, port: Port) -> Result<u32, ConfigError> {
        let place = self.place(port).ok_or(ConfigError::NoSuchPort(port))?;
        Ok(self.ports[usize::from(place)].nominal_packet)
    }

    /// The counters of all ports, that of the controller last, or those of one.
    pub fn port_stats(&self, only: Option<Port>) -> impl Iterator<Item = PortStats> + '_ {
        let wanted = move |state: &&PortState| only.map_or(true, |port| port == state.port);
        self.ports.iter().filter(wanted).map(PortState::stats)
    }

    /// Changes the program's generators, as of the time that is handed over.
    /// `None` without a program.
    pub fn change_generators<R>(&mut self, change: impl FnOnce(&mut Generators, Nanos) -> R) -> Option<R> {
        let reached = self.reached;
        let result = self.forwarding.as_mut().map(|f| change(&mut f.generators, reached));
        self.schedule_generators();
        result
    }

    /// Carries out the controller's writes to registers of queues. The switch notices the program's own
    /// writes.
    pub fn obey_controller(&mut self) {
        self.obey_registers(self.reached);
    }

    pub(super) fn schedule_generators(&mut self) {
        if let Some(due) = self.forwarding.as_ref().and_then(|f| f.generators.due()) {
            self.agenda.schedule(due, self.generators_place(), LinkStage::Arrive);
        }
    }

    /// Gives queues the rates that were written since the last call.
    #[inline]
    pub(super) fn obey_registers(&mut self, now: Nanos) {
        if self.forwarding.as_ref().is_some_and(|f| f.pipeline.has_written()) {
            self.obey_written(now);
        }
    }

    fn obey_written(&mut self, now: Nanos) {
        // Only writes to the register of rates are noted.
        while let Some((_, index)) = self.forwarding.as_mut().and_then(|f| f.pipeline.pop_written()) {
            self.obey(now, index);
        }
    }

    fn obey(&mut self, now: Nanos, index: usize) {
        let Some(forwarding) = &self.forwarding else { return };
        let Some(rate) = forwarding.registers.rate else { return };
        let Some((port, queue)) = rate.queue(index) else { return };
        let Some(place) = self.place(port) else { return };
        let units = forwarding.pipeline.register_read(rate.register, index).unwrap_or(0);
        let demand = PacketRate::from_units(u32::try_from(units).unwrap_or(u32::MAX));
        let changed = self.ports[usize::from(place)].demand(now, queue, Some(demand));
        // Shares change even if no rate does: a flow may have come to another queue of the port, or gone.
        self.reshare(now, place);
        if changed || self.config.flow_control.bound {
            self.schedule_transmit(now, place);
        }
    }

    pub(super) fn reshare(&mut self, now: Nanos, place: u16) {
        let state = &mut self.ports[usize::from(place)];
        let port = state.port;
        let forwarding = &mut self.forwarding;
        state.reshare(now, |queue, share| {
            let Some(forwarding) = forwarding else { return };
            let register = forwarding.registers.share;
            if let Some((register, index)) = register.and_then(|r| Some((r.register, r.cell(port, queue)?))) {
                forwarding.pipeline.register_set(register, index, share.units().into());
            }
        });
    }

    pub(super) fn note_depth(&mut self, place: u16, queue: u8, packets: u32) {
        let Some(forwarding) = &mut self.forwarding else { return };
        let Some(depth) = forwarding.registers.depth else { return };
        if let Some(index) = depth.cell(self.ports[usize::from(place)].port, queue) {
            forwarding.pipeline.register_set(depth.register, index, packets.into());
        }
    }
}
