//! Entries that refer to others by `@refers_to`, where that is checked.

use groupflow_switch::p4rt::{Code, ConfigurationError, PipelineConfig};
use groupflow_switch::proto::p4::v1::{
    table_action, update::Type, write_request::Atomicity, ActionProfileAction, ActionProfileActionSet,
    ActionProfileMember, FieldMatch, TableAction, TableEntry, WriteRequest,
};

use crate::common::{exact, group, optional, session, update, Testbed};

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
    let key = [exact(1, interface), optional(2, neighbor.into())];
    let entry = bed.entry(&name("neighbors"), &key, &name("forward"), &[1]);
    TableEntry { priority: 1, ..entry }
}

fn route(bed: &Testbed, dst: u128, action: &str, arguments: &[u128]) -> TableEntry {
    bed.entry(&name("routes"), &[exact(1, dst)], &name(action), arguments)
}

const TO_INTERFACE: &str = "table RouterIngress.neighbors: @refers_to(interfaces,interface)";
const TO_NEIGHBOR: &str = "action RouterIngress.to_neighbor: @refers_to(neighbors,interface); \
                           action RouterIngress.to_neighbor: @refers_to(neighbors,neighbor)";
const ROUTE: &str = "1 entry of table RouterIngress.routes";

fn missing(rule: &str) -> (Code, String) {
    (Code::FailedPrecondition, format!("{rule}: there is no such entry"))
}

fn in_use(by: &str) -> (Code, String) {
    (Code::FailedPrecondition, format!("it is still referred to, by {by}"))
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
    // An entry stays until nothing refers to it.
    assert_eq!(
        bed.refused(Type::Delete, interface(&bed, 3)),
        in_use("1 entry of table RouterIngress.neighbors")
    );
    assert_eq!(bed.refused(Type::Delete, first.clone()), in_use(ROUTE));
    assert_eq!(bed.apply(Type::Insert, second), Ok(()));
    assert_eq!(bed.apply(Type::Modify, wrong), Ok(()));
    assert_eq!(bed.apply(Type::Delete, first.clone()), Ok(()));
    assert_eq!(bed.refused(Type::Modify, right.clone()), missing(TO_NEIGHBOR));
    // A default entry refers, too, and no more when it is reset.
    let default = |entry: TableEntry| TableEntry { is_default_action: true, r#match: Vec::new(), ..entry };
    assert_eq!(bed.refused(Type::Modify, default(right.clone())), missing(TO_NEIGHBOR));
    assert_eq!(bed.apply(Type::Insert, first.clone()), Ok(()));
    assert_eq!(bed.apply(Type::Modify, default(right.clone())), Ok(()));
    assert_eq!(bed.refused(Type::Delete, first.clone()), in_use(ROUTE));
    assert_eq!(bed.apply(Type::Modify, TableEntry { action: None, ..default(right) }), Ok(()));
    assert_eq!(bed.apply(Type::Delete, first), Ok(()));
}

#[test]
fn members_and_groups_are_referred_to_and_refer() {
    let mut bed = bed();
    let to_group = route(&bed, 1, "to_group", &[5]);
    let rule = "action RouterIngress.to_group: @refers_to(builtin::multicast_group_table,multicast_group_id)";
    assert_eq!(bed.refused(Type::Insert, to_group.clone()), missing(rule));
    assert_eq!(bed.apply(Type::Insert, group(5, &[])), Ok(()));
    assert_eq!(bed.apply(Type::Insert, to_group.clone()), Ok(()));
    assert_eq!(bed.refused(Type::Delete, group(5, &[])), in_use(ROUTE));
    assert_eq!(bed.apply(Type::Delete, to_group), Ok(()));
    assert_eq!(bed.apply(Type::Delete, group(5, &[])), Ok(()));

    let Some(TableAction { r#type: Some(table_action::Type::Action(action)) }) =
        route(&bed, 1, "to_neighbor", &[3, 7]).action
    else {
        unreachable!("an action")
    };
    let (profile, _) = bed.binding().profiles.iter().find(|(_, of)| of.name == name("members")).unwrap();
    let profile = *profile;
    let member = ActionProfileMember { action_profile_id: profile, member_id: 1, action: Some(action) };
    assert_eq!(bed.refused(Type::Insert, member.clone()), missing(TO_NEIGHBOR));
    assert_eq!(bed.apply(Type::Insert, interface(&bed, 3)), Ok(()));
    assert_eq!(bed.apply(Type::Insert, neighbor(&bed, 3, 7)), Ok(()));
    assert_eq!(bed.apply(Type::Insert, member.clone()), Ok(()));
    // Entries of two kinds refer to it: those that are there are named.
    let by_member = in_use("1 entry of action profile RouterIngress.members");
    assert_eq!(bed.refused(Type::Delete, neighbor(&bed, 3, 7)), by_member);
    let route = |dst| route(&bed, dst, "to_neighbor", &[3, 7]);
    let (first, second) = (route(1), route(2));
    assert_eq!(bed.apply(Type::Insert, first), Ok(()));
    assert_eq!(bed.apply(Type::Delete, member), Ok(()));
    assert_eq!(bed.refused(Type::Delete, neighbor(&bed, 3, 7)), in_use(ROUTE));
    assert_eq!(bed.apply(Type::Insert, second.clone()), Ok(()));
    let by_routes = in_use("2 entries of table RouterIngress.routes");
    assert_eq!(bed.refused(Type::Delete, neighbor(&bed, 3, 7)), by_routes);
    for route in [self::route(&bed, 1, "to_neighbor", &[3, 7]), second] {
        assert_eq!(bed.apply(Type::Delete, route), Ok(()));
    }
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

/// The switch where P4Info is changed, in text form.
fn changed(changes: &[(&str, &str)]) -> Result<PipelineConfig, ConfigurationError> {
    let mut p4info = P4INFO.to_owned();
    for (from, to) in changes {
        assert!(p4info.contains(from), "{from}");
        p4info = p4info.replace(from, to);
    }
    PipelineConfig::from_files(JSON, p4info.as_bytes()).unwrap().with_references()
}

#[test]
fn annotations_that_cannot_be_kept_are_refused() {
    let refused = |from: &str, to: &str| match changed(&[(from, to)]) {
        Err(ConfigurationError::Reference(fault)) => fault,
        other => panic!("{other:?}"),
    };
    let place = "table RouterIngress.policies: neighbor: @refers_to(neighbors";
    let absent = refused("neighbors , neighbor)", "neighbors , ttl)");
    assert_eq!(absent, format!("{place} , ttl): the key of table neighbors has no field ttl"));
    let unknown = refused("neighbors , neighbor)", "neighbours , neighbor)");
    assert!(unknown.ends_with("there is no table neighbours"), "{unknown}");
    let single = refused("neighbors , neighbor)", "neighbors)");
    assert_eq!(single, format!("{place}): it is not @refers_to(table, field)"));
    let empty = refused("@refers_to(neighbors , neighbor)", "@refers_to");
    assert!(empty.ends_with("neighbor: @refers_to: it is not @refers_to(table, field)"), "{empty}");
    let alias = "    alias: \"routes\"";
    let whole = refused(alias, &format!("{alias} annotations: \"@refers_to(neighbors, interface)\""));
    assert!(whole.ends_with("only exact and optional fields and parameters refer"), "{whole}");
    let replica = "@referenced_by(builtin::multicast_group_table, replica.port)";
    let replicas = refused("@refers_to(interfaces , interface)", replica);
    assert!(replicas.ends_with("leave --check-references out"), "{replicas}");
}

#[test]
fn annotations_are_bounded() {
    let many = |number: usize, of: &dyn Fn(usize) -> String| {
        let texts: Vec<_> = (0..number).map(|n| format!("annotations: \"{}\"", of(n))).collect();
        changed(&[("annotations: \"@refers_to(interfaces , interface)\"", &texts.join("\n"))])
    };
    let same = |_| "@refers_to(interfaces, interface)".to_owned();
    assert!(many(400, &same).is_ok());
    let Err(ConfigurationError::Reference(fault)) = many(600, &same) else { panic!("600 annotations") };
    assert!(fault.ends_with("there are more than 16384 bytes of them"), "{fault}");
    // The optional fields of a key may be left out in every combination.
    let field = |n: usize| {
        format!(
            "match_fields {{ id: {n} name: \"o{n}\" bitwidth: 8 match_type: OPTIONAL \
             annotations: \"@refers_to(wide, f{n})\" }}"
        )
    };
    let wide = |n: usize| format!("match_fields {{ id: {n} name: \"f{n}\" bitwidth: 8 match_type: EXACT }}");
    let table = |id: u32, name: &str, fields: &dyn Fn(usize) -> String, number: usize| {
        let fields: String = (1..=number).map(fields).collect();
        format!("tables {{ preamble {{ id: {id} name: \"{name}\" alias: \"{name}\" }} {fields} size: 8 }}")
    };
    let tables = |number| {
        let text = table(33554433, "wide", &wide, number) + &table(33554434, "narrow", &field, number);
        let text = format!("{text}\ntype_info {{");
        changed(&[("type_info {", &text)])
    };
    assert!(tables(6).is_ok(), "{:?}", tables(6));
    let Err(ConfigurationError::Reference(fault)) = tables(7) else { panic!("128 sets of fields") };
    assert!(fault.ends_with("more than 64 sets of fields of the table are referred to"), "{fault}");
}

#[test]
fn a_name_that_two_tables_end_with_is_refused() {
    let alias = ("alias: \"neighbors\"", "alias: \"n\"");
    let both = ("name: \"RouterIngress.backups\"", "name: \"RouterIngress.backups\"");
    let other =
        "tables { preamble { id: 33554433 name: \"Other.neighbors\" alias: \"o\" } size: 8 }\ntype_info {";
    let Err(ConfigurationError::Reference(fault)) = changed(&[alias, both, ("type_info {", other)]) else {
        panic!("two tables end with it")
    };
    let both = "both RouterIngress.neighbors and Other.neighbors are named neighbors: write the whole name";
    assert!(fault.ends_with(both), "{fault}");
    // An alias is one table's.
    assert!(changed(&[("type_info {", other)]).is_ok());
}

fn policy(bed: &Testbed, key: &[FieldMatch], session: u128) -> TableEntry {
    let entry = bed.entry(&name("policies"), key, &name("to_session"), &[session]);
    TableEntry { priority: 1, ..entry }
}

#[test]
fn an_optional_field_that_is_left_out_is_left_out_of_the_reference() {
    let mut bed = bed();
    assert_eq!(bed.apply(Type::Insert, session(5, &[], 0, 0)), Ok(()));
    let (without, with) = (policy(&bed, &[exact(1, 3)], 5), policy(&bed, &[exact(1, 3), optional(2, 7)], 5));
    let (code, fault) = bed.refused(Type::Insert, without.clone());
    assert_eq!(code, Code::FailedPrecondition);
    assert!(fault.starts_with("table RouterIngress.policies: @refers_to(neighbors,interface)"), "{fault}");
    assert_eq!(bed.apply(Type::Insert, interface(&bed, 3)), Ok(()));
    assert_eq!(bed.apply(Type::Insert, neighbor(&bed, 3, 8)), Ok(()));
    assert_eq!(bed.apply(Type::Insert, without.clone()), Ok(()));
    assert_eq!(bed.refused(Type::Insert, with.clone()).0, Code::FailedPrecondition);
    assert_eq!(bed.apply(Type::Insert, neighbor(&bed, 3, 7)), Ok(()));
    assert_eq!(bed.apply(Type::Insert, with), Ok(()));
    // Any neighbour of the interface will do for the one, and none but its own for the other.
    let by_policy = in_use("1 entry of table RouterIngress.policies");
    assert_eq!(bed.refused(Type::Delete, neighbor(&bed, 3, 7)), by_policy);
    assert_eq!(bed.apply(Type::Delete, neighbor(&bed, 3, 8)), Ok(()));
}

#[test]
fn clone_sessions_are_referred_to() {
    let mut bed = bed();
    assert_eq!(bed.apply(Type::Insert, interface(&bed, 3)), Ok(()));
    assert_eq!(bed.apply(Type::Insert, neighbor(&bed, 3, 7)), Ok(()));
    let policy = policy(&bed, &[exact(1, 3)], 5);
    let rule = "action RouterIngress.to_session: @refers_to(builtin::clone_session_table,clone_session_id)";
    assert_eq!(bed.refused(Type::Insert, policy.clone()), missing(rule));
    assert_eq!(bed.apply(Type::Insert, session(5, &[], 0, 0)), Ok(()));
    assert_eq!(bed.apply(Type::Insert, policy), Ok(()));
    let by_policy = in_use("1 entry of table RouterIngress.policies");
    assert_eq!(bed.refused(Type::Delete, session(5, &[], 0, 0)), by_policy);
}

#[test]
fn a_field_and_the_parameters_of_each_action_refer_to_one_entry() {
    let mut bed = bed();
    for number in [3, 4] {
        assert_eq!(bed.apply(Type::Insert, interface(&bed, number)), Ok(()));
        assert_eq!(bed.apply(Type::Insert, neighbor(&bed, number, number as u8)), Ok(()));
    }
    let pair = |bed: &Testbed, neighbors: &[u128]| {
        let entry = bed.entry(&name("pairs"), &[exact(1, 3)], &name("mark"), &[0]);
        let actions = neighbors.iter().map(|neighbor| {
            let action = bed.action(&name("pairs"), &name("mark"), &[*neighbor]);
            let Some(table_action::Type::Action(action)) = action.r#type else { unreachable!("an action") };
            ActionProfileAction { action: Some(action), weight: 1, ..ActionProfileAction::default() }
        });
        let set = ActionProfileActionSet { action_profile_actions: actions.collect(), ..Default::default() };
        let action = TableAction { r#type: Some(table_action::Type::ActionProfileActionSet(set)) };
        TableEntry { action: Some(action), ..entry }
    };
    let rule = "table RouterIngress.pairs: @refers_to(neighbors,interface); \
                action RouterIngress.mark: @refers_to(neighbors,neighbor)";
    // Interface 3 has a neighbour, and 4 is one, but not of interface 3.
    assert_eq!(bed.refused(Type::Insert, pair(&bed, &[3, 4])), missing(rule));
    assert_eq!(bed.apply(Type::Insert, pair(&bed, &[3])), Ok(()));
    assert_eq!(bed.refused(Type::Modify, pair(&bed, &[4])), missing(rule));
    let by_pair = in_use("1 entry of table RouterIngress.pairs");
    assert_eq!(bed.refused(Type::Delete, neighbor(&bed, 3, 3)), by_pair);
    assert_eq!(bed.apply(Type::Delete, pair(&bed, &[])), Ok(()));
    assert_eq!(bed.apply(Type::Delete, neighbor(&bed, 3, 3)), Ok(()));
}

#[test]
fn an_updates_own_faults_come_before_its_references() {
    let mut bed = bed();
    let code = |bed: &mut Testbed, kind, entry: &TableEntry| bed.refused(kind, entry.clone()).0;
    let (absent, other) = (route(&bed, 1, "to_neighbor", &[3, 7]), route(&bed, 1, "to_neighbor", &[3, 8]));
    assert_eq!(code(&mut bed, Type::Modify, &absent), Code::NotFound);
    assert_eq!(code(&mut bed, Type::Delete, &absent), Code::NotFound);
    let wide = TableEntry { r#match: vec![exact(1, 1 << 100)], ..absent.clone() };
    assert_eq!(code(&mut bed, Type::Insert, &wide), Code::OutOfRange);
    let long = TableEntry { metadata: vec![0; 5000], ..absent.clone() };
    assert_eq!(code(&mut bed, Type::Insert, &long), Code::InvalidArgument);
    assert_eq!(code(&mut bed, Type::Insert, &absent), Code::FailedPrecondition);
    // The refused inserts have left nothing behind.
    assert_eq!(code(&mut bed, Type::Delete, &absent), Code::NotFound);

    assert_eq!(bed.apply(Type::Insert, interface(&bed, 3)), Ok(()));
    assert_eq!(bed.apply(Type::Insert, neighbor(&bed, 3, 7)), Ok(()));
    let written = TableEntry { metadata: vec![9], ..absent.clone() };
    assert_eq!(bed.apply(Type::Insert, written.clone()), Ok(()));
    assert_eq!(code(&mut bed, Type::Insert, &other), Code::AlreadyExists);
    assert_eq!(code(&mut bed, Type::Modify, &other), Code::FailedPrecondition);
    let now = bed.read(TableEntry { action: None, metadata: Vec::new(), ..absent.clone() });
    assert_eq!(now, Ok(vec![written.into()]));
    // An update without a type counts for nothing.
    assert_eq!(code(&mut bed, Type::Unspecified, &other), Code::InvalidArgument);
    assert_eq!(bed.refused(Type::Delete, neighbor(&bed, 3, 7)), in_use(ROUTE));

    // Group 0 is none, whatever other groups are referred to.
    assert_eq!(bed.apply(Type::Insert, group(5, &[])), Ok(()));
    assert_eq!(bed.apply(Type::Insert, route(&bed, 2, "to_group", &[5])), Ok(()));
    let (code, _) = bed.refused(Type::Delete, group(0, &[]));
    assert_eq!(code, Code::InvalidArgument);
}
