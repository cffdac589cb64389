//! A bounded queue and its counters.

use std::collections::VecDeque;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Amount {
    pub packets: u64,
    pub bytes: u64,
}

impl Amount {
    pub fn count(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct QueueDrops {
    /// Packets that would have exceeded the queue's limit in packets.
    pub full_packets: Amount,
    /// Packets that would have exceeded the queue's limit in bytes.
    pub full_bytes: Amount,
    /// Packets that left the queue for a link that was down. These count as sent, too.
    pub link_down: Amount,
    /// Packets that waited when another program was loaded.
    pub reloaded: Amount,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct QueueCounters {
    pub enqueued: u64,
    pub enqueued_bytes: u64,
    pub sent: u64,
    pub sent_bytes: u64,
    pub dropped: u64,
    pub drops: QueueDrops,
    pub packets: u32,
    pub bytes: u64,
    pub high_water_packets: u32,
    pub high_water_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    pub packets: u32,
    pub bytes: u64,
}

/// A queue: first in, first out, with tail drop.
#[derive(Debug)]
pub struct Queue<T> {
    items: VecDeque<(T, u32)>,
    counters: QueueCounters,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue { items: VecDeque::new(), counters: QueueCounters::default() }
    }
}

impl QueueCounters {
    fn enter(&mut self, bytes: u32) {
        self.enqueued += 1;
        self.enqueued_bytes += u64::from(bytes);
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.high_water_packets = self.high_water_packets.max(self.packets);
        self.high_water_bytes = self.high_water_bytes.max(self.bytes);
    }

    fn leave(&mut self, bytes: u32) {
        self.sent += 1;
        self.sent_bytes += u64::from(bytes);
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
    }
}

impl<T> Queue<T> {
    /// Whether there is room for an item of `bytes`; if not, a drop is counted.
    pub fn admit(&mut self, bytes: u32, limit: Depth) -> bool {
        let counters = &mut self.counters;
        let reason = if counters.packets >= limit.packets {
            &mut counters.drops.full_packets
        } else if counters.bytes + u64::from(bytes) > limit.bytes {
            &mut counters.drops.full_bytes
        } else {
            return true;
        };
        reason.count(bytes.into());
        counters.dropped += 1;
        false
    }

    #[inline]
    pub fn has_room(&self, bytes: u32, limit: Depth) -> bool {
        self.counters.packets < limit.packets && self.counters.bytes + u64::from(bytes) <= limit.bytes
    }

    /// Appends an item of `bytes` that was admitted; returns the number of packets.
    pub fn push(&mut self, item: T, bytes: u32) -> u32 {
        self.counters.enter(bytes);
        self.items.push_back((item, bytes));
        self.counters.packets
    }

    /// Counts an item of `bytes` that goes through an empty queue without waiting.
    pub fn count_through(&mut self, bytes: u32) {
        self.counters.enter(bytes);
        self.counters.leave(bytes);
    }

    pub fn pop(&mut self) -> Option<(T, u32)> {
        let (item, bytes) = self.items.pop_front()?;
        self.counters.leave(bytes);
        Some((item, bytes))
    }

    /// The length of the oldest item.
    pub fn head(&self) -> Option<u32> {
        self.items.front().map(|(_, bytes)| *bytes)
    }

    /// Notes that a packet of `bytes` that was taken out met a link that was down.
    pub fn count_link_down(&mut self, bytes: u32) {
        self.counters.drops.link_down.count(bytes.into());
    }

    pub fn flush(&mut self) -> u64 {
        let flushed = self.items.len() as u64;
        for (_, bytes) in self.items.drain(..) {
            self.counters.drops.reloaded.count(bytes.into());
        }
        (self.counters.packets, self.counters.bytes) = (0, 0);
        flushed
    }

    pub fn packets(&self) -> u32 {
        self.counters.packets
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn counters(&self) -> QueueCounters {
        self.counters
    }

    pub fn reset_high_water(&mut self) {
        self.counters.high_water_packets = self.counters.packets;
        self.counters.high_water_bytes = self.counters.bytes;
    }
}

#[cfg(test)]
#[path = "tests/queue.rs"]
mod tests;
