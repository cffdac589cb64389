//! The packets of a sender that are on their way, and those that it sends again because no cache had them.

use std::collections::{BTreeMap, VecDeque};

use groupflow_base::ranges::Ranges;
use groupflow_base::Nanos;

use crate::ids::{Seq, FRAME_OVERHEAD};
use crate::nack::{Nack, PacketRange};

/// The packets that were sent, and those that the whole group has.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) first: Seq,
    pub(super) next: Seq,
    /// The whole group has the packets below this one.
    pub(super) acked: Seq,
    last: Option<Seq>,
    /// Payload lengths of the packets from `acked` to `next`.
    lengths: VecDeque<u16>,
    /// Payload bytes acknowledged.
    pub(super) acked_bytes: u64,
    /// Bytes of frames acknowledged.
    pub(super) acked_wire: u64,
}

impl Flight {
    pub(super) fn new(first: Seq) -> Flight {
        Flight {
            first,
            next: first,
            acked: first,
            last: None,
            lengths: VecDeque::new(),
            acked_bytes: 0,
            acked_wire: 0,
        }
    }

    /// Notes that the next new packet is sent.
    pub(super) fn send(&mut self, length: usize, fin: bool) -> Seq {
        let seq = self.next;
        self.next = seq.next();
        self.lengths.push_back(length as u16);
        if fin {
            self.last = Some(seq);
        }
        seq
    }

    /// Notes that the whole group has the packets below `seq`. False: that is not new.
    pub(super) fn acknowledge(&mut self, seq: Seq) -> bool {
        if seq <= self.acked || seq > self.next {
            return false;
        }
        for _ in 0..seq.since(self.acked) {
            let length = u64::from(self.lengths.pop_front().unwrap_or(0));
            self.acked_bytes += length;
            self.acked_wire += length + FRAME_OVERHEAD;
        }
        self.acked = seq;
        true
    }

    pub(super) fn sent(&self) -> PacketRange {
        PacketRange { first: self.first, last: self.next.prev() }
    }

    pub(super) fn outstanding(&self) -> u32 {
        self.next.since(self.acked)
    }

    /// Whether the last packet was sent.
    pub(super) fn ended(&self) -> bool {
        self.last.is_some()
    }

    /// Whether the whole group has the last packet.
    pub(super) fn complete(&self) -> bool {
        self.last.is_some_and(|last| self.acked > last)
    }
}

/// The most packets of one NACK that are answered.
const NACK_BOUND: u32 = 1024;
/// The most ranges that wait, and the most recent repetitions that are remembered.
const BOUND: usize = 4096;
/// A packet is not repeated within this, or within half a round trip.
const HOLD_MIN: Nanos = Nanos::from_millis(20);

/// The packets that are to be sent again.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    wanted: Ranges,
    sent_at: BTreeMap<u32, Nanos>,
}

impl Repeats {
    /// Takes a request, as far as its packets are in `sent` and there is room.
    pub(super) fn request(&mut self, nack: &Nack, sent: PacketRange) {
        let mut budget = NACK_BOUND;
        for range in &nack.ranges {
            let first = range.first.max(sent.first);
            let last = range.last.min(sent.last).min(first.forward(budget.saturating_sub(1)));
            if budget == 0 || first > last {
                continue;
            }
            let range = PacketRange { first, last };
            budget -= range.count();
            self.wanted.insert_within(range.numbers(), BOUND);
        }
    }

    /// The next packet to send again.
    pub(super) fn pop(&mut self, now: Nanos, rtt: Nanos) -> Option<Seq> {
        let hold = Nanos(rtt.0 / 2).max(HOLD_MIN);
        while let Some(packet) = self.wanted.take_first(1) {
            let seq = Seq(packet.start as u32);
            if self.sent_at.get(&seq.0).is_some_and(|&at| now - at < hold) {
                continue;
            }
            if self.sent_at.len() >= BOUND {
                self.sent_at.retain(|_, at| now - *at < hold);
            }
            if self.sent_at.len() < BOUND {
                self.sent_at.insert(seq.0, now);
            }
            return Some(seq);
        }
        None
    }

    pub(super) fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }
}

#[cfg(test)]
#[path = "tests/repeats.rs"]
mod repeats_tests;

#[cfg(test)]
#[path = "tests/flight.rs"]
mod tests;
