//! The list of clients that may send, and their live stripes.

use std::collections::BTreeMap;

use groupflow_base::{StreamId, Token};

use super::frame::{Hello, RefusalCode};
use super::names::ClientName;

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

/// Why a stripe is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The reason for programs.
    pub code: RefusalCode,
    /// The reason for people.
    pub text: String,
}

#[derive(Debug, Clone)]
struct RosterEntry {
    token: Token,
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
    /// A roster of clients with their tokens; each may have at most `max_stripes`.
    pub fn new(clients: impl IntoIterator<Item = (ClientName, Token)>, max_stripes: u16) -> Roster {
        let clients =
            clients.into_iter().map(|(name, token)| (name, RosterEntry { token, live: None })).collect();
        Roster { clients, max_stripes }
    }

    /// Checks a stripe's HELLO. An admitted stripe counts until [`Roster::leave`].
    pub fn admit(&mut self, hello: &Hello) -> Result<Admitted, Refused> {
        let Hello { client, stream, .. } = hello;
        let refused = |code, text| Err(Refused { code, text });
        let Some(entry) = self.clients.get_mut(client) else {
            let text = format!("client {client} is not on the server's list");
            return refused(RefusalCode::UnknownClient, text);
        };
        if entry.token != hello.token {
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

    /// Forgets a stream that is over.
    pub fn forget(&mut self, client: &ClientName, stream: StreamId) {
        if let Some(entry) = self.clients.get_mut(client) {
            entry.live = entry.live.filter(|&(live, _)| live != stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(client: &str, token: &str, stream: u64) -> Hello {
        Hello {
            stream: StreamId(stream),
            acknowledged: 0,
            coded: false,
            client: ClientName::parse(client).expect("a name"),
            token: Token::parse(token).expect("a token"),
        }
    }

    #[test]
    fn who_may_send() {
        let list = ["a", "b"].map(|name| (ClientName::parse(name).expect("a name"), "c0"));
        let list = list.map(|(name, token)| (name, Token::parse(token).expect("a token")));
        let mut roster = Roster::new(list, 2);
        let code = |result: Result<Admitted, Refused>| result.map_err(|refused| refused.code);
        assert_eq!(code(roster.admit(&hello("x", "c0", 1))), Err(RefusalCode::UnknownClient));
        assert_eq!(code(roster.admit(&hello("a", "c1", 1))), Err(RefusalCode::WrongToken));
        assert_eq!(roster.admit(&hello("a", "c0", 1)), Ok(Admitted::Begins));
        assert_eq!(roster.admit(&hello("a", "c0", 1)), Ok(Admitted::Joins));
        assert_eq!(code(roster.admit(&hello("a", "c0", 1))), Err(RefusalCode::TooMany));
        assert_eq!(code(roster.admit(&hello("a", "c0", 2))), Err(RefusalCode::DuplicateClient));
        assert_eq!(roster.admit(&hello("b", "c0", 2)), Ok(Admitted::Begins), "others are unharmed");
        let a = ClientName::parse("a").expect("a name");
        roster.leave(&a, StreamId(1));
        roster.leave(&a, StreamId(1));
        assert_eq!(roster.admit(&hello("a", "c0", 2)), Ok(Admitted::Replaces(StreamId(1))));
        roster.leave(&a, StreamId(1));
        assert_eq!(
            code(roster.admit(&hello("a", "c0", 3))),
            Err(RefusalCode::DuplicateClient),
            "not its stripe"
        );
        roster.forget(&a, StreamId(2));
        assert_eq!(roster.admit(&hello("a", "c0", 3)), Ok(Admitted::Begins));
    }
}
