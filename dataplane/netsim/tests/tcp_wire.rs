use groupflow_netsim::tcp::{decode, encode, Ecn, Sack, SackBlock, Segment, TcpFlags, Timestamps};
use proptest::prelude::*;

fn segments() -> impl Strategy<Value = Segment> {
    let timestamps = proptest::option::of((any::<u32>(), any::<u32>()));
    let blocks = proptest::collection::vec((any::<u32>(), any::<u32>()), 0..=4);
    let fixed = (any::<u16>(), any::<u16>(), any::<u32>(), any::<u32>(), any::<u8>(), any::<u16>());
    (fixed, timestamps, blocks).prop_map(
        |((source, destination, seq, ack, flags, window), timestamps, blocks)| {
            let mut sack = Sack::default();
            let room = if timestamps.is_some() { 3 } else { 4 };
            for (left, right) in blocks.into_iter().take(room) {
                sack.push(SackBlock { left, right });
            }
            Segment {
                source_port: source,
                destination_port: destination,
                seq,
                ack,
                flags: TcpFlags(flags),
                window,
                payload: 0,
                ecn: Ecn::NotEct,
                timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
                sack,
            }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(segment in segments(), payload in 0usize..100) {
        let mut bytes = Vec::new();
        encode(&segment, &mut bytes);
        let length = bytes.len();
        prop_assert_eq!(length, segment.header_len());
        bytes.resize(length + payload, 0);
        let decoded = Segment { payload: payload as u32, ..segment };
        prop_assert_eq!(decode(&bytes), Ok(decoded));
        prop_assert_eq!(decode(&bytes[..length - 1]).is_err(), true);
    }

    #[test]
    fn anything_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(segment) = decode(&bytes) {
            prop_assert!(segment.payload as usize + 20 <= bytes.len());
        }
    }
}

#[test]
fn a_header_is_byte_for_byte_tcp() {
    let mut sack = Sack::default();
    sack.push(SackBlock { left: 0x0102_0304, right: 0x0506_0708 });
    let segment = Segment {
        source_port: 80,
        destination_port: 40_000,
        seq: 1,
        ack: 0xFFFF_FFFE,
        flags: TcpFlags::ACK.with(TcpFlags::ECE),
        window: 65_535,
        sack,
        ..Segment::default()
    };
    let mut bytes = Vec::new();
    encode(&segment, &mut bytes);
    let expected = [
        0, 80, 0x9C, 0x40, 0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFE, 0x80, 0x50, 0xFF, 0xFF, 0, 0, 0, 0, 1, 1, 5,
        10, 1, 2, 3, 4, 5, 6, 7, 8,
    ];
    assert_eq!(bytes, expected);
}

#[test]
fn errors_name_the_field() {
    let mut bytes = [0; 24];
    assert_eq!(decode(&bytes).unwrap_err().to_string(), "TCP data offset: 0 is not a legal value");
    bytes[12] = 0x60;
    bytes[20] = 5; // SACK
    bytes[21] = 3;
    assert_eq!(decode(&bytes).unwrap_err().to_string(), "TCP option: 5 has the length 3");
    assert_eq!(decode(&bytes[..22]).unwrap_err().to_string(), "TCP options: 2 bytes where 4 are needed");
}
