//! The queues of one port and the order in which they are served.

use groupflow_pipeline::units::Nanos;
use groupflow_pipeline::{Instance, Packet};

use super::queue::{Depth, Queue, QueueCounters};

/// A packet that waits for egress.
#[derive(Debug)]
pub struct Queued {
    /// The packet.
    pub packet: Packet,
    /// Which copy of a multicast group or clone session.
    pub rid: u16,
    /// How it came to be.
    pub instance: Instance,
    /// Bytes to keep, where a clone session says so.
    pub truncate: Option<usize>,
    /// How many times egress cloned its way to this packet.
    pub generation: u8,
    /// When it was queued.
    pub enqueued_at: Nanos,
    /// Packets in the queue when it joined.
    pub enqueue_depth: u32,
}

/// Why the traffic manager refused a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The queue was full.
    Full,
    /// The port has no queue of this priority.
    Priority,
}

/// Which queue is served next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// The highest priority that has a packet.
    #[default]
    Strict,
}

/// The queues of one port, one a priority; 0 is the lowest.
#[derive(Debug)]
pub struct PortQueues {
    queues: Vec<Queue<Queued>>,
    scheduler: Scheduler,
}

impl PortQueues {
    /// Empty queues for `priorities` priorities.
    pub fn new(priorities: u8) -> PortQueues {
        PortQueues {
            queues: (0..priorities.max(1)).map(|_| Queue::default()).collect(),
            scheduler: Scheduler::Strict,
        }
    }

    /// Queues a packet of `bytes`.
    pub fn push(
        &mut self,
        mut packet: Queued,
        priority: u8,
        bytes: usize,
        limit: Depth,
    ) -> Result<(), Refusal> {
        let queue = self.queues.get_mut(usize::from(priority)).ok_or(Refusal::Priority)?;
        packet.enqueue_depth = queue.packets();
        if queue.push(packet, bytes, limit) {
            Ok(())
        } else {
            Err(Refusal::Full)
        }
    }

    /// Takes the packet to send next, and the depth of its queue without it.
    pub fn pop(&mut self) -> Option<(Queued, u32)> {
        let queue = match self.scheduler {
            Scheduler::Strict => self.queues.iter_mut().rev().find(|queue| !queue.is_empty())?,
        };
        let (packet, _) = queue.pop()?;
        Some((packet, queue.packets()))
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.queues.iter().all(Queue::is_empty)
    }

    /// Discards everything; gives the number of packets.
    pub fn flush(&mut self) -> u64 {
        self.queues.iter_mut().map(Queue::flush).sum()
    }

    /// The counters of each queue, lowest priority first.
    pub fn counters(&self) -> impl Iterator<Item = QueueCounters> + '_ {
        self.queues.iter().map(Queue::counters)
    }

    /// Starts new high-water marks.
    pub fn reset_high_water(&mut self) {
        self.queues.iter_mut().for_each(Queue::reset_high_water);
    }
}
