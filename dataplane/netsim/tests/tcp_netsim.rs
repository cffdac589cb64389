//! As `tcp_line`, on netsim itself: routers in a line, hosts at them by links that take no time.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::fmt::Write;
use std::net::Ipv4Addr;

use groupflow_netsim::spec::{
    EndSpec, FifoSpec, FlowSpec, HostSpec, LinkSpec, Mac, NetworkSpec, NodeKind, NodeSpec, SourceSpec,
    TcpSpec,
};
use groupflow_netsim::tcp::Behaviour;
use groupflow_netsim::{LossSpec, Network, Observer, Sample};

const DELAYED_ACK: u64 = 100_000_000;

fn list(name: &str) -> Vec<Vec<String>> {
    let text = std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    text.split(';').map(|item| item.split_whitespace().map(str::to_owned).collect()).collect()
}

fn scaled(text: &str, scale: f64) -> u64 {
    (text.parse::<f64>().unwrap() * scale).round() as u64
}

fn router(place: &str) -> String {
    format!("r{place}")
}

fn link(
    a: (String, u16), b: (String, u16), rate_bps: Option<u64>, delay_ns: u64, queue_packets: u32,
) -> LinkSpec {
    LinkSpec {
        a: EndSpec { node: a.0, port: a.1 },
        b: EndSpec { node: b.0, port: b.1 },
        rate_bps,
        delay_ns,
        queue_packets,
        queue_bytes: None,
        loss: LossSpec::None,
        down_ns: vec![],
    }
}

/// Routers r0, r1 ...; each end of a flow is a host of its own.
fn spec(links: &[Vec<String>], flows: &[Vec<String>], until: u64, step: u64) -> NetworkSpec {
    let mut nodes: Vec<NodeSpec> = (0..=links.len())
        .map(|n| NodeSpec { name: router(&n.to_string()), kind: NodeKind::Fifo(FifoSpec::default()) })
        .collect();
    let mut wires: Vec<LinkSpec> = links
        .iter()
        .enumerate()
        .map(|(n, fields)| {
            let (rate, delay) = (scaled(&fields[0], 1e6), scaled(&fields[1], 1e6));
            // ns-2's limit counts the packet that is being sent.
            let waiting = fields[2].parse::<u32>().unwrap() - 1;
            link((router(&n.to_string()), 1), (router(&(n + 1).to_string()), 0), Some(rate), delay, waiting)
        })
        .collect();
    let mut traffic = Vec::new();
    for (n, fields) in (0..).zip(flows) {
        for (name, port, side) in [(format!("s{n}"), 2 + n, 1), (format!("t{n}"), 2 + n, 2)] {
            let host = HostSpec {
                ip: Ipv4Addr::new(10, 0, n as u8, side),
                mac: Mac([2, 0, 0, 0, n as u8, side]),
                gateway_mac: Mac([2; 6]),
            };
            nodes.push(NodeSpec { name: name.clone(), kind: NodeKind::Host(host) });
            wires.push(link((name, 0), (router(&fields[usize::from(side)]), port), None, 0, 1));
        }
        let delayed = fields.get(5).is_some_and(|sink| sink.ends_with("DelAck"));
        traffic.push(FlowSpec {
            name: format!("f{n}"),
            from: format!("s{n}"),
            to: format!("t{n}"),
            source_port: 1000 + n,
            destination_port: 2000 + n,
            start_ns: scaled(&fields[3], 1e9),
            stop_ns: None,
            shaped_as: None,
            backlog: None,
            source: SourceSpec::Tcp(TcpSpec {
                variant: fields[0].parse().unwrap(),
                window_packets: fields[4].parse().unwrap(),
                mss: 1446,
                profile: Behaviour::Ns2,
                bytes: None,
                messages: None,
                delayed_ack_ns: delayed.then_some(DELAYED_ACK),
                ecn: false,
                vegas_gamma: None,
                initial_window: None,
                min_rto_ns: None,
                receive_window: None,
                on_demand: false,
            }),
        });
    }
    NetworkSpec {
        seed: 1,
        duration_ns: until,
        sample_ns: step,
        nodes,
        links: wires,
        flows: traffic,
        relays: vec![],
        members: vec![],
        bones: vec![],
        trees: vec![],
    }
}

struct SampleWriter(String);

impl Observer for SampleWriter {
    fn sample(&mut self, sample: &Sample) {
        let seconds = sample.time.0 as f64 * 1e-9;
        let dropped: u64 = sample.drops.values().sum();
        for (index, flow) in sample.flows.iter().enumerate() {
            let Some(tcp) = flow.tcp.filter(|_| seconds > 0.0) else { continue };
            let acked = (flow.sent_packets - tcp.retransmissions - tcp.in_flight) as i64 - 1;
            writeln!(
                self.0,
                "{seconds:.6} {index} {:.6} {} {acked} {} {} {} {dropped}",
                tcp.cwnd, tcp.ssthresh as u64, flow.sent_packets, tcp.retransmissions, tcp.timeouts,
            )
            .unwrap();
        }
    }
}

#[test]
#[ignore = "run by tests/validation with LINKS, FLOWS, UNTIL, SAMPLE and OUT"]
fn scenario() {
    let until = scaled(&std::env::var("UNTIL").unwrap(), 1e9);
    let step = scaled(&std::env::var("SAMPLE").unwrap(), 1e9);
    let spec = spec(&list("LINKS"), &list("FLOWS"), until, step);
    let mut network = Network::new(spec, &[]).unwrap();
    let mut writer = SampleWriter(String::new());
    network.run(&mut writer).unwrap();
    std::fs::write(std::env::var("OUT").unwrap(), writer.0).unwrap();
}
