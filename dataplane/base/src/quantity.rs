//! Quantities as people write them: a decimal number, read exactly, and a unit. Names of units do not depend
//! on case.

use thiserror::Error;

use crate::Nanos;

/// The reason why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text:?} is not {wanted}")]
pub struct QuantityError {
    text: String,
    wanted: &'static str,
}

impl QuantityError {
    /// The error for a text that is not `wanted`.
    pub fn new(text: &str, wanted: &'static str) -> QuantityError {
        QuantityError { text: text.into(), wanted }
    }
}

/// A unit: its name, and how many of the base unit it is.
pub type Unit = (&'static str, u64);

const RATE: [Unit; 4] = [("bit", 1), ("kbit", 1_000), ("mbit", 1_000_000), ("gbit", 1_000_000_000)];
const SIZE: [Unit; 4] = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
const SPAN: [Unit; 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Bits per second: `1.5gbit`, `64kbit`, `9600bit`.
pub fn parse_rate(text: &str) -> Result<u64, QuantityError> {
    let wanted = "a rate such as 100mbit or 1.5gbit (bit, kbit, mbit or gbit)";
    parse(text, &RATE).ok_or_else(|| QuantityError::new(text, wanted))
}

/// Bytes: `64KiB`, `1.5GiB`.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    let wanted = "a size such as 64KiB or 1.5GiB (B, KiB, MiB or GiB)";
    parse(text, &SIZE).ok_or_else(|| QuantityError::new(text, wanted))
}

/// A span of time such as `10ms`; `0` needs no unit.
pub fn parse_span(text: &str) -> Result<Nanos, QuantityError> {
    let zero = (text == "0").then_some(0);
    let nanos = zero.or_else(|| parse(text, &SPAN));
    nanos.map(Nanos).ok_or_else(|| QuantityError::new(text, "a time such as 10ms (ns, us, ms or s)"))
}

/// A decimal number followed by one of `units`, as a whole number of the base unit; `None` where it is not
/// one.
pub fn parse(text: &str, units: &[Unit]) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
    let (_, factor) = units.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name))?;
    parse_decimal(number, *factor)
}

/// `number` times `factor`; `None` where that is no whole number, or not a number at all.
pub fn parse_decimal(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits_only = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !digits_only(whole) || !digits_only(fraction) {
        return None;
    }
    let parse = |part: &str| if part.is_empty() { Some(0) } else { part.parse::<u64>().ok() };
    let fraction = fraction.trim_end_matches('0');
    let divisor = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let part = u128::from(parse(fraction)?) * u128::from(factor);
    let rest = (part % divisor == 0).then_some(part / divisor)?;
    parse(whole)?.checked_mul(factor)?.checked_add(u64::try_from(rest).ok()?)
}
