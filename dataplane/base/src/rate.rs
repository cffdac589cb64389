//! Bit rates.

use std::fmt;

use crate::Nanos;

/// A rate in bits per second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(pub u64);

crate::wire_number!(BitRate);

impl BitRate {
    /// The time `bytes` take at this rate; [`Nanos::MAX`] at rate 0.
    pub fn time_for(self, bytes: u64) -> Nanos {
        if self.0 == 0 {
            return Nanos::MAX;
        }
        let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(self.0);
        Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How long `bytes` take, given the remainder of the transmission before, and the new remainder.
    ///
    /// The remainder (in units of 1 ns / rate) makes back-to-back packets exact: their total time is rounded
    /// once, not packet by packet, which matters from some Gb/s on. A rate of 0 counts as 1 bit/s.
    pub fn transmission(self, bytes: usize, remainder: u64) -> (Nanos, u64) {
        let rate = u128::from(self.0.max(1));
        let work = bytes as u128 * 8_000_000_000 + u128::from(remainder);
        let span = u64::try_from(work / rate).unwrap_or(u64::MAX);
        // The remainder is below the rate, which is a u64.
        (Nanos(span), (work % rate) as u64)
    }

    /// The rate of `bytes` in `span`; the largest rate for an empty span.
    pub fn of(bytes: u64, span: Nanos) -> BitRate {
        let nanos = u128::from(span.0.max(1));
        let rate = u128::from(bytes) * 8_000_000_000 / nanos;
        BitRate(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    pub fn bytes_in(self, span: Nanos) -> u64 {
        let bytes = u128::from(self.0) * u128::from(span.0) / 8_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// This rate times `per_mille` / 1000.
    pub fn scaled(self, per_mille: u64) -> BitRate {
        let rate = u128::from(self.0) * u128::from(per_mille) / 1000;
        BitRate(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}
