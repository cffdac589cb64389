//! Rate, delay, loss, schedules and queues of links, to the nanosecond.

use crate::common::{count, NetworkBuilder};
use groupflow_netsim::{LossSpec, NodeId, TraceKind};

/// h1 - r1 - h2.
fn one_router(rate: u64, delay: u64, queue: u32, duration: u64) -> NetworkBuilder {
    let mut lab = NetworkBuilder::new(duration, duration);
    ["h1", "h2"].into_iter().for_each(|name| lab.host(name));
    lab.fifo("r1");
    lab.link("h1", "r1", None, 0, 1000);
    lab.link("r1", "h2", Some(rate), delay, queue);
    lab
}

#[test]
fn a_frame_takes_its_serialisation_and_the_delay() {
    // 1250 bytes at 12.3 Gb/s: 813.008 ns; back to back the total is rounded once.
    let mut lab = one_router(12_300_000_000, 100_000, 1000, 1_000_000);
    lab.udp("f", "h1", "h2", 100_000_000_000, 1250).stop_ns = Some(1_000);
    let (recorder, last) = lab.traced();
    let at = |node| {
        let here = recorder.trace.iter().filter(move |record| record.node == NodeId(node));
        here.map(|record| record.time.0).collect::<Vec<_>>()
    };
    let generated: Vec<u64> = (0..10).map(|n| n * 100).collect();
    assert_eq!(at(2), generated, "no rate and no delay to the router");
    let arrivals: Vec<u64> = (1..=10u64).map(|n| n * 10_000_000_000_000 / 12_300_000_000 + 100_000).collect();
    assert_eq!(at(1), arrivals);
    assert_eq!((last.flows[0].delivered_packets, last.hops), (10, 10));
    let delay: u64 = arrivals.iter().zip(&generated).map(|(arrived, sent)| arrived - sent).sum();
    assert_eq!(last.flows[0].delay_ns.unwrap_or(0), u128::from(delay));
}

#[test]
fn a_full_queue_drops_at_the_tail() {
    // 100 frames at once: one is being sent, ten wait.
    let mut lab = one_router(8_000_000, 1000, 10, 100_000_000);
    lab.udp("f", "h1", "h2", 1_000_000_000_000, 1000).stop_ns = Some(800);
    let (_, last) = lab.traced();
    assert_eq!((last.flows[0].sent_packets, last.flows[0].delivered_packets), (100, 11));
    assert_eq!(count(&last, "queue_full"), 89);
    let mut lab = one_router(8_000_000, 1000, 1000, 100_000_000);
    lab.spec.links[1].queue_bytes = Some(5500);
    lab.udp("f", "h1", "h2", 1_000_000_000_000, 1000).stop_ns = Some(800);
    assert_eq!(lab.traced().1.flows[0].delivered_packets, 6, "limited in bytes");
}

#[test]
fn every_frame_is_somewhere() {
    let mut lab = one_router(100_000_000, 5_000_000, 20, 400_000_000);
    lab.spec.links[1].loss = LossSpec::GilbertElliott {
        to_bad_ppb: 10_000_000,
        to_good_ppb: 100_000_000,
        good_loss_ppb: 1_000_000,
        bad_loss_ppb: 500_000_000,
    };
    lab.spec.links[1].down_ns = vec![(100_000_000, 150_000_000)];
    lab.udp("f", "h1", "h2", 150_000_000, 1250).stop_ns = Some(350_000_000);
    let (recorder, last) = lab.traced();
    let flow = last.flows[0];
    let lost = count(&last, "loss") + count(&last, "down");
    assert_eq!(flow.sent_packets, flow.delivered_packets + count(&last, "queue_full") + lost);
    assert!(count(&last, "loss") > 50 && count(&last, "queue_full") > 1000);
    // The link was down for 50 ms of full load, and lost what was on it: 5 ms more.
    let expected = 55_000_000 / 100_000;
    assert!(count(&last, "down").abs_diff(expected) < 5, "{}", count(&last, "down"));
    assert_eq!(flow.reordered, 0);
    let traced = recorder.trace.iter().filter(|record| record.kind == TraceKind::Lost).count() as u64;
    assert_eq!(traced, lost);
}

#[test]
fn what_is_on_the_links_of_a_path_is_measured() {
    let mut lab = one_router(1_000_000_000, 1_000_000, 1000, 20_000_000);
    lab.spec.sample_ns = 1_000_000;
    lab.udp("f", "h1", "h2", 500_000_000, 1250);
    lab.udp("other", "h1", "h2", 250_000_000, 1250);
    let network = lab.network();
    assert_eq!(network.capacities()[0], 125_000.0);
    let (recorder, _) = lab.traced();
    for sample in &recorder.samples[2..] {
        assert!((49..=51).contains(&sample.flows[0].in_transit_packets), "{:?}", sample.flows[0]);
        assert!((24..=26).contains(&sample.flows[1].in_transit_packets), "{:?}", sample.flows[1]);
        assert_eq!(sample.flows[0].in_transit_bytes, 1250 * sample.flows[0].in_transit_packets);
    }
}
