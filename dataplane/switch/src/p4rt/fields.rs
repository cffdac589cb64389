//! A google.protobuf.Struct in the `Any` of an ExternEntry: read field by field, written from JSON.

use std::collections::BTreeMap;

use prost::Message;
use prost_types::value::Kind;
use prost_types::{Any, ListValue, Struct, Value};

use super::status::Status;

const TYPE: &str = "google.protobuf.Struct";
/// Whole numbers up to here are exact in a Struct, whose numbers are doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The fields of an entry; each is taken once, and at the end none may be left.
#[derive(Debug)]
pub struct Fields {
    fields: BTreeMap<String, Value>,
    /// The names of the fields that were asked for.
    known: Vec<&'static str>,
}

impl Fields {
    /// The fields of an entry, or none where the entry is missing.
    pub fn of(entry: Option<&Any>) -> Result<Fields, Status> {
        let known = Vec::new();
        let Some(any) = entry else { return Ok(Fields { fields: BTreeMap::new(), known }) };
        refuse_if!(any.type_url.rsplit('/').next() != Some(TYPE), "entry: {:?} is not {TYPE}", any.type_url);
        let decoded = Struct::decode(&any.value[..]);
        let decoded = decoded.map_err(|error| Status::invalid(format!("entry: not a {TYPE}: {error}")))?;
        Ok(Fields { fields: decoded.fields, known })
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// A whole number between `least` and `most`, if the entry has it. `null` counts as missing.
    pub fn number(&mut self, name: &'static str, least: u64, most: u64) -> Result<Option<u64>, Status> {
        let number = self.optional_number(name, least, most)?;
        Ok(number.flatten())
    }

    /// Does the same as [`Fields::number`], but returns `Some(None)` for `null`.
    pub fn optional_number(
        &mut self, name: &'static str, least: u64, most: u64,
    ) -> Result<Option<Option<u64>>, Status> {
        let wrong =
            || Status::invalid(format!("entry.{name}: it is not a whole number between {least} and {most}"));
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
    pub fn required(&mut self, name: &'static str, least: u64, most: u64) -> Result<u64, Status> {
        self.number(name, least, most)?.ok_or_else(|| Status::invalid(format!("entry.{name}: it is missing")))
    }

    pub fn text(&mut self, name: &'static str) -> Result<Option<String>, Status> {
        match self.take(name) {
            None => Ok(None),
            Some(Kind::StringValue(text)) => Ok(Some(text)),
            Some(_) => Err(Status::invalid(format!("entry.{name}: it is not a string"))),
        }
    }

    pub fn flag(&mut self, name: &'static str) -> Result<Option<bool>, Status> {
        match self.take(name) {
            None => Ok(None),
            Some(Kind::BoolValue(value)) => Ok(Some(value)),
            Some(_) => Err(Status::invalid(format!("entry.{name}: it is not true or false"))),
        }
    }

    pub fn finish(self) -> Result<(), Status> {
        let known = self.known.join(", ");
        let fault = |name| Status::invalid(format!("entry.{name}: it is not one of {known}"));
        self.fields.into_keys().next().map_or(Ok(()), |name| Err(fault(name)))
    }

    fn take(&mut self, name: &'static str) -> Option<Kind> {
        self.known.push(name);
        self.fields.remove(name)?.kind
    }
}

/// An object as a Struct. Numbers beyond 2^53 are rounded, as doubles are.
pub fn to_struct(object: serde_json::Value) -> Any {
    let value = match kind(object) {
        Kind::StructValue(fields) => fields.encode_to_vec(),
        _ => Vec::new(),
    };
    Any { type_url: format!("type.googleapis.com/{TYPE}"), value }
}

fn kind(value: serde_json::Value) -> Kind {
    use serde_json::Value as Json;
    let message = |value| Value { kind: Some(kind(value)) };
    match value {
        Json::Null => Kind::NullValue(0),
        Json::Bool(value) => Kind::BoolValue(value),
        Json::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or_default()),
        Json::String(text) => Kind::StringValue(text),
        Json::Array(values) => {
            Kind::ListValue(ListValue { values: values.into_iter().map(message).collect() })
        }
        Json::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, message(value)));
            Kind::StructValue(Struct { fields: fields.collect() })
        }
    }
}
