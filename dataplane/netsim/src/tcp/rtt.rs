//! Round-trip estimation and the retransmission timeout (RFC 6298), in ticks of a clock as coarse as the one
//! modelled.

use groupflow_base::Nanos;

use super::config::{Behaviour, RtoConfig};

#[derive(Debug, Clone)]
pub(super) struct RtoEstimator {
    config: RtoConfig,
    behaviour: Behaviour,
    /// Eight times the smoothed round trip, in ticks; 0 before the first measurement.
    srtt8: u64,
    /// Four times its mean deviation, in ticks.
    rttvar4: u64,
    measured: bool,
    /// The factor of the timeout: doubled by each timeout.
    backoff: u32,
    last: Nanos,
    smooth: Nanos,
}

impl RtoEstimator {
    pub fn new(config: RtoConfig, behaviour: Behaviour) -> RtoEstimator {
        RtoEstimator {
            config,
            behaviour,
            srtt8: 0,
            rttvar4: 0,
            measured: false,
            backoff: 1,
            last: Nanos::ZERO,
            smooth: Nanos::ZERO,
        }
    }

    /// Takes the round trip of a packet sent at `sent` and acknowledged at `now`. The clock sees the ticks
    /// between the two.
    pub fn sample_ticks(&mut self, sent: Nanos, now: Nanos) {
        let tick = self.config.tick.0;
        self.update(now - sent, now.0 / tick - sent.0 / tick);
    }

    /// Takes a round trip that a timestamp told, rounded to a tick.
    pub fn sample_span(&mut self, span: Nanos) {
        let tick = self.config.tick.0;
        self.update(span, (span.0 + tick / 2) / tick);
    }

    fn update(&mut self, span: Nanos, ticks: u64) {
        self.last = span;
        self.smooth = match self.smooth {
            Nanos::ZERO => span,
            smooth => Nanos(smooth.0 - smooth.0 / 8 + span.0 / 8),
        };
        let ticks = ticks.max(1);
        if self.srtt8 == 0 {
            self.srtt8 = ticks << 3;
            self.rttvar4 = ticks << 1;
        } else {
            let error = ticks.abs_diff(self.srtt8 >> 3);
            // Both are at least a tick's fraction: 0 would mean "not measured".
            self.srtt8 = (self.srtt8 + ticks).saturating_sub(self.srtt8 >> 3).max(1);
            self.rttvar4 = (self.rttvar4 + error).saturating_sub(self.rttvar4 >> 2).max(1);
        }
        self.measured = true;
    }

    pub fn timeout(&self) -> Nanos {
        let RtoConfig { tick, min, max, initial } = self.config;
        let base = if self.measured {
            Nanos(tick.0.saturating_mul(self.rttvar4.max(1) + (self.srtt8 >> 3)))
        } else {
            initial
        };
        let base = if self.measured || self.behaviour == Behaviour::Ns2 { base.max(min) } else { base };
        Nanos(base.0.saturating_mul(u64::from(self.backoff))).min(max).max(Nanos(2 * tick.0))
    }

    /// Backs off after a timeout. After many, the smoothed value is no longer used, as in BSD.
    pub fn back_off(&mut self) {
        if self.backoff < 64 || self.timeout() < self.config.max {
            self.backoff = self.backoff.saturating_mul(2);
        }
        if self.backoff > 8 {
            self.rttvar4 += self.srtt8 >> 3;
            self.srtt8 = 0;
        }
    }

    pub fn end_backoff(&mut self) {
        self.backoff = 1;
    }

    /// The last measurement, to the nanosecond.
    pub fn last(&self) -> Nanos {
        self.last
    }

    /// Exponentially smoothed measurements, to the nanosecond also where the timer has a coarser tick; 0
    /// before the first.
    pub fn smooth(&self) -> Nanos {
        self.smooth
    }
}

#[cfg(test)]
#[path = "tests/rtt.rs"]
mod tests;
