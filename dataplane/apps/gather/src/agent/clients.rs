//! The list of clients that may send, which is replaced while the server runs.

use std::collections::BTreeMap;

use groupflow_base::{Digest, Token};
use groupflow_host::json::{FieldError, ObjectReader};
use serde_json::Value;

use super::server::Server;
use crate::machine::{token_hash, ClientName, GatherFrame, RefusalCode};

/// The most clients on a list.
pub const MOST: usize = 65_536;

/// The clients that may send, and how each is recognized.
pub type ClientList = BTreeMap<ClientName, Digest>;

/// Parses `[{"client": NAME, "token": TOKEN}, ...]`, where a token may be given as its `token_sha256`.
pub fn parse(list: &[Value]) -> Result<ClientList, FieldError> {
    let mut clients = BTreeMap::new();
    for (index, value) in list.iter().enumerate() {
        let mut fields = ObjectReader::new(format!("clients[{index}]"), value)?;
        let name = ClientName::parse(fields.text("client", 255)?)
            .ok_or_else(|| fields.wrong("client", &format!("a name of {}", ClientName::RULE)))?;
        let token = match fields.optional_text("token_sha256", 64)? {
            Some(hash) => Digest::parse(hash).ok_or_else(|| fields.wrong("token_sha256", Digest::RULE))?,
            None => {
                let token = Token::parse(fields.text("token", 255)?);
                token_hash(&token.ok_or_else(|| fields.wrong("token", Token::RULE))?)
            }
        };
        let again = fields.wrong("client", "another one than those before");
        fields.finish()?;
        if clients.insert(name, token).is_some() {
            return Err(again);
        }
    }
    Ok(clients)
}

impl Server<'_> {
    /// Makes these the clients that may send. A client that is no longer among them, or has another token,
    /// is refused, and its stream ends.
    pub(super) fn list_clients(&mut self, list: ClientList) {
        let mut former = std::mem::take(&mut self.settings);
        self.settings =
            list.keys().map(|name| (name.clone(), former.remove(name).unwrap_or_default())).collect();
        for (name, token) in std::mem::replace(&mut self.tokens, list) {
            let (code, text) = match self.tokens.get(&name) {
                Some(known) if *known == token => continue,
                Some(_) => (RefusalCode::WrongToken, format!("the token of client {name} has been changed")),
                None => {
                    let text = format!("client {name} has been taken off the server's list");
                    (RefusalCode::UnknownClient, text)
                }
            };
            self.end_flow(&name, "removed", Some(&GatherFrame::Refusal { code, text }));
        }
        if !std::mem::replace(&mut self.listed, true) {
            self.accept();
        }
    }
}

#[cfg(test)]
#[path = "tests/clients.rs"]
mod tests;
