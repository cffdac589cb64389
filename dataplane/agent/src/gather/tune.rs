//! Tunings: `{"id": ..., "tune": [{"client": ..., "window": ..., "connections": ...}]}`.

use std::collections::HashMap;

use groupflow_protocol::gather::ClientName;
use serde_json::Value;

use super::window;
use crate::split::fields::{FieldError, Fields};

/// Clients in a tuning.
const MOST: usize = 65_536;

/// How a client is tuned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// W: bytes of all its connections together; `None`: the kernel tunes.
    pub window: Option<u64>,
    /// N.
    pub connections: u16,
}

impl Default for Setting {
    fn default() -> Setting {
        Setting { window: None, connections: 1 }
    }
}

impl Setting {
    /// The window of each of so many connections.
    pub fn share(self, connections: usize) -> Option<u64> {
        self.window.map(|window| (window / connections.max(1) as u64).max(window::LEAST))
    }
}

/// What may be set.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Connections of a client.
    pub connections: u16,
    /// All windows together.
    pub buffer: Option<u64>,
}

/// A line, read: its id, and what clients (by their number) are to have, or why nothing of it is done.
pub fn parse(
    line: &[u8],
    clients: &HashMap<ClientName, usize>,
    settings: &[Setting],
    bounds: Bounds,
) -> (Value, Result<Vec<(usize, Setting)>, FieldError>) {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let error = FieldError { field: "request".to_owned(), text: format!("is no JSON: {error}") };
            return (Value::Null, Err(error));
        }
    };
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    (id, request(&value, clients, settings, bounds))
}

fn request(
    value: &Value,
    clients: &HashMap<ClientName, usize>,
    settings: &[Setting],
    bounds: Bounds,
) -> Result<Vec<(usize, Setting)>, FieldError> {
    let mut fields = Fields::new("request", value)?;
    let _ = fields.value("id");
    if fields.value("tune").is_none() {
        return Err(fields.wrong("tune", "a list"));
    }
    let list = fields.list("tune", MOST)?;
    fields.finish()?;
    let mut changed: HashMap<usize, Setting> = HashMap::new();
    for (index, value) in list.iter().enumerate() {
        let path = format!("tune[{index}]");
        let mut fields = Fields::new(&path, value)?;
        let name = ClientName::parse(&fields.text("client", 255)?);
        let number = name.and_then(|name| clients.get(&name).copied());
        let number = number.ok_or_else(|| fields.wrong("client", "one of the server's list"))?;
        let mut setting = changed.get(&number).or(settings.get(number)).copied().unwrap_or_default();
        if let Some(connections) = fields.optional_number("connections", 1..=bounds.connections.into())? {
            setting.connections = connections as u16;
        }
        if value.get("window").is_some() {
            // Null gives it back to the kernel.
            setting.window = fields.optional_number("window", window::LEAST..=window::MOST)?;
        }
        let least = window::LEAST * u64::from(setting.connections);
        if setting.window.is_some_and(|window| window < least) {
            return Err(fields.wrong("window", &format!("at least {least}, 1152 for each connection")));
        }
        fields.finish()?;
        changed.insert(number, setting);
    }
    let of = |(number, old): (usize, &Setting)| changed.get(&number).unwrap_or(old).window.unwrap_or(0);
    let total: u64 = settings.iter().enumerate().map(of).sum();
    match bounds.buffer {
        Some(most) if total > most => Err(FieldError {
            field: "tune".to_owned(),
            text: format!("makes windows of {total} bytes together, where --buffer allows {most}"),
        }),
        _ => Ok(changed.into_iter().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunings_are_obeyed_as_a_whole_or_refused_with_the_field() {
        let names = ["a", "b"].map(|name| ClientName::parse(name).expect("a name"));
        let clients = names.into_iter().zip(0..).collect();
        let settings = [Setting { window: Some(4000), connections: 2 }, Setting::default()];
        let bounds = Bounds { connections: 16, buffer: Some(100_000) };
        type Expected = Result<Vec<(usize, Setting)>, &'static str>;
        let cases: [(&str, Expected); 11] = [
            (
                r#"{"tune":[{"client":"a","window":8000}]}"#,
                Ok(vec![(0, Setting { window: Some(8000), connections: 2 })]),
            ),
            (
                r#"{"id":7,"tune":[{"client":"a","window":null,"connections":3}]}"#,
                Ok(vec![(0, Setting { window: None, connections: 3 })]),
            ),
            (r#"{"tune":[]}"#, Ok(vec![])),
            ("[]", Err("request must be an object")),
            ("{}", Err("request.tune must be a list")),
            (r#"{"tune":[],"tun":1}"#, Err("request.tun is unknown")),
            (r#"{"tune":[{"client":"x"}]}"#, Err("tune[0].client must be one of the server's list")),
            (
                r#"{"tune":[{"client":"b","connections":17}]}"#,
                Err("tune[0].connections must be a number from 1 to 16"),
            ),
            (
                r#"{"tune":[{"client":"b","window":-5}]}"#,
                Err("tune[0].window must be a number from 1152 to 1073741824"),
            ),
            (
                r#"{"tune":[{"client":"b"},{"client":"a","connections":4}]}"#,
                Err("tune[1].window must be at least 4608, 1152 for each connection"),
            ),
            (
                r#"{"tune":[{"client":"b","window":96001}]}"#,
                Err("tune makes windows of 100001 bytes together, where --buffer allows 100000"),
            ),
        ];
        for (line, expected) in cases {
            let (_, got) = parse(line.as_bytes(), &clients, &settings, bounds);
            assert_eq!(got.map_err(|e| e.to_string()), expected.map_err(str::to_owned), "{line}");
        }
        let (id, got) = parse(b"{\"id\":7,", &clients, &settings, bounds);
        assert!(id.is_null() && got.is_err_and(|e| e.to_string().starts_with("request is no JSON")));
    }
}
