//! Names of clients, and epochs.

use std::borrow::Borrow;
use std::fmt;

pub const MAX_NAME: usize = 64;

/// A client's name: 1 to 64 of `A-Z a-z 0-9 . _ -`, not beginning with `.`, so that it may name a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientName(String);

impl ClientName {
    pub const RULE: &'static str = "1 to 64 of A-Z a-z 0-9 . _ - and not begin with .";

    pub fn parse(text: &str) -> Option<ClientName> {
        let fits = (1..=MAX_NAME).contains(&text.len()) && !text.starts_with('.');
        let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        (fits && plain).then(|| ClientName(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Lets a map of clients be searched with any text, which need not be a valid name.
impl Borrow<str> for ClientName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An epoch lasts while the server remembers a stream without a break. A new number means that bytes the
/// server held but had not delivered are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch(pub u64);

groupflow_base::wire_number!(Epoch);
