//! Values that the controller writes as strings, `@p4runtime_translation("uri", string)`.
//!
//! P4Runtime specification, section "User-defined types". A number in decimal digits is that number, the
//! empty string is 0; any other string stands for the lowest number, from 1 on, that stands for nothing yet.
//! Only strings of accepted writes are kept. Translations to other widths need nothing: the number is the
//! same.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::bytestring;
use super::status::Status;
use crate::proto::p4::config::v1 as info;
use info::p4_new_type_spec::Representation;
use info::p4_new_type_translation::SdnType;

const LIMIT: usize = 65_536;
/// The longest string, in bytes.
const LONGEST: usize = 256;

/// The strings of a type and their numbers, for all that share it.
#[derive(Debug, Clone, Default)]
pub struct Names(Arc<Mutex<Known>>);

#[derive(Debug, Clone, Default)]
struct Known {
    numbers: HashMap<String, u128>,
    names: HashMap<u128, String>,
    /// No number from 1 up to this one is free.
    last: u128,
    /// The numbers whose strings are neither kept nor forgotten yet.
    fresh: Vec<u128>,
}

impl PartialEq for Names {
    fn eq(&self, other: &Names) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Names {}

impl Names {
    /// The program's number that a string stands for.
    pub fn decode(&self, bytes: &[u8], width: u32) -> Result<u128, Status> {
        let text = std::str::from_utf8(bytes).map_err(|_| Status::invalid("it is not UTF-8"))?;
        refuse_if!(text.len() > LONGEST, "it is longer than {LONGEST} bytes");
        let mut known = self.known();
        let old = known.numbers.get(text).copied();
        let decimal = if text.is_empty() { Some(0) } else { text.parse().ok() };
        let decimal = decimal.filter(|number: &u128| text.is_empty() || number.to_string() == text);
        let number = old.or(decimal).unwrap_or_else(|| known.free());
        if number > bytestring::ones(width.min(128)) || (old.is_none() && known.names.len() >= LIMIT) {
            let message = format!("{text:?}: there is no number left for it in bit<{width}>");
            return Err(Status::exhausted(message));
        }
        if old.is_none() {
            if let Some(other) = known.names.get(&number) {
                return Err(Status::invalid(format!("{text:?}: this number stands for {other:?}")));
            }
            known.learn(number, text);
        }
        Ok(number)
    }

    /// The string of a number.
    pub fn encode(&self, number: u128) -> Vec<u8> {
        self.known().names.get(&number).cloned().unwrap_or_else(|| number.to_string()).into_bytes()
    }

    /// Keeps the strings that came since the last call, or forgets them. Says whether one was not a number.
    pub fn settle(&self, keep: bool) -> bool {
        let mut known = self.known();
        let fresh = std::mem::take(&mut known.fresh);
        let is_string = |number: &u128| known.names.get(number) != Some(&number.to_string());
        let strings = fresh.iter().any(is_string);
        for number in fresh.into_iter().filter(|_| !keep) {
            known.forget(number);
        }
        strings
    }

    pub fn adopt(&self, other: &Names) {
        let theirs = other.known().clone();
        *self.known() = theirs;
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn free(&mut self) -> u128 {
        while self.names.contains_key(&(self.last + 1)) {
            self.last += 1;
        }
        self.last + 1
    }

    fn learn(&mut self, number: u128, name: &str) {
        self.names.insert(number, name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        self.fresh.push(number);
    }

    fn forget(&mut self, number: u128) {
        if let Some(name) = self.names.remove(&number) {
            self.numbers.remove(&name);
        }
        if number > 0 {
            self.last = self.last.min(number - 1);
        }
    }
}

/// The types of P4Info whose values the controller writes as strings. Types of one URI share their strings.
pub struct Types<'a>(BTreeMap<&'a str, Names>);

impl<'a> Types<'a> {
    /// The types of P4Info, whose strings are those of their URIs.
    pub fn of(p4info: &'a info::P4Info, of_uri: &mut BTreeMap<String, Names>) -> Types<'a> {
        let mut strings = BTreeMap::new();
        for (name, kind) in p4info.type_info.iter().flat_map(|types| &types.new_types) {
            if let Some(Representation::TranslatedType(to)) = &kind.representation {
                if matches!(to.sdn_type, Some(SdnType::SdnString(_))) {
                    // Types without a URI have nothing in common.
                    let shared = if to.uri.is_empty() { name } else { &to.uri };
                    let names = of_uri.entry(shared.clone()).or_default();
                    strings.insert(name.as_str(), names.clone());
                }
            }
        }
        Types(strings)
    }

    pub fn names(&self, name: &Option<info::P4NamedType>) -> Option<Names> {
        self.0.get(name.as_ref()?.name.as_str()).cloned()
    }
}

/// The controller's bytes for a number of the program.
pub fn encode(parts: &[u128], names: Option<&Names>) -> Vec<u8> {
    match (names, parts) {
        (Some(names), [.., number]) => names.encode(*number),
        _ => bytestring::encode_parts(parts),
    }
}

#[cfg(test)]
#[path = "tests/translation.rs"]
mod tests;
