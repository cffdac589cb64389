//! The lateness with which the switch serves packets: it tells whether figures are about the network or about
//! the machine.

use std::collections::VecDeque;

use groupflow_base::Nanos;
use serde::Serialize;

/// The length of a window.
const WINDOW: Nanos = Nanos::from_secs(1);
/// Windows kept.
const WINDOWS: usize = 60;
/// Buckets per power of two: quantiles are at most 1/8 too high.
const STEPS: u32 = 8;
const BUCKETS: usize = 62 * STEPS as usize;

/// The limits beyond which a switch counts as bound by the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatenessLimits {
    /// The largest lateness of 99 % of the packets.
    pub lateness: Nanos,
    /// The largest number of frames that the kernel drops.
    pub kernel_drops: u64,
}

/// A histogram with buckets that grow with the value.
#[derive(Debug, Clone)]
struct Histogram {
    buckets: Vec<u64>,
    packets: u64,
    max: Nanos,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { buckets: vec![0; BUCKETS], packets: 0, max: Nanos::ZERO }
    }
}

impl Histogram {
    fn record(&mut self, value: Nanos) {
        self.buckets[bucket(value.0)] += 1;
        self.packets += 1;
        self.max = self.max.max(value);
    }

    /// A bound that at least `percent` of the values do not exceed.
    fn quantile(&self, percent: u64) -> Nanos {
        let wanted = (u128::from(self.packets) * u128::from(percent)).div_ceil(100);
        let mut seen = 0u128;
        for (n, count) in self.buckets.iter().enumerate() {
            seen += u128::from(*count);
            if *count > 0 && seen >= wanted {
                return Nanos(upper_end(n)).min(self.max);
            }
        }
        self.max
    }
}

/// Each value below `STEPS` has its own bucket; larger values with the same leading bits share one.
fn bucket(value: u64) -> usize {
    let bits = u64::BITS - value.leading_zeros();
    let shift = bits.saturating_sub(STEPS.trailing_zeros() + 1);
    let low = (value >> shift) as usize;
    shift as usize * STEPS as usize + low
}

fn upper_end(bucket: usize) -> u64 {
    let steps = STEPS as usize;
    if bucket < 2 * steps {
        return bucket as u64;
    }
    let shift = bucket / steps - 1;
    let low = (bucket % steps + steps) as u128;
    u64::try_from(((low + 1) << shift) - 1).unwrap_or(u64::MAX)
}

/// One second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LatenessWindow {
    /// When the window began.
    pub start_ns: u64,
    /// Packets sent.
    pub packets: u64,
    /// The 99th percentile of the lateness.
    pub p99_ns: u64,
    /// The greatest lateness.
    pub max_ns: u64,
    /// Frames that the kernel dropped.
    pub kernel_drops: u64,
}

/// The lateness since the start, or the last reset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LatenessStats {
    /// Packets sent.
    pub packets: u64,
    /// The median of the lateness.
    pub p50_ns: u64,
    /// The 99th percentile of the lateness.
    pub p99_ns: u64,
    /// The greatest lateness.
    pub max_ns: u64,
    /// A 99th percentile above this limit means that the CPU bounds the switch.
    pub limit_ns: u64,
    /// The last seconds.
    pub windows: Vec<LatenessWindow>,
}

/// Measures lateness: actual minus scheduled time of emission.
#[derive(Debug)]
pub struct Lateness {
    limits: LatenessLimits,
    total: Histogram,
    kernel_drops: u64,
    window: Histogram,
    window_start: Nanos,
    window_drops: u64,
    windows: VecDeque<LatenessWindow>,
}

impl Lateness {
    /// A measurement without values.
    pub fn new(limits: LatenessLimits) -> Lateness {
        Lateness {
            limits,
            total: Histogram::default(),
            kernel_drops: 0,
            window: Histogram::default(),
            window_start: Nanos::ZERO,
            window_drops: 0,
            windows: VecDeque::new(),
        }
    }

    /// Notes that a packet left `late` after its time.
    pub fn record(&mut self, late: Nanos) {
        self.total.record(late);
        self.window.record(late);
    }

    /// Notes that the kernel dropped frames.
    pub fn kernel_dropped(&mut self, frames: u64) {
        self.kernel_drops += frames;
        self.window_drops += frames;
    }

    /// Closes the window if its time is over.
    pub fn tick(&mut self, now: Nanos) {
        if now < self.window_start + WINDOW {
            return;
        }
        if self.window.packets > 0 || self.window_drops > 0 {
            if self.windows.len() == WINDOWS {
                self.windows.pop_front();
            }
            self.windows.push_back(LatenessWindow {
                start_ns: self.window_start.0,
                packets: self.window.packets,
                p99_ns: self.window.quantile(99).0,
                max_ns: self.window.max.0,
                kernel_drops: self.window_drops,
            });
        }
        self.window = Histogram::default();
        self.window_drops = 0;
        self.window_start = now;
    }

    /// Whether the figures are about the machine.
    pub fn cpu_bound(&self) -> bool {
        self.total.quantile(99) > self.limits.lateness || self.kernel_drops > self.limits.kernel_drops
    }

    /// Frames that the kernel dropped.
    pub fn kernel_drops(&self) -> u64 {
        self.kernel_drops
    }

    /// The measurements.
    pub fn stats(&self) -> LatenessStats {
        LatenessStats {
            packets: self.total.packets,
            p50_ns: self.total.quantile(50).0,
            p99_ns: self.total.quantile(99).0,
            max_ns: self.total.max.0,
            limit_ns: self.limits.lateness.0,
            windows: self.windows.iter().copied().collect(),
        }
    }

    /// Starts new figures at `now`.
    pub fn reset(&mut self, now: Nanos) {
        *self = Lateness { window_start: now, ..Lateness::new(self.limits) };
    }
}

#[cfg(test)]
#[path = "tests/lateness.rs"]
mod tests;
