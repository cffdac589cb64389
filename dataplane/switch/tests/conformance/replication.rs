//! Multicast groups and clone sessions.

use groupflow_switch::p4rt::Code;
use groupflow_switch::proto::p4::v1::{
    entity::Entity as Kinds, packet_replication_engine_entry, replica::PortKind, update::Type, BackupReplica,
    PacketReplicationEngineEntry, Replica,
};

use crate::common::{frame, group, replica, session, Testbed};

#[test]
fn groups_come_change_and_go() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "multicast", &[5]);
    let first = group(5, &[replica(2, 1)]);
    let second = group(5, &[replica(3, 1), replica(4, 1)]);
    assert_eq!(
        bed.refused(Type::Modify, first.clone()),
        (Code::NotFound, "multicast group 5: it does not exist".into())
    );
    assert_eq!(bed.apply(Type::Insert, first.clone()), Ok(()));
    assert_eq!(bed.refused(Type::Insert, second.clone()).0, Code::AlreadyExists);
    assert_eq!(bed.read(group(5, &[])).unwrap(), [Kinds::from(first)]);
    assert_eq!(bed.apply(Type::Modify, second.clone()), Ok(()));
    bed.inject(0, 1, &frame(1, 0x0800, 60));
    assert_eq!(bed.left(0), [(0, 3), (0, 4)]);
    assert_eq!(bed.read(group(0, &[])).unwrap(), [Kinds::from(second)], "0 is all");
    assert_eq!(bed.read(group(6, &[])).unwrap(), []);
    assert_eq!(bed.apply(Type::Delete, group(5, &[])), Ok(()));
    assert_eq!(bed.read(group(0, &[])).unwrap(), []);
    bed.inject(1, 1, &frame(1, 0x0800, 60));
    assert_eq!(bed.left(1), []);
}

fn with_backups(replica: Replica, ports: &[u16]) -> Replica {
    let backup = |port: &u16| BackupReplica { port: port.to_be_bytes().to_vec(), instance: 9 };
    Replica { backup_replicas: ports.iter().map(backup).collect(), ..replica }
}

#[test]
fn a_backup_replica_is_used_while_the_ports_before_it_are_down() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "multicast", &[5]);
    let entry = group(5, &[with_backups(replica(2, 1), &[3, 4])]);
    bed.apply(Type::Insert, entry.clone()).unwrap();
    let mut time = 0;
    let mut by = |bed: &mut Testbed, links: &[&str]| {
        time += 1;
        for link in links {
            let (port, change) = groupflow_switch::core::parse_port_link(link).unwrap();
            bed.switch.change_link(port, &change).unwrap();
        }
        bed.inject(time, 1, &frame(1, 0x0800, 60));
        bed.left(time).into_iter().map(|(_, port)| port).collect::<Vec<_>>()
    };
    assert_eq!(by(&mut bed, &[]), [2]);
    assert_eq!(by(&mut bed, &["2:down"]), [3]);
    assert_eq!(by(&mut bed, &["3:down"]), [4]);
    assert_eq!(by(&mut bed, &["2:up"]), [2], "the preferred one again");
    assert_eq!(
        by(&mut bed, &["2:down", "4:down"]),
        [0u16; 0],
        "it goes to the preferred port, which is down"
    );
    assert_eq!(by(&mut bed, &["4:up"]), [4]);
    assert_ne!(bed.read(group(5, &[])).unwrap(), []);
    bed.apply(Type::Modify, group(5, &[replica(3, 1)])).unwrap();
    assert_eq!(by(&mut bed, &["2:up", "3:up"]), [3], "no backups any more");
    let session = crate::common::session(1, &[with_backups(replica(1, 1), &[2])], 0, 0);
    assert_eq!(bed.refused(Type::Insert, session).0, Code::Unimplemented);
}

#[test]
fn bad_groups_are_refused() {
    let mut bed = Testbed::new(&[]);
    let no_port = Replica { port_kind: None, ..replica(1, 1) };
    let empty_port = Replica { port_kind: Some(PortKind::Port(vec![])), ..replica(1, 1) };
    let backup = |port| with_backups(replica(1, 1), &[port]);
    let cases = [
        (
            group(0, &[]),
            Code::InvalidArgument,
            "multicast group 0: multicast_group_id: it is not between 1 and 65535",
        ),
        (
            group(65_536, &[]),
            Code::InvalidArgument,
            "multicast group 65536: multicast_group_id: it is not between 1 and 65535",
        ),
        (
            group(1, &[replica(1, 7), replica(1, 7)]),
            Code::InvalidArgument,
            "multicast group 1: port 1 with instance 7 is there twice",
        ),
        (
            group(1, &[replica(512, 1)]),
            Code::InvalidArgument,
            "multicast group 1: replica 1: port: 512 is above 511",
        ),
        (
            group(1, &[replica(1, 65_536)]),
            Code::InvalidArgument,
            "multicast group 1: replica 1: instance: it is above 65535",
        ),
        (
            group(1, &[replica(1, 1), no_port]),
            Code::InvalidArgument,
            "multicast group 1: replica 2: port: it is missing",
        ),
        (group(1, &[empty_port]), Code::OutOfRange, "multicast group 1: replica 1: port: empty byte string"),
        (
            group(1, &[backup(512)]),
            Code::InvalidArgument,
            "multicast group 1: replica 1: port: 512 is above 511",
        ),
        (
            group(1, &[backup(1)]),
            Code::InvalidArgument,
            "multicast group 1: replica 1: backup_replicas: port 1 is there twice",
        ),
        (
            group(1, &[with_backups(replica(1, 1), &[3]), replica(3, 9)]),
            Code::InvalidArgument,
            "multicast group 1: port 3 with instance 9 is there twice",
        ),
        (
            group(1, &[with_backups(replica(1, 1), &[3]), with_backups(replica(2, 1), &[3])]),
            Code::InvalidArgument,
            "multicast group 1: port 3 with instance 9 is there twice",
        ),
    ];
    for (group, code, message) in cases {
        assert_eq!(bed.refused(Type::Insert, group), (code, message.into()));
    }
    let many: Vec<u16> = (2..=17).collect();
    let sixteen = group(1, &[with_backups(replica(1, 1), &many)]);
    assert_eq!(bed.refused(Type::Insert, sixteen).0, Code::ResourceExhausted);
    bed.apply(Type::Insert, group(1, &[with_backups(replica(1, 1), &many[1..])])).unwrap();
    bed.apply(Type::Delete, group(1, &[])).unwrap();
    let neither = PacketReplicationEngineEntry { r#type: None };
    assert_eq!(bed.refused(Type::Insert, neither.clone()).0, Code::InvalidArgument);
    assert_eq!(bed.read(neither).unwrap_err().code, Code::InvalidArgument);
    assert_eq!(bed.read(group(0, &[])).unwrap(), [], "nothing of that is there");
}

#[test]
fn the_deprecated_port_is_taken_and_read_back_as_written() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "multicast", &[5]);
    #[allow(deprecated)]
    let old = Replica { port_kind: Some(PortKind::EgressPort(2)), instance: 1, ..Replica::default() };
    let padded =
        Replica { port_kind: Some(PortKind::Port(vec![0, 0, 3])), instance: 1, ..Replica::default() };
    let short = |backup: &[u8]| BackupReplica { port: backup.to_vec(), instance: 9 };
    let padded = Replica { backup_replicas: vec![short(&[0, 4])], ..padded };
    let read = Replica { backup_replicas: vec![short(&[4])], ..replica(3, 1) };
    bed.apply(Type::Insert, group(5, &[old.clone(), padded])).unwrap();
    assert_eq!(bed.read(group(5, &[])).unwrap(), [Kinds::from(group(5, &[old.clone(), read]))]);
    bed.inject(0, 1, &frame(1, 0x0800, 60));
    assert_eq!(bed.left(0), [(0, 2), (0, 3)]);
    // The two forms of a port are the same port.
    let twice = bed.refused(Type::Modify, group(5, &[old, replica(2, 1)]));
    assert_eq!(twice.1, "multicast group 5: port 2 with instance 1 is there twice");
}

#[test]
fn a_groups_metadata_is_kept() {
    let mut bed = Testbed::new(&[]);
    let with = |metadata: &[u8]| {
        let mut entry = group(5, &[replica(1, 1)]);
        if let Some(packet_replication_engine_entry::Type::MulticastGroupEntry(group)) = &mut entry.r#type {
            group.metadata = metadata.to_vec();
        }
        entry
    };
    assert_eq!(bed.refused(Type::Insert, with(&[1; 4097])).0, Code::InvalidArgument);
    let entry = with(&[1; 4096]);
    bed.apply(Type::Insert, entry.clone()).unwrap();
    assert_eq!(bed.read(group(5, &[])).unwrap(), [Kinds::from(entry)]);
}

#[test]
fn sessions_come_change_and_go() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "clone_and_forward", &[8, 2]);
    let first = session(8, &[replica(3, 1)], 0, 0);
    let second = session(8, &[replica(4, 1)], 1, 30);
    assert_eq!(bed.apply(Type::Insert, first.clone()), Ok(()));
    assert_eq!(
        bed.refused(Type::Insert, first.clone()),
        (Code::AlreadyExists, "clone session 8: it exists already".into())
    );
    assert_eq!(bed.read(session(8, &[], 0, 0)).unwrap(), [Kinds::from(first)]);
    assert_eq!(bed.apply(Type::Modify, second.clone()), Ok(()));
    assert_eq!(bed.read(session(0, &[], 0, 0)).unwrap(), [Kinds::from(second)]);
    bed.inject(0, 1, &frame(1, 0x0800, 60));
    let mut lengths: Vec<(u16, usize)> = bed.advance(0).iter().map(|o| (o.port.0, o.bytes.len())).collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [(2, 60), (4, 30)]);
    assert_eq!(bed.apply(Type::Delete, session(8, &[], 0, 0)), Ok(()));
    assert_eq!(bed.refused(Type::Delete, session(8, &[], 0, 0)).0, Code::NotFound);
    assert_eq!(bed.read(session(0, &[], 0, 0)).unwrap(), []);
}

#[test]
fn bad_sessions_are_refused() {
    let mut bed = Testbed::new(&[]);
    let cases = [
        (session(0, &[], 0, 0), "clone session 0: session_id: it is zero"),
        (session(1, &[], 2, 0), "clone session 1: class_of_service: 2 is above the highest priority, 1"),
        (session(1, &[], 0, -1), "clone session 1: packet_length_bytes: it is negative"),
        (
            session(1, &[replica(1, 1), replica(1, 1)], 0, 0),
            "clone session 1: port 1 with instance 1 is there twice",
        ),
    ];
    for (session, message) in cases {
        assert_eq!(bed.refused(Type::Insert, session), (Code::InvalidArgument, message.into()));
    }
    let backup = BackupReplica { port: vec![2], instance: 1 };
    let backed = session(1, &[Replica { backup_replicas: vec![backup], ..replica(1, 1) }], 0, 0);
    let message = "clone session 1: backup_replicas: only multicast groups have them";
    assert_eq!(bed.refused(Type::Insert, backed), (Code::Unimplemented, message.into()));
}
