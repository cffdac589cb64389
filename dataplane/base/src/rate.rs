//! Bit rates.

use std::fmt;

use crate::Nanos;

/// A rate in bits per second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(pub u64);

impl BitRate {
    /// The time `bytes` take at this rate; [`Nanos::MAX`] at rate 0.
    pub fn time_for(self, bytes: u64) -> Nanos {
        if self.0 == 0 {
            return Nanos::MAX;
        }
        let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(self.0);
        Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The rate of `bytes` in `span`; the largest rate for an empty span.
    pub fn of(bytes: u64, span: Nanos) -> BitRate {
        let nanos = u128::from(span.0.max(1));
        let rate = u128::from(bytes) * 8_000_000_000 / nanos;
        BitRate(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// The bytes that pass in `span`.
    pub fn bytes_in(self, span: Nanos) -> u64 {
        let bytes = u128::from(self.0) * u128::from(span.0) / 8_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// This rate times `per_mille` / 1000.
    pub fn scaled(self, per_mille: u64) -> BitRate {
        let rate = u128::from(self.0) * u128::from(per_mille) / 1000;
        BitRate(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_convert_exactly() {
        let rate = BitRate(100_000_000);
        assert_eq!(rate.time_for(1514), Nanos(121_120));
        assert_eq!(rate.bytes_in(Nanos(121_120)), 1514);
        assert_eq!(BitRate::of(1514, Nanos(121_120)), rate);
        assert_eq!(rate.scaled(985), BitRate(98_500_000));
        assert_eq!(BitRate(0).time_for(1), Nanos::MAX);
    }
}
