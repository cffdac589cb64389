//! Split agents: streams that go on over other connections, node-to-node and end-to-end.

use crate::common::{MemoryRecorder, NetworkBuilder};
use groupflow_netsim::spec::{MessagesSpec, NodeKind, SourceSpec, TcpSpec};
use groupflow_netsim::tcp::Behaviour;
use groupflow_netsim::{LossSpec, Network, Sample};
use groupflow_transport::fanout::Mode;
use Mode::{EndToEnd, NodeToNode};

const MS: u64 = 1_000_000;
const RATE: u64 = 100_000_000;
const MEMBERS: [&str; 4] = ["m1", "m2", "m3", "m4"];

fn tcp(variant: &str, profile: Behaviour) -> TcpSpec {
    TcpSpec {
        variant: variant.parse().unwrap(),
        window_packets: 1000,
        mss: 1448,
        profile,
        bytes: None,
        messages: None,
        delayed_ack_ns: None,
        ecn: false,
        vegas_gamma: None,
        initial_window: None,
        min_rto_ns: None,
        receive_window: None,
        on_demand: false,
    }
}

/// s - out - A - B, members 1 and 2 at A, 3 and 4 at B; `out` is the sender's output buffer. `first` is what
/// s sends.
fn tree(mode: Mode, first: TcpSpec, seconds: u64) -> NetworkBuilder {
    let mut lab = NetworkBuilder::new(seconds * 1000 * MS, 10 * MS);
    lab.host("s");
    lab.fifo("out");
    ["A", "B"].into_iter().for_each(|name| lab.agent(name));
    MEMBERS.into_iter().for_each(|name| lab.host(name));
    lab.link("s", "out", None, 0, 1000);
    lab.link("out", "A", Some(RATE), 5 * MS, 100);
    lab.link("A", "B", Some(RATE), 10 * MS, 100);
    for (member, agent) in MEMBERS.into_iter().zip(["A", "A", "B", "B"]) {
        lab.link(agent, member, Some(RATE), 5 * MS, 100);
    }
    let next = TcpSpec { bytes: None, messages: None, ..first.clone() };
    lab.flow("up", "s", "A", SourceSpec::Tcp(first));
    lab.flow("across", "A", "B", SourceSpec::Tcp(next.clone()));
    for (member, agent) in MEMBERS.into_iter().zip(["A", "A", "B", "B"]) {
        lab.flow(member, agent, member, SourceSpec::Tcp(next.clone()));
    }
    lab.relay("up", &["across", "m1", "m2"], mode);
    lab.relay("across", &["m3", "m4"], mode);
    lab
}

fn run(lab: &NetworkBuilder) -> Vec<Sample> {
    let mut recorder = MemoryRecorder::default();
    lab.network().run(&mut recorder).expect("it runs");
    recorder.samples
}

fn last(lab: &NetworkBuilder) -> Sample {
    run(lab).pop().expect("a sample")
}

fn bytes(sample: &Sample, node: u32, port: u16) -> u64 {
    let found = sample.links.iter().find(|link| (link.node.0, link.port) == (node, port));
    found.expect("a link").bytes
}

#[test]
fn a_transfer_reaches_all_members_as_a_whole_in_spite_of_losses() {
    const BYTES: u64 = 3_000_001;
    for (variant, profile) in [
        ("sack", Behaviour::Ns2),
        ("sack", Behaviour::Rfc),
        ("cubic", Behaviour::Rfc),
        ("newreno", Behaviour::Rfc),
    ] {
        for mode in [NodeToNode, EndToEnd] {
            let mut lab = tree(mode, TcpSpec { bytes: Some(BYTES), ..tcp(variant, profile) }, 30);
            for link in &mut lab.spec.links[1..] {
                link.loss = LossSpec::Bernoulli { loss_ppb: 3_000_000 };
            }
            let sample = last(&lab);
            let delivered: Vec<u64> =
                sample.flows.iter().map(|flow| flow.delivered_bytes.unwrap_or(0)).collect();
            assert_eq!(delivered, [BYTES; 6], "{variant} {profile:?} {mode:?}");
            for (place, flow) in sample.flows.iter().enumerate() {
                let finished = flow.finished == Some(true);
                assert!(finished, "{variant} {profile:?} {mode:?}, flow {place}: {flow:?}");
            }
            assert!(sample.caches.iter().all(|cache| cache.bytes == 0), "{:?}", sample.caches);
        }
    }
}

#[test]
fn a_host_passes_a_stream_on_beside_flows_of_its_own() {
    const BYTES: u64 = 2_000_001;
    let mut lab = NetworkBuilder::new(20_000 * MS, 10 * MS);
    lab.fifo("router");
    for host in ["s", "m1", "m2", "m3"] {
        lab.host(host);
        lab.link(host, "router", Some(RATE), 5 * MS, 100);
    }
    let stream = || SourceSpec::Tcp(TcpSpec { bytes: Some(BYTES), ..tcp("sack", Behaviour::Rfc) });
    let on = || SourceSpec::Tcp(tcp("sack", Behaviour::Rfc));
    lab.flow("first", "s", "m1", stream());
    lab.flow("second", "m1", "m2", on());
    lab.flow("third", "m2", "m3", on());
    lab.flow("own", "m1", "s", stream());
    lab.flow("to it", "m3", "m1", stream());
    lab.relay("first", &["second"], NodeToNode);
    lab.relay("second", &["third"], NodeToNode);
    let sample = last(&lab);
    let delivered: Vec<u64> = sample.flows.iter().map(|flow| flow.delivered_bytes.unwrap_or(0)).collect();
    assert_eq!(delivered, [BYTES; 5]);
    assert!(sample.flows.iter().all(|flow| flow.finished == Some(true)));
    assert_eq!(sample.caches.len(), 2, "of the two that pass it on");
}

#[test]
fn each_link_carries_a_stream_once() {
    const BYTES: u64 = 4_000_000;
    for mode in [NodeToNode, EndToEnd] {
        // 12.5 MB/s, of which messages need 4, and room for what waits at first: nothing is lost, nothing
        // sent twice.
        let messages = Some(MessagesSpec { bytes: BYTES / 100, period_ns: 10 * MS });
        let mut lab = tree(mode, TcpSpec { messages, ..tcp("sack", Behaviour::Ns2) }, 2);
        lab.spec.links[1].queue_packets = 1000;
        let sample = last(&lab);
        let packets = 28 * (sample.flows[0].offered_bytes.expect("messages") / (28 * 1448));
        assert!((190 * 28..=210 * 28).contains(&packets), "{packets}");
        assert!(sample.drops.is_empty(), "{:?}", sample.drops);
        // out to A, A to B, B to m4: at most what is on its way at the end is missing.
        for (node, port) in [(1, 1), (2, 1), (3, 2)] {
            let sent = bytes(&sample, node, port);
            let whole = packets * 1502;
            assert!((whole - 60 * 1502..whole + 1502).contains(&sent), "{mode:?} {node}: {sent} of {whole}");
        }
    }
}

#[test]
fn end_to_end_the_sender_knows_no_more_than_the_slowest_member_has() {
    let slow = |mode| {
        let mut lab = tree(mode, tcp("sack", Behaviour::Ns2), 5);
        lab.spec.links[6].rate_bps = Some(RATE / 10); // of m4
        run(&lab)
    };
    let in_flight = |sample: &Sample| u64::from(sample.flows[0].tcp.map_or(0, |tcp| tcp.in_flight as u32));
    let sent = |sample: &Sample| {
        sample.flows[0].sent_packets - sample.flows[0].tcp.map_or(0, |tcp| tcp.retransmissions)
    };
    for sample in slow(EndToEnd) {
        let acknowledged = (sent(&sample) - in_flight(&sample)).saturating_sub(1) * 1448;
        let least =
            sample.flows[2..].iter().map(|flow| flow.delivered_bytes.unwrap_or(0)).min().expect("members");
        assert!(acknowledged <= least, "at {}: {acknowledged} of {least}", sample.time);
    }
    let (end_to_end, node_to_node) = (slow(EndToEnd), slow(NodeToNode));
    let (end_to_end, node_to_node) = (end_to_end.last().expect("one"), node_to_node.last().expect("one"));
    let fast = node_to_node.flows[0].delivered_bytes.unwrap_or(0);
    assert!(fast > 9 * RATE / 8 * 5 / 10, "the first hop goes on at its own rate: {fast}");
    let rate = end_to_end.flows[0].delivered_bytes.unwrap_or(0) * 8 / 5;
    assert!(
        (RATE / 14..RATE / 8).contains(&rate),
        "the sender goes as the slowest member does: {rate} bit/s"
    );
    let peaks = |sample: &Sample| sample.caches.iter().map(|cache| cache.peak_bytes).sum::<u64>();
    assert!(
        peaks(end_to_end) < 3_000_000 && peaks(node_to_node) > 40_000_000,
        "the cache takes the difference"
    );
    assert!(
        node_to_node.drops.keys().all(|site| site.node.0 == 1),
        "agents lose nothing: {:?}",
        node_to_node.drops
    );
}

#[test]
fn end_to_end_round_trips_include_the_way_to_the_members() {
    for profile in [Behaviour::Ns2, Behaviour::Rfc] {
        let trip = |mode| {
            let messages = Some(MessagesSpec { bytes: 1448, period_ns: 200 * MS });
            let sample = last(&tree(mode, TcpSpec { messages, ..tcp("sack", profile) }, 3));
            sample.flows[0].tcp.map_or(0.0, |tcp| tcp.srtt.0 as f64 / 1e6)
        };
        // 5 ms to A, 20 ms to the members of B; and what the packets take at three links.
        let (near, far) = (trip(NodeToNode), trip(EndToEnd));
        assert!(
            (10.0..10.3).contains(&near) && (40.0..40.6).contains(&far),
            "{profile:?}: {near} ms, {far} ms"
        );
    }
}

#[test]
fn a_connection_stands_end_to_end_when_all_its_branches_do() {
    let opened = |mode| {
        let samples = run(&tree(mode, tcp("sack", Behaviour::Ns2), 1));
        let first = samples.iter().find(|sample| sample.flows[0].delivered_bytes.unwrap_or(0) > 0);
        first.map_or(0, |sample| sample.time.0 / MS)
    };
    // Data is at A three ways after the SYN has left: 15 ms. End-to-end the answer comes after 40 ms instead
    // of 10.
    assert_eq!((opened(NodeToNode), opened(EndToEnd)), (20, 50), "at the next sample");
}

#[test]
fn with_a_bounded_cache_the_sender_goes_as_the_slowest_member_does_once_it_is_full() {
    const BOUND: u64 = 2_000_000;
    let mut lab = tree(NodeToNode, TcpSpec { window_packets: 300, ..tcp("sack", Behaviour::Ns2) }, 8);
    lab.spec.links[6].rate_bps = Some(RATE / 10); // of m4
    lab.spec.relays.iter_mut().for_each(|relay| relay.cache_bytes = Some(BOUND));
    let samples = run(&lab);
    let peaks: Vec<u64> = samples[samples.len() - 1].caches.iter().map(|cache| cache.peak_bytes).collect();
    // Beyond the bound there is what upstream has in flight: at most its window.
    assert!(peaks.iter().all(|peak| (BOUND..=BOUND + 300 * 1448).contains(peak)), "{peaks:?}");
    let rate = |from: usize, to: usize| {
        let bytes = samples[to].flows[0].delivered_bytes.unwrap_or(0)
            - samples[from].flows[0].delivered_bytes.unwrap_or(0);
        bytes * 8 * 100 / (to - from) as u64
    };
    assert!(rate(5, 20) > RATE / 2, "at first it is the cache that fills: {}", rate(5, 20));
    assert!((RATE / 13..RATE / 9).contains(&rate(500, 799)), "{}", rate(500, 799));
}

#[test]
fn an_agent_handles_no_more_packets_than_it_can() {
    let packets = |rate| {
        let mut lab = tree(NodeToNode, tcp("sack", Behaviour::Ns2), 4);
        for node in &mut lab.spec.nodes {
            if let NodeKind::Agent(agent) = &mut node.kind {
                agent.packets_per_second = rate;
            }
        }
        let sample = last(&lab);
        let out: u64 = sample.links.iter().filter(|link| link.node.0 == 2).map(|link| link.frames).sum();
        let into: u64 = sample
            .links
            .iter()
            .filter(|link| [(1, 1), (3, 0), (4, 0), (5, 0)].contains(&(link.node.0, link.port)))
            .map(|link| link.frames)
            .sum();
        (out + into) / 4
    };
    let (any, few) = (packets(None), packets(Some(20_000)));
    assert!(any > 50_000, "{any}");
    assert!((17_000..=20_001).contains(&few), "{few}");
}

#[test]
fn what_cannot_be_passed_on_is_refused_by_its_field() {
    let refused = |change: fn(&mut NetworkBuilder), field: &str| {
        let mut lab = tree(NodeToNode, tcp("sack", Behaviour::Ns2), 1);
        change(&mut lab);
        let error = Network::new(lab.spec, &[]).map(|_| ()).expect_err(field).to_string();
        assert!(error.contains(field), "{error}");
    };
    refused(
        |lab| lab.spec.relays[1].branches[0] = "m1".into(),
        "relays[1].branches: \"m1\" does not begin where \"across\" ends",
    );
    refused(|lab| lab.spec.relays[1].branches.clear(), "relays[1].branches: none");
    refused(|lab| lab.spec.relays[0].branches.truncate(2), "flows.m2: a flow ends at an agent only as part");
    refused(|lab| lab.spec.relays[1].branches[1] = "m3".into(), "relays[1].branches: \"m3\" is passed on");
    let bounded = |lab: &mut NetworkBuilder| {
        lab.spec.relays[0].mode = EndToEnd;
        lab.spec.relays[0].cache_bytes = Some(1);
    };
    refused(bounded, "relays[0].cache_bytes: end-to-end");
    let through = |lab: &mut NetworkBuilder| {
        lab.flow("past", "s", "m1", SourceSpec::Tcp(tcp("sack", Behaviour::Ns2)));
    };
    refused(through, "flows.past.to: the way leads through \"A\"");
}
