//! Proportions of packets that are lost, and their text form.

use std::str::FromStr;

use groupflow_base::quantity::{parse_decimal, QuantityError};

/// A proportion of packets, in parts per 10^9.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Loss(u32);

impl Loss {
    /// The proportion zero: no packet is lost.
    pub const NONE: Loss = Loss(0);
    const WHOLE: u32 = 1_000_000_000;

    /// A proportion of `parts` in 10^9; `None` above the whole.
    pub const fn parts_per_billion(parts: u32) -> Option<Loss> {
        if parts <= Loss::WHOLE {
            Some(Loss(parts))
        } else {
            None
        }
    }

    /// The proportion in parts of 10^9.
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

#[cfg(test)]
#[path = "tests/loss.rs"]
mod tests;
