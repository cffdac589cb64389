//! TCP flows that are steered while the network runs: windows of receivers, and senders that begin, pause and
//! go on.

use crate::common::{MemoryRecorder, NetworkBuilder};
use groupflow_base::Nanos;
use groupflow_netsim::spec::{SourceSpec, TcpSpec};
use groupflow_netsim::tcp::{Behaviour, Reading};
use groupflow_netsim::{FlowId, LossSpec, Network};

const SECOND: u64 = 1_000_000_000;
const MSS: u32 = 1000;
/// Of frames: Ethernet, IPv4, TCP with timestamps.
const HEADERS: u64 = 14 + 20 + 32;
const VARIANTS: [&str; 4] = ["cubic", "compound", "vegas", "reno"];

fn tcp(variant: &str, profile: Behaviour) -> SourceSpec {
    SourceSpec::Tcp(TcpSpec {
        variant: variant.parse().unwrap(),
        window_packets: 1000,
        mss: MSS,
        profile,
        bytes: None,
        messages: None,
        delayed_ack_ns: None,
        ecn: false,
        vegas_gamma: None,
        initial_window: None,
        min_rto_ns: None,
        receive_window: Some(10_000),
        on_demand: true,
    })
}

/// client - r1 - r2 - server at 10 Mb/s; the round trip of an empty network is 100 ms and the time of a
/// packet.
fn lab(variant: &str, profile: Behaviour, stripes: usize) -> NetworkBuilder {
    let mut lab = NetworkBuilder::new(100 * SECOND, SECOND / 10);
    ["client", "server"].into_iter().for_each(|name| lab.host(name));
    ["r1", "r2"].into_iter().for_each(|name| lab.fifo(name));
    lab.link("client", "r1", None, 0, 1000);
    lab.link("r1", "r2", Some(10_000_000), 50_000_000, 100);
    lab.link("r2", "server", None, 0, 1000);
    for stripe in 0..stripes {
        lab.flow(&format!("s{stripe}"), "client", "server", tcp(variant, profile));
    }
    lab
}

fn run_until(network: &mut Network, seconds: f64) {
    network.run_until(Nanos((seconds * 1e9) as u64), &mut ()).expect("it runs");
}

/// Mb/s of payload that the flows deliver from now to `until`, and the last flow's reading then.
fn rate(network: &mut Network, flows: &[FlowId], until: f64) -> (f64, Reading) {
    let delivered = |network: &mut Network| -> (u64, Reading) {
        let readings = flows.iter().map(|flow| network.read_receiver(*flow).expect("a receiver"));
        let readings: Vec<Reading> = readings.collect();
        (readings.iter().map(|reading| reading.delivered).sum(), *readings.last().expect("a flow"))
    };
    let (began, (before, _)) = (network.now().0 as f64 / 1e9, delivered(network));
    run_until(network, until);
    let (after, reading) = delivered(network);
    ((after - before) as f64 * 8e-6 / (until - began), reading)
}

fn near(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 0.03
}

#[test]
fn the_rate_follows_the_window_up_and_down_with_every_variant() {
    for variant in VARIANTS {
        for profile in [Behaviour::Ns2, Behaviour::Rfc] {
            let mut network = lab(variant, profile, 1).network();
            let flow = network.flow("s0").expect("a flow");
            assert_eq!(rate(&mut network, &[flow], 5.0).0, 0.0, "{variant}: not told to begin");
            network.resume_flow(flow).expect("a sender");
            run_until(&mut network, 10.0);
            for (window, until) in [(10_000, 20.0), (40_000, 35.0), (5_000, 50.0), (20_900, 65.0), (0, 80.0)]
            {
                network.set_receive_window(flow, window).expect("a receiver");
                run_until(&mut network, until - 5.0);
                let (measured, reading) = rate(&mut network, &[flow], until);
                let packets = (window / u64::from(MSS)).max(1);
                let trip = 0.1 + (u64::from(MSS) + HEADERS) as f64 * 8e-7;
                let expected = packets as f64 * f64::from(MSS) * 8e-6 / trip;
                assert!(
                    near(measured, expected),
                    "{variant} {profile:?} {window}: {measured}, not {expected}"
                );
                let seen = reading.round_trip.expect("it sends").0 as f64 / 1e9;
                assert!(near(seen, trip), "{variant}: a round trip of {seen} s, not {trip}");
                assert!(reading.timeout.expect("measured").0 >= 200_000_000);
            }
        }
    }
}

#[test]
fn a_window_is_followed_within_two_round_trips() {
    let mut network = lab("reno", Behaviour::Rfc, 1).network();
    let flow = network.flow("s0").expect("a flow");
    network.resume_flow(flow).expect("a sender");
    run_until(&mut network, 5.0);
    for (window, before) in [(40_000_u64, 10), (5_000, 40), (10_000, 5)] {
        network.set_receive_window(flow, window).expect("a receiver");
        let changed = network.now().0 as f64 / 1e9;
        let mut recorder = MemoryRecorder::default();
        network.run_until(Nanos(((changed + 5.0) * 1e9) as u64), &mut recorder).expect("it runs");
        let packets = window / u64::from(MSS);
        let in_flight = |at: f64| {
            let sample = recorder.samples.iter().find(|sample| sample.time.0 as f64 / 1e9 > changed + at);
            sample.expect("a sample").flows[0].tcp.expect("a TCP flow").in_flight
        };
        // While it opens, the congestion window may be behind, and bounds the bytes in flight.
        if packets < before {
            assert_eq!(in_flight(0.22), packets, "{window}");
        }
        assert_eq!(in_flight(4.5), packets, "{window}");
    }
}

#[test]
fn stripes_come_and_go_and_each_keeps_to_its_window() {
    for variant in VARIANTS {
        let mut network = lab(variant, Behaviour::Ns2, 4).network();
        let flows: Vec<FlowId> = (0..4).map(|n| network.flow(&format!("s{n}")).expect("a flow")).collect();
        let trip = 0.1 + (u64::from(MSS) + HEADERS) as f64 * 8e-7;
        let each = 10_000.0 * 8e-6 / trip;
        for (open, until) in [(1, 10.0), (4, 20.0), (2, 30.0), (4, 40.0), (0, 50.0)] {
            for (n, flow) in flows.iter().enumerate() {
                if n < open {
                    network.resume_flow(*flow).expect("a sender");
                } else {
                    network.pause_flow(*flow).expect("a sender");
                }
            }
            run_until(&mut network, until - 5.0);
            let (measured, _) = rate(&mut network, &flows, until);
            let expected = each * open as f64;
            // Stripes that send at once wait for each other at the link.
            let enough = measured <= 1.01 * expected && measured >= 0.9 * expected;
            assert!(enough, "{variant}, {open} open: {measured} Mb/s, not {expected}");
        }
    }
}

#[test]
fn losses_are_seen_by_the_receiver() {
    let mut lab = lab("cubic", Behaviour::Rfc, 1);
    lab.spec.links[1].loss = LossSpec::Bernoulli { loss_ppb: 10_000_000 };
    let mut network = lab.network();
    let flow = network.flow("s0").expect("a flow");
    network.resume_flow(flow).expect("a sender");
    let (_, reading) = rate(&mut network, &[flow], 100.0);
    let ratio = reading.missing as f64 / reading.packets as f64;
    assert!((0.007..0.013).contains(&ratio), "{ratio} of {reading:?}");
}

#[test]
fn a_link_that_becomes_longer_changes_the_round_trip_and_loses_nothing() {
    let mut network = lab("reno", Behaviour::Rfc, 1).network();
    let flow = network.flow("s0").expect("a flow");
    let (r1, r2) = (network.node("r1").expect("a node"), network.node("r2").expect("a node"));
    network.resume_flow(flow).expect("a sender");
    run_until(&mut network, 10.0);
    assert_eq!(network.lengthen_link(r1, r2, Nanos(49_000_000)), Some(false), "never shorter");
    assert_eq!(network.lengthen_link(r2, r1, Nanos(150_000_000)), Some(true));
    run_until(&mut network, 15.0);
    let (measured, reading) = rate(&mut network, &[flow], 25.0);
    let trip = 0.3 + (u64::from(MSS) + HEADERS) as f64 * 8e-7;
    let seen = reading.round_trip.expect("it sends").0 as f64 / 1e9;
    assert!(near(seen, trip), "{seen}");
    assert!(near(measured, 10.0 * f64::from(MSS) * 8e-6 / trip), "{measured}");
    let mut recorder = MemoryRecorder::default();
    network.run_until(Nanos(30 * SECOND), &mut recorder).expect("it runs");
    let flows: Vec<_> = recorder.samples.iter().map(|sample| sample.flows[0]).collect();
    assert!(flows.iter().all(|flow| flow.tcp.expect("a TCP flow").retransmissions == 0));
    assert_eq!(flows.iter().map(|flow| flow.in_transit_packets).max(), Some(10), "the window, at most");
    assert_eq!(network.lengthen_link(r1, r1, Nanos(SECOND)), None);
}

#[test]
fn what_has_no_receiver_or_an_end_is_refused() {
    let mut lab = lab("reno", Behaviour::Rfc, 1);
    lab.udp("u", "client", "server", 1_000_000, 1000);
    let mut network = lab.network();
    let udp = network.flow("u").expect("a flow");
    assert_eq!(network.set_receive_window(udp, 1), None);
    assert_eq!(network.resume_flow(FlowId(7)), None);
    assert!(network.flow("nobody").is_none());
    if let SourceSpec::Tcp(tcp) = &mut lab.spec.flows[0].source {
        tcp.bytes = Some(1);
    }
    let refused = Network::new(lab.spec, &[]).expect_err("it has an end");
    assert!(refused.to_string().starts_with("flows.s0.on_demand"), "{refused}");
}
