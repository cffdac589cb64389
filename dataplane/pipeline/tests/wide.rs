//! Fields of more than 128 bits or of variable length, and header unions: on both engines.

use std::sync::Arc;

use crate::common::*;
use groupflow_pipeline::{Engine, Match, Pipeline, Program};
use serde_json::{json, Value};

/// Whether a header has a field of variable length, for which there is no machine code.
fn varies(p4: &P4) -> bool {
    p4.json["header_types"].as_array().unwrap().iter().any(|kind| kind.get("max_length").is_some())
}

/// The frame that leaves, which is the same with both engines.
fn leaves(p4: &P4, bytes: &[u8]) -> Vec<u8> {
    let on = |engine| {
        let mut pipeline = p4.load_on(engine);
        assert!(engine != Engine::Native || varies(p4) || pipeline.engine() == Engine::Native);
        through(&mut pipeline, bytes)
    };
    let [one, other] = [Engine::Interpreter, Engine::Native].map(on);
    assert_eq!(one, other);
    one
}

fn start(p4: &mut P4, ops: Value) {
    p4.state("start", ops, json!([]), json!([P4::otherwise(None)]));
}

/// Headers `v` and `w` of a byte and up to 40 bytes, which the first byte counts; the error in front.
fn variable() -> P4 {
    let mut p4 = P4::new();
    p4.add_header("out", json!([["error", 8], ["x", 32]]), false);
    for name in ["v", "w"] {
        let id = p4.add_header(name, json!([["n", 8], ["data", "*"], ["end", 8]]), false);
        p4.json["header_types"][id]["max_length"] = json!(42);
    }
    let bits = json!({"type": "expression", "value": {"op": "<<", "left": field("m", "x"), "right": hex(3)}});
    let ahead = json!({"op": "set", "parameters": [
        field("m", "x"), {"type": "lookahead", "value": [0, 8]}]});
    let extract = json!({"op": "extract_VL", "parameters": [{"type": "regular", "value": "v"}, bits]});
    start(&mut p4, json!([ahead, extract]));
    p4.emit(&["out", "v", "w"]);
    p4
}

fn told(p4: &mut P4, more: Vec<Value>) {
    let mut ops = vec![
        forward(2),
        primitive("add_header", json!([header("out")])),
        assign("out", "error", field("standard_metadata", "parser_error")),
    ];
    ops.extend(more);
    p4.run(INGRESS, ops);
}

fn counted(n: u8, length: u8) -> Vec<u8> {
    [n].into_iter().chain((0..length).map(|byte| byte | 0x80)).collect()
}

#[test]
fn fields_of_variable_length_come_out_as_they_went_in() {
    let mut p4 = variable();
    told(&mut p4, vec![]);
    assert_eq!(p4.load().engine(), Engine::Interpreter, "there is no machine code for them");
    for n in [0, 1, 15, 16, 17, 40] {
        let frame = counted(n, 60);
        let out = leaves(&p4, &frame);
        assert_eq!((out[0], &out[5..]), (0, &frame[..]), "{n}");
    }
    // Too many bytes for the packet, and for the header: nothing is extracted.
    for (n, length, error) in [(3, 3, 1), (41, 60, 4)] {
        let frame = counted(n, length);
        let out = leaves(&p4, &frame);
        assert_eq!((out[0], &out[5..]), (error, &frame[..]), "{n}");
    }
    let bits = "/parsers/0/parse_states/0/parser_ops/1/parameters/1/value/right/value";
    *p4.json.pointer_mut(bits).unwrap() = json!("0x0");
    assert_eq!(leaves(&p4, &counted(3, 60))[0], 6, "no whole bytes");
}

#[test]
fn fields_of_variable_length_are_copied_compared_and_summed() {
    let mut p4 = variable();
    p4.add(
        "calculations",
        json!({"name": "sum", "id": 0, "algo": "csum16", "input": [field("v", "data"), field("v", "end")]}),
    );
    let equal = op("==", field("v", "data"), field("w", "data"));
    let twice = json!({"type": "expression", "value": {"op": "b2d", "left": null, "right": equal}});
    let hash = json!([field("out", "x"), hex(0), named("calculation", "sum"), hex(0x10000)]);
    let copy = vec![
        primitive("add_header", json!([header("w")])),
        primitive("assign_VL", json!([field("w", "data"), field("v", "data")])),
        primitive("modify_field_with_hash_based_offset", hash),
        assign("w", "n", twice),
    ];
    told(&mut p4, copy);
    let out = leaves(&p4, &[3, 0x12, 0x34, 0x56, 0x78, 9]);
    let sum = !(0x1234u16 + 0x5678);
    assert_eq!(
        out,
        [&[0, 0, 0], &sum.to_be_bytes()[..], &[3, 0x12, 0x34, 0x56, 0x78], &[1, 0x12, 0x34, 0x56, 0, 9]]
            .concat()
    );
}

/// A header of 8, 200 and 256 bits.
fn wide() -> P4 {
    let mut p4 = P4::new();
    p4.add_header("out", json!([["error", 8], ["x", 32]]), false);
    p4.add_header("w", json!([["k", 8], ["f", 200], ["g", 256]]), false);
    start(&mut p4, json!([P4::extract("w")]));
    p4.emit(&["out", "w"]);
    p4
}

#[test]
fn wide_fields_are_computed_with() {
    let mut p4 = wide();
    let all = json!({"type": "hexstr", "value": format!("0x{}", "ff".repeat(25))});
    let plus = op("&", op("+", field("w", "f"), hex(1)), all);
    let top = op("&", op(">>", field("w", "f"), hex(168)), hex(0xffff_ffff));
    let less = op("<", field("w", "f"), field("w", "g"));
    told(
        &mut p4,
        vec![
            assign("out", "x", top),
            assign(
                "w",
                "k",
                json!({"type": "expression", "value": {"op": "b2d", "left": null, "right": less}}),
            ),
            assign("w", "f", plus),
            assign("w", "g", unary("~", field("w", "g"))),
        ],
    );
    let mut frame = vec![9, 0x12, 0x34, 0x56, 0x78];
    frame.extend([0xff; 21]);
    frame.extend(1..=32);
    let out = leaves(&p4, &frame);
    assert_eq!(out[..6], [0, 0x12, 0x34, 0x56, 0x78, 1], "error, top and whether f < g");
    assert_eq!(out[6..10], [0x12, 0x34, 0x56, 0x79], "the carry of the other 168 bits");
    assert_eq!(out[10..31], [0; 21]);
    assert!(out[31..].iter().zip(1..=32).all(|(&out, byte)| out == !byte));
}

#[test]
fn primitives_of_p4_14_compute_with_wide_and_signed_fields() {
    let mut p4 = wide();
    told(
        &mut p4,
        vec![
            primitive("shift_right", json!([field("out", "x"), field("w", "g"), hex(200)])),
            assign("m", "s", hex(0x90)),
            primitive("shift_right", json!([field("m", "s"), field("m", "s"), hex(4)])),
            assign("w", "k", field("m", "s")),
            primitive("add_to_field", json!([field("w", "f"), hex(1)])),
        ],
    );
    let frame: Vec<u8> = (0..58).collect();
    let out = leaves(&p4, &frame);
    assert_eq!(out[1..6], [29, 30, 31, 32, 0xf9], "bits 200 to 231 of w.g, and -112 >> 4");
    assert_eq!(out[6..31], [&frame[1..25], &[26]].concat());
}

#[test]
fn wide_fields_are_looked_at_ahead_and_select() {
    let mut p4 = wide();
    p4.add_header("big", json!([["f", 200]]), true);
    let ahead =
        json!({"op": "set", "parameters": [field("big", "f"), {"type": "lookahead", "value": [4, 200]}]});
    let key = json!([field("big", "f")]);
    let value = format!("0x{}", "12".repeat(25));
    p4.state("start", json!([ahead]), key, json!([P4::on(&value, None, Some("take")), P4::otherwise(None)]));
    p4.state("take", json!([P4::extract("w")]), json!([]), json!([P4::otherwise(None)]));
    let right = unary("valid", header("w"));
    let valid = json!({"type": "expression", "value": {"op": "b2d", "left": null, "right": right}});
    told(&mut p4, vec![assign("out", "x", valid)]);
    for (byte, taken) in [(0x21, 1), (0x22, 0)] {
        let frame = vec![byte; 58];
        let out = leaves(&p4, &frame);
        assert_eq!((out[4], &out[5..]), (taken, &frame[..]), "{byte:#x}");
    }
}

/// The bytes of a number, as parts.
fn parts(bytes: &[u8]) -> Vec<u128> {
    let number = |part: &[u8]| part.iter().fold(0, |value, &byte| value << 8 | u128::from(byte));
    let first = (bytes.len() - 1) % 16 + 1;
    std::iter::once(&bytes[..first]).chain(bytes[first..].chunks(16)).map(number).collect()
}

/// Two elements of a stack, of 200 bits each, of which a table looks up the first.
fn looked_up(kind: &str) -> P4 {
    let mut p4 = P4::new();
    p4.add_header("out", json!([["x", 32]]), false);
    p4.add_stack("s", 2);
    p4.json["header_types"].as_array_mut().unwrap().last_mut().unwrap()["fields"] = json!([["f", 200]]);
    let next = json!({"op": "extract", "parameters": [{"type": "stack", "value": "s"}]});
    start(&mut p4, json!([next, next]));
    p4.emit(&["out", "s[0]", "s[1]"]);
    p4.add("register_arrays", json!({"name": "r", "id": 0, "size": 2, "bitwidth": 200}));
    let register = named("register_array", "r");
    let last = json!({"type": "stack_field", "value": ["s", "f"]});
    p4.run(INGRESS, vec![forward(2), primitive("add_header", json!([header("out")]))]);
    let ops = vec![
        assign("out", "x", op("&", op(">>", param(1), hex(160)), hex(0xffff_ffff))),
        primitive("register_write", json!([register.clone(), hex(1), op("^", param(1), last.clone())])),
        primitive("register_read", json!([last, register, hex(1)])),
    ];
    let hit = p4.action("hit", &[("narrow", 8), ("w", 200)], ops);
    let miss = p4.action("miss", &[], vec![]);
    let default = json!({"action_id": miss, "action_const": false, "action_data": []});
    p4.table(INGRESS, "t", json!([[kind, "s[0]", "f"]]), &[hit, miss], default);
    p4
}

#[test]
fn keys_parameters_registers_and_elements_may_be_wide() {
    let key: Vec<u8> = (1..=25).collect();
    let (below, above) = ([&key[..24], &[0]].concat(), [&key[..24], &[0xff]].concat());
    let data: Vec<u8> = (101..=125).collect();
    let wide = |part: &dyn Fn(u128, u128) -> Match, other: &[u8]| {
        Match::Wide(
            parts(&key).into_iter().zip(parts(other)).map(|(value, other)| part(value, other)).collect(),
        )
    };
    let mask = [vec![0xff; 24], vec![0xf8]].concat();
    let cases = [
        ("exact", wide(&|value, _| Match::Exact(value), &key), 0),
        ("ternary", wide(&|value, mask| Match::Ternary { value: value & mask, mask }, &mask), 1),
        (
            "range",
            Match::Wide(
                parts(&below)
                    .into_iter()
                    .zip(parts(&above))
                    .map(|(low, high)| Match::Range { low, high })
                    .collect(),
            ),
            1,
        ),
        (
            "lpm",
            Match::Wide(vec![
                Match::Lpm { value: parts(&key)[0], prefix: 72 },
                Match::Lpm { value: parts(&key)[1] >> 8 << 8, prefix: 120 },
            ]),
            0,
        ),
    ];
    let xored: Vec<u8> = data.iter().map(|byte| byte ^ 7).collect();
    for (kind, found, priority) in cases {
        for engine in [Engine::Interpreter, Engine::Native] {
            let mut pipeline = looked_up(kind).load_on(engine);
            let arguments = [vec![9], parts(&data)].concat();
            insert(&mut pipeline, "t", vec![found.clone()], priority, "hit", &arguments);
            let (table, register) = (table_id(&pipeline, "t"), pipeline.program().register("r").unwrap().id);
            let view = pipeline.table_entries(table).unwrap().next().unwrap().entry;
            assert_eq!(
                (&view.key.matches, &view.call.arguments),
                (&vec![found.clone()], &arguments),
                "{kind}"
            );
            let out = through(&mut pipeline, &[key.clone(), vec![7; 25]].concat());
            assert_eq!(out, [&data[1..5], &key, &xored].concat(), "{kind}");
            assert_eq!(pipeline.register_parts(register, 1), Ok(parts(&xored)), "{kind}");
            let other = [vec![2], key[1..].to_vec(), vec![7; 25]].concat();
            assert_eq!(through(&mut pipeline, &other), [vec![0; 4], other].concat(), "{kind}");
        }
    }
}

/// A union `u` of `u.a` (8 bits) and `u.b` (16), and a stack `s` of three such unions.
pub fn unions() -> P4 {
    let mut p4 = P4::new();
    let kinds = [p4.json["headers"].as_array().unwrap().len(), 0];
    let mut ids = Vec::new();
    for union in ["u", "s[0]", "s[1]", "s[2]"] {
        let a = p4.add_header(&format!("{union}.a"), json!([["v", 8]]), false);
        ids.push(json!([a, p4.add_header(&format!("{union}.b"), json!([["v", 16]]), false)]));
    }
    let union =
        |(id, headers)| json!({"name": format!("u{id}"), "id": id, "union_type": "U", "header_ids": headers});
    let mut made: Vec<Value> = ids.into_iter().enumerate().map(union).collect();
    made[0]["name"] = json!("u");
    p4.json["header_unions"] = json!(made);
    // The elements of a stack have one type.
    for element in 0..8 {
        let first = if element % 2 == 0 { "u.a" } else { "u.b" };
        p4.json["headers"][kinds[0] + element]["header_type"] = json!(first);
    }
    p4.json["header_union_types"] = json!([{"name": "U", "id": 0, "headers": [["a", "u.a"], ["b", "u.b"]]}]);
    p4.json["header_union_stacks"] =
        json!([{"name": "s", "id": 0, "union_type": "U", "size": 3, "header_union_ids": [1, 2, 3]}]);
    p4.emit(&["u.a", "u.b", "s[0].a", "s[0].b", "s[1].a", "s[1].b", "s[2].a", "s[2].b"]);
    p4
}

fn next_of(kind: &str) -> Value {
    json!({"op": "extract", "parameters": [{"type": "union_stack", "value": ["s", kind]}]})
}

fn element(index: u128, member: u32) -> Value {
    let union = op("dereference_union_stack", named("header_union_stack", "s"), hex(index));
    op("access_union_header", union, json!(member))
}

#[test]
fn one_header_of_a_union_is_valid() {
    let mut p4 = unions();
    start(&mut p4, json!([P4::extract("u.a"), next_of("a"), next_of("b")]));
    p4.run(INGRESS, vec![forward(2)]);
    assert_eq!(leaves(&p4, &[1, 2, 3, 4, 5]), [1, 2, 3, 4, 5]);
    p4.run(
        INGRESS,
        vec![
            primitive("add_header", json!([header("u.b")])),
            primitive("assign_header", json!([element(0, 1), element(1, 1)])),
        ],
    );
    assert_eq!(leaves(&p4, &[1, 2, 3, 4, 5]), [0, 0, 3, 4, 3, 4, 5]);
}

#[test]
fn unions_are_assigned_and_their_stacks_pushed_and_popped() {
    let mut p4 = unions();
    start(&mut p4, json!([P4::extract("u.a"), next_of("a"), next_of("b")]));
    let valid = |union| {
        let right = unary("valid_union", union);
        json!({"type": "expression", "value": {"op": "b2d", "left": null, "right": right}})
    };
    let third = op("dereference_union_stack", named("header_union_stack", "s"), hex(2));
    p4.run(
        INGRESS,
        vec![
            forward(2),
            primitive(
                "assign_union",
                json!([
                    named("header_union", "u"),
                    op("dereference_union_stack", named("header_union_stack", "s"), hex(1))
                ]),
            ),
            primitive("push", json!([named("header_union_stack", "s"), hex(1)])),
            primitive("add_header", json!([header("s[0].a")])),
            assign("s[0].a", "v", op("+", valid(third), valid(named("header_union", "u")))),
        ],
    );
    assert_eq!(leaves(&p4, &[1, 2, 3, 4, 5]), [3, 4, 2, 2, 3, 4, 5]);

    let mut p4 = unions();
    start(&mut p4, json!([next_of("b"), next_of("a")]));
    p4.run(INGRESS, vec![forward(2), primitive("pop", json!([named("header_union_stack", "s"), hex(1)]))]);
    assert_eq!(leaves(&p4, &[1, 2, 3, 4]), [3, 4]);
}

#[test]
fn actions_get_parameters_back_that_nothing_uses() {
    let mut p4 = table_program(json!([["exact", "h", "a"]]));
    let table = &mut p4.json["pipelines"][INGRESS]["tables"][0];
    table["default_entry"] = json!({"action_id": 0, "action_const": false, "action_data": ["0x1f4"]});
    table["entries"] = json!([{"priority": 1, "action_entry": {"action_id": 0, "action_data": ["0x5"]},
        "match_key": [{"match_type": "exact", "key": "0x9"}]}]);
    let mut program = Program::from_json(&p4.json.to_string()).unwrap();
    program.open_table("t", 64);
    program.restore_parameter("hit", "port", 9, 2);
    program.restore_parameter("hit", "gone", 12, 2);
    program.restore_parameter("hit", "one too many", 12, 2);
    let mut pipeline = Pipeline::new(Arc::new(program));
    insert(&mut pipeline, "t", vec![Match::Exact(7)], 0, "hit", &[3, 99]);
    assert_eq!(port(&mut pipeline, 7, 0, 0), 3);
    assert_eq!(port(&mut pipeline, 8, 0, 0), 500);
    assert_eq!(port(&mut pipeline, 9, 0, 0), 5);
    let id = table_id(&pipeline, "t");
    let counts = pipeline.table_entries(id).unwrap().map(|view| view.entry.call.arguments.len());
    assert_eq!(counts.collect::<Vec<_>>(), [2, 2]);
}
