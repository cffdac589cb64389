//! A google.protobuf.Struct in the `Any` of an ExternEntry, read field by field.

use std::collections::BTreeMap;

use prost::Message;
use prost_types::value::Kind;
use prost_types::{Any, Struct, Value};

use super::status::Refusal;

/// The message in the `Any`.
const TYPE: &str = "google.protobuf.Struct";
/// Whole numbers up to here are exact in a Struct, whose numbers are doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The fields of an entry; each is taken once, and at the end none may be left.
#[derive(Debug)]
pub struct Fields {
    fields: BTreeMap<String, Value>,
}

impl Fields {
    /// The fields of an entry, or none where the entry is missing.
    pub fn of(entry: Option<&Any>) -> Result<Fields, Refusal> {
        let Some(any) = entry else { return Ok(Fields { fields: BTreeMap::new() }) };
        if any.type_url.rsplit('/').next() != Some(TYPE) {
            return Err(Refusal::invalid(format!("entry: {:?} is not {TYPE}", any.type_url)));
        }
        let decoded = Struct::decode(&any.value[..]);
        let decoded = decoded.map_err(|error| Refusal::invalid(format!("entry: not a {TYPE}: {error}")))?;
        Ok(Fields { fields: decoded.fields })
    }

    /// Whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// A whole number between `least` and `most`, if the entry has it. `null` counts as missing.
    pub fn number(&mut self, name: &str, least: u64, most: u64) -> Result<Option<u64>, Refusal> {
        let number = self.optional_number(name, least, most)?;
        Ok(number.flatten())
    }

    /// Does the same as [`Fields::number`], but returns `Some(None)` for `null`.
    pub fn optional_number(
        &mut self, name: &str, least: u64, most: u64,
    ) -> Result<Option<Option<u64>>, Refusal> {
        let wrong =
            || Refusal::invalid(format!("entry.{name}: it is not a whole number between {least} and {most}"));
        match self.take(name) {
            None => Ok(None),
            Some(Kind::NullValue(_)) => Ok(Some(None)),
            Some(Kind::NumberValue(number)) if number.fract() == 0.0 && (0.0..=EXACT).contains(&number) => {
                let number = number as u64;
                (least..=most).contains(&number).then_some(Some(Some(number))).ok_or_else(wrong)
            }
            Some(_) => Err(wrong()),
        }
    }

    /// Does the same as [`Fields::number`], but refuses an entry without the number.
    pub fn required(&mut self, name: &str, least: u64, most: u64) -> Result<u64, Refusal> {
        self.number(name, least, most)?
            .ok_or_else(|| Refusal::invalid(format!("entry.{name}: it is missing")))
    }

    /// A text field, if the entry has it.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        match self.take(name) {
            None => Ok(None),
            Some(Kind::StringValue(text)) => Ok(Some(text)),
            Some(_) => Err(Refusal::invalid(format!("entry.{name}: it is not a string"))),
        }
    }

    /// A Boolean field, if the entry has it.
    pub fn flag(&mut self, name: &str) -> Result<Option<bool>, Refusal> {
        match self.take(name) {
            None => Ok(None),
            Some(Kind::BoolValue(value)) => Ok(Some(value)),
            Some(_) => Err(Refusal::invalid(format!("entry.{name}: it is not true or false"))),
        }
    }

    /// Refuses fields that no caller took.
    pub fn finish(self, known: &str) -> Result<(), Refusal> {
        match self.fields.into_keys().next() {
            None => Ok(()),
            Some(name) => Err(Refusal::invalid(format!("entry.{name}: it is not one of {known}"))),
        }
    }

    fn take(&mut self, name: &str) -> Option<Kind> {
        self.fields.remove(name)?.kind
    }
}

/// A Struct under construction.
#[derive(Debug, Default)]
pub struct StructBuilder {
    fields: BTreeMap<String, Value>,
}

impl StructBuilder {
    /// Adds a number. Beyond 2^53 the number is rounded, as doubles are.
    pub fn number(self, name: &str, number: impl Into<u64>) -> StructBuilder {
        self.with(name, Kind::NumberValue(number.into() as f64))
    }

    /// Adds a number, or `null`.
    pub fn optional(self, name: &str, number: Option<impl Into<u64>>) -> StructBuilder {
        match number {
            Some(number) => self.number(name, number),
            None => self.with(name, Kind::NullValue(0)),
        }
    }

    /// Adds a text.
    pub fn text(self, name: &str, text: impl Into<String>) -> StructBuilder {
        self.with(name, Kind::StringValue(text.into()))
    }

    /// Adds a Boolean.
    pub fn flag(self, name: &str, value: bool) -> StructBuilder {
        self.with(name, Kind::BoolValue(value))
    }

    /// Adds a Struct.
    pub fn inner(self, name: &str, inner: StructBuilder) -> StructBuilder {
        self.with(name, Kind::StructValue(Struct { fields: inner.fields }))
    }

    /// The finished `Any`.
    pub fn build(self) -> Any {
        let value = Struct { fields: self.fields }.encode_to_vec();
        Any { type_url: format!("type.googleapis.com/{TYPE}"), value }
    }

    fn with(mut self, name: &str, kind: Kind) -> StructBuilder {
        self.fields.insert(name.into(), Value { kind: Some(kind) });
        self
    }
}
