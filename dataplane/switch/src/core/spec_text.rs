//! The form that the descriptions of links and queues share: parts `KEY=VALUE`, each given at most once.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use groupflow_base::quantity::QuantityError;
use thiserror::Error;

/// The fault of a text that should describe a link or a queue.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpecError {
    #[error(transparent)]
    Part(#[from] QuantityError),
    #[error("{0} is given twice")]
    Twice(String),
    #[error("{0}: {1}")]
    Value(String, String),
}

/// Sets the value that a part describes, which no part before may have set.
pub fn once<T, E: Display>(key: &str, slot: &mut Option<T>, value: Result<T, E>) -> Result<(), SpecError> {
    let value = value.map_err(|error| SpecError::Value(key.into(), error.to_string()))?;
    match slot.replace(value) {
        Some(_) => Err(SpecError::Twice(key.into())),
        None => Ok(()),
    }
}

/// A whole number within a range; the error calls it `what`.
pub fn number<T>(what: &str, text: &str, range: RangeInclusive<T>) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display,
{
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("{text:?} is not {what} between {} and {}", range.start(), range.end()))
}
