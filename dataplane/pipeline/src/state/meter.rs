//! Two-rate three-colour meters (RFC 2698, colour-blind).

use groupflow_base::Nanos;

use crate::program::entry::MeterConfig;

/// P4's colours.
pub(crate) const GREEN: u128 = 0;
pub(crate) const YELLOW: u128 = 1;
pub(crate) const RED: u128 = 2;

/// Tokens are kept in billionths, so that a rate in units per second adds `rate` tokens each nanosecond.
const TOKEN: u128 = 1_000_000_000;

/// A token bucket.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    rate: u64,
    /// Capacity, in billionths.
    capacity: u128,
    tokens: u128,
}

impl Bucket {
    fn full(rate: u64, burst: u64) -> Bucket {
        let capacity = u128::from(burst) * TOKEN;
        Bucket { rate, capacity, tokens: capacity }
    }

    fn fill(&mut self, elapsed: Nanos) {
        let earned = u128::from(elapsed.0) * u128::from(self.rate);
        self.tokens = self.capacity.min(self.tokens.saturating_add(earned));
    }
}

/// A meter's cell. Without rates every packet is green.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meter {
    config: Option<MeterConfig>,
    state: Option<Buckets>,
}

#[derive(Debug, Clone, Copy)]
struct Buckets {
    committed: Bucket,
    peak: Bucket,
    last: Nanos,
}

/// Whether the rates make sense.
pub(crate) fn check(config: &MeterConfig) -> Result<(), &'static str> {
    if config.pir < config.cir {
        return Err("the peak rate is below the committed rate");
    }
    Ok(())
}

impl Meter {
    pub fn config(&self) -> Option<MeterConfig> {
        self.config
    }

    /// Sets the rates; the buckets are full at the next packet.
    pub fn configure(&mut self, config: Option<MeterConfig>) {
        *self = Meter { config, state: None };
    }

    /// The colour of `amount` packets or bytes at `now`.
    pub fn colour(&mut self, now: Nanos, amount: u64) -> u128 {
        let Some(config) = self.config else { return GREEN };
        let state = self.state.get_or_insert(Buckets {
            committed: Bucket::full(config.cir, config.cburst),
            peak: Bucket::full(config.pir, config.pburst),
            last: now,
        });
        let elapsed = now - state.last;
        state.last = state.last.max(now);
        state.committed.fill(elapsed);
        state.peak.fill(elapsed);
        let cost = u128::from(amount) * TOKEN;
        if state.peak.tokens < cost {
            return RED;
        }
        state.peak.tokens -= cost;
        if state.committed.tokens < cost {
            return YELLOW;
        }
        state.committed.tokens -= cost;
        GREEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_the_two_buckets() {
        let mut meter = Meter::default();
        assert_eq!(meter.colour(Nanos(5), 1_000_000), GREEN, "not configured");
        meter.configure(Some(MeterConfig { cir: 10, cburst: 2, pir: 20, pburst: 4 }));
        let at = |ms: u64| Nanos::from_millis(1_000 + ms);
        let steps = [
            (0, GREEN),
            (0, GREEN),
            (0, YELLOW),
            (0, YELLOW),
            (0, RED),
            (50, YELLOW), // 1 peak token, half a committed one
            (50, RED),
            (100, GREEN), // 1 of each
            (100, RED),
            (99, RED), // time that goes back adds nothing
        ];
        for (i, (ms, colour)) in steps.into_iter().enumerate() {
            assert_eq!(meter.colour(at(ms), 1), colour, "step {i}");
        }
        assert_eq!(meter.colour(Nanos::MAX, 2), GREEN);
        assert_eq!(meter.colour(Nanos::MAX, 3), RED, "the burst bounds what was saved up");
    }

    #[test]
    fn the_peak_rate_is_at_least_the_committed_rate() {
        assert!(check(&MeterConfig { cir: 2, pir: 1, ..MeterConfig::default() }).is_err());
        assert!(check(&MeterConfig { cir: 2, pir: 2, ..MeterConfig::default() }).is_ok());
    }
}
