//! The lateness with which the switch serves packets: it tells whether figures are about the network or about
//! the machine.

use std::collections::VecDeque;

use groupflow_base::Nanos;
use hdrhistogram::{CreationError, Histogram};
use serde::Serialize;

const WINDOW: Nanos = Nanos::from_secs(1);
const WINDOWS: usize = 60;
/// Decimal digits to which quantiles are exact.
const DIGITS: u8 = 2;
/// A packet that is later counts as this late.
const LATEST: Nanos = Nanos::from_secs(60);
/// The CPU bounds a switch that is later than this with more than 1 % of its packets.
const LIMIT: Nanos = Nanos::from_millis(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LatenessWindow {
    /// When the window began.
    pub start_ns: u64,
    pub packets: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
    pub kernel_drops: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LatenessStats {
    pub packets: u64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
    /// The CPU bounds the switch where the 99th percentile is above it.
    pub limit_ns: u64,
    pub windows: Vec<LatenessWindow>,
}

/// Measures lateness: actual minus scheduled time of emission.
#[derive(Debug)]
pub struct Lateness {
    /// In ns, as `window`.
    total: Histogram<u64>,
    kernel_drops: u64,
    window: Histogram<u64>,
    window_start: Nanos,
    window_drops: u64,
    windows: VecDeque<LatenessWindow>,
}

impl Lateness {
    pub fn new() -> Result<Lateness, CreationError> {
        let total = Histogram::new_with_bounds(1, LATEST.0, DIGITS)?;
        Ok(Lateness {
            window: total.clone(),
            total,
            kernel_drops: 0,
            window_start: Nanos::ZERO,
            window_drops: 0,
            windows: VecDeque::new(),
        })
    }

    /// Notes that a packet left `late` after its time.
    pub fn record(&mut self, late: Nanos) {
        self.total.saturating_record(late.0);
        self.window.saturating_record(late.0);
    }

    pub fn kernel_dropped(&mut self, frames: u64) {
        self.kernel_drops += frames;
        self.window_drops += frames;
    }

    pub fn tick(&mut self, now: Nanos) {
        if now < self.window_start + WINDOW {
            return;
        }
        if !self.window.is_empty() || self.window_drops > 0 {
            if self.windows.len() == WINDOWS {
                self.windows.pop_front();
            }
            self.windows.push_back(LatenessWindow {
                start_ns: self.window_start.0,
                packets: self.window.len(),
                p99_ns: self.window.value_at_quantile(0.99),
                max_ns: self.window.max(),
                kernel_drops: self.window_drops,
            });
        }
        self.window.reset();
        self.window_drops = 0;
        self.window_start = now;
    }

    /// Whether the figures are about the machine.
    pub fn cpu_bound(&self) -> bool {
        self.total.value_at_quantile(0.99) > LIMIT.0 || self.kernel_drops > 0
    }

    pub fn kernel_drops(&self) -> u64 {
        self.kernel_drops
    }

    pub fn stats(&self) -> LatenessStats {
        LatenessStats {
            packets: self.total.len(),
            p50_ns: self.total.value_at_quantile(0.5),
            p99_ns: self.total.value_at_quantile(0.99),
            max_ns: self.total.max(),
            limit_ns: LIMIT.0,
            windows: self.windows.iter().copied().collect(),
        }
    }

    pub fn reset(&mut self, now: Nanos) {
        self.total.reset();
        self.window.reset();
        self.kernel_drops = 0;
        self.window_drops = 0;
        self.windows.clear();
        self.window_start = now;
    }
}

#[cfg(test)]
#[path = "tests/lateness.rs"]
mod tests;
