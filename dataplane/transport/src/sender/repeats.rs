//! Packets that a sender sends again, because no cache on the way had them.

use std::collections::BTreeMap;

use groupflow_base::Nanos;

use crate::ids::Seq;
use crate::intervals::IntervalSet;
use crate::nack::{Nack, PacketRange};

/// The most packets of one NACK that are answered.
const NACK_BOUND: u32 = 1024;
/// The most ranges that wait, and the most recent repetitions that are remembered.
const BOUND: usize = 4096;
/// A packet is not repeated within this, or within half a round trip.
const HOLD_MIN: Nanos = Nanos::from_millis(20);

/// The packets that are to be sent again.
#[derive(Debug)]
pub(super) struct Repeats {
    wanted: IntervalSet,
    sent_at: BTreeMap<u32, Nanos>,
}

impl Repeats {
    pub(super) fn new() -> Repeats {
        Repeats { wanted: IntervalSet::new(BOUND), sent_at: BTreeMap::new() }
    }

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
            self.wanted.insert(range);
        }
    }

    /// The next packet to send again.
    pub(super) fn pop(&mut self, now: Nanos, rtt: Nanos) -> Option<Seq> {
        let hold = Nanos(rtt.0 / 2).max(HOLD_MIN);
        while let Some(seq) = self.wanted.pop_first() {
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
mod tests;
