//! A smoothed round-trip time, and the timeouts that follow from it.

use groupflow_base::Nanos;

/// Exponentially smoothed round-trip time (RFC 6298, without the variance: the timeouts here are
/// multiples of the time itself and back off).
#[derive(Debug, Clone, Copy, Default)]
pub struct Rtt {
    smoothed: Option<Nanos>,
}

impl Rtt {
    /// Longer samples are echoes of another packet.
    const PLAUSIBLE: Nanos = Nanos::from_secs(10);

    /// Takes a measurement, with weight 1/8.
    pub fn sample(&mut self, measured: Nanos) {
        if measured > Self::PLAUSIBLE {
            return;
        }
        self.smoothed = Some(match self.smoothed {
            None => measured,
            Some(old) => Nanos(old.0 - old.0 / 8 + measured.0 / 8),
        });
    }

    /// The smoothed time; `None` before the first measurement.
    pub fn get(&self) -> Option<Nanos> {
        self.smoothed
    }

    /// The smoothed time, or `default`.
    pub fn or(&self, default: Nanos) -> Nanos {
        self.smoothed.unwrap_or(default)
    }
}

/// `base` doubled `times` times, at most `cap`.
pub fn backoff(base: Nanos, times: u32, cap: Nanos) -> Nanos {
    let factor = 1_u64.checked_shl(times).unwrap_or(u64::MAX);
    Nanos(base.0.saturating_mul(factor)).min(cap)
}

#[cfg(test)]
#[path = "tests/rtt.rs"]
mod tests;
