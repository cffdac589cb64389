//! Once the memory that is used again is there, no packet allocates any: groupflow's own program on the
//! fastest engine, through the whole core. And entries of tables take little of it.
//!
//! This is a binary of its own because it replaces the allocator.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use groupflow_base::Nanos;
use groupflow_pipeline::{ActionCall, Engine, EntryKey, Match, Pipeline, Port, Program};
use groupflow_switch::core::{
    parse_port_link, Emitted, QueueRegisters, Replica, ReplicationEngine, Switch, SwitchConfig,
};

const PROGRAM: &str = include_str!("../../../p4src/build/groupflow.json");
const SWITCH_MAC: u128 = 0x0200_0000_0001;
const SESSION: u32 = 7;
/// The sender is behind port 1, four branches behind the next ones, then the cache agent.
const BRANCHES: u16 = 4;
const AGENT: u16 = 2 + BRANCHES;
const PACKETS: u32 = 4_000;
/// Between two packets: time for one of 1,500 bytes at 1 Gb/s.
const INTERVAL: u64 = 12_500;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting what each thread asks for.
struct Counting;

fn note(before: usize, after: usize) {
    ALLOCATIONS.set(ALLOCATIONS.get() + u64::from(after > 0));
    // Memory of another thread may be given back here.
    BYTES.set(BYTES.get().wrapping_add(after).wrapping_sub(before));
}

// SAFETY: everything is done by the system's allocator; the counter needs neither memory nor a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(0, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        note(layout.size(), 0);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(layout.size(), size);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often memory is allocated.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

fn checksum(bytes: &[u8]) -> [u8; 2] {
    let sum: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    (!((sum >> 16) + (sum & 0xffff)) as u16).to_be_bytes()
}

fn ipv4(protocol: u8, target: [u8; 4], rest: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 200];
    ip[2..4].copy_from_slice(&(20 + rest.len() as u16).to_be_bytes());
    ip.extend(target);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum);
    let frame = [&SWITCH_MAC.to_be_bytes()[10..], &[2, 0, 0, 0, 0, 2, 8, 0], &ip, rest];
    frame.concat()
}

fn tcp(payload: usize) -> Vec<u8> {
    let mut rest = vec![0x1f, 0x90, 0x30, 0x39, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0];
    rest.resize(20 + payload, 0);
    ipv4(6, [10, 0, 0, 2], &rest)
}

/// A packet of the group protocol; see docs/reference/protocol.md.
fn group(kind: u8, member: u16, seq: u32, payload: usize) -> Vec<u8> {
    let mut header = vec![1, kind, 0, 0];
    header.extend(SESSION.to_be_bytes());
    header.extend([0, 1]);
    header.extend(member.to_be_bytes());
    header.extend(seq.to_be_bytes());
    header.extend([0; 4]);
    header.extend((payload as u16).to_be_bytes());
    header.extend([0, 0]);
    let sum = checksum(&header);
    header[22..24].copy_from_slice(&sum);
    let mut udp = Vec::new();
    for word in [26_470, 26_470, 32 + payload as u16, 0] {
        udp.extend(u16::to_be_bytes(word));
    }
    udp.extend(header);
    udp.resize(udp.len() + payload, 0);
    ipv4(17, [239, 0, 0, SESSION as u8], &udp)
}

/// Adds an entry by the ends of the names.
fn add(pipeline: &mut Pipeline, table: &str, matches: Vec<Match>, action: &str, arguments: &[u128]) {
    let program = Arc::clone(pipeline.program());
    let table = program.tables.iter().find(|t| t.name.ends_with(table)).unwrap();
    let mut actions = table.actions.iter().map(|&id| &program.actions[id.index()]);
    let action = actions.find(|a| a.name.ends_with(action)).unwrap().id;
    let call = ActionCall { action, arguments: arguments.to_vec() };
    pipeline.table_insert(table.id, &EntryKey { matches, priority: 0 }, &call).unwrap();
}

/// A route to port 2, and a session from port 1 to the branches with a cache agent.
fn set_up(pipeline: &mut Pipeline, replication: &mut ReplicationEngine) {
    let [data, acks, repairs] = [1u16, 2, 3];
    add(pipeline, "l3_admit", vec![Match::Exact(SWITCH_MAC)], ".admit_to_l3", &[]);
    let to = Match::Lpm { value: 0x0a00_0002, prefix: 32 };
    add(pipeline, "ipv4_route", vec![to], ".route", &[2, SWITCH_MAC, 0x0200_0000_0102]);
    let key = || vec![Match::Exact(u128::from(SESSION)), Match::Exact(1)];
    let groups = [data, acks, repairs, acks].map(u128::from);
    let stream = [&[0][..], &groups, &[1, AGENT.into(), 0b1111, 0]].concat();
    add(pipeline, ".streams", key(), ".stream", &stream);
    for branch in 0..u128::from(BRANCHES) {
        let from = [Match::Exact(branch + 2), Match::Exact(100 + branch)];
        add(pipeline, ".branches", key().into_iter().chain(from).collect(), ".from_branch", &[branch]);
    }
    for copy in 1..=u128::from(AGENT) {
        let next = [SWITCH_MAC, 0x0200_0000_0200 + copy];
        add(pipeline, ".neighbours", vec![Match::Exact(copy)], ".to_switch", &next);
    }
    let to = |ports: std::ops::Range<u16>| ports.map(|n| Replica { port: Port(n), instance: n }).collect();
    replication.set_group(data, to(2..2 + BRANCHES)).unwrap();
    replication.set_group(acks, to(1..2)).unwrap();
    replication.set_group(repairs, to(AGENT..AGENT + 1)).unwrap();
}

fn switch(program: &Arc<Program>, links: &[&str]) -> Switch {
    let ports: Vec<Port> = (1..=AGENT).map(Port).collect();
    let links = links.iter().map(|link| parse_port_link(link).unwrap()).collect();
    let mut switch = Switch::new(SwitchConfig { ports, links, ..SwitchConfig::default() }).unwrap();
    let mut forwarding = switch.fresh(Arc::clone(program), QueueRegisters::default());
    set_up(&mut forwarding.pipeline, &mut forwarding.replication);
    if cfg!(all(target_arch = "x86_64", unix)) {
        assert_eq!(forwarding.pipeline.engine(), Engine::Native);
    }
    switch.install(forwarding);
    switch
}

/// The frame that arrives as packet `n`, and the number of packets that leave for four of these.
type AllocationCase = (&'static str, fn(u32) -> (u16, Vec<u8>), u32);

const LOADS: [AllocationCase; 7] = [
    ("unicast, long", |_| (1, tcp(1_446)), 4),
    ("unicast, short", |_| (1, tcp(100)), 4),
    ("session data", |n| (1, group(1, 1, n + 1, 1_400)), 16),
    ("acknowledgements, every fourth of which advances the minimum", |n| ack(n, n / 4 + 2), 1),
    ("acknowledgements that are absorbed", |n| ack(n, 1), 0),
    ("repair requests", |n| (2, group(4, 100, n + 1, 12)), 4),
    ("repairs to the group", |n| (AGENT, group(2, 0, n + 1, 1_400)), 16),
];

/// Of one branch after the other.
fn ack(n: u32, seq: u32) -> (u16, Vec<u8>) {
    let branch = n as u16 % BRANCHES;
    (2 + branch, group(3, 100 + branch, seq, 0))
}

/// Allocations of as many packets, which arrive from `first` on, and how many left.
fn run(switch: &mut Switch, load: &AllocationCase, first: u32, emitted: &mut Emitted) -> (u64, u32) {
    let (mut allocated, mut left) = (0, 0);
    for n in first..first + PACKETS {
        let (port, frame) = load.1(n);
        allocated += allocations(|| {
            let now = Nanos(u64::from(n) * INTERVAL);
            switch.inject(now, Port(port), &frame);
            switch.advance(now, emitted);
            left += emitted.outputs.len() as u32;
            switch.reuse(&mut emitted.outputs);
        });
    }
    (allocated, left)
}

#[test]
fn allocations_are_counted() {
    let mut numbers = Vec::new();
    assert_eq!(allocations(|| numbers.push(1)), 1);
    assert_eq!(allocations(|| numbers.reserve(1_000)), 1);
    assert_eq!(allocations(|| numbers.push(2)), 0);
}

#[test]
fn no_packet_allocates() {
    let program = Arc::new(Program::from_json(PROGRAM).unwrap());
    let paced = "2:rate=1gbit,delay=50us";
    let links: [(&str, &[&str]); 3] = [
        ("ideal links", &[]),
        ("a rate and a delay", &["1:rate=2gbit,delay=50us", paced]),
        ("a queue that overflows", &["2:rate=500mbit,queue=20"]),
    ];
    for (links_are, links) in links {
        for load in &LOADS {
            let (mut switch, mut emitted) = (switch(&program, links), Emitted::default());
            run(&mut switch, load, 0, &mut emitted);
            let (allocated, left) = run(&mut switch, load, PACKETS, &mut emitted);
            assert_eq!(allocated, 0, "{}, {links_are}", load.0);
            let expected = load.2 * PACKETS / 4;
            if links_are.ends_with("overflows") {
                assert!(left <= expected);
            } else {
                assert!(left.abs_diff(expected) <= 8, "{}, {links_are}: {left}, not {expected}", load.0);
            }
        }
    }
}

/// All of it: its match, action and counter, and its part of the lookup structure.
#[test]
fn an_entry_takes_less_than_200_bytes() {
    let exact = |n| vec![Match::Exact(n)];
    let prefix = |n| vec![Match::Lpm { value: n << 8, prefix: 24 }];
    let ternary = |n: u128| {
        let test = |n: u128, mask| Match::Ternary { value: n & mask, mask };
        vec![
            test(0, 0),
            test(1, 0x1ff),
            test(n, 0xffff),
            test(n, 0xff00),
            test(6, 255),
            test(0, 0),
            test(n, 0xffff),
        ]
    };
    type KeyOf = fn(u128) -> Vec<Match>;
    let tables: [(&str, KeyOf, u32, u128); 3] = [
        ("ipv4_route", prefix, 0, 8_000),
        (".neighbours", exact, 0, 16_000),
        (".controlled_flows", ternary, 1, 1_000),
    ];
    for (name, key, priority, count) in tables {
        let program = Arc::new(Program::from_json(PROGRAM).unwrap());
        let mut pipeline = Pipeline::new(Arc::clone(&program));
        let table = program.tables.iter().find(|table| table.name.ends_with(name)).unwrap();
        let action = &program.actions[table.actions[0].index()];
        let call = ActionCall { action: action.id, arguments: vec![1; action.params.len()] };
        let before = BYTES.get();
        for n in 0..count {
            let key = EntryKey { matches: key(n), priority };
            pipeline.table_insert(table.id, &key, &call).unwrap();
        }
        let bytes = (BYTES.get().wrapping_sub(before)) as u128 / count;
        assert!((20..200).contains(&bytes), "{name}: {bytes}");
    }
}
