//! A JSON value that knows where it stands, so that every error can name the place.

use std::collections::HashMap;

use num_bigint::{BigInt, BigUint};
use serde_json::Value;

use crate::error::LoadError;
use crate::program::field::split;

/// The most bits of a number: bounds the memory that a file can ask for.
pub(crate) const MOST_BITS: u64 = 1 << 14;

/// A value and its path from the root, in the manner of `actions[3].primitives[0].op`.
#[derive(Debug, Clone)]
pub(crate) struct Json<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Json<'a> {
    pub fn root(value: &'a Value) -> Json<'a> {
        Json { value, path: String::new() }
    }

    fn child(&self, key: &str, value: &'a Value) -> Json<'a> {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Json { value, path }
    }

    /// The member `key`, which must be there.
    pub fn get(&self, key: &str) -> Result<Json<'a>, LoadError> {
        let object = self.value.as_object().ok_or_else(|| self.wrong_type("an object"))?;
        match object.get(key) {
            Some(value) => Ok(self.child(key, value)),
            None => Err(LoadError(format!("{}: missing", self.child(key, self.value).path))),
        }
    }

    /// The member `key`, unless it is missing or null.
    pub fn opt(&self, key: &str) -> Option<Json<'a>> {
        let value = self.value.as_object()?.get(key)?;
        (!value.is_null()).then(|| self.child(key, value))
    }

    pub fn items(&self) -> Result<Vec<Json<'a>>, LoadError> {
        let array = self.value.as_array().ok_or_else(|| self.wrong_type("an array"))?;
        let node = |(i, value)| Json { value, path: format!("{}[{i}]", self.path) };
        Ok(array.iter().enumerate().map(node).collect())
    }

    /// The members of the array `key`; none where there is no such key.
    pub fn list(&self, key: &str) -> Result<Vec<Json<'a>>, LoadError> {
        match self.opt(key) {
            Some(node) => node.items(),
            None => Ok(Vec::new()),
        }
    }

    /// The members of an array of `N`.
    pub fn array<const N: usize>(&self) -> Result<[Json<'a>; N], LoadError> {
        let items = self.items()?;
        let got = items.len();
        items.try_into().map_err(|_| self.invalid(format!("expected {N} elements, found {got}")))
    }

    /// The pairs of an object.
    pub fn members(&self) -> Result<Vec<(&'a str, Json<'a>)>, LoadError> {
        let object = self.value.as_object().ok_or_else(|| self.wrong_type("an object"))?;
        Ok(object.iter().map(|(key, value)| (key.as_str(), self.child(key, value))).collect())
    }

    pub fn is_null(&self) -> bool {
        self.value.is_null()
    }

    pub fn str(&self) -> Result<&'a str, LoadError> {
        self.value.as_str().ok_or_else(|| self.wrong_type("a string"))
    }

    pub fn bool(&self) -> Result<bool, LoadError> {
        self.value.as_bool().ok_or_else(|| self.wrong_type("true or false"))
    }

    /// The true or false of a key, or what it is where the key is missing.
    pub fn flag(&self, key: &str, missing: bool) -> Result<bool, LoadError> {
        self.opt(key).map_or(Ok(missing), |flag| flag.bool())
    }

    /// A whole number that fits `T`.
    pub fn int<T: TryFrom<u64>>(&self) -> Result<T, LoadError> {
        let number = self.value.as_u64().ok_or_else(|| self.wrong_type("a whole number"))?;
        T::try_from(number).map_err(|_| self.invalid(format!("{number} is too large")))
    }

    /// The number of bits of a cell, parameter or constant.
    pub fn width(&self) -> Result<u32, LoadError> {
        match self.int::<u64>()? {
            bits @ 0..=MOST_BITS => Ok(bits as u32),
            bits => Err(self.unsupported(format!("a width of {bits} bits (the most is {MOST_BITS})"))),
        }
    }

    /// The parts of a hexadecimal string, in two's complement of its width.
    pub fn parts(&self, width: u32) -> Result<Vec<u128>, LoadError> {
        let (negative, magnitude) = self.number()?;
        if magnitude.bits() > width.into() {
            return Err(self.invalid(format!("the value does not fit {width} bits")));
        }
        let value = BigInt::from(magnitude);
        Ok(split(&if negative { -value } else { value }, width))
    }

    /// A BMv2 hexadecimal string, `0x0800` or `-0x01`: its sign and magnitude.
    pub fn number(&self) -> Result<(bool, BigUint), LoadError> {
        let text = self.str()?;
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        // p4c also writes `0x-1`.
        let (negative, digits) = match digits.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (negative, digits),
        };
        let magnitude = match digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            true => BigUint::parse_bytes(digits.as_bytes(), 16),
            false => None,
        };
        let magnitude = magnitude.ok_or_else(|| self.invalid(format!("{text:?} is not hexadecimal")))?;
        Ok((negative && magnitude.bits() > 0, magnitude))
    }

    /// A hexadecimal string of at most 128 bits that must not be negative.
    pub fn unsigned_hex(&self) -> Result<u128, LoadError> {
        match self.number()? {
            (true, _) => Err(self.invalid("must not be negative")),
            (false, number) => {
                u128::try_from(number).map_err(|_| self.unsupported("a constant of more than 128 bits"))
            }
        }
    }

    pub fn named<'m, T>(&self, map: &'m HashMap<String, T>, kind: &'static str) -> Result<&'m T, LoadError> {
        let name = self.str()?;
        map.get(name).ok_or_else(|| self.dangling(kind, name))
    }

    /// The value that a whole number identifies.
    pub fn by_id<'m, T>(&self, map: &'m HashMap<u64, T>, kind: &'static str) -> Result<&'m T, LoadError> {
        let id: u64 = self.int()?;
        map.get(&id).ok_or_else(|| self.dangling(kind, id.to_string()))
    }

    pub fn wrong_type(&self, expected: &'static str) -> LoadError {
        LoadError(format!("{}: expected {expected}", self.name()))
    }

    pub fn invalid(&self, reason: impl Into<String>) -> LoadError {
        LoadError(format!("{}: {}", self.name(), reason.into()))
    }

    pub fn dangling(&self, kind: &'static str, name: impl Into<String>) -> LoadError {
        LoadError(format!("{}: no {kind} {:?}", self.name(), name.into()))
    }

    pub fn unsupported(&self, what: impl Into<String>) -> LoadError {
        LoadError(format!("{}: {} is not supported", self.name(), what.into()))
    }

    fn name(&self) -> String {
        if self.path.is_empty() {
            "the document".to_owned()
        } else {
            self.path.clone()
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test fails by panicking.
#[path = "tests/json.rs"]
mod tests;
