use groupflow_base::Dest;
use groupflow_session::control::{Answer, Refusal, Reply, Request, RequestId};

use super::*;
use crate::machine::message::{self, Body, Message};
use crate::machine::TransferId;
use std::net::SocketAddrV4;

const FROM: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::new(10, 0, 0, 1), 7);

fn carrier() -> Carrier {
    let common = CommonArgs {
        name: "hub".to_owned(),
        token: None,
        bind_iface: None,
        addr: None,
        port: 0,
        via: None,
        join_timeout: 10,
        seed: None,
        json: false,
    };
    Carrier::new(Nanos::from_secs(1), Some(SessionId(7)), Role::Sender, &common)
}

#[test]
fn what_is_packed_unpacks_and_other_messages_pass() {
    let mut carrier = carrier();
    let bytes = Message { transfer: TransferId(1), body: Body::End { complete: true } }.encode();
    assert_ne!(message::VERSION, VERSION, "the first byte tells them apart");
    let now = Nanos::from_secs(2);
    let plain = Datagram { from: FROM, bytes: &bytes };
    assert_eq!(
        carrier.unpack(now, plain).map(|found| found.map(|d| d.bytes.to_vec())),
        Ok(Some(bytes.clone()))
    );
    let packed = carrier.pack(now, Transmit { dest: Dest::Host(FROM), bytes: bytes.clone() });
    assert_eq!(packed.dest, Dest::Group(SessionId(7).group()));
    let packed = Datagram { from: FROM, bytes: &packed.bytes };
    assert_eq!(
        carrier.unpack(now, packed).map(|found| found.map(|d| d.bytes.to_vec())),
        Ok(Some(bytes.clone()))
    );
    let foreign = Header::new(Kind::Data, SessionId(8), MemberId(1)).encode(&bytes);
    assert!(carrier.unpack(now, Datagram { from: FROM, bytes: &foreign }).is_err());
    assert!(!carrier.ready(), "not joined yet");
}

/// A member of a session knows its controller by its answers; a cache bone's member does, too.
#[test]
fn a_stranger_that_poses_as_the_controller_is_not_heard() {
    let mut carrier = carrier();
    let now = Nanos::from_secs(2);
    let join = carrier.poll_transmit(now).expect("it joins").bytes;
    let join = GroupPacket::parse(&join).expect("own packets parse");
    let Ok(Request::Join(join)) = Request::parse(join.header.kind, join.payload) else { panic!("{join:?}") };
    let mut hear = |from, request, answer| {
        let reply = Header::new(Kind::Reply, SessionId(7), MemberId::NONE)
            .encode(&Reply { request, answer }.encode());
        carrier.unpack(now, Datagram { from, bytes: &reply }).map(|data| data.is_none())
    };
    let refusal = |text: &str| Answer::Refused { code: Refusal::Unavailable, text: text.to_owned() };
    assert_eq!(hear(FROM, join.request, refusal("later")), Ok(true), "the answer");
    let stranger = SocketAddrV4::new(*FROM.ip(), 8);
    assert!(hear(stranger, RequestId(0), refusal("never")).is_err());
}
