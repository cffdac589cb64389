//! Idle timeouts of entries.

use groupflow_base::Nanos;
use groupflow_switch::p4rt::{ClientId, Code, Runtime};
use groupflow_switch::proto::p4::v1::stream_message_response::Update;
use groupflow_switch::proto::p4::v1::{table_entry::IdleTimeout, update::Type, FieldMatch, TableEntry};

use crate::common::{changed, exact, frame, info_table, json_table, Testbed};
use crate::tables::{bed_entry, read};

const DESTINATIONS: &str = "TestIngress.destinations";

#[test]
fn idle_timeouts_are_refused() {
    let mut bed = Testbed::new(&[]);
    let entry = bed.entry(DESTINATIONS, &[exact(1, 1)], "forward", &[2, 0]);
    let timeout = TableEntry { idle_timeout_ns: 5, ..entry.clone() };
    let message = format!("table {DESTINATIONS}: idle_timeout_ns: there is no idle timeout here");
    assert_eq!(bed.refused(Type::Insert, timeout), (Code::InvalidArgument, message));
    let hit = TableEntry { time_since_last_hit: Some(IdleTimeout::default()), ..entry };
    assert_eq!(bed.refused(Type::Insert, hit.clone()).0, Code::InvalidArgument);
    assert_eq!(
        bed.read(TableEntry { r#match: vec![], action: None, ..hit }).unwrap_err().code,
        Code::InvalidArgument
    );
}

/// The testbed with idle timeouts in `destinations`.
fn with_timeouts() -> Testbed {
    Testbed::with(changed(|program, info| {
        json_table(program, DESTINATIONS)["support_timeout"] = true.into();
        info_table(info, DESTINATIONS).idle_timeout_behavior = 1;
    }))
}

/// The keys of the entries that are told to be idle.
fn idle(bed: &mut Testbed, now: u64) -> Vec<Vec<FieldMatch>> {
    let notices = bed.runtime.due(&mut bed.switch, Nanos(now));
    let entries = notices.into_iter().flat_map(|(stream, message)| match message.update {
        Some(Update::IdleTimeoutNotification(notice)) => {
            assert_eq!((stream, notice.timestamp), (ClientId(1), i64::try_from(now).unwrap()));
            notice.table_entry
        }
        other => panic!("{other:?}"),
    });
    entries.map(|entry| entry.r#match).collect()
}

#[test]
fn an_entry_without_packets_is_told_to_be_idle_again_and_again() {
    const MS: u64 = 1_000_000;
    let mut bed = with_timeouts();
    let entry = |bed: &Testbed, mac, timeout| TableEntry {
        idle_timeout_ns: timeout,
        metadata: b"m".to_vec(),
        ..bed.entry(DESTINATIONS, &[exact(1, mac)], "forward", &[2, 0])
    };
    let (first, second) = (entry(&bed, 1, 20_000_000), entry(&bed, 2, 30_000_000));
    bed.apply(Type::Insert, first.clone()).unwrap();
    bed.apply(Type::Insert, second.clone()).unwrap();
    let asked = TableEntry { r#match: vec![exact(1, 1)], ..bed_entry(&bed, DESTINATIONS) };
    assert_eq!(read(&bed, asked), std::slice::from_ref(&first));
    assert_eq!(bed.runtime.deadline(), Some(Nanos(20 * MS)));
    // A packet at 15 ms puts the first off until 35 ms.
    bed.inject(15 * MS, 1, &frame(1, 0x0800, 60));
    assert_eq!(idle(&mut bed, 29 * MS), Vec::<Vec<FieldMatch>>::new());
    assert_eq!(idle(&mut bed, 30 * MS), [vec![exact(1, 2)]]);
    assert_eq!(idle(&mut bed, 35 * MS), [vec![exact(1, 1)]]);
    assert_eq!(idle(&mut bed, 60 * MS), [vec![exact(1, 1)], vec![exact(1, 2)]], "a timer starts again");
    let since = TableEntry {
        time_since_last_hit: Some(IdleTimeout::default()),
        r#match: vec![exact(1, 1)],
        ..bed_entry(&bed, DESTINATIONS)
    };
    bed.inject(70 * MS, 1, &frame(1, 0x0800, 60));
    bed.advance(72 * MS);
    bed.apply(Type::Modify, first.clone()).unwrap();
    let elapsed = read(&bed, since.clone()).remove(0).time_since_last_hit;
    assert_eq!(elapsed, Some(IdleTimeout { elapsed_ns: 2_000_000 }), "nor is a change");
    let since = TableEntry { r#match: vec![exact(1, 2)], ..since };
    let elapsed = read(&bed, since).remove(0).time_since_last_hit;
    assert_eq!(elapsed, Some(IdleTimeout { elapsed_ns: 72_000_000 }), "a notification is no packet");
    // Without its timeout, and without the entry, nothing is due.
    bed.apply(Type::Modify, TableEntry { idle_timeout_ns: 0, ..first }).unwrap();
    bed.apply(Type::Delete, second.clone()).unwrap();
    assert_eq!(bed.runtime.deadline(), None);
    // The shortest timeout is 10 ms, and is read as it was written.
    bed.apply(Type::Insert, TableEntry { idle_timeout_ns: 1, ..second }).unwrap();
    assert_eq!(bed.runtime.deadline(), Some(Nanos(82 * MS)));
    bed.runtime = std::mem::replace(&mut bed.runtime, Runtime::new(1)).since(Nanos(7));
    let notice = bed.runtime.due(&mut bed.switch, Nanos(82 * MS)).remove(0).1.update;
    let since_1970 = |update| match update {
        Some(Update::IdleTimeoutNotification(notice)) => notice.timestamp,
        other => panic!("{other:?}"),
    };
    assert_eq!(since_1970(notice), 82_000_007);
    let negative = entry(&bed, 3, -1);
    assert_eq!(bed.refused(Type::Insert, negative).0, Code::InvalidArgument);
}

#[test]
fn idle_entries_are_told_a_few_at_a_time() {
    const MS: u64 = 1_000_000;
    // By their bytes, and by their number.
    for (metadata, entries, told) in [(4096, 100, 63..=64), (0, 2000, 1024..=1024)] {
        let mut bed = Testbed::with(changed(|program, info| {
            let table = json_table(program, DESTINATIONS);
            (table["support_timeout"], table["max_size"]) = (true.into(), (entries as u64).into());
            info_table(info, DESTINATIONS).idle_timeout_behavior = 1;
        }));
        for mac in 1..=entries {
            let entry = bed.entry(DESTINATIONS, &[exact(1, mac)], "forward", &[2, 0]);
            let entry = TableEntry { idle_timeout_ns: 1_000_000_000, metadata: vec![1; metadata], ..entry };
            bed.apply(Type::Insert, entry).unwrap();
        }
        let first = idle(&mut bed, 1000 * MS).len();
        assert!(told.contains(&first), "{first}");
        assert_eq!(idle(&mut bed, 1009 * MS).len(), 0);
        assert_eq!(bed.runtime.deadline(), Some(Nanos(1010 * MS)));
        assert_eq!(idle(&mut bed, 1010 * MS).len(), entries as usize - first);
    }
}
