//! The times at which frames leave an interface with a rate.

use groupflow_base::{BitRate, Nanos};

const NANOS: u64 = 1_000_000_000;

/// The pacer of an interface: one frame leaves after the other. The fraction of a nanosecond that is left
/// over by a frame is added to the next, so that the total of frames back to back is exact.
#[derive(Debug, Clone)]
pub struct InterfacePacer {
    rate: Option<BitRate>,
    free_at: Nanos,
    remainder: u64,
    /// The last size, with its whole nanoseconds and remainder: most frames have the size of the one before.
    last: (u32, u64, u64),
}

impl InterfacePacer {
    /// An idle pacer; `None` is no limit. A rate of 0 counts as 1 bit/s.
    pub fn new(rate: Option<BitRate>) -> InterfacePacer {
        let rate = rate.map(|rate| BitRate(rate.0.max(1)));
        InterfacePacer { rate, free_at: Nanos::ZERO, remainder: 0, last: (0, 0, 0) }
    }

    /// The rate; `None` is unlimited.
    pub fn rate(&self) -> Option<BitRate> {
        self.rate
    }

    /// When the next frame may begin.
    #[inline]
    pub fn free_at(&self) -> Nanos {
        self.free_at
    }

    /// Sends a frame as soon as it may leave, not before `now`; returns when it begins and when its last bit
    /// has left.
    #[inline]
    pub fn send(&mut self, now: Nanos, bytes: u32) -> (Nanos, Nanos) {
        let Some(rate) = self.rate else {
            self.free_at = now;
            return (now, now);
        };
        let rate = rate.0;
        let start = if now > self.free_at {
            self.remainder = 0; // after a pause nothing is owed
            now
        } else {
            self.free_at
        };
        if self.last.0 != bytes {
            // At most 2^32 bytes: below 2^65 only for frames of 2 GB; saturating there is an hour.
            let work = u64::from(bytes).saturating_mul(8 * NANOS);
            self.last = (bytes, work / rate, work % rate);
        }
        let (_, mut span, rest) = self.last;
        self.remainder += rest;
        if self.remainder >= rate {
            self.remainder -= rate;
            span += 1;
        }
        self.free_at = start + Nanos(span);
        (start, self.free_at)
    }
}

#[cfg(test)]
#[path = "tests/pacer.rs"]
mod tests;
