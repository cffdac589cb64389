//! Whole calls: the clients that may make them, and the reports of errors.

use groupflow_switch::p4rt::{ClientId, Code, Reaction};
use groupflow_switch::proto::p4::v1::{
    stream_error, stream_message_request, stream_message_response, update::Type, Entity, PacketMetadata,
    PacketOut, ReadRequest, StreamMessageRequest, TableEntry, Uint128, WriteRequest,
};

use crate::common::{exact, group, replica, update, Testbed, DEVICE, ELECTION};

#[test]
fn checks_come_in_order() {
    let mut bed = Testbed::without_program(&[]);
    let good = bed.write_request(vec![update(Type::Insert, group(1, &[replica(1, 1)]))]);
    let backup = Some(Uint128 { high: 0, low: 9 });
    let cases = [
        (
            WriteRequest { device_id: 8, election_id: None, ..good.clone() },
            Code::NotFound,
            "no device 8 here, only device 7",
        ),
        (
            WriteRequest { role: "x".into(), election_id: None, ..good.clone() },
            Code::NotFound,
            "role \"x\": no client has this role",
        ),
        (
            WriteRequest { election_id: backup, ..good.clone() },
            Code::PermissionDenied,
            "not primary: election id 9, the primary's is 10",
        ),
        (
            WriteRequest { election_id: None, ..good.clone() },
            Code::PermissionDenied,
            "not primary: election id none, the primary's is 10",
        ),
        (good.clone(), Code::FailedPrecondition, "no forwarding pipeline configuration is set yet"),
    ];
    for (request, code, message) in cases {
        let status = bed.write(&request).expect_err(message);
        assert_eq!((status.code, status.message.as_str()), (code, message));
        assert!(status.details().is_empty(), "nothing was attempted");
    }
}

#[test]
fn a_batch_goes_on_after_an_error() {
    let mut bed = Testbed::new(&[]);
    let insert = |id| update(Type::Insert, group(id, &[replica(1, 1)]));
    let request = bed.write_request(vec![insert(1), insert(0), insert(1), insert(2)]);
    let status = bed.write(&request).expect_err("two fail");
    assert_eq!(status.code, Code::Unknown);
    assert_eq!(
        status.message,
        "2 of 4 updates failed, first update 2: multicast group 0: multicast_group_id: it is not \
            between 1 and 65535"
    );
    let codes: Vec<i32> = status.errors.iter().map(|error| error.canonical_code).collect();
    assert_eq!(codes, [0, Code::InvalidArgument as i32, Code::AlreadyExists as i32, 0]);
    assert_eq!(status.errors[2].message, "multicast group 1: it exists already");
    assert_eq!(bed.read(group(0, &[])).unwrap().len(), 2);
}

#[test]
fn reads_need_no_stream_and_report_each_request() {
    let mut bed = Testbed::new(&[]);
    bed.runtime.stream_closed(ClientId(1));
    let entities = vec![
        Entity { entity: Some(group(0, &[]).into()) },
        Entity { entity: None },
        Entity { entity: Some(TableEntry { table_id: 5, ..TableEntry::default() }.into()) },
    ];
    let request = ReadRequest { device_id: DEVICE, entities, ..ReadRequest::default() };
    let (found, outcome) = bed.read_all(&request);
    assert!(found.is_empty());
    let status = outcome.expect_err("two fail");
    assert_eq!(status.message, "2 of 3 requests failed, first request 2: entity: it is missing");
    assert_eq!(status.errors[2].message, "table_id: the program has no table 5");
    let elsewhere = ReadRequest { device_id: 9, ..request };
    let (_, outcome) = bed.read_all(&elsewhere);
    assert_eq!(outcome.expect_err("no such device").code, Code::NotFound);
}

#[test]
fn reads_need_a_configuration() {
    let bed = Testbed::without_program(&[]);
    let request = ReadRequest { device_id: DEVICE, ..ReadRequest::default() };
    let (_, outcome) = bed.read_all(&request);
    assert_eq!(outcome.expect_err("none").code, Code::FailedPrecondition);
}

#[test]
fn what_the_program_lacks_is_refused() {
    use groupflow_switch::proto::p4::v1::{
        ActionProfileGroup, ActionProfileMember, ExternEntry, ValueSetEntry,
    };
    let mut bed = Testbed::new(&[]);
    let cases = [
        (
            bed.refused(Type::Insert, ActionProfileMember::default()),
            "action_profile_id: the program has no profile 0",
        ),
        (
            bed.refused(Type::Insert, ActionProfileGroup::default()),
            "action_profile_id: the program has no profile 0",
        ),
        (bed.refused(Type::Modify, ValueSetEntry::default()), "value_set_id: the program has no value set 0"),
    ];
    for (refusal, message) in cases {
        assert_eq!(refusal, (Code::InvalidArgument, message.into()));
    }
    // Clients that ask for everything get what there is: nothing.
    assert_eq!(bed.read(ActionProfileMember::default()).unwrap(), []);
    assert_eq!(bed.read(ActionProfileGroup::default()).unwrap(), []);
    assert_eq!(bed.read(ExternEntry::default()).unwrap(), []);
    assert_eq!(bed.read(ValueSetEntry::default()).unwrap(), []);
    let one = ValueSetEntry { value_set_id: 1, ..ValueSetEntry::default() };
    assert_eq!(bed.read(one).unwrap_err().code, Code::InvalidArgument);
    let (code, message) = bed.refused(Type::Unspecified, group(1, &[]));
    assert_eq!((code, message.as_str()), (Code::InvalidArgument, "type: 0 is not INSERT, MODIFY or DELETE"));
}

fn packet_out(egress_port: &[u8], with_padding: bool) -> StreamMessageRequest {
    let field = |metadata_id, value: &[u8]| PacketMetadata { metadata_id, value: value.to_vec() };
    let padding = with_padding.then(|| field(2, b"\x00"));
    let metadata = [field(1, egress_port)].into_iter().chain(padding).collect();
    let packet = PacketOut { payload: b"payload".to_vec(), metadata };
    StreamMessageRequest { update: Some(stream_message_request::Update::Packet(packet)) }
}

/// Code and message of the error that a message on a stream is answered with.
fn stream_error(reaction: Reaction) -> (i32, String, Option<stream_error::Details>) {
    match reaction {
        Reaction::Send(mut notices) => match notices.remove(0).1.update {
            Some(stream_message_response::Update::Error(error)) => {
                (error.canonical_code, error.message, error.details)
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_the_primary_sends_packets() {
    let mut bed = Testbed::new(&[]);
    let sent = bed.runtime.stream_message(ClientId(1), packet_out(b"\x02", true)).unwrap();
    assert_eq!(sent, Reaction::PacketOut(b"\x01\x00payload".to_vec()));
    let reaction = bed.runtime.stream_message(ClientId(2), packet_out(b"\x02", true)).unwrap();
    let (code, message, details) = stream_error(reaction);
    assert_eq!((code, message.as_str()), (Code::PermissionDenied as i32, "only the primary may do this"));
    assert!(matches!(details, Some(stream_error::Details::PacketOut(_))));
    let reaction = bed.runtime.stream_message(ClientId(1), packet_out(b"\x02", false)).unwrap();
    let (code, message, _) = stream_error(reaction);
    assert_eq!((code, message.as_str()), (Code::InvalidArgument as i32, "metadata padding: it is missing"));
    let empty = StreamMessageRequest { update: None };
    let reaction = bed.runtime.stream_message(ClientId(1), empty).unwrap();
    assert_eq!(stream_error(reaction).1, "update: it is missing");
}

#[test]
fn packets_go_to_the_primary_with_the_programs_metadata() {
    let mut bed = Testbed::new(&[]);
    let (stream, message) = bed.runtime.packet_in(&[0x01, 0x85, 0xaa]).remove(0);
    assert_eq!(stream, ClientId(1));
    match message.update {
        Some(stream_message_response::Update::Packet(packet)) => {
            let values: Vec<(u32, Vec<u8>)> =
                packet.metadata.into_iter().map(|field| (field.metadata_id, field.value)).collect();
            assert_eq!(values, [(1, vec![3]), (2, vec![5])]);
            assert_eq!(packet.payload, [0xaa]);
        }
        other => panic!("{other:?}"),
    }
    bed.runtime.stream_closed(ClientId(1));
    assert!(bed.runtime.packet_in(&[0x01, 0x85, 0xaa]).is_empty(), "nobody is primary");
}

#[test]
fn capabilities() {
    let bed = Testbed::new(&[]);
    assert_eq!(bed.runtime.capabilities(0), Ok("1.5.0"));
    assert_eq!(bed.runtime.capabilities(DEVICE), Ok("1.5.0"));
    assert_eq!(bed.runtime.capabilities(8).expect_err("unknown").code, Code::NotFound);
}

#[test]
fn a_primary_that_left_cannot_write() {
    let mut bed = Testbed::new(&[]);
    bed.runtime.stream_closed(ClientId(1));
    let request = WriteRequest { election_id: Some(ELECTION), ..bed.write_request(vec![]) };
    let status = bed.write(&request).expect_err("no primary");
    assert_eq!(status.code, Code::PermissionDenied);
    assert_eq!(status.message, "not primary: election id 10, at least 10 is needed");
}

#[test]
fn a_thousand_updates_are_one_batch() {
    let mut bed = Testbed::new(&[]);
    let updates = (1..=1000).map(|id| update(Type::Insert, group(id, &[replica(1, id)]))).collect();
    let request = bed.write_request(updates);
    assert_eq!(bed.write(&request), Ok(()));
    let entry = bed.entry("TestIngress.destinations", &[exact(1, 1)], "forward", &[1, 0]);
    let request = bed.write_request(vec![update(Type::Insert, entry)]);
    assert_eq!(bed.write(&request), Ok(()));
}
