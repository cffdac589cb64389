//! Time and bit rates.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time, or a span of it, in nanoseconds. The origin is the owner's choice.
///
/// Arithmetic saturates: 2^64 ns are 584 years, so a saturated value means "never".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The origin, or an empty span.
    pub const ZERO: Nanos = Nanos(0);
    /// Later than anything that happens.
    pub const MAX: Nanos = Nanos(u64::MAX);

    pub const fn from_micros(n: u64) -> Nanos {
        Nanos(n.saturating_mul(1_000))
    }

    pub const fn from_millis(n: u64) -> Nanos {
        Nanos(n.saturating_mul(1_000_000))
    }

    pub const fn from_secs(n: u64) -> Nanos {
        Nanos(n.saturating_mul(1_000_000_000))
    }

    /// Whole microseconds, the unit of v1model's time stamps.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The difference, or `None` where `earlier` is later.
    pub const fn checked_sub(self, earlier: Nanos) -> Option<Nanos> {
        match self.0.checked_sub(earlier.0) {
            Some(difference) => Some(Nanos(difference)),
            None => None,
        }
    }

    pub const fn saturating_add(self, span: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(span.0))
    }

    pub const fn saturating_sub(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// The span doubled `times` times, `most` at most: the pause after `times` attempts.
    pub fn doubled(self, times: u32, most: Nanos) -> Nanos {
        let factor = 1_u64.checked_shl(times).unwrap_or(u64::MAX);
        Nanos(self.0.saturating_mul(factor)).min(most)
    }
}

impl From<Nanos> for Duration {
    fn from(span: Nanos) -> Duration {
        Duration::from_nanos(span.0)
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, span: Nanos) -> Nanos {
        self.saturating_add(span)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, span: Nanos) {
        *self = self.saturating_add(span);
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, earlier: Nanos) -> Nanos {
        self.saturating_sub(earlier)
    }
}

impl fmt::Display for Nanos {
    /// Seconds with as many decimals as there are nanoseconds: `1.000000250 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// A rate in bits per second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
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
