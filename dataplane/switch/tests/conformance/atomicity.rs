//! Batches that are carried out as a whole or not at all.

use groupflow_base::Nanos;
use groupflow_switch::p4rt::Code;
use groupflow_switch::proto::p4::v1::{
    entity::Entity as Kinds, p4_data::Data, set_forwarding_pipeline_config_request::Action, update::Type,
    write_request::Atomicity, ActionProfileGroup, ActionProfileMember, CounterData, CounterEntry,
    DigestEntry, DirectMeterEntry, Entity, ExternEntry, Index, MeterConfig, MeterCounterData, MeterEntry,
    P4Data, PacketReplicationEngineEntry, ReadRequest, RegisterEntry, TableEntry, Update, ValueSetEntry,
    WriteRequest,
};
use proptest::prelude::*;
use serde_json::{json, Value};

use crate::common::{
    changed, digest_entry, exact, frame, group, info_table, json_table, lpm, optional, replica, session,
    update, Testbed, DEVICE,
};

const DESTINATIONS: &str = "TestIngress.destinations";
const FIXED: &str = "TestIngress.fixed";
const PREFIXES: &str = "TestIngress.prefixes";
const RULES: &str = "TestIngress.rules";

/// Everything that can be read.
fn state(bed: &Testbed) -> Vec<String> {
    let counted = TableEntry {
        counter_data: Some(CounterData::default()),
        meter_config: Some(MeterConfig::default()),
        meter_counter_data: Some(MeterCounterData::default()),
        ..TableEntry::default()
    };
    let defaults = bed.binding().tables.keys().map(|id| TableEntry {
        table_id: *id,
        is_default_action: true,
        ..counted.clone()
    });
    let filters: [Kinds; 10] = [
        ActionProfileMember::default().into(),
        ActionProfileGroup::default().into(),
        ValueSetEntry::default().into(),
        counted.clone().into(),
        group(0, &[]).into(),
        session(0, &[], 0, 0).into(),
        RegisterEntry::default().into(),
        CounterEntry::default().into(),
        MeterEntry { counter_data: Some(MeterCounterData::default()), ..MeterEntry::default() }.into(),
        DigestEntry::default().into(),
    ];
    let filters = filters.into_iter().chain(defaults.map(Kinds::from));
    let entities = filters.map(|filter| Entity { entity: Some(filter) }).collect();
    let request = ReadRequest { device_id: DEVICE, entities, ..ReadRequest::default() };
    let (found, outcome) = bed.read_all(&request);
    assert_eq!(outcome, Ok(()));
    let mut found: Vec<String> = found.iter().map(|entity| format!("{entity:?}")).collect();
    found.sort();
    found
}

fn register(bed: &Testbed, index: Option<i64>, value: u8) -> RegisterEntry {
    RegisterEntry {
        register_id: bed.register("TestIngress.cells"),
        index: index.map(|index| Index { index }),
        data: Some(P4Data { data: Some(Data::Bitstring(vec![value])) }),
    }
}

/// A testbed with one of everything.
fn filled() -> Testbed {
    let mut bed = Testbed::new(&[]);
    let rates = Some(MeterConfig { cir: 1, cburst: 2, pir: 3, pburst: 4, eburst: 0 });
    bed.when_to(1, "forward", &[2, 0]);
    let rule = TableEntry { priority: 1, ..bed.entry("TestIngress.rules", &[optional(3, 1)], "keep", &[]) };
    bed.apply(Type::Insert, rule).unwrap();
    let prefix = bed.entry("TestIngress.prefixes", &[lpm(1, 0x0200_0000_0000, 8)], "metered", &[]);
    bed.apply(Type::Insert, TableEntry { meter_config: rates, ..prefix }).unwrap();
    bed.apply(Type::Insert, group(1, &[replica(1, 1)])).unwrap();
    bed.apply(Type::Insert, session(1, &[replica(1, 1)], 1, 5)).unwrap();
    bed.apply(Type::Modify, register(&bed, Some(3), 9)).unwrap();
    let digest = digest_entry(bed.digest(), 1, 2, 3);
    bed.apply(Type::Insert, digest).unwrap();
    bed.inject(0, 1, &frame(1, 0x0800, 60));
    bed
}

/// Updates of all kinds, of which some fail on the testbed of [`filled`].
fn updates(bed: &Testbed) -> Vec<Update> {
    let to = |mac, port| bed.entry(DESTINATIONS, &[exact(1, mac)], "forward", &[port, 0]);
    let rule = |action| TableEntry {
        priority: 1,
        ..bed.entry("TestIngress.rules", &[optional(3, 1)], action, &[1][..usize::from(action == "tag")])
    };
    let counter = |index: Option<i64>| CounterEntry {
        counter_id: bed.counter("TestIngress.arrivals"),
        index: index.map(|index| Index { index }),
        data: Some(CounterData { byte_count: 7, packet_count: 8 }),
    };
    let meter = MeterEntry { meter_id: bed.meter("TestIngress.policers"), ..MeterEntry::default() };
    let default = TableEntry { is_default_action: true, ..bed.entry(DESTINATIONS, &[], "forward", &[4, 0]) };
    let prefix = bed.entry("TestIngress.prefixes", &[lpm(1, 0x0200_0000_0000, 8)], "NoAction", &[]);
    let mut updates = Vec::new();
    let mut all = |entity: Kinds| {
        updates.extend([Type::Insert, Type::Modify, Type::Delete].map(|kind| update(kind, entity.clone())));
    };
    all(to(1, 3).into());
    all(to(2, 3).into());
    all(TableEntry { counter_data: Some(CounterData::default()), ..rule("tag") }.into());
    all(rule("keep").into());
    all(prefix.clone().into());
    all(default.clone().into());
    all(group(1, &[replica(3, 1), replica(4, 1)]).into());
    all(group(2, &[replica(3, 1)]).into());
    all(session(1, &[replica(2, 2)], 0, 0).into());
    all(session(2, &[replica(2, 2)], 0, 0).into());
    all(register(bed, Some(3), 1).into());
    all(register(bed, None, 2).into());
    all(counter(Some(0)).into());
    all(counter(None).into());
    let cleared = Some(MeterCounterData::default());
    all(MeterEntry { counter_data: cleared, ..meter.clone() }.into());
    all(meter.into());
    all(TableEntry { meter_counter_data: cleared, ..prefix.clone() }.into());
    all(digest_entry(bed.digest(), 5, 6, 7).into());
    updates.push(update(Type::Modify, TableEntry { action: None, ..default }));
    updates.push(update(Type::Modify, PacketReplicationEngineEntry::default()));
    updates.push(Update::default());
    updates
}

#[test]
fn a_batch_that_fails_is_taken_back() {
    for atomicity in [Atomicity::RollbackOnError, Atomicity::DataplaneAtomic] {
        let mut bed = filled();
        let before = state(&bed);
        let new = bed.entry(DESTINATIONS, &[exact(1, 2)], "forward", &[3, 0]);
        let old = bed.entry(DESTINATIONS, &[exact(1, 1)], "forward", &[4, 0]);
        let mut batch = vec![
            update(Type::Insert, new.clone()),
            update(Type::Modify, old),
            update(Type::Delete, group(1, &[])),
            update(Type::Insert, group(0, &[])),
            update(Type::Insert, group(9, &[])),
        ];
        let request =
            |bed: &Testbed, batch| WriteRequest { atomicity: atomicity.into(), ..bed.write_request(batch) };
        let failing = request(&bed, batch.clone());
        let status = bed.write(&failing).expect_err("the fourth fails");
        let codes: Vec<i32> = status.errors.iter().map(|error| error.canonical_code).collect();
        let aborted = Code::Aborted as i32;
        assert_eq!(codes, [aborted, aborted, aborted, Code::InvalidArgument as i32, aborted]);
        assert_eq!(status.errors[0].message, "not carried out, since another update of the batch failed");
        assert_eq!(state(&bed), before);
        batch.remove(3);
        let good = request(&bed, batch);
        assert_eq!(bed.write(&good), Ok(()));
        bed.inject(1, 1, &frame(1, 0x0800, 60));
        assert_eq!(bed.left(1).last(), Some(&(1, 4)));
    }
}

#[test]
fn a_batch_that_changes_too_much_is_refused() {
    const CELLS: i32 = (1 << 18) + 1;
    let mut bed = Testbed::with(changed(|program, info| {
        let arrays = program["register_arrays"].as_array_mut().unwrap();
        let cells = arrays.iter_mut().find(|array| array["name"] == "TestIngress.cells").unwrap();
        cells["size"] = CELLS.into();
        info.registers[0].size = CELLS;
    }));
    let batch = |bed: &Testbed, atomicity: Atomicity| WriteRequest {
        atomicity: atomicity.into(),
        ..bed.write_request(vec![update(Type::Modify, register(bed, None, 1))])
    };
    let whole = batch(&bed, Atomicity::RollbackOnError);
    let status = bed.write(&whole).expect_err("one cell is too many");
    assert_eq!(status.errors[0].canonical_code, Code::ResourceExhausted as i32);
    let each = batch(&bed, Atomicity::ContinueOnError);
    assert_eq!(bed.write(&each), Ok(()));
}

/// Frames for which `destinations` has no entry leave by port 0.
fn forward_by_default(program: &mut Value) {
    let actions = program["actions"].as_array().unwrap();
    let forward = actions.iter().find(|action| action["name"] == "TestIngress.forward").unwrap();
    let id = forward["id"].clone();
    json_table(program, DESTINATIONS)["default_entry"] = json!({
        "action_id": id, "action_const": false, "action_data": ["0x0", "0x0"], "action_entry_const": false
    });
}

/// A testbed whose program has what its own rules forbid.
fn with_rules() -> Testbed {
    let mut bed = Testbed::with(changed(|program, info| {
        forward_by_default(program);
        json_table(program, RULES)["default_entry"]["action_const"] = false.into();
        json_table(program, RULES)["default_entry"]["action_entry_const"] = false.into();
        info_table(info, RULES).const_default_action_id = 0;
        let fixed = info_table(info, FIXED);
        (fixed.is_const_table, fixed.has_initial_entries, fixed.size) = (false, true, 3);
        let rule = "@entry_restriction(\"hdr.ethernet.ethertype != 0x1234\")";
        fixed.preamble.as_mut().unwrap().annotations.push(rule.into());
        let mut forward = info.actions.iter_mut().filter_map(|action| action.preamble.as_mut());
        let forward = forward.find(|preamble| preamble.name == "TestIngress.forward").unwrap();
        forward.annotations.push("@action_restriction(\"port > 0\")".into());
    }));
    let rates = Some(MeterConfig { cir: 1, cburst: 70, pir: 1, pburst: 70, eburst: 0 });
    let prefix = bed.entry(PREFIXES, &[lpm(1, 0x0200_0000_0000, 8)], "metered", &[]);
    bed.apply(Type::Insert, TableEntry { meter_config: rates, ..prefix }).unwrap();
    let default = TableEntry { is_default_action: true, ..bed.entry(PREFIXES, &[], "metered", &[]) };
    bed.apply(Type::Modify, TableEntry { meter_config: rates, ..default }).unwrap();
    let meter = MeterEntry {
        meter_id: bed.meter("TestIngress.policers"),
        index: Some(Index { index: 1 }),
        config: rates,
        counter_data: None,
    };
    bed.apply(Type::Modify, meter).unwrap();
    for source in [0x02, 0x04, 0x02, 0x04] {
        let mut bytes = frame(1, 0x0800, 60);
        bytes[6] = source;
        bed.inject(0, 1, &bytes);
    }
    bed
}

#[test]
fn all_that_an_update_takes_away_comes_back() {
    type Case = fn(&Testbed) -> Update;
    let cases: [(&str, Case); 9] = [
        ("a default action that breaks a rule", |bed| {
            let entry = bed.entry(DESTINATIONS, &[], "forward", &[2, 0]);
            update(Type::Modify, TableEntry { is_default_action: true, ..entry })
        }),
        ("an initial entry that breaks a rule", |bed| {
            update(Type::Delete, bed.entry(FIXED, &[exact(1, 0x1234)], "NoAction", &[]))
        }),
        ("the counter of a default entry", |bed| {
            let table_id = bed.table(RULES);
            update(Type::Modify, TableEntry { table_id, is_default_action: true, ..TableEntry::default() })
        }),
        ("the meter of a default entry", |bed| {
            let table_id = bed.table(PREFIXES);
            update(Type::Modify, TableEntry { table_id, is_default_action: true, ..TableEntry::default() })
        }),
        ("the counts of a meter by colour", |bed| update(Type::Delete, prefix(bed))),
        ("counts that are cleared with the entry", |bed| {
            let cleared = Some(MeterCounterData::default());
            update(Type::Modify, TableEntry { meter_counter_data: cleared, ..prefix(bed) })
        }),
        ("counts that are cleared alone", |bed| {
            let counter_data = Some(MeterCounterData::default());
            let table_entry = Some(prefix(bed));
            update(Type::Modify, DirectMeterEntry { table_entry, config: None, counter_data })
        }),
        ("counts of a default entry", |bed| {
            let counter_data = Some(MeterCounterData::default());
            let table_id = bed.table(PREFIXES);
            let table_entry = Some(TableEntry { table_id, is_default_action: true, ..TableEntry::default() });
            update(Type::Modify, DirectMeterEntry { table_entry, config: None, counter_data })
        }),
        ("counts of an array", |bed| {
            let counter_data = Some(MeterCounterData::default());
            let meter_id = bed.meter("TestIngress.policers");
            update(Type::Modify, MeterEntry { meter_id, counter_data, ..MeterEntry::default() })
        }),
    ];
    for (what, case) in cases {
        let mut bed = with_rules();
        let before = state(&bed);
        let changed = case(&bed);
        assert_eq!(bed.runtime.apply(&mut bed.switch, &changed), Ok(()), "{what}");
        assert_ne!(state(&bed), before, "{what} is there");
        let mut bed = with_rules();
        let atomicity = Atomicity::RollbackOnError.into();
        let batch = vec![changed, update(Type::Insert, group(0, &[]))];
        let request = WriteRequest { atomicity, ..bed.write_request(batch) };
        assert_eq!(bed.write(&request).expect_err("the second fails").errors.len(), 2);
        assert_eq!(state(&bed), before, "{what}");
    }
}

#[test]
fn a_default_entry_that_is_taken_back_is_the_next_programs() {
    let mut bed = Testbed::new(&[]);
    let entry = TableEntry { is_default_action: true, ..bed.entry(DESTINATIONS, &[], "forward", &[2, 0]) };
    let batch = vec![update(Type::Modify, entry.clone()), update(Type::Insert, group(0, &[]))];
    let request = WriteRequest { atomicity: Atomicity::RollbackOnError.into(), ..bed.write_request(batch) };
    assert!(bed.write(&request).is_err());
    let next = changed(|program, _| forward_by_default(program));
    bed.runtime.set_config(&mut bed.switch, Action::ReconcileAndCommit, Some(next)).unwrap();
    let action = bed.action(DESTINATIONS, "forward", &[0, 0]);
    let read = bed.read(TableEntry { action: None, ..entry.clone() }).unwrap();
    assert_eq!(read, [Kinds::from(TableEntry { action: Some(action), ..entry })]);
}

fn prefix(bed: &Testbed) -> TableEntry {
    bed.entry(PREFIXES, &[lpm(1, 0x0200_0000_0000, 8)], "metered", &[])
}

#[test]
fn a_digest_whose_removal_is_taken_back_keeps_its_lists() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "learn", &[2]);
    let entry = digest_entry(bed.digest(), 10, 5, 0);
    bed.apply(Type::Insert, entry.clone()).unwrap();
    bed.inject(0, 1, &frame(1, 0x0800, 60));
    bed.advance(0);
    for (time, digest) in std::mem::take(&mut bed.emitted.digests) {
        assert!(bed.runtime.digest(time, digest).is_empty(), "it waits");
    }
    let batch = vec![update(Type::Delete, entry), update(Type::Insert, group(0, &[]))];
    let request = WriteRequest { atomicity: Atomicity::RollbackOnError.into(), ..bed.write_request(batch) };
    assert!(bed.write(&request).is_err());
    assert_eq!(bed.runtime.due(&mut bed.switch, Nanos(5)).len(), 1);
}

#[test]
fn externs_and_unknown_atomicities_are_refused() {
    let mut bed = filled();
    let before = state(&bed);
    let batch = vec![update(Type::Delete, group(1, &[])), update(Type::Modify, ExternEntry::default())];
    let request = bed.write_request(batch);
    let atomic = WriteRequest { atomicity: Atomicity::DataplaneAtomic.into(), ..request.clone() };
    let status = bed.write(&atomic).expect_err("the second is refused");
    assert_eq!(status.errors[1].canonical_code, Code::Unimplemented as i32);
    assert_eq!(state(&bed), before);
    let unknown = WriteRequest { atomicity: 99, ..request };
    assert_eq!(bed.write(&unknown).expect_err("unknown").code, Code::Unimplemented);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever a batch does before it fails: nothing of it is left.
    #[test]
    fn no_batch_leaves_a_part_of_itself(chosen in proptest::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let mut bed = filled();
        let all = updates(&bed);
        let mut batch: Vec<Update> = chosen.iter().map(|index| index.get(&all).clone()).collect();
        batch.push(update(Type::Insert, group(0, &[])));
        let before = state(&bed);
        let request = WriteRequest { atomicity: Atomicity::RollbackOnError.into(), ..bed.write_request(batch) };
        prop_assert!(bed.write(&request).is_err());
        prop_assert_eq!(state(&bed), before);
    }
}
