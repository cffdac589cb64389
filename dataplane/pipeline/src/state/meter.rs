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
        let excess = state.committed.fill(elapsed);
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
                state.other.add(excess);
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
#[path = "tests/meter.rs"]
mod tests;
