//! Queueing theory: one server, Poisson arrivals, exponential or constant service.

use crate::common::{udp, MemoryRecorder, NetworkBuilder};
use groupflow_netsim::spec::{Arrivals, Sizes};

const RATE: u64 = 1_000_000_000;
const MEAN: f64 = 6000.0;
/// The frame sizes that a source can make.
const SIZES: std::ops::RangeInclusive<u32> = 58..=65_549;

struct QueueTimes {
    /// Mean time from source to sink, in seconds: wait and service.
    sojourn: f64,
    /// Mean number of packets that wait.
    waiting: f64,
    packets: u64,
}

fn measure(load: f64, sizes: Sizes, seed: u64) -> QueueTimes {
    let mut lab = NetworkBuilder::new(30_000_000_000, 1_000_000);
    lab.spec.seed = seed;
    ["h1", "h2"].into_iter().for_each(|name| lab.host(name));
    lab.fifo("r1");
    lab.link("h1", "r1", None, 0, 1000);
    lab.link("r1", "h2", Some(RATE), 0, 1_000_000);
    let source = udp((RATE as f64 * load) as u64, MEAN as u32, sizes, Arrivals::Poisson);
    lab.flow("f", "h1", "h2", source);
    let mut recorder = MemoryRecorder::default();
    lab.network().run(&mut recorder).expect("it runs");
    let flow = recorder.samples.last().expect("a sample").flows[0];
    let port = |sample: &groupflow_netsim::Sample| {
        sample.queues.iter().find(|queue| queue.port == 1).map_or(0, |queue| queue.packets)
    };
    let waiting: f64 = recorder.samples.iter().map(|sample| f64::from(port(sample))).sum();
    QueueTimes {
        sojourn: flow.delay_ns.unwrap_or(0) as f64 / 1e9 / flow.delivered_packets as f64,
        waiting: waiting / recorder.samples.len() as f64,
        packets: flow.delivered_packets,
    }
}

/// First and second moment of an exponential service time, with sizes rounded and cut off as the source does.
fn exponential_moments() -> (f64, f64) {
    let (mut first, mut second) = (0.0, 0.0);
    for size in SIZES {
        let above = |bytes: f64| (-bytes / MEAN).exp();
        let lower = if size == *SIZES.start() { 1.0 } else { above(f64::from(size) - 0.5) };
        let upper = if size == *SIZES.end() { 0.0 } else { above(f64::from(size) + 0.5) };
        let service = f64::from(size) * 8.0 / RATE as f64;
        first += (lower - upper) * service;
        second += (lower - upper) * service * service;
    }
    (first, second)
}

/// Pollaczek and Khinchine: the mean wait.
fn mean_wait(arrivals_per_second: f64, first: f64, second: f64) -> f64 {
    arrivals_per_second * second / (2.0 * (1.0 - arrivals_per_second * first))
}

fn close(measured: f64, expected: f64, tolerance: f64) {
    assert!((measured / expected - 1.0).abs() < tolerance, "measured {measured}, expected {expected}");
}

#[test]
fn m_m_1_waits_as_in_theory() {
    let (first, second) = exponential_moments();
    // Cutting off changes little: service is all but exponential.
    close(second, 2.0 * first * first, 0.01);
    for (load, tolerance) in [(0.3, 0.02), (0.7, 0.04)] {
        let arrivals = load * RATE as f64 / 8.0 / MEAN;
        let wait = mean_wait(arrivals, first, second);
        close(wait + first, first / (1.0 - load), 0.01);
        let measured = measure(load, Sizes::Exponential, 1);
        close(measured.packets as f64, arrivals * 30.0, 0.01);
        close(measured.sojourn, wait + first, tolerance);
        close(measured.waiting, arrivals * wait, 2.0 * tolerance); // Little's law
    }
}

#[test]
fn m_d_1_waits_half_as_long() {
    let service = MEAN * 8.0 / RATE as f64;
    for (load, tolerance) in [(0.5, 0.02), (0.8, 0.04)] {
        let arrivals = load / service;
        let wait = mean_wait(arrivals, service, service * service);
        let measured = measure(load, Sizes::Constant, 2);
        close(measured.sojourn, wait + service, tolerance);
        close(measured.waiting, arrivals * wait, 2.0 * tolerance);
    }
}
