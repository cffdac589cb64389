//! The times of acknowledgements, by rules that receivers and cache agents share.

use groupflow_base::Nanos;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::ids::Seq;
use crate::wire::{Flags, Header};

/// An acknowledgement is due after this many packets, or [`DELAY`] after the first unacknowledged one.
const EVERY: u32 = 16;
/// The time from the first unacknowledged packet to its acknowledgement.
const DELAY: Nanos = Nanos::from_millis(10);
/// Answers to a poll are spread over this time.
const POLL_SPREAD: Nanos = Nanos::from_millis(5);

/// Decides when the cumulative acknowledgement is sent.
#[derive(Debug)]
pub struct Acknowledger {
    /// The value of the last acknowledgement that was sent.
    sent: Seq,
    /// The value of the next acknowledgement: every packet below this one is acknowledged.
    pub(crate) value: Seq,
    due: Option<Nanos>,
    pub(crate) poll: u8,
    answer_due: Option<Nanos>,
    stamp: u32,
}

impl Acknowledger {
    /// The acknowledgements of a stream whose first expected packet is `start`.
    pub fn new(start: Seq) -> Acknowledger {
        Acknowledger { sent: start, value: start, due: None, poll: 0, answer_due: None, stamp: 0 }
    }

    /// Takes note of the stamp and the poll of a DATA or SYNC.
    pub fn observe(&mut self, now: Nanos, header: &Header, rng: &mut ChaCha8Rng) {
        if header.stamp != 0 {
            self.stamp = header.stamp;
        }
        if newer_poll(header.poll, self.poll) {
            self.poll = header.poll;
            let spread = Nanos(rng.gen_range(0..=POLL_SPREAD.0));
            self.answer_due.get_or_insert(now + spread);
        }
    }

    /// Allows every packet below `value` to be acknowledged. A lower value than before changes nothing.
    pub fn advance(&mut self, now: Nanos, value: Seq) {
        self.value = self.value.max(value);
        let unacknowledged = self.value.since(self.sent);
        if unacknowledged >= EVERY {
            self.due = Some(now);
        } else if unacknowledged > 0 {
            self.due.get_or_insert(now + DELAY);
        }
    }

    /// Makes an acknowledgement due now, whether or not there is anything new to acknowledge.
    pub fn hurry(&mut self, now: Nanos) {
        self.due = Some(now);
    }

    pub fn unsent(&self) -> bool {
        self.value > self.sent
    }

    /// Fills in an ACK header when one is due.
    pub fn poll_transmit(&mut self, now: Nanos, mut header: Header) -> Option<Header> {
        let forced = self.answer_due.is_some_and(|due| due <= now);
        if !forced && self.due.map_or(true, |due| due > now) {
            return None;
        }
        self.due = None;
        self.sent = self.value;
        header.seq = self.value;
        header.stamp = self.stamp;
        if forced {
            self.answer_due = None;
            header.flags = Flags::FORCED;
            header.poll = self.poll;
        }
        Some(header)
    }

    pub fn next_deadline(&self) -> Option<Nanos> {
        [self.due, self.answer_due].into_iter().flatten().min()
    }
}

/// Whether poll `a` was made after poll `b`. Numbers wrap from 255 to 1; 0 is no poll.
fn newer_poll(a: u8, b: u8) -> bool {
    let ahead = a.wrapping_sub(b);
    a != 0 && (b == 0 || (ahead != 0 && ahead < 128))
}

#[cfg(test)]
#[path = "tests/acks.rs"]
mod tests;
