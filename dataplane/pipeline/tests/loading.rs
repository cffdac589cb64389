//! A text that is not p4c's JSON is refused with the place; a program that loads runs any packet.

use std::sync::{Arc, OnceLock};

use crate::common::*;
use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use groupflow_pipeline::{Arrival, Departure, Pipeline, Program};
use proptest::prelude::*;
use serde_json::{json, Value};

/// A program with something of everything.
fn rich() -> P4 {
    let mut p4 = P4::new();
    p4.add_stack("s", 3);
    p4.add("register_arrays", json!({"name": "r", "id": 0, "size": 4, "bitwidth": 8}));
    p4.add("counter_arrays", json!({"name": "n", "id": 0, "size": 4, "is_direct": false}));
    p4.add(
        "meter_arrays",
        json!({"name": "m", "id": 0, "size": 4, "type": "bytes", "rate_count": 2, "is_direct": false}),
    );
    p4.add("calculations", json!({"name": "calc", "id": 0, "algo": "csum16", "input": [field("h", "a")]}));
    p4.add(
        "checksums",
        json!({"name": "sum", "id": 0, "type": "generic", "calculation": "calc", "target": ["h", "b"],
        "verify": true, "update": true, "if_cond": op("==", field("h", "a"), hex(9))}),
    );
    p4.add("field_lists", json!({"id": 1, "name": "fl", "elements": [field("m", "x")]}));
    p4.add("learn_lists", json!({"id": 1, "name": "learn", "elements": [field("h", "b")]}));
    let key = json!([{"type": "field", "value": ["h", "a"]}]);
    let last = json!([{"type": "stack_field", "value": ["s", "last"]}]);
    p4.state(
        "start",
        json!([P4::extract("h")]),
        key,
        json!([P4::on("0x01", None, Some("more")), P4::otherwise(None)]),
    );
    let extract = json!({"op": "extract", "parameters": [{"type": "stack", "value": "s"}]});
    p4.state(
        "more",
        json!([extract]),
        last,
        json!([P4::on("0x00", Some("0x01"), Some("more")), P4::otherwise(None)]),
    );
    p4.emit(&["h", "s[0]", "s[1]", "s[2]"]);
    let hit = p4.action("hit", &[("port", 9)], vec![assign("standard_metadata", "egress_spec", param(0))]);
    let miss = p4.action("miss", &[], vec![forward(5)]);
    let default = json!({"action_id": miss, "action_const": false, "action_data": []});
    let table =
        p4.table(INGRESS, "t", json!([["ternary", "h", "a"], ["exact", "h", "b"]]), &[hit, miss], default);
    table["entries"] = json!([{"priority": 1, "action_entry": {"action_id": hit, "action_data": ["0x3"]},
        "match_key": [
            {"match_type": "ternary", "key": "0x1", "mask": "0x1"}, {"match_type": "exact", "key": "0x2"}]}]);
    let register = || named("register_array", "r");
    p4.run(
        INGRESS,
        vec![
            primitive("register_read", json!([field("m", "x"), register(), field("h", "a")])),
            primitive("register_write", json!([register(), field("h", "d"), field("h", "c")])),
            primitive("count", json!([named("counter_array", "n"), field("h", "a")])),
            primitive("execute_meter", json!([named("meter_array", "m"), hex(1), field("h", "d")])),
            primitive("clone_ingress_pkt_to_egress", json!([field("h", "a"), hex(1)])),
            primitive("generate_digest", json!([hex(1), hex(1)])),
            primitive("push", json!([named("header_stack", "s"), hex(1)])),
            primitive(
                "log_msg",
                json!([named("string", "{}"), {"type": "parameters_vector", "value": [field("h", "a")]}]),
            ),
        ],
    );
    p4.run(
        EGRESS,
        vec![
            primitive("pop", json!([named("header_stack", "s"), hex(1)])),
            primitive(
                "modify_field_with_hash_based_offset",
                json!([field("h", "c"), hex(0), named("calculation", "calc"), field("h", "a")]),
            ),
            primitive("truncate", json!([field("h", "d")])),
        ],
    );
    let node = json!({"name": "node", "id": 0, "expression": op("<", field("h", "d"), hex(200)),
        "true_next": "t", "false_next": null});
    p4.json["pipelines"][0]["conditionals"] = json!([node]);
    p4.json["pipelines"][0]["init_table"] = json!("node");
    p4
}

/// The same, built once for all cases of a test.
fn rich_json() -> &'static Value {
    static JSON: OnceLock<Value> = OnceLock::new();
    JSON.get_or_init(|| rich().json)
}

/// Sends packets through both pipelines; whatever the verdict, nothing may panic.
fn exercise(program: Program, frames: &[Vec<u8>]) {
    let mut pipeline = Pipeline::new(Arc::new(program));
    for (i, frame) in frames.iter().enumerate() {
        let now = Nanos(1_000 * i as u64);
        let done = pipeline.ingress(now, Arrival::on(Port(i as u16 % 512)), frame);
        for packet in done.packet.into_iter().chain(done.clone.into_iter().map(|clone| clone.packet)) {
            pipeline.egress(now, packet, Departure { port: Port(3), rid: 1, ..Departure::default() });
        }
    }
}

#[test]
fn the_rich_program_loads_and_runs() {
    let program = Program::from_json(&rich().json.to_string()).unwrap();
    assert_eq!(program.source.as_deref(), Some("test.p4"));
    exercise(program, &[vec![1, 2, 3, 4, 5, 6, 7, 8, 9], vec![1; 40], vec![]]);
}

/// As in JSON of 2016, where a table names its actions and lists no ids.
#[test]
fn a_table_without_ids_of_actions_has_the_actions_that_it_names() {
    let (new, mut old) = (rich(), rich());
    old.json.pointer_mut("/pipelines/0/tables/0").unwrap().as_object_mut().unwrap().remove("action_ids");
    let actions = |p4: &P4| Program::from_json(&p4.json.to_string()).unwrap().tables[0].actions.clone();
    assert_eq!(actions(&old), actions(&new));
    old.json["pipelines"][0]["tables"][0]["actions"][0] = json!("odd");
    assert_eq!(old.load_error(), "pipelines[0].tables[0].actions[0]: no action \"odd\"");
}

#[test]
fn wrong_texts() {
    let cases = [
        ("", "not JSON: EOF while parsing a value at line 1 column 0"),
        ("{\"a\": ", "not JSON: EOF while parsing a value at line 1 column 6"),
        ("{}", "not p4c's BMv2 JSON: there is no __meta__"),
        ("[]", "not p4c's BMv2 JSON: there is no __meta__"),
        ("{\"pipelines\": [], \"header_types\": []}", "headers: missing"),
        ("{\"__meta__\": {\"version\": [3, 0]}}", "not p4c's BMv2 JSON: __meta__.version is 3, 2 is needed"),
        ("{\"__meta__\": {\"version\": [2, 0]}}", "header_types: missing"),
    ];
    for (text, expected) in cases {
        assert_eq!(Program::from_json(text).unwrap_err().to_string(), expected, "{text}");
    }
    let deep = "[".repeat(100_000);
    assert!(Program::from_json(&deep).is_err());
}

/// A JSON pointer, the value put there, and the error.
#[test]
fn every_error_names_its_place() {
    let ingress = "/pipelines/0/tables/0";
    let cases: Vec<(&str, Value, &str)> = vec![
        ("/header_types/1/fields/0/1", json!("*"), "header_types[1].max_length: missing"),
        (
            "/header_types/1/fields/0/1",
            json!(9),
            "headers[1].header_type: a header of 65 bits is not whole bytes",
        ),
        (
            "/headers/1/name",
            json!("psa_ingress_parser_input_metadata"),
            "the program is for PSA, which is not supported; its architecture must be v1model",
        ),
        (
            "/headers/1/name",
            json!("pna_main_parser_input_metadata"),
            "the program is for PNA, which is not supported; its architecture must be v1model",
        ),
        ("/headers/1/header_type", json!("x"), "headers[1].header_type: no header type \"x\""),
        ("/headers/2/name", json!("h"), "headers[2].name: a second header \"h\""),
        ("/header_stacks/0/header_ids/0", json!(99), "header_stacks[0].header_ids[0]: no header \"99\""),
        (
            "/header_stacks/0/header_ids/0",
            json!(1),
            "header_stacks[0].header_ids[1]: the headers of a stack have different types",
        ),
        (
            "/header_unions",
            json!([{"name": "u", "id": 0, "header_ids": [99]}]),
            "header_unions[0].header_ids[0]: no header \"99\"",
        ),
        (
            "/extern_instances",
            json!([{"name": "e", "type": "E", "source_info": {"filename": "a.p4", "line": 7}}]),
            "extern_instances[0]: the extern \"e\" of type \"E\" (a.p4:7) is not supported",
        ),
        ("/field_aliases/0/1/1", json!("x"), "field_aliases[0][1]: no field \"standard_metadata.x\""),
        (
            "/register_arrays/0/size",
            json!(1u64 << 40),
            "register_arrays[0].size: more than 16777216 cells in total is not supported",
        ),
        (
            "/register_arrays/0/bitwidth",
            json!(99_999),
            "register_arrays[0].bitwidth: a width of 99999 bits (the most is 16384) is not supported",
        ),
        ("/meter_arrays/0/type", json!("bits"), "meter_arrays[0].type: a meter of \"bits\" is not supported"),
        (
            "/calculations/0/algo",
            json!("md5"),
            "calculations[0].algo: the algorithm \"md5\" is not supported",
        ),
        ("/checksums/0/calculation", json!("x"), "checksums[0].calculation: no calculation \"x\""),
        ("/parsers/0/init_state", json!("x"), "parsers[0].init_state: no parser state \"x\""),
        (
            "/parsers/0/parse_states/0/transitions/0/value",
            json!("0x100"),
            "parsers[0].parse_states[0].transitions[0].value: the value does not fit the key",
        ),
        (
            "/parsers/0/parse_states/0/transitions/0/next_state",
            json!("x"),
            "parsers[0].parse_states[0].transitions[0].next_state: no parser state \"x\"",
        ),
        (
            "/parsers/0/parse_states/0/parser_ops/0/op",
            json!("sing"),
            "parsers[0].parse_states[0].parser_ops[0].op: the parser operation \"sing\" is not \
            supported",
        ),
        (
            "/parsers/0/parse_states/0/parser_ops/0/parameters/0/value",
            json!("m"),
            "parsers[0].parse_states[0].parser_ops[0].parameters[0].value: metadata is not in the packet",
        ),
        ("/parsers", json!([]), "parsers: expected 1 elements, found 0"),
        ("/deparsers/0/order/0", json!("x"), "deparsers[0].order[0]: no header \"x\""),
        (
            "/actions/0/primitives/0/op",
            json!("fly"),
            "actions[0].primitives[0].op: the primitive \"fly\" is not supported",
        ),
        ("/actions/0/primitives/0/parameters", json!([]), "actions[0].primitives[0]: parameter 0 is missing"),
        (
            "/actions/0/primitives/0/parameters/0/value/1",
            json!("x"),
            "actions[0].primitives[0].parameters[0].value: no field \"standard_metadata.x\"",
        ),
        (
            "/actions/0/runtime_data/0/bitwidth",
            json!("9"),
            "actions[0].runtime_data[0].bitwidth: expected a whole number",
        ),
        (
            "/actions/2/primitives/0/parameters/1/value",
            json!("x"),
            "actions[2].primitives[0].parameters[1].value: no register \"x\"",
        ),
        (
            "/actions/2/primitives/4/parameters/1/value",
            json!("0x9"),
            "actions[2].primitives[4].parameters[1].value: no field list \"9\"",
        ),
        ("/pipelines/0/init_table", json!("x"), "pipelines[0].init_table: no table or condition \"x\""),
        ("/pipelines/1/name", json!("x"), "pipelines[1].name: the pipeline \"x\" is not supported"),
        ("/pipelines/1/name", json!("ingress"), "pipelines[1].name: a second pipeline of this name"),
        (
            "/pipelines/0/conditionals/0/name",
            json!("t"),
            "pipelines[0].conditionals[0].name: a second node \"t\"",
        ),
        (
            "/pipelines/0/tables/0/base_default_next",
            json!("node"),
            "pipelines: tables and conditions form a cycle",
        ),
    ];
    for (pointer, value, expected) in cases {
        let mut p4 = rich();
        *p4.json.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        assert_eq!(p4.load_error(), expected, "{pointer}");
    }
    let in_table: Vec<(&str, Value, &str)> = vec![
        ("/type", json!("odd"), "type: the type of table \"t\" is not supported"),
        ("/action_ids/0", json!(77), "action_ids[0]: no action \"77\""),
        ("/key/0/match_type", json!("fuzzy"), "key[0].match_type: the match kind \"fuzzy\" is not supported"),
        ("/next_tables/hit", json!("x"), "next_tables.hit: no table or condition \"x\""),
        ("/default_entry/action_id", json!(2), "default_entry: the table does not have this action"),
        (
            "/default_entry/action_data",
            json!(["0x1"]),
            "default_entry: action miss, parameter 0: there is no such parameter",
        ),
        (
            "/entries/0/match_key/1/key",
            json!("0x12345"),
            "entries[0].match_key[1].key: the value does not fit 16 bits",
        ),
        (
            "/entries/0/action_entry/action_data/0",
            json!("0x200"),
            "entries[0].action_entry.action_data[0]: the value does not fit 9 bits",
        ),
        ("/max_size", json!(-1), "max_size: expected a whole number"),
        ("/direct_meters", json!("x"), "direct_meters: no direct meter \"x\""),
    ];
    for (pointer, value, expected) in in_table {
        let mut p4 = rich();
        *p4.json.pointer_mut(&format!("{ingress}{pointer}")).unwrap() = value;
        assert_eq!(p4.load_error(), format!("pipelines[0].tables[0].{expected}"));
    }
}

#[test]
fn required_metadata() {
    for name in ["ingress_port", "egress_spec", "egress_port", "instance_type", "packet_length"] {
        let mut p4 = P4::new();
        let text = p4.json.to_string().replace(&format!("[\"{name}\","), "[\"other\",");
        p4.json = serde_json::from_str(&text).unwrap();
        assert_eq!(p4.load_error(), format!("headers: standard_metadata.{name}: missing"));
    }
}

/// The values of a document: itself, and all within.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::Object(members) => members.values().map(size).sum::<usize>(),
        Value::Array(items) => items.iter().map(size).sum(),
        _ => 0,
    }
}

/// One of these, by its number.
fn nth(value: &mut Value, number: usize) -> Option<&mut Value> {
    let Some(mut left) = number.checked_sub(1) else { return Some(value) };
    let children: Box<dyn Iterator<Item = &mut Value>> = match value {
        Value::Object(members) => Box::new(members.values_mut()),
        Value::Array(items) => Box::new(items.iter_mut()),
        _ => return None,
    };
    for child in children {
        let size = size(child);
        if left < size {
            return nth(child, left);
        }
        left -= size;
    }
    None
}

fn replacement() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0u64..200).prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        "[a-z$]{0,4}".prop_map(Value::from),
        any::<u128>().prop_map(|v| json!(format!("{v:#x}"))),
    ]
}

fn frames() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..8)
}

/// Puts values at places of the document, or copies of what stands at other places.
fn mutate(json: &mut Value, changes: Vec<(prop::sample::Index, Result<Value, prop::sample::Index>)>) {
    for (place, new) in changes {
        let size = size(json);
        let new = match new {
            Ok(value) => value,
            Err(source) => nth(json, source.index(size)).cloned().unwrap_or_default(),
        };
        if let Some(target) = nth(json, place.index(size)) {
            *target = new;
        }
    }
}

fn change() -> impl Strategy<Value = (prop::sample::Index, Result<Value, prop::sample::Index>)> {
    let new = prop_oneof![replacement().prop_map(Ok), any::<prop::sample::Index>().prop_map(Err)];
    (any::<prop::sample::Index>(), new)
}

proptest! {
    #![proptest_config(seeded(3_000))]

    #[test]
    fn mutated_programs_are_refused_or_run(
        changes in prop::collection::vec(change(), 1..4), frames in frames()) {
        let mut json = rich_json().clone();
        mutate(&mut json, changes);
        // Documents whose copies grew out of hand say nothing new.
        let text = json.to_string();
        prop_assume!(text.len() < 200_000);
        if let Ok(program) = Program::from_json(&text) {
            exercise(program, &frames);
        }
    }

    #[test]
    fn mutated_texts_are_refused_or_run(at in any::<prop::sample::Index>(), byte: u8, frames in frames()) {
        let mut text = rich_json().to_string().into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        if let Ok(program) = Program::from_json(&String::from_utf8_lossy(&text)) {
            exercise(program, &frames);
        }
    }
}
