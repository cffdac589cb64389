//! The progress of a stream: when it is reported, its rate, and its result.

use groupflow_base::{BitRate, Nanos};

/// Time between progress reports.
pub const PROGRESS: Nanos = Nanos::from_millis(200);

/// One report on a transfer's progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgressSample {
    /// Time since the start.
    pub elapsed: Nanos,
    /// Mean rate since the last report.
    pub rate: BitRate,
}

/// Measures progress between start and stop.
#[derive(Debug, Default)]
pub struct ProgressMeter {
    running: Option<RunningTotals>,
}

#[derive(Debug, Clone, Copy)]
struct RunningTotals {
    began: Nanos,
    last: Nanos,
    bytes: u64,
}

impl ProgressMeter {
    /// Begins to measure a transfer.
    pub fn start(&mut self, now: Nanos) {
        self.running = Some(RunningTotals { began: now, last: now, bytes: 0 });
    }

    /// Ends the measurement.
    pub fn stop(&mut self) {
        self.running = None;
    }

    /// When the next report is due.
    pub fn due(&self) -> Option<Nanos> {
        self.running.map(|r| r.last + PROGRESS)
    }

    /// A report, if one is due; `bytes` is the progress so far.
    pub fn sample(&mut self, now: Nanos, bytes: u64) -> Option<ProgressSample> {
        let running = self.running.as_mut().filter(|r| now >= r.last + PROGRESS)?;
        let rate = BitRate::of(bytes.saturating_sub(running.bytes), now - running.last);
        running.last = now;
        running.bytes = bytes;
        Some(ProgressSample { elapsed: now - running.began, rate })
    }
}
