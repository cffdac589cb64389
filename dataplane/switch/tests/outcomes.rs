//! All outcomes of a packet where selectors and random() decide: `outcomes/NAME.txt` has the text of each.
//!
//! `GOLDEN=write cargo test -p groupflow-switch outcomes` writes these files as they are now.

use std::collections::BTreeSet;
use std::path::Path;

use groupflow_switch::core::{Trace, TraceRequest};
use groupflow_switch::p4rt::PipelineConfig;
use groupflow_switch::proto::p4::v1::{
    entity::Entity as Kinds, table_action::Type as Choice, update::Type, ActionProfileAction,
    ActionProfileActionSet, CounterEntry, DirectCounterEntry, DirectMeterEntry, MeterConfig, MeterEntry,
    RegisterEntry, TableAction, TableEntry,
};
use groupflow_switch::shell::render_trace;

use crate::common::{exact, frame, group, replica, Testbed};

const MS: u64 = 1_000_000;
const DST: u64 = 5;

fn bed() -> Testbed {
    let json = include_str!("programs/chance.json");
    let info = include_bytes!("programs/chance.p4info.txtpb");
    Testbed::with(PipelineConfig::from_files(json, info).unwrap())
}

/// Lets a table choose among actions for packets to `dst`.
fn choose(bed: &mut Testbed, table: &str, dst: u64, actions: &[(&str, u128)]) {
    let table = format!("ChanceIngress.{table}");
    let weighted = actions.iter().map(|(name, argument)| {
        let arguments = if *name == "drop" { &[][..] } else { &[*argument] };
        let Some(Choice::Action(action)) =
            bed.action(&table, &format!("ChanceIngress.{name}"), arguments).r#type
        else {
            panic!("no action")
        };
        ActionProfileAction { action: Some(action), weight: 1, ..ActionProfileAction::default() }
    });
    let set = ActionProfileActionSet { action_profile_actions: weighted.collect(), ..Default::default() };
    let action = Some(TableAction { r#type: Some(Choice::ActionProfileActionSet(set)) });
    let table_id = bed.table(&table);
    let entry = TableEntry { table_id, r#match: vec![exact(1, dst.into())], action, ..TableEntry::default() };
    bed.apply(Type::Insert, entry).unwrap();
}

/// The trace of a frame to `dst` that arrives at port 1, with its outcomes.
fn trace(bed: &mut Testbed, dst: u64, kind: u16) -> Trace {
    let request = TraceRequest { all: true, next: 1, ..TraceRequest::default() };
    let filter = bed.switch.trace(&request).unwrap();
    bed.inject(0, 1, &frame(dst, kind, 20));
    // No further than to the end of the trace: some packets go round for ever.
    let mut time = (0..1_000).map(|us| 1_000 * us);
    let found = time.find_map(|time| {
        bed.advance(time);
        bed.switch.tracer().take(filter).unwrap().pop()
    });
    found.unwrap()
}

/// The decisions of all ways, which are different.
fn ways(trace: &Trace) -> BTreeSet<Vec<String>> {
    let all: Vec<_> = trace.all.outcomes.iter().flat_map(|outcome| outcome.ways.clone()).collect();
    let different: BTreeSet<_> = all.iter().cloned().collect();
    assert_eq!(all.len(), different.len());
    different
}

/// The ports of each outcome.
fn ports(trace: &Trace) -> Vec<Vec<u16>> {
    let outcomes = trace.all.outcomes.iter();
    outcomes.map(|outcome| outcome.sent.iter().map(|(port, ..)| *port).collect()).collect()
}

fn compare(name: &str, trace: &Trace) {
    let text = render_trace(&serde_json::to_value(trace).unwrap());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/outcomes/{name}.txt"));
    if std::env::var("GOLDEN").is_ok_and(|mode| mode == "write") {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "{name}.txt");
}

const THREE: [(&str, u128); 3] = [("forward", 2), ("forward", 3), ("drop", 0)];

#[test]
fn each_member_of_a_selector_has_its_outcome() {
    let mut bed = bed();
    choose(&mut bed, "ways", DST, &THREE);
    let trace = trace(&mut bed, DST, 0x800);
    assert_eq!(ports(&trace), [vec![2], vec![3], vec![]]);
    assert!(trace.all.outcomes.iter().any(|outcome| outcome.root.steps == trace.root.steps), "the real one");
    compare("three", &trace);
}

#[test]
fn two_selectors_in_a_row_multiply_and_equal_outcomes_are_one() {
    let mut bed = bed();
    choose(&mut bed, "ways", DST, &THREE);
    choose(&mut bed, "names", DST, &[("from", 0xa), ("from", 0xb)]);
    let trace = trace(&mut bed, DST, 0x800);
    assert_eq!((ports(&trace), ways(&trace).len()), (vec![vec![2], vec![2], vec![3], vec![3], vec![]], 6));
    compare("two", &trace);
}

#[test]
fn all_values_of_a_small_random_are_tried() {
    let mut bed = bed();
    choose(&mut bed, "ways", DST, &[("forward", 2)]);
    let trace = trace(&mut bed, DST, 1);
    assert_eq!((trace.all.outcomes.len(), ways(&trace).len()), (4, 8), "the program halves what it draws");
    compare("random", &trace);
}

#[test]
fn a_large_random_is_a_sample() {
    let mut bed = bed();
    choose(&mut bed, "ways", DST, &[("forward", 2)]);
    compare("sample", &trace(&mut bed, DST, 2));
}

#[test]
fn a_multicast_after_a_selector_leaves_at_all_its_ports() {
    let mut bed = bed();
    bed.apply(Type::Insert, group(7, &[replica(4, 1), replica(3, 2), replica(9, 3)])).unwrap();
    choose(&mut bed, "ways", DST, &[("multicast", 7), ("forward", 2)]);
    let trace = trace(&mut bed, DST, 0x800);
    assert_eq!(ports(&trace), [vec![3, 4], vec![2]]);
    compare("multicast", &trace);
}

#[test]
fn too_many_ways_are_cut() {
    let mut bed = bed();
    choose(&mut bed, "ways", DST, &[("forward", 2)]);
    let cut = trace(&mut bed, DST, 3);
    assert_eq!((ways(&cut).len(), cut.all.outcomes_cut), (256, true), "of 16 * 16 * 2");
    let text = render_trace(&serde_json::to_value(&cut).unwrap());
    assert!(text.ends_with("\n... further outcomes were not tried\n"), "{text}");
    // A run that goes round 50 times is longer.
    choose(&mut bed, "ways", 9, &[("forward", 2), ("forward", 3)]);
    let long = trace(&mut bed, 9, 0x800);
    assert!(long.all.outcomes_cut && (100..256).contains(&ways(&long).len()), "{}", ways(&long).len());
}

#[test]
fn fewer_ways_are_tried_with_large_tables() {
    let mut bed = bed();
    choose(&mut bed, "ways", DST, &[("forward", 2)]);
    let entry = bed.entry("ChanceIngress.counted", &[], "ChanceIngress.hit", &[]);
    for kind in 100..33_100 {
        bed.apply(Type::Insert, TableEntry { r#match: vec![exact(1, kind)], ..entry.clone() }).unwrap();
    }
    let trace = trace(&mut bed, DST, 3);
    let tried = ways(&trace).len();
    assert!(trace.all.outcomes_cut && (120..128).contains(&tried), "{tried}: 2^22 by some 33,000");
}

#[test]
fn a_packet_that_multiplies_without_end_is_cut() {
    let mut bed = bed();
    bed.apply(Type::Insert, group(7, &[replica(4, 1), replica(3, 2)])).unwrap();
    choose(&mut bed, "ways", 9, &[("multicast", 7)]);
    let trace = trace(&mut bed, 9, 0x800);
    assert!(trace.all.outcomes_cut && ways(&trace).len() < 256, "{}", ways(&trace).len());
}

#[test]
fn a_packet_without_choices_has_one_outcome() {
    let trace = trace(&mut bed(), DST, 0x800);
    assert_eq!((trace.all.outcomes.len(), ways(&trace)), (1, BTreeSet::from([vec![]])));
}

/// All that packets change, as P4Runtime tells it.
fn state(bed: &mut Testbed) -> Vec<Kinds> {
    let of = |bed: &Testbed, table: &str| TableEntry { table_id: bed.table(table), ..TableEntry::default() };
    let (counter, meter) = (bed.counter("ChanceIngress.packets"), bed.meter("ChanceIngress.policers"));
    let (hits, marks) = (of(bed, "ChanceIngress.counted"), of(bed, "ChanceIngress.marked"));
    let uses = bed.register("ChanceIngress.uses");
    let asked: [Kinds; 5] = [
        RegisterEntry { register_id: uses, ..RegisterEntry::default() }.into(),
        CounterEntry { counter_id: counter, ..CounterEntry::default() }.into(),
        MeterEntry { meter_id: meter, ..MeterEntry::default() }.into(),
        DirectCounterEntry { table_entry: Some(hits), ..DirectCounterEntry::default() }.into(),
        DirectMeterEntry { table_entry: Some(marks), ..DirectMeterEntry::default() }.into(),
    ];
    asked.into_iter().flat_map(|entity| bed.read(entity).unwrap()).collect()
}

#[test]
fn only_the_real_packet_has_an_effect() {
    let (mut traced, mut plain) = (bed(), bed());
    for bed in [&mut traced, &mut plain] {
        for dst in 0..4 {
            choose(bed, "ways", dst, &THREE);
        }
        let config = Some(MeterConfig { cir: 1, cburst: 2, pir: 2, pburst: 3, ..MeterConfig::default() });
        let meter_id = bed.meter("ChanceIngress.policers");
        bed.apply(Type::Modify, MeterEntry { meter_id, config, ..MeterEntry::default() }).unwrap();
    }
    for dst in 0..4 {
        let with_outcomes = trace(&mut traced, dst, 2);
        assert_eq!(ways(&with_outcomes).len(), 9);
        plain.inject(0, 1, &frame(dst, 2, 20));
        plain.advance(MS);
        assert_eq!(state(&mut traced), state(&mut plain), "after packet {dst}");
    }
    assert_eq!(traced.switch.stats(), plain.switch.stats());
}
