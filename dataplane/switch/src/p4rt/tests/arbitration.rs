use super::*;

const DEVICE: u64 = 3;

fn update(id: Option<u128>) -> MasterArbitrationUpdate {
    MasterArbitrationUpdate { device_id: DEVICE, election_id: id.map(uint128), ..Default::default() }
}

/// Stream, code and election id of each notice.
fn told(notices: Vec<ClientMessage>) -> Vec<(u64, i32, Option<u128>)> {
    notices
        .into_iter()
        .map(|(stream, response)| match response.update {
            Some(Update::Arbitration(update)) => {
                (stream.0, update.status.map_or(-1, |s| s.code), update.election_id.as_ref().map(number))
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

fn ok(arbitration: &mut Arbitration, stream: u64, id: Option<u128>) -> Vec<(u64, i32, Option<u128>)> {
    told(arbitration.update(ClientId(stream), &update(id)).expect("accepted"))
}

#[test]
fn the_highest_id_ever_seen_is_primary() {
    let mut arbitration = Arbitration::new(DEVICE);
    assert_eq!(ok(&mut arbitration, 1, Some(10)), [(1, 0, Some(10))]);
    assert_eq!(ok(&mut arbitration, 2, Some(5)), [(2, 6, Some(10))]);
    assert_eq!(ok(&mut arbitration, 3, Some(11)), [(1, 6, Some(11)), (2, 6, Some(11)), (3, 0, Some(11))]);
    assert!(arbitration.check("", Some(&uint128(11))).is_ok());
    assert!(arbitration.check("", Some(&uint128(10))).is_err());
    assert!(arbitration.check("", None).is_err());
}

#[test]
fn nobody_is_promoted_when_the_primary_leaves() {
    let mut arbitration = Arbitration::new(DEVICE);
    ok(&mut arbitration, 1, Some(10));
    ok(&mut arbitration, 2, Some(9));
    assert_eq!(told(arbitration.closed(ClientId(1))), [(2, 5, Some(10))]);
    assert_eq!(arbitration.primary(), None);
    assert!(arbitration.check("", Some(&uint128(10))).is_err(), "its stream is gone");
    let refusal = arbitration.check("", Some(&uint128(9))).expect_err("backup");
    assert_eq!(refusal.message, "not primary: election id 9, at least 10 is needed");
    // An id at least as high takes over; a lower one does not.
    assert_eq!(ok(&mut arbitration, 3, Some(8)), [(3, 5, Some(10))]);
    assert_eq!(ok(&mut arbitration, 4, Some(10)), [(2, 6, Some(10)), (3, 6, Some(10)), (4, 0, Some(10))]);
}

#[test]
fn a_primary_can_downgrade_itself_and_a_backup_can_rise() {
    let mut arbitration = Arbitration::new(DEVICE);
    ok(&mut arbitration, 1, Some(10));
    ok(&mut arbitration, 2, Some(9));
    assert_eq!(ok(&mut arbitration, 1, Some(3)), [(1, 5, Some(10)), (2, 5, Some(10))]);
    assert_eq!(ok(&mut arbitration, 2, Some(12)), [(1, 6, Some(12)), (2, 0, Some(12))]);
}

#[test]
fn zero_is_an_id_and_unset_never_wins() {
    let mut arbitration = Arbitration::new(DEVICE);
    assert_eq!(ok(&mut arbitration, 1, None), [(1, 5, None)]);
    assert_eq!(ok(&mut arbitration, 2, None), [(2, 5, None)], "unset ids may be shared");
    assert_eq!(ok(&mut arbitration, 3, Some(0)), [(1, 6, Some(0)), (2, 6, Some(0)), (3, 0, Some(0))]);
    assert!(arbitration.check("", Some(&Uint128 { high: 0, low: 0 })).is_ok());
}

#[test]
fn the_primary_may_repeat_its_update() {
    let mut arbitration = Arbitration::new(DEVICE);
    ok(&mut arbitration, 1, Some(7));
    assert_eq!(ok(&mut arbitration, 1, Some(7)), [(1, 0, Some(7))]);
}

fn with_role(name: &str, id: u128, config: Option<prost_types::Any>) -> MasterArbitrationUpdate {
    let role = Role { name: name.into(), config, ..Role::default() };
    MasterArbitrationUpdate { role: Some(role), ..update(Some(id)) }
}

/// `stratum.P4RoleConfig` with these exclusive ids.
fn exclusive(ids: &[u8]) -> Option<prost_types::Any> {
    let value = ids.iter().flat_map(|id| [8, *id]).collect();
    Some(prost_types::Any { type_url: "type.googleapis.com/stratum.P4RoleConfig".into(), value })
}

#[test]
fn bad_updates_end_the_stream() {
    let other_device = MasterArbitrationUpdate { device_id: 9, ..update(Some(50)) };
    #[allow(deprecated)]
    let numbered = Some(Role { id: 4, ..Role::default() });
    let numbered = MasterArbitrationUpdate { role: numbered, ..update(Some(50)) };
    let unknown = Some(prost_types::Any { type_url: "x/y.Config".into(), value: Vec::new() });
    let cases = [
        (2, other_device.clone(), Code::NotFound, "no device 9 here, only device 3"),
        (1, other_device, Code::FailedPrecondition, "no device 9 here, only device 3"),
        (
            1,
            with_role("routing", 50, None),
            Code::FailedPrecondition,
            "role \"routing\": this stream has role \"\", open another",
        ),
        (2, numbered, Code::NotFound, "role.id: numbers are deprecated, give the role a name"),
        (
            2,
            with_role("", 50, exclusive(&[])),
            Code::InvalidArgument,
            "role.config: the default role has none",
        ),
        (
            2,
            with_role("routing", 50, unknown),
            Code::InvalidArgument,
            "role.config: \"x/y.Config\" is not stratum.P4RoleConfig",
        ),
        (2, update(Some(10)), Code::InvalidArgument, "election id 10 is already used by another client"),
    ];
    let mut arbitration = Arbitration::new(DEVICE);
    ok(&mut arbitration, 1, Some(10));
    for (stream, update, code, message) in cases {
        let status = arbitration.update(ClientId(stream), &update).expect_err(message);
        assert_eq!((status.code, status.message.as_str()), (code, message));
    }
}

#[test]
fn each_role_has_a_primary_and_a_configuration() {
    let mut arbitration = Arbitration::new(DEVICE);
    ok(&mut arbitration, 1, Some(10));
    let mut join = |stream, name, id, config| {
        arbitration.update(ClientId(stream), &with_role(name, id, config)).map(|notices| {
            let Some(Update::Arbitration(update)) = notices[0].1.update.clone() else { panic!() };
            assert_eq!(update.role.as_ref().map(|role| role.name.as_str()), Some(name));
            (told(notices), update.role.and_then(|role| role.config))
        })
    };
    let acl = exclusive(&[5, 6]);
    assert_eq!(join(2, "acl", 10, acl.clone()), Ok((vec![(2, 0, Some(10))], acl.clone())));
    let first = vec![(3, 6, Some(10))];
    assert_eq!(join(3, "acl", 4, None), Ok((first, acl)), "a backup gets the primary's configuration");
    let taken = join(4, "routing", 1, exclusive(&[7, 6])).expect_err("6 is not free");
    assert_eq!(taken.message, "role.config: exclusive id 6 is one of role \"acl\", too");
    assert_eq!(arbitration.primary(), Some(ClientId(1)));
    assert_eq!(arbitration.primaries().count(), 2);
    let scope = arbitration.check("acl", Some(&uint128(10))).expect("primary");
    assert!(scope.has(Some(6)) && !scope.has(Some(7)) && !scope.sets_pipeline());
    assert_eq!(arbitration.scope("routing").expect_err("unknown").code, Code::NotFound);
    assert_eq!(told(arbitration.closed(ClientId(2))), [(3, 5, Some(10))]);
}

#[test]
fn the_number_of_clients_is_bounded() {
    let mut arbitration = Arbitration::new(DEVICE);
    (0..CLIENT_LIMIT as u64).for_each(|n| drop(ok(&mut arbitration, n, None)));
    let status = arbitration.update(ClientId(1000), &update(None)).expect_err("full");
    assert_eq!(status.code, Code::ResourceExhausted);
    arbitration.closed(ClientId(0));
    ok(&mut arbitration, 1000, None);
    assert_eq!(arbitration.gone(), None);
}

#[test]
fn the_lowest_election_id_gives_way_to_a_higher_one() {
    let mut arbitration = Arbitration::new(DEVICE);
    ok(&mut arbitration, 0, Some(1000));
    (1..CLIENT_LIMIT as u64).for_each(|n| drop(ok(&mut arbitration, n, (n > 1).then_some(n.into()))));
    for (newcomer, id, gone) in [(100, 500, 1), (101, 501, 2), (102, 2000, 3)] {
        ok(&mut arbitration, newcomer, Some(id));
        assert_eq!(arbitration.gone(), Some(ClientId(gone)));
    }
    let status = arbitration.update(ClientId(103), &update(Some(3))).expect_err("4 is the lowest");
    assert_eq!((status.code, arbitration.gone()), (Code::ResourceExhausted, None));
    assert_eq!(arbitration.primary(), Some(ClientId(102)));
    ok(&mut arbitration, 4, Some(1));
    assert_eq!(arbitration.gone(), None, "known clients have their places");
}

#[test]
fn when_a_primary_is_deposed_the_next_id_wins_whatever_it_is() {
    let mut arbitration = Arbitration::new(DEVICE);
    ok(&mut arbitration, 1, Some(10));
    ok(&mut arbitration, 2, Some(u128::MAX));
    for (stream, id) in [(3, 7), (4, u128::MAX)] {
        assert!(arbitration.update(ClientId(stream), &with_role("acl", id, None)).is_ok());
    }
    let (gone, notices) = arbitration.depose();
    assert_eq!((gone, told(notices)), (vec![ClientId(2), ClientId(4)], vec![(1, 5, None), (3, 5, None)]));
    assert_eq!((arbitration.primaries().count(), arbitration.depose().0), (0, vec![]));
    assert_eq!(ok(&mut arbitration, 5, Some(9)), [(1, 6, Some(9)), (5, 0, Some(9))]);
    assert_eq!(ok(&mut arbitration, 1, Some(10)), [(5, 6, Some(10)), (1, 0, Some(10))]);
    let lower = arbitration.update(ClientId(3), &with_role("acl", 1, None)).map(told);
    assert_eq!(lower, Ok(vec![(3, 0, Some(1))]));
}

#[test]
fn a_backup_gives_way_before_the_primary_of_another_role() {
    let mut arbitration = Arbitration::new(DEVICE);
    assert!(arbitration.update(ClientId(100), &with_role("acl", 1, None)).is_ok());
    (1..CLIENT_LIMIT as u64).for_each(|n| drop(ok(&mut arbitration, n, Some(u128::from(n) + 1))));
    assert!(arbitration.update(ClientId(101), &with_role("routing", 9, None)).is_ok());
    assert_eq!(arbitration.gone(), Some(ClientId(1)));
    assert!(arbitration.check("acl", Some(&uint128(1))).is_ok());
}

#[test]
fn a_role_without_clients_frees_its_ids_and_its_place_but_remembers_the_highest() {
    let mut arbitration = Arbitration::new(DEVICE);
    let join = |arbitration: &mut Arbitration, stream, name: &str, id, config| {
        arbitration.update(ClientId(stream), &with_role(name, id, config)).map(told)
    };
    assert!(join(&mut arbitration, 1, "acl", 10, exclusive(&[6])).is_ok());
    assert!(join(&mut arbitration, 2, "routing", 1, exclusive(&[6])).is_err());
    arbitration.closed(ClientId(1));
    assert_eq!(arbitration.scope("acl").expect_err("no client").code, Code::NotFound);
    assert!(join(&mut arbitration, 2, "routing", 1, exclusive(&[6])).is_ok());
    assert_eq!(join(&mut arbitration, 3, "acl", 9, None), Ok(vec![(3, 5, Some(10))]), "10 is remembered");
    arbitration.closed(ClientId(3));
    // More roles than there may be: the one without clients is forgotten.
    for n in 4..ROLE_LIMIT as u64 + 3 {
        assert!(join(&mut arbitration, n, &n.to_string(), 20, None).is_ok());
    }
    assert_eq!(arbitration.roles.len(), 1 + ROLE_LIMIT, "with the default role");
    assert_eq!(arbitration.scope("routing").map(|scope| scope.has(Some(7))), Ok(false));
    arbitration.closed(ClientId(4));
    assert_eq!(join(&mut arbitration, 3, "acl", 9, None), Ok(vec![(3, 0, Some(9))]));
}

#[test]
fn names_and_configurations_are_bounded() {
    let mut arbitration = Arbitration::new(DEVICE);
    let longest = "n".repeat(NAME_LIMIT);
    let longer = "n".repeat(1 << 20);
    let mut join = |stream, name: &str, config| {
        arbitration.update(ClientId(stream), &with_role(name, 1, config)).map_err(|status| status.message)
    };
    assert!(join(1, &longest, None).is_ok());
    let refused = Err("role: its name has 1048576 bytes, more than 256".to_owned());
    assert_eq!(join(2, &longer, None), refused);
    let large = Err("role.config: it has more than 65536 bytes".to_owned());
    assert_eq!(join(3, "acl", exclusive(&[5; 1 << 15])), large, "65,536 bytes and the type's name");
    assert!(join(3, "acl", exclusive(&[5; 32_700])).is_ok());
    for stream in [1, 2] {
        assert_eq!(arbitration.closed(ClientId(stream)).len(), 0);
    }
    assert_eq!(arbitration.scope(&longer).expect_err("too long").code, Code::InvalidArgument);
}
