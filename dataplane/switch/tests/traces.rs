//! Traces: the way of chosen packets, each copy and each reason of a drop.

use crate::common::{frame, group, replica, session, switch_config, Testbed};
use groupflow_pipeline::{Port, Step};
use groupflow_switch::core::{SwitchConfig, Trace, TraceFilter, TraceRequest, LOOPBACK_LIMIT};
use groupflow_switch::p4rt::PipelineConfig;
use groupflow_switch::proto::p4::v1::update::Type;

const MS: u64 = 1_000_000;

fn arm(bed: &mut Testbed, filter: TraceFilter, count: u64) -> u64 {
    bed.switch.tracer().arm(filter, count).unwrap()
}

/// The one trace of a frame to `mac` that arrives at port 1.
fn trace(bed: &mut Testbed, mac: u64) -> Trace {
    trace_of(bed, &frame(mac, 0x0800, 100))
}

fn trace_of(bed: &mut Testbed, frame: &[u8]) -> Trace {
    let filter = arm(bed, TraceFilter::default(), 1);
    bed.inject(0, 1, frame);
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
        (5, "multicast", &[6], "arrival: dropped: there is no multicast group 6 []"),
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
    // Port 9, which does not exist: egress runs, and its decision comes first.
    let dropped = trace_of(&mut bed, &frame(3, 0xdead, 100)).root.copies[0].verdict.clone();
    assert!(dropped.starts_with("dropped: the program marked the packet to drop ("), "{dropped}");
    assert_eq!(bed.switch.stats().drops.no_such_port, 3);
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
    let to_1 = vec![(1, false), (2, false)];
    assert_eq!(found, [vec![(3, true)], vec![(2, true)], to_1], "each filter has all that it chooses");
    let request = TraceRequest { port: Some(99), next: 1, ..TraceRequest::default() };
    let refused = bed.switch.trace(&request).unwrap_err().to_string();
    assert_eq!(refused, "port: there is no port 99; there are 1, 2, 3, 4, 510");
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
    assert_eq!((key[0].1.as_str(), action.as_str()), ("00:00:00:00:00:01", "TestIngress.forward"));
    assert!(steps.iter().any(|step| matches!(step, Step::Extract { header, .. } if header == "ethernet")));
}

#[test]
fn a_filter_of_everything_takes_nothing_from_others() {
    let mut bed = Testbed::new(&["2:rate=8kbit,queue=1000,dir=out"]);
    bed.when_to(1, "forward", &[2, 0]);
    bed.when_to(2, "forward", &[3, 0]);
    let to_2 = bed.switch.forwarding().unwrap().pipeline.field_match("ethernet.dst=2").unwrap();
    let greedy = arm(&mut bed, TraceFilter::default(), u64::MAX);
    // All but the first wait in a queue, so their traces stay open.
    (0..200).for_each(|number| bed.inject(number, 1, &frame(1, 0x0800, 100)));
    let narrow = arm(&mut bed, TraceFilter { fields: vec![to_2], ..TraceFilter::default() }, 100);
    (0..100).for_each(|number| bed.inject(1_000 + number, 1, &frame(2, 0x0800, 100)));
    bed.advance(MS);
    assert_eq!(bed.switch.tracer().take(narrow).unwrap().len(), 32, "half of the 64 at once");
    assert_eq!(bed.switch.tracer().take(greedy).unwrap().len(), 1);
    bed.inject(100 * MS, 1, &frame(2, 0x0800, 100));
    bed.advance(101 * MS);
    assert_eq!(bed.switch.tracer().take(narrow).unwrap()[0].missed, 68, "known with a match, too");
}

#[test]
fn filters_share_the_switchs_time() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[2, 0]);
    let filters = [1, 2].map(|port| TraceFilter { port: Some(Port(port)), ..TraceFilter::default() });
    let filters = filters.map(|filter| arm(&mut bed, filter, u64::MAX));
    let mut traced = [0; 2];
    for ms in 0..1_000 {
        (1..=2).for_each(|port| bed.inject(ms * MS, port, &frame(1, 0x0800, 100)));
        bed.advance(ms * MS + 1);
        for (filter, traced) in filters.iter().zip(&mut traced) {
            *traced += bed.switch.tracer().take(*filter).unwrap().len();
        }
    }
    // 32 at once, then one in two milliseconds each.
    assert_eq!(traced, [32 + 500; 2]);
}

#[test]
fn in_virtual_time_no_packet_is_missed() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[2, 0]);
    let filter = arm(&mut bed, TraceFilter { patient: true, ..TraceFilter::default() }, 500);
    (0..600).for_each(|number| bed.inject(number, 1, &frame(1, 0x0800, 100)));
    bed.advance(MS);
    let traces = bed.switch.tracer().take(filter).unwrap();
    assert_eq!(traces.iter().map(|trace| trace.id).collect::<Vec<_>>(), (0..500).collect::<Vec<_>>());
}

#[test]
fn copies_without_room_are_counted() {
    let mut bed = Testbed::new(&[]);
    let replicas: Vec<_> = (0..300).map(|copy| replica(2, copy)).collect();
    bed.apply(Type::Insert, group(5, &replicas)).unwrap();
    bed.when_to(1, "multicast", &[5]);
    let root = trace(&mut bed, 1).root;
    assert_eq!((root.copies.len(), root.copies_cut), (255, 45));
}

/// The verdicts of frames that passed ports.
fn seen(bed: &mut Testbed, mac: u64) -> Vec<String> {
    bed.inject(0, 1, &frame(mac, 0x0800, 100));
    bed.advance(MS);
    bed.emitted.seen.drain(..).map(|frame| frame.verdict).collect()
}

#[test]
fn frames_at_ports_have_verdicts() {
    let mut bed = Testbed::new(&["3:loss=1,dir=out"]);
    assert!(seen(&mut bed, 1).is_empty(), "nobody looks");
    bed.switch.see_frames();
    bed.apply(Type::Insert, group(5, &[replica(2, 7), replica(9, 2)])).unwrap();
    bed.apply(Type::Insert, session(7, &[replica(4, 0)], 0, 0)).unwrap();
    let port_510 = bed.switch.config().cpu_port.0;
    let cases: &[(u64, &str, &[u128], &[&str])] = &[
        (1, "forward", &[2, 0], &["in port 1: to port 2", "out port 2"]),
        (2, "forward", &[3, 0], &["in port 1: to port 3", "out port 3; dropped: the link lost it"]),
        (3, "forward", &[2, 7], &["in port 1: to port 2; at port 2 dropped: the port has no such queue"]),
        (
            4,
            "multicast",
            &[5],
            &[
                "in port 1: to multicast group 5; copy 2 of multicast group 5 at port 9 dropped: no such port",
                "out port 2: copy 7 of multicast group 5",
            ],
        ),
        (5, "multicast", &[6], &["in port 1: dropped: there is no multicast group 6"]),
        (6, "clone_and_forward", &[7, 2], &["in port 1: to port 2", "out port 4: clone 0", "out port 2"]),
        (7, "forward", &[u128::from(port_510), 0], &["in port 1: to port 510; at port 510 to the controller"]),
    ];
    for (mac, action, arguments, expected) in cases {
        bed.when_to(u128::from(*mac), action, arguments);
        assert_eq!(seen(&mut bed, *mac), *expected);
    }
    bed.when_to(8, "drop", &[]);
    let dropped = seen(&mut bed, 8).remove(0);
    assert!(dropped.starts_with("in port 1: dropped: the program marked the packet to drop ("), "{dropped}");
    assert_eq!(dropped, format!("in port 1: {}", trace(&mut bed, 8).root.verdict), "on both engines");
}

#[test]
fn groupflows_drops_have_their_reasons() {
    let json = include_str!("../../../p4src/build/groupflow.json");
    let info = include_bytes!("../../../p4src/build/groupflow.p4info.txtpb");
    let config = PipelineConfig::from_files(json, info).unwrap();
    let mut bed = Testbed::of(SwitchConfig { priorities: 8, ..switch_config(&[]) });
    bed.runtime.install(&mut bed.switch, std::sync::Arc::new(config));
    bed.switch.see_frames();
    let dropped = seen(&mut bed, 1).remove(0);
    assert!(dropped.starts_with("in port 1: dropped: malformed (p4src/groupflow_v1model.p4:"), "{dropped}");
    let traced = trace(&mut bed, 1).root;
    assert_eq!(dropped, format!("in port 1: {}", traced.verdict));
    let is_malformed = |step: &Step| match step {
        Step::Count(count) => count.reason.as_deref() == Some("malformed"),
        _ => false,
    };
    let counted = traced.steps.iter().any(is_malformed);
    assert!(counted);
}

#[test]
fn a_dropped_clone_does_not_speak_for_its_packet() {
    let mut bed = Testbed::new(&[]);
    bed.switch.see_frames();
    bed.apply(Type::Insert, session(7, &[replica(4, 0)], 0, 0)).unwrap();
    let own = "dropped: the program marked the packet to drop";
    // Egress drops packets of type 0xdead, at a place that it names, but not those to the controller.
    let cases = [(511, own, own), (510, "to port 510", "to port 510; at port 510 to the controller")];
    for (time, (port, verdict, noted)) in (1..).zip(cases) {
        bed.when_to(port, "clone_and_forward", &[7, port]);
        let frame = frame(port as u64, 0xdead, 100);
        let root = trace_of(&mut bed, &frame).root;
        let of_clone = &root.copies[0].verdict;
        assert!(of_clone.starts_with(&format!("{own} (")), "{of_clone}");
        assert_eq!(root.verdict, verdict);
        bed.inject(time * 200 * MS, 1, &frame);
        bed.advance((time * 200 + 100) * MS);
        let expected = format!("in port 1: clone 0 at port 4 {of_clone}; {noted}");
        let seen: Vec<_> = bed.emitted.seen.drain(..).map(|frame| frame.verdict).collect();
        assert_eq!(seen, [expected.clone(), expected], "on both engines");
    }
}

#[test]
fn a_packet_without_room_in_the_loop_is_told_as_dropped() {
    let mut bed = Testbed::new(&[]);
    bed.switch.see_frames();
    bed.when_to(1, "go_round", &[2]);
    (0..LOOPBACK_LIMIT).for_each(|_| bed.inject(5, 1, &frame(1, 0x0800, 60)));
    let filter = arm(&mut bed, TraceFilter::default(), 1);
    (0..2).for_each(|_| bed.inject(5, 1, &frame(1, 0x0800, 60)));
    bed.advance(MS);
    let seen = bed.emitted.seen.iter().filter(|frame| frame.inbound).skip(LOOPBACK_LIMIT);
    let full = "dropped: too many packets go round again";
    let noted = format!("in port 1: to port 2; at port 2 to ingress again; at port 2 {full}");
    assert_eq!(seen.map(|frame| frame.verdict.as_str()).collect::<Vec<_>>(), [&noted, &noted]);
    let root = bed.switch.tracer().take(filter).unwrap().remove(0).root;
    let again = &root.copies[0].copies[0];
    assert_eq!(
        (again.pass, again.cause, again.time.0, again.verdict.as_str()),
        ("ingress", "recirculate", 5, full)
    );
}

#[test]
fn a_frame_that_is_too_long_is_told_as_dropped() {
    let mut bed = Testbed::new(&[]);
    bed.switch.see_frames();
    bed.when_to(1, "forward", &[2, 0]);
    // Egress adds a header to packets of type 0x1234.
    let frame = frame(1, 0x1234, 9216);
    let sent = trace_of(&mut bed, &frame).root.copies.remove(0);
    assert!(sent.verdict.ends_with("bytes are more than a frame has"), "{}", sent.verdict);
    assert_eq!(sent.sent_bytes, 0);
    let noted = format!("in port 1: to port 2; at port 2 {}", sent.verdict);
    assert_eq!(bed.emitted.seen.drain(..).map(|frame| frame.verdict).collect::<Vec<_>>(), [noted]);
}

#[test]
fn a_long_chain_of_passes_can_be_read() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[2, 0]);
    bed.apply(Type::Insert, session(9, &[replica(3, 1)], 0, 0)).unwrap();
    // Egress clones packets of type 0xc10e, and the clones.
    let root = trace_of(&mut bed, &frame(1, 0xc10e, 60)).root;
    let text = serde_json::to_string(&root).unwrap();
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut pass = &read;
    while let Some(next) = pass["copies"].get(0) {
        pass = next;
    }
    assert_eq!((&pass["verdict"], &pass["copies_cut"]), (&"sent".into(), &1.into()));
}
