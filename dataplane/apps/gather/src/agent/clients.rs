//! The list of clients that may send: read from a file, and replaced while the server runs.

use std::collections::BTreeMap;
use std::path::Path;

use groupflow_base::{Digest, Token};
use groupflow_host::error::{plain, AgentError};
use groupflow_host::json::{FieldError, ObjectReader};
use serde_json::Value;

use super::server::Server;
use crate::machine::{token_hash, ClientName, GatherFrame, RefusalCode};

/// The most clients on a list.
pub const MOST: usize = 65_536;

/// The clients that may send, and how each is recognized.
pub type ClientList = BTreeMap<ClientName, Digest>;

/// Reads `{"clients": [{"client": NAME, "token": TOKEN}, ...]}`.
pub fn read(path: &Path) -> Result<ClientList, AgentError> {
    let refused = |cause: String| AgentError::new("clients", cause, "correct the list named by --clients");
    let shown = path.display();
    let text = std::fs::read(path).map_err(|e| refused(format!("cannot read {shown}: {}", plain(&e))))?;
    let value = serde_json::from_slice(&text).map_err(|e| refused(format!("{shown} is no JSON: {e}")))?;
    parse_file(&value).map_err(|e| refused(format!("{shown}: {e}")))
}

fn parse_file(value: &Value) -> Result<ClientList, FieldError> {
    let mut fields = ObjectReader::new("list", value)?;
    let list = fields.list("clients", MOST)?;
    fields.finish()?;
    let clients = parse(list)?;
    match clients.is_empty() {
        true => Err(FieldError { field: "list.clients".to_owned(), text: "must have a client".to_owned() }),
        false => Ok(clients),
    }
}

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

impl Server {
    /// Makes these the clients that may send. A client that is no longer among them, or has another token,
    /// is refused, and its stream ends.
    pub(super) fn list_clients(&mut self, list: ClientList) {
        let gone = self.settings.keys().filter(|name| !list.contains_key(*name)).cloned();
        for name in gone.collect::<Vec<_>>() {
            let text = format!("client {name} has been taken off the server's list");
            self.dismiss(&name, RefusalCode::UnknownClient, text);
            self.roster.remove(&name);
            self.settings.remove(&name);
        }
        for (name, token) in list {
            if self.roster.put(name.clone(), token) {
                let text = format!("the token of client {name} has been changed");
                self.dismiss(&name, RefusalCode::WrongToken, text);
            }
            self.settings.entry(name).or_default();
        }
        if !std::mem::replace(&mut self.listed, true) {
            self.accept();
        }
    }

    fn dismiss(&mut self, client: &ClientName, code: RefusalCode, text: String) {
        self.end_flow(client, "removed", Some(&GatherFrame::Refusal { code, text }));
    }
}

#[cfg(test)]
#[path = "tests/clients.rs"]
mod tests;
