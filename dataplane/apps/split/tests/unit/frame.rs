use groupflow_base::codec::{CodecError, Envelope, Envelopes};
use groupflow_split::machine::frame::{Fault, SplitFrame, MAX_BODY, MAX_REPLY};
use proptest::collection::vec;
use proptest::prelude::*;

fn frame() -> impl Strategy<Value = SplitFrame> {
    let fault = proptest::sample::select(Fault::ALL);
    prop_oneof![
        any::<u64>().prop_map(|offset| SplitFrame::Welcome { offset }),
        any::<(u64, bool)>().prop_map(|(offset, complete)| SplitFrame::Progress { offset, complete }),
        any::<(u32, u64)>().prop_map(|(member, bytes)| SplitFrame::Receipt { member, bytes }),
        (any::<u32>(), vec(any::<u8>(), 0..300))
            .prop_map(|(member, bytes)| SplitFrame::Reply { member, bytes }),
        any::<u32>().prop_map(|member| SplitFrame::ReplyEnd { member }),
        (fault, any::<(u32, u64)>(), ".{0,100}").prop_map(|(fault, (member, offset), text)| {
            SplitFrame::Failure { fault, member, offset, text }
        }),
    ]
}

fn decode(bytes: &[u8], pieces: &[usize]) -> Result<Vec<SplitFrame>, CodecError> {
    let (mut envelopes, mut frames, mut rest) = (Envelopes::default(), Vec::new(), bytes);
    for &piece in pieces.iter().chain([&bytes.len()]) {
        let (mut now, later) = rest.split_at(piece.min(rest.len()));
        rest = later;
        while let Some(frame) = SplitFrame::next(&mut envelopes, &mut now)? {
            frames.push(frame);
        }
    }
    Ok(frames)
}

proptest! {
    #[test]
    fn frames_round_trip_however_they_are_cut(
        frames in vec(frame(), 0..10), pieces in vec(0..50_usize, 0..60),
    ) {
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.encode_into(&mut bytes));
        prop_assert_eq!(decode(&bytes, &pieces), Ok(frames));
    }

    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in vec(any::<u8>(), 0..200), kind in 0..8_u8) {
        let _ = decode(&bytes, &[7]);
        let mut framed = vec![kind, 0, 0, bytes.len() as u8];
        framed.extend(bytes.iter().take(255));
        let _ = decode(&framed, &[]);
    }
}

#[test]
fn bounds() {
    let mut bytes = Vec::new();
    SplitFrame::Reply { member: 1, bytes: vec![7; MAX_REPLY + 1] }.encode_into(&mut bytes);
    assert_eq!(bytes.len(), Envelope::HEADER + MAX_BODY);
    let cases: [(&[u8], &str); 5] = [
        (&[4, 0, 0x40, 1], "frame.length: 16385 is too long for kind 4"),
        (&[9, 0, 0, 0], "frame.kind: 9 is not a legal value"),
        (&[5, 0, 0, 5, 0, 0, 0, 0, 0], "frame: 1 bytes too many"),
        (&[6, 0, 0, 1, 7], "failure.fault: 7 is not a legal value"),
        (&[2, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 2], "progress.complete: 2 is not a legal value"),
    ];
    for (bytes, expected) in cases {
        assert_eq!(decode(bytes, &[]).map_err(|e| e.to_string()), Err(expected.to_owned()));
    }
    let text = "ä".repeat(400);
    let mut bytes = Vec::new();
    SplitFrame::Failure { fault: Fault::Reset, member: 0, offset: 0, text }.encode_into(&mut bytes);
    assert!(decode(&bytes, &[]).is_ok_and(|f| f.len() == 1), "cut between characters");
}

#[test]
fn frames_are_these_bytes() {
    let (member, offset) = (0x0102_0304, 0x0506_0708_090a);
    let failure = SplitFrame::Failure { fault: Fault::MemberReset, member, offset, text: "ä".to_owned() };
    let cases = [
        (SplitFrame::Welcome { offset }, "01000008000005060708090a"),
        (SplitFrame::Progress { offset, complete: true }, "02000009000005060708090a01"),
        (SplitFrame::Receipt { member, bytes: offset }, "0300000c01020304000005060708090a"),
        (SplitFrame::Reply { member, bytes: vec![7, 8] }, "04000006010203040708"),
        (SplitFrame::ReplyEnd { member }, "0500000401020304"),
        (failure, "0600000f0601020304000005060708090ac3a4"),
    ];
    for (frame, expected) in cases {
        let mut bytes = Vec::new();
        frame.encode_into(&mut bytes);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
    }
}
