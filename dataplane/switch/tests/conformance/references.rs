//! Entries that refer to others by `@refers_to`, where that is checked.

use groupflow_switch::p4rt::{Code, ConfigurationError, PipelineConfig};
use groupflow_switch::proto::p4::v1::{
    field_match, packet_replication_engine_entry::Type as Replication, table_action, update::Type,
    write_request::Atomicity, ActionProfileMember, FieldMatch, MulticastGroupEntry,
    PacketReplicationEngineEntry, TableAction, TableEntry, WriteRequest,
};

use crate::common::{exact, update, Testbed};

const JSON: &str = include_str!("../programs/references.json");
const P4INFO: &str = include_str!("../programs/references.p4info.txtpb");

fn config() -> PipelineConfig {
    PipelineConfig::from_files(JSON, P4INFO.as_bytes()).unwrap()
}

fn bed() -> Testbed {
    Testbed::with(config().with_references().unwrap())
}

fn name(text: &str) -> String {
    format!("RouterIngress.{text}")
}

fn interface(bed: &Testbed, interface: u128) -> TableEntry {
    bed.entry(&name("interfaces"), &[exact(1, interface)], &name("forward"), &[1])
}

fn neighbor(bed: &Testbed, interface: u128, neighbor: u8) -> TableEntry {
    let value = field_match::Optional { value: vec![neighbor] };
    let kind = Some(field_match::FieldMatchType::Optional(value));
    let key = [exact(1, interface), FieldMatch { field_id: 2, field_match_type: kind }];
    let entry = bed.entry(&name("neighbors"), &key, &name("forward"), &[1]);
    TableEntry { priority: 1, ..entry }
}

fn route(bed: &Testbed, dst: u128, action: &str, arguments: &[u128]) -> TableEntry {
    bed.entry(&name("routes"), &[exact(1, dst)], &name(action), arguments)
}

fn group(id: u32) -> PacketReplicationEngineEntry {
    let group = MulticastGroupEntry { multicast_group_id: id, ..MulticastGroupEntry::default() };
    PacketReplicationEngineEntry { r#type: Some(Replication::MulticastGroupEntry(group)) }
}

const TO_INTERFACE: &str = "table RouterIngress.neighbors: @refers_to(interfaces,interface)";
const TO_NEIGHBOR: &str =
    "action RouterIngress.to_neighbor: @refers_to(neighbors,interface) @refers_to(neighbors,neighbor)";

fn missing(rule: &str) -> (Code, String) {
    (Code::FailedPrecondition, format!("{rule}: there is no such entry"))
}

fn in_use(rules: &str) -> (Code, String) {
    (Code::FailedPrecondition, format!("it is still referred to, by {rules}"))
}

#[test]
fn an_entry_needs_the_entries_that_it_refers_to() {
    let mut bed = bed();
    let (first, second) = (neighbor(&bed, 3, 7), neighbor(&bed, 3, 8));
    assert_eq!(bed.refused(Type::Insert, first.clone()), missing(TO_INTERFACE));
    assert_eq!(bed.apply(Type::Insert, interface(&bed, 3)), Ok(()));
    assert_eq!(bed.apply(Type::Insert, first.clone()), Ok(()));
    // Both parameters refer to one entry together.
    let wrong = route(&bed, 1, "to_neighbor", &[3, 8]);
    assert_eq!(bed.refused(Type::Insert, wrong.clone()), missing(TO_NEIGHBOR));
    let right = route(&bed, 1, "to_neighbor", &[3, 7]);
    assert_eq!(bed.apply(Type::Insert, right.clone()), Ok(()));
    assert_eq!(bed.refused(Type::Modify, wrong.clone()), missing(TO_NEIGHBOR));
    // What is referred to stays, until nothing refers to it.
    assert_eq!(bed.refused(Type::Delete, interface(&bed, 3)), in_use(TO_INTERFACE));
    assert_eq!(bed.refused(Type::Delete, first.clone()), in_use(TO_NEIGHBOR));
    assert_eq!(bed.apply(Type::Insert, second), Ok(()));
    assert_eq!(bed.apply(Type::Modify, wrong), Ok(()));
    assert_eq!(bed.apply(Type::Delete, first.clone()), Ok(()));
    assert_eq!(bed.refused(Type::Modify, right.clone()), missing(TO_NEIGHBOR));
    // A default entry refers, too, and no more when it is reset.
    let default = |entry: TableEntry| TableEntry { is_default_action: true, r#match: Vec::new(), ..entry };
    assert_eq!(bed.refused(Type::Modify, default(right.clone())), missing(TO_NEIGHBOR));
    assert_eq!(bed.apply(Type::Insert, first.clone()), Ok(()));
    assert_eq!(bed.apply(Type::Modify, default(right.clone())), Ok(()));
    assert_eq!(bed.refused(Type::Delete, first.clone()), in_use(TO_NEIGHBOR));
    assert_eq!(bed.apply(Type::Modify, TableEntry { action: None, ..default(right) }), Ok(()));
    assert_eq!(bed.apply(Type::Delete, first), Ok(()));
}

#[test]
fn members_and_groups_are_referred_to_and_refer() {
    let mut bed = bed();
    let to_group = route(&bed, 1, "to_group", &[5]);
    let rule = "action RouterIngress.to_group: @refers_to(builtin::multicast_group_table,multicast_group_id)";
    assert_eq!(bed.refused(Type::Insert, to_group.clone()), missing(rule));
    assert_eq!(bed.apply(Type::Insert, group(5)), Ok(()));
    assert_eq!(bed.apply(Type::Insert, to_group.clone()), Ok(()));
    assert_eq!(bed.refused(Type::Delete, group(5)), in_use(rule));
    assert_eq!(bed.apply(Type::Delete, to_group), Ok(()));
    assert_eq!(bed.apply(Type::Delete, group(5)), Ok(()));

    let Some(TableAction { r#type: Some(table_action::Type::Action(action)) }) =
        route(&bed, 1, "to_neighbor", &[3, 7]).action
    else {
        unreachable!("an action")
    };
    let profile = *bed.binding().profiles.keys().next().unwrap();
    let member = ActionProfileMember { action_profile_id: profile, member_id: 1, action: Some(action) };
    assert_eq!(bed.refused(Type::Insert, member.clone()), missing(TO_NEIGHBOR));
    assert_eq!(bed.apply(Type::Insert, interface(&bed, 3)), Ok(()));
    assert_eq!(bed.apply(Type::Insert, neighbor(&bed, 3, 7)), Ok(()));
    assert_eq!(bed.apply(Type::Insert, member.clone()), Ok(()));
    assert_eq!(bed.refused(Type::Delete, neighbor(&bed, 3, 7)), in_use(TO_NEIGHBOR));
    assert_eq!(bed.apply(Type::Delete, member), Ok(()));
    assert_eq!(bed.apply(Type::Delete, neighbor(&bed, 3, 7)), Ok(()));
}

#[test]
fn updates_of_a_batch_count_for_those_after_them() {
    let mut bed = bed();
    let mut updates = vec![
        update(Type::Insert, neighbor(&bed, 3, 7)),
        update(Type::Insert, interface(&bed, 3)),
        update(Type::Insert, neighbor(&bed, 3, 8)),
    ];
    let status = bed.write(&bed.write_request(updates.clone())).expect_err("the first comes too early");
    let codes: Vec<i32> = status.errors.iter().map(|error| error.canonical_code).collect();
    assert_eq!(codes, [Code::FailedPrecondition as i32, 0, 0]);
    // A batch that is taken back leaves no count behind.
    let mut bed = self::bed();
    updates.rotate_left(1);
    updates.push(update(Type::Insert, neighbor(&bed, 4, 1)));
    let atomicity = Atomicity::RollbackOnError.into();
    let request = WriteRequest { atomicity, ..bed.write_request(updates) };
    assert!(bed.write(&request).is_err());
    assert_eq!(bed.refused(Type::Insert, neighbor(&bed, 3, 7)), missing(TO_INTERFACE));
}

#[test]
fn references_are_checked_on_request_only() {
    let mut bed = Testbed::with(config());
    assert_eq!(bed.apply(Type::Insert, neighbor(&bed, 3, 7)), Ok(()));
}

#[test]
fn annotations_that_cannot_be_kept_are_refused() {
    let refused = |from: &str, to: &str| {
        let changed = P4INFO.replace(from, to);
        assert_ne!(changed, P4INFO);
        match PipelineConfig::from_files(JSON, changed.as_bytes()).unwrap().with_references() {
            Err(ConfigurationError::Reference(fault)) => fault,
            other => panic!("{other:?}"),
        }
    };
    let place = "action RouterIngress.to_neighbor: neighbor: @refers_to(neighbors";
    let absent = refused("neighbors , neighbor)", "neighbors , ttl)");
    assert_eq!(absent, format!("{place},ttl): the key of table neighbors has no field ttl"));
    let unknown = refused("neighbors , neighbor)", "neighbours , neighbor)");
    assert!(unknown.ends_with("there is no table neighbours"), "{unknown}");
    let single = refused("neighbors , neighbor)", "neighbors)");
    assert_eq!(single, format!("{place}): it is not @refers_to(table, field)"));
}
