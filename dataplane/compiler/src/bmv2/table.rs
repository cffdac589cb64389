//! Tables with their keys and entries.

use num_bigint::BigInt;
use serde_json::{json, Value};

use super::{bytes, hex, Writer};
use crate::lower::assign::ones;
use crate::lower::ir::{ActionCall, Entry, Expr, HeaderRef, Key, Match, Table};

impl Writer<'_> {
    pub fn table(&mut self, id: usize, following: Value, base: Option<String>) -> Value {
        let program = self.program;
        let table = &program.tables[id];
        let keys: Vec<&Key> = table.keys.iter().filter(|key| &*key.kind != "selector").collect();
        let key: Vec<Value> = keys.iter().map(|key| self.key(key)).collect();
        let has = |kinds: &[&str]| keys.iter().any(|key| kinds.contains(&&*key.kind));
        let match_type = match () {
            () if has(&["range"]) => "range",
            () if has(&["ternary", "optional"]) => "ternary",
            () if has(&["lpm"]) => "lpm",
            () => "exact",
        };
        let ids: Vec<usize> = table.actions.iter().map(|one| one.action).collect();
        let names: Vec<&str> =
            table.actions.iter().map(|one| &*program.actions[one.action].head.name).collect();
        let meter = table.meter.map(|meter| &*program.arrays[meter].head.name);
        let entries = table.entries.as_deref().unwrap_or_default();
        let mut value = json!({
            "name": table.head.name, "key": key, "match_type": match_type, "type": "simple",
            "max_size": table.size.max(entries.len() as u64), "with_counters": table.counter.is_some(),
            "support_timeout": table.idle_timeout, "direct_meters": meter, "action_ids": ids, "actions": names,
            "base_default_next": base, "next_tables": following,
        });
        if let Some(profile) = table.profile {
            let profile = &program.profiles[profile];
            value["type"] = json!(if profile.selector.is_some() { "indirect_ws" } else { "indirect" });
            value["action_profile"] = json!(profile.head.name);
        } else if let Some(default) = &table.default {
            let mut entry = self.call(default);
            entry["action_const"] = json!(table.constant_default);
            entry["action_entry_const"] = json!(table.constant_default);
            value["default_entry"] = entry;
        }
        if table.entries.is_some() {
            let entries = entries.iter().enumerate();
            value["entries"] = entries.map(|(place, entry)| self.entry(table, place, entry)).collect();
        }
        self.node(value, table.head.span)
    }

    fn key(&mut self, key: &Key) -> Value {
        let target = match &key.value {
            Expr::Field(field) => self.names(field),
            Expr::Valid(HeaderRef::Fixed(header)) => json!([self.program.headers[*header].name, "$valid$"]),
            _ => Value::Null,
        };
        // BMv2 knows no optional fields: a mask without bits leaves one out.
        let kind = if &*key.kind == "optional" { "ternary" } else { &*key.kind };
        json!({"match_type": kind, "name": key.name, "target": target, "mask": null})
    }

    fn call(&self, call: &ActionCall) -> Value {
        let data: Vec<String> = call.arguments.iter().map(hex).collect();
        json!({"action_id": call.action, "action_data": data})
    }

    fn entry(&mut self, table: &Table, place: usize, entry: &Entry) -> Value {
        let keys = table.keys.iter().zip(&entry.keys).filter(|(key, _)| &*key.kind != "selector");
        let made: Vec<Value> = keys.map(|(key, one)| match_of(key, one)).collect();
        if made.iter().any(|one| one["start"].as_str() > one["end"].as_str()) {
            let message = "a range is empty, or goes from below 0 to above: each sign has its own entry";
            self.diagnostics.error(entry.span, message);
        }
        // The first entry wins; BMv2's least priority does.
        let priority = entry.annotated_priority.unwrap_or(place as u64 + 1);
        let value = json!({"match_key": made, "action_entry": self.call(&entry.call), "priority": priority});
        self.placed(value, entry.span)
    }

    pub fn profile(&mut self, id: usize) -> Value {
        let profile = &self.program.profiles[id];
        let mut value = json!({"name": profile.head.name, "id": id, "max_size": profile.size});
        if let Some((algorithm, input)) = &profile.selector {
            let input: Vec<Value> = input.iter().map(|one| self.parameter(one)).collect();
            value["selector"] = json!({"algo": algorithm, "input": input});
        }
        self.placed(value, profile.head.span)
    }
}

/// A key of an entry, as long as its field.
fn match_of(key: &Key, one: &Match) -> Value {
    let width = key.of.width().unwrap_or(32);
    let ones = ones(width);
    let text = |number: &BigInt| bytes([(number, width)]);
    let none = BigInt::from(0);
    let (value, mask) = match one {
        Match::Any => (&none, &none),
        Match::Value(value) => (value, &ones),
        Match::Mask(value, mask) => (value, mask),
        Match::Range(low, high) => (low, high),
    };
    match &*key.kind {
        "ternary" | "optional" => {
            json!({"match_type": "ternary", "key": text(&(value & mask)), "mask": text(mask)})
        }
        "lpm" => {
            let length = (mask & &ones).magnitude().count_ones();
            json!({"match_type": "lpm", "key": text(value), "prefix_length": length})
        }
        "range" => {
            let end = match one {
                Match::Any => &ones,
                Match::Value(value) => value,
                _ => mask,
            };
            json!({"match_type": "range", "start": text(value), "end": text(end)})
        }
        kind => json!({"match_type": kind, "key": text(value)}),
    }
}
