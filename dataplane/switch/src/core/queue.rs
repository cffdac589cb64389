//! A bounded queue and what it counts.

use std::collections::VecDeque;

/// The state and history of one queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct QueueCounters {
    /// Packets accepted.
    pub enqueued: u64,
    /// Packets taken out.
    pub sent: u64,
    /// Packets refused because the queue was full.
    pub dropped: u64,
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

/// First in, first out, tail drop.
#[derive(Debug)]
pub struct Queue<T> {
    items: VecDeque<(T, usize)>,
    counters: QueueCounters,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue { items: VecDeque::new(), counters: QueueCounters::default() }
    }
}

impl<T> Queue<T> {
    /// Appends an item of `bytes`, or counts a drop where the queue is full.
    pub fn push(&mut self, item: T, bytes: usize, limit: Depth) -> bool {
        let counters = &mut self.counters;
        let waiting_bytes = counters.bytes + bytes as u64;
        if counters.packets >= limit.packets || waiting_bytes > limit.bytes {
            counters.dropped += 1;
            return false;
        }
        counters.enqueued += 1;
        counters.packets += 1;
        counters.bytes = waiting_bytes;
        counters.high_water_packets = counters.high_water_packets.max(counters.packets);
        counters.high_water_bytes = counters.high_water_bytes.max(counters.bytes);
        self.items.push_back((item, bytes));
        true
    }

    /// Takes the oldest item.
    pub fn pop(&mut self) -> Option<(T, usize)> {
        let (item, bytes) = self.items.pop_front()?;
        self.counters.sent += 1;
        self.counters.packets -= 1;
        self.counters.bytes -= bytes as u64;
        Some((item, bytes))
    }

    /// Discards everything; gives the number of packets.
    pub fn flush(&mut self) -> u64 {
        let flushed = self.items.len() as u64;
        self.items.clear();
        self.counters.packets = 0;
        self.counters.bytes = 0;
        flushed
    }

    /// Packets waiting.
    pub fn packets(&self) -> u32 {
        self.counters.packets
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// State and history.
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
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_at_the_tail_and_says_so() {
        let limit = Depth { packets: 2, bytes: 1000 };
        let mut queue = Queue::default();
        assert!(queue.push('a', 400, limit));
        assert!(!queue.push('b', 601, limit), "too many bytes");
        assert!(queue.push('c', 600, limit));
        assert!(!queue.push('d', 0, limit), "too many packets");
        assert_eq!(queue.pop(), Some(('a', 400)));
        assert_eq!(
            queue.counters(),
            QueueCounters {
                enqueued: 2,
                sent: 1,
                dropped: 2,
                packets: 1,
                bytes: 600,
                high_water_packets: 2,
                high_water_bytes: 1000
            }
        );
    }

    #[test]
    fn marks_start_anew_from_what_waits() {
        let limit = Depth { packets: 9, bytes: 9000 };
        let mut queue = Queue::default();
        (0..5).for_each(|n| assert!(queue.push(n, 10, limit)));
        assert_eq!(queue.pop(), Some((0, 10)));
        queue.reset_high_water();
        assert_eq!(queue.counters().high_water_packets, 4);
        assert_eq!(queue.flush(), 4);
        assert_eq!((queue.counters().packets, queue.counters().bytes), (0, 0));
    }
}
