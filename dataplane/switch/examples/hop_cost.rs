//! The cost of a hop (experiments/bench/pipeline.py): nanoseconds a packet through the switch's core with
//! groupflow's program, which routes, and ideal links, while nobody asks for traces, and while a trace waits
//! for packets of another port. It prints one line in JSON.
//!
//! `cargo run --release -p groupflow-switch --example hop_cost [--once]`
//!
//! Packets are IPv4/UDP, 54 bytes of headers and a tail of 1,446, as a simulator has them. Both kinds run in
//! turn, several times; the least time counts. With `--once` the first kind runs once, to count instructions.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use groupflow_base::codec::internet_checksum;
use groupflow_base::Nanos;
use groupflow_pipeline::{ActionCall, EntryKey, Match, Pipeline, Port, Program};
use groupflow_switch::core::{Emitted, QueueRegisters, Switch, SwitchConfig, TraceRequest};

/// Few enough that some rounds are not interrupted on a busy machine.
const PACKETS: u64 = 10_000;
const ROUNDS: usize = 600;
const TAIL: u32 = 1_446;
/// 1,500 bytes take 97.6 ns at 123 Gb/s.
const INTERVAL: u64 = 98;

fn main() -> Result<(), Box<dyn Error>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../p4src/build/groupflow.json");
    let program = Arc::new(Program::from_json(&std::fs::read_to_string(path)?)?);
    if std::env::args().any(|argument| argument == "--once") {
        return through_switch(&program, false).map(drop);
    }
    let mut best = [f64::MAX; 2];
    for _ in 0..ROUNDS {
        for (traced, best) in [false, true].into_iter().zip(&mut best) {
            *best = best.min(through_switch(&program, traced)?);
        }
    }
    println!("{{\"off_ns\": {:.1}, \"waiting_ns\": {:.1}}}", best[0], best[1]);
    Ok(())
}

fn through_switch(program: &Arc<Program>, traced: bool) -> Result<f64, Box<dyn Error>> {
    let mut switch =
        Switch::new(SwitchConfig { ports: (1..=2).map(Port).collect(), ..SwitchConfig::default() })?;
    let mut forwarding = switch.fresh(Arc::clone(program), QueueRegisters::default());
    route(&mut forwarding.pipeline)?;
    switch.install(forwarding);
    if traced {
        switch.trace(&TraceRequest { port: Some(2), next: 1, ..TraceRequest::default() })?;
    }
    let head = head();
    let mut emitted = Emitted::default();
    let mut sent = 0;
    let start = Instant::now();
    for n in 0..PACKETS {
        let now = Nanos(n * INTERVAL);
        switch.inject_with_tail(now, Port(1), &head, TAIL);
        switch.advance(now, &mut emitted);
        sent += emitted.outputs.len() as u64;
        switch.reuse(&mut emitted.outputs);
    }
    let time = start.elapsed().as_nanos() as f64 / PACKETS as f64;
    if sent < PACKETS {
        return Err(format!("only {sent} of {PACKETS} left").into());
    }
    Ok(time)
}

/// Routes 10.0.0.0/8 to port 2.
fn route(pipeline: &mut Pipeline) -> Result<(), Box<dyn Error>> {
    let route = (Match::Lpm { value: 10 << 24, prefix: 8 }, "route", vec![2, 1, 1]);
    let admitted = (Match::Exact(0x02_00_00_00_00_01), "admit_to_l3", vec![]);
    for (name, (key, action, arguments)) in [("ipv4_route", route), ("l3_admit", admitted)] {
        let program = Arc::clone(pipeline.program());
        let in_control = |what: &str| format!("GroupflowIngress.forwarding.{what}");
        let table = program.table(&in_control(name)).ok_or("no such table")?;
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
    let sum = internet_checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    head.extend(ip);
    for word in [1000, 2000, length - 20, 0] {
        head.extend(u16::to_be_bytes(word));
    }
    head.extend([0; 12]);
    head
}
