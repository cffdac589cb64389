//! Secrets that two sides share.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const MAX_DIGITS: usize = 255;

/// A shared secret: 1 to 255 hexadecimal digits. Its text is never shown.
#[derive(Clone, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Token(String);

impl Token {
    pub const RULE: &'static str = "1 to 255 hexadecimal digits";

    pub fn parse(text: &str) -> Option<Token> {
        let fits = (1..=MAX_DIGITS).contains(&text.len());
        (fits && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| Token(text.to_ascii_lowercase()))
    }

    /// The digits, in lower case.
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
        text.parse()
    }
}

impl FromStr for Token {
    type Err = String;

    fn from_str(text: &str) -> Result<Token, String> {
        Token::parse(text).ok_or_else(|| format!("a token is {}", Token::RULE))
    }
}

/// The comparison takes a time that does not tell how much of a guess was right.
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
