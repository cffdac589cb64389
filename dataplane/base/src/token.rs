//! Secrets that two sides share, numbers of streams, and fairness among connections that have not said a word
//! yet.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// The most digits.
const MAX_DIGITS: usize = 255;

/// A shared secret: 1 to 255 hexadecimal digits. Its text is never shown.
#[derive(Clone, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Token(String);

impl Token {
    /// The rule for a token's text.
    pub const RULE: &'static str = "1 to 255 hexadecimal digits";

    /// The token, if it is one.
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
        Token::parse(&text).ok_or_else(|| format!("a token is {}", Token::RULE))
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

/// A stream's number, chosen at random where the stream begins: 16 hexadecimal digits as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

crate::wire_number!(StreamId);

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Of silent connections, oldest first, the one that gives way to a newcomer: the oldest of the source that
/// has the most of them. So strangers who hold all places keep nobody out, and a source crowds itself first.
pub fn gives_way<K>(silent: impl Iterator<Item = (K, IpAddr)>) -> Option<K> {
    let silent: Vec<(K, IpAddr)> = silent.collect();
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    for (_, from) in &silent {
        *counts.entry(*from).or_default() += 1;
    }
    silent.into_iter().min_by_key(|(_, from)| Reverse(counts[from])).map(|(key, _)| key)
}
