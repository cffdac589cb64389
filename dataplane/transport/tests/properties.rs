//! Properties of the parsers: nothing from outside panics, an encoded packet is parsed as it was.

use groupflow_transport::nack::{Nack, PacketRange};
use groupflow_transport::testing::header;
use groupflow_transport::wire::GroupPacket;
use groupflow_transport::Seq;
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #[test]
    fn packets_round_trip(header in header(), payload in vec(any::<u8>(), 0..1448)) {
        let bytes = header.encode(&payload);
        prop_assert_eq!(GroupPacket::parse(&bytes), Ok(GroupPacket { header, payload: &payload }));
    }

    #[test]
    fn a_damaged_header_is_refused(header in header(), at in 0..24_usize, bit in 0..8_u8) {
        let mut bytes = header.encode(b"payload");
        bytes[at] ^= 1 << bit;
        prop_assert!(GroupPacket::parse(&bytes).is_err());
    }

    #[test]
    fn nacks_round_trip(next in any::<u32>(), steps in vec((1..1000_u32, 0..1000_u32), 0..64)) {
        let mut at = 0;
        let ranges = steps
            .iter()
            .map(|&(gap, more)| {
                let first = at + gap;
                at = first + more;
                PacketRange { first: Seq(first), last: Seq(at) }
            })
            .collect();
        let nack = Nack { next: Seq(next), ranges };
        prop_assert_eq!(Nack::parse(&nack.encode()), Ok(nack));
    }

    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = GroupPacket::parse(&bytes);
        let _ = Nack::parse(&bytes);
    }
}
