//! The parser and the deparser.

use crate::common::*;
use groupflow_base::Nanos;
use groupflow_pipeline::Arrival;
use groupflow_pipeline::Port;
use serde_json::{json, Value};

const FRAME: [u8; 10] = [1, 0x22, 0x33, 4, 5, 6, 7, 8, 0xaa, 0xbb];

/// A program that tells the parser's error in `h.d` of whatever it could parse, and forwards everything.
fn telling() -> P4 {
    let mut p4 = P4::new();
    p4.add_header("out", json!([["error", 8], ["x", 32]]), false);
    p4.emit(&["out", "h"]);
    p4.run(
        INGRESS,
        vec![
            forward(2),
            primitive("add_header", json!([header("out")])),
            assign("out", "error", field("standard_metadata", "parser_error")),
            assign("out", "x", field("m", "x")),
        ],
    );
    p4
}

/// Error, `m.x` and the rest of the frame.
fn parse(p4: &P4, bytes: &[u8]) -> (u8, u32, Vec<u8>) {
    let frame = through(&mut p4.load(), bytes);
    (frame[0], u32::from_be_bytes(frame[1..5].try_into().unwrap()), frame[5..].to_vec())
}

fn x_becomes(value: Value) -> Value {
    json!({"op": "set", "parameters": [field("m", "x"), value]})
}

#[test]
fn a_frame_comes_out_as_it_went_in() {
    let (error, _, frame) = parse(&telling(), &FRAME);
    assert_eq!((error, frame.as_slice()), (0, &FRAME[..]));
}

#[test]
fn a_short_packet_keeps_what_was_not_parsed() {
    for length in 0..8 {
        let (error, _, frame) = parse(&telling(), &FRAME[..length]);
        assert_eq!((error, frame.as_slice()), (1, &FRAME[..length]), "{length} bytes");
    }
    let mut pipeline = telling().load();
    pipeline.ingress(Nanos(0), Arrival::on(Port(1)), &[]);
    assert_eq!(pipeline.stats().parser_errors, 1);
}

#[test]
fn transitions_take_the_first_case_that_matches() {
    let key = json!([{"type": "field", "value": ["h", "b"]}, {"type": "field", "value": ["h", "a"]}]);
    let mut p4 = telling();
    let cases = json!([
        P4::on("0x223301", None, Some("exact")),
        P4::on("0x220000", Some("0xff0000"), Some("masked")),
        P4::on("0x000002", Some("0x0000ff"), Some("exact")),
        P4::otherwise(None),
    ]);
    p4.state("start", json!([P4::extract("h")]), key, cases);
    p4.state("exact", json!([x_becomes(hex(10))]), json!([]), json!([P4::otherwise(None)]));
    p4.state("masked", json!([x_becomes(hex(20))]), json!([]), json!([P4::otherwise(None)]));
    for (start, x) in [([1, 0x22, 0x33], 10), ([1, 0x22, 0x34], 20), ([2, 0, 0], 10), ([3, 0, 0], 0)] {
        let mut frame = FRAME;
        frame[..3].copy_from_slice(&start);
        assert_eq!(parse(&p4, &frame).1, x, "{start:?}");
    }
}

#[test]
fn lookahead_does_not_consume() {
    let mut p4 = telling();
    let lookahead = |offset: u32, width: u32| json!({"type": "lookahead", "value": [offset, width]});
    p4.state(
        "start",
        json!([x_becomes(lookahead(4, 12))]),
        json!([lookahead(0, 8)]),
        json!([P4::on("0x01", None, Some("next")), P4::otherwise(None)]),
    );
    p4.state("next", json!([P4::extract("h")]), json!([]), json!([P4::otherwise(None)]));
    assert_eq!(parse(&p4, &FRAME), (0, 0x122, FRAME.to_vec()));
    assert_eq!(parse(&p4, &FRAME[..1]).0, 1, "too short for the lookahead of an operation");
    assert_eq!(parse(&p4, &[]).0, 1);
}

#[test]
fn advance_skips_whole_bytes_of_the_packet() {
    for (bits, error, left) in [(16, 0, 8), (80, 0, 0), (88, 1, 10), (4, 6, 10)] {
        let mut p4 = telling();
        p4.state(
            "start",
            json!([{"op": "advance", "parameters": [hex(bits)]}]),
            json!([]),
            json!([P4::otherwise(None)]),
        );
        let (got, _, rest) = parse(&p4, &FRAME);
        assert_eq!((got, rest.len()), (error, left), "{bits} bits");
    }
}

#[test]
fn verify_raises_the_programs_error() {
    let mut p4 = telling();
    let condition = op("==", field("h", "a"), hex(1));
    let verify = json!({"op": "verify", "parameters": [condition, hex(9)]});
    p4.state(
        "start",
        json!([P4::extract("h"), verify, x_becomes(hex(1))]),
        json!([]),
        json!([P4::otherwise(None)]),
    );
    assert_eq!(parse(&p4, &FRAME), (0, 1, FRAME.to_vec()));
    let mut wrong = FRAME;
    wrong[0] = 2;
    assert_eq!(parse(&p4, &wrong), (9, 0, wrong.to_vec()));
}

#[test]
fn stacks_are_filled_in_order_and_never_overrun() {
    let mut p4 = telling();
    p4.add_stack("s", 3);
    p4.emit(&["out", "s[0]", "s[1]", "s[2]"]);
    let extract = json!({"op": "extract", "parameters": [{"type": "stack", "value": "s"}]});
    let last = |name: &str| json!({"type": "stack_field", "value": ["s", name]});
    p4.state(
        "start",
        json!([extract, x_becomes(last("v"))]),
        json!([last("last")]),
        json!([P4::on("0x00", None, Some("start")), P4::otherwise(None)]),
    );
    assert_eq!(parse(&p4, &[1, 2, 0x83, 9]), (0, 3, vec![1, 2, 0x83, 9]));
    assert_eq!(parse(&p4, &[1, 2, 3, 4, 0x85]), (3, 3, vec![1, 2, 3, 4, 0x85]));
    p4.run(
        INGRESS,
        vec![
            primitive("push", json!([named("header_stack", "s"), hex(1)])),
            primitive("add_header", json!([header("s[0]")])),
            assign("s[0]", "v", hex(0x7f)),
        ],
    );
    assert_eq!(parse(&p4, &[1, 0x82, 9]).2, [0x7f, 1, 0x82, 9]);
}

#[test]
fn stack_elements_by_computed_index() {
    let mut p4 = telling();
    p4.add_stack("s", 3);
    p4.emit(&["s[0]", "s[1]", "s[2]"]);
    let extract = || json!({"op": "extract", "parameters": [{"type": "stack", "value": "s"}]});
    p4.state("start", json!([extract(), extract(), extract()]), json!([]), json!([P4::otherwise(None)]));
    let element = || {
        json!({"type": "expression", "value": {"op": "dereference_header_stack",
        "left": named("header_stack", "s"), "right": field("s[0]", "v")}})
    };
    let target =
        json!({"type": "expression", "value": {"op": "access_field", "left": element(), "right": 1}});
    let value = op("&", op("+", target.clone(), hex(0x10)), hex(0x7f));
    p4.run(INGRESS, vec![primitive("assign", json!([target, value]))]);
    assert_eq!(through(&mut p4.load(), &[2, 5, 6]), [2, 5, 0x16]);
    assert_eq!(through(&mut p4.load(), &[3, 5, 6]), [3, 5, 6], "past the end nothing is written");
}

/// p4c's two other ways to name an element: the last one as a field, and an element's validity as one.
#[test]
fn stack_elements_that_are_given_as_fields() {
    let mut p4 = telling();
    p4.add_stack("s", 3);
    p4.add_header("last", json!([["v", 8]]), false);
    p4.json["headers"].as_array_mut().unwrap().last_mut().unwrap()["header_type"] = json!("s_t");
    p4.emit(&["out", "s[0]", "s[1]", "last"]);
    let extract = || json!({"op": "extract", "parameters": [{"type": "stack", "value": "s"}]});
    let last = json!({"type": "expression", "value": {"type": "stack_field", "value": ["s", "last"]}});
    let copy =
        json!({"op": "primitive", "parameters": [primitive("assign_header", json!([header("last"), last]))]});
    p4.state("start", json!([extract(), extract(), copy]), json!([]), json!([P4::otherwise(None)]));
    let element = json!({"op": "dereference_header_stack",
        "left": named("header_stack", "s"), "right": field("s[0]", "v")});
    let valid = json!({"type": "field", "value": [element, "$valid$"]});
    let add = primitive("add_header", json!([header("out")]));
    p4.run(INGRESS, vec![add, assign("out", "x", unary("b2d", valid))]);
    for (index, valid) in [(0, 1), (1, 1), (2, 0), (9, 0)] {
        assert_eq!(through(&mut p4.load(), &[index, 6])[4..], [valid, index, 6, 6], "{index}");
    }
}

#[test]
fn parsers_that_loop_are_stopped() {
    let mut p4 = telling();
    p4.state("start", json!([]), json!([]), json!([P4::otherwise(Some("start"))]));
    assert_eq!(parse(&p4, &FRAME).0, 5);
}

#[test]
fn a_value_set_matches_its_members() {
    let mut p4 = telling();
    p4.add("parse_vsets", json!({"name": "set", "id": 0, "compressed_bitwidth": 24, "max_size": 2}));
    let key = json!([{"type": "field", "value": ["h", "b"]}, {"type": "field", "value": ["h", "a"]}]);
    let member = json!({"type": "parse_vset", "value": "set", "mask": null, "next_state": "next"});
    p4.state("start", json!([P4::extract("h")]), key, json!([member, P4::otherwise(None)]));
    p4.state("next", json!([x_becomes(hex(1))]), json!([]), json!([P4::otherwise(None)]));
    let mut pipeline = p4.load();
    let set = pipeline.program().value_sets[0].clone();
    assert_eq!((set.name.as_str(), set.widths.as_slice()), ("set", [16, 8].as_slice()));
    assert_eq!(through(&mut pipeline, &FRAME)[4], 0, "it has none");
    let (exact, masked) = (vec![(0x2233, 0xffff), (9, 0xff)], vec![(0x2200, 0xff00), (1, 1)]);
    pipeline.value_set_write(set.id, vec![exact.clone()]).unwrap();
    assert_eq!(through(&mut pipeline, &FRAME)[4], 0, "another one");
    pipeline.value_set_write(set.id, vec![exact.clone(), masked]).unwrap();
    assert_eq!(through(&mut pipeline, &FRAME)[4], 1);
    let full = pipeline.value_set_write(set.id, vec![exact; 3]).unwrap_err();
    assert_eq!(full.to_string(), "value set set: more than 2 members");
    p4.json["parse_vsets"][0]["name"] = json!("other");
    let error = p4.load_error();
    assert_eq!(error, "parsers[0].parse_states[0].transitions[0].value: no value set \"set\"");
}

/// Compilers before 2018 assign a header so.
#[test]
fn an_assignment_to_its_validity_makes_a_header_valid() {
    let mut p4 = P4::new();
    p4.add_header("x", json!([["v", 8]]), false);
    let set = |name: &str, value| json!({"op": "set", "parameters": [field("x", name), hex(value)]});
    p4.state("start", json!([set("$valid$", 1), set("v", 5)]), json!([]), json!([P4::otherwise(None)]));
    p4.emit(&["x"]);
    p4.run(INGRESS, vec![forward(2)]);
    for mut pipeline in p4.engines() {
        assert_eq!(through(&mut pipeline, &[1, 2, 3]), [5, 1, 2, 3]);
    }
}
