//! Named roles: what they write, read and get.

use groupflow_switch::p4rt::{ClientId, Code, Reaction};
use groupflow_switch::proto::p4::v1::{
    stream_message_response, update::Type, Entity, MasterArbitrationUpdate, ReadRequest, Role,
    SetForwardingPipelineConfigRequest, TableEntry, WriteRequest,
};
use prost::Message;

use crate::common::{exact, group, replica, update, Testbed, DEVICE, ELECTION};

/// `stratum.P4RoleConfig`.
#[derive(Clone, PartialEq, Message)]
struct Config {
    #[prost(uint32, repeated, tag = "1")]
    exclusive_p4_ids: Vec<u32>,
    #[prost(message, optional, tag = "3")]
    packet_in_filter: Option<Filter>,
    #[prost(bool, tag = "4")]
    receives_packet_ins: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Filter {
    #[prost(uint32, tag = "1")]
    metadata_id: u32,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

fn role(name: &str, config: &Config) -> Role {
    let any = prost_types::Any {
        type_url: "type.googleapis.com/stratum.P4RoleConfig".into(),
        value: config.encode_to_vec(),
    };
    Role { name: name.into(), config: Some(any), ..Role::default() }
}

fn join(bed: &mut Testbed, stream: u64, role: Role) -> MasterArbitrationUpdate {
    let Ok(Reaction::Send(mut notices)) = bed.join(stream, role) else { panic!("refused") };
    match notices.remove(0).1.update {
        Some(stream_message_response::Update::Arbitration(update)) => update,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_role_writes_and_reads_what_its_configuration_has() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[2, 0]);
    let destinations = bed.entry("TestIngress.destinations", &[exact(1, 2)], "forward", &[1, 0]);
    let rule = TableEntry { priority: 1, ..bed.entry("TestIngress.rules", &[], "keep", &[]) };
    let acl = role("acl", &Config { exclusive_p4_ids: vec![rule.table_id], ..Config::default() });
    let notice = join(&mut bed, 2, acl.clone());
    assert_eq!((notice.role, notice.status.map(|status| status.code)), (Some(acl), Some(0)));
    let updates = vec![
        update(Type::Insert, rule.clone()),
        update(Type::Insert, destinations),
        update(Type::Insert, group(1, &[replica(1, 1)])),
    ];
    let as_acl = |request: WriteRequest| WriteRequest { role: "acl".into(), ..request };
    let request = as_acl(bed.write_request(updates));
    let status = bed.write(&request).expect_err("a table of others");
    let codes: Vec<i32> = status.errors.iter().map(|error| error.canonical_code).collect();
    assert_eq!(codes, [0, Code::PermissionDenied as i32, 0], "multicast groups are everybody's");
    let entities = vec![Entity { entity: Some(TableEntry::default().into()) }];
    let request = ReadRequest { device_id: DEVICE, role: "acl".into(), entities };
    let (found, outcome) = bed.read_all(&request);
    assert_eq!((found, outcome), (vec![Entity { entity: Some(rule.into()) }], Ok(())));
    let pipeline = SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        election_id: Some(ELECTION),
        role: "acl".into(),
        ..SetForwardingPipelineConfigRequest::default()
    };
    assert_eq!(
        bed.runtime.check_set_config(&pipeline).expect_err("not allowed").code,
        Code::PermissionDenied
    );
    let nobody = ReadRequest { role: "nobody".into(), ..request };
    assert_eq!(bed.read_all(&nobody).1.expect_err("unknown").code, Code::NotFound);
}

#[test]
fn packets_go_to_the_roles_that_want_them() {
    let mut bed = Testbed::new(&[]);
    let filter = Some(Filter { metadata_id: 1, value: vec![0, 3] });
    let from_three = Config { packet_in_filter: filter, receives_packet_ins: true, ..Config::default() };
    join(&mut bed, 2, role("three", &from_three));
    join(&mut bed, 3, role("deaf", &Config::default()));
    join(&mut bed, 4, Role { name: "all".into(), ..Role::default() });
    // The first nine bits of the header are the port.
    let streams = |bytes: &[u8]| -> Vec<ClientId> {
        bed.runtime.packet_in(bytes).into_iter().map(|(stream, _)| stream).collect()
    };
    assert_eq!(streams(&[0x01, 0x85, 0xaa]), [ClientId(1), ClientId(4), ClientId(2)]);
    assert_eq!(streams(&[0x02, 0x05, 0xaa]), [ClientId(1), ClientId(4)]);
}
