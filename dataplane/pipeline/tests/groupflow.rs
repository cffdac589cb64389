//! The project's own program, as p4c compiled it.

use crate::common::{self, Emission, Leave};
use std::path::PathBuf;
use std::sync::Arc;

use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use groupflow_pipeline::{
    ActionCall, Arrival, Departure, Entry, EntryKey, Match, MatchKind, Pipeline, Program, TableInfo,
};
use proptest::prelude::*;

fn program() -> Arc<Program> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../p4src/build/groupflow.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Arc::new(Program::from_json(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// An Ethernet frame with IPv4, UDP of the group port, a group header of the given type, and a payload.
fn group_frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut group = vec![1, kind, 0, 0, 0, 0, 0, 7, 0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4];
    group.extend((payload.len() as u16).to_be_bytes());
    group.extend([0, 0]);
    let sum = checksum(&group);
    group[22..24].copy_from_slice(&sum);
    let udp_length = (8 + 24 + payload.len()) as u16;
    let mut ip = vec![0x45, 0];
    ip.extend((udp_length + 20).to_be_bytes());
    ip.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 1, 1, 239, 0, 0, 7]);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum);
    let mut frame = vec![1, 0, 0x5e, 0, 0, 7, 2, 0, 10, 0, 1, 1, 8, 0];
    frame.extend(ip);
    for word in [26_470, 26_470, udp_length, 0] {
        frame.extend(u16::to_be_bytes(word));
    }
    frame.extend(group);
    frame.extend(payload);
    frame
}

fn checksum(bytes: &[u8]) -> [u8; 2] {
    let sum: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    (!((sum >> 16) + (sum & 0xffff)) as u16).to_be_bytes()
}

/// Ingress, then egress for everything that ingress lets through. True if a frame left.
fn pass(pipeline: &mut Pipeline, now: u64, port: u16, frame: &[u8]) -> bool {
    let now = Nanos(now);
    let done = pipeline.ingress(now, Arrival::on(Port(port)), frame);
    let packets = done.packet.into_iter().chain(done.clone.into_iter().map(|clone| clone.packet));
    let mut left = false;
    for packet in packets {
        let wire = packet.wire_len();
        let departure = Departure { port: Port(2), rid: 1, ..Departure::default() };
        if let Emission::Send(frame) = pipeline.egress(now, packet, departure).emission {
            assert!(frame.wire_len().abs_diff(wire) <= 64, "{} bytes, {wire} expected", frame.wire_len());
            left = true;
        }
    }
    left
}

/// An entry with every field 1, and every argument 1.
fn some_entry(program: &Program, table: &TableInfo) -> Entry {
    let all = |width: u32| u128::MAX >> (128 - width);
    let m = |kind, width| match kind {
        MatchKind::Exact => Match::Exact(1),
        MatchKind::Lpm => Match::Lpm { value: 1, prefix: width as u8 },
        MatchKind::Ternary => Match::Ternary { value: 1, mask: all(width) },
        MatchKind::Range => Match::Range { low: 1, high: all(width) },
        MatchKind::Optional => Match::Optional(Some(1)),
    };
    let matches = table.key.iter().map(|field| m(field.kind, field.width)).collect();
    let action = &program.actions[table.actions[0].index()];
    let call = ActionCall { action: action.id, arguments: vec![1; action.params.len()] };
    Entry { key: EntryKey { matches, priority: u32::from(table.with_priority) }, call }
}

#[test]
fn it_loads_and_every_table_takes_an_entry() {
    let program = program();
    assert!(program.tables.iter().any(|table| !table.key.is_empty()));
    let mut pipeline = Pipeline::new(Arc::clone(&program));
    let writable = program.tables.iter().filter(|table| !table.key.is_empty() && !table.const_entries);
    for table in writable {
        let entry = some_entry(&program, table);
        pipeline.table_insert(table.id, &entry.key, &entry.call).unwrap();
        assert_eq!(pipeline.table_get(table.id, &entry.key).unwrap().entry, entry);
    }
}

#[test]
fn empty_tables_forward_nothing_unknown() {
    let mut pipeline = Pipeline::new(program());
    let garbage: [&[u8]; 4] =
        [&[], &[0; 14], &[0xff; 60], &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0]];
    for (i, frame) in garbage.into_iter().enumerate() {
        assert!(!pass(&mut pipeline, i as u64, 1, frame), "frame {i}");
    }
}

proptest! {
    #![proptest_config(common::seeded(400))]

    #[test]
    fn random_and_mutated_frames_never_panic(
        random in prop::collection::vec(any::<u8>(), 0..200),
        kind in 0u8..14,
        payload in prop::collection::vec(any::<u8>(), 0..64),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        port in 0u16..512,
    ) {
        let mut pipeline = Pipeline::new(program_once());
        let valid = group_frame(kind, &payload);
        let mut mutated = valid.clone();
        for (at, byte) in changes {
            let at = at.index(mutated.len());
            mutated[at] = byte;
        }
        let cut = valid[..cut.index(valid.len())].to_vec();
        for (i, frame) in [random, valid, mutated, cut].iter().enumerate() {
            pass(&mut pipeline, i as u64, port, frame);
        }
    }
}

/// The program, loaded once for all cases of a test.
fn program_once() -> Arc<Program> {
    static PROGRAM: std::sync::OnceLock<Arc<Program>> = std::sync::OnceLock::new();
    Arc::clone(PROGRAM.get_or_init(program))
}
