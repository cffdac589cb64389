//! Explicit congestion notification, from the marking queue to the sender's window.

use crate::common::{MemoryRecorder, NetworkBuilder};
use groupflow_netsim::spec::{FifoSpec, SourceSpec, TcpSpec};
use groupflow_netsim::tcp::Behaviour;
use groupflow_netsim::{Network, Sample};

const RATE: u64 = 100_000_000;
const DELAY: u64 = 5_000_000;
const ROUND_TRIP: u64 = 2 * DELAY;
/// Packets that a round trip holds.
const PATH: u32 = (RATE / 8 * ROUND_TRIP / 1_000_000_000 / 1514) as u32;
const VARIANTS: [&str; 6] = ["tahoe", "reno", "newreno", "sack", "cubic", "compound"];

fn tcp(variant: &str, profile: Behaviour, ecn: bool) -> SourceSpec {
    SourceSpec::Tcp(TcpSpec {
        variant: variant.parse().unwrap(),
        window_packets: 1000,
        mss: 1460,
        profile,
        bytes: None,
        messages: None,
        delayed_ack_ns: None,
        ecn,
        vegas_gamma: None,
        initial_window: None,
        min_rto_ns: None,
        receive_window: None,
        on_demand: false,
    })
}

/// h1 - r1 - h2, with the bottleneck behind r1.
fn lab(ecn: Option<u32>, queue: u32) -> NetworkBuilder {
    let mut lab = NetworkBuilder::new(5_000_000_000, ROUND_TRIP);
    ["h1", "h2"].into_iter().for_each(|name| lab.host(name));
    lab.router("r1", FifoSpec { ecn });
    lab.link("h1", "r1", None, 0, 1000);
    lab.link("r1", "h2", Some(RATE), DELAY, queue);
    lab
}

fn run(lab: &NetworkBuilder) -> Vec<Sample> {
    let mut recorder = MemoryRecorder::default();
    lab.network().run(&mut recorder).expect("it runs");
    recorder.samples
}

fn marked(sample: &Sample) -> u64 {
    sample.signals.iter().filter(|(site, _)| site.reason == "ecn_marked").map(|(_, packets)| packets).sum()
}

#[test]
fn a_marking_queue_slows_senders_without_a_loss() {
    for (variant, profile) in VARIANTS.iter().flat_map(|v| [(v, Behaviour::Ns2), (v, Behaviour::Rfc)]) {
        let mut lab = lab(Some(PATH), 1000);
        lab.flow("f", "h1", "h2", tcp(variant, profile, true));
        let last = run(&lab).pop().expect("a sample");
        let state = last.flows[0].tcp.expect("a TCP flow");
        assert!(last.drops.is_empty(), "{variant}: {:?}", last.drops);
        assert_eq!((state.retransmissions, state.timeouts), (0, 0), "{variant}");
        assert!(state.ecn_reductions > 0 && marked(&last) > 0, "{variant}: {state:?}");
        let goodput = last.flows[0].delivered_bytes.unwrap_or(0) as f64 * 8.0 / 5.0;
        assert!(goodput > 0.9 * RATE as f64 * 1460.0 / 1514.0, "{variant}: {goodput}");
    }
}

#[test]
fn the_window_is_reduced_at_most_once_a_round_trip() {
    for (variant, profile) in VARIANTS.iter().flat_map(|v| [(v, Behaviour::Ns2), (v, Behaviour::Rfc)]) {
        let mut lab = lab(Some(10), 1000);
        lab.flow("f", "h1", "h2", tcp(variant, profile, true));
        let samples = run(&lab);
        let reductions: Vec<u64> =
            samples.iter().map(|s| s.flows[0].tcp.expect("TCP").ecn_reductions).collect();
        assert!(reductions.windows(2).all(|pair| pair[1] - pair[0] <= 1), "{variant}: {reductions:?}");
        let last = samples.last().expect("a sample");
        let total = *reductions.last().expect("a sample");
        assert!(marked(last) > 2 * total, "{variant}: {} marked, {total} reductions", marked(last));
    }
}

#[test]
fn a_reduction_is_what_the_variant_does_at_a_loss() {
    for (variant, factor) in [("newreno", 0.5), ("cubic", 0.7)] {
        let mut lab = lab(Some(10), 1000);
        lab.spec.sample_ns = 100_000;
        lab.flow("f", "h1", "h2", tcp(variant, Behaviour::Rfc, true));
        let samples = run(&lab);
        let states: Vec<_> = samples.iter().map(|sample| sample.flows[0].tcp.expect("TCP")).collect();
        let at = states.windows(2).filter(|pair| pair[1].ecn_reductions > pair[0].ecn_reductions);
        for pair in at {
            let ratio = pair[1].cwnd / pair[0].cwnd;
            assert!((ratio - factor).abs() < 0.05, "{variant}: {} to {}", pair[0].cwnd, pair[1].cwnd);
        }
    }
}

#[test]
fn who_does_not_understand_marks_is_not_marked() {
    let mut lab = lab(Some(10), 50);
    lab.flow("f", "h1", "h2", tcp("newreno", Behaviour::Ns2, false));
    let last = run(&lab).pop().expect("a sample");
    assert!(last.signals.is_empty());
    assert!(last.drops.iter().any(|(site, _)| site.reason == "queue_full"));
    assert_eq!(last.flows[0].tcp.expect("TCP").ecn_reductions, 0);
}

#[test]
fn a_sender_that_understands_marks_meets_a_queue_that_does_not_mark() {
    let mut lab = lab(None, 50);
    lab.flow("f", "h1", "h2", tcp("newreno", Behaviour::Ns2, true));
    let last = run(&lab).pop().expect("a sample");
    assert!(last.signals.is_empty());
    let state = last.flows[0].tcp.expect("TCP");
    assert!(state.retransmissions > 0 && state.ecn_reductions == 0);
}

#[test]
fn thresholds_that_cannot_be_reached_are_refused() {
    let refused = |ecn| Network::new(lab(Some(ecn), 50).spec, &[]).map(|_| ()).map_err(|e| e.to_string());
    let problem = "nodes.r1.ecn: 50 packets are never reached: port 1 drops when 50 wait; write less";
    assert_eq!(refused(50), Err(problem.into()));
    assert_eq!(refused(0), Err("nodes.r1.ecn: is zero; write 1 packet or more".into()));
    assert_eq!(refused(49), Ok(()));
}
