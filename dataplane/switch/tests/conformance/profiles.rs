//! Action profiles and value sets, on the program of the testbed with one of each.

use action_profile_action_set::{ActionSelectionMode as Mode, SizeSemantics as Sizes};
use groupflow_switch::p4rt::{Code, PipelineConfig};
use groupflow_switch::proto::p4::config::v1 as info;
use groupflow_switch::proto::p4::v1::{
    action_profile_action, action_profile_action_set, action_profile_group, entity::Entity as Kinds,
    field_match, table_action, update::Type, write_request::Atomicity, Action, ActionProfileAction,
    ActionProfileActionSet, ActionProfileGroup, ActionProfileMember, FieldMatch, TableAction, TableEntry,
    ValueSetEntry, ValueSetMember, WriteRequest,
};
use serde_json::{json, Value};

use crate::common::{changed, exact, frame, info_table, json_table, range, update, Testbed};

const PROFILE: u32 = 77;
const SET: u32 = 78;
const MS: u64 = 1_000_000;
const TABLE: &str = "TestIngress.destinations";

/// `destinations` gets a profile of 3 members, whose selector hashes the source's lowest bits, and the parser
/// a value set for the types of frames that are not taken for Ethernet.
fn config() -> PipelineConfig {
    config_with(info::ActionProfile::default())
}

fn config_with(profile: info::ActionProfile) -> PipelineConfig {
    changed(|program, p4info| with_profile(program, p4info, profile))
}

fn with_profile(program: &mut Value, p4info: &mut info::P4Info, profile: info::ActionProfile) {
    let input = json!([{"type": "field", "value": ["ethernet", "src"]}]);
    let selector = json!({"algo": "csum16", "input": input});
    let ingress = &mut program["pipelines"][0];
    ingress["action_profiles"] = json!([{"name": "p", "id": 0, "max_size": 3, "selector": selector}]);
    let table = json_table(program, TABLE);
    table["type"] = json!("indirect_ws");
    table["action_profile"] = json!("p");
    program["parse_vsets"] = json!([{"name": "set", "id": 0, "compressed_bitwidth": 9, "max_size": 1}]);
    let states = program["parsers"][0]["parse_states"].as_array_mut().unwrap();
    let start = states.iter_mut().find(|state| state["name"] == "start").unwrap();
    let case = json!({"type": "parse_vset", "value": "set", "mask": null, "next_state": null});
    start["transitions"].as_array_mut().unwrap().insert(0, case);

    let named = |id, name: &str| Some(info::Preamble { id, name: name.into(), ..info::Preamble::default() });
    let table = info_table(p4info, TABLE);
    table.implementation_id = PROFILE;
    let table_id = table.preamble.as_ref().unwrap().id;
    p4info.action_profiles.push(info::ActionProfile {
        preamble: named(PROFILE, "p"),
        table_ids: vec![table_id],
        with_selector: true,
        size: 3,
        ..profile
    });
    let kind = info::match_field::Match::MatchType(info::match_field::MatchType::Exact as i32);
    let field = info::MatchField { id: 1, bitwidth: 9, r#match: Some(kind), ..info::MatchField::default() };
    p4info.value_sets.push(info::ValueSet { preamble: named(SET, "set"), r#match: vec![field], size: 1 });
}

fn bed() -> Testbed {
    Testbed::with(config())
}

fn one_shot(actions: Vec<ActionProfileAction>) -> table_action::Type {
    table_action::Type::ActionProfileActionSet(ActionProfileActionSet {
        action_profile_actions: actions,
        ..Default::default()
    })
}

fn forward(bed: &Testbed, port: u128) -> Action {
    match bed.action(TABLE, "forward", &[port, 0]).r#type {
        Some(table_action::Type::Action(action)) => action,
        other => panic!("{other:?}"),
    }
}

fn member(bed: &Testbed, member_id: u32, port: u128) -> ActionProfileMember {
    ActionProfileMember { action_profile_id: PROFILE, member_id, action: Some(forward(bed, port)) }
}

fn group(members: &[(u32, i32)]) -> ActionProfileGroup {
    let member = |&(member_id, weight)| action_profile_group::Member { member_id, weight, watch_kind: None };
    let members = members.iter().map(member).collect();
    ActionProfileGroup { action_profile_id: PROFILE, group_id: 5, members, ..ActionProfileGroup::default() }
}

fn entry(bed: &Testbed, mac: u128, action: table_action::Type) -> TableEntry {
    let action = Some(TableAction { r#type: Some(action) });
    TableEntry { action, ..bed.entry(TABLE, &[exact(1, mac)], "forward", &[1, 0]) }
}

/// The ports by which 30 frames from different sources leave.
fn ports(bed: &mut Testbed, mac: u128, time: u64) -> Vec<u16> {
    for source in 0..30 {
        let mut bytes = frame(mac as u64, 0x0800, 60);
        bytes[11] = source;
        bed.inject(time, 1, &bytes);
    }
    bed.left(time).into_iter().map(|(_, port)| port).collect()
}

#[test]
fn entries_have_the_action_of_their_member_also_when_it_changes() {
    let mut bed = bed();
    let to_member = entry(&bed, 1, table_action::Type::ActionProfileMemberId(2));
    assert_eq!(bed.refused(Type::Insert, to_member.clone()).0, Code::NotFound);
    let (first, second) = (member(&bed, 2, 2), member(&bed, 2, 3));
    bed.apply(Type::Insert, first.clone()).unwrap();
    assert_eq!(bed.refused(Type::Insert, first.clone()).0, Code::AlreadyExists);
    bed.apply(Type::Insert, to_member.clone()).unwrap();
    assert_eq!(ports(&mut bed, 1, 0), [2; 30]);
    bed.apply(Type::Modify, second.clone()).unwrap();
    assert_eq!(ports(&mut bed, 1, MS), [3; 30]);
    assert_eq!(bed.read(ActionProfileMember::default()).unwrap(), [Kinds::from(second)]);
    let unknown = ActionProfileMember { action_profile_id: PROFILE + 1, ..ActionProfileMember::default() };
    assert_eq!(bed.read(unknown).unwrap_err().code, Code::InvalidArgument);
    let Kinds::TableEntry(read) = bed.read(to_member.clone()).unwrap().remove(0) else { panic!("no entry") };
    assert_eq!(read.action, to_member.action, "as it was written");
    assert_eq!(bed.refused(Type::Delete, first.clone()).0, Code::FailedPrecondition);
    bed.apply(Type::Delete, to_member).unwrap();
    bed.apply(Type::Delete, first).unwrap();
    let direct = bed.entry(TABLE, &[exact(1, 1)], "forward", &[1, 0]);
    assert_eq!(bed.refused(Type::Insert, direct).0, Code::InvalidArgument);
}

#[test]
fn a_groups_members_share_the_packets_by_weight() {
    let mut bed = bed();
    for id in [1, 2, 3] {
        let one = member(&bed, id, u128::from(id));
        bed.apply(Type::Insert, one).unwrap();
    }
    let fourth = member(&bed, 4, 4);
    assert_eq!(bed.refused(Type::Insert, fourth).0, Code::ResourceExhausted);
    for bad in [group(&[(9, 1)]), group(&[(1, 0)]), group(&[(1, -1)])] {
        assert!(bed.apply(Type::Insert, bad).is_err());
    }
    bed.apply(Type::Insert, group(&[(1, 1), (2, 2)])).unwrap();
    let to_group = entry(&bed, 1, table_action::Type::ActionProfileGroupId(5));
    bed.apply(Type::Insert, to_group.clone()).unwrap();
    let left = ports(&mut bed, 1, 0);
    let to = |port| left.iter().filter(|other| **other == port).count();
    assert_eq!((to(1), to(2)), (10, 20));
    let moved = member(&bed, 2, 4);
    bed.apply(Type::Modify, moved).unwrap();
    assert_eq!(ports(&mut bed, 1, MS).iter().filter(|port| **port == 4).count(), 20);
    bed.apply(Type::Modify, group(&[(3, 1)])).unwrap();
    assert_eq!(ports(&mut bed, 1, 2 * MS), [3; 30]);
    assert_eq!(bed.read(ActionProfileGroup::default()).unwrap(), [Kinds::from(group(&[(3, 1)]))]);
    assert_eq!(bed.refused(Type::Delete, group(&[])).0, Code::FailedPrecondition);
    bed.apply(Type::Delete, to_group).unwrap();
    bed.apply(Type::Delete, group(&[])).unwrap();
}

#[test]
fn an_entry_brings_its_group_along() {
    let mut bed = bed();
    let part = |port| action_profile_action_set_part(&bed, port);
    let (two, one, none) = (one_shot(vec![part(2), part(3)]), one_shot(vec![part(4)]), one_shot(vec![]));
    let (two, one, none) = (entry(&bed, 1, two), entry(&bed, 1, one), entry(&bed, 1, none));
    let of_mode = |mode: Mode, sizes: Sizes| {
        let action_profile_actions = vec![part(2)];
        let (action_selection_mode, size_semantics) = (mode.into(), sizes.into());
        let set = ActionProfileActionSet { action_profile_actions, action_selection_mode, size_semantics };
        entry(&bed, 3, table_action::Type::ActionProfileActionSet(set))
    };
    let other = [
        of_mode(Mode::Random, Sizes::DefaultSizeDeterminedByActionSelector),
        of_mode(Mode::Hash, Sizes::SumOfMembers),
    ];
    let usual = of_mode(Mode::Hash, Sizes::SumOfWeights);
    for other in other {
        assert_eq!(bed.refused(Type::Insert, other).0, Code::Unimplemented);
    }
    bed.apply(Type::Insert, usual.clone()).unwrap();
    assert_eq!(bed.read(usual.clone()).unwrap(), [Kinds::from(usual)]);
    bed.apply(Type::Insert, two.clone()).unwrap();
    assert_eq!(bed.read(two.clone()).unwrap(), [Kinds::from(two.clone())], "as it was written");
    let left = ports(&mut bed, 1, 0);
    assert_eq!([2, 3].map(|port| left.iter().filter(|other| **other == port).count()), [15, 15]);
    assert_eq!(bed.refused(Type::Insert, one.clone()).0, Code::AlreadyExists);
    bed.apply(Type::Modify, one).unwrap();
    assert_eq!(ports(&mut bed, 1, MS), [4; 30]);
    bed.apply(Type::Modify, none).unwrap();
    assert!(ports(&mut bed, 1, 2 * MS).is_empty(), "an empty group has no action");
    bed.apply(Type::Delete, two).unwrap();
    assert!(ports(&mut bed, 1, 3 * MS).is_empty());
}

#[test]
fn a_profile_has_members_or_groups_of_entries() {
    let mut bed = bed();
    let own = one_shot(vec![action_profile_action_set_part(&bed, 2)]);
    let own = entry(&bed, 1, own);
    bed.apply(Type::Insert, member(&bed, 1, 2)).unwrap();
    assert_eq!(bed.refused(Type::Insert, own.clone()).0, Code::InvalidArgument);
    bed.apply(Type::Delete, member(&bed, 1, 2)).unwrap();
    bed.apply(Type::Insert, group(&[])).unwrap();
    assert_eq!(bed.refused(Type::Insert, own.clone()).0, Code::InvalidArgument, "a group without members");
    bed.apply(Type::Delete, group(&[])).unwrap();
    bed.apply(Type::Insert, own.clone()).unwrap();
    assert_eq!(bed.refused(Type::Insert, member(&bed, 1, 2)).0, Code::InvalidArgument);
    assert_eq!(bed.refused(Type::Insert, group(&[])).0, Code::InvalidArgument);
    bed.apply(Type::Delete, own).unwrap();
    bed.apply(Type::Insert, member(&bed, 1, 2)).unwrap();
}

fn action_profile_action_set_part(bed: &Testbed, port: u128) -> ActionProfileAction {
    ActionProfileAction { action: Some(forward(bed, port)), weight: 1, ..Default::default() }
}

#[test]
fn weights_cost_no_memory() {
    let mut bed = bed();
    let weighted =
        |port, weight| ActionProfileAction { weight, ..action_profile_action_set_part(&bed, port) };
    let heavy = one_shot(vec![weighted(2, i32::MAX), weighted(3, i32::MAX)]);
    let heavy: Vec<_> = (1..=60).map(|mac| entry(&bed, mac, heavy.clone())).collect();
    // Written out, each would take a hundred gigabytes.
    heavy.into_iter().for_each(|entry| bed.apply(Type::Insert, entry).unwrap());
    let left = ports(&mut bed, 60, 0);
    assert!(left.len() == 30 && left.iter().all(|port| [2, 3].contains(port)), "{left:?}");
}

#[test]
fn a_group_is_not_larger_than_p4info_allows() {
    use info::action_profile::{SelectorSizeSemantics, SumOfMembers, SumOfWeights};
    let weights = SelectorSizeSemantics::SumOfWeights(SumOfWeights {});
    let members = SelectorSizeSemantics::SumOfMembers(SumOfMembers { max_member_weight: 9 });
    let weighted = |bed: &Testbed, port, weight| ActionProfileAction {
        weight,
        ..action_profile_action_set_part(bed, port)
    };
    for (semantics, fits, too_large, code) in [
        (None, [1, 2], [2, 2], Code::ResourceExhausted),
        (Some(weights), [2, 1], [1, 3], Code::ResourceExhausted),
        (Some(members), [9, 9], [1, 10], Code::InvalidArgument),
    ] {
        let profile = info::ActionProfile {
            max_group_size: 3,
            selector_size_semantics: semantics,
            ..info::ActionProfile::default()
        };
        let mut bed = Testbed::with(config_with(profile.clone()));
        for id in [1, 2] {
            let one = member(&bed, id, u128::from(id));
            bed.apply(Type::Insert, one).unwrap();
        }
        let named = |weights: [i32; 2]| group(&[(1, weights[0]), (2, weights[1])]);
        assert_eq!(bed.refused(Type::Insert, named(too_large)).0, code);
        bed.apply(Type::Insert, named(fits)).unwrap();
        assert_eq!(bed.refused(Type::Modify, named(too_large)).0, code);
        let brought = |bed: &Testbed, weights: [i32; 2]| {
            entry(bed, 1, one_shot(weights.map(|weight| weighted(bed, 2, weight)).to_vec()))
        };
        let mut other = Testbed::with(config_with(profile));
        let (large, fitting) = (brought(&other, too_large), brought(&other, fits));
        assert_eq!(other.refused(Type::Insert, large).0, Code::InvalidArgument);
        other.apply(Type::Insert, fitting).unwrap();
        let four = entry(&other, 2, one_shot(vec![weighted(&other, 2, 1); 4]));
        assert_eq!(other.refused(Type::Insert, four).0, Code::InvalidArgument);
        let sized = |max_size| ActionProfileGroup { group_id: 6, max_size, ..named([1, 1]) };
        assert_eq!(bed.refused(Type::Insert, sized(1)).0, Code::ResourceExhausted, "a size of its own");
        assert_eq!(bed.refused(Type::Insert, sized(4)).0, Code::InvalidArgument);
        bed.apply(Type::Insert, sized(2)).unwrap();
        assert_eq!(bed.refused(Type::Modify, sized(3)).0, Code::InvalidArgument, "it cannot change");
        bed.apply(Type::Modify, sized(2)).unwrap();
        bed.apply(Type::Delete, sized(-1)).unwrap();
        bed.apply(Type::Insert, sized(3)).unwrap();
    }
}

#[test]
fn numbers_of_profiles_and_value_sets_are_read_in_their_shortest_form() {
    let mut bed = bed();
    let pad = |action: &mut Option<Action>| action.as_mut().unwrap().params[0].value.insert(0, 0);
    let watch = |port: &[u8]| Some(action_profile_group::member::WatchKind::WatchPort(port.to_vec()));
    let part_watch = |port: &[u8]| Some(action_profile_action::WatchKind::WatchPort(port.to_vec()));
    let mut part =
        ActionProfileAction { watch_kind: part_watch(&[2]), ..action_profile_action_set_part(&bed, 2) };
    let short = entry(&bed, 1, one_shot(vec![part.clone()]));
    pad(&mut part.action);
    part.watch_kind = part_watch(&[0, 2]);
    let padded = entry(&bed, 1, one_shot(vec![part]));
    bed.apply(Type::Insert, padded).unwrap();
    assert_eq!(bed.read(short.clone()).unwrap(), [Kinds::from(short.clone())]);
    bed.apply(Type::Delete, short).unwrap();
    let mut padded = member(&bed, 1, 2);
    pad(&mut padded.action);
    bed.apply(Type::Insert, padded).unwrap();
    assert_eq!(bed.read(ActionProfileMember::default()).unwrap(), [Kinds::from(member(&bed, 1, 2))]);
    let mut watching = group(&[(1, 1)]);
    watching.members[0].watch_kind = watch(&[0, 2]);
    bed.apply(Type::Insert, watching.clone()).unwrap();
    watching.members[0].watch_kind = watch(&[2]);
    assert_eq!(bed.read(ActionProfileGroup::default()).unwrap(), [Kinds::from(watching)]);
    let set = |value: &[u8]| {
        let exact = field_match::FieldMatchType::Exact(field_match::Exact { value: value.to_vec() });
        let r#match = vec![FieldMatch { field_id: 1, field_match_type: Some(exact) }];
        ValueSetEntry { value_set_id: SET, members: vec![ValueSetMember { r#match }] }
    };
    bed.apply(Type::Modify, set(&[0, 0, 5])).unwrap();
    assert_eq!(bed.read(ValueSetEntry::default()).unwrap(), [Kinds::from(set(&[5]))]);
}

#[test]
fn members_and_groups_have_ids_that_are_not_zero_and_a_group_no_member_twice() {
    let mut bed = bed();
    let zero = member(&bed, 0, 2);
    assert_eq!(bed.refused(Type::Insert, zero), (Code::InvalidArgument, "member_id: it is zero".into()));
    let zero = ActionProfileGroup { group_id: 0, ..group(&[]) };
    assert_eq!(bed.refused(Type::Insert, zero), (Code::InvalidArgument, "group_id: it is zero".into()));
    bed.apply(Type::Insert, member(&bed, 1, 2)).unwrap();
    let twice = (Code::InvalidArgument, "members: one is there twice".into());
    assert_eq!(bed.refused(Type::Insert, group(&[(1, 1), (1, 2)])), twice);
}

#[test]
fn a_profile_without_a_selector_has_no_groups() {
    let mut bed = Testbed::with(changed(|program, p4info| {
        with_profile(program, p4info, info::ActionProfile::default());
        program["pipelines"][0]["action_profiles"][0].as_object_mut().unwrap().remove("selector");
        json_table(program, TABLE)["type"] = json!("indirect");
        p4info.action_profiles[0].with_selector = false;
    }));
    let part = action_profile_action_set_part(&bed, 2);
    for action in [table_action::Type::ActionProfileGroupId(5), one_shot(vec![part])] {
        let entry = entry(&bed, 1, action);
        let refused = (Code::InvalidArgument, format!("table {TABLE}: action: the profile has no selector"));
        assert_eq!(bed.refused(Type::Insert, entry), refused);
    }
    assert_eq!(bed.refused(Type::Insert, group(&[])).0, Code::InvalidArgument);
}

#[test]
fn the_default_entry_of_a_table_with_a_profile_is_constant() {
    let mut bed = bed();
    let default = TableEntry { is_default_action: true, ..bed.entry(TABLE, &[], "forward", &[1, 0]) };
    assert_eq!(bed.refused(Type::Modify, default).0, Code::PermissionDenied);
}

#[test]
fn the_default_entry_of_a_table_with_a_profile_is_read_with_its_action() {
    const NO_ACTION: u32 = 21_257_015;
    let mut bed = Testbed::with(changed(|program, p4info| {
        with_profile(program, p4info, info::ActionProfile::default());
        let no_action = json_table(program, "TestIngress.prefixes")["action_ids"][1].clone();
        let table = json_table(program, TABLE);
        // Compilers leave it out where the table has a profile.
        table.as_object_mut().unwrap().remove("default_entry");
        table["actions"].as_array_mut().unwrap().push(json!("NoAction"));
        table["action_ids"].as_array_mut().unwrap().push(no_action);
        table["next_tables"]["NoAction"] = table["next_tables"]["TestIngress.forward"].clone();
        let scope = info::action_ref::Scope::DefaultOnly.into();
        let reference = info::ActionRef { id: NO_ACTION, scope, ..Default::default() };
        info_table(p4info, TABLE).action_refs.push(reference);
    }));
    let filter = |action| TableEntry {
        table_id: bed.table(TABLE),
        is_default_action: true,
        action: Some(TableAction { r#type: Some(action) }),
        ..TableEntry::default()
    };
    let none = table_action::Type::Action(Action { action_id: NO_ACTION, params: vec![] });
    let default = TableEntry { is_const: true, ..filter(none.clone()) };
    assert_eq!(
        bed.read(TableEntry { action: None, ..filter(none.clone()) }).unwrap(),
        [default.clone().into()]
    );
    assert_eq!(bed.read(filter(none)).unwrap(), [default.into()]);
    let other = table_action::Type::Action(forward(&bed, 1));
    assert_eq!(bed.read(filter(other)).unwrap(), []);
    // A miss still does nothing.
    bed.inject(0, 1, &frame(1, 0x0800, 60));
    assert_eq!(bed.left(0), []);
}

#[test]
fn a_profile_may_have_no_weights() {
    let config = config_with(info::ActionProfile { weights_disallowed: true, ..Default::default() });
    let mut bed = Testbed::with(config);
    for id in [1, 2] {
        bed.apply(Type::Insert, member(&bed, id, u128::from(id))).unwrap();
    }
    let one = bed.refused(Type::Insert, group(&[(1, 1), (2, 0)]));
    assert_eq!(one, (Code::InvalidArgument, "weight: it is not within 0 and 0".into()));
    bed.apply(Type::Insert, group(&[(1, 0), (2, 0)])).unwrap();
    let to_group = entry(&bed, 1, table_action::Type::ActionProfileGroupId(5));
    bed.apply(Type::Insert, to_group).unwrap();
    assert_eq!(ports(&mut bed, 1, 0).iter().filter(|port| **port == 1).count(), 15, "half of 30");
}

#[test]
fn the_parser_takes_the_members_of_a_value_set() {
    let mut bed = bed();
    bed.apply(Type::Insert, member(&bed, 1, 2)).unwrap();
    let all = entry(&bed, 0, table_action::Type::ActionProfileMemberId(1));
    bed.apply(Type::Insert, all).unwrap();
    let of_ports = |ports: &[u8]| {
        let member = |port: &u8| ValueSetMember { r#match: vec![exact(1, u128::from(*port))] };
        ValueSetEntry { value_set_id: SET, members: ports.iter().map(member).collect() }
    };
    // Frames from port 1 for which the parser stops have no destination, which counts as 0.
    assert!(ports(&mut bed, 9, 0).is_empty());
    bed.apply(Type::Modify, of_ports(&[1])).unwrap();
    assert_eq!(ports(&mut bed, 9, MS), [2; 30]);
    assert_eq!(bed.read(ValueSetEntry::default()).unwrap(), [Kinds::from(of_ports(&[1]))]);
    assert_eq!(bed.refused(Type::Modify, of_ports(&[1, 2])).0, Code::ResourceExhausted);
    assert_eq!(bed.refused(Type::Insert, of_ports(&[1])).0, Code::InvalidArgument);
    assert_eq!(bed.refused(Type::Modify, of_ports(&[1, 1])).0, Code::AlreadyExists);
    let unset = ValueSetMember { r#match: vec![FieldMatch::default()] };
    let bad = ValueSetEntry { value_set_id: SET, members: vec![unset] };
    assert_eq!(bed.refused(Type::Modify, bad).0, Code::InvalidArgument);
    bed.apply(Type::Modify, of_ports(&[])).unwrap();
    assert!(ports(&mut bed, 9, 2 * MS).is_empty());
    let mut bed = Testbed::with(changed(|program, p4info| {
        with_profile(program, p4info, info::ActionProfile::default());
        let kind = info::match_field::MatchType::Range as i32;
        p4info.value_sets[0].r#match[0].r#match = Some(info::match_field::Match::MatchType(kind));
    }));
    let members = vec![ValueSetMember { r#match: vec![range(1, 1, 2)] }];
    let ranges = ValueSetEntry { value_set_id: SET, members };
    assert_eq!(bed.refused(Type::Modify, ranges).0, Code::Unimplemented);
}

#[test]
fn a_batch_about_profiles_and_value_sets_is_taken_back() {
    let mut bed = bed();
    let set = |port| {
        let members = vec![ValueSetMember { r#match: vec![exact(1, port)] }];
        ValueSetEntry { value_set_id: SET, members }
    };
    let (to_group, to_member) = (
        entry(&bed, 1, table_action::Type::ActionProfileGroupId(5)),
        entry(&bed, 2, table_action::Type::ActionProfileMemberId(1)),
    );
    let members = [member(&bed, 1, 1), member(&bed, 2, 2)];
    let [first, second] = members.clone().map(Kinds::from);
    let all: [Kinds; 5] =
        [first, second, group(&[(1, 1), (2, 2)]).into(), to_group.clone().into(), to_member.clone().into()];
    all.into_iter().for_each(|entity| bed.apply(Type::Insert, entity).unwrap());
    bed.apply(Type::Modify, set(1)).unwrap();
    let state = |bed: &mut Testbed, time| {
        let filters: [Kinds; 4] = [
            ActionProfileMember::default().into(),
            ActionProfileGroup::default().into(),
            ValueSetEntry::default().into(),
            TableEntry { table_id: to_group.table_id, ..TableEntry::default() }.into(),
        ];
        let found = filters.map(|filter| bed.read(filter).unwrap());
        (found, ports(bed, 1, time), ports(bed, 2, time))
    };
    let before = state(&mut bed, 0);
    let changed = TableEntry { action: to_member.action.clone(), ..to_group.clone() };
    let batch = vec![
        update(Type::Modify, set(2)),
        update(Type::Modify, member(&bed, 1, 3)),
        update(Type::Modify, group(&[(1, 1)])),
        update(Type::Modify, changed),
        update(Type::Delete, group(&[])),
        update(Type::Delete, to_group.clone()),
        update(Type::Delete, to_member),
        update(Type::Delete, members[0].clone()),
        update(Type::Delete, member(&bed, 9, 1)),
    ];
    let atomicity = Atomicity::RollbackOnError.into();
    let request = WriteRequest { atomicity, ..bed.write_request(batch) };
    let status = bed.write(&request).expect_err("there is no member 9");
    let codes: Vec<i32> = status.errors.iter().map(|error| error.canonical_code).collect();
    assert_eq!(
        (codes[0], codes[7], codes[8]),
        (Code::Aborted as i32, Code::Aborted as i32, Code::NotFound as i32)
    );
    assert_eq!(state(&mut bed, MS), before);
}

#[test]
fn an_action_is_left_out_while_the_port_that_it_watches_is_down() {
    let members = [(1, 2), (2, 3)].map(|(id, port)| Kinds::from(member(&bed(), id, port)));
    let mut watching = group(&[(1, 1), (2, 1)]);
    let port = |bytes: &[u8]| Some(action_profile_group::member::WatchKind::WatchPort(bytes.to_vec()));
    watching.members[0].watch_kind = port(&[2]);
    let to_group = entry(&bed(), 1, table_action::Type::ActionProfileGroupId(5));
    let [first, second] = members;
    let mut bed = left_out(&[first, second, watching.clone().into(), to_group.into()], Some(&watching));
    assert_eq!(bed.read(ActionProfileGroup::default()).unwrap(), [Kinds::from(watching.clone())]);
    watching.members[0].watch_kind = port(&[9]);
    let (code, message) = bed.refused(Type::Modify, watching.clone());
    assert_eq!((code, message.as_str()), (Code::InvalidArgument, "watch_port: there is no port 9"));
    #[allow(deprecated)]
    let number = |port| Some(action_profile_group::member::WatchKind::Watch(port));
    watching.members[0].watch_kind = number(9);
    assert_eq!(bed.refused(Type::Modify, watching.clone()).0, Code::InvalidArgument);
    watching.members[0].watch_kind = number(0);
    assert_eq!(bed.apply(Type::Modify, watching), Ok(()), "0 is none");
}

#[test]
fn an_action_of_an_entrys_own_group_is_left_out_like_one_of_a_group() {
    let part =
        |port, watch_kind| ActionProfileAction { action: Some(forward(&bed(), port)), weight: 1, watch_kind };
    let watched = part(2, Some(action_profile_action::WatchKind::WatchPort(vec![2])));
    left_out(&[entry(&bed(), 1, one_shot(vec![watched, part(3, None)])).into()], None);
}

/// Writes entities with which frames to 1 leave at port 3, and at port 2 while it is up; `changed` is written
/// while it is down.
fn left_out(entities: &[Kinds], changed: Option<&ActionProfileGroup>) -> Testbed {
    let mut bed = bed();
    let insert = |bed: &mut Testbed| {
        entities.iter().for_each(|entity| bed.apply(Type::Insert, entity.clone()).unwrap());
    };
    let link = |bed: &mut Testbed, spec: &str| {
        let (port, change) = groupflow_switch::core::parse_port_link(spec).unwrap();
        bed.switch.change_link(port, &change).unwrap();
    };
    insert(&mut bed);
    assert!(ports(&mut bed, 1, 0).contains(&2));
    link(&mut bed, "2:down");
    assert_eq!(ports(&mut bed, 1, MS), [3; 30]);
    // A group that is written meanwhile, and a program that is installed meanwhile, know it too.
    if let Some(group) = changed {
        bed.apply(Type::Modify, group.clone()).unwrap();
    }
    assert_eq!(ports(&mut bed, 1, 2 * MS), [3; 30]);
    bed.runtime.install(&mut bed.switch, config());
    insert(&mut bed);
    assert_eq!(ports(&mut bed, 1, 2 * MS), [3; 30]);
    link(&mut bed, "2:up");
    assert!(ports(&mut bed, 1, 3 * MS).contains(&2));
    bed
}
