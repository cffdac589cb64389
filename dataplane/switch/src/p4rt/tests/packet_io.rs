use super::*;
use crate::p4rt::bytestring::ones;
use crate::p4rt::Code;
use groupflow_pipeline::MatchKind;
use proptest::prelude::*;

fn field(id: u32, name: &str, width: u32) -> BoundField {
    let kind = MatchKind::Exact;
    BoundField { id, name: name.into(), width, kind, program_kind: kind, names: None }
}

fn header() -> ControllerHeader {
    vec![field(1, "egress_port", 9), field(2, "inject", 1), field(3, "padding", 6)]
}

fn packet(metadata: &[(u32, &[u8])]) -> PacketOut {
    let metadata = metadata
        .iter()
        .map(|(id, value)| PacketMetadata { metadata_id: *id, value: value.to_vec() })
        .collect();
    PacketOut { payload: vec![0xaa, 0xbb], metadata }
}

#[test]
fn metadata_is_packed_in_front_of_the_payload() {
    let bytes = packet_out(&header(), &packet(&[(2, b"\x01"), (1, b"\x01\x02"), (3, b"\x00")]));
    assert_eq!(bytes, Ok(vec![0b1000_0001, 0b0100_0000, 0xaa, 0xbb]));
}

#[test]
fn each_field_is_there_exactly_once_and_fits() {
    type Metadata<'a> = &'a [(u32, &'a [u8])];
    let cases: [(Metadata<'_>, &str); 4] = [
        (&[(1, b"\x01"), (2, b"\x01")], "metadata padding: it is missing"),
        (&[(1, b"\x01"), (1, b"\x01")], "metadata egress_port: it is there twice"),
        (&[(7, b"\x01")], "metadata: packet_out has no field 7"),
        (&[(2, b"\x02")], "metadata inject: 0x02 does not fit bit<1>"),
    ];
    for (metadata, message) in cases {
        let refusal = packet_out(&header(), &packet(metadata)).expect_err(message);
        assert_eq!((refusal.code, refusal.message.as_str()), (Code::InvalidArgument, message));
    }
    let long = PacketOut { payload: vec![0; MAX_FRAME + 1], ..PacketOut::default() };
    assert_eq!(
        packet_out(&header(), &long).expect_err("long").message,
        "payload: 9217 bytes, more than 9216"
    );
}

#[test]
fn metadata_of_a_string_type_has_the_strings_of_the_type() {
    let names = Some(crate::p4rt::translation::Names::default());
    let port = BoundField { names, ..field(1, "port", 16) };
    let sent = packet_out(&vec![port.clone()], &packet(&[(1, b"Ethernet4")])).expect("valid");
    assert_eq!(sent, [0, 1, 0xaa, 0xbb]);
    let got = packet_in(&vec![port], &sent).expect("long enough");
    assert_eq!(got.metadata[0].value, b"Ethernet4");
}

#[test]
fn a_packet_shorter_than_its_header_is_not_passed_on() {
    assert_eq!(packet_in(&header(), &[0]), None);
    assert_eq!(packet_in(&header(), &[0, 0]).map(|packet| packet.payload), Some(vec![]));
    assert_eq!(packet_in(&vec![], &[1]).map(|packet| packet.payload), Some(vec![1]));
}

proptest! {
    #[test]
    fn what_goes_out_comes_in(widths in proptest::collection::vec(1u32..=128, 0..8), seed: u128) {
        let header: ControllerHeader =
            (1u32..).zip(&widths).map(|(id, width)| field(id, "f", *width)).collect();
        let metadata = header.iter().map(|field| PacketMetadata {
            metadata_id: field.id,
            value: field.encode(&[seed.rotate_left(field.id * 13) & ones(field.width)]),
        });
        let out = PacketOut { payload: vec![1, 2, 3], metadata: metadata.collect() };
        let bytes = packet_out(&header, &out).expect("valid");
        let back = packet_in(&header, &bytes).expect("long enough");
        prop_assert_eq!(back.metadata, out.metadata);
        prop_assert_eq!(back.payload, out.payload);
    }
}
