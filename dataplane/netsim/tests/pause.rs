//! Routers that tell their neighbours to stop: to the nanosecond, and without a loss.

use crate::common::{count, udp, NetworkBuilder};
use groupflow_netsim::spec::{Arrivals, FifoSpec, PauseSpec, Sizes, SourceSpec, TcpSpec};
use groupflow_netsim::tcp::Behaviour;
use groupflow_netsim::{LossSpec, Network, NodeId, TraceRecord};

const GIGABIT: u64 = 1_000_000_000;
/// Pause frames, in a trace.
const PAUSE_BYTES: u32 = 64;

fn pausing(xoff: u32, xon: u32) -> FifoSpec {
    FifoSpec { ecn: None, pause: Some(PauseSpec { xoff, xon }) }
}

/// h1 - r1 - r2 - h2: each link a gigabit, but the last is a tenth. 1250 bytes take 10 us on it.
fn line(first: FifoSpec, second: FifoSpec, delay: u64, queue: u32, duration: u64) -> NetworkBuilder {
    let mut lab = NetworkBuilder::new(duration, duration / 50);
    ["h1", "h2"].into_iter().for_each(|name| lab.host(name));
    lab.router("r1", first);
    lab.router("r2", second);
    lab.link("h1", "r1", Some(GIGABIT), 0, 10_000);
    lab.link("r1", "r2", Some(GIGABIT), delay, queue);
    lab.link("r2", "h2", Some(GIGABIT / 10), 0, queue);
    lab
}

/// The headroom that the documentation promises is enough: two delays and two frames.
fn headroom(delay: u64) -> u32 {
    (2 * delay / 10_000) as u32 + 2
}

#[test]
fn a_pause_takes_effect_when_it_arrives_and_ends_at_xon() {
    let delay = 30_000;
    let mut lab = line(FifoSpec::default(), pausing(5, 2), delay, 100, 5_000_000);
    lab.udp("f", "h1", "h2", GIGABIT, 1250).stop_ns = Some(200_000);
    let (recorder, last) = lab.traced();
    let at = |node, pause: bool| {
        let here = move |r: &&TraceRecord| r.node == NodeId(node) && (r.bytes == PAUSE_BYTES) == pause;
        recorder.trace.iter().filter(here).map(|record| record.time.0).collect::<Vec<_>>()
    };
    // The frames reach r1 at 10, 20 ... us, and r2 40 us later. One is being sent, six wait: the seventh
    // (at 110 us) is one too many. The pause needs 512 ns and 30 us.
    let pauses = at(2, true);
    assert_eq!(pauses[0], 110_000 + 512 + delay);
    // r1 had begun the frame before; it arrives 30 us after it has left, at 150 us.
    let data = at(3, false);
    let first_gap = data.windows(2).find(|pair| pair[1] - pair[0] > 10_000).expect("a gap");
    assert_eq!(first_gap[0], 150_000 + delay);
    // It goes on when the resuming frame has come: at once, with the next frame.
    assert_eq!(first_gap[1], pauses[1] + 10_000 + delay);
    assert_eq!(
        (last.flows[0].delivered_packets, last.flows[0].sent_packets),
        (last.flows[0].sent_packets, 20)
    );
    assert!(last.drops.is_empty(), "{:?}", last.drops);
}

#[test]
fn headroom_of_two_delays_and_two_frames_is_enough_and_less_is_not() {
    for delay in [0, 1_000, 30_000, 250_000] {
        let most = |queue: u32| {
            let mut lab = line(FifoSpec::default(), pausing(20, 10), delay, 1000, 20_000_000);
            lab.spec.links[2].queue_packets = queue;
            lab.spec.sample_ns = 5_000;
            lab.udp("f", "h1", "h2", GIGABIT, 1250);
            // On the way back, so that pause frames wait for a frame that is being sent.
            lab.udp("back", "h2", "h1", GIGABIT / 10, 1250);
            let (recorder, last) = lab.traced();
            let queues = recorder.samples.iter().flat_map(|sample| &sample.queues);
            let here = queues.filter(|queue| queue.node == NodeId(3) && queue.port == 1);
            let dropped = last.drops.iter().filter(|(site, _)| site.node == NodeId(3));
            (here.map(|queue| queue.packets).max().unwrap_or(0), dropped.map(|(_, n)| n).sum::<u64>())
        };
        let (fullest, dropped) = most(20 + headroom(delay));
        assert_eq!(dropped, 0, "delay {delay}: {fullest}");
        assert!(fullest > 20);
        if delay > 0 {
            let (_, dropped) = most(20 + headroom(delay) / 2);
            assert!(dropped > 0, "delay {delay}: what does not fit is dropped and counted");
        }
    }
}

#[test]
fn pauses_travel_up_to_the_host() {
    let mut lab = line(pausing(20, 10), pausing(20, 10), 1_000, 40, 50_000_000);
    lab.udp("f", "h1", "h2", GIGABIT, 1250).stop_ns = Some(20_000_000);
    let (_, last) = lab.traced();
    assert_eq!(last.drops.keys().filter(|site| site.node != NodeId(0)).count(), 0, "{:?}", last.drops);
    assert!(last.flows[0].sent_packets < 600, "what is in the network, and what was delivered");
    let pauses =
        |node| last.signals.iter().filter(|(site, _)| site.node == node).map(|(_, n)| n).sum::<u64>();
    assert!(pauses(NodeId(2)) > 10 && pauses(NodeId(3)) > 10, "{:?}", last.signals);
    // The bottleneck was never idle.
    let busy = last.flows[0].delivered_packets;
    assert!((498..=500).contains(&busy), "{busy} in 50 ms of 100 us each");
}

#[test]
fn without_a_pause_it_is_a_plain_router_to_the_nanosecond() {
    // r1 never has to pause anybody; r2 would obey, and drops what does not fit.
    let runs = [FifoSpec::default(), pausing(99, 99)].map(|first| {
        let mut lab = line(first, FifoSpec::default(), 30_000, 100, 100_000_000);
        let random = |rate, bytes| udp(rate, bytes, Sizes::Exponential, Arrivals::Poisson);
        lab.flow("f", "h1", "h2", random(GIGABIT / 18, 700));
        lab.flow("g", "h1", "h2", random(GIGABIT / 15, 1250));
        lab.flow("back", "h2", "h1", random(GIGABIT / 11, 900));
        let (recorder, last) = lab.traced();
        assert!(last.signals.is_empty(), "{:?}", last.signals);
        assert!(count(&last, "queue_full") > 10, "{:?}", last.drops);
        (recorder.trace, recorder.samples)
    });
    assert!(runs[0] == runs[1]);
}

#[test]
fn a_lost_frame_stops_nobody_for_ever() {
    // A third of all frames is lost, pause frames among them.
    let mut lab = line(FifoSpec::default(), pausing(20, 10), 30_000, 1000, 4_000_000_000);
    lab.spec.links[1].loss = LossSpec::Bernoulli { loss_ppb: 333_000_000 };
    lab.udp("f", "h1", "h2", GIGABIT, 1250);
    let (recorder, _) = lab.traced();
    let delivered: Vec<u64> = recorder.samples.iter().map(|s| s.flows[0].delivered_packets).collect();
    // 80 ms a sample: a pause lasts for 34 ms at most.
    assert!(delivered.windows(2).all(|pair| pair[1] > pair[0]), "{delivered:?}");
}

#[test]
fn a_longer_stop_than_a_pause_lasts_is_told_again() {
    // The link behind r2 has a thousandth of the rate: xoff to xon takes 100 ms, a pause 34 ms.
    let mut lab = line(FifoSpec::default(), pausing(20, 10), 30_000, 20 + headroom(30_000), 500_000_000);
    lab.spec.links[2].rate_bps = Some(GIGABIT / 1000);
    lab.udp("f", "h1", "h2", GIGABIT, 1250);
    let (recorder, last) = lab.traced();
    assert!(last.drops.keys().all(|site| site.node != NodeId(3)), "{:?}", last.drops);
    let frames =
        recorder.trace.iter().filter(|r| r.node == NodeId(2) && r.bytes == PAUSE_BYTES).count() as u64;
    assert!(frames > 2 * count(&last, "pauses"), "{frames} frames, {:?}", last.signals);
}

#[test]
fn tcp_is_without_loss_on_a_line_that_pauses() {
    let mut lab = NetworkBuilder::new(300_000_000, 1_000_000);
    ["h1", "h2", "h3", "h4"].into_iter().for_each(|name| lab.host(name));
    let delay = 100_000;
    (0..6).for_each(|n| lab.router(&format!("r{n}"), pausing(60, 40)));
    (0..5).for_each(|n| {
        lab.link(&format!("r{n}"), &format!("r{}", n + 1), Some(GIGABIT), delay, 2 * (60 + headroom(delay)));
    });
    for (host, router) in [("h1", "r0"), ("h2", "r5"), ("h3", "r3"), ("h4", "r5")] {
        lab.link(host, router, Some(GIGABIT), 0, 10_000);
    }
    let tcp = |variant: &str| {
        SourceSpec::Tcp(TcpSpec {
            variant: variant.parse().unwrap(),
            window_packets: 5000,
            mss: 1446,
            profile: Behaviour::Ns2,
            bytes: None,
            messages: None,
            delayed_ack_ns: None,
            ecn: false,
            vegas_gamma: None,
            initial_window: None,
            min_rto_ns: None,
            receive_window: None,
            on_demand: false,
        })
    };
    lab.flow("one", "h1", "h2", tcp("newreno"));
    lab.flow("two", "h3", "h4", tcp("cubic"));
    let (_, last) = lab.traced();
    assert!(last.drops.is_empty(), "{:?}", last.drops);
    assert!(count(&last, "pauses") > 10);
    assert!(last.flows.iter().all(|flow| flow.tcp.expect("TCP").retransmissions == 0));
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |xoff, xon| {
        let lab = line(FifoSpec::default(), pausing(xoff, xon), 0, 100, 1_000_000);
        Network::new(lab.spec, &[]).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(refused(90, 90), Ok(()));
    assert_eq!(
        refused(10, 11),
        Err("nodes.r2.xon: 11 packets are above xoff, which is 10; write less".into())
    );
    let problem = "nodes.r2.xoff: 100 packets are never reached: port 0 drops when 100 wait; write less";
    assert_eq!(refused(100, 10), Err(problem.into()));
    assert_eq!(refused(0, 0), Err("nodes.r2.xoff: is zero; write 1 packet or more".into()));
}
