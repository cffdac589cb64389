//! SHA-256 digests as text. Whoever hashes has its own implementation.

use std::fmt;

/// A SHA-256 digest: 64 hexadecimal digits as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    pub const RULE: &'static str = "64 hexadecimal digits";

    pub fn parse(text: &str) -> Option<Digest> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok().map(|()| Digest(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}
