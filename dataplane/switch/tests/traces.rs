//! Traces: the way of chosen packets, each copy and each reason of a drop.

use crate::common::{frame, group, replica, session, Testbed};
use groupflow_pipeline::{Port, Step};
use groupflow_switch::core::{Trace, TraceFilter};
use groupflow_switch::proto::p4::v1::update::Type;

const MS: u64 = 1_000_000;

fn arm(bed: &mut Testbed, filter: TraceFilter, count: u64) -> u64 {
    bed.switch.tracer().arm(filter, count).unwrap()
}

/// The one trace of a frame to `mac` that arrives at port 1.
fn trace(bed: &mut Testbed, mac: u64) -> Trace {
    let filter = arm(bed, TraceFilter::default(), 1);
    bed.inject(0, 1, &frame(mac, 0x0800, 100));
    bed.advance(100 * MS);
    let traces = bed.switch.tracer().take(filter).unwrap();
    assert_eq!(bed.switch.tracer().take(filter), None, "the filter is done");
    traces.into_iter().next().unwrap()
}

/// Cause and verdict of each pass, with those that follow in brackets.
fn shape(branch: &groupflow_switch::core::Branch) -> String {
    let copies: Vec<String> = branch.copies.iter().map(shape).collect();
    format!("{}: {} [{}]", branch.cause, branch.verdict, copies.join(", "))
}

#[test]
fn each_way_has_its_tree() {
    let mut bed = Testbed::new(&["3:loss=1,dir=out", "4:rate=8kbit,queue=1,dir=out"]);
    bed.apply(Type::Insert, group(5, &[replica(2, 1), replica(9, 2)])).unwrap();
    bed.apply(Type::Insert, session(7, &[replica(2, 0)], 0, 0)).unwrap();
    let cases: &[(u64, &str, &[u128], &str)] = &[
        (1, "forward", &[2, 0], "arrival: to port 2 [unicast: sent []]"),
        (2, "forward", &[3, 0], "arrival: to port 3 [unicast: dropped: the link lost it []]"),
        (3, "forward", &[9, 0], "arrival: to port 9 [unicast: dropped: no such port []]"),
        (
            4,
            "multicast",
            &[5],
            "arrival: to multicast group 5 [multicast: sent [], multicast: dropped: no such port []]",
        ),
        (5, "multicast", &[6], "arrival: dropped: multicast group 6 has no copies []"),
        (6, "clone_and_forward", &[7, 2], "arrival: to port 2 [clone: sent [], unicast: sent []]"),
        (
            7,
            "clone_and_forward",
            &[8, 2],
            "arrival: to port 2 [clone: dropped: there is no clone session 8 [], unicast: sent []]",
        ),
    ];
    for (mac, action, arguments, expected) in cases {
        bed.when_to(u128::from(*mac), action, arguments);
        assert_eq!(shape(&trace(&mut bed, *mac).root), *expected);
    }
    bed.when_to(9, "forward", &[4, 0]);
    (0..3).for_each(|_| bed.inject(200 * MS, 1, &frame(9, 0x0800, 100)));
    let full = trace(&mut bed, 9).root;
    assert_eq!(shape(&full), "arrival: to port 4 [unicast: dropped: the queue is full []]");
    let queue = full.copies[0].queue.as_ref().unwrap();
    assert_eq!((queue.port, queue.queue, queue.depth), (4, 0, 1));
    bed.when_to(8, "drop", &[]);
    let dropped = trace(&mut bed, 8).root.verdict;
    assert!(dropped.starts_with("dropped: the program marked the packet to drop ("), "{dropped}");
    assert!(dropped.ends_with("testbed.p4:84)"), "{dropped}");
}

#[test]
fn a_packet_goes_the_same_way_with_a_trace_and_without() {
    let mut beds = [
        Testbed::new(&["2:rate=8mbit,delay=1ms,dir=out"]),
        Testbed::new(&["2:rate=8mbit,delay=1ms,dir=out"]),
    ];
    let filter = arm(&mut beds[0], TraceFilter::default(), 1000);
    let mut left = Vec::new();
    for bed in &mut beds {
        bed.apply(Type::Insert, group(5, &[replica(2, 1), replica(3, 2)])).unwrap();
        bed.apply(Type::Insert, session(7, &[replica(2, 0)], 0, 0)).unwrap();
        bed.when_to(1, "forward", &[2, 0]);
        bed.when_to(2, "multicast", &[5]);
        bed.when_to(3, "clone_and_forward", &[7, 2]);
        bed.when_to(4, "go_round", &[2]);
        for number in 0..40 {
            bed.inject(number * 100_000, 1, &frame(1 + number % 4, 0x0800, 300));
        }
        left.push((bed.advance(1000 * MS), format!("{:?}", bed.switch.stats())));
    }
    assert_eq!(left[0], left[1]);
    let traces = beds[0].switch.tracer().take(filter).unwrap();
    assert_eq!(traces.len(), 40);
    assert!(traces.iter().any(|trace| shape(&trace.root).contains("recirculate: to port 2")));
}

#[test]
fn a_filter_chooses_by_port_field_and_drop() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[2, 0]);
    bed.when_to(2, "drop", &[]);
    let pipeline = &bed.switch.forwarding().unwrap().pipeline;
    let to_1 = pipeline.field_match("ethernet.dst=1").unwrap();
    let unknown = pipeline.field_match("ethernet.colour=1").unwrap_err().to_string();
    assert!(
        unknown.starts_with("match ethernet.colour=1: the program extracts no such field; its headers are ")
    );
    assert!(pipeline
        .field_match("ethernet.dst")
        .unwrap_err()
        .to_string()
        .contains("write header.field=VALUE"));
    let wide = pipeline.field_match("ethernet.ethertype=0x12345").unwrap_err().to_string();
    assert_eq!(wide, "match ethernet.ethertype=0x12345: the value does not fit the field's 16 bits");
    let filters = [
        TraceFilter { port: Some(Port(3)), ..TraceFilter::default() },
        TraceFilter { dropped: true, port: Some(Port(2)), ..TraceFilter::default() },
        TraceFilter { fields: vec![to_1], ..TraceFilter::default() },
    ];
    let filters = filters.map(|filter| arm(&mut bed, filter, 10));
    for (port, mac) in [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2)] {
        bed.inject(0, port, &frame(mac, 0x0800, 100));
    }
    bed.advance(MS);
    let found = filters.map(|filter| {
        let traces = bed.switch.tracer().take(filter).unwrap();
        traces.iter().map(|trace| (trace.port, trace.root.dropped)).collect::<Vec<_>>()
    });
    assert_eq!(found, [vec![(3, true)], vec![(2, true)], vec![(1, false)]]);
}

#[test]
fn traces_are_bounded_and_say_how_many_are_missing() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[2, 0]);
    let filter = arm(&mut bed, TraceFilter::default(), u64::MAX);
    for number in 0..1000 {
        bed.inject(number, 1, &frame(1, 0x0800, 100));
    }
    assert_eq!(bed.advance(MS).len(), 1000, "every frame is sent");
    assert_eq!(bed.switch.tracer().take(filter).unwrap().len(), 64);
    bed.inject(MS, 1, &frame(1, 0x0800, 100));
    bed.advance(2 * MS);
    assert_eq!(bed.switch.tracer().take(filter).unwrap()[0].missed, 1000 - 64);
    bed.switch.tracer().disarm(filter);
    assert!(bed.switch.tracer().is_idle());
}

#[test]
fn looking_for_drops_leaves_most_packets_to_machine_code() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[2, 0]);
    bed.when_to(2, "drop", &[]);
    let filter = arm(&mut bed, TraceFilter { dropped: true, ..TraceFilter::default() }, 1);
    for number in 0..10_000 {
        bed.inject(number * 1_000, 1, &frame(1, 0x0800, 100));
    }
    bed.inject(1_000 * MS, 1, &frame(2, 0x0800, 100));
    bed.advance(2_000 * MS);
    // 64 at once, then one a millisecond, of packets that come in ten.
    assert_eq!(bed.switch.tracer().take(filter).unwrap()[0].missed, 10_000 - 64 - 9);
}

#[test]
fn steps_show_headers_tables_and_registers() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[2, 0]);
    let steps = trace(&mut bed, 1).root.steps;
    assert!(steps.contains(&Step::State { name: "start".into() }));
    let table = steps.iter().find_map(|step| match step {
        Step::Table { table, key, hit: true, action, .. } if table == "TestIngress.destinations" => {
            Some((key.clone(), action.clone()))
        }
        _ => None,
    });
    let (key, action) = table.unwrap();
    assert_eq!((key[0].1.as_str(), action.as_str()), ("0x1", "TestIngress.forward"));
    assert!(steps.iter().any(|step| matches!(step, Step::Extract { header, .. } if header == "ethernet")));
}
