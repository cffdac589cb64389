//! TCP over links: transfers, sharing, and the square-root law.

use crate::common::{MemoryRecorder, NetworkBuilder};
use groupflow_netsim::spec::{SourceSpec, TcpSpec};
use groupflow_netsim::tcp::Behaviour;
use groupflow_netsim::{LossSpec, Sample};

fn tcp(variant: &str, window_packets: u32, bytes: Option<u64>) -> SourceSpec {
    SourceSpec::Tcp(TcpSpec {
        variant: variant.parse().unwrap(),
        window_packets,
        mss: 1460,
        profile: Behaviour::Ns2,
        bytes,
        messages: None,
        delayed_ack_ns: None,
        ecn: false,
        vegas_gamma: None,
        initial_window: None,
        min_rto_ns: None,
        receive_window: None,
        on_demand: false,
    })
}

/// h1, h3 - r1 - r2 - h2, h4.
fn dumbbell(rate: u64, delay: u64, queue: u32, duration: u64) -> NetworkBuilder {
    let mut lab = NetworkBuilder::new(duration, duration / 20);
    ["h1", "h2", "h3", "h4"].into_iter().for_each(|name| lab.host(name));
    ["r1", "r2"].into_iter().for_each(|name| lab.fifo(name));
    for (host, router) in [("h1", "r1"), ("h3", "r1"), ("h2", "r2"), ("h4", "r2")] {
        lab.link(host, router, None, 0, 1000);
    }
    lab.link("r1", "r2", Some(rate), delay, queue);
    lab
}

fn run(lab: &NetworkBuilder) -> Sample {
    let mut recorder = MemoryRecorder::default();
    lab.network().run(&mut recorder).expect("it runs");
    recorder.samples.pop().expect("a sample")
}

#[test]
fn a_transfer_arrives_as_a_whole_with_every_variant_in_spite_of_losses() {
    for variant in ["tahoe", "reno", "newreno", "sack", "vegas", "cubic", "compound"] {
        let mut lab = dumbbell(50_000_000, 2_000_000, 30, 20_000_000_000);
        lab.spec.links[4].loss = LossSpec::Bernoulli { loss_ppb: 5_000_000 };
        lab.flow("f", "h1", "h2", tcp(variant, 100, Some(10_000_000)));
        let flow = run(&lab).flows[0];
        let tcp = flow.tcp.expect("a TCP flow");
        assert_eq!(flow.delivered_bytes.unwrap_or(0), 10_000_000, "{variant}");
        assert!(flow.finished == Some(true) && tcp.retransmissions > 0, "{variant}: {tcp:?}");
    }
}

#[test]
fn two_flows_fill_a_bottleneck_and_share_it() {
    let mut lab = dumbbell(100_000_000, 5_000_000, 100, 60_000_000_000);
    lab.flow("one", "h1", "h2", tcp("sack", 1000, None));
    lab.flow("two", "h3", "h4", tcp("sack", 1000, None)).start_ns = 70_000_000;
    let last = run(&lab);
    let goodput = |flow: usize| last.flows[flow].delivered_bytes.unwrap_or(0) as f64 * 8.0 / 60.0;
    let total = goodput(0) + goodput(1);
    assert!(total > 0.9 * 100e6 * 1460.0 / 1514.0, "{total}");
    let share = goodput(0) / total;
    assert!((0.35..0.65).contains(&share), "{share}");
}

#[test]
fn throughput_follows_the_square_root_law() {
    // Mathis et al. 1997: a window of sqrt(3/2) / sqrt(p), where every packet is acknowledged.
    let window = |loss: f64, seed| {
        let (delay, seconds) = (10_000_000, 300);
        let mut lab = dumbbell(10_000_000_000, delay, 10_000, seconds * 1_000_000_000);
        lab.spec.seed = seed;
        lab.spec.links[4].loss = LossSpec::Bernoulli { loss_ppb: (loss * 1e9) as u32 };
        lab.flow("f", "h1", "h2", tcp("sack", 2000, None));
        let packets = run(&lab).flows[0].delivered_bytes.unwrap_or(0) as f64 / 1460.0;
        packets * 2.0 * delay as f64 / 1e9 / seconds as f64
    };
    for loss in [0.000_5, 0.002] {
        // Acknowledgements are lost, too, but each says what the ones before said.
        let (measured, law) = (window(loss, 3), (1.5f64 / loss).sqrt());
        assert!((measured / law - 1.0).abs() < 0.15, "loss {loss}: {measured} packets, by the law {law}");
    }
}
