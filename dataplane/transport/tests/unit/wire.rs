use groupflow_base::codec::internet_checksum;
use groupflow_transport::ids::{MemberId, Seq, SessionId};
use groupflow_transport::wire::{Flags, GroupPacket, Header, Kind, HEADER};

fn sample() -> Header {
    Header {
        flags: Flags::FIN.with(Flags::RETX),
        poll: 7,
        member: MemberId(0x0304),
        seq: Seq(0x0506_0708),
        stamp: 0x090a_0b0c,
        ..Header::new(Kind::Data, SessionId(0x0001_0203), MemberId(0x0102))
    }
}

#[test]
fn the_layout_is_the_documented_one() {
    let bytes = sample().encode(b"hi");
    let expected = [
        1, 1, 0x03, 7, 0, 1, 2, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 2, //
    ];
    assert_eq!(bytes[..22], expected);
    assert_eq!(&bytes[24..], b"hi");
    assert_eq!(GroupPacket::parse(&bytes), Ok(GroupPacket { header: sample(), payload: b"hi" }));
}

#[test]
fn what_is_wrong_is_named() {
    let good = sample().encode(b"hi");
    let resum = |mut bytes: Vec<u8>| {
        bytes[22..24].fill(0);
        let sum = internet_checksum(&bytes[..HEADER]);
        bytes[22..24].copy_from_slice(&sum.to_be_bytes());
        bytes
    };
    let edit = |i: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[i] = value;
        resum(bytes)
    };
    let cases: [(Vec<u8>, &str); 9] = [
        (vec![], "header: 0 bytes where 24 are needed"),
        (good[..23].to_vec(), "header: 23 bytes where 24 are needed"),
        (edit(0, 2), "version: 2 is not a legal value"),
        (edit(1, 0), "type: 0 is not a legal value"),
        (edit(1, 13), "type: 13 is not a legal value"),
        (edit(2, 0x20), "flags: 32 is not a legal value"),
        (edit(4, 1), "session: 16843267 is not a legal value"),
        (edit(21, 3), "length: 2 bytes where 3 are needed"),
        (edit(20, 0xff), "length: 65282 is not a legal value"),
    ];
    for (bytes, message) in cases {
        assert_eq!(GroupPacket::parse(&bytes).map_err(|e| e.to_string()), Err(message.to_owned()));
    }
    let mut damaged = good;
    damaged[15] ^= 1;
    let damaged = GroupPacket::parse(&damaged).map_err(|error| error.to_string());
    assert_eq!(damaged, Err("checksum: the header is damaged".to_owned()));
}

#[test]
fn padding_is_ignored() {
    let mut bytes = sample().encode(b"hi");
    bytes.extend_from_slice(&[0; 16]);
    assert_eq!(GroupPacket::parse(&bytes).map(|p| p.payload), Ok(&b"hi"[..]));
}
