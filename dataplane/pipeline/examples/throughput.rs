//! Loads a program and measures how many packets a second it handles on one core.
//!
//! `cargo run --release -p groupflow-pipeline --example throughput -- p4src/build/groupflow.json [FRAMES]`
//!
//! The packets are IPv4/UDP frames of 1,000 bytes; tables are as the program declares them.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use groupflow_pipeline::units::{Nanos, Port};
use groupflow_pipeline::{Arrival, Departure, Pipeline, Program, Verdict};

/// Ethernet, IPv4 to 10.0.0.1, UDP between `ports`, a payload of zeros.
fn frame(ports: [u16; 2]) -> Vec<u8> {
    let mut frame = vec![0; 1_000];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
    let length = (frame.len() - 14) as u16;
    let mut ip = [0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];
    ip[2..4].copy_from_slice(&length.to_be_bytes());
    let sum: u32 = ip.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    ip[10..12].copy_from_slice(&(!((sum >> 16) + (sum & 0xffff)) as u16).to_be_bytes());
    frame[14..34].copy_from_slice(&ip);
    frame[34..36].copy_from_slice(&ports[0].to_be_bytes());
    frame[36..38].copy_from_slice(&ports[1].to_be_bytes());
    frame[38..40].copy_from_slice(&(length - 20).to_be_bytes());
    frame
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(path) = args.next() else {
        eprintln!("usage: throughput PROGRAM.json [FRAMES]");
        return ExitCode::FAILURE;
    };
    let frames: u64 = args.next().and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let start = Instant::now();
    let program = match std::fs::read_to_string(&path).map_err(|error| error.to_string()) {
        Ok(text) => Program::from_json(&text).map_err(|error| error.to_string()),
        Err(error) => Err(error),
    };
    let program = match program {
        Ok(program) => Arc::new(program),
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("loaded in {:?}: {} tables", start.elapsed(), program.tables().len());
    for (name, ports) in [("UDP", [1_000, 2_000]), ("group", [26_470, 26_470])] {
        let mut pipeline = Pipeline::new(Arc::clone(&program));
        let frame = frame(ports);
        let (mut sent, start) = (0u64, Instant::now());
        for i in 0..frames {
            let now = Nanos(i);
            let done = pipeline.ingress(now, Arrival::on(Port(1)), &frame);
            if let (Verdict::Unicast(port), Some(packet)) = (done.verdict, done.packet) {
                pipeline.egress(now, packet, Departure { port, ..Departure::default() });
                sent += 1;
            }
        }
        let rate = frames as f64 / start.elapsed().as_secs_f64();
        println!("{name} frames: {rate:.0} packets/s, {sent} of {frames} sent");
    }
    ExitCode::SUCCESS
}
