//! Values that the controller writes as strings, `@p4runtime_translation("uri", string)`.
//!
//! P4Runtime specification, section "User-defined types". A number in decimal digits is that number; any other
//! string stands for the lowest number, from 1 on, that stands for nothing yet. Translations to other widths
//! need nothing: the number is the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::bytestring;
use super::status::{Code, Refusal};

/// The most strings of one type.
const LIMIT: usize = 65_536;

/// The strings of a type and their numbers, for all that share it.
#[derive(Debug, Clone, Default)]
pub struct Names(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    numbers: HashMap<String, u128>,
    names: HashMap<u128, String>,
    /// No number from 1 up to this one is free.
    last: u128,
}

impl PartialEq for Names {
    fn eq(&self, other: &Names) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Names {}

impl Names {
    fn decode(&self, bytes: &[u8], width: u32) -> Result<u128, Refusal> {
        let text = std::str::from_utf8(bytes).map_err(|_| Refusal::invalid("it is not UTF-8"))?;
        let text = Some(text).filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| Refusal::new(Code::OutOfRange, "empty string"))?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = known.numbers.get(text) {
            return Ok(*number);
        }
        let number = text.parse().ok().filter(|number: &u128| number.to_string() == text);
        let number = number.unwrap_or_else(|| known.free());
        if number > bytestring::ones(width) || known.names.len() >= LIMIT {
            let message = format!("{text:?}: there is no number left for it in bit<{width}>");
            return Err(Refusal::new(Code::ResourceExhausted, message));
        }
        if let Some(other) = known.names.get(&number) {
            return Err(Refusal::invalid(format!("{text:?}: this number stands for {other:?}")));
        }
        known.learn(number, text);
        Ok(number)
    }

    fn encode(&self, number: u128) -> Vec<u8> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = known.names.get(&number).cloned().unwrap_or_else(|| {
            let name = number.to_string();
            // The controller may use what it has read: it must not get another meaning.
            if known.names.len() < LIMIT {
                known.learn(number, &name);
            }
            name
        });
        name.into_bytes()
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
    }
}

/// The number of the program that the controller's bytes stand for.
pub fn decode(bytes: &[u8], width: u32, names: Option<&Names>) -> Result<u128, Refusal> {
    match names {
        Some(names) => names.decode(bytes, width),
        None => bytestring::decode(bytes, width),
    }
}

/// The controller's bytes for a number of the program.
pub fn encode(number: u128, names: Option<&Names>) -> Vec<u8> {
    match names {
        Some(names) => names.encode(number),
        None => bytestring::encode(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_stands_for_one_number_and_back() {
        let names = Some(&Names::default()).cloned();
        let names = names.as_ref();
        let number = |text: &str| decode(text.as_bytes(), 2, names).map_err(|refusal| refusal.message);
        assert_eq!(number("2"), Ok(2));
        assert_eq!(number("Ethernet0"), Ok(1));
        assert_eq!(number("Ethernet0"), Ok(1));
        assert_eq!(number("1"), Err("\"1\": this number stands for \"Ethernet0\"".into()));
        assert_eq!(encode(1, names), b"Ethernet0");
        assert_eq!(encode(0, names), b"0");
        assert_eq!(number("02"), Ok(3), "not the decimal form of 2");
        assert_eq!(number("more"), Err("\"more\": there is no number left for it in bit<2>".into()));
        assert!(number("").is_err() && decode(&[0xff], 2, names).is_err());
    }
}
