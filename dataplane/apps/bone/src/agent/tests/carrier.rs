use groupflow_base::Dest;

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
