//! The queues of one port: they hold packets, and decide which one leaves next, and when.

use groupflow_base::Nanos;
use groupflow_pipeline::{Instance, Packet};

use super::config::FlowControl;
use super::packet_rate::{PacketRate, QueueRate};
use super::queue::{Depth, Queue, QueueCounters};
use super::queue_settings::{QueueChange, QueueSettings};
use super::replication::Lineage;
use super::scheduler::{Mask, Scheduler, Share};
use super::shaper::QueueShaper;
use super::tracer::TraceHandle;

#[derive(Debug, Clone, Copy, Default)]
pub struct Origin {
    pub instance: Instance,
    /// The instance of the copy in a multicast group or clone session.
    pub rid: u16,
    /// The multicast group of a copy; 0: none.
    pub group: u16,
}

#[derive(Debug)]
pub struct Queued {
    pub packet: Packet,
    pub origin: Origin,
    /// The number of bytes to keep, if a clone session says so.
    pub truncate: Option<usize>,
    /// The way by which egress cloned the packet.
    pub lineage: Lineage,
    pub enqueued_at: Nanos,
    pub enqueue_depth: u32,
    pub trace: Option<TraceHandle>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnqueueError {
    Full,
    Priority,
}

#[derive(Debug)]
pub enum PortService {
    Packet(Served),
    At(Nanos),
    /// The port may send no packet until a queue changes.
    Nothing,
}

#[derive(Debug)]
pub struct Served {
    pub queued: Queued,
    pub queue: u8,
    /// The packet's length when it was queued.
    pub bytes: u32,
    pub depth: u32,
}

#[derive(Debug)]
struct PortQueue {
    packets: Queue<Queued>,
    shaper: QueueShaper,
    settings: QueueSettings,
    /// The rate that the program asked for; `None`: it asked for none.
    demand: Option<PacketRate>,
    /// The rate that bounds this (`FlowControl::bound`).
    bound: PacketRate,
}

impl PortQueue {
    fn rate(&self) -> Option<QueueRate> {
        self.demand.map(|demand| QueueRate::Packets(demand.min(self.bound))).or(self.settings.rate)
    }

    fn limit(&self, link: Depth) -> Depth {
        Depth {
            packets: self.settings.limit_packets.unwrap_or(link.packets),
            bytes: self.settings.limit_bytes.unwrap_or(link.bytes),
        }
    }
}

#[derive(Debug)]
pub struct PortQueues {
    queues: Vec<PortQueue>,
    scheduler: Scheduler,
    flow_control: FlowControl,
    waiting: Mask,
    /// Queues whose head may have to wait for its queue's rate.
    limited: Mask,
}

impl PortQueues {
    /// Empty queues for each of `priorities` priorities, at most 64.
    pub fn new(priorities: u8, flow_control: FlowControl) -> PortQueues {
        let priorities = priorities.clamp(1, 64);
        let queue = |number| PortQueue {
            packets: Queue::default(),
            shaper: QueueShaper::default(),
            settings: QueueSettings::of(number),
            demand: None,
            bound: PacketRate::UNLIMITED,
        };
        PortQueues {
            queues: (0..priorities).map(queue).collect(),
            scheduler: Scheduler::new(priorities),
            flow_control,
            waiting: 0,
            limited: 0,
        }
    }

    /// Whether a queue has room for a packet of `bytes`; if not, a drop is counted. `link` limits a queue
    /// that has no limits of its own.
    pub fn admit(&mut self, priority: u8, bytes: u32, link: Depth) -> Result<(), EnqueueError> {
        let stored: u32 = match self.flow_control.pool {
            Some(_) => self.queues.iter().map(|queue| queue.packets.packets()).sum(),
            None => 0,
        };
        let queue = self.queues.get_mut(usize::from(priority)).ok_or(EnqueueError::Priority)?;
        let mut limit = queue.limit(link);
        if let Some(pool) = self.flow_control.pool {
            let others = stored - queue.packets.packets();
            limit.packets = limit.packets.min(pool.saturating_sub(others));
        }
        queue.packets.admit(bytes, limit).then_some(()).ok_or(EnqueueError::Full)
    }

    /// Whether an admitted packet of `bytes` that the port can take now need not wait; if so, the packet is
    /// counted. `rested` is as for [`PortQueues::pop`].
    #[inline]
    pub fn serve_at_once(&mut self, priority: u8, bytes: u32, rested: bool) -> bool {
        let number = usize::from(priority);
        if self.waiting != 0 || self.limited & (1 << number) != 0 {
            return false;
        }
        if rested {
            self.scheduler.restart();
        }
        self.scheduler.serve(number, bytes);
        self.queues[number].packets.count_through(bytes);
        true
    }

    /// Whether a packet of `bytes` that the port can take now would be admitted and need not wait; if so, the
    /// packet is counted. `rested` is as for [`PortQueues::pop`].
    #[inline]
    pub fn lets_through(&mut self, priority: u8, bytes: u32, link: Depth, rested: bool) -> bool {
        let room = |queue: &PortQueue| queue.packets.has_room(bytes, queue.limit(link));
        let queue = self.queues.get(usize::from(priority));
        queue.is_some_and(room) && self.serve_at_once(priority, bytes, rested)
    }

    /// Queues a packet of `bytes` that was admitted; returns the number of packets that wait now.
    pub fn push(&mut self, now: Nanos, mut packet: Queued, priority: u8, bytes: u32) -> u32 {
        let number = usize::from(priority);
        let queue = &mut self.queues[number];
        packet.enqueue_depth = queue.packets.packets();
        let depth = queue.packets.push(packet, bytes);
        if depth == 1 {
            self.waiting |= 1 << number;
            if self.limited & (1 << number) != 0 {
                queue.shaper.first(now, bytes);
            }
        }
        depth
    }

    /// Takes the packet to send next. `rested` says that the port was free just before and had nothing to
    /// send: a queue that fills now does not compete with the past of others.
    pub fn pop(&mut self, now: Nanos, rested: bool) -> PortService {
        if self.waiting == 0 {
            return PortService::Nothing;
        }
        if rested {
            self.scheduler.restart();
        }
        let mut ready = self.waiting & !self.limited;
        for (number, eligible) in self.shaped() {
            ready |= Mask::from(eligible <= now) << number;
        }
        match self.scheduler.choose(ready) {
            Some(number) => self.take(now, number),
            None => self.eligible().map_or(PortService::Nothing, PortService::At),
        }
    }

    /// When the first waiting packet may leave, as far as its queue's rate is concerned; `None`: no packet
    /// waits, or none may leave before a queue changes.
    pub fn eligible(&self) -> Option<Nanos> {
        if self.waiting & !self.limited != 0 {
            return Some(Nanos::ZERO);
        }
        self.shaped().map(|(_, eligible)| eligible).min().filter(|eligible| *eligible < Nanos::MAX)
    }

    /// The queues whose head may have to wait for its queue's rate, and until when it has to.
    fn shaped(&self) -> impl Iterator<Item = (usize, Nanos)> + '_ {
        let mut limited = self.waiting & self.limited;
        std::iter::from_fn(move || {
            let number = (limited != 0).then(|| limited.trailing_zeros() as usize)?;
            limited &= limited - 1;
            Some((number, self.queues[number].shaper.eligible()))
        })
    }

    fn take(&mut self, now: Nanos, number: usize) -> PortService {
        let queue = &mut self.queues[number];
        let Some((queued, bytes)) = queue.packets.pop() else { return PortService::Nothing };
        let next = queue.packets.head();
        if self.limited & (1 << number) != 0 {
            queue.shaper.leave(now, bytes, next);
        }
        if next.is_none() {
            self.waiting &= !(1 << number);
        }
        self.scheduler.serve(number, bytes);
        let depth = queue.packets.packets();
        PortService::Packet(Served { queued, queue: number as u8, bytes, depth })
    }

    pub fn is_empty(&self, queue: u8) -> bool {
        self.queues.get(usize::from(queue)).is_some_and(|queue| queue.packets.is_empty())
    }

    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// Changes a queue; its rate takes effect for waiting packets, too. False: there is no such queue.
    pub fn configure(&mut self, now: Nanos, queue: u8, change: &QueueChange) -> bool {
        let number = usize::from(queue);
        let Some(queue) = self.queues.get_mut(number) else { return false };
        queue.settings = change.applied_to(queue.settings);
        self.apply(now, number);
        true
    }

    /// Notes that the program asks for a rate for a queue, or no longer does. False: nothing changed.
    pub fn demand(&mut self, now: Nanos, queue: u8, demand: Option<PacketRate>) -> bool {
        let number = usize::from(queue);
        let demand = demand.filter(|rate| *rate != PacketRate::UNLIMITED);
        let Some(queue) = self.queues.get_mut(number) else { return false };
        if queue.demand == demand {
            return false;
        }
        queue.demand = demand;
        self.apply(now, number);
        true
    }

    /// Bounds the program's rates by the queues' shares, if they do.
    pub fn bound(&mut self, now: Nanos, shares: impl Iterator<Item = PacketRate>) {
        if !self.flow_control.bound {
            return;
        }
        for (number, share) in shares.enumerate() {
            if std::mem::replace(&mut self.queues[number].bound, share) != share {
                self.apply(now, number);
            }
        }
    }

    fn apply(&mut self, now: Nanos, number: usize) {
        let queue = &mut self.queues[number];
        let head = queue.packets.head();
        queue.shaper.set(now, queue.rate(), queue.settings.paused, head);
        self.limited = self.limited & !(1 << number) | Mask::from(queue.shaper.limits()) << number;
        let weight = Share::Weight(queue.settings.weight);
        let share = queue.demand.map_or(weight, |demand| Share::Demand(demand.units()));
        self.scheduler.set(number, queue.settings.level, share);
    }

    /// Notes that a packet of `bytes` that a queue sent met a link that was down.
    pub fn count_link_down(&mut self, queue: u8, bytes: u32) {
        if let Some(queue) = self.queues.get_mut(usize::from(queue)) {
            queue.packets.count_link_down(bytes);
        }
    }

    /// Discards all packets and all settings that the program asked for; returns the number of packets.
    pub fn flush(&mut self) -> u64 {
        self.waiting = 0;
        let flushed = self.queues.iter_mut().map(|queue| queue.packets.flush()).sum();
        for number in 0..self.queues.len() {
            (self.queues[number].demand, self.queues[number].bound) = (None, PacketRate::UNLIMITED);
            // The time does not matter for an empty queue, whose credit only grows.
            self.apply(Nanos::ZERO, number);
        }
        flushed
    }

    pub fn demands(&self) -> impl Iterator<Item = Option<PacketRate>> + Clone + '_ {
        self.queues.iter().map(|queue| queue.demand)
    }

    pub fn states(&self) -> impl Iterator<Item = (QueueSettings, QueueCounters)> + '_ {
        self.queues.iter().map(|queue| (queue.settings, queue.packets.counters()))
    }

    pub fn reset_high_water(&mut self) {
        self.queues.iter_mut().for_each(|queue| queue.packets.reset_high_water());
    }
}

#[cfg(test)]
#[path = "tests/traffic_manager.rs"]
mod tests;
