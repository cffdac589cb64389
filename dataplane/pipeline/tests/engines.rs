//! Both engines do the same with random programs: parsers, expressions, tables, primitives, deparsers.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use std::sync::Arc;

use common::twin::{writes, Twin};
use common::*;
use groupflow_pipeline::Program;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{json, Value};

/// Fields of all kinds: aligned and not, narrow and wide, signed, of metadata and of stacks.
const FIELDS: [(&str, &str, u32); 25] = [
    ("h", "a", 8),
    ("h", "b", 16),
    ("h", "c", 32),
    ("h", "d", 8),
    ("odd", "p", 3),
    ("odd", "q", 13),
    ("odd", "r", 48),
    ("odd", "t", 60),
    ("odd", "u", 4),
    ("odd", "y", 24),
    ("far", "v", 128),
    ("far", "w", 64),
    ("far", "x", 128),
    ("m", "x", 32),
    ("m", "wide", 128),
    ("m", "s", 8),
    ("m", "flag", 1),
    ("n", "a", 9),
    ("n", "b", 33),
    ("n", "c", 64),
    ("n", "s", 16),
    ("n", "t", 64),
    ("s[0]", "v", 7),
    ("s[1]", "v", 7),
    ("standard_metadata", "packet_length", 32),
];
const HEADERS: [&str; 6] = ["h", "odd", "far", "s[0]", "s[1]", "s[2]"];
const STANDARD: [(&str, u32); 4] =
    [("mcast_grp", 16), ("priority", 3), ("egress_spec", 9), ("egress_rid", 16)];

/// Everything that actions may use, and a parser that extracts all headers.
fn base(parser: u8) -> P4 {
    let mut p4 = P4::new();
    let odd = json!([["p", 3], ["q", 13], ["r", 48], ["t", 60], ["u", 4], ["y", 24]]);
    p4.add_header("odd", odd, false);
    p4.add_header("far", json!([["z", 4], ["v", 128], ["w", 64], ["x", 128], ["e", 4]]), false);
    let n = json!([["a", 9], ["b", 33], ["c", 64], ["s", 16, true], ["t", 64, true], ["pad", 6]]);
    p4.add_header("n", n, true);
    p4.add_stack("s", 3);
    p4.emit(&["h", "s[0]", "s[1]", "s[2]", "odd", "far"]);
    for (id, (name, size, width)) in [("r8", 4, 8), ("r64", 3, 64), ("r100", 3, 100)].into_iter().enumerate()
    {
        p4.add("register_arrays", json!({"name": name, "id": id, "size": size, "bitwidth": width}));
    }
    p4.add("counter_arrays", json!({"name": "count", "id": 0, "size": 5, "is_direct": false}));
    let meter =
        json!({"name": "meter", "id": 0, "is_direct": false, "size": 2, "rate_count": 2, "type": "bytes"});
    p4.add("meter_arrays", meter);
    let list = |id, fields: [Value; 2]| json!({"id": id, "name": "fl", "elements": fields});
    p4.add("field_lists", list(1, [field("m", "x"), field("n", "c")]));
    p4.add(
        "learn_lists",
        json!({"id": 1, "name": "learn", "elements": [field("h", "b"), field("far", "v")]}),
    );
    let odd = ["p", "q", "r", "u", "t"].map(|name| field("odd", name));
    let inputs = [
        ("sum", "csum16", json!(odd)),
        ("all", "csum16", json!([field("h", "a"), field("odd", "r"), {"type": "payload", "value": null}])),
        ("crc", "crc32", json!([field("h", "a"), field("far", "v"), {"type": "header", "value": "odd"}])),
    ];
    for (id, (name, algo, input)) in inputs.into_iter().enumerate() {
        p4.add("calculations", json!({"name": name, "id": id, "algo": algo, "input": input}));
    }
    let checksum = |id, calculation, target, verify: bool, condition: Value| {
        json!({"name": "c", "id": id, "type": "generic", "calculation": calculation, "target": target,
        "verify": verify, "update": !verify, "if_cond": condition})
    };
    p4.add("checksums", checksum(0, "sum", ["h", "b"], true, unary("valid", header("odd"))));
    p4.add("checksums", checksum(1, "sum", ["h", "b"], false, unary("valid", header("odd"))));
    p4.add("checksums", checksum(2, "all", ["odd", "y"], false, op("<", field("h", "a"), hex(3))));
    states(&mut p4, parser);
    p4
}

fn states(p4: &mut P4, parser: u8) {
    let stack = json!({"op": "extract", "parameters": [{"type": "stack", "value": "s"}]});
    let set = |name: &str, value: Value| json!({"op": "set", "parameters": [field("m", name), value]});
    let lookahead = json!({"type": "lookahead", "value": [0, 8]});
    let key = json!([field("h", "a")]);
    match parser % 4 {
        // Headers by the lowest bits of the first, the others in a chain.
        0 | 1 => {
            p4.state(
                "start",
                json!([P4::extract("h"), set("x", op("+", field("h", "b"), hex(1)))]),
                key,
                json!([
                    P4::on("0x01", Some("0x01"), Some("odd")),
                    P4::on("0x02", Some("0x06"), Some("far")),
                    P4::otherwise(None)
                ]),
            );
            let to_far = json!([P4::on("0x02", Some("0x02"), Some("far")), P4::otherwise(None)]);
            p4.state("odd", json!([P4::extract("odd")]), json!([field("odd", "u")]), to_far);
            p4.state("far", json!([P4::extract("far")]), json!([]), json!([P4::otherwise(None)]));
        }
        // A circle without header stack.
        2 => {
            let advance = json!({"op": "advance", "parameters": [hex(8)]});
            let verify = json!({"op": "verify", "parameters": [op("!=", field("h", "d"), hex(3)), hex(4)]});
            p4.state(
                "start",
                json!([P4::extract("h"), verify]),
                key,
                json!([P4::on("0x03", None, None), P4::otherwise(Some("skip"))]),
            );
            p4.state(
                "skip",
                json!([advance]),
                json!([lookahead]),
                json!([P4::on("0x01", Some("0x01"), Some("odd")), P4::otherwise(Some("skip"))]),
            );
            p4.state("odd", json!([P4::extract("odd")]), json!([]), json!([P4::otherwise(None)]));
        }
        // A stack: left to the interpreter.
        _ => {
            p4.state("start", json!([P4::extract("h")]), json!([]), json!([P4::otherwise(Some("next"))]));
            let last = json!([{"type": "stack_field", "value": ["s", "last"]}]);
            p4.state(
                "next",
                json!([stack]),
                last,
                json!([P4::on("0x00", None, Some("next")), P4::otherwise(None)]),
            );
        }
    }
}

fn a_field() -> impl Strategy<Value = (&'static str, &'static str, u32)> {
    select(FIELDS.to_vec())
}

/// An expression as p4c writes them, with what is cut to a width where that is needed.
fn expression() -> impl Strategy<Value = Value> {
    let constant = prop_oneof![0u128..5, any::<u128>(), any::<u32>().prop_map(u128::from)].prop_map(hex);
    let leaf = prop_oneof![
        4 => a_field().prop_map(|(header, name, _)| field(header, name)),
        1 => constant,
        1 => Just(param(0)),
        1 => select(HEADERS.to_vec()).prop_map(|name| unary("d2b", unary("valid", header(name)))),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let width = || select(vec![1u32, 7, 8, 16, 31, 32, 33, 48, 63, 64]);
        let two = (inner.clone(), inner.clone());
        let arithmetic = select(vec!["+", "-", "*", "&", "|", "^"]);
        let compared = select(vec!["==", "!=", "<", "<=", ">", ">="]);
        let cut = |value: Value, width: u32| op("&", value, hex((1 << width) - 1));
        prop_oneof![
            4 => (arithmetic, two.clone(), width()).prop_map(move |(name, (a, b), w)| cut(op(name, a, b), w)),
            3 => (compared, two.clone()).prop_map(|(name, (a, b))| unary("b2d", op(name, a, b))),
            1 => (select(vec!["and", "or"]), two.clone())
                .prop_map(|(name, (a, b))| unary("b2d", op(name, unary("d2b", a), unary("d2b", b)))),
            1 => inner.clone().prop_map(|a| unary("b2d", unary("not", unary("d2b", a)))),
            1 => (inner.clone(), width()).prop_map(move |(a, w)| cut(unary("~", a), w)),
            1 => (select(vec!["<<", ">>"]), inner.clone(), 0u128..70, width())
                .prop_map(move |(name, a, by, w)| cut(op(name, cut(a, w), hex(by)), w)),
            1 => (select(vec!["<<", ">>", "/", "%"]), two.clone(), width())
                .prop_map(move |(name, (a, b), w)| cut(op(name, cut(a, w), cut(b, 7)), w)),
            1 => (select(vec!["two_comp_mod", "sat_cast", "usat_cast"]), inner.clone(), width())
                .prop_map(|(name, a, w)| op(name, a, hex(u128::from(w)))),
            1 => (select(vec!["sat_cast", "usat_cast"]), select(vec!["+", "-"]), two.clone(), width())
                .prop_map(move |(name, sum, (a, b), w)| {
                    op(name, op(sum, cut(a, w), cut(b, w)), hex(u128::from(w)))
                }),
            1 => (inner.clone(), two).prop_map(|(c, (a, b))| json!({"type": "expression", "value":
                {"op": "?", "cond": unary("d2b", c), "left": a, "right": b}})),
        ]
    })
}

/// A small index, mostly within the arrays.
fn index() -> impl Strategy<Value = Value> {
    prop_oneof![(0u128..4).prop_map(hex), Just(op("&", field("h", "a"), hex(3))), Just(field("h", "d"))]
}

fn a_primitive() -> impl Strategy<Value = Value> {
    let e = expression;
    let target = || {
        prop_oneof![4 => a_field().prop_map(|(h, n, _)| field(h, n)),
        1 => select(STANDARD.to_vec()).prop_map(|(n, _)| field("standard_metadata", n))]
    };
    let register = || select(vec!["r8", "r64", "r100"]).prop_map(|name| named("register_array", name));
    let a_header = || select(HEADERS.to_vec()).prop_map(header);
    let common = prop_oneof![
        12 => (target(), e()).prop_map(|(to, value)| primitive("assign", json!([to, value]))),
        2 => (0u128..4).prop_map(forward),
        1 => (0u128..2).prop_map(|group| assign("standard_metadata", "mcast_grp", hex(group))),
        2 => a_header().prop_map(|h| primitive("add_header", json!([h]))),
        2 => a_header().prop_map(|h| primitive("remove_header", json!([h]))),
        3 => (target(), register(), index())
            .prop_map(|(to, r, i)| primitive("register_read", json!([to, r, i]))),
        3 => (register(), index(), e()).prop_map(|(r, i, v)| primitive("register_write", json!([r, i, v]))),
        2 => index().prop_map(|i| primitive("count", json!([named("counter_array", "count"), i]))),
        1 => Just(primitive("assign_header", json!([header("s[1]"), header("s[0]")]))),
        1 => (target(), select(vec!["sum", "all", "crc"]), e()).prop_map(|(to, calc, base)| primitive(
            "modify_field_with_hash_based_offset", json!([to, base, named("calculation", calc), hex(1000)]))),
    ];
    let jump = prop_oneof![
        2 => (e(), 0u128..8)
            .prop_map(|(c, to)| primitive("_jump_if_zero", json!([unary("d2b", c), hex(to)]))),
        1 => (0u128..8).prop_map(|to| primitive("_jump", json!([hex(to)]))),
    ];
    let rare = prop_oneof![
        Just(primitive("mark_to_drop", json!([header("standard_metadata")]))),
        Just(primitive("exit", json!([]))),
        (index(), target())
            .prop_map(|(i, to)| primitive("execute_meter", json!([named("meter_array", "meter"), i, to]))),
        (target(), 0u128..4)
            .prop_map(|(to, high)| primitive("modify_field_rng_uniform", json!([to, hex(1), hex(high)]))),
        (e(), 0u128..2).prop_map(|(e, _)| primitive("assert", json!([unary("d2b", e)]))),
        (20u128..60).prop_map(|length| primitive("truncate", json!([hex(length)]))),
        (1u128..3).prop_map(|count| primitive("push", json!([named("header_stack", "s"), hex(count)]))),
        (1u128..3).prop_map(|count| primitive("pop", json!([named("header_stack", "s"), hex(count)]))),
        Just(primitive("generate_digest", json!([hex(1), hex(1)]))),
        Just(primitive(
            "log_msg",
            json!([
                named("string", "a {} b {}"),
                {"type": "parameters_vector", "value": [field("h", "a"), field("m", "s")]}
            ])
        )),
    ];
    let round = prop_oneof![
        Just(primitive("resubmit", json!([hex(1)]))),
        Just(primitive("recirculate", json!([hex(1)]))),
        Just(primitive("clone_ingress_pkt_to_egress", json!([field("h", "a"), hex(1)]))),
        Just(primitive("clone_egress_pkt_to_egress", json!([hex(9), hex(1)]))),
    ];
    prop_oneof![20 => common, 2 => jump, 4 => rare, 1 => round]
}

fn primitives() -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(a_primitive(), 1..8)
}

/// A table: key, the primitives of its two actions, and whether it counts, branches, and has a selector.
type Table = (Vec<Value>, Vec<Value>, Vec<Value>, [bool; 3]);

fn a_table() -> impl Strategy<Value = Table> {
    let part = (select(vec!["exact", "exact", "exact", "lpm", "ternary", "range", "optional"]), a_field())
        .prop_map(|(kind, (header, name, _))| json!([kind, header, name]));
    let key = prop_oneof![3 => prop::collection::vec(part, 1..4), 1 => Just(vec![])];
    (key, primitives(), primitives(), any::<[bool; 3]>())
}

#[derive(Debug, Clone)]
enum Step {
    Run(Vec<Value>),
    Table(Table),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(
        prop_oneof![primitives().prop_map(Step::Run), a_table().prop_map(Step::Table)],
        0..4,
    )
}

/// Lets jumps go forward only: loops have a test of their own.
fn bounded(mut ops: Vec<Value>) -> Vec<Value> {
    let length = ops.len() as u128;
    for (from, op) in (0..).zip(&mut ops) {
        let at = match op["op"].as_str() {
            Some("_jump") => 0,
            Some("_jump_if_zero") => 1,
            _ => continue,
        };
        let to = op["parameters"][at]["value"].as_str().unwrap().trim_start_matches("0x").to_owned();
        let to = u128::from_str_radix(&to, 16).unwrap();
        op["parameters"][at] = hex(from + 1 + to % (length - from));
    }
    ops
}

fn build(parser: u8, controls: [Vec<Step>; 2]) -> P4 {
    let mut p4 = base(parser);
    p4.run(INGRESS, vec![forward(1)]);
    for (control, steps) in controls.into_iter().enumerate() {
        for (i, step) in steps.into_iter().enumerate() {
            let (key, first, second, [counted, branches, selects]) = match step {
                Step::Run(ops) => {
                    // Without an action's arguments.
                    let text = json!(bounded(ops)).to_string();
                    let text = text.replace(&param(0).to_string(), &field("m", "x").to_string());
                    p4.run(control, serde_json::from_str(&text).unwrap());
                    continue;
                }
                Step::Table(parts) => parts,
            };
            let params = [("p", 32), ("q", 9)];
            let names = [format!("one{control}{i}"), format!("two{control}{i}")];
            let actions = [
                p4.action(&names[0], &params, bounded(first)),
                p4.action(&names[1], &params, bounded(second)),
            ];
            let default =
                json!({"action_id": actions[1], "action_const": false, "action_data": ["0x2", "0x3"]});
            let table = p4.table(control, &format!("t{control}{i}"), json!(key), &actions, default);
            let kinds: Vec<&str> =
                table["key"].as_array().unwrap().iter().map(|k| k["match_type"].as_str().unwrap()).collect();
            let kind = ["range", "ternary", "optional", "lpm"].into_iter().find(|kind| kinds.contains(kind));
            let kind = kind.map_or("exact", |kind| if kind == "optional" { "ternary" } else { kind });
            table["match_type"] = json!(kind);
            table["with_counters"] = json!(counted);
            if branches {
                table["next_tables"] = json!({"__HIT__": null, "__MISS__": null});
            }
            if selects {
                let algo = ["csum16", "crc16", "crc32"][i % 3];
                let input = [field("h", "b"), field("n", "c")];
                table["selector"] = json!({"algo": algo, "input": input});
                table["type"] = json!("indirect_ws");
            }
        }
    }
    p4
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2_000, ..common::seeded(250) })]

    #[test]
    fn both_engines_do_the_same(
        parser: u8,
        ingress in steps(),
        egress in steps(),
        before in writes(12),
        packets in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 0..80), 0u16..4, 0u32..3, writes(3)), 1..8),
        cells: [u64; 4],
    ) {
        let p4 = build(parser, [ingress, egress]);
        // The loader refuses some expressions.
        let Ok(program) = Program::from_json(&p4.json.to_string()) else { return Ok(()) };
        let program = Arc::new(program);
        let mut twin = Twin::new(&program);
        prop_assert!(twin.is_native() || !cfg!(all(target_arch = "x86_64", unix)));
        for (register, value) in program.registers.iter().zip(cells) {
            twin.both(|p| p.register_set(register.id, 1, value));
            twin.both(|p| p.watch(register.id));
        }
        for write in &before {
            twin.write(write);
        }
        for (i, (mut bytes, port, tail, writes)) in packets.into_iter().enumerate() {
            // Small numbers first, so that keys match and indices are within.
            for (at, byte) in bytes.iter_mut().enumerate().filter(|(at, _)| at % 3 != 0) {
                *byte = if at < 24 { *byte % 5 } else { *byte };
            }
            twin.send(1_000 * i as u64, port, &bytes, tail);
            for write in &writes {
                twin.write(write);
            }
        }
        twin.compare_state();
    }
}

#[test]
fn loops_end_in_both_engines() {
    let mut p4 = base(0);
    let less = op("<", field("m", "x"), field("h", "c"));
    p4.run(
        INGRESS,
        vec![
            forward(1),
            assign("m", "x", op("&", op("+", field("m", "x"), hex(1)), hex(0xffff_ffff))),
            primitive("_jump_if_zero", json!([unary("b2d", less), hex(4)])),
            primitive("_jump", json!([hex(1)])),
            assign("h", "b", op("&", field("m", "x"), hex(0xffff))),
        ],
    );
    let mut twin = Twin::new(&Arc::new(Program::from_json(&p4.json.to_string()).unwrap()));
    twin.send(0, 1, &[0, 0, 0, 0, 0, 0, 20, 0], 0);
    twin.send(0, 1, &[0, 0, 0, 0xff, 0, 0, 0, 0], 0);
    twin.compare_state();
    assert_eq!(twin.both(|p| p.stats()).step_limit, 1);
}

/// Guards the property: if most random programs were refused, it would show nothing.
#[test]
fn most_random_programs_are_accepted() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::new(common::seeded(1));
    let accepted = (0..200).filter(|&i| {
        let ingress = steps().new_tree(&mut runner).unwrap().current();
        let json = build(i, [ingress, vec![]]).json.to_string();
        let loaded = Program::from_json(&json);
        if std::env::var("SHOW").is_ok() {
            if let Err(error) = &loaded {
                println!("{error}")
            }
        }
        loaded.is_ok()
    });
    assert!(accepted.count() > 100);
}
