//! The list of clients that may send.

use std::collections::BTreeMap;
use std::path::Path;

use groupflow_base::Token;
use groupflow_host::error::{plain, AgentError};
use groupflow_host::json::{FieldError, ObjectReader};
use serde_json::Value;

use crate::machine::ClientName;

/// The most clients on a list.
const MOST: usize = 65_536;

/// Reads `{"clients": [{"client": NAME, "token": TOKEN}, ...]}`.
pub fn read(path: &Path) -> Result<BTreeMap<ClientName, Token>, AgentError> {
    let refused = |cause: String| AgentError::new("clients", cause, "correct the list named by --clients");
    let shown = path.display();
    let text = std::fs::read(path).map_err(|e| refused(format!("cannot read {shown}: {}", plain(&e))))?;
    let value = serde_json::from_slice(&text).map_err(|e| refused(format!("{shown} is no JSON: {e}")))?;
    parse(&value).map_err(|e| refused(format!("{shown}: {e}")))
}

fn parse(value: &Value) -> Result<BTreeMap<ClientName, Token>, FieldError> {
    let mut fields = ObjectReader::new("list", value)?;
    let list = fields.list("clients", MOST)?;
    fields.finish()?;
    let mut clients = BTreeMap::new();
    for (index, value) in list.iter().enumerate() {
        let mut fields = ObjectReader::new(format!("clients[{index}]"), value)?;
        let name = ClientName::parse(fields.text("client", 255)?)
            .ok_or_else(|| fields.wrong("client", &format!("a name of {}", ClientName::RULE)))?;
        let token =
            Token::parse(fields.text("token", 255)?).ok_or_else(|| fields.wrong("token", Token::RULE))?;
        let again = fields.wrong("client", "another one than those before");
        fields.finish()?;
        if clients.insert(name, token).is_some() {
            return Err(again);
        }
    }
    match clients.is_empty() {
        true => Err(FieldError { field: "list.clients".to_owned(), text: "must have a client".to_owned() }),
        false => Ok(clients),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_or_refused() {
        let cases = [
            (r#"{"clients":[{"client":"a","token":"c0"},{"client":"b","token":"c0"}]}"#, Ok(2)),
            (r#"{"clients":[]}"#, Err("list.clients must have a client")),
            (
                r#"{"clients":[{"client":"a","token":"c0"},{"client":"a","token":"c1"}]}"#,
                Err("clients[1].client must be another one than those before"),
            ),
            (
                r#"{"clients":[{"client":"a/b","token":"c0"}]}"#,
                Err("clients[0].client must be a name of 1 to 64 of A-Z a-z 0-9 . _ - and not begin with ."),
            ),
            (
                r#"{"clients":[{"client":"a","token":"x"}]}"#,
                Err("clients[0].token must be 1 to 255 hexadecimal digits"),
            ),
            (r#"{"clients":[{"client":"a"}]}"#, Err("clients[0].token must be a text of 1 to 255 bytes")),
            (
                r#"{"clients":[{"client":"a","token":"c0","target":"1mbit"}]}"#,
                Err("clients[0].target is unknown"),
            ),
        ];
        for (text, expected) in cases {
            let value = serde_json::from_str(text).expect("JSON");
            let got = parse(&value).map(|clients| clients.len()).map_err(|e| e.to_string());
            assert_eq!(got, expected.map_err(str::to_owned), "{text}");
        }
    }
}
