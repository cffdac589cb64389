//! State that belongs to entries of the program, when the pipeline is reconciled.

use groupflow_switch::p4rt::{Code, PipelineConfig, Status};
use groupflow_switch::proto::p4::config::v1::{DirectCounter, P4Info, Preamble};
use groupflow_switch::proto::p4::v1::{
    entity::Entity as Kinds, set_forwarding_pipeline_config_request::Action, update::Type, CounterData,
    DirectCounterEntry, DirectMeterEntry, MeterConfig, MeterCounterData, MeterEntry, TableEntry,
};
use serde_json::Value;

use crate::common::{changed, exact, frame, info_table, json_table, lpm, optional, Testbed};

const FIXED: &str = "TestIngress.fixed";
const PREFIXES: &str = "TestIngress.prefixes";
const RULES: &str = "TestIngress.rules";
const RATES: MeterConfig = MeterConfig { cir: 1, cburst: 70, pir: 1, pburst: 70, eburst: 0 };
const COUNTED: Option<CounterData> = Some(CounterData { byte_count: 0, packet_count: 5 });

/// The testbed's program, in which the constant entries have a counter.
fn counting(program: &mut Value, info: &mut P4Info) {
    json_table(program, FIXED)["with_counters"] = true.into();
    let fixed = info_table(info, FIXED);
    fixed.direct_resource_ids.push(90);
    let direct_table_id = fixed.preamble.as_ref().unwrap().id;
    let preamble = Some(Preamble { id: 90, name: "fixed_hits".into(), ..Preamble::default() });
    info.direct_counters.push(DirectCounter { preamble, direct_table_id, ..DirectCounter::default() });
}

fn reconcile(bed: &mut Testbed, config: PipelineConfig) -> Result<(), Status> {
    bed.runtime.set_config(&mut bed.switch, Action::ReconcileAndCommit, Some(config))
}

fn default(bed: &Testbed, table: &str) -> Option<TableEntry> {
    let table_id = bed.table(table);
    Some(TableEntry { table_id, is_default_action: true, ..TableEntry::default() })
}

#[test]
fn resources_of_the_programs_entries_move() {
    let mut bed = Testbed::with(changed(counting));
    let constant = TableEntry { action: None, ..bed.entry(FIXED, &[exact(1, 0x1234)], "NoAction", &[]) };
    let prefix = bed.entry(PREFIXES, &[lpm(1, 0x0200_0000_0000, 8)], "metered", &[]);
    bed.apply(Type::Insert, TableEntry { meter_config: Some(RATES), ..prefix.clone() }).unwrap();
    let prefix = TableEntry { action: None, ..prefix };
    let counter = |entry, data| DirectCounterEntry { table_entry: entry, data };
    let meter = |entry, config| DirectMeterEntry {
        table_entry: entry,
        config,
        counter_data: Some(MeterCounterData::default()),
    };
    (0..3).for_each(|_| bed.inject(0, 1, &frame(1, 0x0800, 60)));
    let changes: [Kinds; 3] = [
        counter(default(&bed, RULES), COUNTED).into(),
        meter(default(&bed, PREFIXES), Some(RATES)).into(),
        counter(Some(constant.clone()), COUNTED).into(),
    ];
    changes.into_iter().for_each(|change| bed.apply(Type::Modify, change).unwrap());
    let cells = MeterEntry { counter_data: Some(MeterCounterData::default()), ..MeterEntry::default() };
    let filters: [Kinds; 5] = [
        counter(default(&bed, RULES), None).into(),
        meter(default(&bed, PREFIXES), None).into(),
        counter(Some(constant), None).into(),
        meter(Some(prefix), None).into(),
        cells.into(),
    ];
    let state = |bed: &Testbed| filters.clone().map(|filter| format!("{:?}", bed.read(filter).unwrap()));
    let before = state(&bed);
    assert!(before[3].contains("packet_count: 2") && before[4].contains("packet_count: 3"), "{before:?}");
    assert_eq!(reconcile(&mut bed, changed(counting)), Ok(()));
    assert_eq!(state(&bed), before);
}

#[test]
fn entries_that_were_constant_do_not_hide_those_that_are_not() {
    let mut bed = Testbed::new(&[]);
    let open = changed(|_, info| {
        let fixed = info_table(info, FIXED);
        (fixed.is_const_table, fixed.has_initial_entries, fixed.size) = (false, true, 3);
    });
    reconcile(&mut bed, open).unwrap();
    let all = TableEntry { table_id: bed.table(FIXED), ..TableEntry::default() };
    assert_eq!(bed.read(all).unwrap().len(), 2);
}

#[test]
fn only_counts_that_are_not_zero_need_a_place() {
    let without = || changed(|_, info| info_table(info, RULES).direct_resource_ids.clear());
    let mut bed = Testbed::new(&[]);
    let rule = TableEntry { priority: 1, ..bed.entry(RULES, &[optional(3, 1)], "keep", &[]) };
    bed.apply(Type::Insert, rule.clone()).unwrap();
    let counter = DirectCounterEntry { table_entry: Some(rule.clone()), data: COUNTED };
    bed.apply(Type::Modify, counter.clone()).unwrap();
    let status = reconcile(&mut bed, without()).expect_err("the count is lost");
    assert_eq!(status.code, Code::InvalidArgument);
    let zero = Some(CounterData::default());
    bed.apply(Type::Modify, DirectCounterEntry { data: zero, ..counter }).unwrap();
    assert_eq!(reconcile(&mut bed, without()), Ok(()));
    let all = TableEntry { table_id: rule.table_id, ..TableEntry::default() };
    assert_eq!(bed.read(all).unwrap(), [Kinds::from(rule)]);
}
