//! Digests: lists without duplicates, acknowledged or forgotten.

use groupflow_base::Nanos;
use groupflow_switch::p4rt::{ClientId, ClientMessage, Code, Reaction};
use groupflow_switch::proto::p4::v1::entity::Entity as Kinds;
use groupflow_switch::proto::p4::v1::p4_data::Data;
use groupflow_switch::proto::p4::v1::update::Type;
use groupflow_switch::proto::p4::v1::{
    stream_message_request, stream_message_response, DigestEntry, DigestList, DigestListAck,
    StreamMessageRequest,
};

use crate::common::{digest_entry, frame, Testbed};

fn list((stream, message): ClientMessage) -> DigestList {
    assert_eq!(stream, ClientId(1));
    match message.update {
        Some(stream_message_response::Update::Digest(list)) => list,
        other => panic!("{other:?}"),
    }
}

/// The members of each message of a list.
fn members(list: &DigestList) -> Vec<Vec<Vec<u8>>> {
    let bytes = |data: &groupflow_switch::proto::p4::v1::P4Data| match &data.data {
        Some(Data::Bitstring(bytes)) => bytes.clone(),
        other => panic!("{other:?}"),
    };
    let message = |data: &groupflow_switch::proto::p4::v1::P4Data| match &data.data {
        Some(Data::Struct(message)) => message.members.iter().map(bytes).collect(),
        other => panic!("{other:?}"),
    };
    list.data.iter().map(message).collect()
}

/// A frame from a station arrives, and is learned.
fn learn(bed: &mut Testbed, now: u64, station: u8, port: u16) -> Vec<DigestList> {
    let mut bytes = frame(1, 0x0800, 60);
    bytes[11] = station;
    bed.inject(now, port, &bytes);
    bed.advance(now);
    let digests = std::mem::take(&mut bed.emitted.digests);
    digests.into_iter().flat_map(|(time, digest)| bed.runtime.digest(time, digest)).map(list).collect()
}

fn testbed(max_list_size: i32, timeout: i64, ack_timeout: i64) -> Testbed {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "learn", &[2]);
    let entry = digest_entry(bed.digest(), max_list_size, timeout, ack_timeout);
    bed.apply(Type::Insert, entry).unwrap();
    bed
}

fn acknowledge(bed: &mut Testbed, list: &DigestList) {
    let ack = DigestListAck { digest_id: list.digest_id, list_id: list.list_id };
    let request = stream_message_request::Update::DigestAck(ack);
    let reaction = bed.runtime.stream_message(ClientId(1), StreamMessageRequest { update: Some(request) });
    assert_eq!(reaction, Ok(Reaction::Send(vec![])));
}

#[test]
fn a_list_is_sent_when_it_is_full() {
    let mut bed = testbed(2, 1_000_000, 1_000_000);
    assert_eq!(learn(&mut bed, 0, 1, 3), []);
    assert_eq!(learn(&mut bed, 1, 1, 3), [], "a duplicate does not count");
    let lists = learn(&mut bed, 2, 2, 4);
    assert_eq!(members(&lists[0]), [[vec![2, 0, 0, 0, 0, 1], vec![3]], [vec![2, 0, 0, 0, 0, 2], vec![4]]]);
    assert_eq!(lists[0].timestamp, 2);
}

#[test]
fn a_list_is_sent_when_its_time_has_come() {
    let mut bed = testbed(0, 500, 1_000_000);
    assert_eq!(bed.runtime.deadline(), None);
    assert_eq!(learn(&mut bed, 100, 1, 3), []);
    assert_eq!(bed.runtime.deadline(), Some(Nanos(600)));
    assert!(bed.runtime.due(&mut bed.switch, Nanos(599)).is_empty());
    let lists: Vec<DigestList> = bed.runtime.due(&mut bed.switch, Nanos(600)).into_iter().map(list).collect();
    assert_eq!(members(&lists[0]).len(), 1);
    assert_eq!(bed.runtime.deadline(), None);
}

#[test]
fn a_smaller_list_size_holds_for_messages_that_wait_already() {
    let mut bed = testbed(0, 1000, 1_000_000);
    (1..=5).for_each(|station| assert_eq!(learn(&mut bed, 0, station, 3), []));
    let smaller = digest_entry(bed.digest(), 2, 1000, 1_000_000);
    bed.apply(Type::Modify, smaller).unwrap();
    assert_eq!(bed.runtime.deadline(), Some(Nanos::ZERO), "two lists are full");
    let sizes = |lists: Vec<ClientMessage>| {
        lists.into_iter().map(|message| members(&list(message)).len()).collect::<Vec<_>>()
    };
    assert_eq!(sizes(bed.runtime.due(&mut bed.switch, Nanos(1))), [2, 2]);
    assert_eq!(bed.runtime.deadline(), Some(Nanos(1000)), "the fifth message waits for its time");
    assert_eq!(sizes(bed.runtime.due(&mut bed.switch, Nanos(1000))), [1]);
}

#[test]
fn a_message_that_comes_before_waiting_lists_are_sent_makes_none_longer() {
    let mut bed = testbed(0, 1000, 1_000_000);
    (1..=4).for_each(|station| assert_eq!(learn(&mut bed, 0, station, 3), []));
    let smaller = digest_entry(bed.digest(), 2, 1000, 1_000_000);
    bed.apply(Type::Modify, smaller).unwrap();
    let sent: Vec<usize> = learn(&mut bed, 1, 5, 3).iter().map(|list| members(list).len()).collect();
    assert_eq!(sent, [2]);
    assert_eq!(bed.runtime.due(&mut bed.switch, Nanos(1)).len(), 1);
}

#[test]
fn what_is_sent_is_not_sent_again_until_acknowledged_or_forgotten() {
    let mut bed = testbed(1, 0, 1000);
    let first = learn(&mut bed, 0, 1, 3).remove(0);
    assert_eq!(learn(&mut bed, 10, 1, 3), []);
    acknowledge(&mut bed, &first);
    let second = learn(&mut bed, 20, 1, 3).remove(0);
    assert!(second.list_id > first.list_id);
    assert_eq!(learn(&mut bed, 1019, 1, 3), []);
    assert_eq!(learn(&mut bed, 1020, 1, 3).len(), 1, "the acknowledgement's time is over");
}

#[test]
fn without_an_acknowledgement_timeout_nothing_is_remembered() {
    let mut bed = testbed(1, 0, 0);
    assert_eq!(learn(&mut bed, 0, 1, 3).len(), 1);
    assert_eq!(learn(&mut bed, 0, 1, 3).len(), 1);
}

#[test]
fn digests_are_enabled_changed_and_disabled() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "learn", &[2]);
    let id = bed.digest();
    assert_eq!(learn(&mut bed, 0, 1, 3), [], "not enabled yet");
    let entry = digest_entry(id, 1, 0, 0);
    assert_eq!(
        bed.refused(Type::Modify, entry.clone()),
        (Code::NotFound, "digest learned_t: it is not enabled".into())
    );
    assert_eq!(bed.apply(Type::Insert, entry.clone()), Ok(()));
    assert_eq!(bed.refused(Type::Insert, entry.clone()).0, Code::AlreadyExists);
    assert_eq!(bed.read(DigestEntry::default()).unwrap(), [Kinds::from(entry.clone())]);
    let changed = digest_entry(id, 5, 7, 9);
    assert_eq!(bed.apply(Type::Modify, changed.clone()), Ok(()));
    assert_eq!(bed.read(digest_entry(id, 0, 0, 0)).unwrap(), [Kinds::from(changed)]);
    assert_eq!(bed.apply(Type::Delete, DigestEntry { digest_id: id, config: None }), Ok(()));
    assert_eq!(bed.read(DigestEntry::default()).unwrap(), []);
    let cases = [
        (digest_entry(3, 0, 0, 0), "digest_id: the program has no digest 3"),
        (digest_entry(id, -1, 0, 0), "digest learned_t: max_list_size: it is negative"),
        (DigestEntry { digest_id: id, config: None }, "digest learned_t: config: it is missing"),
    ];
    for (entry, message) in cases {
        assert_eq!(bed.refused(Type::Insert, entry), (Code::InvalidArgument, message.into()));
    }
}

#[test]
fn timestamps_are_since_1970() {
    let mut bed = testbed(1, 0, 0);
    bed.runtime =
        std::mem::replace(&mut bed.runtime, groupflow_switch::p4rt::Runtime::new(1)).since(Nanos(1_000));
    assert_eq!(learn(&mut bed, 5, 9, 1)[0].timestamp, 1_005);
}
