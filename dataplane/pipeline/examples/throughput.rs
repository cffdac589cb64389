//! Measures how fast groupflow's own program runs on one core, with each engine
//! (experiments/bench/pipeline.py): a line of JSON for each kind of traffic.
//!
//! `cargo run --release -p groupflow-pipeline --example throughput -- p4src/build/groupflow.json`
//!
//! First its packets by kind, then unicast and session data with up to 100,000 entries (tables are made
//! larger than the program has them).
//!
//! A packet goes through ingress, for each copy through egress, and out as a frame, in one thread. The
//! engines take turns in rounds, so that what else the machine does hits both; the best round of each counts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use groupflow_base::codec::internet_checksum;
use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use groupflow_pipeline::{
    ActionCall, Arrival, Departure, Engine, Entry, EntryKey, Fate, Frame, Instance, Match, Pipeline,
    PipelineOptions, Program, Verdict,
};

/// Short ones, so that some are not interrupted.
const ROUNDS: usize = 200;
const ENGINES: [Engine; 2] = [Engine::Native, Engine::Interpreter];
/// In a round, with each engine.
const PACKETS: [usize; 2] = [10_000, 1_000];
const SWITCH_MAC: u128 = 0x0200_0000_0001;
const COPIES: u16 = 4;
const SESSION: u32 = 7;
/// Prefixes of this many lengths, and rules of this many masks.
const LENGTHS: u32 = 9;
const MASKS: u32 = 20;
/// Many enough that their entries do not stay in the first-level cache.
const FRAMES: u32 = 2_048;

/// Ethernet and IPv4 before `rest`, of which `tail` bytes are not there.
fn ipv4(protocol: u8, source: [u8; 4], target: [u8; 4], rest: &[u8], tail: usize) -> Vec<u8> {
    let length = (20 + rest.len() + tail) as u16;
    let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0];
    ip[2..4].copy_from_slice(&length.to_be_bytes());
    ip.extend(source);
    ip.extend(target);
    let sum = internet_checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut frame = SWITCH_MAC.to_be_bytes()[10..].to_vec();
    frame.extend([2, 0, 0, 0, 0, 2, 8, 0]);
    frame.extend(ip);
    frame.extend(rest);
    frame
}

fn tcp(target: u32, payload: usize, tail: usize) -> Vec<u8> {
    let mut rest = vec![0x1f, 0x90, 0x30, 0x39, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0];
    rest.resize(20 + payload, 0);
    ipv4(6, [10, 0, 0, 200], target.to_be_bytes(), &rest, tail)
}

fn group(session: u32, kind: u8, member: u16, seq: u32, payload: usize, tail: usize) -> Vec<u8> {
    let length = (payload + tail) as u16;
    let mut group = vec![1, kind, 0, 0];
    group.extend(session.to_be_bytes());
    group.extend([0, 1]);
    group.extend(member.to_be_bytes());
    group.extend(seq.to_be_bytes());
    group.extend([0; 4]);
    group.extend(length.to_be_bytes());
    group.extend([0, 0]);
    let sum = internet_checksum(&group);
    group[22..24].copy_from_slice(&sum.to_be_bytes());
    let mut udp = Vec::new();
    for word in [26_470, 26_470, 32 + length, 0] {
        udp.extend(u16::to_be_bytes(word));
    }
    udp.extend(group);
    udp.resize(udp.len() + payload, 0);
    ipv4(17, [10, 0, 0, 200], (0xef00_0000 + session).to_be_bytes(), &udp, tail)
}

/// Adds an entry by the ends of the names. `priority`: 0 where the table has none.
fn add(p: &mut Pipeline, table: &str, priority: u32, matches: Vec<Match>, action: &str, arguments: &[u128]) {
    let program = Arc::clone(p.program());
    let table = program.tables.iter().find(|t| t.name.ends_with(table));
    let table = table.unwrap_or_else(|| panic!("the program has no such table"));
    let mut actions = table.actions.iter().map(|&id| &program.actions[id.index()]);
    let action = actions.find(|a| a.name.ends_with(action));
    let action = action.unwrap_or_else(|| panic!("{} has no such action", table.name)).id;
    let entry = Entry {
        key: EntryKey { matches, priority },
        call: ActionCall { action, arguments: arguments.to_vec() },
    };
    p.table_insert(table.id, &entry.key, &entry.call).unwrap_or_else(|error| panic!("{error}"));
}

/// Entries beside those that packets need in any case.
#[derive(Clone, Copy, Default)]
struct Entries {
    routes: u32,
    rules: u32,
    streams: u32,
}

/// The destination of a route: blocks of 256 addresses from 11.0.0.0 on.
fn block(route: u32) -> u32 {
    0x0b00_0000 + (route << 8)
}

/// A switch with 100 hosts, one session from port 1 to the neighbours 1 to 4, and further entries.
fn pipeline(program: &Arc<Program>, engine: Engine, entries: Entries) -> Pipeline {
    let mut p =
        Pipeline::with_options(Arc::clone(program), PipelineOptions { engine, ..PipelineOptions::default() });
    add(&mut p, "l3_admit", 0, vec![Match::Exact(SWITCH_MAC)], ".admit_to_l3", &[]);
    for host in 1..=100 {
        let to = Match::Lpm { value: 0x0a00_0000 + host, prefix: 32 };
        add(&mut p, "ipv4_route", 0, vec![to], ".route", &[host, SWITCH_MAC, 0x0200_0000_0100 + host]);
    }
    for route in 0..entries.routes {
        let to = Match::Lpm { value: block(route).into(), prefix: 24 + (route % LENGTHS) as u8 };
        add(&mut p, "ipv4_route", 0, vec![to], ".route", &[1, SWITCH_MAC, 0x0200_0000_0101]);
    }
    for rule in 0..entries.rules {
        // No packet is from 172.16.0.0 or above, so that each is compared with all masks.
        let mask = u128::from(u32::MAX << (rule % MASKS));
        let source = Match::Ternary { value: u128::from(0xac10_0000 + (rule << 8)) & mask, mask };
        let any = || Match::Ternary { value: 0, mask: 0 };
        let key = vec![any(), any(), source, any(), any(), any(), any()];
        add(&mut p, "controlled_flows", 1 + rule, key, ".to_queue", &[1]);
    }
    let key = |session: u32| vec![Match::Exact(session.into()), Match::Exact(1)];
    for session in SESSION..=SESSION + entries.streams {
        add(&mut p, ".streams", 0, key(session), ".stream", &[3, 9, 8, 0, 8, 1, 0, 0b1111, 0]);
    }
    for branch in 0..u128::from(COPIES) {
        let from = [Match::Exact(branch + 2), Match::Exact(100 + branch)];
        let key = key(SESSION).into_iter().chain(from).collect();
        add(&mut p, ".branches", 0, key, ".from_branch", &[branch]);
        let copy = vec![Match::Exact(branch + 1)];
        add(&mut p, ".neighbours", 0, copy, ".to_switch", &[SWITCH_MAC, 0x0200_0000_0200 + branch]);
    }
    p
}

/// Frames that arrive in turn, and the entries that they meet.
struct TrafficLoad {
    name: String,
    frames: Vec<(Port, Vec<u8>)>,
    tail: u32,
    entries: Entries,
}

fn loads() -> Vec<TrafficLoad> {
    let unicast =
        |payload, tail| (1..=64).map(|to| (Port(101), tcp(0x0a00_0000 + to, payload, tail))).collect();
    let data =
        |payload, tail| (1..=64).map(|seq| (Port(1), group(SESSION, 1, 1, seq, payload, tail))).collect();
    let ack = |i: u16| (Port(2 + i % 4), group(SESSION, 3, 100 + i % 4, u32::from(i / 4 + 1), 0, 0));
    let load = |name: &str, frames, tail| {
        let (name, entries) = (name.to_owned(), Entries::default());
        TrafficLoad { name, frames, tail, entries }
    };
    let mut loads = vec![
        load("TCP unicast, headers only", unicast(0, 1_446), 1_446),
        load("TCP unicast, 1500 bytes", unicast(1_446, 0), 0),
        load("session data 1:4, headers only", data(0, 1_000), 1_000),
        load("session data 1:4, 1078 bytes", data(1_000, 0), 0),
        load("acknowledgements of 4 branches", (0..64).map(ack).collect(), 0),
    ];
    for (routes, rules) in [(100, 0), (10_000, 0), (100_000, 0), (100, 1_000), (10_000, 500)] {
        let to = (0..FRAMES).map(|i| block((u64::from(i) * u64::from(routes) / u64::from(FRAMES)) as u32));
        let frames = to.map(|to| (Port(101), tcp(to, 0, 1_446))).collect();
        let name = format!("{routes} routes, {rules} ternary rules");
        loads.push(TrafficLoad { name, frames, tail: 1_446, entries: Entries { routes, rules, streams: 0 } });
    }
    for streams in [100, 100_000] {
        let session = |i: u32| SESSION + (u64::from(i) * u64::from(streams) / u64::from(FRAMES)) as u32;
        let frames = (0..FRAMES).map(|i| (Port(1), group(session(i), 1, 1, i + 1, 0, 1_000))).collect();
        let (name, entries) =
            (format!("{streams} streams, data 1:4, headers only"), Entries { streams, ..Entries::default() });
        loads.push(TrafficLoad { name, frames, tail: 1_000, entries });
    }
    loads
}

/// Runs packets through; gives the frames that left.
fn run(pipeline: &mut Pipeline, load: &TrafficLoad, packets: usize, frame: &mut Frame) -> usize {
    let mut sent = 0;
    for (i, (port, bytes)) in load.frames.iter().cycle().take(packets).enumerate() {
        let now = Nanos(1_000 * i as u64);
        let arrival = Arrival { tail: load.tail, ..Arrival::on(*port) };
        let done = pipeline.ingress(now, arrival, bytes);
        let (Some(packet), verdict) = (done.packet, done.verdict) else { continue };
        let copies = match verdict {
            Verdict::Multicast(9) => COPIES,
            _ => 1,
        };
        let mut egress = |pipeline: &mut Pipeline, packet, rid: u16| {
            let instance = if rid == 0 { Instance::Normal } else { Instance::Replication };
            let departure = Departure { port: Port(rid + 1), rid, instance, ..Departure::default() };
            let outcome = pipeline.egress_into(now, packet, departure, frame);
            sent += usize::from(outcome.fate == Fate::Send);
        };
        if matches!(verdict, Verdict::Unicast(_)) {
            egress(pipeline, packet, 0);
        } else {
            for rid in 1..copies {
                let copy = pipeline.replicate(&packet);
                egress(pipeline, copy, rid);
            }
            egress(pipeline, packet, copies);
        }
    }
    sent
}

fn load_program(path: &str) -> Result<Arc<Program>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let mut program = Program::from_json(&text).map_err(|error| format!("{path}: {error}"))?;
    let names: Vec<String> = program.tables.iter().map(|table| table.name.to_string()).collect();
    names.iter().for_each(|name| program.open_table(name, 1 << 17));
    Ok(Arc::new(program))
}

/// The best time of each engine for a packet, and how many packets leave for each that comes.
fn measure(program: &Arc<Program>, load: &TrafficLoad) -> ([Duration; 2], f64) {
    let mut pipelines = ENGINES.map(|engine| pipeline(program, engine, load.entries));
    let mut best = [Duration::MAX; 2];
    let mut out = 0;
    let mut frame = Frame::default();
    for _ in 0..ROUNDS {
        for (pipeline, (best, packets)) in pipelines.iter_mut().zip(best.iter_mut().zip(PACKETS)) {
            let start = Instant::now();
            let sent = run(pipeline, load, packets, &mut frame);
            *best = (*best).min(start.elapsed() / packets as u32);
            out = out.max(sent * 100 / packets);
        }
    }
    (best, out as f64 / 100.0)
}

fn main() -> Result<(), String> {
    let path = std::env::args().nth(1).ok_or("usage: throughput PROGRAM.json")?;
    let program = load_program(&path)?;
    for load in loads() {
        let (best, out) = measure(&program, &load);
        let [native, interpreter] = best.map(|time| time.as_nanos() as f64);
        let line = serde_json::json!({
            "name": load.name, "native_ns": native, "interpreter_ns": interpreter, "out": out,
        });
        println!("{line}");
    }
    Ok(())
}
