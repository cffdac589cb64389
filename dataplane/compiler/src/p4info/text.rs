//! Protocol buffers as text: `name: value` and `name { ... }`.

use std::fmt::Write as _;

use num_bigint::BigInt;

/// A message that is being written. What has the default value of its type is left out, as protobuf does.
#[derive(Default)]
pub struct Text {
    out: String,
    depth: usize,
}

impl Text {
    pub fn finish(self) -> String {
        self.out
    }

    pub fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.out, "{:width$}{line}", "", width = self.depth * 2);
    }

    /// `name {`: what follows stands inside, up to [`Text::close`].
    pub fn open(&mut self, name: &str) {
        self.line(format_args!("{name} {{"));
        self.depth += 1;
    }

    pub fn close(&mut self) {
        self.depth -= 1;
        self.line(format_args!("}}"));
    }

    /// `name { ... }`: what `write` writes stands inside.
    pub fn message(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.open(name);
        write(self);
        self.close();
    }

    /// `field { name: "..." }`
    pub fn named(&mut self, field: &str, name: &str) {
        self.message(field, |text| text.string("name", name));
    }

    pub fn number(&mut self, name: &str, value: impl Into<i128>) {
        let value = value.into();
        if value != 0 {
            self.member(name, value);
        }
    }

    /// A number that is there even if it is 0: a member of a `oneof`.
    pub fn member(&mut self, name: &str, value: impl Into<i128>) {
        self.line(format_args!("{name}: {}", value.into()));
    }

    /// A name of an enum, or a truth.
    pub fn word(&mut self, name: &str, value: &str) {
        self.line(format_args!("{name}: {value}"));
    }

    pub fn flag(&mut self, name: &str, value: bool) {
        if value {
            self.word(name, "true");
        }
    }

    pub fn string(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.item(name, value);
        }
    }

    /// A string that is there even if it is empty: one of a repeated field.
    pub fn item(&mut self, name: &str, value: &str) {
        // JSON's escapes are those of protobuf.
        self.line(format_args!("{name}: {}", serde_json::Value::from(value)));
    }

    /// A number as bytes, the first one first, in as many as `width` bits take.
    pub fn bytes(&mut self, name: &str, value: &BigInt, width: u32) {
        let length = width.div_ceil(8) as usize;
        let modulus = BigInt::from(1) << (length * 8);
        let (_, digits) = (((value % &modulus) + &modulus) % &modulus).to_bytes_be();
        let mut quoted = "\\000".repeat(length.saturating_sub(digits.len()));
        for byte in &digits[digits.len() - digits.len().min(length)..] {
            let _ = write!(quoted, "\\{byte:03o}");
        }
        if length > 0 {
            self.line(format_args!("{name}: \"{quoted}\""));
        }
    }
}
