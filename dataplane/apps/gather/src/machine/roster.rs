//! The list of clients that may send, and their live stripes.

use std::collections::BTreeMap;

use groupflow_base::{Digest, StreamId, Token};
use sha2::{Digest as _, Sha256};

use super::frame::{ClientName, Hello, RefusalCode};

/// The SHA-256 of a token's digits in lower case: enough to recognize the token, and not the secret itself.
pub fn token_hash(token: &Token) -> Digest {
    Digest(Sha256::digest(token.digits()).into())
}

/// The effect of a valid HELLO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admitted {
    /// The stripe is the first of a stream that is not remembered.
    Begins,
    /// The stripe is the first of a stream, which replaces the client's earlier stream, now without stripes.
    Replaces(StreamId),
    /// The stripe joins others of its stream.
    Joins,
}

/// The reason why a stripe is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The reason for programs.
    pub code: RefusalCode,
    /// The reason for people.
    pub text: String,
}

#[derive(Debug, Clone)]
struct RosterEntry {
    token: Digest,
    /// The remembered stream, and the number of its stripes.
    live: Option<(StreamId, u16)>,
}

/// The clients, and the stripes of each.
#[derive(Debug, Clone)]
pub struct Roster {
    clients: BTreeMap<ClientName, RosterEntry>,
    max_stripes: u16,
}

impl Roster {
    /// A roster without clients; each client may have at most `max_stripes`.
    pub fn new(max_stripes: u16) -> Roster {
        Roster { clients: BTreeMap::new(), max_stripes }
    }

    /// Changes the most stripes of a client; stripes that it has already stay.
    pub fn allow(&mut self, max_stripes: u16) {
        self.max_stripes = max_stripes;
    }

    /// Adds a client, or changes its token. True: the client had another token.
    pub fn put(&mut self, name: ClientName, token: Digest) -> bool {
        let entry = self.clients.entry(name).or_insert(RosterEntry { token, live: None });
        std::mem::replace(&mut entry.token, token) != token
    }

    /// Removes a client. Its stream must have been forgotten.
    pub fn remove(&mut self, name: &ClientName) {
        self.clients.remove(name);
    }

    /// Checks a stripe's HELLO. An admitted stripe counts until [`Roster::leave`].
    pub fn admit(&mut self, hello: &Hello) -> Result<Admitted, Refused> {
        let Hello { client, stream, .. } = hello;
        let refused = |code, text| Err(Refused { code, text });
        let Some(entry) = self.clients.get_mut(client) else {
            let text = format!("client {client} is not on the server's list");
            return refused(RefusalCode::UnknownClient, text);
        };
        if entry.token != token_hash(&hello.token) {
            let text = format!("the token of client {client} does not match");
            return refused(RefusalCode::WrongToken, text);
        }
        match entry.live {
            Some((other, stripes)) if other != *stream && stripes > 0 => {
                let text =
                    format!("client {client} sends stream {other}, which has {stripes} live connections");
                refused(RefusalCode::DuplicateClient, text)
            }
            Some((other, _)) if other != *stream => {
                entry.live = Some((*stream, 1));
                Ok(Admitted::Replaces(other))
            }
            Some((_, stripes)) if stripes >= self.max_stripes => {
                let text = format!("client {client} has {stripes} connections, as many as it may have");
                refused(RefusalCode::TooMany, text)
            }
            Some((_, stripes)) => {
                entry.live = Some((*stream, stripes + 1));
                Ok(Admitted::Joins)
            }
            None => {
                entry.live = Some((*stream, 1));
                Ok(Admitted::Begins)
            }
        }
    }

    /// Handles the end of an admitted stripe; its stream is still remembered.
    pub fn leave(&mut self, client: &ClientName, stream: StreamId) {
        if let Some((live, stripes)) = self.clients.get_mut(client).and_then(|entry| entry.live.as_mut()) {
            if *live == stream {
                *stripes = stripes.saturating_sub(1);
            }
        }
    }

    pub fn forget(&mut self, client: &ClientName, stream: StreamId) {
        if let Some(entry) = self.clients.get_mut(client) {
            entry.live = entry.live.filter(|&(live, _)| live != stream);
        }
    }
}
