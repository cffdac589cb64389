//! Runs one scenario of `tests/validation` on the line of `tcp_net` and writes samples in the form that
//! its ns-2 script writes. Ignored in a plain `cargo test`: it takes its scenario from the environment.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod tcp_net;

use std::fmt::Write;

use groupflow_base::Nanos;
use groupflow_netsim::tcp::{TcpReceiverConfig, TcpSenderConfig, Variant};
use tcp_net::{Net, QueuedLink, TcpFlow};

fn list(name: &str) -> Vec<Vec<String>> {
    let text = std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    text.split(';').map(|item| item.split_whitespace().map(str::to_owned).collect()).collect()
}

/// A decimal number times `scale`, exactly enough for the scenarios' few digits.
fn scaled(text: &str, scale: f64) -> u64 {
    (text.parse::<f64>().unwrap() * scale).round() as u64
}

fn flow(fields: &[String]) -> TcpFlow {
    let variant: Variant = fields[0].parse().unwrap();
    let mut config = TcpSenderConfig::ns2(variant, fields[4].parse().unwrap());
    config.mss = 1500 - tcp_net::HEADER;
    config.start = Nanos(scaled(&fields[3], 1e9));
    let mut receiver = TcpReceiverConfig::for_sender(&config);
    if fields.get(5).is_some_and(|sink| sink.ends_with("DelAck")) {
        receiver.delayed_ack = Some(Nanos::from_millis(100));
    }
    TcpFlow::with_receiver(fields[1].parse().unwrap(), fields[2].parse().unwrap(), config, receiver)
}

#[test]
#[ignore = "run by tests/validation with LINKS, FLOWS, FIRST, UNTIL, SAMPLE and OUT"]
fn scenario() {
    let arrivals_first = std::env::var("FIRST").unwrap() == "arrivals";
    let link = |fields: &Vec<String>| {
        let (rate, delay) = (scaled(&fields[0], 1e6), Nanos(scaled(&fields[1], 1e6)));
        let mut link = QueuedLink::new(rate, delay, fields[2].parse().unwrap());
        link.arrivals_first = arrivals_first;
        link
    };
    let links = list("LINKS").iter().map(link).collect();
    let flows = list("FLOWS").iter().map(|fields| flow(fields)).collect();
    let until = scaled(&std::env::var("UNTIL").unwrap(), 1e9);
    let step = scaled(&std::env::var("SAMPLE").unwrap(), 1e9);
    let mut net = Net::new(links, flows, 0);
    let mut out = String::new();
    let mut at = step;
    while at <= until {
        net.run_until(Nanos(at));
        let dropped: u64 = net.forth.iter().map(|link| link.drops).sum();
        for (index, flow) in net.flows.iter().enumerate() {
            let stats = flow.sender.stats();
            // ns-2 numbers packets from 0, the SYN where there is one, and names the highest acknowledged.
            let acked = (stats.packets_sent - stats.retransmissions - stats.in_flight) as i64 - 1;
            writeln!(
                out,
                "{:.6} {index} {:.6} {} {acked} {} {} {} {dropped}",
                at as f64 * 1e-9,
                stats.cwnd,
                stats.ssthresh as u64,
                stats.packets_sent,
                stats.retransmissions,
                stats.timeouts,
            )
            .unwrap();
        }
        at += step;
    }
    std::fs::write(std::env::var("OUT").unwrap(), out).unwrap();
}
