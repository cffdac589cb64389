//! Messages of hub and rim: encoded and parsed again, refused, arbitrary bytes.

use std::net::{Ipv4Addr, SocketAddrV4};

use groupflow_base::{Datagram, Machine, Nanos};
use groupflow_bone::machine::message::{
    Body, DataPacket, Message, Parameters, Reception, Round, MAX_PACKET, SILENCES_S, WAITS_MS,
};
use groupflow_bone::machine::{FileName, Hub, Method, Repair, Rim, RimConfig, RimId, TransferId, Verdict};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::world::config;

fn spans() -> impl Strategy<Value = Vec<std::ops::Range<u64>>> {
    vec((0..1000_u64, 1..1000_u64), 0..60).prop_map(|steps| {
        let mut from = 0;
        let span = |(gap, length)| {
            let offset = from + gap;
            from = offset + length;
            offset..from
        };
        steps.into_iter().map(span).collect()
    })
}

fn control() -> impl Strategy<Value = Parameters> {
    let how = (
        select(&[Method::Scheduled, Method::Unscheduled, Method::Unicast][..]),
        select(&[Repair::GoBackN, Repair::Selective][..]),
    );
    let numbers =
        (any::<u64>(), 0..=0o777_u16, 1..=21_u16, 1..500_u16, any::<u32>(), any::<u16>(), any::<u16>());
    let waits = (WAITS_MS, WAITS_MS, SILENCES_S);
    (how, numbers, waits, any::<[u8; 32]>(), file_name()).prop_map(
        |(
            (method, repair),
            (size, mode, units, per_round, interval_us, grace_ms, window_ms),
            (join_ms, result_ms, silence_s),
            digest,
            name,
        )| {
            let packet = units * 64;
            Parameters {
                method,
                repair,
                size,
                mode,
                packet,
                per_round,
                interval_us,
                grace_ms,
                window_ms,
                join_ms,
                result_ms,
                silence_s,
                digest,
                name,
            }
        },
    )
}

const VERDICTS: [Verdict; 4] = [Verdict::Queued, Verdict::Unknown, Verdict::Busy, Verdict::Unreadable];

fn file_name() -> impl Strategy<Value = FileName> {
    let names = "[a-zA-Zäß日0-9_-][a-zA-Zäß日0-9 ._-]{0,40}";
    names.prop_map(|name| FileName::parse(&name).expect("a name"))
}

fn body() -> impl Strategy<Value = Body> {
    let rim = any::<u32>().prop_map(RimId);
    prop_oneof![
        any::<u16>().prop_map(|spread_ms| Body::IpmSend { spread_ms }),
        rim.clone().prop_map(|rim| Body::Join { rim }),
        control().prop_map(Body::Control),
        (any::<u32>(), 1..=MAX_PACKET, 1..u16::MAX, any::<u64>())
            .prop_map(|(round, packet, count, first)| Body::Round(Round { round, packet, count, first })),
        (any::<u32>(), any::<u16>(), 0..u64::MAX / 2, vec(any::<u8>(), 1..300)).prop_map(
            |(round, number, offset, bytes)| Body::Data(DataPacket { round, number, offset, bytes })
        ),
        (rim.clone(), any::<u32>(), any::<u64>(), spans()).prop_map(|(rim, round, rate, lacks)| {
            let complete = lacks.is_empty();
            Body::Result(Reception { rim, round, complete, rate, lacks })
        }),
        (any::<u32>(), spans()).prop_map(|(round, lacks)| Body::Heard { round, lacks }),
        (any::<u32>(), vec(rim.clone(), 0..200)).prop_map(|(round, awaited)| Body::Poll { round, awaited }),
        (rim, any::<bool>()).prop_map(|(rim, complete)| Body::Leave { rim, complete }),
        any::<bool>().prop_map(|complete| Body::End { complete }),
        (any::<u32>(), file_name()).prop_map(|(rim, name)| Body::Ask { rim: RimId(rim), name }),
        (any::<u32>(), file_name(), select(&VERDICTS[..])).prop_map(|(rim, name, verdict)| Body::Answer {
            rim: RimId(rim),
            name,
            verdict
        }),
        Just(Body::Here),
    ]
}

const HUB: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 7000);

proptest! {
    #[test]
    fn messages_round_trip_and_never_cut(transfer in any::<u32>(), body in body(), cut in any::<usize>()) {
        let message = Message { transfer: TransferId(transfer), body };
        let bytes = message.encode();
        prop_assert_eq!(Message::parse(&bytes), Ok(message.clone()));
        let cut = cut % bytes.len();
        // Data may be shorter; everything else is refused.
        let parsed = Message::parse(&bytes[..cut]);
        prop_assert!(parsed.is_err() || matches!(message.body, Body::Data(_)), "{parsed:?}");
    }

    /// There is one way to write a message: nothing that a parser would not have written passes.
    #[test]
    fn altered_control_parameters_are_refused_or_are_what_they_say(
        control in control(), edits in vec((any::<usize>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = Message { transfer: TransferId(1), body: Body::Control(control) }.encode();
        for (at, byte) in edits {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        if let Ok(message) = Message::parse(&bytes) {
            prop_assert_eq!(message.encode(), bytes);
            if let Body::Control(control) = message.body {
                prop_assert!(WAITS_MS.contains(&control.join_ms) && WAITS_MS.contains(&control.result_ms));
                prop_assert!(SILENCES_S.contains(&control.silence_s));
            }
        }
    }

    /// A machine takes any messages in any order: nothing panics, and memory is bounded.
    #[test]
    fn no_messages_harm_a_rim_or_a_hub(
        bodies in vec((0..2_u32, body()), 0..40), bytes in vec(any::<u8>(), 0..200), kind in 0..15_u8,
    ) {
        let mut rim = Rim::new(RimConfig { id: RimId(1), max_size: 1 << 20, seed: 1, forgets: false });
        let mut hub = Hub::new(config(Method::Scheduled, Repair::GoBackN, 1));
        let mut now = Nanos::ZERO;
        let mut framed = vec![0xb2, kind, 0, 0, 0, 1];
        framed.extend(&bytes);
        let messages = bodies.into_iter().map(|(transfer, body)| {
            Message { transfer: TransferId(transfer), body }.encode()
        });
        for bytes in messages.chain([bytes, framed]) {
            now += Nanos::from_millis(500);
            let _ = rim.handle(now, Datagram { from: HUB, bytes: &bytes });
            let _ = hub.handle(now, Datagram { from: HUB, bytes: &bytes });
            (0..20).for_each(|_| { rim.poll_transmit(now); hub.poll_transmit(now); });
            while rim.next_write().is_some() {}
            prop_assert!(rim.pieces() <= 4096);
        }
    }
}

#[test]
fn refusals_name_the_field() {
    let control = |edit: &dyn Fn(&mut Vec<u8>)| {
        let name = FileName::parse("abc").expect("a name");
        let control = Parameters {
            method: Method::Scheduled,
            repair: Repair::Selective,
            size: 1000,
            mode: 0o644,
            packet: 64,
            per_round: 16,
            interval_us: 1000,
            grace_ms: 100,
            window_ms: 0,
            join_ms: 1000,
            result_ms: 1000,
            silence_s: 60,
            digest: [0; 32],
            name,
        };
        let mut bytes = Message { transfer: TransferId(1), body: Body::Control(control) }.encode();
        edit(&mut bytes);
        bytes
    };
    let name_at = 6 + 2 + 8 + 2 + 2 + 2 + 4 + 2 + 2 + 2 + 2 + 2 + 32 + 1;
    let timeouts_at = 6 + 2 + 8 + 2 + 2 + 2 + 4 + 2 + 2;
    let spans = |pairs: &[(u64, u64)]| {
        let mut bytes = vec![0xb2, 7, 0, 0, 0, 1, 0, 0, 0, 1, pairs.len() as u8];
        for (offset, length) in pairs {
            bytes.extend(offset.to_be_bytes());
            bytes.extend(length.to_be_bytes());
        }
        bytes
    };
    let overlap = "heard.lacks: spans are empty, overlap or end beyond the longest file";
    let cases = [
        (vec![], "version: 0 bytes where 1 are needed"),
        (vec![2, 1, 0, 0, 0, 0], "version: 2 is not a legal value"),
        (vec![0xb2, 0, 0, 0, 0, 0], "kind: 0 is not a legal value"),
        (vec![0xb2, 14, 0, 0, 0, 0], "kind: 14 is not a legal value"),
        (vec![0xb2, 2, 0, 0, 0, 0, 1], "join.rim: 1 bytes where 4 are needed"),
        (vec![0xb2, 2, 0, 0, 0, 0, 1, 1, 1, 1, 1], "message: 1 bytes too many"),
        (vec![0xb2, 10, 0, 0, 0, 0, 2], "end.complete: 2 is not a legal value"),
        (vec![0xb2, 11, 0, 0, 0, 0, 0, 0, 0, 1, 2, b'.', b'.'], "ask.name: must not begin with a dot"),
        (vec![0xb2, 12, 0, 0, 0, 0, 0, 0, 0, 1, 9, 1, b'a'], "answer.verdict: 9 is not a legal value"),
        (control(&|bytes| bytes[6] = 9), "control.method: 9 is not a legal value"),
        (control(&|bytes| bytes[7] = 0), "control.repair: 0 is not a legal value"),
        (control(&|bytes| bytes[16] = 8), "control.mode: 2212 is not a legal value"),
        (control(&|bytes| bytes[19] = 0), "control.packet: 0 is not a legal value"),
        (control(&|bytes| bytes[21] = 0), "control.per_round: 0 is not a legal value"),
        (control(&|bytes| bytes[timeouts_at..][..2].fill(0)), "control.join_ms: 0 is not a legal value"),
        (control(&|bytes| bytes[timeouts_at] = 0xff), "control.join_ms: 65512 is not a legal value"),
        (
            control(&|bytes| bytes[timeouts_at + 2..][..2].fill(0)),
            "control.result_ms: 0 is not a legal value",
        ),
        (control(&|bytes| bytes[timeouts_at + 5] = 4), "control.silence_s: 4 is not a legal value"),
        (control(&|bytes| bytes[timeouts_at + 4] = 3), "control.silence_s: 828 is not a legal value"),
        (control(&|bytes| bytes[name_at] = b'.'), "control.name: must not begin with a dot"),
        (
            control(&|bytes| bytes[name_at + 1] = b'/'),
            "control.name: must not leave its directory: no slash, backslash or control character",
        ),
        (control(&|bytes| bytes[name_at] = 0xff), "control.name: not UTF-8"),
        (spans(&[(0, 0)]), overlap),
        (spans(&[(10, 5), (14, 1)]), overlap),
        (spans(&[(u64::MAX, 1)]), overlap),
    ];
    for (bytes, expected) in cases {
        let error = Message::parse(&bytes).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn messages_are_these_bytes() {
    let (rim, name) = (RimId(0x0102_0304), FileName::parse("abc").expect("a name"));
    let control = Parameters {
        method: Method::Unscheduled,
        repair: Repair::Selective,
        size: 0x0102_0304_0506,
        mode: 0o644,
        packet: 0x0400,
        per_round: 0x0102,
        interval_us: 0x0304_0506,
        grace_ms: 0x0708,
        window_ms: 0x090a,
        join_ms: 0x0b0c,
        result_ms: 0x0d0e,
        silence_s: 0x010f,
        digest: [0xee; 32],
        name: name.clone(),
    };
    let lacks = vec![1..3, 5..0x0102_0304_050b];
    let data = DataPacket { round: 1, number: 2, offset: 4, bytes: vec![5, 6] };
    let result = Reception { rim, round: 1, complete: false, rate: 3, lacks: lacks.clone() };
    let cases = [
        (Body::IpmSend { spread_ms: 0x0102 }, "b2010a0b0c0d0102"),
        (Body::Join { rim }, "b2020a0b0c0d01020304"),
        (
            Body::Control(control),
            "b2030a0b0c0d0202000001020304050601a404000102030405060708090a0b0c\
                 0d0e010feeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee\
                 eeeeeeee03616263",
        ),
        (
            Body::Round(Round { round: 1, packet: 2, count: 3, first: 4 }),
            "b2040a0b0c0d00000001000200030000000000000004",
        ),
        (Body::Data(data), "b2050a0b0c0d000000010002000000000000000000040506"),
        (
            Body::Result(result),
            "b2060a0b0c0d0102030400000001000000000000000000000302000000000000\
                 0001000000000000000200000000000000050000010203040506",
        ),
        (
            Body::Heard { round: 1, lacks },
            "b2070a0b0c0d0000000102000000000000000100000000000000020000000000\
                 0000050000010203040506",
        ),
        (Body::Poll { round: 1, awaited: vec![rim, RimId(2)] }, "b2080a0b0c0d00000001020102030400000002"),
        (Body::Leave { rim, complete: true }, "b2090a0b0c0d0102030401"),
        (Body::End { complete: true }, "b20a0a0b0c0d01"),
        (Body::Ask { rim, name: name.clone() }, "b20b0a0b0c0d0102030403616263"),
        (Body::Answer { rim, name, verdict: Verdict::Busy }, "b20c0a0b0c0d010203040303616263"),
        (Body::Here, "b20d0a0b0c0d"),
    ];
    for (body, expected) in cases {
        let bytes = Message { transfer: TransferId(0x0a0b_0c0d), body }.encode();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
    }
}
