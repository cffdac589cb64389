//! Meters, colour-blind: two rates and three colours (RFC 2698), one rate and three or two (RFC 2697).

use groupflow_base::Nanos;

use crate::program::entry::{CounterValue, MeterConfig, MeterKind};
use crate::program::info::MeterUnit;

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

    /// Adds the tokens of a time; gives those that found no room.
    fn fill(&mut self, elapsed: Nanos) -> u128 {
        self.add(u128::from(elapsed.0) * u128::from(self.rate))
    }

    fn add(&mut self, earned: u128) -> u128 {
        let room = self.capacity - self.tokens;
        self.tokens += earned.min(room);
        earned.saturating_sub(room)
    }

    fn take(&mut self, cost: u128) -> bool {
        let enough = self.tokens >= cost;
        self.tokens -= if enough { cost } else { 0 };
        enough
    }
}

/// A meter's cell. Without rates every packet is green.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meter {
    config: Option<MeterConfig>,
    state: Option<Buckets>,
    /// The packets of each colour.
    pub colours: [CounterValue; 3],
}

#[derive(Debug, Clone, Copy)]
struct Buckets {
    committed: Bucket,
    /// The peak or excess bucket.
    other: Bucket,
    last: Nanos,
}

/// Whether the rates make sense.
pub(crate) fn check(config: &MeterConfig) -> Result<(), &'static str> {
    if config.kind == MeterKind::TwoRates && config.pir < config.cir {
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
        *self = Meter { config, state: None, colours: self.colours };
    }

    /// The colour at `now` of a packet of `bytes`, which the meter counts.
    pub fn colour(&mut self, now: Nanos, unit: MeterUnit, bytes: u32) -> u128 {
        let amount = match unit {
            MeterUnit::Packets => 1,
            MeterUnit::Bytes => u64::from(bytes),
        };
        let colour = self.config.map_or(GREEN, |config| self.spend(&config, now, amount));
        self.colours[colour as usize].add(bytes);
        colour
    }

    fn spend(&mut self, config: &MeterConfig, now: Nanos, amount: u64) -> u128 {
        let state = self.state.get_or_insert(Buckets {
            committed: Bucket::full(config.cir, config.cburst),
            other: Bucket::full(config.pir, config.pburst),
            last: now,
        });
        let elapsed = now - state.last;
        state.last = state.last.max(now);
        let over = state.committed.fill(elapsed);
        let cost = u128::from(amount) * TOKEN;
        match config.kind {
            MeterKind::TwoRates => {
                state.other.fill(elapsed);
                match state.other.take(cost) {
                    false => RED,
                    true if state.committed.take(cost) => GREEN,
                    true => YELLOW,
                }
            }
            MeterKind::OneRate => {
                state.other.add(over);
                match state.committed.take(cost) {
                    true => GREEN,
                    false if state.other.take(cost) => YELLOW,
                    false => RED,
                }
            }
            MeterKind::TwoColours if state.committed.take(cost) => GREEN,
            MeterKind::TwoColours => RED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_the_two_buckets() {
        let mut meter = Meter::default();
        assert_eq!(meter.colour(Nanos(5), MeterUnit::Bytes, 1_000_000), GREEN, "not configured");
        meter.configure(Some(MeterConfig {
            cir: 10,
            cburst: 2,
            pir: 20,
            pburst: 4,
            ..MeterConfig::default()
        }));
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
            assert_eq!(meter.colour(at(ms), MeterUnit::Packets, 60), colour, "step {i}");
        }
        assert_eq!(meter.colour(Nanos::MAX, MeterUnit::Bytes, 2), GREEN);
        assert_eq!(meter.colour(Nanos::MAX, MeterUnit::Bytes, 3), RED, "the burst bounds what was saved up");
        assert_eq!(meter.colours.map(|count| count.packets), [5, 3, 5]);
        assert_eq!(meter.colours[YELLOW as usize].bytes, 180);
    }

    /// The colours of packets at these times in milliseconds.
    fn colours(config: MeterConfig, times: &[u64]) -> Vec<u128> {
        let mut meter = Meter::default();
        meter.configure(Some(config));
        let colour = |ms: &u64| meter.colour(Nanos::from_millis(1_000 + ms), MeterUnit::Packets, 60);
        times.iter().map(colour).collect()
    }

    #[test]
    fn one_rate_saves_in_the_excess_burst_or_not_at_all() {
        let config = MeterConfig { kind: MeterKind::OneRate, cir: 10, cburst: 1, pir: 0, pburst: 2 };
        // The excess bucket fills only from what the full committed one leaves over.
        let expected = [GREEN, YELLOW, YELLOW, RED, GREEN, RED, GREEN, YELLOW, RED];
        assert_eq!(colours(config, &[0, 0, 0, 0, 100, 100, 300, 300, 300]), expected);
        let two = MeterConfig { kind: MeterKind::TwoColours, ..config };
        assert_eq!(colours(two, &[0, 0, 100, 300, 300]), [GREEN, RED, GREEN, GREEN, RED]);
    }

    #[test]
    fn the_peak_rate_is_at_least_the_committed_rate() {
        assert!(check(&MeterConfig { cir: 2, pir: 1, ..MeterConfig::default() }).is_err());
        assert!(check(&MeterConfig { cir: 2, pir: 2, ..MeterConfig::default() }).is_ok());
    }
}
