//! A long time. By itself in its process, because it looks at the process's memory.

mod common;

use common::NetworkBuilder;
use groupflow_netsim::Observer;

/// Resident memory in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("a process has memory");
    line.split_whitespace().nth(1).and_then(|size| size.parse().ok()).expect("a number")
}

/// Remembers the memory at each simulated second.
#[derive(Default)]
struct Memory(Vec<u64>);

impl Observer for Memory {
    fn sample(&mut self, _sample: &groupflow_netsim::Sample) {
        self.0.push(resident());
    }
}

#[test]
fn memory_does_not_grow_with_simulated_time() {
    let mut lab = NetworkBuilder::new(40_000_000_000, 1_000_000_000);
    ["h1", "h2"].into_iter().for_each(|name| lab.host(name));
    ["r1", "r2", "r3"].into_iter().for_each(|name| lab.fifo(name));
    lab.link("h1", "r1", None, 0, 100);
    lab.link("r1", "r2", Some(1_000_000_000), 100_000, 100);
    lab.link("r2", "r3", Some(1_000_000_000), 3_000_000, 100);
    lab.link("r3", "h2", Some(90_000_000), 10_000, 100);
    lab.udp("f", "h1", "h2", 100_000_000, 1000);
    let mut memory = Memory::default();
    lab.network().run(&mut memory).expect("it runs");
    // 500,000 frames pass; the bottleneck's queue is full all the time.
    let (early, late) = (memory.0[9], memory.0[39]);
    assert!(late < early + 512, "{early} KiB after 10 s, {late} KiB after 40 s");
}
