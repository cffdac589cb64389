//! Programs made to take all memory or to break the data path are refused, each with the place.

use crate::common::*;
use crate::wide::unions;
use serde_json::{json, Value};

fn union_at(index: Value) -> Value {
    op("dereference_union_stack", named("header_union_stack", "s"), index)
}

/// A union `o` of headers of other types than `u`.
fn other_union(p4: &mut P4, members: usize) {
    let header = |p4: &mut P4, n| p4.add_header(&format!("o.{n}"), json!([["v", 1000]]), false);
    let ids: Vec<usize> = (0..members).map(|n| header(p4, n)).collect();
    p4.add("header_unions", json!({"name": "o", "id": 9, "union_type": "O", "header_ids": ids}));
}

fn assigned_from_another_type(p4: &mut P4, members: usize) {
    other_union(p4, members);
    let unions = json!([named("header_union", "u"), named("header_union", "o")]);
    p4.run(INGRESS, vec![primitive("assign_union", unions)]);
}

#[test]
fn hostile_programs_are_refused() {
    type Change = fn(&mut P4);
    let cases: &[(Change, &str)] = &[
        (
            |p4| {
                let nested = |index, _| unary("valid_union", union_at(index));
                p4.run(INGRESS, vec![assign("m", "x", (0..14).fold(hex(0), nested))]);
            },
            "an index this long in a stack of unions is not supported",
        ),
        (|p4| assigned_from_another_type(p4, 2), "the header unions have different types"),
        (|p4| assigned_from_another_type(p4, 1), "the header unions have different types"),
        (
            |p4| p4.json["header_unions"][0]["header_ids"] = json!([3, 3]),
            "header_unions[0].header_ids[1]: the header is in a union already",
        ),
        (
            |p4| {
                let members = p4.json["header_unions"][1]["header_ids"].clone();
                p4.add(
                    "header_unions",
                    json!({"name": "o", "id": 9, "union_type": "U", "header_ids": members}),
                );
            },
            "header_unions[4].header_ids[0]: the header is in a union already",
        ),
        (|p4| other_union(p4, 65), "header_unions[4]: a union of more than 64 headers is not supported"),
        (
            |p4| p4.json["header_unions"][2]["header_ids"].as_array_mut().unwrap().reverse(),
            "header_union_stacks[0]: the unions of a stack differ from their type",
        ),
        (
            |p4| {
                p4.add_header("long", json!([["a", 65528], ["b", 65528], ["c", 24]]), false);
            },
            "header_types[11]: a header of 16385 bytes (the most is 16384) is not supported",
        ),
        (
            |p4| {
                for n in 0..65 {
                    p4.add_header(&format!("n{n}"), json!([["a", 65528], ["b", 65528]]), n % 2 == 0);
                }
            },
            "a program whose fields take more than 1048576 bytes is not supported",
        ),
        (
            |p4| {
                p4.action("wide", &[("w", 16385)], vec![]);
            },
            "a width of 16385 bits (the most is 16384) is not supported",
        ),
    ];
    for (change, expected) in cases {
        let mut p4 = unions();
        change(&mut p4);
        let error = p4.load_error();
        assert!(error.ends_with(expected), "{error}, not {expected}");
    }
    assert_eq!(unions().load_error(), "no error");
}
