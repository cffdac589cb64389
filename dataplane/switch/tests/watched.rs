//! Traces and captures see each packet whichever way it takes, and change nothing of its way.

use crate::common::{changed, exact, frame, group, replica, session, switch_config, Testbed};
use groupflow_base::Nanos;
use groupflow_pipeline::{Digest, Port};
use groupflow_switch::core::{Branch, SentFrame, SwitchConfig, TraceFilter};
use groupflow_switch::proto::p4::v1::update::Type;
use serde_json::json;

const MS: u64 = 1_000_000;
const FRAMES: u64 = 120;
const LINKS: [&[&str]; 4] = [
    &[],
    &["2:rate=8mbit,delay=1ms,dir=out"],
    &["2:loss=30%,dir=out", "3:delay=1ms,dir=out"],
    &["2:rate=800kbit,queue=3,dir=out", "1:delay=1ms,dir=in"],
];

#[derive(Clone, Copy, PartialEq)]
enum Watch {
    Nothing,
    Capture,
    Trace,
    Both,
}

/// The output and the counters of a switch, without traces and captures.
#[derive(Debug, PartialEq)]
struct Outcome {
    sent: Vec<SentFrame>,
    to_controller: Vec<(Nanos, Vec<u8>)>,
    digests: Vec<(Nanos, Digest)>,
    stats: String,
}

/// Packets of each kind through a switch that is watched from the frame `since` on.
fn run(links: &[&str], eager: bool, watch: Watch, since: u64) -> (Testbed, Outcome, Vec<Branch>) {
    let mut bed = Testbed::of(SwitchConfig { eager, ..switch_config(links) });
    bed.runtime.install(&mut bed.switch, crate::common::config());
    bed.apply(Type::Insert, group(5, &[replica(2, 1), replica(9, 2), replica(3, 3)])).unwrap();
    bed.apply(Type::Insert, session(7, &[replica(2, 0), replica(4, 1)], 0, 0)).unwrap();
    let kinds: [(&str, &[u128]); 9] = [
        ("forward", &[2, 0]),
        ("multicast", &[5]),
        ("clone_and_forward", &[7, 2]),
        ("go_round", &[2]),
        ("learn", &[3]),
        ("drop", &[]),
        ("forward", &[2, 7]),
        ("forward", &[9, 0]),
        ("forward", &[510, 0]),
    ];
    for (mac, (action, arguments)) in (1..).zip(kinds) {
        bed.when_to(mac, action, arguments);
    }
    let mut filter = None;
    for number in 0..FRAMES {
        if number == since && matches!(watch, Watch::Capture | Watch::Both) {
            bed.switch.see_frames();
        }
        if number == since && matches!(watch, Watch::Trace | Watch::Both) {
            let all = TraceFilter { patient: true, ..TraceFilter::default() };
            filter = Some(bed.switch.tracer().arm(all, u64::MAX).unwrap());
        }
        // The program's egress drops packets of the second type, and makes those of the third longer.
        let kind = [0x0800, 0x0800, 0xdead, 0x1234][number as usize / 9 % 4];
        let bytes = frame(1 + number % 9, kind, 300);
        if number % 10 == 0 {
            bed.switch.packet_out(Nanos(number * 100_000), &[&[0x01, 0x00], &bytes[..]].concat());
        } else {
            bed.inject(number * 100_000, 1, &bytes);
        }
        bed.switch.advance(Nanos(number * 100_000), &mut bed.emitted);
    }
    let sent = bed.advance(10_000 * MS);
    let to_controller = bed.emitted.packet_ins.drain(..).map(|packet| (packet.time, packet.bytes)).collect();
    let digests = std::mem::take(&mut bed.emitted.digests);
    let outcome = Outcome { sent, to_controller, digests, stats: format!("{:?}", bed.switch.stats()) };
    let traces = filter.map(|filter| bed.switch.tracer().take(filter).unwrap()).unwrap_or_default();
    (bed, outcome, traces.into_iter().map(|trace| trace.root).collect())
}

/// Each pass of a trace.
fn passes(branch: &Branch) -> Vec<&Branch> {
    std::iter::once(branch).chain(branch.copies.iter().flat_map(passes)).collect()
}

#[test]
fn each_packet_is_seen_and_goes_its_way_as_if_unseen() {
    for links in LINKS {
        for eager in [false, true] {
            let (_, unseen, _) = run(links, eager, Watch::Nothing, 0);
            for watch in [Watch::Capture, Watch::Trace, Watch::Both] {
                let (bed, outcome, traces) = run(links, eager, watch, 0);
                assert_eq!(outcome, unseen, "{links:?}, eager: {eager}");
                if watch != Watch::Trace {
                    check_capture(&bed, &outcome.sent);
                }
                if watch != Watch::Capture {
                    check_traces(&traces, &outcome);
                }
                let (_, outcome, _) = run(links, eager, watch, FRAMES / 2);
                assert_eq!(outcome, unseen, "watched from the middle on; {links:?}, eager: {eager}");
            }
        }
    }
}

/// A capture has the frames that left, and each that came in with its end.
fn check_capture(bed: &Testbed, sent: &[SentFrame]) {
    let (inbound, outbound): (Vec<_>, Vec<_>) = bed.emitted.seen.iter().partition(|frame| frame.inbound);
    assert_eq!(inbound.len() as u64, FRAMES - FRAMES / 10);
    let untold: Vec<_> = inbound.iter().filter(|frame| !frame.verdict.contains(": ")).collect();
    assert!(untold.is_empty(), "{untold:?}");
    let carried = outbound.iter().filter(|frame| !frame.verdict.contains("dropped"));
    let mut captured: Vec<_> = carried.map(|frame| (frame.port, &frame.bytes)).collect();
    let mut sent: Vec<_> = sent.iter().map(|frame| (frame.port, &frame.bytes)).collect();
    captured.sort();
    sent.sort();
    assert_eq!(captured, sent);
}

/// Traces tell the end of each pass, and which frames left.
fn check_traces(traces: &[Branch], outcome: &Outcome) {
    assert_eq!(traces.len() as u64, FRAMES);
    let passes: Vec<_> = traces.iter().flat_map(passes).collect();
    let untold: Vec<_> = passes.iter().filter(|pass| pass.verdict.is_empty()).collect();
    assert!(untold.is_empty(), "{untold:?}");
    let told = |verdict: &str| {
        let passes = passes.iter().filter(|pass| pass.verdict == verdict);
        let mut told: Vec<_> =
            passes.map(|pass| (pass.queue.as_ref().unwrap().port, pass.sent_bytes)).collect();
        told.sort_unstable();
        told
    };
    let mut sent: Vec<_> = outcome.sent.iter().map(|frame| (frame.port.0, frame.bytes.len())).collect();
    sent.sort_unstable();
    assert_eq!(told("sent"), sent);
    assert_eq!(told("to the controller").len(), outcome.to_controller.len());
}

#[test]
fn traces_and_captures_begin_while_packets_wait() {
    let mut bed = Testbed::new(&["2:rate=800kbit,dir=out"]);
    bed.when_to(1, "forward", &[2, 0]);
    let inject = |bed: &mut Testbed, time: u64| bed.inject(time, 1, &frame(1, 0x0800, 100));
    (0..3).for_each(|time| inject(&mut bed, time));
    bed.switch.see_frames();
    let filter = bed.switch.tracer().arm(TraceFilter::default(), 2).unwrap();
    (3..6).for_each(|time| inject(&mut bed, time));
    assert_eq!(bed.advance(4 * MS).len(), 4);
    assert_eq!(bed.advance(100 * MS).len(), 2);
    let traces = bed.switch.tracer().take(filter).unwrap();
    let end = |branch: &Branch| branch.copies[0].verdict.clone();
    assert_eq!(traces.iter().map(|trace| end(&trace.root)).collect::<Vec<_>>(), ["sent", "sent"]);
    let seen = |inbound: bool| bed.emitted.seen.iter().filter(|frame| frame.inbound == inbound).count();
    assert_eq!((seen(true), seen(false)), (3, 5), "all but the first left after that");
}

#[test]
fn a_resubmitted_packet_stays_in_sight() {
    let mut bed = Testbed::with(changed(|program, _| {
        let actions = program["actions"].as_array_mut().unwrap();
        let action = actions.iter_mut().find(|action| action["name"] == "TestIngress.count_in_cell").unwrap();
        let list = json!([{"type": "hexstr", "value": "0x1"}]);
        action["primitives"] = json!([{"op": "resubmit", "parameters": list}]);
    }));
    bed.when_to(1, "count_in_cell", &[0]);
    bed.switch.see_frames();
    let filter =
        bed.switch.tracer().arm(TraceFilter { port: Some(Port(1)), ..Default::default() }, 1).unwrap();
    bed.inject(0, 1, &frame(1, 0x0800, 100));
    assert!(bed.advance(1_500).is_empty());
    let entry = bed.entry("TestIngress.destinations", &[exact(1, 1)], "forward", &[2, 0]);
    bed.apply(Type::Modify, entry).unwrap();
    assert_eq!(bed.left(MS), [(2_000, 2)]);
    let root = bed.switch.tracer().take(filter).unwrap().remove(0).root;
    let told: Vec<_> = passes(&root).iter().map(|pass| (pass.cause, pass.verdict.as_str())).collect();
    let again = "to ingress again";
    let expected = [("arrival", again), ("resubmit", again), ("resubmit", "to port 2"), ("unicast", "sent")];
    assert_eq!(told, expected);
    let seen: Vec<_> = bed.emitted.seen.iter().map(|frame| frame.verdict.as_str()).collect();
    assert_eq!(seen, ["in port 1: to ingress again", "out port 2"]);
}
