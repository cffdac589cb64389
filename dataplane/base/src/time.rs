//! Time.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

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

    /// `n` milliseconds.
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

    /// Whole milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The sum, or `None` where it does not fit.
    pub const fn checked_add(self, span: Nanos) -> Option<Nanos> {
        match self.0.checked_add(span.0) {
            Some(sum) => Some(Nanos(sum)),
            None => None,
        }
    }

    /// The difference, or `None` where `earlier` is later.
    pub const fn checked_sub(self, earlier: Nanos) -> Option<Nanos> {
        match self.0.checked_sub(earlier.0) {
            Some(difference) => Some(Nanos(difference)),
            None => None,
        }
    }

    /// The sum, at most [`Nanos::MAX`].
    pub const fn saturating_add(self, span: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(span.0))
    }

    /// The difference, at least [`Nanos::ZERO`].
    pub const fn saturating_sub(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
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
