//! A flow's bytes on a link at given instants: the paper's network efficiency counts them.

use std::collections::VecDeque;

use groupflow_base::Nanos;

use crate::ids::FlowId;

/// Source and destination address and port, as they stand in an Ethernet, IPv4, TCP or UDP frame.
pub type FlowKey = [u8; 12];
/// The offset of addresses and ports in a frame.
const KEY_AT: usize = 26;
/// The most flows that are compared one after the other.
const FEW: usize = 4;

/// Counts the frames of one flow that have entered a link and those that have come out of it.
#[derive(Debug)]
pub struct Transit {
    pub flow: FlowId,
    key: FlowKey,
    packets: u64,
    bytes: u64,
    entered: Marks,
    left: Marks,
}

impl Transit {
    /// The count for samples at `interval`, `2 * interval` and so on.
    pub fn new(flow: FlowId, key: FlowKey, interval: Nanos, delay: Nanos) -> Transit {
        Transit {
            flow,
            key,
            packets: 0,
            bytes: 0,
            entered: Marks::new(interval, Nanos::ZERO),
            left: Marks::new(interval, delay),
        }
    }

    /// Puts the flows of a link in the order in which [`Transit::find`] expects them.
    pub fn sort(transits: &mut [Transit]) {
        transits.sort_by_key(|transit| transit.key);
    }

    /// The flow that a frame belongs to.
    #[inline]
    pub fn find<'a>(transits: &'a mut [Transit], head: &[u8]) -> Option<&'a mut Transit> {
        let key = head.get(KEY_AT..KEY_AT + 12)?;
        if transits.len() <= FEW {
            return transits.iter_mut().find(|transit| transit.key == key);
        }
        let place = transits.binary_search_by(|transit| transit.key.as_slice().cmp(key)).ok()?;
        Some(&mut transits[place])
    }

    /// Counts a frame of the flow, whose last bit enters the link at `sent`, which never decreases.
    #[inline]
    pub fn enter(&mut self, sent: Nanos, bytes: u64) {
        self.entered.note(sent, self.packets, self.bytes);
        self.left.note(sent, self.packets, self.bytes);
        self.packets += 1;
        self.bytes += bytes;
    }

    /// Makes frames stay on the link for so much longer from now on. Samples within that time do not count
    /// frames that come out in it.
    pub fn lengthen(&mut self, by: Nanos) {
        self.left.next = Nanos(self.left.next.0.saturating_sub(by.0));
    }

    /// Packets and bytes on the link at the next sample's time, which must have come.
    pub fn sample(&mut self) -> (u64, u64) {
        let entered = self.entered.take(self.packets, self.bytes);
        let left = self.left.take(self.packets, self.bytes);
        (entered.0 - left.0, entered.1 - left.1)
    }
}

/// The numbers of frames that had entered at instants a fixed interval apart.
#[derive(Debug)]
pub struct Marks {
    interval: Nanos,
    /// The next instant that is not known yet.
    next: Nanos,
    /// Instants that are known but not asked for yet: frames may be announced ahead of their time.
    known: VecDeque<(u64, u64)>,
}

impl Marks {
    /// The n-th instant is n intervals less the lag. Those before time zero are known.
    pub fn new(interval: Nanos, lag: Nanos) -> Marks {
        let mut marks = Marks { interval, next: interval - lag, known: VecDeque::new() };
        let mut instant = interval;
        while instant <= lag {
            marks.known.push_back((0, 0));
            instant += interval;
            marks.next = instant - lag;
        }
        marks
    }

    /// Notes that a frame enters at `sent`, which never decreases, behind `packets` frames of `bytes` bytes.
    #[inline]
    pub fn note(&mut self, sent: Nanos, packets: u64, bytes: u64) {
        while self.next < sent {
            self.known.push_back((packets, bytes));
            self.next += self.interval;
        }
    }

    /// The bytes that had entered by the next instant, which must have come; so much is announced by now.
    pub fn take(&mut self, packets: u64, bytes: u64) -> (u64, u64) {
        self.known.pop_front().unwrap_or_else(|| {
            self.next += self.interval;
            (packets, bytes)
        })
    }
}

#[cfg(test)]
#[path = "tests/transit.rs"]
mod tests;
