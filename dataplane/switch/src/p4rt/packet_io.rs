//! Packets from and to the controller: metadata fields on one side, the program's header on the other.
//!
//! P4Runtime specification, section "Packet I/O". BMv2's convention: the header's fields are packed
//! without gaps in front of the packet.

use groupflow_pipeline::{read_bits, write_bits};

use super::binding::ControllerHeader;
use super::bytestring::{decode, encode};
use super::status::Refusal;
use crate::core::MAX_FRAME;
use crate::proto::p4::v1::{PacketIn, PacketMetadata, PacketOut};

/// The bytes that go into the pipeline: header and payload.
pub fn packet_out(header: &ControllerHeader, packet: &PacketOut) -> Result<Vec<u8>, Refusal> {
    if packet.payload.len() > MAX_FRAME {
        let length = packet.payload.len();
        return Err(Refusal::invalid(format!("payload: {length} bytes, more than {MAX_FRAME}")));
    }
    let mut values = vec![None; header.len()];
    for field in &packet.metadata {
        let place = header.iter().position(|(id, _, _)| *id == field.metadata_id);
        let place = place.ok_or_else(|| {
            Refusal::invalid(format!("metadata: packet_out has no field {}", field.metadata_id))
        })?;
        let (_, name, width) = &header[place];
        let value = decode(&field.value, *width).map_err(|e| e.within(&format!("metadata {name}")))?;
        if values[place].replace(value).is_some() {
            return Err(Refusal::invalid(format!("metadata {name}: it is there twice")));
        }
    }
    let mut bytes = vec![0; header_bits(header).div_ceil(8)];
    let mut at = 0;
    for (value, (_, name, width)) in values.into_iter().zip(header) {
        let value = value.ok_or_else(|| Refusal::invalid(format!("metadata {name}: it is missing")))?;
        write_bits(&mut bytes, at, *width as usize, value);
        at += *width as usize;
    }
    bytes.extend_from_slice(&packet.payload);
    Ok(bytes)
}

/// The message for the controller; `None` if the bytes are shorter than the header.
pub fn packet_in(header: &ControllerHeader, bytes: &[u8]) -> Option<PacketIn> {
    let payload = bytes.get(header_bits(header).div_ceil(8)..)?;
    let mut at = 0;
    let metadata = header.iter().map(|(id, _, width)| {
        let value = read_bits(bytes, at, *width as usize);
        at += *width as usize;
        PacketMetadata { metadata_id: *id, value: encode(value) }
    });
    Some(PacketIn { metadata: metadata.collect(), payload: payload.to_vec() })
}

fn header_bits(header: &ControllerHeader) -> usize {
    header.iter().map(|(_, _, width)| *width as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::p4rt::bytestring::ones;
    use proptest::prelude::*;

    fn header() -> ControllerHeader {
        vec![(1, "egress_port".into(), 9), (2, "inject".into(), 1), (3, "padding".into(), 6)]
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
            assert_eq!(refusal.message, message);
        }
        let long = PacketOut { payload: vec![0; MAX_FRAME + 1], ..PacketOut::default() };
        assert_eq!(
            packet_out(&header(), &long).expect_err("long").message,
            "payload: 9217 bytes, more than 9216"
        );
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
                (1u32..).zip(&widths).map(|(id, width)| (id, format!("f{id}"), *width)).collect();
            let metadata = header.iter().map(|(id, _, width)| PacketMetadata {
                metadata_id: *id,
                value: encode(seed.rotate_left(*id * 13) & ones(*width)),
            });
            let out = PacketOut { payload: vec![1, 2, 3], metadata: metadata.collect() };
            let bytes = packet_out(&header, &out).expect("valid");
            let back = packet_in(&header, &bytes).expect("long enough");
            prop_assert_eq!(back.metadata, out.metadata);
            prop_assert_eq!(back.payload, out.payload);
        }
    }
}
