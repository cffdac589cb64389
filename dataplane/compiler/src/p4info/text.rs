//! Protocol buffers as text: `name: value` and `name { ... }`, each with the end of its line. A field that
//! has the default value of its type is left out, as protobuf does.

use std::fmt::{Display, Write as _};

use num_bigint::BigInt;

/// `name { ... }` with the fields inside.
pub fn message<S: AsRef<str>>(name: &str, fields: impl IntoIterator<Item = S>) -> String {
    let mut text = format!("{name} {{\n");
    for field in fields {
        for line in field.as_ref().lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    text + "}\n"
}

/// `field { name: "..." }`
pub fn named(field: &str, name: &str) -> String {
    message(field, [string("name", name)])
}

/// A number that is there even if it is 0, a name of an enum, or a truth.
pub fn word(name: &str, value: impl Display) -> String {
    format!("{name}: {value}\n")
}

/// The text if `holds`, else none.
pub fn only_if(holds: bool, text: String) -> String {
    Some(text).filter(|_| holds).unwrap_or_default()
}

pub fn number(name: &str, value: impl Into<i128>) -> String {
    let value = value.into();
    only_if(value != 0, word(name, value))
}

pub fn flag(name: &str, value: bool) -> String {
    only_if(value, word(name, value))
}

pub fn string(name: &str, value: &str) -> String {
    only_if(!value.is_empty(), item(name, value))
}

/// A string that is there even if it is empty: one of a repeated field.
pub fn item(name: &str, value: &str) -> String {
    // JSON's escapes are those of protobuf.
    word(name, serde_json::Value::from(value))
}

/// A number as bytes, the first one first, in as many as `width` bits take.
pub fn bytes(name: &str, value: &BigInt, width: u32) -> String {
    let length = width.div_ceil(8) as usize;
    let modulus = BigInt::from(1) << (length * 8);
    let (_, digits) = (((value % &modulus) + &modulus) % &modulus).to_bytes_be();
    let mut quoted = "\\000".repeat(length.saturating_sub(digits.len()));
    for byte in &digits[digits.len() - digits.len().min(length)..] {
        let _ = write!(quoted, "\\{byte:03o}");
    }
    only_if(length > 0, word(name, format_args!("\"{quoted}\"")))
}
