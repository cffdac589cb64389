//! Bit rates and loss proportions, and how people write them.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use groupflow_base::quantity::{parse_decimal, parse_rate};
use groupflow_base::Nanos;

pub use groupflow_base::quantity::{parse_span, QuantityError};

/// A bit rate, greater than zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(NonZeroU64);

impl Rate {
    /// `bits` per second; `None` for zero.
    pub const fn bits_per_second(bits: u64) -> Option<Rate> {
        match NonZeroU64::new(bits) {
            Some(bits) => Some(Rate(bits)),
            None => None,
        }
    }

    /// Bits per second.
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// How long `bytes` take, given the remainder of the transmission before, and the new remainder.
    ///
    /// The remainder (in units of 1 ns / rate) makes back-to-back packets exact: their total time is
    /// rounded once, not packet by packet, which matters from some Gb/s on.
    pub fn transmission(self, bytes: usize, remainder: u64) -> (Nanos, u64) {
        let rate = u128::from(self.get());
        let work = bytes as u128 * 8 * 1_000_000_000 + u128::from(remainder);
        let span = u64::try_from(work / rate).unwrap_or(u64::MAX);
        // The remainder is below the rate, which is a u64.
        (Nanos(span), (work % rate) as u64)
    }
}

impl FromStr for Rate {
    type Err = QuantityError;

    /// `100mbit`, `1.5gbit`, `64kbit`, `9600bit`; decimal multiples. Not `unlimited`: that is no rate.
    fn from_str(text: &str) -> Result<Rate, QuantityError> {
        let wanted = "a rate above zero such as 100mbit (bit, kbit, mbit, gbit or unlimited)";
        let bits = parse_rate(text).ok().and_then(Rate::bits_per_second);
        bits.ok_or_else(|| QuantityError::new(text, wanted))
    }
}

/// A proportion of packets, in parts per 10^9.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loss(u32);

impl Loss {
    /// Nothing is lost.
    pub const NONE: Loss = Loss(0);
    const WHOLE: u32 = 1_000_000_000;

    /// `parts` of 10^9; `None` above the whole.
    pub const fn parts_per_billion(parts: u32) -> Option<Loss> {
        if parts <= Loss::WHOLE {
            Some(Loss(parts))
        } else {
            None
        }
    }

    /// Parts of 10^9.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Whether a uniformly drawn number means that this packet is lost.
    pub fn hits(self, drawn: u32) -> bool {
        // drawn / 2^32 < loss / 10^9, without division.
        u64::from(drawn) * u64::from(Loss::WHOLE) < u64::from(self.0) << 32
    }
}

impl FromStr for Loss {
    type Err = QuantityError;

    /// A proportion such as `0.01`, or `1%`.
    fn from_str(text: &str) -> Result<Loss, QuantityError> {
        let (number, parts) = match text.strip_suffix('%') {
            Some(number) => (number, Loss::WHOLE / 100),
            None => (text, Loss::WHOLE),
        };
        parse_decimal(number, parts.into())
            .and_then(|parts| u32::try_from(parts).ok())
            .and_then(Loss::parts_per_billion)
            .ok_or_else(|| QuantityError::new(text, "a loss between 0 and 1, or a percentage such as 1%"))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}bit", self.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Option<u64> {
        text.parse::<Rate>().ok().map(Rate::get)
    }

    #[test]
    fn rates_and_losses_are_read_as_written() {
        assert_eq!(rate("100mbit"), Some(100_000_000));
        assert_eq!(rate("1.5Gbit"), Some(1_500_000_000));
        assert_eq!(rate("9600bit"), Some(9600));
        assert_eq!("0.01".parse(), Ok(Loss(10_000_000)));
        assert_eq!("1%".parse(), Ok(Loss(10_000_000)));
        assert_eq!("1".parse(), Ok(Loss(1_000_000_000)));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "0mbit", "mbit", "-1mbit", "1e3mbit", "100", "0.5bit", "99999999999gbit", "1mbit/s"]
        {
            assert_eq!(rate(text), None, "{text:?}");
        }
        for text in ["", "1.1", "-0.1", "200%", "%", "0.0000000001", "x"] {
            assert!(text.parse::<Loss>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn back_to_back_transmissions_do_not_accumulate_rounding() {
        let rate = Rate::bits_per_second(123_000_000_000).expect("not zero");
        let (mut total, mut remainder) = (Nanos::ZERO, 0);
        for _ in 0..123_000 {
            let (span, rest) = rate.transmission(1514, remainder);
            total += span;
            remainder = rest;
        }
        assert_eq!((total, remainder), (Nanos(1514 * 8 * 1_000), 0));
    }

    #[test]
    fn a_loss_is_the_proportion_of_the_numbers_drawn() {
        let percent: Loss = "1%".parse().expect("a loss");
        assert!(percent.hits(0));
        assert!(percent.hits((u32::MAX / 100) - 1));
        assert!(!percent.hits((u32::MAX / 100) + 2));
        assert!(!Loss::NONE.hits(0));
        assert!("1".parse::<Loss>().expect("a loss").hits(u32::MAX));
    }
}
