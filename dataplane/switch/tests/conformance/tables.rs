//! Table entries.

use groupflow_switch::p4rt::Code;
use groupflow_switch::proto::p4::v1::{
    entity::Entity as Kinds, field_match, table_action, update::Type, FieldMatch, TableAction, TableEntry,
};

use crate::common::{changed, exact, frame, info_table, lpm, optional, range, ternary, Testbed};

const DESTINATIONS: &str = "TestIngress.destinations";
const RULES: &str = "TestIngress.rules";
const PREFIXES: &str = "TestIngress.prefixes";
const FIXED: &str = "TestIngress.fixed";
const EVERYONE: &str = "TestIngress.everyone";

fn entries(found: Vec<Kinds>) -> Vec<TableEntry> {
    let entry = |kind| match kind {
        Kinds::TableEntry(entry) => entry,
        other => panic!("{other:?}"),
    };
    found.into_iter().map(entry).collect()
}

pub fn read(bed: &Testbed, filter: TableEntry) -> Vec<TableEntry> {
    entries(bed.read(filter).unwrap())
}

fn all(bed: &Testbed, table: &str) -> Vec<TableEntry> {
    read(bed, TableEntry { table_id: bed.table(table), ..TableEntry::default() })
}

#[test]
fn entries_come_change_and_go() {
    let mut bed = Testbed::new(&[]);
    let to_two = bed.entry(DESTINATIONS, &[exact(1, 1)], "forward", &[2, 0]);
    let to_three = bed.entry(DESTINATIONS, &[exact(1, 1)], "forward", &[3, 1]);
    let message = |text: &str| format!("table TestIngress.destinations: {text}");
    let absent = message("it has no such entry");
    assert_eq!(bed.refused(Type::Modify, to_two.clone()), (Code::NotFound, absent.clone()));
    assert_eq!(bed.refused(Type::Delete, to_two.clone()), (Code::NotFound, absent.clone()));
    assert_eq!(bed.apply(Type::Insert, to_two.clone()), Ok(()));
    let there = message("it has this entry already");
    assert_eq!(bed.refused(Type::Insert, to_three.clone()), (Code::AlreadyExists, there));
    assert_eq!(all(&bed, DESTINATIONS), vec![to_two.clone()], "what was there is unchanged");
    assert_eq!(bed.apply(Type::Modify, to_three.clone()), Ok(()));
    bed.inject(0, 1, &frame(1, 0x0800, 60));
    assert_eq!(bed.left(0), [(0, 3)]);
    // Only the key counts for a deletion.
    let nonsense = TableEntry { action: Some(TableAction::default()), idle_timeout_ns: 5, ..to_two };
    assert_eq!(bed.apply(Type::Delete, nonsense), Ok(()));
    assert_eq!(all(&bed, DESTINATIONS), []);
}

#[test]
fn a_full_table_says_so() {
    let mut bed = Testbed::new(&[]);
    (0..64).for_each(|mac| bed.when_to(mac, "forward", &[1, 0]));
    let entry = bed.entry(DESTINATIONS, &[exact(1, 64)], "forward", &[1, 0]);
    let message = "table TestIngress.destinations: it is full (size 64)";
    assert_eq!(bed.refused(Type::Insert, entry), (Code::ResourceExhausted, message.into()));
}

#[test]
fn a_modify_without_an_action_keeps_it() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[2, 0]);
    let mut entry = bed.entry(DESTINATIONS, &[exact(1, 1)], "forward", &[2, 0]);
    entry.action = None;
    entry.metadata = b"note".to_vec();
    assert_eq!(bed.apply(Type::Modify, entry.clone()), Ok(()));
    let found = all(&bed, DESTINATIONS);
    assert_eq!(found[0].metadata, b"note");
    assert_eq!(found[0].action, Some(bed.action(DESTINATIONS, "forward", &[2, 0])));
    let (code, message) = bed.refused(Type::Insert, entry);
    assert_eq!(
        (code, message.as_str()),
        (Code::InvalidArgument, "table TestIngress.destinations: action: it is missing")
    );
}

#[test]
fn matches_are_canonical() {
    let mut bed = Testbed::new(&[]);
    let key = [ternary(1, 0x10, 0xf0), range(2, 5, 0x1000), optional(3, 2)];
    let full = TableEntry { priority: 3, metadata: b"m".to_vec(), ..bed.entry(RULES, &key, "tag", &[1]) };
    let wild = TableEntry { priority: 9, ..bed.entry(RULES, &[], "keep", &[]) };
    // Any order and any zero-padded length go in; the declared order and the shortest form come out.
    let padded = FieldMatch {
        field_id: 3,
        field_match_type: Some(field_match::FieldMatchType::Optional(field_match::Optional {
            value: vec![0, 0, 0, 2],
        })),
    };
    let key = [padded, range(2, 5, 0x1000), ternary(1, 0x10, 0xf0)];
    let untidy = TableEntry { priority: 3, metadata: b"m".to_vec(), ..bed.entry(RULES, &key, "tag", &[1]) };
    assert_eq!(bed.apply(Type::Insert, untidy), Ok(()));
    assert_eq!(bed.apply(Type::Insert, wild.clone()), Ok(()));
    let mut found = all(&bed, RULES);
    found.sort_by_key(|entry| entry.priority);
    assert_eq!(found, [full.clone(), wild]);
    assert_eq!(bed.refused(Type::Insert, full.clone()).0, Code::AlreadyExists);
    assert_eq!(bed.apply(Type::Insert, TableEntry { priority: 4, ..full }), Ok(()), "another priority");
}

#[test]
fn bad_keys_are_refused() {
    let mut bed = Testbed::new(&[]);
    let bare = |field_id| FieldMatch { field_id, field_match_type: None };
    let empty = field_match::FieldMatchType::Exact(field_match::Exact::default());
    let empty = FieldMatch { field_id: 1, field_match_type: Some(empty) };
    let cases: [(&str, Vec<FieldMatch>, i32, Code, &str); 17] = [
        (DESTINATIONS, vec![], 0, Code::InvalidArgument, "match field hdr.ethernet.dst: it is missing"),
        (
            DESTINATIONS,
            vec![exact(1, 1), exact(1, 1)],
            0,
            Code::InvalidArgument,
            "match field hdr.ethernet.dst: it is there twice",
        ),
        (DESTINATIONS, vec![exact(2, 1)], 0, Code::InvalidArgument, "match: there is no field 2"),
        (
            DESTINATIONS,
            vec![bare(1)],
            0,
            Code::InvalidArgument,
            "match field hdr.ethernet.dst: it has no value",
        ),
        (DESTINATIONS, vec![empty], 0, Code::OutOfRange, "match field hdr.ethernet.dst: empty byte string"),
        (
            DESTINATIONS,
            vec![exact(1, 1 << 48)],
            0,
            Code::OutOfRange,
            "match field hdr.ethernet.dst: 0x01000000000000 does not fit bit<48>",
        ),
        (
            DESTINATIONS,
            vec![lpm(1, 1, 48)],
            0,
            Code::InvalidArgument,
            "match field hdr.ethernet.dst: it must be of kind exact",
        ),
        (
            DESTINATIONS,
            vec![exact(1, 1)],
            1,
            Code::InvalidArgument,
            "priority: it must be zero, the table has only exact and LPM fields",
        ),
        (
            RULES,
            vec![],
            0,
            Code::InvalidArgument,
            "priority: it must be above zero, the table has ternary, range or optional fields",
        ),
        (RULES, vec![], -1, Code::InvalidArgument, "priority: it is negative"),
        (
            RULES,
            vec![ternary(1, 0, 0)],
            1,
            Code::InvalidArgument,
            "match field src: it matches everything, and must be left out then",
        ),
        (
            RULES,
            vec![ternary(1, 3, 2)],
            1,
            Code::InvalidArgument,
            "match field src: it has bits set that its mask leaves out",
        ),
        (
            RULES,
            vec![range(2, 0, 0xffff)],
            1,
            Code::InvalidArgument,
            "match field ethertype: it matches everything, and must be left out then",
        ),
        (
            RULES,
            vec![range(2, 6, 5)],
            1,
            Code::InvalidArgument,
            "match field ethertype: its low end is above its high end",
        ),
        (
            PREFIXES,
            vec![lpm(1, 0, 0)],
            0,
            Code::InvalidArgument,
            "match field hdr.ethernet.src: it matches everything, and must be left out then",
        ),
        (
            PREFIXES,
            vec![lpm(1, 1, 40)],
            0,
            Code::InvalidArgument,
            "match field hdr.ethernet.src: it has bits set beyond its prefix of 40",
        ),
        (
            PREFIXES,
            vec![lpm(1, 0, 49)],
            0,
            Code::InvalidArgument,
            "match field hdr.ethernet.src: prefix_len 49 is not between 1 and 48",
        ),
    ];
    for (table, key, priority, code, message) in cases {
        let action = match table {
            DESTINATIONS => bed.action(table, "forward", &[1, 0]),
            RULES => bed.action(table, "keep", &[]),
            _ => bed.action(table, "metered", &[]),
        };
        let entry = TableEntry { r#match: key, priority, action: Some(action), ..bed_entry(&bed, table) };
        assert_eq!(bed.refused(Type::Insert, entry), (code, format!("table {table}: {message}")));
    }
    let nowhere = TableEntry { table_id: 1, ..TableEntry::default() };
    let message = "table_id: the program has no table 1".to_string();
    assert_eq!(bed.refused(Type::Insert, nowhere), (Code::InvalidArgument, message));
}

pub fn bed_entry(bed: &Testbed, table: &str) -> TableEntry {
    TableEntry { table_id: bed.table(table), ..TableEntry::default() }
}

#[test]
fn bad_actions_are_refused() {
    let mut bed = Testbed::new(&[]);
    let good = bed.entry(DESTINATIONS, &[exact(1, 1)], "forward", &[2, 0]);
    let with = |change: &dyn Fn(&mut groupflow_switch::proto::p4::v1::Action)| {
        let mut entry = good.clone();
        match entry.action.as_mut().unwrap().r#type.as_mut().unwrap() {
            table_action::Type::Action(action) => change(action),
            other => panic!("{other:?}"),
        }
        entry
    };
    let foreign = bed.entry(RULES, &[], "keep", &[]).action;
    let only_default = bed.entry(DESTINATIONS, &[exact(1, 1)], "only_as_default", &[]);
    let profile = TableAction { r#type: Some(table_action::Type::ActionProfileMemberId(3)) };
    let prefix = "action TestIngress.forward";
    let cases = [
        (with(&|a| a.action_id = 5), Code::InvalidArgument, "action_id: the table has no action 5".into()),
        (
            with(&|a| drop(a.params.pop())),
            Code::InvalidArgument,
            format!("{prefix}: parameter priority: it is missing"),
        ),
        (
            with(&|a| a.params[1].param_id = 1),
            Code::InvalidArgument,
            format!("{prefix}: parameter port: it is there twice"),
        ),
        (
            with(&|a| a.params[1].param_id = 3),
            Code::InvalidArgument,
            format!("{prefix}: it has no parameter 3"),
        ),
        (
            with(&|a| a.params[0].value = vec![2, 0]),
            Code::OutOfRange,
            format!("{prefix}: parameter port: 0x0200 does not fit bit<9>"),
        ),
        (
            with(&|a| a.params[0].value.clear()),
            Code::OutOfRange,
            format!("{prefix}: parameter port: empty byte string"),
        ),
        (
            TableEntry { action: Some(profile), ..good.clone() },
            Code::InvalidArgument,
            "action: the table has no action profile".into(),
        ),
        (
            only_default,
            Code::PermissionDenied,
            "action TestIngress.only_as_default: not for entries with a key".into(),
        ),
        (
            TableEntry { is_const: true, ..good.clone() },
            Code::InvalidArgument,
            "is_const: only the program can make entries constant".into(),
        ),
    ];
    for (entry, code, message) in cases {
        assert_eq!(bed.refused(Type::Insert, entry), (code, format!("table {DESTINATIONS}: {message}")));
    }
    let entry = TableEntry { action: foreign, ..good };
    assert_eq!(bed.refused(Type::Insert, entry).0, Code::InvalidArgument);
}

#[test]
fn the_default_entry_is_modified_only() {
    let mut bed = Testbed::new(&[]);
    let default = |bed: &Testbed| {
        let filter = TableEntry { is_default_action: true, ..bed_entry(bed, DESTINATIONS) };
        read(bed, filter).remove(0)
    };
    let original = default(&bed);
    assert_eq!(original.action, Some(bed.action(DESTINATIONS, "only_as_default", &[])));
    let change = TableEntry {
        is_default_action: true,
        metadata: b"mine".to_vec(),
        ..bed.entry(DESTINATIONS, &[], "forward", &[4, 0])
    };
    let only_modified =
        format!("table {DESTINATIONS}: the default entry is always there: it can only be modified");
    assert_eq!(bed.refused(Type::Insert, change.clone()), (Code::InvalidArgument, only_modified.clone()));
    assert_eq!(bed.refused(Type::Delete, change.clone()), (Code::InvalidArgument, only_modified));
    assert_eq!(bed.apply(Type::Modify, change.clone()), Ok(()));
    bed.inject(0, 1, &frame(9, 0x0800, 60));
    assert_eq!(bed.left(0), [(0, 4)]);
    assert_eq!(default(&bed), change);
    assert_eq!(all(&bed, DESTINATIONS), [], "it is not among the entries");
    let with_key = TableEntry { r#match: vec![exact(1, 1)], ..change.clone() };
    assert_eq!(
        bed.refused(Type::Modify, with_key).1,
        format!("table {DESTINATIONS}: match: the default entry has none")
    );
    let with_priority = TableEntry { priority: 1, ..change.clone() };
    assert_eq!(bed.refused(Type::Modify, with_priority).0, Code::InvalidArgument);
    let table_only = TableEntry { action: Some(bed.action(DESTINATIONS, "drop", &[])), ..change.clone() };
    let message = format!("table {DESTINATIONS}: action TestIngress.drop: not for the default entry");
    assert_eq!(bed.refused(Type::Modify, table_only), (Code::PermissionDenied, message));
    assert_eq!(bed.apply(Type::Modify, TableEntry { action: None, ..change }), Ok(()));
    assert_eq!(default(&bed), original, "back to the program's, without the note");
    let constant = TableEntry { is_default_action: true, ..bed.entry(RULES, &[], "keep", &[]) };
    assert!(read(&bed, constant.clone())[0].is_const && !original.is_const);
    let message = format!("table {RULES}: its default action is constant");
    assert_eq!(bed.refused(Type::Modify, constant), (Code::PermissionDenied, message));
}

#[test]
fn a_table_without_a_key_has_a_default_entry_only() {
    let mut bed = Testbed::new(&[]);
    let entry = bed.entry(EVERYONE, &[], "count_all", &[3]);
    let message = format!("table {EVERYONE}: it has no key, so only its default entry can be set");
    assert_eq!(bed.refused(Type::Insert, entry.clone()), (Code::InvalidArgument, message));
    assert_eq!(bed.apply(Type::Modify, TableEntry { is_default_action: true, ..entry }), Ok(()));
}

#[test]
fn constant_tables_are_read_only() {
    let mut bed = Testbed::new(&[]);
    let found = all(&bed, FIXED);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|entry| entry.is_const));
    assert!(found.iter().any(|entry| entry.action == Some(bed.action(FIXED, "keep_type", &[1]))));
    let new = bed.entry(FIXED, &[exact(1, 9)], "keep_type", &[1]);
    let old = bed.entry(FIXED, &[exact(1, 0x1234)], "keep_type", &[1]);
    let denied = (Code::PermissionDenied, format!("table {FIXED}: its entries are constant"));
    assert_eq!(bed.refused(Type::Insert, new), denied);
    assert_eq!(bed.refused(Type::Modify, old.clone()), denied, "not even to what it is");
    assert_eq!(bed.refused(Type::Delete, TableEntry { is_const: false, ..old.clone() }), denied);
    let constant = TableEntry { is_const: true, ..old.clone() };
    assert_eq!(bed.refused(Type::Delete, constant).0, Code::InvalidArgument);
    assert_eq!(bed.apply(Type::Modify, TableEntry { action: None, ..old }), Ok(()));
}

#[test]
fn reads_filter() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[2, 0]);
    bed.when_to(2, "multicast", &[7]);
    #[allow(deprecated)]
    let noted = TableEntry {
        metadata: b"m".to_vec(),
        controller_metadata: 5,
        ..bed.entry(DESTINATIONS, &[exact(1, 3)], "forward", &[3, 0])
    };
    let long = TableEntry { metadata: vec![1; 4097], ..noted.clone() };
    assert_eq!(bed.refused(Type::Insert, long).0, Code::InvalidArgument);
    bed.apply(Type::Insert, noted.clone()).unwrap();
    for priority in [4, 5] {
        let entry = TableEntry { priority, ..bed.entry(RULES, &[optional(3, 1)], "keep", &[]) };
        bed.apply(Type::Insert, entry).unwrap();
    }
    let table = bed_entry(&bed, DESTINATIONS);
    assert_eq!(read(&bed, TableEntry { r#match: vec![exact(1, 3)], ..table.clone() }), vec![noted.clone()]);
    assert_eq!(read(&bed, TableEntry { r#match: vec![exact(1, 9)], ..table.clone() }), []);
    assert_eq!(read(&bed, TableEntry { metadata: b"m".to_vec(), ..table.clone() }), vec![noted.clone()]);
    #[allow(deprecated)]
    let by_cookie = TableEntry { controller_metadata: 5, ..table.clone() };
    assert_eq!(read(&bed, by_cookie), [noted]);
    let mut by_action =
        TableEntry { action: Some(bed.action(DESTINATIONS, "forward", &[])), ..table.clone() };
    assert_eq!(read(&bed, by_action.clone()).len(), 2);
    by_action.action = Some(bed.action(DESTINATIONS, "forward", &[2, 0]));
    assert_eq!(read(&bed, by_action).len(), 2, "parameters do not count");
    let rules = bed_entry(&bed, RULES);
    assert_eq!(read(&bed, TableEntry { priority: 5, ..rules.clone() }).len(), 1);
    assert_eq!(read(&bed, TableEntry { r#match: vec![optional(3, 1)], ..rules }).len(), 2);
    // All tables, constant ones included: 3 + 2 + 2.
    assert_eq!(read(&bed, TableEntry::default()).len(), 7);
    let refusal = bed.read(TableEntry { priority: 1, ..TableEntry::default() }).unwrap_err();
    assert_eq!(
        (refusal.code, refusal.message.as_str()),
        (Code::InvalidArgument, "table_id: it is zero, so nothing else can be asked for")
    );
}

#[test]
fn an_entry_is_read_as_it_was_written() {
    let mut bed = Testbed::new(&[]);
    let entry = bed.entry(DESTINATIONS, &[exact(1, 3)], "forward", &[3, 0]);
    bed.apply(Type::Insert, entry.clone()).unwrap();
    assert_eq!(read(&bed, entry.clone()), std::slice::from_ref(&entry));
    let default = TableEntry {
        is_default_action: true,
        metadata: b"m".to_vec(),
        ..bed.entry(DESTINATIONS, &[], "forward", &[3, 0])
    };
    bed.apply(Type::Modify, default.clone()).unwrap();
    assert_eq!(read(&bed, default.clone()), std::slice::from_ref(&default));
    let unset = TableEntry { action: Some(TableAction::default()), ..default.clone() };
    assert_eq!(read(&bed, unset), std::slice::from_ref(&default));
    let other = Some(bed.action(DESTINATIONS, "multicast", &[7]));
    assert_eq!(read(&bed, TableEntry { action: other.clone(), ..default.clone() }), []);
    assert_eq!(read(&bed, TableEntry { action: other, ..entry }), []);
    assert_eq!(read(&bed, TableEntry { metadata: b"n".to_vec(), ..default }), []);
}

#[test]
fn entries_that_are_initial_but_not_constant_can_change() {
    let mut bed = Testbed::with(changed(|_, info| {
        let table = info_table(info, FIXED);
        (table.is_const_table, table.has_initial_entries, table.size) = (false, true, 3);
    }));
    assert_eq!(all(&bed, FIXED).iter().map(|entry| entry.is_const).collect::<Vec<_>>(), [false; 2]);
    let changed = bed.entry(FIXED, &[exact(1, 0x1234)], "keep_type", &[9]);
    bed.apply(Type::Modify, changed.clone()).unwrap();
    let gone = bed.entry(FIXED, &[exact(1, 0x5678)], "NoAction", &[]);
    bed.apply(Type::Delete, gone.clone()).unwrap();
    assert_eq!(all(&bed, FIXED), [changed]);
    bed.apply(Type::Insert, gone).unwrap();
    let third = bed.entry(FIXED, &[exact(1, 7)], "NoAction", &[]);
    bed.apply(Type::Insert, third).unwrap();
    let fourth = bed.entry(FIXED, &[exact(1, 8)], "NoAction", &[]);
    assert_eq!(bed.refused(Type::Insert, fourth).0, Code::ResourceExhausted);
}
