//! The times at which frames leave an interface with a rate.

use groupflow_base::{BitRate, Nanos};

/// The pacer of an interface: one frame leaves after the other. The fraction of a nanosecond that is left
/// over by a frame is added to the next, so that the total of frames back to back is exact.
#[derive(Debug, Clone, Default)]
pub struct Pacer {
    free_at: Nanos,
    remainder: u64,
    /// The last rate and size, with their whole nanoseconds and remainder: most frames have the size of the
    /// one before.
    last: (BitRate, usize, Nanos, u64),
}

impl Pacer {
    /// When the next frame may begin.
    #[inline]
    pub fn free_at(&self) -> Nanos {
        self.free_at
    }

    /// Sends a frame as soon as it may leave, not before `now`; returns when it begins and when its last bit
    /// has left. Without a rate it takes no time; a rate of 0 counts as 1 bit/s.
    #[inline]
    pub fn send(&mut self, rate: Option<BitRate>, now: Nanos, bytes: usize) -> (Nanos, Nanos) {
        let start = now.max(self.free_at);
        let Some(rate) = rate else {
            self.free_at = start;
            return (start, start);
        };
        if now > self.free_at {
            self.remainder = 0; // after a pause nothing is owed
        }
        let rate = BitRate(rate.0.max(1));
        if (self.last.0, self.last.1) != (rate, bytes) {
            let (span, rest) = rate.transmission(bytes, 0);
            self.last = (rate, bytes, span, rest);
        }
        let (.., mut span, rest) = self.last;
        // Both remainders are below the rate, so their sum is at most one nanosecond and a remainder; after a
        // change of rate the old one may be larger.
        match self.remainder.checked_add(rest) {
            Some(sum) if sum < rate.0 => self.remainder = sum,
            Some(sum) if sum - rate.0 < rate.0 => {
                self.remainder = sum - rate.0;
                span += Nanos(1);
            }
            _ => (span, self.remainder) = rate.transmission(bytes, self.remainder),
        }
        self.free_at = start + span;
        (start, self.free_at)
    }
}

#[cfg(test)]
#[path = "tests/pacer.rs"]
mod tests;
