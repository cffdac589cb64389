//! Lookup in tables: every match kind, priorities, the way after a table.

use crate::common::*;
use groupflow_base::Nanos;
use groupflow_pipeline::{ActionCall, Arrival, Engine, EntryKey, Match, Pipeline, Port, Step};
use proptest::prelude::*;
use serde_json::json;

#[test]
fn exact_keys_of_all_sizes() {
    let narrow = json!([["exact", "h", "a"], ["exact", "h", "b"]]);
    let wide = json!([["exact", "h", "a"], ["exact", "h", "b"], ["exact", "m", "wide"], ["exact", "h", "c"]]);
    for (key, more) in [(narrow, vec![]), (wide, vec![Match::Exact(0), Match::Exact(9)])] {
        let mut pipeline = table_program(key).load();
        let matches = |a, b| [vec![Match::Exact(a), Match::Exact(b)], more.clone()].concat();
        add_port(&mut pipeline, matches(1, 2), 0, 7);
        add_port(&mut pipeline, matches(2, 1), 0, 8);
        assert_eq!(
            [port(&mut pipeline, 1, 2, 9), port(&mut pipeline, 2, 1, 9), port(&mut pipeline, 1, 1, 9)],
            [7, 8, 500]
        );
        let t = table_id(&pipeline, "t");
        pipeline.table_delete(t, &EntryKey { matches: matches(1, 2), priority: 0 }).unwrap();
        assert_eq!(port(&mut pipeline, 1, 2, 9), 500);
        let changed = entry(&pipeline, "t", matches(2, 1), 0, "hit", &[9]);
        pipeline.table_modify(t, &changed.key, &changed.call).unwrap();
        assert_eq!(port(&mut pipeline, 2, 1, 9), 9);
    }
}

#[test]
fn what_follows_may_depend_on_the_selected_action() {
    let mut p4 = table_program(json!([["exact", "h", "a"]]));
    p4.json["pipelines"][INGRESS]["tables"][0]["selector"] =
        json!({"algo": "csum16", "input": [field("h", "b")]});
    p4.run(INGRESS, vec![forward(9)]);
    p4.json["pipelines"][INGRESS]["tables"][0]["next_tables"]["hit"] = json!(null);
    let mut pipeline = p4.load();
    let id = table_id(&pipeline, "t");
    let select = pipeline.program().table("t").unwrap().select.unwrap();
    let key = EntryKey { matches: vec![Match::Exact(1)], priority: 0 };
    pipeline.table_insert(id, &key, &ActionCall { action: select, arguments: vec![5] }).unwrap();
    for (action, arguments, out) in [("hit", &[7][..], 7), ("miss", &[], 9)] {
        let call = entry(&pipeline, "t", vec![Match::Exact(1)], 0, action, arguments).call;
        pipeline.set_group(id, 5, vec![(call, 1, None)]).unwrap();
        assert_eq!(port(&mut pipeline, 1, 2, 3), out, "{action}");
    }
    assert_eq!(port(&mut pipeline, 2, 2, 3), 9, "a miss");
}

#[test]
fn a_selector_chooses_one_of_a_groups_actions_by_its_hash() {
    let mut p4 = table_program(json!([["exact", "h", "a"]]));
    let selector = json!({"algo": "csum16", "input": [field("h", "b")]});
    let profile = json!({"name": "p", "id": 0, "max_size": 9, "selector": selector.clone()});
    p4.json["pipelines"][INGRESS]["action_profiles"] = json!([profile]);
    p4.json["pipelines"][INGRESS]["tables"][0]["action_profile"] = json!("p");
    p4.json["pipelines"][INGRESS]["tables"][0]["type"] = json!("indirect_ws");
    for engine in [Engine::Interpreter, Engine::Native] {
        let mut pipeline = p4.load_on(engine);
        let id = table_id(&pipeline, "t");
        let call = |to| entry(&pipeline, "t", vec![Match::Exact(1)], 0, "hit", &[to]).call;
        let calls = [7, 8, 9].map(|to| (call(to), 1, None)).to_vec();
        let one = vec![(call(4), 1, None), (call(5), 2, Some(Port(3)))];
        let many = vec![(call(7), u32::MAX, None); 1 << 10];
        let select = pipeline.program().table("t").unwrap().select.unwrap();
        let to_group = ActionCall { action: select, arguments: vec![5] };
        let key = EntryKey { matches: vec![Match::Exact(1)], priority: 0 };
        pipeline.table_insert(id, &key, &to_group).unwrap();
        assert_eq!(port(&mut pipeline, 1, 2, 9), 0, "an empty group does nothing");
        pipeline.set_group(id, 5, calls).unwrap();
        // The checksum of one word is its complement.
        for b in [0u16, 1, 2, 3, 1000] {
            assert_eq!(port(&mut pipeline, 1, b, 9), 7 + !b % 3, "{b}");
        }
        pipeline.port_is(Port(3), false);
        pipeline.set_group(id, 5, one).unwrap();
        assert_eq!([1, 2, 3].map(|b| port(&mut pipeline, 1, b, 9)), [4; 3]);
        let (_, steps) = pipeline.trace_ingress(Nanos(0), &Arrival::on(Port(1)), &[1, 0, 1, 0, 0, 0, 9, 0]);
        let chosen = steps.iter().filter_map(|step| match step {
            Step::Action(step) => Some((step.action.as_str(), step.arguments[0].1.as_str())),
            _ => None,
        });
        assert_eq!(chosen.collect::<Vec<_>>(), [("hit", "0x4")], "a trace shows the member");
        pipeline.port_is(Port(3), true);
        assert_eq!([1, 2, 3].map(|b| port(&mut pipeline, 1, b, 9)), [5, 5, 4]);
        assert!(pipeline.set_group(id, 6, vec![(to_group, 1, None)]).is_err(), "no group in a group");
        for handle in 6..6 + (1 << 10) - 1 {
            pipeline.set_group(id, handle, many.clone()).unwrap();
        }
        let full = pipeline.set_group(id, 1 << 20, many.clone()).unwrap_err();
        assert!(full.to_string().contains("1048576 actions"), "{full}");
        pipeline.set_group(id, 6, Vec::new()).unwrap();
        pipeline.set_group(id, 1 << 20, many).unwrap();
        assert_eq!([1, 2, 3].map(|b| port(&mut pipeline, 1, b, 9)), [5, 5, 4], "the first is as it was");
        // The second engine runs the JSON of 2016, where the table holds the selector.
        let table = &mut p4.json["pipelines"][INGRESS]["tables"][0];
        (table["action_profile"], table["selector"]) = (json!(null), selector.clone());
    }
}

#[test]
fn a_key_may_be_of_an_element_that_a_variable_chooses() {
    let mut p4 = table_program(json!([["exact", "h", "a"]]));
    p4.add_stack("s", 2);
    let extract = json!({"op": "extract", "parameters": [{"type": "stack", "value": "s"}]});
    p4.state("start", json!([extract, extract]), json!([]), json!([P4::otherwise(None)]));
    let element = op("dereference_header_stack", named("header_stack", "s"), field("s[0]", "v"));
    let target = &mut p4.json["pipelines"][INGRESS]["tables"][0]["key"][0]["target"];
    *target = op("access_field", element, json!(1));
    for engine in [Engine::Interpreter, Engine::Native] {
        let mut pipeline = p4.load_on(engine);
        assert_eq!(pipeline.engine(), engine);
        add_port(&mut pipeline, vec![Match::Exact(5)], 0, 3);
        add_port(&mut pipeline, vec![Match::Exact(0)], 0, 4);
        // Past the end there is 0.
        for (index, value, out) in [(1, 5, 3), (1, 6, 500), (0, 5, 4), (2, 5, 4)] {
            assert_eq!(port(&mut pipeline, index, value << 8, 0), out, "{engine:?} {index} {value}");
        }
    }
}

#[test]
fn priorities_decide_among_ternary_and_range_entries() {
    let mut pipeline =
        table_program(json!([["ternary", "h", "a"], ["range", "h", "b"], ["lpm", "h", "c"]])).load();
    let any_c = || Match::Lpm { value: 0, prefix: 0 };
    let all_b = || Match::Range { low: 0, high: 0xffff };
    add_port(&mut pipeline, vec![Match::Ternary { value: 0, mask: 0 }, all_b(), any_c()], 1, 1);
    add_port(&mut pipeline, vec![Match::Ternary { value: 0x10, mask: 0xf0 }, all_b(), any_c()], 5, 2);
    add_port(
        &mut pipeline,
        vec![Match::Ternary { value: 0x11, mask: 0xff }, Match::Range { low: 10, high: 20 }, any_c()],
        9,
        3,
    );
    add_port(
        &mut pipeline,
        vec![Match::Optional(Some(0x20)), all_b(), Match::Lpm { value: 0x0a00_0000, prefix: 8 }],
        5,
        4,
    );
    let expected = [
        (0x33, 0, 0, 1),
        (0x12, 0, 0, 2),
        (0x11, 9, 0, 2),
        (0x11, 10, 0, 3),
        (0x11, 20, 0, 3),
        (0x11, 21, 0, 2),
        (0x20, 0, 0x0aff_ffff, 4),
        (0x20, 0, 0x0b00_0000, 1),
    ];
    for (a, b, c, to) in expected {
        assert_eq!(port(&mut pipeline, a, b, c), to, "{a:#x} {b} {c:#x}");
    }
    // Optional entries of a ternary field are read back, and found, as ternary.
    let key = vec![
        Match::Ternary { value: 0x20, mask: 0xff },
        all_b(),
        Match::Lpm { value: 0x0a00_0000, prefix: 8 },
    ];
    let t = table_id(&pipeline, "t");
    assert!(pipeline.table_get(t, &EntryKey { matches: key, priority: 5 }).is_ok());
}

#[test]
fn equal_priorities_keep_the_order_of_insertion() {
    let mut pipeline = table_program(json!([["optional", "h", "a"]])).load();
    add_port(&mut pipeline, vec![Match::Optional(Some(1))], 3, 1);
    add_port(&mut pipeline, vec![Match::Optional(None)], 3, 2);
    assert_eq!([port(&mut pipeline, 1, 0, 0), port(&mut pipeline, 2, 0, 0)], [1, 2]);
}

#[test]
fn fields_of_invalid_headers_count_as_zero() {
    let mut p4 = table_program(json!([["exact", "h", "a"], ["exact", "h", "$valid$"]]));
    p4.state("start", json!([]), json!([]), json!([P4::otherwise(None)]));
    let mut pipeline = p4.load();
    add_port(&mut pipeline, vec![Match::Exact(0), Match::Exact(0)], 0, 3);
    assert_eq!(port(&mut pipeline, 7, 0, 0), 3);
}

#[test]
fn a_static_mask_applies_before_the_match() {
    let mut p4 = table_program(json!([["exact", "h", "a"]]));
    p4.json["pipelines"][0]["tables"][0]["key"][0]["mask"] = json!("0xf0");
    let mut pipeline = p4.load();
    add_port(&mut pipeline, vec![Match::Exact(0x30)], 0, 3);
    assert_eq!([port(&mut pipeline, 0x3f, 0, 0), port(&mut pipeline, 0x4f, 0, 0)], [3, 500]);
}

#[test]
fn hit_and_miss_choose_the_way() {
    let mut p4 = table_program(json!([["exact", "h", "a"]]));
    p4.run(INGRESS, vec![forward(77)]);
    let second = p4.json["pipelines"][0]["tables"][1]["name"].clone();
    p4.json["pipelines"][0]["tables"][0]["next_tables"] = json!({"__HIT__": null, "__MISS__": second});
    p4.json["pipelines"][0]["tables"][0]["base_default_next"] = json!(null);
    let mut pipeline = p4.load();
    add_port(&mut pipeline, vec![Match::Exact(1)], 0, 3);
    assert_eq!([port(&mut pipeline, 1, 0, 0), port(&mut pipeline, 2, 0, 0)], [3, 77]);
}

/// A prefix within `c`, of which the first bits are few so that prefixes nest.
fn prefix() -> impl Strategy<Value = (u32, u8)> {
    (any::<u32>(), 0u8..=32).prop_map(|(bits, length)| {
        let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
        (bits & 0xc0c0_0303 & mask, length)
    })
}

proptest! {
    #![proptest_config(seeded(64))]

    #[test]
    fn longest_prefix_agrees_with_a_scan(
        prefixes in prop::collection::vec(prefix(), 1..40),
        removed in prop::collection::vec(any::<bool>(), 40),
        probes in prop::collection::vec(any::<u32>(), 40),
    ) {
        let mut pipeline = table_program(json!([["lpm", "h", "c"]])).load();
        let t = table_id(&pipeline, "t");
        let mut kept: Vec<(u32, u8, u16)> = Vec::new();
        for (i, &(value, length)) in prefixes.iter().enumerate() {
            if !kept.iter().any(|k| (k.0, k.1) == (value, length)) {
                let key = Match::Lpm { value: value.into(), prefix: length };
                add_port(&mut pipeline, vec![key], 0, i as u128);
                kept.push((value, length, i as u16));
            }
        }
        let probes: Vec<u32> = probes.into_iter().map(|p| p & 0xc0c0_0303).collect();
        let check = |pipeline: &mut Pipeline, kept: &[(u32, u8, u16)]| {
            // Twice, since the second lookup may be answered from memory.
            for &probe in probes.iter().flat_map(|probe| [probe, probe]) {
                let mask = |length: u8| u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                let best = kept.iter().filter(|k| probe & mask(k.1) == k.0).max_by_key(|k| k.1);
                assert_eq!(port(pipeline, 0, 0, probe), best.map_or(500, |k| k.2));
            }
        };
        check(&mut pipeline, &kept);
        let mut removed = removed.into_iter();
        kept.retain(|&(value, prefix, _)| {
            let keep = !removed.next().unwrap_or(false);
            if !keep {
                let matches = vec![Match::Lpm { value: value.into(), prefix }];
                pipeline.table_delete(t, &EntryKey { matches, priority: 0 }).unwrap();
            }
            keep
        });
        check(&mut pipeline, &kept);
    }

    #[test]
    fn the_highest_priority_agrees_with_a_scan(
        steps in prop::collection::vec((0..4usize, any::<u8>(), 0..4u16, 0..3u16, 1..4u32), 1..60),
        probes in prop::collection::vec((any::<u8>(), 0..6u16), 20),
    ) {
        let mut pipeline = table_program(json!([["ternary", "h", "a"], ["range", "h", "b"]])).load();
        let t = table_id(&pipeline, "t");
        let mut kept: Vec<(EntryKey, [u16; 4], u32, u16)> = Vec::new();
        for (i, &(mask, value, low, span, priority)) in steps.iter().enumerate() {
            let mask = [0, 0xff, 0xc0, 0x3][mask];
            let (value, high) = (u16::from(value) & mask, low + span);
            let a = Match::Ternary { value: value.into(), mask: mask.into() };
            let key = EntryKey { matches: vec![a, Match::Range { low: low.into(), high: high.into() }], priority };
            match kept.iter().position(|entry| entry.0 == key) {
                // An entry that is there already is removed, so that its place is used again.
                Some(place) => {
                    pipeline.table_delete(t, &key).unwrap();
                    kept.remove(place);
                }
                None => {
                    add_port(&mut pipeline, key.matches.clone(), priority, i as u128);
                    kept.push((key, [value, mask, low, high], priority, i as u16));
                }
            }
            for &(a, b) in &probes {
                let matches = |[value, mask, low, high]: [u16; 4]| {
                    u16::from(a) & mask == value && (low..=high).contains(&b)
                };
                // Of equal priority, the one that came first.
                let best = kept.iter().rev().filter(|entry| matches(entry.1)).max_by_key(|entry| entry.2);
                assert_eq!(port(&mut pipeline, a, b, 0), best.map_or(500, |entry| entry.3));
            }
        }
        let read = pipeline.table_entries(t).unwrap().map(|view| view.entry.key).collect::<Vec<_>>();
        assert!(read.len() == kept.len() && kept.iter().all(|entry| read.contains(&entry.0)));
    }
}
