//! The cost of a hop: nanoseconds a packet through the switch's core, with and without emulated links.
//!
//! `cargo run --release -p groupflow-switch --example hop_cost [PROGRAM.json ...]`
//!
//! Packets are IPv4/UDP, 54 bytes of headers and a tail of 1,446, as a simulator has them. Programs are
//! tests/programs/wire.json, which does nothing, and groupflow's own, which routes, unless others are named.
//! Every variant runs in turn, several times; the least time counts.
//!
//! `hop_cost --trace` prints one line in JSON: a hop through groupflow's program while nobody asks for traces,
//! and while a trace waits for packets of another port. `hop_cost_no_hooks --trace` does so for a build without
//! the code of traces. `--once` in place of `--trace` does one hop of the first kind 10,000 times, to count
//! instructions.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use groupflow_base::Nanos;
use groupflow_pipeline::{
    ActionCall, Arrival, Departure, EntryKey, Frame, Match, Pipeline, Port, Program, Verdict,
};
use groupflow_switch::core::{parse_port_link, Emitted, QueueRegisters, Switch, SwitchConfig, TraceRequest};

/// Few enough that some rounds are not interrupted on a busy machine.
const PACKETS: u64 = 10_000;
const ROUNDS: usize = 60;
const TAIL: u32 = 1_446;
/// 1,500 bytes take 97.6 ns at 123 Gb/s: this interval is a load of 0.996.
const INTERVAL: u64 = 98;

/// The way the switch is measured, and its links.
const VARIANTS: [(&str, &[&str]); 5] = [
    ("ideal links", &[]),
    ("port at 123 Gb/s", &["2:rate=123gbit,queue=2000,dir=out"]),
    // Slower than the arrivals: all but the first packets wait.
    ("port at 122 Gb/s, queueing", &["2:rate=122gbit,queue=2000,dir=out"]),
    ("port at 123 Gb/s, 1 us", &["2:rate=123gbit,delay=1us,queue=2000,dir=out"]),
    (
        "both links at 123 Gb/s, 1 us",
        &["1:rate=124gbit,delay=1us,queue=2000,dir=in", "2:rate=123gbit,delay=1us,queue=2000,dir=out"],
    ),
];

pub fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let ours = root.join("../../p4src/build/groupflow.json");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let paths: Vec<PathBuf> = match arguments.first().map(String::as_str) {
        Some("--trace") => return measure_trace(&ours),
        Some("--once") => return through_switch(&read(&ours)?, &[], false, false).map(drop),
        Some(_) => arguments.iter().map(PathBuf::from).collect(),
        None => vec![root.join("tests/programs/wire.json"), ours],
    };
    println!("{:<20} {:<30} {:>10} {:>14}", "program", "variant", "ns/packet", "of these core");
    paths.iter().try_for_each(|path| measure(path))
}

fn read(path: &Path) -> Result<Arc<Program>, Box<dyn Error>> {
    Ok(Arc::new(Program::from_json(&std::fs::read_to_string(path)?)?))
}

fn measure_trace(path: &Path) -> Result<(), Box<dyn Error>> {
    let program = read(path)?;
    let mut best = [f64::MAX; 2];
    for _ in 0..ROUNDS * 10 {
        for (traced, best) in [false, true].into_iter().zip(&mut best) {
            *best = best.min(through_switch(&program, &[], false, traced)?);
        }
    }
    println!("{{\"off_ns\": {:.1}, \"waiting_ns\": {:.1}}}", best[0], best[1]);
    Ok(())
}

fn measure(path: &Path) -> Result<(), Box<dyn Error>> {
    let program = read(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut best = [f64::MAX; 1 + VARIANTS.len() * 2];
    for _ in 0..ROUNDS {
        best[0] = best[0].min(pipeline_alone(&program)?);
        for (n, (_, links)) in VARIANTS.iter().enumerate() {
            for eager in [false, true] {
                let slot = &mut best[1 + 2 * n + usize::from(eager)];
                *slot = slot.min(through_switch(&program, links, eager, false)?);
            }
        }
    }
    println!("{name:<20} {:<30} {:>10.0}", "pipeline alone", best[0]);
    for (n, (variant, _)) in VARIANTS.iter().enumerate() {
        for (eager, label) in [(0, ""), (1, ", eager")] {
            let time = best[1 + 2 * n + eager];
            println!("{name:<20} {:<30} {time:>10.0} {:>14.0}", format!("{variant}{label}"), time - best[0]);
        }
    }
    Ok(())
}

fn pipeline_alone(program: &Arc<Program>) -> Result<f64, Box<dyn Error>> {
    let mut pipeline = Pipeline::new(Arc::clone(program));
    route(&mut pipeline)?;
    let head = head();
    let mut frame = Frame::default();
    let start = Instant::now();
    for n in 0..PACKETS {
        let now = Nanos(n * INTERVAL);
        let done = pipeline.ingress(now, Arrival { tail: TAIL, ..Arrival::on(Port(1)) }, &head);
        let (Verdict::Unicast(port), Some(packet)) = (done.verdict, done.packet) else {
            return Err("the program does not forward the packet".into());
        };
        pipeline.egress_into(now, packet, Departure { port, ..Departure::default() }, &mut frame);
    }
    Ok(per_packet(start))
}

fn through_switch(
    program: &Arc<Program>, links: &[&str], eager: bool, traced: bool,
) -> Result<f64, Box<dyn Error>> {
    let mut switch = Switch::new(SwitchConfig {
        ports: (1..=2).map(Port).collect(),
        links: links.iter().map(|link| parse_port_link(link)).collect::<Result<_, _>>()?,
        eager,
        ..SwitchConfig::default()
    })?;
    let mut forwarding = switch.fresh(Arc::clone(program), QueueRegisters::default());
    route(&mut forwarding.pipeline)?;
    switch.install(forwarding);
    if traced {
        switch.trace(&TraceRequest { port: Some(2), next: 1, ..TraceRequest::default() })?;
    }
    let head = head();
    let mut emitted = Emitted::default();
    let mut left = 0;
    let start = Instant::now();
    let mut deadline = None;
    for n in 0..PACKETS {
        let now = Nanos(n * INTERVAL);
        // As a simulator does: events due before happen at their times.
        while let Some(due) = deadline.filter(|due| *due < now) {
            deadline = switch.advance(due, &mut emitted);
            left += emitted.outputs.len() as u64;
            switch.reuse(&mut emitted.outputs);
        }
        switch.inject_with_tail(now, Port(1), &head, TAIL);
        deadline = switch.advance(now, &mut emitted);
        left += emitted.outputs.len() as u64;
        switch.reuse(&mut emitted.outputs);
    }
    let time = per_packet(start);
    if left + 100 < PACKETS {
        return Err(format!("only {left} of {PACKETS} left").into());
    }
    Ok(time)
}

fn per_packet(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64 / PACKETS as f64
}

/// Routes 10.0.0.0/8 to port 2, where the program has tables for that.
fn route(pipeline: &mut Pipeline) -> Result<(), Box<dyn Error>> {
    let route = (Match::Lpm { value: 10 << 24, prefix: 8 }, "route", vec![2, 1, 1]);
    let station = (Match::Exact(0x02_00_00_00_00_01), "for_us", vec![]);
    for (name, (key, action, arguments)) in [("ipv4_route", route), ("station", station)] {
        let program = Arc::clone(pipeline.program());
        let in_control = |what: &str| format!("GroupflowIngress.forwarding.{what}");
        let Some(table) = program.table(&in_control(name)) else { continue };
        let action = program.table_action(table.id, &in_control(action)).ok_or("no such action")?;
        let call = ActionCall { action: action.id, arguments };
        let key = EntryKey { matches: vec![key], priority: 0 };
        pipeline.table_insert(table.id, &key, &call)?;
    }
    Ok(())
}

/// Ethernet, IPv4 from 10.0.0.2 to 10.0.0.1, UDP, and 12 bytes of what it carries.
fn head() -> Vec<u8> {
    let mut head = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    let length = (40 + TAIL) as u16;
    let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];
    ip[2..4].copy_from_slice(&length.to_be_bytes());
    let sum: u32 = ip.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    ip[10..12].copy_from_slice(&(!((sum >> 16) + (sum & 0xffff)) as u16).to_be_bytes());
    head.extend(ip);
    for word in [1000, 2000, length - 20, 0] {
        head.extend(u16::to_be_bytes(word));
    }
    head.extend([0; 12]);
    head
}
