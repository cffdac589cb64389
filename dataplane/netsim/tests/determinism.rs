//! One seed, one trace: byte for byte, on any number of threads and in pieces.

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

fn run(seed: u64, threads: usize) -> String {
    let mut network = ring(seed).network();
    assert_eq!(network.islands(), (11, Nanos(50_000)));
    network.set_threads(threads);
    network.set_trace(true);
    let mut recorder = MemoryRecorder::default();
    network.run(&mut recorder).expect("it runs");
    text(&recorder)
}

#[test]
fn a_seed_has_one_trace_on_any_number_of_threads() {
    let once = run(5, 1);
    assert!(once.lines().count() > 20_000, "{}", once.lines().count());
    assert_eq!(once, run(5, 1));
    assert_eq!(once, run(5, 2));
    assert_eq!(once, run(5, 3));
    assert_ne!(once, run(6, 1));
}

#[test]
fn the_trace_is_in_total_order() {
    let mut network = ring(1).network();
    network.set_threads(2);
    network.set_trace(true);
    let mut recorder = MemoryRecorder::default();
    network.run(&mut recorder).expect("it runs");
    let key = |record: &TraceRecord| (record.time, record.node, record.sequence);
    assert!(recorder.trace.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])));
}

/// Breaks off again and again.
#[derive(Default)]
struct Impatient {
    recorder: MemoryRecorder,
    calls: u32,
}

impl Observer for Impatient {
    fn sample(&mut self, sample: &Sample) {
        self.recorder.sample(sample);
    }
    fn trace(&mut self, records: &[TraceRecord]) {
        self.recorder.trace(records);
    }
    fn progress(&mut self, _now: Nanos) -> ControlFlow<()> {
        self.calls += 1;
        if self.calls % 7 == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

#[test]
fn a_run_in_pieces_is_the_same_run() {
    let mut network = ring(5).network();
    network.set_trace(true);
    let mut observer = Impatient::default();
    let mut pieces = 0;
    while !network.finished() {
        network.set_threads(1 + pieces % 2);
        network.run(&mut observer).expect("it runs");
        pieces += 1;
    }
    assert!(pieces > 20);
    assert_eq!(text(&observer.recorder), run(5, 1));
}
