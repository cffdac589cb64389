//! The times at which an application has messages to send.

use groupflow_base::Nanos;

use crate::random::Random;
use crate::spec::MessagesSpec;

#[derive(Debug, Clone)]
pub struct MessageSource {
    spec: MessagesSpec,
    random: Random,
    start: Nanos,
    stop: Nanos,
    /// The number of the next one, from 1: no time is before the start.
    number: u64,
    due: Nanos,
    offered: u64,
}

impl MessageSource {
    /// Messages from `start` on, none at `stop` or later, of packets of `mss` bytes.
    pub fn new(spec: MessagesSpec, mss: u32, random: Random, start: Nanos, stop: Nanos) -> MessageSource {
        let mss = u64::from(mss);
        let spec = MessagesSpec { bytes: spec.bytes.div_ceil(mss) * mss, ..spec };
        let mut messages =
            MessageSource { spec, random, start, stop, number: 0, due: Nanos::ZERO, offered: 0 };
        messages.schedule();
        messages
    }

    /// When the next message is written; [`Nanos::MAX`]: there is none.
    pub fn due(&self) -> Nanos {
        self.due
    }

    /// Bytes written so far.
    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// The bytes of the messages that are due.
    pub fn take(&mut self, now: Nanos) -> u64 {
        let before = self.offered;
        while self.due <= now && self.due < Nanos::MAX {
            self.offered += self.spec.bytes;
            self.schedule();
        }
        self.offered - before
    }

    /// (tr + ti) (x + i): the period, and x from -0.5 to 0.5.
    fn schedule(&mut self) {
        let period = self.spec.period_ns;
        self.number += 1;
        let since = self.number.saturating_mul(period) - period / 2 + self.random.below(period);
        let due = self.start.saturating_add(Nanos(since));
        self.due = if due < self.stop { due } else { Nanos::MAX };
    }
}

#[cfg(test)]
#[path = "tests/messages.rs"]
mod tests;
