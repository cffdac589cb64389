//! A port: the emulated link towards the switch, the queues, and the emulated link from the switch.

use groupflow_base::Nanos;
use groupflow_pipeline::{Frame, Port};

use super::config::FlowControl;
use super::diffusion::Shares;
use super::link::{LinkParameters, Wire};
use super::link_spec::LinkChange;
use super::packet_rate::PacketRate;
use super::queue::Queue;
use super::queue_settings::NOMINAL_PACKET;
use super::stats::{InDrops, InStats, LinkDrops, OutDrops, OutStats, PortStats, QueueStats};
use super::traffic_manager::PortQueues;

/// The longest frame that enters or leaves a switch, in bytes.
pub const MAX_FRAME: usize = 9216;

#[derive(Debug)]
pub struct PortState {
    pub port: Port,
    pub in_queue: Queue<Frame>,
    pub in_wire: Wire<Frame>,
    /// Packets and bytes given to the pipeline.
    pub delivered: (u64, u64),
    pub in_oversize: u64,
    pub out_queues: PortQueues,
    /// The queues' shares by eq. 13.
    pub shares: Shares,
    pub out_wire: Wire<Frame>,
    /// Outbound drops apart from those of queues and wire.
    pub out_drops: OutDrops,
    /// Bytes of a packet where packets/s are computed from the bit rate.
    pub nominal_packet: u32,
}

impl PortState {
    pub fn new(port: Port, priorities: u8, flow_control: FlowControl, seed: u64) -> PortState {
        // Each direction of each port draws its losses from a stream of its own.
        let stream = u64::from(port.0) * 2;
        let out_queues = PortQueues::new(priorities, flow_control);
        PortState {
            port,
            in_queue: Queue::default(),
            in_wire: Wire::new(LinkParameters::IDEAL, seed, stream),
            delivered: (0, 0),
            in_oversize: 0,
            shares: Shares::new(out_queues.len()),
            out_queues,
            out_wire: Wire::new(LinkParameters::IDEAL, seed, stream + 1),
            out_drops: OutDrops::default(),
            nominal_packet: NOMINAL_PACKET,
        }
    }

    pub fn change_link(&mut self, change: &LinkChange) {
        if change.inbound() {
            self.in_wire.parameters = change.applied_to(self.in_wire.parameters);
        }
        if change.outbound() {
            self.out_wire.parameters = change.applied_to(self.out_wire.parameters);
        }
        if let Some(up) = change.up {
            self.in_wire.set_up(up);
            self.out_wire.set_up(up);
        }
    }

    /// Whether a packet passes from the interface to the pipeline at once.
    pub fn in_is_transparent(&self) -> bool {
        self.in_wire.parameters.is_transparent() && self.in_wire.due().is_none() && self.in_queue.is_empty()
    }

    /// Whether a packet passes from egress to the interface at once.
    pub fn out_is_transparent(&self) -> bool {
        self.out_wire.parameters.is_transparent() && self.out_wire.due().is_none()
    }

    /// Whether a packet of `bytes` need not wait on its way out; if so, the packet is counted.
    #[inline]
    pub fn lets_through(&mut self, now: Nanos, queue: u8, bytes: u32) -> bool {
        let (ready, limit) = (self.out_wire.ready(), self.out_wire.parameters.depth());
        let through = ready <= now && self.out_queues.lets_through(queue, bytes, limit, ready < now);
        if through {
            // The program has asked for no rate for this queue, which would limit it: so no share changes.
            self.shares.note_packet(queue);
        }
        through
    }

    /// Notes that the program asks for a rate for a queue, or no longer does. False: nothing changed.
    pub fn demand(&mut self, now: Nanos, queue: u8, demand: Option<PacketRate>) -> bool {
        if self.out_queues.is_empty(queue) {
            self.shares.note_quiet(queue);
        }
        self.out_queues.demand(now, queue, demand)
    }

    pub fn reshare(&mut self, now: Nanos, changed: impl FnMut(u8, PacketRate)) {
        self.shares.update(self.packet_rate(), self.out_queues.demands(), changed);
        self.out_queues.bound(now, self.shares.iter());
    }

    /// Discards all packets and all settings that the program asked for; returns the number of packets.
    pub fn flush(&mut self) -> u64 {
        self.shares.clear();
        self.out_queues.flush()
    }

    fn queue_stats(&self) -> impl Iterator<Item = QueueStats> + '_ {
        let queues = self.out_queues.states().zip(self.out_queues.demands()).zip(self.shares.iter());
        (0..).zip(queues).map(|(priority, (((settings, counters), demand), share))| {
            let share = Some(share).filter(|share| *share != PacketRate::UNLIMITED);
            QueueStats { priority, settings, demand, share, counters }
        })
    }

    /// B of eq. 13: packets/s of nominal size that the outbound wire carries; `None` without a bit rate.
    pub fn packet_rate(&self) -> Option<PacketRate> {
        self.out_wire.parameters.rate.map(|rate| PacketRate::carried(rate, self.nominal_packet))
    }

    pub fn stats(&self) -> PortStats {
        let queues: Vec<QueueStats> = self.queue_stats().collect();
        let (wire, queue) = (self.out_wire.counters(), self.in_queue.counters());
        let inbound = LinkDrops::of(self.in_wire.counters(), queue.dropped, self.in_oversize);
        let full = queues.iter().map(|queue| queue.counters.dropped).sum();
        let outbound = LinkDrops::of(wire, full, self.out_drops.link.oversize);
        PortStats {
            port: self.port.0,
            interface: None,
            up: self.out_wire.is_up(),
            inbound: InStats {
                packets: self.delivered.0,
                bytes: self.delivered.1,
                drops: InDrops { link: inbound, kernel: 0 },
                link: self.in_wire.parameters,
                queue,
            },
            outbound: OutStats {
                packets: wire.packets,
                bytes: wire.bytes,
                drops: OutDrops { link: outbound, ..self.out_drops },
                link: self.out_wire.parameters,
                nominal_packet: self.nominal_packet,
                queues,
            },
        }
    }

    pub fn holds_packets(&self) -> bool {
        let on_wire = self.in_wire.due().or(self.out_wire.due()).is_some();
        on_wire || !self.in_queue.is_empty() || self.out_queues.states().any(|(_, queue)| queue.packets > 0)
    }

    pub fn reset_high_water(&mut self) {
        self.in_queue.reset_high_water();
        self.out_queues.reset_high_water();
    }
}
