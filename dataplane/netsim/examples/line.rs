//! The speed of a line of routers: `cargo run --release --example line -- [ROUTERS] [MS] [THREADS]`.

use std::net::Ipv4Addr;
use std::time::Instant;

use groupflow_netsim::spec::{
    Arrivals, EndSpec, FifoSpec, FlowSpec, HostSpec, LinkSpec, Mac, NetworkSpec, NodeKind, NodeSpec, Sizes,
    SourceSpec, UdpSpec,
};
use groupflow_netsim::{LossSpec, Network};

fn main() {
    let number = |place, default| std::env::args().nth(place).and_then(|n| n.parse().ok()).unwrap_or(default);
    let (routers, milliseconds, threads) = (number(1, 30u64), number(2, 500), number(3, 1));
    let mut nodes: Vec<NodeSpec> = (0..routers)
        .map(|n| NodeSpec { name: format!("r{n}"), kind: NodeKind::Fifo(FifoSpec::default()) })
        .collect();
    let ends = [
        ("h1", 1, "r0".to_string()),
        ("h2", 2, format!("r{}", routers - 1)),
        ("h3", 3, format!("r{}", routers / 2)),
    ];
    let link = |a: (&str, u16), b: (&str, u16), rate_bps, delay_ns| LinkSpec {
        a: EndSpec { node: a.0.into(), port: a.1 },
        b: EndSpec { node: b.0.into(), port: b.1 },
        rate_bps,
        delay_ns,
        queue_packets: 1800,
        queue_bytes: None,
        loss: LossSpec::None,
        down_ns: vec![],
    };
    let mut links: Vec<LinkSpec> = (1..routers)
        .map(|n| link((&format!("r{}", n - 1), 1), (&format!("r{n}"), 0), Some(12_300_000_000), 100_000))
        .collect();
    for (name, address, router) in &ends {
        let host = HostSpec {
            ip: Ipv4Addr::new(10, 0, 0, *address),
            mac: Mac([2, 0, 0, 0, 1, *address]),
            gateway_mac: Mac([2; 6]),
        };
        nodes.push(NodeSpec { name: (*name).into(), kind: NodeKind::Host(host) });
        links.push(link((name, 0), (router, 2), None, 0));
    }
    let flow = |name: &str, from: &str, to: &str, port, rate_bps| FlowSpec {
        name: name.into(),
        from: from.into(),
        to: to.into(),
        source_port: port,
        destination_port: port,
        start_ns: 0,
        stop_ns: None,
        shaped_as: None,
        source: SourceSpec::Udp(UdpSpec {
            rate_bps,
            frame_bytes: 1514,
            sizes: Sizes::Constant,
            arrivals: Arrivals::Constant,
        }),
    };
    // As much as the paper's TCP: half of the line's rate, and as many small frames back.
    let mut back = flow("back", "h2", "h1", 3, 6_000_000_000 / 25);
    if let SourceSpec::Udp(udp) = &mut back.source {
        udp.frame_bytes = 60;
    }
    let flows =
        vec![flow("target", "h1", "h2", 1, 6_000_000_000), flow("other", "h3", "h2", 2, 6_000_000_000), back];
    let spec = NetworkSpec {
        seed: 1,
        duration_ns: milliseconds * 1_000_000,
        sample_ns: 1_000_000,
        nodes,
        links,
        flows,
        relays: vec![],
        members: vec![],
        bones: vec![],
    };
    let mut network = Network::new(spec, &[]).expect("a valid network");
    network.set_threads(threads as usize);
    let start = Instant::now();
    network.run(&mut ()).expect("it runs");
    let (wall, hops) = (start.elapsed().as_secs_f64(), network.hops());
    println!("{hops} hops in {wall:.3} s: {:.1} ns a hop, {:?}", wall * 1e9 / hops as f64, network.islands());
}
