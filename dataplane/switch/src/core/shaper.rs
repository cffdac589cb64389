//! The time at which a queue's head may leave, by credit that accrues at the queue's rate.
//!
//! Credit is exact: one packet is 64e9 units, one bit 1e9, and a nanosecond is worth the rate's own number
//! (in 1/64 packet/s, or bit/s). Nothing is rounded but the time at which a head becomes eligible, which is
//! rounded up; the credit that accrues beyond its cost until then is kept for the next.

use groupflow_base::Nanos;

use super::packet_rate::{PacketRate, QueueRate};

const BILLION: u64 = 1_000_000_000;

/// The credit of one queue.
///
/// - A head leaves when there is credit for it. The rest is kept: over any time in which packets wait
///   and the port does not hold them up, exactly the rate leaves.
/// - While nothing waits, credit grows to that of the next packet: it leaves at once, and the one behind it
///   one interval later. There are no bursts after idling.
/// - While a head waits for the port, credit grows to twice the head's: a delay by the port of less than
///   one interval is made up for.
/// - A new rate is for the time from now on. Credit accrued until now stays.
#[derive(Debug, Clone, Copy)]
pub struct QueueShaper {
    rate: Option<QueueRate>,
    paused: bool,
    credit: u64,
    since: Nanos,
    eligible: Nanos,
}

impl Default for QueueShaper {
    /// A shaper without a rate, which holds no packet back.
    fn default() -> QueueShaper {
        QueueShaper { rate: None, paused: false, credit: u64::MAX, since: Nanos::ZERO, eligible: Nanos::ZERO }
    }
}

impl QueueShaper {
    /// When the head may leave, as of the last call of any other function.
    pub fn eligible(&self) -> Nanos {
        self.eligible
    }

    pub fn limits(&self) -> bool {
        self.paused || self.rate.is_some()
    }

    /// Sets a new rate, or none, from now on, and whether the queue is paused. `head` is the head's length.
    pub fn set(&mut self, now: Nanos, rate: Option<QueueRate>, paused: bool, head: Option<u32>) {
        if (rate, paused) == (self.rate, self.paused) {
            return;
        }
        let waits = head.is_some();
        self.accrue(now);
        let head = head.unwrap_or(0);
        self.credit = match (self.rate, rate) {
            // Before, no credit was counted: the head leaves at once, and the next packet waits.
            (None, _) if waits => cost(rate, head),
            (None, _) => u64::MAX,
            // Credit in packets cannot be converted to credit in bits.
            (Some(QueueRate::Packets(_)), Some(QueueRate::Bits(_)))
            | (Some(QueueRate::Bits(_)), Some(QueueRate::Packets(_))) => 0,
            (old, _) if waits => self.credit.min(cost(old, head).saturating_mul(2)),
            _ => self.credit,
        };
        (self.rate, self.paused) = (rate, paused);
        self.set_eligible(waits.then_some(head));
    }

    /// Notes that a packet of `bytes` came to the head of an empty queue.
    pub fn first(&mut self, now: Nanos, bytes: u32) {
        self.accrue(now);
        self.credit = self.credit.min(cost(self.rate, bytes));
        self.set_eligible(Some(bytes));
    }

    /// Notes that the head, of `bytes`, leaves; the next packet has `next` bytes.
    pub fn leave(&mut self, now: Nanos, bytes: u32, next: Option<u32>) {
        let cost = cost(self.rate, bytes);
        self.accrue(now);
        self.credit = self.credit.min(cost.saturating_mul(2)).saturating_sub(cost);
        self.set_eligible(next);
    }

    fn accrue(&mut self, now: Nanos) {
        let span = now - self.since;
        self.since = self.since.max(now);
        self.credit = self.credit.saturating_add(self.speed().saturating_mul(span.0));
    }

    /// Credit that accrues in a nanosecond.
    fn speed(&self) -> u64 {
        match self.rate {
            _ if self.paused => 0,
            Some(QueueRate::Packets(rate)) => rate.units().into(),
            Some(QueueRate::Bits(rate)) => rate.0,
            None => u64::MAX,
        }
    }

    fn set_eligible(&mut self, head: Option<u32>) {
        let stopped = self.speed() == 0;
        self.eligible = match head {
            None => Nanos::ZERO,
            // A rate of zero holds back even packets with enough credit.
            Some(_) if stopped => Nanos::MAX,
            Some(bytes) => {
                let missing = cost(self.rate, bytes).saturating_sub(self.credit);
                self.since + Nanos(missing.div_ceil(self.speed()))
            }
        };
    }
}

/// Credit that a packet of `bytes` takes.
fn cost(rate: Option<QueueRate>, bytes: u32) -> u64 {
    match rate {
        Some(QueueRate::Packets(_)) => PacketRate::ONE * BILLION,
        Some(QueueRate::Bits(_)) => u64::from(bytes).saturating_mul(8 * BILLION),
        None => 0,
    }
}

#[cfg(test)]
#[path = "tests/shaper.rs"]
mod tests;
