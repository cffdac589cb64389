use super::*;

fn scope(config: P4RoleConfig) -> Result<Scope, String> {
    let type_url = format!("type.googleapis.com/{CONFIG}");
    let config = prost_types::Any { type_url, value: config.encode_to_vec() };
    Scope::of(Some(&config)).map_err(|status| status.message)
}

#[test]
fn an_exclusive_id_is_no_other_roles_neither_exclusive_nor_shared() {
    let of = |exclusive: &[u32], shared: &[u32]| {
        let (exclusive_p4_ids, shared_p4_ids) = (exclusive.to_vec(), shared.to_vec());
        scope(P4RoleConfig { exclusive_p4_ids, shared_p4_ids, ..P4RoleConfig::default() }).expect("right")
    };
    for (one, other, conflict) in [
        (of(&[1, 2], &[]), of(&[3, 2], &[]), Some(2)),
        (of(&[1], &[]), of(&[], &[1]), Some(1)),
        (of(&[], &[1]), of(&[1], &[]), Some(1)),
        (of(&[2], &[1, 4]), of(&[3], &[1, 4]), None),
        (of(&[2], &[1]), Scope::default(), None),
    ] {
        assert_eq!(one.conflict(&other), conflict);
    }
}

#[test]
fn a_filter_that_lets_nothing_pass_is_refused() {
    let with = |receives_packet_ins, metadata_id, value: &[u8]| {
        let packet_in_filter = Some(PacketFilter { metadata_id, value: value.to_vec() });
        scope(P4RoleConfig { receives_packet_ins, packet_in_filter, ..P4RoleConfig::default() })
    };
    assert!(with(true, 1, &[0]).is_ok());
    let refused = |what| Err(format!("role.config: packet_in_filter: {what}"));
    assert_eq!(with(false, 1, &[1]), refused("receives_packet_ins is not set"));
    assert_eq!(with(true, 0, &[1]), refused("metadata_id or value is missing"));
    assert_eq!(with(true, 1, &[]), refused("metadata_id or value is missing"));
}
