//! Both engines do the same with groupflow's program, whatever its tables, registers and packets are.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use common::twin::{writes, Twin};
use groupflow_pipeline::{ActionCall, EntryKey, Match, Program};
use proptest::prelude::*;

/// The program, loaded once.
fn program() -> &'static Arc<Program> {
    static PROGRAM: OnceLock<Arc<Program>> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../p4src/build/groupflow.json");
        Arc::new(Program::from_json(&std::fs::read_to_string(path).unwrap()).unwrap())
    })
}

fn checksum(bytes: &[u8]) -> [u8; 2] {
    let sum: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    (!((sum >> 16) + (sum & 0xffff)) as u16).to_be_bytes()
}

fn ethernet(destination: u8, ethertype: u16, rest: &[u8]) -> Vec<u8> {
    [&[0, 0, 0, 0, 0, destination, 2, 0, 0, 0, 0, 2][..], &ethertype.to_be_bytes(), rest].concat()
}

fn ipv4(protocol: u8, target: [u8; 4], rest: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 2];
    ip[2..4].copy_from_slice(&(20 + rest.len() as u16).to_be_bytes());
    ip.extend(target);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum);
    ip.extend(rest);
    ip
}

/// A group packet of small numbers, which the entries of the tables have, too.
fn group(small: [u8; 7], payload: &[u8]) -> Vec<u8> {
    let [kind, flags, session, source, member, seq, poll] = small;
    let mut group = vec![1, kind % 14, flags, poll % 3, 0, 0, 0, session % 5, 0, source % 5, 0, member % 5];
    group.extend([0, 0, 0, seq, 0, 0, 0, 4]);
    group.extend((payload.len() as u16).to_be_bytes());
    group.extend([0, 0]);
    let sum = checksum(&group);
    group[22..24].copy_from_slice(&sum);
    let mut udp = Vec::new();
    for word in [26_470, 26_470, (32 + payload.len()) as u16, 0] {
        udp.extend(u16::to_be_bytes(word));
    }
    udp.extend(group);
    udp.extend(payload);
    ipv4(17, [239, 0, 0, session % 5], &udp)
}

/// A TCP header of any flags and often of a right length, and what follows.
fn tcp() -> impl Strategy<Value = Vec<u8>> {
    let words = prop_oneof![4 => 5u8..7, 1 => 0u8..16];
    let numbers = any::<[u32; 2]>();
    (words, any::<u8>(), numbers, prop::collection::vec(any::<u8>(), 0..40)).prop_map(
        |(words, flags, [seq, ack], rest)| {
            let mut segment = vec![0x9c, 0x41, 0x13, 0x88];
            segment.extend(seq.to_be_bytes());
            segment.extend(ack.to_be_bytes());
            segment.extend([words << 4 | 0xa, flags, 0xff, 0xf0, 0, 0, 0, 7]);
            segment.extend(rest);
            segment
        },
    )
}

/// A whole packet of any protocol.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let payload = || prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        4 => (any::<[u8; 7]>(), payload())
            .prop_map(|(small, payload)| ethernet(0, 0x800, &group(small, &payload))),
        2 => (0u8..5, tcp()).prop_map(|(to, segment)| {
            ethernet(to, 0x800, &ipv4(6, [0, 0, 0, to], &segment))
        }),
        1 => (0u8..5, 0u8..3).prop_map(|(to, operation)| {
            let mut arp =
                vec![0, 1, 8, 0, 6, 4, 0, operation, 2, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0];
            arp.extend([0, 0, 0, to]);
            ethernet(0xff, 0x806, &arp)
        }),
        1 => (0u8..5, any::<u8>()).prop_map(|(port, inject)| {
            let out = [port, inject & 0xc0];
            [&out[..], &ethernet(0, 0x800, &group([10, 0, 1, 1, port, 3, 0], &[]))].concat()
        }),
        1 => prop::collection::vec(any::<u8>(), 0..120),
    ]
}

/// A packet, bytes to change, where to cut, port, bytes that are not there.
type Sent = (Vec<u8>, Vec<(prop::sample::Index, u8)>, Option<prop::sample::Index>, u16, u32);

fn sent() -> impl Strategy<Value = Sent> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    let port = prop_oneof![4 => 0u16..5, 1 => Just(510), 1 => 0u16..512];
    (
        packet(),
        prop_oneof![Just(vec![]), changes],
        prop::option::weighted(0.2, any::<prop::sample::Index>()),
        port,
        0u32..3,
    )
}

proptest! {
    #![proptest_config(common::seeded(300))]

    #[test]
    fn both_engines_do_the_same(
        before in writes(40),
        cells in prop::collection::vec((any::<prop::sample::Index>(), 0usize..6, any::<u64>()), 0..40),
        packets in prop::collection::vec((sent(), writes(2)), 1..60),
    ) {
        let mut twin = Twin::new(program());
        let registers = &program().registers;
        for (register, index, value) in &cells {
            let id = registers[register.index(registers.len())].id;
            let value = if value % 2 == 0 { value / 2 % 7 } else { *value };
            twin.both(|p| p.register_set(id, *index, value));
            twin.both(|p| p.watch(id));
        }
        for write in &before {
            twin.write(write);
        }
        for (i, ((mut bytes, changes, cut, port, tail), writes)) in packets.into_iter().enumerate() {
            for (at, byte) in changes {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len() + 1));
            }
            twin.send(1_000 * i as u64, port, &bytes, tail);
            for write in &writes {
                twin.write(write);
            }
        }
        twin.compare_state();
    }
}

/// Adds an entry to both, by the ends of the names.
fn add(twin: &mut Twin, table: &str, matched: Match, action: &str) {
    let table = program().tables.iter().find(|t| t.name.ends_with(table)).unwrap();
    let mut actions = table.actions.iter().map(|id| &program().actions[id.index()]);
    let call =
        ActionCall { action: actions.find(|a| a.name.ends_with(action)).unwrap().id, arguments: vec![] };
    let key = EntryKey { matches: vec![matched], priority: 0 };
    twin.both(|p| p.table_insert(table.id, &key, &call)).unwrap();
}

/// Whether a reset is demanded: by a SYN or an acknowledgement that is no reset itself.
fn is_answered(segment: &[u8]) -> bool {
    let flags = segment[13];
    segment[12] >> 4 >= 5 && flags & 0x04 == 0 && flags & 0x12 != 0
}

proptest! {
    #![proptest_config(common::seeded(100))]

    #[test]
    fn both_engines_refuse_the_same(segments in prop::collection::vec(tcp(), 1..40)) {
        let mut twin = Twin::new(program());
        add(&mut twin, ".l3_admit", Match::Exact(0), ".admit_to_l3");
        add(&mut twin, ".ipv4_route", Match::Lpm { value: 0, prefix: 0 }, ".refuse");
        for (i, segment) in segments.iter().enumerate() {
            twin.send(1_000 * i as u64, 3, &ethernet(0, 0x800, &ipv4(6, [10, 200, 0, 1], segment)), 0);
        }
        twin.compare_state();
        let refusals = program().counters.iter().find(|c| c.name.ends_with(".refusals")).unwrap().id;
        let answered = segments.iter().filter(|segment| is_answered(segment)).count();
        prop_assert_eq!(twin.both(|p| p.counter_read(refusals, 3).unwrap()).packets, answered as u64);
    }
}

/// A test of `src/native/compile.rs` shows that no step is left to the interpreter.
#[test]
fn the_program_is_native() {
    let twin = Twin::new(program());
    assert_eq!(twin.is_native(), cfg!(all(target_arch = "x86_64", unix)));
}
