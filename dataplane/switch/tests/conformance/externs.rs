//! Queues, port settings and packet generators as ExternEntry.

use std::collections::BTreeMap;

use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use groupflow_switch::p4rt::{Code, GENERATOR, PORT, QUEUE};
use groupflow_switch::proto::p4::v1::entity::Entity as Kinds;
use groupflow_switch::proto::p4::v1::update::Type;
use groupflow_switch::proto::p4::v1::ExternEntry;
use prost::Message;
use prost_types::value::Kind;
use prost_types::{Any, Struct, Value};

use crate::common::{request, Testbed};

const MS: u64 = 1_000_000;

fn number(number: u32) -> Kind {
    Kind::NumberValue(number.into())
}

fn text(text: &str) -> Kind {
    Kind::StringValue(text.into())
}

fn entry(extern_type_id: u32, fields: &[(&str, Kind)]) -> ExternEntry {
    let field = |(name, kind): &(&str, Kind)| (name.to_string(), Value { kind: Some(kind.clone()) });
    let value = Struct { fields: fields.iter().map(field).collect() }.encode_to_vec();
    let any = Any { type_url: "type.googleapis.com/google.protobuf.Struct".into(), value };
    ExternEntry { extern_type_id, extern_id: 0, entry: Some(any) }
}

fn found(bed: &Testbed, extern_type_id: u32, fields: &[(&str, Kind)]) -> Vec<BTreeMap<String, Option<Kind>>> {
    let entities = bed.read(entry(extern_type_id, fields)).unwrap();
    let fields = entities.into_iter().map(|entity| match entity {
        Kinds::ExternEntry(entry) if entry.extern_type_id == extern_type_id => {
            let fields = Struct::decode(&entry.entry.unwrap().value[..]).unwrap().fields;
            fields.into_iter().map(|(name, value)| (name, value.kind)).collect()
        }
        other => panic!("{other:?}"),
    });
    fields.collect()
}

#[test]
fn a_queue_is_set_and_read() {
    let mut bed = Testbed::of_queues(&["2:rate=8mbit,dir=out"]);
    let fields = [
        ("port", number(2)),
        ("queue", number(3)),
        ("level", number(9)),
        ("weight", number(4)),
        ("rate", text("12.5pps")),
        ("paused", Kind::BoolValue(true)),
        ("limit_packets", number(2)),
        ("limit_bytes", number(64_000)),
    ];
    assert_eq!(bed.apply(Type::Modify, entry(QUEUE, &fields)), Ok(()));
    (0..3).for_each(|_| bed.inject(0, 1, &request(2, 3, 0, 1000)));
    let read = found(&bed, QUEUE, &fields[..2]);
    assert_eq!(read.len(), 1);
    for (name, kind) in fields {
        assert_eq!(read[0][name], Some(kind), "{name}");
    }
    for (name, value) in [("packets", 2), ("bytes", 2000), ("enqueued", 2), ("sent", 0), ("dropped", 1)] {
        assert_eq!(read[0][name], Some(number(value)), "{name}");
    }
    assert_eq!(
        (&read[0]["demand"], &read[0]["share"]),
        (&Some(Kind::NullValue(0)), &Some(Kind::NullValue(0)))
    );
    let Some(Kind::StructValue(drops)) = &read[0]["drops"] else { panic!("{:?}", read[0]["drops"]) };
    let Some(Kind::StructValue(full)) = &drops.fields["full_packets"].kind else { panic!("{drops:?}") };
    assert_eq!(full.fields["packets"].kind, Some(number(1)));
    let back = [("port", number(2)), ("queue", number(3)), ("limit_packets", Kind::NullValue(0))];
    assert_eq!(bed.apply(Type::Modify, entry(QUEUE, &back)), Ok(()));
    assert_eq!(found(&bed, QUEUE, &back[..2])[0]["limit_packets"], Some(Kind::NullValue(0)));
}

#[test]
fn queues_are_read_by_port_and_number_or_all() {
    let bed = Testbed::of_queues(&[]);
    assert_eq!(found(&bed, QUEUE, &[]).len(), 5 * 8, "four ports and the controller's");
    assert_eq!(found(&bed, QUEUE, &[("port", number(2))]).len(), 8);
    assert_eq!(found(&bed, QUEUE, &[("queue", number(7))]).len(), 5);
    assert_eq!(found(&bed, QUEUE, &[("port", number(9))]).len(), 0);
    assert_eq!(found(&bed, PORT, &[]).len(), 5);
    let without = ExternEntry { extern_type_id: QUEUE, ..ExternEntry::default() };
    assert_eq!(bed.read(without).unwrap().len(), 40);
}

#[test]
fn a_rate_takes_effect_at_the_time_that_was_reached() {
    let mut bed = Testbed::of_queues(&[]);
    let rate = |rate| entry(QUEUE, &[("port", number(2)), ("queue", number(3)), ("rate", text(rate))]);
    bed.apply(Type::Modify, rate("10pps")).unwrap();
    (0..3).for_each(|_| bed.inject(0, 1, &request(2, 3, 0, 1000)));
    assert_eq!(bed.left(0), [(0, 2)]);
    bed.switch.catch_up(Nanos(50 * MS));
    bed.apply(Type::Modify, rate("100pps")).unwrap();
    assert_eq!(bed.left(1000 * MS), [(55 * MS, 2), (65 * MS, 2)]);
}

#[test]
fn a_ports_nominal_packet_is_set_and_read() {
    let mut bed = Testbed::of_queues(&[]);
    let fields = [("port", number(2)), ("nominal_packet", number(600))];
    assert_eq!(bed.apply(Type::Modify, entry(PORT, &fields)), Ok(()));
    assert_eq!(found(&bed, PORT, &fields[..1])[0]["nominal_packet"], Some(number(600)));
    assert_eq!(bed.switch.nominal_packet(Port(2)), Ok(600));
}

#[test]
fn generators_come_change_and_go() {
    let mut bed = Testbed::of_queues(&[]);
    let hex = |id| request(2, 3, id, 20).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let id = [("id", number(5))];
    let generator = |frame: &str, period| {
        entry(GENERATOR, &[("id", number(5)), ("period_ns", number(period)), ("frame", text(frame))])
    };
    bed.switch.catch_up(Nanos(500));
    let missing = (Code::NotFound, "generator: 5: it does not exist".to_string());
    assert_eq!(bed.refused(Type::Modify, generator(&hex(1), 1000)), missing);
    assert_eq!(bed.refused(Type::Delete, entry(GENERATOR, &id)), missing);
    assert_eq!(bed.apply(Type::Insert, generator(&hex(1), 1000)), Ok(()));
    let twice = (Code::AlreadyExists, "generator: 5: it exists already".to_string());
    assert_eq!(bed.refused(Type::Insert, generator(&hex(1), 1000)), twice);
    assert_eq!(bed.left(2500), [(500, 2), (1500, 2), (2500, 2)]);
    let read = found(&bed, GENERATOR, &id);
    for (name, value) in [("id", 5), ("period_ns", 1000), ("first_ns", 500), ("port", 0), ("ticks", 3)] {
        assert_eq!(read[0][name], Some(number(value)), "{name}");
    }
    assert_eq!(read[0]["frame"], Some(text(&hex(1))));
    assert_eq!(bed.apply(Type::Modify, generator(&hex(2), 2000)), Ok(()));
    assert_eq!(bed.left(5000), [(2500, 2), (4500, 2)], "from then on");
    assert_eq!(bed.read(ExternEntry::default()).unwrap().len(), 1, "all that can be removed");
    assert_eq!(bed.apply(Type::Delete, entry(GENERATOR, &id)), Ok(()));
    assert_eq!((bed.left(10_000), bed.switch.deadline()), (vec![], None));
    assert_eq!(bed.read(ExternEntry::default()), Ok(vec![]));
}

#[test]
fn what_is_wrong_is_named() {
    let mut bed = Testbed::of_queues(&[]);
    let queue = |more: &[(&'static str, Kind)]| {
        let mut fields = vec![("port", number(2)), ("queue", number(3))];
        fields.extend_from_slice(more);
        entry(QUEUE, &fields)
    };
    let generator = |more: &[(&'static str, Kind)]| {
        let mut fields = vec![("id", number(5)), ("period_ns", number(1000)), ("frame", text("00"))];
        fields.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
        fields.extend_from_slice(more);
        entry(GENERATOR, &fields)
    };
    let of_type = |type_url: &str| {
        let any = Any { type_url: type_url.into(), value: vec![0xff] };
        ExternEntry { extern_type_id: QUEUE, extern_id: 0, entry: Some(any) }
    };
    let cases = [
        (
            Type::Modify,
            entry(5, &[]),
            "extern_type_id: 0x5 is not 0x81 (queue), 0x82 (port) or 0x83 (generator)",
        ),
        (
            Type::Modify,
            ExternEntry { extern_id: 7, ..queue(&[]) },
            "extern_id: 7, and must be 0: the entry says which one",
        ),
        (
            Type::Modify,
            of_type("type.googleapis.com/p4.v1.Entity"),
            "entry: \"type.googleapis.com/p4.v1.Entity\" is not google.protobuf.Struct",
        ),
        (
            Type::Modify,
            of_type("google.protobuf.Struct"),
            "entry: not a google.protobuf.Struct: failed to decode Protobuf message: invalid varint",
        ),
        (Type::Insert, queue(&[]), "queue: it can only be modified"),
        (Type::Modify, entry(QUEUE, &[("queue", number(3))]), "queue: entry.port: it is missing"),
        (
            Type::Modify,
            entry(QUEUE, &[("port", number(9)), ("queue", number(3))]),
            "queue: entry.port: there is no port 9",
        ),
        (
            Type::Modify,
            entry(QUEUE, &[("port", number(2)), ("queue", number(8))]),
            "queue: entry.queue: port 2 has queues 0 to 7, not 8",
        ),
        (
            Type::Modify,
            queue(&[("level", number(256))]),
            "queue: entry.level: it is not a whole number between 0 and 255",
        ),
        (
            Type::Modify,
            queue(&[("weight", Kind::NumberValue(1.5))]),
            "queue: entry.weight: it is not a whole number between 1 and 65535",
        ),
        (
            Type::Modify,
            queue(&[("limit_bytes", text("many"))]),
            "queue: entry.limit_bytes: it is not a whole number between 1 and 1099511627776",
        ),
        (Type::Modify, queue(&[("rate", number(5))]), "queue: entry.rate: it is not a string"),
        (
            Type::Modify,
            queue(&[("rate", text("5"))]),
            "queue: entry.rate: \"5\" is not a rate such as 1000pps (pps, kpps, mpps) or 10mbit (bit, \
                kbit, mbit, gbit), or unlimited",
        ),
        (Type::Modify, queue(&[("paused", number(1))]), "queue: entry.paused: it is not true or false"),
        (
            Type::Modify,
            queue(&[("sent", number(0))]),
            "queue: entry.sent: it is not one of port, queue, level, weight, rate, paused, \
                limit_packets, limit_bytes",
        ),
        (
            Type::Modify,
            entry(PORT, &[("port", number(2)), ("nominal_packet", number(0))]),
            "port: entry.nominal_packet: it is not a whole number between 1 and 9216",
        ),
        (
            Type::Insert,
            generator(&[("id", number(64))]),
            "generator: entry.id: it is not a whole number between 0 and 63",
        ),
        (
            Type::Insert,
            generator(&[("period_ns", number(999))]),
            "generator: 5: entry.period_ns: 999 is below 1000 ns",
        ),
        (
            Type::Insert,
            generator(&[("frame", text("0"))]),
            "generator: entry.frame: it is not hexadecimal, two digits a byte",
        ),
        (
            Type::Insert,
            generator(&[("frame", text(""))]),
            "generator: 5: entry.frame: 0 bytes, of at most 9216, at least 1",
        ),
        (
            Type::Insert,
            generator(&[("frame", Kind::NullValue(0))]),
            "generator: entry.frame: it is not a string",
        ),
        (
            Type::Insert,
            generator(&[("port", number(512))]),
            "generator: entry.port: it is not a whole number between 0 and 511",
        ),
        (Type::Delete, generator(&[]), "generator: entry.frame: it is not one of id"),
    ];
    for (kind, entry, message) in cases {
        assert_eq!(bed.refused(kind, entry), (Code::InvalidArgument, message.into()));
    }
    let all = entry(0, &[("port", number(1))]);
    let error = bed.read(all).unwrap_err();
    assert_eq!(error.message, "extern_type_id: it is zero, so nothing else can be asked for");
}

#[test]
fn generators_of_a_saved_program_start_when_it_is_committed() {
    use groupflow_switch::p4rt::PipelineConfig;
    use groupflow_switch::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
    let mut bed = Testbed::of_queues(&[]);
    let config =
        PipelineConfig::from_files(crate::common::QUEUES_JSON, crate::common::QUEUES_P4INFO).unwrap();
    bed.runtime.set_config(&mut bed.switch, Action::VerifyAndSave, Some(config)).unwrap();
    let frame: String = request(2, 3, 0, 20).iter().map(|byte| format!("{byte:02x}")).collect();
    let fields =
        [("id", number(0)), ("period_ns", number(1000)), ("first_ns", number(0)), ("frame", text(&frame))];
    bed.apply(Type::Insert, entry(GENERATOR, &fields)).unwrap();
    assert_eq!(bed.left(5500), []);
    bed.runtime.set_config(&mut bed.switch, Action::Commit, None).unwrap();
    assert_eq!(bed.left(7000), [(6000, 2), (7000, 2)]);
    bed.runtime.install(&mut bed.switch, crate::common::queues_config());
    assert_eq!(bed.left(9000), [], "a new program has none");
}
