//! Names of clients and streams, and the clients' tokens.

use std::borrow::Borrow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Bytes of the longest name.
pub const MAX_NAME: usize = 64;
/// Digits of the longest token.
pub const MAX_TOKEN: usize = 255;

/// A client's name: 1 to 64 of `A-Z a-z 0-9 . _ -`, not beginning with `.`, so that it may name a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientName(String);

impl ClientName {
    /// The rule for a name.
    pub const RULE: &'static str = "1 to 64 of A-Z a-z 0-9 . _ - and not begin with .";

    /// Parses a name.
    pub fn parse(text: &str) -> Option<ClientName> {
        let fits = (1..=MAX_NAME).contains(&text.len()) && !text.starts_with('.');
        let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        (fits && plain).then(|| ClientName(text.to_owned()))
    }

    /// The name as text.
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

/// The secret by which a client proves its identity: 1 to 255 hexadecimal digits. Its text is never shown.
#[derive(Clone, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Token(String);

impl Token {
    /// The rule for a token.
    pub const RULE: &'static str = "1 to 255 hexadecimal digits";

    /// Parses a token.
    pub fn parse(text: &str) -> Option<Token> {
        let fits = (1..=MAX_TOKEN).contains(&text.len());
        (fits && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| Token(text.to_ascii_lowercase()))
    }

    /// The digits in lower case.
    pub fn digits(&self) -> &str {
        &self.0
    }
}

impl From<Token> for String {
    fn from(token: Token) -> String {
        token.0
    }
}

impl TryFrom<String> for Token {
    type Error = String;

    fn try_from(text: String) -> Result<Token, String> {
        Token::parse(&text).ok_or_else(|| format!("a token is {}", Token::RULE))
    }
}

/// The time of a comparison does not depend on how much of a guess is right.
impl PartialEq for Token {
    fn eq(&self, other: &Token) -> bool {
        let (a, b) = (self.0.as_bytes(), other.0.as_bytes());
        let differences = a.iter().zip(b).fold(0, |found, (x, y)| found | (x ^ y));
        a.len() == b.len() && std::hint::black_box(differences) == 0
    }
}

impl Eq for Token {}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The id of a stream, which its client chose at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// An epoch lasts while the server remembers a stream without a break. A new number means that bytes the
/// server held but had not delivered are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_name_files() {
        let long = "x".repeat(MAX_NAME + 1);
        for (text, ok) in [
            ("cam1", true),
            ("Ward-3_bed.2", true),
            ("", false),
            (".x", false),
            ("a/b", false),
            ("ä", false),
            ("a b", false),
            (&long, false),
            (&long[1..], true),
        ] {
            assert_eq!(ClientName::parse(text).is_some(), ok, "{text}");
        }
    }

    #[test]
    fn tokens_are_compared_as_a_whole_and_never_shown() {
        let token = |text| Token::parse(text).expect("a token");
        assert_eq!(token("C0ffee"), token("c0ffee"));
        assert_ne!(token("c0ffee"), token("c0ffe"));
        assert_ne!(token("c0ffee"), token("c0ffef"));
        assert!(Token::parse("").is_none() && Token::parse("xyz").is_none());
        assert_eq!(format!("{:?}", token("c0ffee")), "Token(…)");
    }
}
