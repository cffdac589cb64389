use groupflow_base::StreamId;
use groupflow_split::machine::frame::{Preamble, PREAMBLE};
use groupflow_transport::fanout::Mode;
use proptest::prelude::*;

fn preamble() -> Preamble {
    Preamble { session: 7, stream: StreamId(9), offset: 11, mode: Mode::NodeToNode }
}

#[test]
fn what_is_wrong_is_named() {
    let cases: [(usize, u8, &str); 4] = [
        (0, b'H', "magic: the first four bytes are not GFSP"),
        (4, 2, "version: 2 is not a legal value"),
        (5, 2, "mode: 2 is not a legal value"),
        (7, 1, "reserved: 1 is not a legal value"),
    ];
    for (at, value, text) in cases {
        let mut bytes = preamble().encode();
        bytes[at] = value;
        assert_eq!(Preamble::parse(&bytes).map_err(|e| e.to_string()), Err(text.to_owned()));
    }
}

proptest! {
    #[test]
    fn preambles_round_trip(session: u32, stream: u64, offset: u64, end_to_end: bool) {
        let mode = if end_to_end { Mode::EndToEnd } else { Mode::NodeToNode };
        let preamble = Preamble { session, stream: StreamId(stream), offset, mode };
        prop_assert_eq!(Preamble::parse(&preamble.encode()), Ok(preamble));
    }

    #[test]
    fn any_bytes_are_parsed_or_refused(bytes: [u8; PREAMBLE]) {
        if let Ok(preamble) = Preamble::parse(&bytes) {
            prop_assert_eq!(preamble.encode(), bytes);
        }
    }
}

#[test]
fn a_preamble_is_these_bytes() {
    let (session, stream, offset) = (0x0102_0304, StreamId(0x0506_0708_090a), 0x0b0c_0d0e);
    let bytes = Preamble { session, stream, offset, ..preamble() }.encode();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "474653500101000001020304000005060708090a000000000b0c0d0e");
}
