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
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn fine(min: u64) -> RtoConfig {
        RtoConfig {
            tick: Nanos(1_000),
            min: Nanos(min * MS),
            max: Nanos(60_000 * MS),
            initial: Nanos(1_000 * MS),
        }
    }

    #[test]
    fn rfc_6298_example() {
        let mut rtt = RtoEstimator::new(fine(0), Behaviour::Rfc);
        assert_eq!(rtt.timeout(), Nanos(1_000 * MS), "section 2.1: before a measurement");
        rtt.sample_span(Nanos(100 * MS));
        assert_eq!(rtt.timeout(), Nanos(300 * MS), "section 2.2: R + 4 R/2");
        rtt.sample_span(Nanos(60 * MS));
        // RTTVAR = 3/4 50 + 1/4 40 = 47.5; SRTT = 7/8 100 + 1/8 60 = 95.
        assert_eq!(rtt.timeout(), Nanos(285 * MS), "section 2.3");
        assert_eq!(rtt.smooth(), Nanos(95 * MS));
        assert_eq!(rtt.last(), Nanos(60 * MS));
    }

    #[test]
    fn it_doubles_up_to_the_maximum_and_holds_the_minimum() {
        let mut rtt = RtoEstimator::new(fine(200), Behaviour::Rfc);
        rtt.sample_span(Nanos(6 * MS));
        let mut seen = vec![rtt.timeout().as_millis()];
        for _ in 0..10 {
            rtt.back_off();
            seen.push(rtt.timeout().as_millis());
        }
        assert_eq!(seen, [200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000]);
        rtt.end_backoff();
        assert_eq!(rtt.timeout(), Nanos(200 * MS));
    }

    #[test]
    fn a_coarse_clock_counts_its_ticks() {
        let mut rtt = RtoEstimator::new(RtoConfig { min: Nanos::ZERO, ..RtoConfig::NS2 }, Behaviour::Ns2);
        rtt.sample_ticks(Nanos(1), Nanos(6 * MS));
        assert_eq!(rtt.timeout(), Nanos(30 * MS), "less than a tick counts as one");
        let mut rtt = RtoEstimator::new(RtoConfig { min: Nanos::ZERO, ..RtoConfig::NS2 }, Behaviour::Ns2);
        rtt.sample_ticks(Nanos(9 * MS), Nanos(21 * MS));
        assert_eq!(rtt.timeout(), Nanos(60 * MS), "12 ms over two boundaries are two ticks");
        assert_eq!(RtoEstimator::new(RtoConfig::NS2, Behaviour::Ns2).timeout(), Nanos::from_secs(3));
    }
}
