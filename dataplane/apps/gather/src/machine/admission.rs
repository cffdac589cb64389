//! The judgement of a stripe's HELLO: whether its client may send.

use groupflow_base::{Digest, StreamId, Token};
use sha2::{Digest as _, Sha256};

use super::frame::{Hello, RefusalCode};

/// The SHA-256 of a token's digits in lower case: enough to recognize the token, and not the secret itself.
pub fn token_hash(token: &Token) -> Digest {
    Digest(Sha256::digest(token.digits()).into())
}

/// The reason why a stripe is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub code: RefusalCode,
    pub text: String,
}

/// Judges a HELLO by the hash of its client's token (`None`: the client is not on the list), by the stream
/// of the client that is remembered, with the number of its stripes, and by the most stripes of a client.
pub fn admit(
    hello: &Hello, token: Option<&Digest>, remembered: Option<(StreamId, usize)>, max_stripes: u16,
) -> Result<(), Refused> {
    let Hello { client, stream, .. } = hello;
    let (code, text) = match (token, remembered) {
        (None, _) => (RefusalCode::UnknownClient, format!("client {client} is not on the server's list")),
        (Some(hash), _) if *hash != token_hash(&hello.token) => {
            (RefusalCode::WrongToken, format!("the token of client {client} does not match"))
        }
        (_, Some((other, stripes))) if other != *stream && stripes > 0 => {
            let text = format!("client {client} sends stream {other}, which has {stripes} live connections");
            (RefusalCode::DuplicateClient, text)
        }
        (_, Some((_, stripes))) if stripes >= max_stripes.into() => {
            let text = format!("client {client} has {stripes} connections, as many as it may have");
            (RefusalCode::TooMany, text)
        }
        _ => return Ok(()),
    };
    Err(Refused { code, text })
}
