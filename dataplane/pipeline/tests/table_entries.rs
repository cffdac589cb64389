//! Entries of tables: declared ones, defaults, direct counters and meters, errors.

use crate::common::*;
use groupflow_base::Nanos;
use groupflow_pipeline::{
    ActionCall, Arrival, CounterValue, Entry, EntryKey, EntryResources, Match, MeterConfig, Pipeline, Port,
    TableError, Verdict,
};
use serde_json::json;

#[test]
fn declared_entries_and_defaults() {
    let mut p4 = table_program(json!([["ternary", "h", "a"]]));
    let declared = |key: &str, mask: &str, port: &str, priority: u32| {
        json!({"match_key": [{"match_type": "ternary", "key": key, "mask": mask}],
            "action_entry": {"action_id": 0, "action_data": [port]}, "priority": priority})
    };
    let table = &mut p4.json["pipelines"][0]["tables"][0];
    table["entries"] = json!([declared("0x01", "0xff", "0x7", 1), declared("0x00", "0x00", "0x8", 2)]);
    table["default_entry"]["action_const"] = json!(true);
    let mut pipeline = p4.load();
    let t = table_id(&pipeline, "t");
    assert_eq!([port(&mut pipeline, 1, 0, 0), port(&mut pipeline, 2, 0, 0)], [7, 8]);
    let read: Vec<_> =
        pipeline.table_entries(t).unwrap().map(|e| (e.is_const, e.entry.key.priority)).collect();
    assert_eq!(read, [(true, 2), (true, 1)], "the lowest number wins in BMv2, the highest here");
    let new = entry(&pipeline, "t", vec![Match::Ternary { value: 5, mask: 255 }], 1, "hit", &[1]);
    let constant = TableError::ConstEntries;
    assert_eq!(pipeline.table_insert(t, &new.key, &new.call), Err(constant.clone()));
    assert_eq!(pipeline.table_modify(t, &new.key, &new.call), Err(constant.clone()));
    assert_eq!(pipeline.table_delete(t, &new.key), Err(constant));
    assert_eq!(pipeline.table_set_default(t, None), Err(TableError::ConstDefault));
}

#[test]
fn the_default_entry_can_be_set_and_reset() {
    let mut pipeline = table_program(json!([["exact", "h", "a"]])).load();
    let t = table_id(&pipeline, "t");
    let action = pipeline.program().table_action(t, "hit").unwrap().id;
    pipeline.table_set_default(t, Some(ActionCall { action, arguments: vec![33] })).unwrap();
    assert_eq!(port(&mut pipeline, 1, 0, 0), 33);
    assert_eq!(pipeline.table_default(t).unwrap().unwrap().arguments, [33]);
    pipeline.table_set_default(t, None).unwrap();
    assert_eq!(port(&mut pipeline, 1, 0, 0), 500);
}

#[test]
fn direct_counters_and_meters() {
    let mut p4 = table_program(json!([["exact", "h", "a"]]));
    p4.add(
        "meter_arrays",
        json!({"name": "dm", "id": 0, "is_direct": true, "rate_count": 2, "type": "packets",
        "size": 64, "binding": "t", "result_target": ["h", "d"]}),
    );
    p4.json["pipelines"][0]["tables"][0]["with_counters"] = json!(true);
    p4.json["pipelines"][0]["tables"][0]["direct_meters"] = json!("dm");
    p4.engines().into_iter().for_each(use_direct_resources);
}

fn use_direct_resources(mut pipeline: Pipeline) {
    let t = table_id(&pipeline, "t");
    add_port(&mut pipeline, vec![Match::Exact(1)], 0, 3);
    let key = EntryKey { matches: vec![Match::Exact(1)], priority: 0 };
    let rates = MeterConfig { cir: 1, cburst: 1, pir: 1, pburst: 2, ..MeterConfig::default() };
    pipeline.direct_meter_write(t, Some(&key), Some(rates)).unwrap();
    pipeline.direct_counter_write(t, Some(&key), CounterValue { packets: 10, bytes: 100 }).unwrap();
    let colours: Vec<u8> = (0..3).map(|_| through(&mut pipeline, &[1, 0, 0, 0, 0, 0, 0, 9])[7]).collect();
    assert_eq!(colours, [0, 1, 2]);
    port(&mut pipeline, 2, 0, 0);
    let read = pipeline.table_get(t, &key).unwrap().resources;
    assert_eq!(read.counter, Some(CounterValue { packets: 13, bytes: 124 }));
    assert_eq!((read.meter, read.colours.map(|count| count.packets)), (Some(rates), [1, 1, 1]));
    let wrong = pipeline.direct_meter_write(t, Some(&key), Some(MeterConfig { cir: 2, pir: 1, ..rates }));
    assert_eq!(wrong.unwrap_err().to_string(), "the peak rate is below the committed rate");
    // The default entry counts, too, and colours once it has a meter.
    let EntryResources { counter, meter, colours } = pipeline.default_resources(t).unwrap();
    assert_eq!((counter.unwrap().packets, meter, colours), (1, None, [CounterValue::default(); 3]));
    let miss = |pipeline: &mut _| through(pipeline, &[2, 0, 0, 0, 0, 0, 0, 9])[7];
    assert_eq!(miss(&mut pipeline), 9, "a miss without a meter leaves the field alone");
    pipeline.direct_meter_write(t, None, Some(rates)).unwrap();
    assert_eq!([miss(&mut pipeline), miss(&mut pipeline), miss(&mut pipeline)], [0, 1, 2]);
    pipeline.direct_counter_write(t, None, CounterValue { packets: 5, bytes: 6 }).unwrap();
    miss(&mut pipeline);
    let EntryResources { counter, meter, colours } = pipeline.default_resources(t).unwrap();
    assert_eq!((counter.unwrap().packets, meter), (6, Some(rates)));
    assert_eq!(colours.map(|count| count.packets), [1, 1, 2]);
    pipeline.direct_meter_count(t, None, Default::default()).unwrap();
    assert_eq!(pipeline.default_resources(t).unwrap().colours, [CounterValue::default(); 3]);
}

#[test]
fn the_time_of_an_entrys_last_packet_is_kept_where_the_program_asks_for_it() {
    for timed in [false, true] {
        let mut p4 = table_program(json!([["exact", "h", "a"]]));
        p4.json["pipelines"][0]["tables"][0]["support_timeout"] = json!(timed);
        p4.engines().into_iter().for_each(|pipeline| use_times(pipeline, timed));
    }
}

fn use_times(mut pipeline: Pipeline, timed: bool) {
    let t = table_id(&pipeline, "t");
    add_port(&mut pipeline, vec![Match::Exact(1)], 0, 3);
    let key = EntryKey { matches: vec![Match::Exact(1)], priority: 0 };
    let hit = |pipeline: &Pipeline| pipeline.table_get(t, &key).unwrap().hit;
    assert_eq!(hit(&pipeline), Nanos::ZERO);
    for (time, a) in [(40, 1), (50, 2)] {
        pipeline.ingress(Nanos(time), Arrival::on(Port(1)), &[a, 0, 0, 0, 0, 0, 0, 0]);
    }
    assert_eq!(hit(&pipeline), if timed { Nanos(40) } else { Nanos::ZERO });
    if timed {
        pipeline.table_touch(t, &key, Nanos(60)).unwrap();
        assert_eq!(hit(&pipeline), Nanos(60));
    }
}

#[test]
fn wrong_entries_are_refused() {
    let mut p4 = table_program(json!([["exact", "h", "a"], ["lpm", "h", "c"]]));
    p4.json["pipelines"][0]["tables"][0]["max_size"] = json!(1);
    let miss = json!({"action_id": 1, "action_const": true, "action_data": []});
    p4.table(INGRESS, "keyless", json!([]), &[1], miss);
    let mut pipeline = p4.load();
    let t = table_id(&pipeline, "t");
    let exact = Match::Exact(1);
    let lpm = |value, prefix| Match::Lpm { value, prefix };
    let good = entry(&pipeline, "t", vec![exact.clone(), lpm(0x0a00_0000, 8)], 0, "hit", &[3]);
    let matches = |matches| Entry { key: EntryKey { matches, priority: 0 }, ..good.clone() };
    let arguments = |arguments| Entry { call: ActionCall { arguments, ..good.call.clone() }, ..good.clone() };
    let mut with_priority = good.clone();
    with_priority.key.priority = 1;
    let cases = [
        (matches(vec![exact.clone()]), "key fields: the table has 2, the entry 1"),
        (matches(vec![Match::Exact(256), lpm(0, 0)]), "key field h.a: the value does not fit the field"),
        (matches(vec![lpm(0, 0), lpm(0, 0)]), "key field h.a: an exact match is expected"),
        (matches(vec![exact.clone(), lpm(0, 33)]), "key field h.c: the prefix is longer than the field"),
        (matches(vec![exact.clone(), lpm(1, 8)]), "key field h.c: the value has bits outside its prefix"),
        (with_priority, "entries have no priority"),
        (arguments(vec![512]), "action hit, parameter port: the value does not fit the parameter"),
        (arguments(vec![]), "action hit, parameter port: missing"),
        (arguments(vec![1, 2]), "action hit, parameter 1: there is no such parameter"),
    ];
    for (wrong, text) in cases {
        assert_eq!(pipeline.table_insert(t, &wrong.key, &wrong.call).unwrap_err().to_string(), text);
    }
    assert_eq!(
        pipeline.table_modify(t, &good.key, &good.call).unwrap_err().to_string(),
        "it has no such entry"
    );
    assert_eq!(pipeline.table_delete(t, &good.key).unwrap_err().to_string(), "it has no such entry");
    pipeline.table_insert(t, &good.key, &good.call).unwrap();
    assert_eq!(
        pipeline.table_insert(t, &good.key, &good.call).unwrap_err().to_string(),
        "it has this entry already"
    );
    let other = matches(vec![Match::Exact(2), lpm(0, 0)]);
    assert_eq!(
        pipeline.table_insert(t, &other.key, &other.call).unwrap_err().to_string(),
        "it is full (size 1)"
    );
    let keyless = table_id(&pipeline, "keyless");
    let no_key = matches(vec![]);
    let no_key = pipeline.table_insert(keyless, &no_key.key, &no_key.call).unwrap_err();
    assert_eq!(no_key.to_string(), "the table has no key: only its default entry can be set");
    assert!(matches!(
        pipeline.direct_counter_write(t, Some(&good.key), CounterValue::default()),
        Err(TableError::NoDirect(..))
    ));
    assert_eq!(pipeline.table_entries(t).unwrap().count(), 1);
}

#[test]
fn an_id_of_another_program_is_refused() {
    let mut small = P4::new().load();
    let large = table_program(json!([["exact", "h", "a"]])).load();
    let t = table_id(&large, "t");
    let new = entry(&large, "t", vec![Match::Exact(1)], 0, "hit", &[3]);
    assert_eq!(small.table_insert(t, &new.key, &new.call), Err(TableError::NoSuchTable));
    assert!(small.table_entries(t).is_err());
}

#[test]
fn an_entry_is_read_as_it_was_written_and_leaves_nothing_to_the_next() {
    let key =
        json!([["ternary", "m", "wide"], ["range", "m", "wide"], ["optional", "h", "a"], ["lpm", "h", "c"]]);
    let mut p4 = table_program(key);
    let wide = p4.action("wide", &[("high", 65), ("all", 128), ("port", 9)], vec![forward(9)]);
    p4.add(
        "meter_arrays",
        json!({"name": "dm", "id": 0, "is_direct": true, "rate_count": 2, "type": "packets",
        "size": 64, "binding": "t", "result_target": ["h", "d"]}),
    );
    let table = &mut p4.json["pipelines"][0]["tables"][0];
    (table["with_counters"], table["direct_meters"], table["support_timeout"]) =
        (json!(true), json!("dm"), json!(true));
    table["action_ids"] = json!([0, 1, wide]);
    table["actions"] = json!(["hit", "miss", "wide"]);
    table["next_tables"] = json!({});
    p4.engines().into_iter().for_each(keep_wide_entries);
}

fn keep_wide_entries(mut pipeline: Pipeline) {
    let t = table_id(&pipeline, "t");
    let matches = |mask: u128, low, high, a| {
        let c = Match::Lpm { value: 0x0a00_0000, prefix: 7 };
        vec![Match::Ternary { value: 0, mask }, Match::Range { low, high }, Match::Optional(a), c]
    };
    // Only the highest bits of the second's range tell it from the packet's 0.
    let written = [
        (matches(5 << 125, 0, 1 << 100, Some(0)), "wide", vec![1 << 64, u128::MAX, 3], 9),
        (matches(5 << 125, 1 << 64, u128::MAX, Some(0)), "hit", vec![8], 0x7fff_ffff),
        (matches(0, 0, 0, None), "hit", vec![7], 9),
    ];
    let written: Vec<Entry> = written
        .map(|(matches, action, values, priority)| entry(&pipeline, "t", matches, priority, action, &values))
        .to_vec();
    let read = |pipeline: &Pipeline| pipeline.table_entries(t).unwrap().collect::<Vec<_>>();
    for kept in &written {
        pipeline.table_insert(t, &kept.key, &kept.call).unwrap();
    }
    assert_eq!(read(&pipeline).into_iter().map(|view| view.entry).collect::<Vec<_>>(), written);
    let bytes = [0, 0, 0, 11, 0, 0, 0, 0];
    let rates = MeterConfig { cir: 1, cburst: 1, pir: 1, pburst: 2, ..MeterConfig::default() };
    pipeline.direct_meter_write(t, Some(&written[0].key), Some(rates)).unwrap();
    for (pass, expected) in [9, 7, 500].into_iter().enumerate() {
        let ingress = pipeline.ingress(Nanos(40), Arrival::on(Port(1)), &bytes);
        assert_eq!(ingress.verdict, Verdict::Unicast(Port(expected)), "{pass}");
        if let Some(used) = [0, 2].get(pass) {
            let used = &written[*used];
            let view = pipeline.table_get(t, &used.key).unwrap();
            assert_eq!((view.resources.counter.unwrap().packets, view.hit), (1, Nanos(40)));
            pipeline.table_delete(t, &used.key).unwrap();
        }
    }
    // The entries that come next have their rows.
    for priority in [1, 2] {
        let next = EntryKey { matches: matches(0, 0, 0, Some(1)), priority };
        pipeline.table_insert(t, &next, &written[2].call).unwrap();
    }
    for view in read(&pipeline) {
        assert_eq!((view.resources.counter, view.hit), (Some(CounterValue::default()), Nanos::ZERO));
        assert_eq!((view.resources.meter, view.resources.colours), (None, [CounterValue::default(); 3]));
    }
}

#[test]
fn a_table_without_key_counts_though_its_default_is_constant() {
    let mut p4 = table_program(json!([]));
    let table = &mut p4.json["pipelines"][0]["tables"][0];
    (table["with_counters"], table["default_entry"]["action_const"]) = (json!(true), json!(true));
    for mut pipeline in p4.engines() {
        let t = table_id(&pipeline, "t");
        assert_eq!(port(&mut pipeline, 1, 0, 0), 500);
        assert_eq!(
            pipeline.default_resources(t).unwrap().counter,
            Some(CounterValue { packets: 1, bytes: 8 })
        );
    }
}
