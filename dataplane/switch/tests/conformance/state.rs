//! Counters, meters and registers, with an index or belonging to entries.

use groupflow_switch::p4rt::{encode, Code};
use groupflow_switch::proto::p4::v1::{
    entity::Entity as Kinds, p4_data::Data, update::Type, CounterData, CounterEntry, DirectCounterEntry,
    DirectMeterEntry, Index, MeterConfig, MeterCounterData, MeterEntry, P4Data, RegisterEntry, TableEntry,
};

use crate::common::{frame, lpm, optional, Testbed};

const ARRIVALS: &str = "TestIngress.arrivals";
const CELLS: &str = "TestIngress.cells";
const SIGNED: &str = "TestIngress.signed_cells";
const POLICERS: &str = "TestIngress.policers";
const RULES: &str = "TestIngress.rules";
const PREFIXES: &str = "TestIngress.prefixes";

fn bits(bytes: &[u8]) -> Option<P4Data> {
    Some(P4Data { data: Some(Data::Bitstring(bytes.to_vec())) })
}

fn at(index: i64) -> Option<Index> {
    Some(Index { index })
}

const RATES: MeterConfig = MeterConfig { cir: 1000, cburst: 100, pir: 2000, pburst: 200, eburst: 0 };

#[test]
fn counters_are_read_and_set() {
    let mut bed = Testbed::new(&[]);
    let id = bed.counter(ARRIVALS);
    (0..3).for_each(|_| bed.inject(0, 1, &frame(1, 0x0800, 100)));
    let cell = |index, bytes, packets| {
        let data = Some(CounterData { byte_count: bytes, packet_count: packets });
        CounterEntry { counter_id: id, index: at(index), data }
    };
    let filter = CounterEntry { counter_id: id, index: at(0), data: None };
    assert_eq!(bed.read(filter.clone()).unwrap(), [Kinds::from(cell(0, 300, 3))]);
    assert_eq!(bed.apply(Type::Modify, cell(0, 5, 1)), Ok(()));
    assert_eq!(bed.apply(Type::Modify, filter.clone()), Ok(()), "without data nothing changes");
    assert_eq!(bed.read(filter).unwrap(), [Kinds::from(cell(0, 5, 1))]);
    let whole = CounterEntry { counter_id: id, ..CounterEntry::default() };
    assert_eq!(bed.read(whole.clone()).unwrap().len(), 16);
    assert_eq!(bed.read(CounterEntry::default()).unwrap().len(), 16);
    let reset = CounterEntry { data: Some(CounterData::default()), ..whole };
    assert_eq!(bed.apply(Type::Modify, reset), Ok(()));
    assert_eq!(
        bed.read(CounterEntry { counter_id: id, index: at(0), data: None }).unwrap(),
        [Kinds::from(cell(0, 0, 0))]
    );
}

#[test]
fn registers_are_read_and_set() {
    let mut bed = Testbed::new(&[]);
    let id = bed.register(CELLS);
    let cell = |index, bytes: &[u8]| RegisterEntry { register_id: id, index: at(index), data: bits(bytes) };
    bed.when_to(1, "count_in_cell", &[7]);
    (0..300).for_each(|_| bed.inject(0, 1, &frame(1, 0x0800, 60)));
    let filter = RegisterEntry { register_id: id, index: at(7), data: None };
    assert_eq!(bed.read(filter.clone()).unwrap(), [Kinds::from(cell(7, &[1, 44]))]);
    assert_eq!(bed.apply(Type::Modify, cell(7, &[0, 0, 0, 9])), Ok(()));
    assert_eq!(bed.read(filter).unwrap(), [Kinds::from(cell(7, &[9]))]);
    let all = RegisterEntry { register_id: id, index: None, data: bits(&[3]) };
    assert_eq!(bed.apply(Type::Modify, all), Ok(()));
    let found = bed.read(RegisterEntry { register_id: id, ..RegisterEntry::default() }).unwrap();
    assert_eq!(found.len(), 32);
    assert_eq!(found[31], Kinds::from(cell(31, &[3])));
    assert_eq!(bed.read(RegisterEntry::default()).unwrap().len(), 32 + 4);
}

#[test]
fn signed_registers_are_sign_extended() {
    let mut bed = Testbed::new(&[]);
    let id = bed.register(SIGNED);
    bed.inject(0, 1, &frame(1, 0x0800, 60));
    let cell = |index, bytes: &[u8]| RegisterEntry { register_id: id, index: at(index), data: bits(bytes) };
    let read =
        |bed: &Testbed, index| bed.read(RegisterEntry { register_id: id, index: at(index), data: None });
    assert_eq!(read(&bed, 0).unwrap(), [Kinds::from(cell(0, &[0xff]))], "the program wrote -1");
    assert_eq!(bed.apply(Type::Modify, cell(1, &[0xff, 0xfd, 0x1d])), Ok(()));
    assert_eq!(read(&bed, 1).unwrap(), [Kinds::from(cell(1, &[0xfd, 0x1d]))]);
    assert_eq!(bed.refused(Type::Modify, cell(1, &[0x08, 0x00])).0, Code::OutOfRange);
}

#[test]
fn meters_are_read_and_set() {
    let mut bed = Testbed::new(&[]);
    let id = bed.meter(POLICERS);
    let cell = |index, config| MeterEntry { meter_id: id, index: at(index), config, counter_data: None };
    assert_eq!(bed.read(cell(2, None)).unwrap(), [Kinds::from(cell(2, None))], "the default is unset");
    assert_eq!(bed.apply(Type::Modify, cell(2, Some(RATES))), Ok(()));
    assert_eq!(bed.read(cell(2, None)).unwrap(), [Kinds::from(cell(2, Some(RATES)))]);
    assert_eq!(bed.apply(Type::Modify, cell(2, None)), Ok(()));
    assert_eq!(bed.read(cell(2, None)).unwrap(), [Kinds::from(cell(2, None))]);
    assert_eq!(bed.read(MeterEntry::default()).unwrap().len(), 8);
    // Meters count the packets of each colour: those of port 1 are all green but the last.
    let rates = MeterConfig { cir: 1, cburst: 2, pir: 1, pburst: 2, eburst: 0 };
    bed.apply(Type::Modify, cell(1, Some(rates))).unwrap();
    (0..3).for_each(|_| bed.inject(0, 1, &frame(1, 0x0800, 60)));
    let count = |packets: i64| Some(CounterData { byte_count: 60 * packets, packet_count: packets });
    let counts = |green, red| MeterCounterData { green: count(green), yellow: count(0), red: count(red) };
    let with = |counts| MeterEntry { counter_data: Some(counts), ..cell(1, Some(rates)) };
    assert_eq!(bed.read(with(counts(0, 0))).unwrap(), [Kinds::from(with(counts(2, 1)))]);
    let message = "meter TestIngress.policers: counter_data: the counts by colour can only be set to zero";
    assert_eq!(bed.refused(Type::Modify, with(counts(1, 0))), (Code::InvalidArgument, message.into()));
    bed.apply(Type::Modify, with(MeterCounterData::default())).unwrap();
    assert_eq!(bed.read(with(counts(0, 0))).unwrap(), [Kinds::from(with(counts(0, 0)))]);
}

#[test]
fn meters_take_the_rates_of_their_type() {
    use groupflow_switch::proto::p4::config::v1::meter_spec::Type as Kind;
    let single = MeterConfig { cir: 1, cburst: 1, pir: 1, pburst: 1, eburst: 0 };
    let excess = MeterConfig { eburst: 1, ..single };
    let two = MeterConfig { pir: 2, pburst: 2, ..single };
    // The colours of four packets at once.
    let cases = [
        (Kind::TwoRateThreeColor, two, vec![excess], [1, 1, 2]),
        (Kind::SingleRateThreeColor, excess, vec![two], [1, 1, 2]),
        (Kind::SingleRateTwoColor, single, vec![two, excess], [1, 0, 3]),
    ];
    for (kind, good, bad, expected) in cases {
        let mut bed = Testbed::with(crate::common::changed(|_, info| {
            info.meters[0].spec.as_mut().unwrap().r#type = kind as i32;
        }));
        let id = bed.meter(POLICERS);
        let cell =
            |config| MeterEntry { meter_id: id, index: at(1), config: Some(config), counter_data: None };
        for rates in bad {
            assert_eq!(bed.refused(Type::Modify, cell(rates)).0, Code::InvalidArgument, "{kind:?} {rates:?}");
        }
        bed.apply(Type::Modify, cell(good)).unwrap();
        assert_eq!(bed.read(cell(good)).unwrap(), [Kinds::from(cell(good))]);
        (0..4).for_each(|_| bed.inject(0, 1, &frame(1, 0x0800, 60)));
        let asked = MeterEntry { counter_data: Some(MeterCounterData::default()), ..cell(good) };
        let Kinds::MeterEntry(MeterEntry { counter_data: Some(counts), .. }) =
            bed.read(asked).unwrap().remove(0)
        else {
            panic!("no counts")
        };
        let counts = [counts.green, counts.yellow, counts.red];
        assert_eq!(counts.map(|count| count.unwrap().packet_count), expected, "{kind:?}");
    }
}

#[test]
fn the_default_entry_has_direct_resources() {
    let mut bed = Testbed::new(&[]);
    let table_entry = |table: &str, bed: &Testbed| TableEntry {
        table_id: bed.table(table),
        is_default_action: true,
        ..TableEntry::default()
    };
    let (rules, prefixes) = (table_entry(RULES, &bed), table_entry(PREFIXES, &bed));
    bed.inject(0, 1, &frame(1, 0x0800, 90));
    let counted = |bytes, packets| Some(CounterData { byte_count: bytes, packet_count: packets });
    let counter = |data| DirectCounterEntry { table_entry: Some(rules.clone()), data };
    assert_eq!(bed.read(counter(None)).unwrap(), [Kinds::from(counter(counted(90, 1)))]);
    bed.apply(Type::Modify, counter(counted(0, 5))).unwrap();
    let asked = TableEntry { counter_data: counted(0, 0), ..rules.clone() };
    let Kinds::TableEntry(read) = bed.read(asked).unwrap().remove(0) else { panic!("no entry") };
    assert_eq!(read.counter_data, counted(0, 5));
    // The default entry of `prefixes` gets a meter, which colours packets that no entry is for.
    let rates = Some(MeterConfig { cir: 1, cburst: 100, pir: 1, pburst: 100, eburst: 0 });
    let action = Some(bed.action(PREFIXES, "metered", &[]));
    let entry = TableEntry { action, meter_config: rates, ..prefixes.clone() };
    bed.apply(Type::Modify, entry.clone()).unwrap();
    (0..2).for_each(|_| bed.inject(0, 1, &frame(1, 0x0800, 90)));
    let asked = MeterCounterData::default();
    let meter =
        |config, counter_data| DirectMeterEntry { table_entry: Some(prefixes.clone()), config, counter_data };
    let counts = MeterCounterData { green: counted(90, 1), yellow: counted(0, 0), red: counted(90, 1) };
    assert_eq!(bed.read(meter(None, Some(asked))).unwrap(), [Kinds::from(meter(rates, Some(counts)))]);
    // A reset of the action resets them, too.
    bed.apply(Type::Modify, TableEntry { action: None, ..entry }).unwrap();
    assert_eq!(bed.read(meter(None, None)).unwrap(), [Kinds::from(meter(None, None))]);
}

#[test]
fn arrays_are_only_modified_and_indices_are_checked() {
    let mut bed = Testbed::new(&[]);
    let (register, counter, meter) = (bed.register(CELLS), bed.counter(ARRIVALS), bed.meter(POLICERS));
    let register = |index| RegisterEntry { register_id: register, index, data: bits(&[1]) };
    let counter = |index| CounterEntry { counter_id: counter, index, data: Some(CounterData::default()) };
    let meter = |index| MeterEntry { meter_id: meter, index, ..MeterEntry::default() };
    for kind in [Type::Insert, Type::Delete] {
        let refused = [
            bed.refused(kind, register(at(0))),
            bed.refused(kind, counter(at(0))),
            bed.refused(kind, meter(at(0))),
        ];
        for ((code, message), name) in refused.into_iter().zip(["register", "counter", "meter"]) {
            assert_eq!(
                (code, message),
                (Code::InvalidArgument, format!("{name}_entry: it can only be modified"))
            );
        }
    }
    let cases: [(Kinds, Code, &str); 8] = [
        (register(at(-1)).into(), Code::InvalidArgument, "register TestIngress.cells: index: -1 is negative"),
        (
            register(at(32)).into(),
            Code::OutOfRange,
            "register TestIngress.cells: index: 32, of only 32 cells",
        ),
        (
            counter(at(-1)).into(),
            Code::InvalidArgument,
            "counter TestIngress.arrivals: index: -1 is negative",
        ),
        (
            counter(at(16)).into(),
            Code::OutOfRange,
            "counter TestIngress.arrivals: index: 16, of only 16 cells",
        ),
        (meter(at(8)).into(), Code::OutOfRange, "meter TestIngress.policers: index: 8, of only 8 cells"),
        (
            RegisterEntry { data: None, ..register(at(0)) }.into(),
            Code::InvalidArgument,
            "register TestIngress.cells: data: it is missing",
        ),
        (
            RegisterEntry { data: bits(&[1, 0, 0, 0, 0]), ..register(at(0)) }.into(),
            Code::OutOfRange,
            "register TestIngress.cells: data: 0x0100000000 does not fit bit<32>",
        ),
        (
            RegisterEntry { data: Some(P4Data { data: Some(Data::Bool(true)) }), ..register(at(0)) }.into(),
            Code::InvalidArgument,
            "register TestIngress.cells: data: it must be a bitstring",
        ),
    ];
    for (entity, code, message) in cases {
        assert_eq!(bed.refused(Type::Modify, entity), (code, message.into()));
    }
    let unknown = RegisterEntry { register_id: 3, ..RegisterEntry::default() };
    assert_eq!(bed.read(unknown).unwrap_err().message, "register_id: the program has no register 3");
    let zero = CounterEntry { index: at(1), ..CounterEntry::default() };
    assert_eq!(
        bed.read(zero).unwrap_err().message,
        "counter_id: it is zero, so nothing else can be asked for"
    );
}

fn rule(bed: &Testbed) -> TableEntry {
    TableEntry { priority: 1, ..bed.entry(RULES, &[optional(3, 1)], "keep", &[]) }
}

#[test]
fn direct_counters() {
    let mut bed = Testbed::new(&[]);
    let start = Some(CounterData { byte_count: 10, packet_count: 1 });
    let entry = rule(&bed);
    bed.apply(Type::Insert, TableEntry { counter_data: start, ..entry.clone() }).unwrap();
    bed.inject(0, 1, &frame(1, 0x0800, 90));
    let now = Some(CounterData { byte_count: 100, packet_count: 2 });
    let filter = TableEntry { action: None, ..entry.clone() };
    let with_counter = TableEntry { counter_data: Some(CounterData::default()), ..filter.clone() };
    assert_eq!(bed.read(filter.clone()).unwrap(), [Kinds::from(entry.clone())], "not asked for, not there");
    assert_eq!(
        bed.read(with_counter).unwrap(),
        [Kinds::from(TableEntry { counter_data: now, ..entry.clone() })]
    );
    assert_eq!(bed.apply(Type::Modify, entry.clone()), Ok(()), "a modify without data keeps the counter");
    let direct = |data| DirectCounterEntry { table_entry: Some(filter.clone()), data };
    assert_eq!(bed.read(direct(None)).unwrap(), [Kinds::from(direct(now))]);
    assert_eq!(bed.apply(Type::Modify, direct(Some(CounterData::default()))), Ok(()));
    assert_eq!(bed.read(direct(None)).unwrap(), [Kinds::from(direct(Some(CounterData::default())))]);
    assert_eq!(bed.read(DirectCounterEntry::default()).unwrap().len(), 1);
    let of_priority = |priority| {
        let table_entry = Some(TableEntry { table_id: entry.table_id, priority, ..TableEntry::default() });
        bed.read(DirectCounterEntry { table_entry, data: None }).unwrap().len()
    };
    assert_eq!((of_priority(1), of_priority(2)), (1, 0), "a priority alone is a filter");
    assert_eq!(bed.refused(Type::Insert, direct(None)).1, "direct_counter_entry: it can only be modified");
    bed.apply(Type::Delete, entry).unwrap();
    assert_eq!(bed.refused(Type::Modify, direct(None)).0, Code::NotFound);
    assert_eq!(bed.read(direct(None)).unwrap_err().code, Code::NotFound);
}

#[test]
fn direct_meters() {
    let mut bed = Testbed::new(&[]);
    let entry = bed.entry(PREFIXES, &[lpm(1, 0x0200_0000_0000, 8)], "metered", &[]);
    bed.apply(Type::Insert, TableEntry { meter_config: Some(RATES), ..entry.clone() }).unwrap();
    let filter = TableEntry { action: None, ..entry.clone() };
    let direct = |config| DirectMeterEntry { table_entry: Some(filter.clone()), config, counter_data: None };
    assert_eq!(bed.read(direct(None)).unwrap(), [Kinds::from(direct(Some(RATES)))]);
    let asked = TableEntry { meter_config: Some(MeterConfig::default()), ..filter.clone() };
    assert_eq!(
        bed.read(asked.clone()).unwrap(),
        [Kinds::from(TableEntry { meter_config: Some(RATES), ..entry.clone() })]
    );
    // A modify that does not mention the meter resets it.
    assert_eq!(bed.apply(Type::Modify, entry.clone()), Ok(()));
    assert_eq!(bed.read(asked).unwrap(), [Kinds::from(entry.clone())]);
    assert_eq!(bed.apply(Type::Modify, direct(Some(RATES))), Ok(()));
    assert_eq!(bed.read(direct(None)).unwrap(), [Kinds::from(direct(Some(RATES)))]);
    assert_eq!(bed.refused(Type::Delete, direct(None)).0, Code::InvalidArgument);
    let cases = [
        (MeterConfig { pir: 1, ..RATES }, "pir: it is below cir"),
        (MeterConfig { cir: -1, ..RATES }, "cir: it is negative"),
        (
            MeterConfig { eburst: 1, ..RATES },
            "eburst: only meters of the type SINGLE_RATE_THREE_COLOR have it",
        ),
    ];
    for (rates, message) in cases {
        assert_eq!(bed.refused(Type::Modify, direct(Some(rates))), (Code::InvalidArgument, message.into()));
    }
}

#[test]
fn tables_without_direct_resources_refuse_them() {
    let mut bed = Testbed::new(&[]);
    let table = "TestIngress.destinations";
    let entry = bed.entry(table, &[crate::common::exact(1, 1)], "forward", &[1, 0]);
    let counter = TableEntry { counter_data: Some(CounterData::default()), ..entry.clone() };
    let message = format!("table {table}: counter_data: the table has no direct counter");
    assert_eq!(bed.refused(Type::Insert, counter), (Code::InvalidArgument, message));
    let meter = TableEntry { meter_config: Some(RATES), ..entry.clone() };
    assert_eq!(bed.refused(Type::Insert, meter).0, Code::InvalidArgument);
    let direct = DirectCounterEntry { table_entry: Some(entry), data: None };
    assert_eq!(bed.read(direct).unwrap_err().message, format!("table {table} has no direct counter"));
    assert_eq!(encode(5), [5]);
}
