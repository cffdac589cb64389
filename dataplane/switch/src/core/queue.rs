//! A bounded queue and its counters.

use std::collections::VecDeque;

/// Packets and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Amount {
    /// The number of packets.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
}

impl Amount {
    /// Adds a packet of `bytes`.
    pub fn count(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }
}

/// Packets that a queue did not deliver, by reason.
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

/// The state and history of one queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct QueueCounters {
    /// Packets accepted.
    pub enqueued: u64,
    /// Bytes of these packets.
    pub enqueued_bytes: u64,
    /// Packets taken out to be sent.
    pub sent: u64,
    /// Bytes of these packets.
    pub sent_bytes: u64,
    /// Packets refused because the queue was full.
    pub dropped: u64,
    /// Packets that were not delivered, by reason.
    pub drops: QueueDrops,
    /// Packets waiting now.
    pub packets: u32,
    /// Bytes waiting now.
    pub bytes: u64,
    /// The most packets that ever waited.
    pub high_water_packets: u32,
    /// The most bytes that ever waited.
    pub high_water_bytes: u64,
}

/// The limits of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// The most packets.
    pub packets: u32,
    /// The most bytes.
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

impl<T> Queue<T> {
    /// Whether there is room for an item of `bytes`; if not, a drop is counted.
    pub fn admit(&mut self, bytes: u32, limit: Depth) -> bool {
        let counters = &mut self.counters;
        let length = u64::from(bytes);
        let reason = if counters.packets >= limit.packets {
            &mut counters.drops.full_packets
        } else if counters.bytes + length > limit.bytes {
            &mut counters.drops.full_bytes
        } else {
            return true;
        };
        reason.count(length);
        counters.dropped += 1;
        false
    }

    /// Whether there is room for an item of `bytes`.
    #[inline]
    pub fn has_room(&self, bytes: u32, limit: Depth) -> bool {
        self.counters.packets < limit.packets && self.counters.bytes + u64::from(bytes) <= limit.bytes
    }

    /// Appends an item of `bytes` that was admitted; returns the number of packets.
    pub fn push(&mut self, item: T, bytes: u32) -> u32 {
        let counters = &mut self.counters;
        counters.enqueued += 1;
        counters.enqueued_bytes += u64::from(bytes);
        counters.packets += 1;
        counters.bytes += u64::from(bytes);
        counters.high_water_packets = counters.high_water_packets.max(counters.packets);
        counters.high_water_bytes = counters.high_water_bytes.max(counters.bytes);
        self.items.push_back((item, bytes));
        counters.packets
    }

    /// Counts an item of `bytes` that goes through an empty queue without waiting.
    pub fn count_through(&mut self, bytes: u32) {
        let length = u64::from(bytes);
        let counters = &mut self.counters;
        counters.enqueued += 1;
        counters.enqueued_bytes += length;
        counters.sent += 1;
        counters.sent_bytes += length;
        counters.high_water_packets = counters.high_water_packets.max(1);
        counters.high_water_bytes = counters.high_water_bytes.max(length);
    }

    /// Takes the oldest item.
    pub fn pop(&mut self) -> Option<(T, u32)> {
        let (item, bytes) = self.items.pop_front()?;
        let counters = &mut self.counters;
        counters.sent += 1;
        counters.sent_bytes += u64::from(bytes);
        counters.packets -= 1;
        counters.bytes -= u64::from(bytes);
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

    /// Discards all items; returns their number.
    pub fn flush(&mut self) -> u64 {
        let flushed = Amount { packets: self.counters.packets.into(), bytes: self.counters.bytes };
        let reloaded = &mut self.counters.drops.reloaded;
        reloaded.packets += flushed.packets;
        reloaded.bytes += flushed.bytes;
        self.items.clear();
        self.counters.packets = 0;
        self.counters.bytes = 0;
        flushed.packets
    }

    /// Packets waiting.
    pub fn packets(&self) -> u32 {
        self.counters.packets
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The queue's state and history.
    pub fn counters(&self) -> QueueCounters {
        self.counters
    }

    /// Starts new high-water marks.
    pub fn reset_high_water(&mut self) {
        self.counters.high_water_packets = self.counters.packets;
        self.counters.high_water_bytes = self.counters.bytes;
    }
}

#[cfg(test)]
#[path = "tests/queue.rs"]
mod tests;
