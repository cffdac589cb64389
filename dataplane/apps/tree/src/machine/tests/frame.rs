use super::*;
use proptest::prelude::*;

fn frame() -> impl Strategy<Value = TreeFrame> {
    let begin = prop_oneof![Just(StartAt::Now), (0..u64::MAX / 2).prop_map(StartAt::Offset)];
    prop_oneof![
        (any::<u64>(), any::<u128>(), any::<u32>(), begin, 0..u64::MAX / 2).prop_map(
            |(child, ticket, edge, begin, room)| TreeFrame::Hello(Hello {
                child: HostId(child),
                ticket: Ticket(ticket),
                edge,
                begin,
                needed: 0,
                room,
            })
        ),
        (any::<u32>(), any::<u32>()).prop_map(|(more, needed)| TreeFrame::Taken {
            taken: u64::from(needed) + u64::from(more),
            needed: needed.into()
        }),
        Just(TreeFrame::Complete),
        Just(TreeFrame::Moved),
        any::<u64>().prop_map(|begin| TreeFrame::Welcome { begin }),
        (any::<u64>(), proptest::collection::vec(any::<u8>(), 1..300))
            .prop_map(|(offset, bytes)| TreeFrame::Data { offset, bytes }),
        any::<u64>().prop_map(|to| TreeFrame::Skip { to }),
        any::<u64>().prop_map(|length| TreeFrame::End { length }),
        proptest::sample::select(Reason::ALL).prop_map(TreeFrame::Refused),
        Just(TreeFrame::Alive),
    ]
}

proptest! {
    #[test]
    fn frames_come_as_they_were_sent_however_they_are_cut(
        frames in proptest::collection::vec(frame(), 0..20), piece in 1..50_usize,
    ) {
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.encode_into(&mut bytes));
        let (mut decoder, mut got) = (EdgeDecoder::default(), Vec::new());
        for mut input in bytes.chunks(piece) {
            while let Some(frame) = decoder.next_frame(&mut input).expect("frames") {
                got.push(frame);
            }
        }
        prop_assert_eq!(got, frames);
    }

    #[test]
    fn no_bytes_make_the_decoder_panic_or_hold_much(
        bytes in proptest::collection::vec(any::<u8>(), 0..2000),
    ) {
        let (mut decoder, mut input) = (EdgeDecoder::default(), &bytes[..]);
        while let Ok(Some(_)) = decoder.next_frame(&mut input) {}
        prop_assert!(decoder.0.held() <= HEADER + 8 + MAX_BLOCK);
    }
}

#[test]
fn data_of_two_pieces_is_one_frame() {
    let (mut one, mut two) = (Vec::new(), Vec::new());
    TreeFrame::Data { offset: 7, bytes: vec![1, 2, 3] }.encode_into(&mut one);
    TreeFrame::encode_data(7, (&[1, 2], &[3]), &mut two);
    assert_eq!(one, two);
}

#[test]
fn a_malformed_frame_is_refused_and_named() {
    let hello = |version: u8, at: u8| {
        let mut body = vec![version];
        body.extend([0; 28]);
        body.push(at);
        body.extend([0; 24]);
        body
    };
    let beyond = {
        let mut body = hello(1, 1);
        body[30..46].copy_from_slice(&[8_u64.to_be_bytes(), 9_u64.to_be_bytes()].concat());
        body
    };
    let endless = {
        let mut body = hello(1, 1);
        body[30..38].copy_from_slice(&8_u64.to_be_bytes());
        body[46..54].copy_from_slice(&u64::MAX.to_be_bytes());
        body
    };
    let cases: [(u8, Vec<u8>, &str); 17] = [
        (9, vec![], "frame.kind: 9 is not a legal value"),
        (1, vec![], "hello.version: 0 bytes where 1 are needed"),
        (1, hello(7, 0), "hello.version: 7 is not a legal value"),
        (1, hello(2, 0), "hello.version: 2 is not a legal value"),
        (1, hello(4, 0), "hello.version: 4 is not a legal value"),
        (1, [hello(1, 0), vec![1; 10]].concat(), "frame: 10 bytes too many"),
        (1, hello(1, 2), "hello.begin: 2 is not a legal value"),
        (2, [[0; 7], [0; 7]].concat(), "taken.needed: 6 bytes where 8 are needed"),
        (2, [8_u64.to_be_bytes(), 9_u64.to_be_bytes()].concat(), "taken.needed: 9 is beyond 8"),
        (1, beyond, "hello.needed: 9 is beyond the bytes that the host has"),
        (1, endless, "hello.room: 18446744073709551615 from 8 on lies beyond the longest stream"),
        (17, vec![0; 9 + MAX_BLOCK], "frame.length: 16393 is too long for kind 17"),
        (17, vec![0; 8], "data.bytes: has 0 bytes, not 1 to 16384"),
        (20, vec![9], "refused.reason: 9 is not a legal value"),
        (20, vec![0], "refused.reason: 0 is not a legal value"),
        (3, vec![1], "frame: 1 bytes too many"),
        (16, vec![0; 65], "frame.length: 65 is too long for kind 16"),
    ];
    for (kind, body, error) in cases {
        let mut bytes = vec![kind, 0];
        bytes.extend((body.len() as u16).to_be_bytes());
        bytes.extend(body);
        let got = EdgeDecoder::default().next_frame(&mut &bytes[..]).expect_err(error);
        assert_eq!(got.to_string(), error);
    }
    let error = EdgeDecoder::default().next_frame(&mut &[1_u8, 1, 0, 0][..]).expect_err("reserved");
    assert_eq!(error.to_string(), "frame.reserved: 1 is not a legal value");
}

#[test]
fn frames_are_these_bytes() {
    let hello = |begin| {
        TreeFrame::Hello(Hello {
            child: HostId(0x0102_0304),
            ticket: Ticket(u128::from_be_bytes([0xee; 16])),
            edge: 5,
            begin,
            needed: 6,
            room: 7,
        })
    };
    let cases = [
        (
            hello(StartAt::Now),
            "01000036010000000001020304eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee000000\
             0500000000000000000000000000000000060000000000000007",
        ),
        (
            hello(StartAt::Offset(0x0809)),
            "01000036010000000001020304eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee000000\
             0501000000000000080900000000000000060000000000000007",
        ),
        (TreeFrame::Taken { taken: 0x0102_0304_0506, needed: 7 }, "0200001000000102030405060000000000000007"),
        (TreeFrame::Complete, "03000000"),
        (TreeFrame::Moved, "04000000"),
        (TreeFrame::Welcome { begin: 1 }, "100000080000000000000001"),
        (TreeFrame::Data { offset: 0x0102_0304, bytes: vec![7, 8] }, "1100000a00000000010203040708"),
        (TreeFrame::Skip { to: 2 }, "120000080000000000000002"),
        (TreeFrame::End { length: 3 }, "130000080000000000000003"),
        (TreeFrame::Refused(Reason::Leaving), "1400000107"),
        (TreeFrame::Alive, "20000000"),
    ];
    for (frame, expected) in cases {
        let mut bytes = Vec::new();
        frame.encode_into(&mut bytes);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
    }
}
