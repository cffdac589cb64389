//! The bytes of every payload, as docs/reference/protocol.md has them.

use std::net::{Ipv4Addr, SocketAddrV4};

use groupflow_base::BitRate;
use groupflow_session::control::*;
use groupflow_transport::ids::{MemberId, Seq, SessionId};
use groupflow_transport::nack::{Nack, PacketRange};
use groupflow_transport::terms::{Mode, Policy, Share};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn requests_are_these_bytes() {
    let request = RequestId(0x0102_0304);
    let join = |role| {
        let (name, token) = ("h1".to_owned(), "c0de".to_owned());
        Request::Join(JoinRequest {
            role,
            start: StartAt::Resume,
            request,
            name,
            token,
            port: 0x1234,
            target: BitRate(0x99),
        })
    };
    let about = MemberId(0x0506);
    let report = Report { kind: ReportKind::CacheFull, about, value: 0x0708_090a, request };
    let cases = [
        (join(Role::Receiver), "02020102030402683104633064650000000000000099"),
        (join(Role::Listener), "04020102030402683104633064651234"),
        (Request::Leave { request, reason: LeaveReason::Aborted }, "0102030401"),
        (Request::Keepalive { request, next: 5, repairs: 6 }, "010203040000000500000006"),
        (Request::Query(request), "01020304"),
        (Request::Report(report), "0405060708090a01020304"),
    ];
    for (message, expected) in cases {
        assert_eq!(hex(&message.encode()), expected, "{message:?}");
    }
}

#[test]
fn replies_are_these_bytes() {
    let (member, source, window) = (MemberId(0x0102), MemberId(0x0304), 0x0506_0708);
    let (mode, policy, rate) = (Mode::NodeToNode, Policy::Isolate, BitRate(0x1122_3344_5566));
    let joined = Joined {
        member,
        source,
        window,
        rate,
        mode,
        policy,
        keepalive_ms: 0x090a,
        receivers: 0x0b0c,
        start_seq: Seq(0x0d0e_0f10),
    };
    let (what, text) = (NoticeKind::MemberLost, "h1".to_owned());
    let notice = Notice { what, about: member, text: text.clone(), receivers: 7, rate };
    let session = SessionId(0x0001_0203);
    let delegated = Delegated {
        session,
        source,
        active: true,
        mode,
        policy,
        window,
        branches: 3,
        max_bytes: 0x0a0b_0c0d_0e0f,
        rate,
        shares: Vec::new(),
    };
    let to = SocketAddrV4::new(Ipv4Addr::new(10, 0, 2, 1), 0x6767);
    let shares = vec![Share { to, rate: BitRate(0x0203), bytes: 0x0405 }];
    let cases = [
        (Answer::Joined(joined), "010a0b0c0d010203040506070800001122334455660101090a0b0c0d0e0f10"),
        (Answer::Refused { code: Refusal::Expired, text }, "020a0b0c0d06026831"),
        (Answer::Alive { receivers: 8, sources: 9 }, "030a0b0c0d000809"),
        (Answer::Unknown, "040a0b0c0d"),
        (Answer::Notice(notice), "050a0b0c0d03010202683100070000112233445566"),
        (
            Answer::Delegated(delegated.clone()),
            "060a0b0c0d00010203030401010105060708000300000a0b0c0d0e0f00001122\
                 33445566",
        ),
        (
            Answer::Delegated(Delegated { shares, ..delegated }),
            "060a0b0c0d00010203030401010105060708000300000a0b0c0d0e0f00001122\
                 334455660a000201676700000000000002030000\
                 0405",
        ),
        (Answer::Left, "070a0b0c0d"),
    ];
    for (answer, expected) in cases {
        let reply = Reply { request: RequestId(0x0a0b_0c0d), answer };
        assert_eq!(hex(&reply.encode()), expected, "{reply:?}");
    }
}

#[test]
fn a_nack_is_these_bytes() {
    let range = |first, last| PacketRange { first: Seq(first), last: Seq(last) };
    let nack = Nack { next: Seq(1), ranges: vec![range(2, 3), range(5, 0x0102_0304)] };
    assert_eq!(hex(&nack.encode()), "0000000100000002000000030000000501020304");
}
