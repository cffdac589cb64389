//! Many nodes.

use crate::common::{MemoryRecorder, NetworkBuilder};

/// Routers in a grid of `width` by `height`, with `hosts` each.
fn grid(width: usize, height: usize, hosts: usize) -> NetworkBuilder {
    let mut lab = NetworkBuilder::new(2_000_000, 1_000_000);
    let router = |x: usize, y: usize| format!("r{x}x{y}");
    for y in 0..height {
        for x in 0..width {
            lab.fifo(&router(x, y));
        }
    }
    for y in 0..height {
        for x in 0..width {
            if x + 1 < width {
                lab.link(&router(x, y), &router(x + 1, y), Some(10_000_000_000), 10_000, 100);
            }
            if y + 1 < height {
                lab.link(&router(x, y), &router(x, y + 1), Some(10_000_000_000), 10_000, 100);
            }
            for n in 0..hosts {
                let host = format!("h{x}x{y}x{n}");
                lab.host(&host);
                lab.link(&host, &router(x, y), Some(1_000_000_000), 1_000, 100);
            }
        }
    }
    lab
}

#[test]
fn ten_thousand_hosts_on_a_thousand_switches() {
    let (width, height, hosts) = (40, 25, 10);
    let mut lab = grid(width, height, hosts);
    for y in 0..height {
        for x in 0..width {
            for n in 0..hosts {
                // To a host six steps away.
                let to = format!("h{}x{}x{n}", (x + 3) % width, (y + 3) % height);
                let flow = lab.udp(&format!("f{x}x{y}x{n}"), &format!("h{x}x{y}x{n}"), &to, 10_000_000, 1000);
                flow.start_ns = ((x * 7 + y * 13 + n * 17) % 1000) as u64 * 800;
            }
        }
    }
    let mut recorder = MemoryRecorder::default();
    lab.network().run(&mut recorder).expect("it runs");
    let last = recorder.samples.last().expect("a sample");
    let delivered: u64 = last.flows.iter().map(|flow| flow.delivered_packets).sum();
    let sent: u64 = last.flows.iter().map(|flow| flow.sent_packets).sum();
    assert!(sent > 20_000 && delivered > 10_000 && last.hops > 100_000, "{sent} {delivered} {}", last.hops);
}
