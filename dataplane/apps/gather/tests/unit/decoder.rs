use groupflow_base::codec::CodecError;
use groupflow_base::wire::last_text::MOST;
use groupflow_base::{StreamId, Token};
use groupflow_gather::machine::frame::{data_header, Hello, StripeReport, MAX_DATA};
use groupflow_gather::machine::{ClientName, Epoch, GatherFrame, Item, RefusalCode, Side, StripeDecoder};
use proptest::collection::vec;
use proptest::prelude::*;

/// Frames; bytes of DATA that follow each other are one.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Got {
    Frame(GatherFrame),
    Data(u64, Vec<u8>),
}

fn encode(items: &[Got]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for item in items {
        match item {
            Got::Frame(frame) => frame.encode_into(&mut bytes),
            Got::Data(offset, data) => {
                bytes.extend(data_header(*offset, data.len()));
                bytes.extend(data);
            }
        }
    }
    bytes
}

fn push(into: &mut Vec<Got>, item: Got) {
    match (item, into.last_mut()) {
        (Got::Data(offset, more), Some(Got::Data(at, data))) if *at + data.len() as u64 == offset => {
            data.extend(more);
        }
        (item, _) => into.push(item),
    }
}

fn joined(items: Vec<Got>) -> Vec<Got> {
    let mut joined = Vec::new();
    items.into_iter().for_each(|item| push(&mut joined, item));
    joined
}

fn decode(from: Side, bytes: &[u8], pieces: &[usize]) -> Result<(Vec<Got>, bool), CodecError> {
    let (mut decoder, mut got, mut rest) = (StripeDecoder::new(from), Vec::new(), bytes);
    for &piece in pieces.iter().chain([&bytes.len()]) {
        let (mut now, later) = rest.split_at(piece.min(rest.len()));
        rest = later;
        while let Some(item) = decoder.next_item(&mut now)? {
            match item {
                Item::Data { offset, bytes } => push(&mut got, Got::Data(offset, bytes.to_vec())),
                Item::Frame(frame) => got.push(Got::Frame(frame)),
            }
        }
    }
    // Between frames the next frame comes out whole.
    let last = || match from {
        Side::Client => GatherFrame::Leave,
        Side::Server => GatherFrame::Complete { length: 7 },
    };
    let between = decoder.next_item(&mut &encode(&[Got::Frame(last())])[..])? == Some(Item::Frame(last()));
    Ok((got, between))
}

fn hello() -> impl Strategy<Value = Got> {
    let numbers = (any::<u64>(), any::<u64>());
    let parts = (numbers, "[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}", "[0-9a-f]{1,255}");
    parts.prop_map(|((stream, acknowledged), client, token)| {
        let client = ClientName::parse(&client).expect("a name");
        let token = Token::parse(&token).expect("a token");
        Got::Frame(GatherFrame::Hello(Hello { stream: StreamId(stream), acknowledged, client, token }))
    })
}

fn from_client() -> impl Strategy<Value = Got> {
    prop_oneof![
        hello(),
        (0..u64::MAX - 300, vec(any::<u8>(), 1..300)).prop_map(|(at, data)| Got::Data(at, data)),
        any::<u64>().prop_map(|length| Got::Frame(GatherFrame::End { length })),
        any::<[u32; 4]>().prop_map(|[rtt_us, rto_us, sent, resent]| {
            Got::Frame(GatherFrame::Report(StripeReport { rtt_us, rto_us, sent, resent }))
        }),
        Just(Got::Frame(GatherFrame::Leave)),
    ]
}

fn from_server() -> impl Strategy<Value = Got> {
    let code = proptest::sample::select(RefusalCode::ALL);
    prop_oneof![
        (any::<u64>(), any::<u32>(), any::<u32>(), 1..=u16::MAX).prop_map(|(epoch, at, room, wanted)| {
            let (epoch, delivered) = (Epoch(epoch), u64::from(at));
            let limit = delivered + u64::from(room);
            Got::Frame(GatherFrame::Welcome { epoch, delivered, limit, wanted })
        }),
        (any::<u32>(), any::<u32>()).prop_map(|(at, room)| {
            let delivered = u64::from(at);
            Got::Frame(GatherFrame::Delivered { delivered, limit: delivered + u64::from(room) })
        }),
        (1..=u16::MAX).prop_map(|wanted| Got::Frame(GatherFrame::Want { wanted })),
        any::<u64>().prop_map(|length| Got::Frame(GatherFrame::Complete { length })),
        (code, ".{0,100}").prop_map(|(code, text)| Got::Frame(GatherFrame::Refusal { code, text })),
    ]
}

proptest! {
    #[test]
    fn frames_round_trip_however_they_are_cut(
        client in vec(from_client(), 0..10), server in vec(from_server(), 0..10),
        pieces in vec(0..50_usize, 0..60),
    ) {
        prop_assert_eq!(decode(Side::Client, &encode(&client), &pieces), Ok((joined(client), true)));
        prop_assert_eq!(decode(Side::Server, &encode(&server), &pieces), Ok((joined(server), true)));
    }

    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in vec(any::<u8>(), 0..200), kind in 0..24_u8) {
        let mut framed = vec![kind, 0, 0, bytes.len() as u8];
        framed.extend(&bytes);
        for side in [Side::Client, Side::Server] {
            let _ = decode(side, &bytes, &[7]);
            let _ = decode(side, &framed, &[]);
        }
    }
}

#[test]
fn refusals_name_the_field() {
    let hello = |version: u8, client: &[u8], token: &[u8]| {
        let mut body = vec![version];
        body.extend([0; 17]);
        body.push(client.len() as u8);
        body.extend(client);
        body.push(token.len() as u8);
        body.extend(token);
        [&[1, 0, 0, body.len() as u8], &body[..]].concat()
    };
    let welcome = |delivered: u8, limit: u8, wanted: u8| {
        let mut bytes = vec![17, 0, 0, 26];
        bytes.extend([0; 26]);
        (bytes[4 + 15], bytes[4 + 23], bytes[4 + 25]) = (delivered, limit, wanted);
        bytes
    };
    let data = |length: u8| [&[2, 0, 0, length][..], &[0xff; 8], &[7; 9]].concat();
    let rule = "must have 1 to 64 of A-Z a-z 0-9 . _ - and not begin with .";
    let cases = [
        (Side::Client, vec![9, 0, 0, 0], "frame.kind: 9 is not a legal value".to_owned()),
        (Side::Client, vec![17, 0, 0, 0], "frame.kind: 17 is the other side's".to_owned()),
        (Side::Server, vec![2, 0, 0, 9], "frame.kind: 2 is the other side's".to_owned()),
        (Side::Client, vec![5, 1, 0, 0], "frame.reserved: 1 is not a legal value".to_owned()),
        (Side::Client, vec![5, 0, 0, 1, 0], "frame: 1 bytes too many".to_owned()),
        (Side::Client, vec![1, 0, 0x7f, 0], "frame.length: 32512 is too long for kind 1".to_owned()),
        (Side::Client, data(8), "data.length: must be at least 1 byte".to_owned()),
        (Side::Client, data(9), "data.offset: lies beyond the longest stream".to_owned()),
        (Side::Client, vec![6, 0, 0, 0], "frame.kind: 6 is not a legal value".to_owned()),
        (Side::Client, vec![3, 0, 0, 2, 0, 0], "end.length: 2 bytes where 8 are needed".to_owned()),
        (Side::Client, hello(7, b"a", b"0"), "hello.version: 7 is not 2".to_owned()),
        (Side::Client, hello(2, b"../x", b"0"), format!("hello.client: {rule}")),
        (Side::Client, hello(2, b"\xff", b"0"), "hello.client: not UTF-8".to_owned()),
        (Side::Client, hello(2, b"a", b"zz"), "hello.token: must be 1 to 255 hexadecimal digits".to_owned()),
        (Side::Server, welcome(1, 1, 0), "welcome.wanted: 0 is not a legal value".to_owned()),
        (Side::Server, welcome(2, 1, 1), "welcome.limit: 1 is before 2, which is delivered".to_owned()),
        (Side::Server, vec![21, 0, 0, 1, 99], "refusal.code: 99 is not a legal value".to_owned()),
    ];
    for (side, bytes, expected) in cases {
        let error = decode(side, &bytes, &[]).expect_err(&expected);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn bounds() {
    let longest = [Got::Data(0, vec![7; MAX_DATA])];
    assert_eq!(decode(Side::Client, &encode(&longest), &[]), Ok((longest.to_vec(), true)));
    let text = "ä".repeat(MOST);
    let long = Got::Frame(GatherFrame::Refusal { code: RefusalCode::Output, text });
    let (got, _) = decode(Side::Server, &encode(&[long]), &[]).expect("cut between characters");
    assert!(matches!(&got[..], [Got::Frame(GatherFrame::Refusal { text, .. })] if text.len() == MOST));
    let cut = &encode(&longest)[..100];
    assert_eq!(decode(Side::Client, cut, &[]).map(|(_, between)| between), Ok(false));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn frames_are_these_bytes() {
    let hello = Hello {
        stream: StreamId(0x0102_0304_0506),
        acknowledged: 0x0708_090a,
        client: ClientName::parse("cam1").expect("a name"),
        token: Token::parse("c0ffee").expect("a token"),
    };
    let report = StripeReport { rtt_us: 1, rto_us: 2, sent: 3, resent: 0x0405_0607 };
    let welcome = GatherFrame::Welcome { epoch: Epoch(1), delivered: 2, limit: 3, wanted: 4 };
    let cases = [
        (
            Got::Frame(GatherFrame::Hello(hello)),
            "0100001e020000010203040506000000000708090a000463616d310663306666\
             6565",
        ),
        (Got::Data(0x0102_0304, vec![7, 8]), "0200000a00000000010203040708"),
        (Got::Frame(GatherFrame::End { length: 5 }), "030000080000000000000005"),
        (Got::Frame(GatherFrame::Report(report)), "0400001000000001000000020000000304050607"),
        (Got::Frame(GatherFrame::Leave), "05000000"),
        (Got::Frame(welcome), "1100001a0000000000000001000000000000000200000000000000030004"),
        (
            Got::Frame(GatherFrame::Delivered { delivered: 2, limit: 3 }),
            "1200001000000000000000020000000000000003",
        ),
        (Got::Frame(GatherFrame::Want { wanted: 4 }), "130000020004"),
        (Got::Frame(GatherFrame::Complete { length: 5 }), "140000080000000000000005"),
        (
            Got::Frame(GatherFrame::Refusal { code: RefusalCode::Late, text: "ä".to_owned() }),
            "1500000307c3a4",
        ),
    ];
    for (item, expected) in cases {
        assert_eq!(hex(&encode(&[item])), expected);
    }
}
