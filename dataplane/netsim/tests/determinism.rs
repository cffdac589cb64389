//! One seed, one trace: byte for byte, also in pieces.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::ControlFlow;

use crate::common::{udp, MemoryRecorder, NetworkBuilder};
use groupflow_base::Nanos;
use groupflow_netsim::spec::{Arrivals, Sizes};
use groupflow_netsim::{LossSpec, Observer, Sample, TraceRecord};

/// Eight routers in a ring with chords, a host at each (some without delay), flows across.
fn ring(seed: u64) -> NetworkBuilder {
    let mut lab = NetworkBuilder::new(30_000_000, 1_000_000);
    lab.spec.seed = seed;
    for n in 0..8 {
        lab.fifo(&format!("r{n}"));
        lab.host(&format!("h{n}"));
    }
    for n in 0..8 {
        let host_delay = if n % 2 == 0 { 0 } else { 50_000 };
        lab.link(&format!("h{n}"), &format!("r{n}"), Some(1_000_000_000), host_delay, 50);
        let link =
            lab.link(&format!("r{n}"), &format!("r{}", (n + 1) % 8), Some(300_000_000), 100_000 + 7 * n, 20);
        link.loss = LossSpec::Bernoulli { loss_ppb: 10_000_000 };
    }
    lab.link("r0", "r4", Some(200_000_000), 0, 30);
    for n in 0..8 {
        let (from, to) = (format!("h{n}"), format!("h{}", (n + 3) % 8));
        let arrivals = match n % 3 {
            0 => Arrivals::Poisson,
            1 => Arrivals::OnOff { on_ns: 1_000_000, off_ns: 500_000, random: true },
            _ => Arrivals::Constant,
        };
        lab.flow(&format!("f{n}"), &from, &to, udp(250_000_000, 700, Sizes::Exponential, arrivals));
    }
    lab
}

fn text(recorder: &MemoryRecorder) -> String {
    let mut text = String::new();
    recorder.trace.iter().for_each(|record| writeln!(text, "{record}").expect("memory"));
    recorder.samples.iter().for_each(|sample| writeln!(text, "{sample:?}").expect("memory"));
    text
}

fn run(seed: u64) -> String {
    text(&ring(seed).traced().0)
}

#[test]
fn a_seed_has_one_trace() {
    let once = run(5);
    assert!(once.lines().count() > 20_000, "{}", once.lines().count());
    assert_eq!(once, run(5));
    assert_ne!(once, run(6));
}

#[test]
fn the_trace_is_in_total_order() {
    let (recorder, _) = ring(1).traced();
    let key = |record: &TraceRecord| (record.time, record.node, record.sequence);
    assert!(recorder.trace.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])));
}

#[test]
fn no_island_runs_ahead_of_what_reaches_it() {
    let (recorder, _) = ring(1).traced();
    let mut next = HashMap::new();
    for record in &recorder.trace {
        let sequence = next.entry(record.node).or_insert(0);
        assert_eq!(record.sequence, *sequence, "at {} of node {}", record.time, record.node.0);
        *sequence += 1;
    }
}

/// Breaks off again and again.
#[derive(Default)]
struct Impatient(MemoryRecorder);

impl Observer for Impatient {
    fn sample(&mut self, sample: &Sample) {
        self.0.sample(sample);
    }
    fn trace(&mut self, records: &[TraceRecord]) {
        self.0.trace(records);
    }
    fn progress(&mut self, _now: Nanos) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

#[test]
fn a_run_in_pieces_is_the_same_run() {
    let mut network = ring(5).network();
    network.set_trace(true);
    let mut observer = Impatient::default();
    let mut pieces = 0;
    while !network.finished() {
        network.run(&mut observer).expect("it runs");
        pieces += 1;
    }
    assert!(pieces > 20);
    assert_eq!(text(&observer.0), run(5));
}
