//! Orders: `{"id": ..., "buffer": ..., "max_connections": ..., "clients": [{"client": ..., "token": ...}],
//! "tune": [{"client": ..., "window": ..., "connections": ...}]}`, of which all but one may be left out.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use groupflow_host::json::{FieldError, ObjectReader};
use serde_json::value::RawValue;
use serde_json::Value;

use super::clients::{self, ClientList, MOST};
use super::window;
use crate::machine::ClientName;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// W: the sum of its connections' windows in bytes; `None`: the kernel tunes them.
    pub window: Option<u64>,
    /// N: the number of connections.
    pub connections: u16,
}

impl Default for Setting {
    fn default() -> Setting {
        Setting { window: None, connections: 1 }
    }
}

impl Setting {
    /// The window of one of `connections`: the least window plus whole segments of the rest, as evenly as
    /// possible. A TCP sender waits until it may send a whole segment, so any smaller remainder of a window
    /// is of no use. `segment` is in bytes; 0: not known yet.
    pub fn share(self, index: usize, connections: usize, segment: u64) -> Option<u64> {
        let window = self.window?;
        let (index, count) = (index as u64, connections.max(1) as u64);
        let least = segment.max(window::LEAST);
        match window.checked_sub(least * count) {
            Some(rest) if segment > 0 => {
                let segments = rest / segment;
                Some(least + segment * (segments / count + u64::from(index < segments % count)))
            }
            _ => Some((window / count).max(window::LEAST)),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The most connections of a client.
    pub connections: u16,
    /// The most bytes of all windows together.
    pub buffer: Option<u64>,
}

/// An order from stdin: all of it is carried out, in this order, or nothing.
#[derive(Debug, PartialEq, Eq)]
pub struct Order {
    /// From now on.
    pub bounds: Bounds,
    /// The clients that may send from now on.
    pub clients: Option<ClientList>,
    pub tune: Vec<(ClientName, Setting)>,
}

/// The state that an order refers to.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    pub numbers: &'a HashMap<ClientName, usize>,
    /// Settings by the client's number.
    pub settings: &'a [Setting],
    pub bounds: Bounds,
    pub max_clients: usize,
}

/// Parses a line: its id, and the order, or why nothing of it is carried out.
pub fn parse(line: &[u8], known: Known) -> (Value, Result<Order, FieldError>) {
    let mut fields: BTreeMap<String, &RawValue> = match serde_json::from_slice(line) {
        Ok(fields) => fields,
        Err(error) => {
            let text = match error.is_data() {
                true => "must be an object".to_owned(),
                false => format!("is no JSON: {error}"),
            };
            return (Value::Null, Err(FieldError { field: "request".to_owned(), text }));
        }
    };
    let id = fields.remove("id").and_then(|id| serde_json::from_str(id.get()).ok()).unwrap_or_default();
    (id, request(fields, known))
}

fn wrong(field: &str, text: &str) -> FieldError {
    FieldError { field: format!("request.{field}"), text: text.to_owned() }
}

/// Each change is parsed by itself: building a tree for a thousand changes would cost more than carrying them
/// out.
fn request(mut fields: BTreeMap<String, &RawValue>, known: Known) -> Result<Order, FieldError> {
    let is_tuning_only = fields.keys().all(|key| key == "tune");
    let buffer = number(&mut fields, "buffer", window::LEAST..=u64::MAX)?;
    let connections = number(&mut fields, "max_connections", 1..=u16::MAX.into())?;
    let bounds = Bounds {
        buffer: buffer.or(known.bounds.buffer),
        connections: connections.map_or(known.bounds.connections, |count| count as u16),
    };
    let clients = fields.remove("clients").map(|raw| list(raw, known.max_clients)).transpose()?;
    let changes = match fields.remove("tune") {
        None if !is_tuning_only => Some(Vec::new()),
        raw => raw.and_then(|raw| serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok()),
    };
    let changes = changes.filter(|changes| changes.len() <= MOST);
    let changes = changes.ok_or_else(|| wrong("tune", &format!("must be a list of at most {MOST}")))?;
    if let Some(key) = fields.keys().next() {
        let key: String = key.chars().filter(|c| !c.is_control()).take(64).collect();
        return Err(wrong(&key, "is unknown"));
    }
    let known = Known { bounds, ..known };
    let tune = settings(&changes, clients.as_ref(), known)?;
    let of = |name: &ClientName| tune.get(name).copied().unwrap_or(known.setting(name)).window.unwrap_or(0);
    let total: u64 = match &clients {
        Some(list) => list.keys().map(of).sum(),
        None => known.numbers.keys().map(of).sum(),
    };
    match bounds.buffer {
        Some(most) if total > most => Err(FieldError {
            field: "tune".to_owned(),
            text: format!("makes windows of {total} bytes together, where --buffer allows {most}"),
        }),
        _ => Ok(Order { bounds, clients, tune: tune.into_iter().collect() }),
    }
}

fn number(
    fields: &mut BTreeMap<String, &RawValue>, field: &str, range: RangeInclusive<u64>,
) -> Result<Option<u64>, FieldError> {
    let Some(raw) = fields.remove(field) else { return Ok(None) };
    let number = serde_json::from_str::<u64>(raw.get()).ok().filter(|number| range.contains(number));
    let text = format!("must be a number from {} to {}", range.start(), range.end());
    number.ok_or_else(|| wrong(field, &text)).map(Some)
}

fn list(raw: &RawValue, most: usize) -> Result<ClientList, FieldError> {
    let list = serde_json::from_str::<Vec<Value>>(raw.get()).ok().filter(|list| list.len() <= most);
    let text = format!("must be a list of at most {most} clients, as --max-clients has it");
    clients::parse(&list.ok_or_else(|| wrong("clients", &text))?)
}

/// The settings of the clients that are changed.
fn settings(
    changes: &[&RawValue], clients: Option<&ClientList>, known: Known,
) -> Result<HashMap<ClientName, Setting>, FieldError> {
    let mut changed: HashMap<ClientName, Setting> = HashMap::new();
    let is_listed = |name: &ClientName| match clients {
        Some(list) => list.contains_key(name),
        None => known.numbers.contains_key(name),
    };
    for (index, text) in changes.iter().enumerate() {
        // The raw text was checked to be JSON already.
        let value: Value = serde_json::from_str(text.get()).unwrap_or_default();
        let mut fields = ObjectReader::new(format!("tune[{index}]"), &value)?;
        let name = ClientName::parse(fields.text("client", 255)?).filter(is_listed);
        let name = name.ok_or_else(|| fields.wrong("client", "one of the server's list"))?;
        let mut setting = changed.get(&name).copied().unwrap_or(known.setting(&name));
        if let Some(connections) =
            fields.optional_number("connections", 1..=known.bounds.connections.into())?
        {
            setting.connections = connections as u16;
        }
        if value.get("window").is_some() {
            // A null window goes back to the kernel's tuning.
            setting.window = fields.optional_number("window", window::LEAST..=window::MOST)?;
        }
        let least = window::LEAST * u64::from(setting.connections);
        if setting.window.is_some_and(|window| window < least) {
            return Err(fields.wrong("window", &format!("at least {least}, 1152 for each connection")));
        }
        fields.finish()?;
        changed.insert(name, setting);
    }
    Ok(changed)
}

impl Known<'_> {
    fn setting(self, name: &ClientName) -> Setting {
        let number = self.numbers.get(name);
        number.and_then(|&number| self.settings.get(number)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_divided_in_whole_segments() {
        let shares = |window, count, segment| -> Vec<u64> {
            let setting = Setting { window: Some(window), connections: 1 };
            (0..count).filter_map(|index| setting.share(index, count, segment)).collect()
        };
        // 22,222 = 3 * 1448 and 12 more whole segments, and 502 bytes.
        assert_eq!(shares(22_222, 3, 1448), [7240, 7240, 7240]);
        assert_eq!(shares(22_222, 4, 1448), [5792, 5792, 5792, 4344]);
        // A segment is smaller than the least window: the remainder is lost.
        assert_eq!(shares(4_600, 3, 1000), [2152, 1152, 1152]);
        // Segments are unknown, or there is less than one for each connection.
        assert_eq!(shares(10_000, 4, 0), [2500; 4]);
        assert_eq!(shares(5_000, 4, 1448), [1250; 4]);
        for (window, count) in [(22_222, 15), (100_000, 7), (1152, 1), (30_000, 16)] {
            for segment in [0, 536, 1000, 1448] {
                let whole: u64 = shares(window, count, segment).iter().sum();
                assert!(whole <= window, "{whole} of {window} by {count}, {segment}");
            }
        }
        assert_eq!(Setting::default().share(0, 3, 1448), None);
    }

    #[test]
    fn tunings_are_obeyed_as_a_whole_or_refused_with_the_field() {
        let names = ["a", "b"].map(|name| ClientName::parse(name).expect("a name"));
        let clients = names.into_iter().zip(0..).collect();
        let settings = [Setting { window: Some(4000), connections: 2 }, Setting::default()];
        let bounds = Bounds { connections: 16, buffer: Some(100_000) };
        let known = Known { numbers: &clients, settings: &settings, bounds, max_clients: 2 };
        type Expected = Result<Vec<(&'static str, Setting)>, &'static str>;
        let cases: [(&str, Expected); 25] = [
            (
                r#"{"tune":[{"client":"a","window":8000}]}"#,
                Ok(vec![("a", Setting { window: Some(8000), connections: 2 })]),
            ),
            (
                r#"{"id":7,"tune":[{"client":"a","window":null,"connections":3}]}"#,
                Ok(vec![("a", Setting { window: None, connections: 3 })]),
            ),
            (r#"{"tune":[]}"#, Ok(vec![])),
            ("[]", Err("request must be an object")),
            (r#"{"tune":7}"#, Err("request.tune must be a list of at most 65536")),
            (r#"{"tune":[7]}"#, Err("tune[0] must be an object")),
            (r#"{"tune":[{"client":"a","windows":4000}]}"#, Err("tune[0].windows is unknown")),
            ("{}", Err("request.tune must be a list of at most 65536")),
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
            (r#"{"buffer":4000}"#, Ok(vec![])),
            (
                r#"{"buffer":3999}"#,
                Err("tune makes windows of 4000 bytes together, where --buffer allows 3999"),
            ),
            (
                r#"{"buffer":"4000"}"#,
                Err("request.buffer must be a number from 1152 to 18446744073709551615"),
            ),
            (
                r#"{"max_connections":2,"tune":[{"client":"b","connections":3}]}"#,
                Err("tune[0].connections must be a number from 1 to 2"),
            ),
            (r#"{"clients":[]}"#, Ok(vec![])),
            (
                r#"{"clients":[{"client":"c","token":"c0"}],"tune":[{"client":"c","window":100000}]}"#,
                Ok(vec![("c", Setting { window: Some(100_000), connections: 1 })]),
            ),
            (
                r#"{"clients":[{"client":"c","token":"c0"}],"tune":[{"client":"a","window":8000}]}"#,
                Err("tune[0].client must be one of the server's list"),
            ),
            (
                r#"{"clients":[{"client":"a","token":"c0"}],"tune":[{"client":"a","window":100001}]}"#,
                Err("tune makes windows of 100001 bytes together, where --buffer allows 100000"),
            ),
            (
                r#"{"clients":[{"client":"c","token":"x"}]}"#,
                Err("clients[0].token must be 1 to 255 hexadecimal digits"),
            ),
            (
                r#"{"clients":[1,2,3]}"#,
                Err("request.clients must be a list of at most 2 clients, as --max-clients has it"),
            ),
            (r#"{"clients":[],"tune":0}"#, Err("request.tune must be a list of at most 65536")),
        ];
        for (line, expected) in cases {
            let (_, got) = parse(line.as_bytes(), known);
            let named =
                |(name, setting): (&'static str, _)| (ClientName::parse(name).expect("a name"), setting);
            let expected = expected.map(|changes| changes.into_iter().map(named).collect());
            let got = got.map(|order| order.tune).map_err(|e| e.to_string());
            assert_eq!(got, expected.map_err(str::to_owned), "{line}");
        }
        let (id, got) = parse(b"{\"id\":[7],\"tune\":0}", known);
        assert!(id == serde_json::json!([7]) && got.is_err());
        let (id, got) = parse(b"{\"id\":7,", known);
        assert!(id.is_null() && got.is_err_and(|e| e.to_string().starts_with("request is no JSON")));
    }
}
