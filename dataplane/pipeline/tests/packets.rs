//! A packet's way: verdicts, clones, rounds, digests, truncation, checksums, metadata.

use crate::common::*;
use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use groupflow_pipeline::{
    Arrival, Departure, DropReason, Fate, Frame, Instance, Pipeline, PipelineOptions, Program, Verdict,
};
use serde_json::json;

const FRAME: [u8; 10] = [1, 0x22, 0x33, 4, 5, 6, 7, 8, 0xaa, 0xbb];

fn mcast_grp(group: u128) -> serde_json::Value {
    assign("intrinsic_metadata", "mcast_grp", hex(group))
}

fn list_of(id: u32, fields: &[(&str, &str)]) -> serde_json::Value {
    let elements: Vec<_> = fields.iter().map(|(header, name)| field(header, name)).collect();
    json!({"id": id, "name": "fl", "elements": elements})
}

#[test]
fn verdicts() {
    let mark = || primitive("mark_to_drop", json!([header("standard_metadata")]));
    let cases = [
        (vec![], Verdict::Unicast(Port(0))),
        (vec![forward(510)], Verdict::Unicast(Port(510))),
        (vec![forward(511)], Verdict::Drop(DropReason::Marked)),
        (vec![forward(3), mark()], Verdict::Drop(DropReason::Marked)),
        (vec![mark(), forward(3)], Verdict::Unicast(Port(3))),
        (vec![forward(3), mcast_grp(7)], Verdict::Multicast(7)),
        (vec![mark(), mcast_grp(7)], Verdict::Multicast(7)),
        (vec![mcast_grp(7), mark()], Verdict::Drop(DropReason::Marked)),
    ];
    for (ops, expected) in cases {
        let mut p4 = P4::new();
        p4.run(INGRESS, ops.clone());
        let (verdict, packet) = ingress(&mut p4.load(), &FRAME);
        assert_eq!(verdict, expected, "{ops:?}");
        assert_eq!(packet.is_some(), !matches!(verdict, Verdict::Drop(_)));
    }
}

#[test]
fn a_copy_of_the_intrinsic_metadata_is_marked_alone() {
    let copied = |kept: bool| {
        let mut p4 = P4::new();
        p4.add_header("copy", json!([["mcast_grp", 16], ["egress_spec", 9], ["pad", 7]]), true);
        let mut ops = vec![forward(3), primitive("mark_to_drop", json!([header("copy")]))];
        if kept {
            ops.push(assign("standard_metadata", "egress_spec", field("copy", "egress_spec")));
        }
        p4.run(INGRESS, ops);
        ingress(&mut p4.load(), &FRAME).0
    };
    assert_eq!(copied(false), Verdict::Unicast(Port(3)));
    assert_eq!(copied(true), Verdict::Drop(DropReason::Marked));
    let mut p4 = P4::new();
    p4.run(INGRESS, vec![primitive("mark_to_drop", json!([header("m")]))]);
    let error = Program::from_json(&p4.json.to_string()).unwrap_err().to_string();
    assert!(error.contains("\"m\" has no field egress_spec"), "{error}");
}

#[test]
fn the_target_chooses_the_drop_port() {
    let mut p4 = P4::new();
    p4.run(INGRESS, vec![primitive("mark_to_drop", json!([header("standard_metadata")]))]);
    let program = p4.load().program().clone();
    let mut pipeline = Pipeline::with_options(
        program,
        PipelineOptions { drop_port: Port(77), ..PipelineOptions::default() },
    );
    assert_eq!(ingress(&mut pipeline, &FRAME).0, Verdict::Drop(DropReason::Marked));
    let mut p4 = P4::new();
    p4.run(INGRESS, vec![forward(511)]);
    let mut pipeline = Pipeline::with_options(
        p4.load().program().clone(),
        PipelineOptions { drop_port: Port(77), ..PipelineOptions::default() },
    );
    assert_eq!(ingress(&mut pipeline, &FRAME).0, Verdict::Unicast(Port(511)));
}

#[test]
fn egress_may_drop() {
    let mut p4 = P4::new();
    p4.run(EGRESS, vec![primitive("mark_to_drop", json!([header("standard_metadata")]))]);
    let mut pipeline = p4.load();
    let (_, packet) = ingress(&mut pipeline, &FRAME);
    let done = pipeline.egress(Nanos(0), packet.unwrap(), Departure::default());
    assert_eq!(done.emission, Emission::Drop(DropReason::Marked));
}

#[test]
fn copies_are_rewritten_apart() {
    let mut p4 = P4::new();
    p4.run(INGRESS, vec![mcast_grp(1)]);
    p4.run(
        EGRESS,
        vec![
            assign("h", "a", field("standard_metadata", "egress_rid")),
            assign("h", "b", field("standard_metadata", "egress_port")),
            assign("h", "d", field("standard_metadata", "instance_type")),
        ],
    );
    let mut pipeline = p4.load();
    let (_, packet) = ingress(&mut pipeline, &FRAME);
    let packet = packet.unwrap();
    for rid in 1..4 {
        let port = Port(10 + rid);
        let departure = Departure { port, rid, instance: Instance::Replication, ..Departure::default() };
        let done = pipeline.egress(Nanos(0), packet.clone(), departure);
        let r = rid as u8;
        assert_eq!(done.emission, Emission::Send(vec![r, 0, 10 + r, 4, 5, 6, 7, 5, 0xaa, 0xbb].into()));
    }
}

#[test]
fn metadata_of_both_pipelines() {
    let read = |name: &str| field("standard_metadata", name);
    let ingress_cases = [
        ("ingress_port", 1),
        ("packet_length", 10),
        ("ingress_global_timestamp", 5_000_001),
        ("instance_type", 0),
        ("checksum_error", 0),
        ("parser_error", 0),
    ];
    let egress_cases = [
        ("ingress_port", 1),
        ("egress_port", 7),
        ("packet_length", 10),
        ("egress_global_timestamp", 6_000_000),
        ("enq_timestamp", 5_500_000),
        ("enq_qdepth", 11),
        ("deq_qdepth", 12),
        ("deq_timedelta", 500_000),
        ("egress_rid", 13),
        ("instance_type", 5),
    ];
    let cases = ingress_cases.iter().map(|c| (INGRESS, c)).chain(egress_cases.iter().map(|c| (EGRESS, c)));
    for (control, &(name, expected)) in cases {
        let mut p4 = P4::new();
        p4.run(control, vec![assign("h", "c", read(name))]);
        let mut pipeline = p4.load();
        let done = pipeline.ingress(Nanos(5_000_001_999), Arrival::on(Port(1)), &FRAME);
        let departure = Departure {
            port: Port(7),
            rid: 13,
            instance: Instance::Replication,
            enq_timestamp: Nanos::from_micros(5_500_000),
            enq_qdepth: 11,
            deq_qdepth: 12,
            deq_timedelta: Nanos::from_millis(500),
        };
        let done = pipeline.egress(Nanos::from_secs(6), done.packet.unwrap(), departure);
        let Emission::Send(frame) = done.emission else { panic!("{name}") };
        assert_eq!(
            u32::from_be_bytes(frame.bytes[3..7].try_into().unwrap()),
            expected,
            "{name} in {control}"
        );
    }
}

#[test]
fn lengths_and_priority_of_a_packet() {
    let mut p4 = P4::new();
    p4.add_header("extra", json!([["v", 32]]), false);
    p4.emit(&["extra", "h"]);
    p4.run(
        INGRESS,
        vec![
            primitive("add_header", json!([header("extra")])),
            assign("standard_metadata", "priority", hex(5)),
        ],
    );
    p4.run(EGRESS, vec![assign("extra", "v", field("standard_metadata", "packet_length"))]);
    let mut pipeline = p4.load();
    let packet = ingress(&mut pipeline, &FRAME).1.unwrap();
    assert_eq!((packet.wire_len(), packet.priority()), (14, 5));
    let frame = leave(&mut pipeline, packet, Port(2));
    assert_eq!(frame[..4], [0, 0, 0, 14]);
    assert_eq!((&frame[12..], frame.len()), (&[0xaa, 0xbb][..], 14));
}

#[test]
fn an_ingress_clone_is_the_packet_as_it_arrived() {
    let mut p4 = P4::new();
    p4.add("field_lists", list_of(1, &[("m", "x")]));
    p4.run(
        INGRESS,
        vec![
            forward(3),
            assign("m", "x", hex(0x77)),
            assign("m", "s", hex(0x55)),
            assign("h", "a", hex(99)),
            primitive("clone_ingress_pkt_to_egress", json!([hex(42), hex(1)])),
        ],
    );
    p4.run(
        EGRESS,
        vec![
            assign("h", "b", field("m", "x")),
            assign("h", "c", field("m", "s")),
            assign("h", "d", field("standard_metadata", "instance_type")),
        ],
    );
    let mut pipeline = p4.load();
    let done = pipeline.ingress(Nanos(0), Arrival::on(Port(1)), &FRAME);
    let clone = done.clone.unwrap();
    assert_eq!(clone.session, 42);
    let departure = Departure { instance: Instance::CloneIngress, ..Departure::default() };
    let sent = pipeline.egress(Nanos(0), clone.packet, departure).emission;
    assert_eq!(sent, Emission::Send(vec![1, 0, 0x77, 0, 0, 0, 0, 1, 0xaa, 0xbb].into()));
    let original = leave(&mut pipeline, done.packet.unwrap(), Port(3));
    assert_eq!(original, [99, 0, 0x77, 0, 0, 0, 0x55, 0, 0xaa, 0xbb]);
}

#[test]
fn an_egress_clone_is_the_packet_after_egress() {
    let mut p4 = P4::new();
    p4.add("field_lists", list_of(3, &[("m", "x")]));
    p4.run(INGRESS, vec![forward(3), assign("m", "x", hex(0x77))]);
    let normal = op("==", field("standard_metadata", "instance_type"), hex(0));
    p4.run(
        EGRESS,
        vec![
            assign("h", "b", field("m", "x")),
            primitive("_jump_if_zero", json!([unary("b2d", normal), hex(4)])),
            primitive("clone_egress_pkt_to_egress", json!([hex(7), hex(3)])),
            assign("h", "a", hex(99)),
        ],
    );
    let mut pipeline = p4.load();
    let packet = ingress(&mut pipeline, &FRAME).1.unwrap();
    let done = pipeline.egress(Nanos(0), packet, Departure::default());
    let clone = done.clone.unwrap();
    assert_eq!(clone.session, 7);
    let departure = Departure { instance: Instance::CloneEgress, ..Departure::default() };
    let done = pipeline.egress(Nanos(0), clone.packet, departure);
    assert_eq!(done.emission, Emission::Send(vec![99, 0, 0x77, 4, 5, 6, 7, 8, 0xaa, 0xbb].into()));
    assert!(done.clone.is_none());
}

#[test]
fn resubmit_starts_again_with_the_fields_kept() {
    let mut p4 = P4::new();
    p4.add("field_lists", list_of(1, &[("m", "x")]));
    let first = unary("b2d", op("==", field("standard_metadata", "instance_type"), hex(0)));
    p4.run(
        INGRESS,
        vec![
            forward(3),
            assign("h", "c", field("m", "x")),
            primitive("_jump_if_zero", json!([first, hex(6)])),
            assign("m", "x", hex(0x12)),
            assign("h", "a", hex(99)),
            primitive("resubmit", json!([hex(1)])),
        ],
    );
    let mut pipeline = p4.load();
    let done = pipeline.ingress(Nanos(0), Arrival::on(Port(1)), &FRAME);
    let Verdict::Resubmit(kept) = done.verdict else { panic!("{:?}", done.verdict) };
    assert!(done.packet.is_none());
    let again = Arrival { port: Port(1), instance: Instance::Resubmit, restored: Some(kept), tail: 0 };
    let done = pipeline.ingress(Nanos(0), again, &FRAME);
    assert_eq!(done.verdict, Verdict::Unicast(Port(3)));
    assert_eq!(leave(&mut pipeline, done.packet.unwrap(), Port(3))[..7], [1, 0x22, 0x33, 0, 0, 0, 0x12]);
}

#[test]
fn recirculate_takes_the_deparsed_frame() {
    let mut p4 = P4::new();
    p4.add("field_lists", list_of(1, &[("m", "x")]));
    p4.run(INGRESS, vec![forward(3), assign("h", "c", field("m", "x"))]);
    p4.run(
        EGRESS,
        vec![
            assign("h", "a", hex(99)),
            assign("m", "x", hex(0x34)),
            primitive("recirculate", json!([hex(1)])),
        ],
    );
    let mut pipeline = p4.load();
    let packet = ingress(&mut pipeline, &FRAME).1.unwrap();
    let Emission::Recirculate { frame, preserved } =
        pipeline.egress(Nanos(0), packet, Departure::default()).emission
    else {
        panic!("not recirculated")
    };
    assert_eq!(frame.bytes[0], 99);
    let again =
        Arrival { port: Port(0), instance: Instance::Recirculated, restored: Some(preserved), tail: 0 };
    let packet = pipeline.ingress(Nanos(0), again, &frame.bytes).packet.unwrap();
    let Emission::Recirculate { frame, .. } =
        pipeline.egress(Nanos(0), packet, Departure::default()).emission
    else {
        panic!("not recirculated")
    };
    assert_eq!(frame.bytes, [99, 0x22, 0x33, 0, 0, 0, 0x34, 8, 0xaa, 0xbb]);
}

/// BMv2 keeps the request with a packet for one port; copies for a group lose the request.
#[test]
fn ingress_asks_for_a_recirculation_after_egress() {
    for (group, expected) in [(0, true), (7, false)] {
        let mut p4 = P4::new();
        p4.add("field_lists", list_of(1, &[("m", "x")]));
        let to_group = assign("standard_metadata", "mcast_grp", hex(group));
        p4.run(INGRESS, vec![forward(3), to_group, primitive("recirculate", json!([hex(1)]))]);
        for mut pipeline in p4.engines() {
            let packet = ingress(&mut pipeline, &FRAME).1.unwrap();
            let left = pipeline.egress(Nanos(0), packet, Departure::default()).emission;
            assert_eq!(matches!(left, Emission::Recirculate { .. }), expected, "group {group}");
        }
    }
}

#[test]
fn digests_carry_their_members() {
    let mut p4 = P4::new();
    p4.add(
        "learn_lists",
        json!({"id": 1, "name": "learn_t", "elements": [field("h", "b"), field("m", "s")]}),
    );
    let digest = || primitive("generate_digest", json!([hex(1), hex(1)]));
    p4.run(INGRESS, vec![digest(), assign("m", "s", hex(0xfe)), digest()]);
    let mut pipeline = p4.load();
    let done = pipeline.ingress(Nanos(0), Arrival::on(Port(1)), &FRAME);
    let info = pipeline.program().digest("learn_t").unwrap();
    assert_eq!(info.widths, [16, 8]);
    let [digest] = done.digests.into_vec().try_into().unwrap();
    assert_eq!((digest.digest, digest.values.as_slice()), (info.id, &[0x2233, 0xfe][..]));
}

#[test]
fn truncate_cuts_the_frame() {
    for (control, length, expected) in [(INGRESS, 3, 3), (EGRESS, 3, 3), (INGRESS, 100, 10), (EGRESS, 0, 0)] {
        let mut p4 = P4::new();
        p4.run(control, vec![primitive("truncate", json!([hex(length)]))]);
        assert_eq!(through(&mut p4.load(), &FRAME), FRAME[..expected], "{control} {length}");
    }
}

#[test]
fn headers_are_added_removed_and_copied() {
    let mut p4 = P4::new();
    p4.json["headers"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "h2", "id": 50, "header_type": "h", "metadata": false}));
    p4.emit(&["h2", "h"]);
    p4.run(
        INGRESS,
        vec![
            primitive("assign_header", json!([header("h2"), header("h")])),
            assign("h2", "a", hex(2)),
            primitive("remove_header", json!([header("h")])),
        ],
    );
    assert_eq!(through(&mut p4.load(), &FRAME), [2, 0x22, 0x33, 4, 5, 6, 7, 8, 0xaa, 0xbb]);
    p4.run(EGRESS, vec![primitive("add_header", json!([header("h")]))]);
    let zeros = [0; 8];
    assert_eq!(
        through(&mut p4.load(), &FRAME),
        [&[2], &FRAME[1..8], &zeros, &FRAME[8..]].concat(),
        "added headers are zero"
    );
}

/// The tail that a simulator gives instead of a payload: lengths include it, bytes do not.
#[test]
fn a_tail_counts_and_is_carried() {
    let mut p4 = P4::new();
    p4.add("counter_arrays", json!({"name": "n", "id": 0, "size": 1, "is_direct": false}));
    p4.run(
        INGRESS,
        vec![
            forward(3),
            assign("h", "c", field("standard_metadata", "packet_length")),
            primitive("count", json!([json!({"type": "counter_array", "value": "n"}), hex(0)])),
        ],
    );
    p4.run(EGRESS, vec![assign("h", "b", field("standard_metadata", "packet_length"))]);
    let mut pipeline = p4.load();
    let arrival = Arrival { tail: 1_400, ..Arrival::on(Port(1)) };
    let packet = pipeline.ingress(Nanos(0), arrival.clone(), &FRAME).packet.unwrap();
    assert_eq!(packet.wire_len(), 1_410);
    let copy = pipeline.replicate(&packet);
    for packet in [packet, copy] {
        let mut frame = Frame::from(vec![9; 100]);
        let done = pipeline.egress_into(Nanos(0), packet, Departure::default(), &mut frame);
        assert_eq!(done.fate, Fate::Send);
        assert_eq!(frame.bytes, [1, 5, 0x82, 0, 0, 5, 0x82, 8, 0xaa, 0xbb]);
        assert_eq!((frame.tail, frame.wire_len()), (1_400, 1_410));
    }
    let counter = pipeline.program().counter("n").unwrap().id;
    assert_eq!(pipeline.counter_read(counter, 0).unwrap().bytes, 1_410);
    let short = pipeline.ingress(Nanos(0), arrival, &FRAME[..4]);
    assert_eq!(pipeline.stats().parser_errors, 1, "no header is read from a tail");
    assert_eq!(leave(&mut pipeline, short.packet.unwrap(), Port(2)), &FRAME[..4]);
}

#[test]
fn truncation_takes_the_tail_first() {
    for (length, bytes, tail) in [(12, 10, 2), (10, 10, 0), (4, 4, 0), (100, 10, 30)] {
        let mut p4 = P4::new();
        p4.run(INGRESS, vec![forward(3), primitive("truncate", json!([hex(length)]))]);
        let mut pipeline = p4.load();
        let arrival = Arrival { tail: 30, ..Arrival::on(Port(1)) };
        let packet = pipeline.ingress(Nanos(0), arrival, &FRAME).packet.unwrap();
        assert_eq!(packet.wire_len(), bytes + tail as usize, "{length}");
        let Emission::Send(frame) = pipeline.egress(Nanos(0), packet, Departure::default()).emission else {
            panic!("not sent")
        };
        assert_eq!((frame.bytes.len(), frame.tail), (bytes, tail), "{length}");
    }
}

#[test]
fn an_exit_of_ingress_is_not_one_of_egress() {
    let mut p4 = P4::new();
    p4.run(INGRESS, vec![forward(3), primitive("exit", json!([]))]);
    let never = primitive("_jump_if_zero", json!([hex(0), hex(2)]));
    p4.run(EGRESS, vec![never, primitive("exit", json!([]))]);
    p4.run(EGRESS, vec![assign("h", "a", hex(9))]);
    for mut pipeline in p4.engines() {
        let (arrival, mut frame) = (Arrival::on(Port(1)), Frame::default());
        let done = pipeline.arrive(Nanos(0), &arrival, &FRAME).egress(&Departure::default(), &mut frame);
        assert_eq!((done.fate, frame.bytes[0]), (Fate::Send, 9));
    }
}
