//! Properties of the parsers: nothing from outside panics, and an encoded message is parsed as it was.

use std::net::{Ipv4Addr, SocketAddrV4};

use groupflow_base::{BitRate, CodecError, Datagram, Machine, Nanos};
use groupflow_session::control::{
    Answer, Delegated, JoinRequest, Joined, LeaveReason, Notice, NoticeKind, Refusal, Reply, Report,
    ReportKind, Request, RequestId, Role, StartAt,
};
use groupflow_session::{Endpoint, MemberConfig, ReceiveConfig, SendConfig};
use groupflow_transport::nack::{Nack, PacketRange};
use groupflow_transport::source::Source;
use groupflow_transport::terms::{Mode, Policy, Share};
use groupflow_transport::testing::header;
use groupflow_transport::wire::{GroupPacket, Header, Kind};
use groupflow_transport::{MemberId, Seq, SessionId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn request() -> impl Strategy<Value = Request> {
    let id = any::<u32>().prop_map(RequestId);
    prop_oneof![
        (
            select(Role::ALL),
            select(StartAt::ALL),
            id.clone(),
            ".{0,60}",
            "[0-9a-f]{0,64}",
            any::<(u16, u64)>()
        )
            .prop_map(|(role, start, request, name, token, (port, target))| {
                let port = if role == Role::Listener { port } else { 0 };
                let target = BitRate(if role == Role::Receiver { target } else { 0 });
                Request::Join(JoinRequest { role, start, request, name, token, port, target })
            }),
        (id.clone(), select(LeaveReason::ALL))
            .prop_map(|(request, reason)| Request::Leave { request, reason }),
        (id.clone(), any::<u32>(), any::<u32>())
            .prop_map(|(request, next, repairs)| { Request::Keepalive { request, next, repairs } }),
        id.clone().prop_map(Request::Query),
        (select(ReportKind::ALL), any::<u16>(), any::<u32>(), id).prop_map(
            |(kind, about, value, request)| {
                Request::Report(Report { kind, about: MemberId(about), value, request })
            }
        ),
    ]
}

fn joined() -> impl Strategy<Value = Answer> {
    let ids = (any::<u16>(), any::<u16>(), any::<u16>(), any::<u16>());
    (ids, any::<u32>(), any::<u64>(), select(Mode::ALL), select(Policy::ALL), any::<u32>()).prop_map(
        |((member, source, keepalive_ms, receivers), window, rate, mode, policy, start)| {
            Answer::Joined(Joined {
                member: MemberId(member),
                source: MemberId(source),
                window,
                rate: BitRate(rate),
                mode,
                policy,
                keepalive_ms,
                receivers,
                start_seq: Seq(start),
            })
        },
    )
}

fn delegated() -> impl Strategy<Value = Answer> {
    let ids = (any::<u32>(), any::<u16>(), any::<bool>(), any::<u16>());
    let sizes = (any::<u32>(), any::<u64>(), any::<u64>(), vec(share(), 0..4));
    (ids, sizes, select(Mode::ALL), select(Policy::ALL)).prop_map(
        |((session, source, active, branches), (window, max_bytes, rate, shares), mode, policy)| {
            Answer::Delegated(Delegated {
                session: SessionId(session),
                source: MemberId(source),
                active,
                mode,
                policy,
                window,
                branches,
                max_bytes,
                rate: BitRate(rate),
                shares,
            })
        },
    )
}

fn share() -> impl Strategy<Value = Share> {
    (any::<u32>(), any::<u16>(), any::<u64>(), any::<u32>()).prop_map(|(ip, port, rate, bytes)| Share {
        to: SocketAddrV4::new(ip.into(), port),
        rate: BitRate(rate),
        bytes,
    })
}

fn reply() -> impl Strategy<Value = Reply> {
    let answer = prop_oneof![
        joined(),
        delegated(),
        (select(Refusal::ALL), ".{0,60}").prop_map(|(code, text)| Answer::Refused { code, text }),
        (any::<u16>(), any::<u8>()).prop_map(|(receivers, sources)| Answer::Alive { receivers, sources }),
        Just(Answer::Unknown),
        Just(Answer::Left),
        (select(NoticeKind::ALL), any::<u16>(), ".{0,60}", any::<u16>(), any::<u64>()).prop_map(
            |(what, about, text, receivers, rate)| {
                let rate = BitRate(rate);
                Answer::Notice(Notice { what, about: MemberId(about), text, receivers, rate })
            }
        ),
    ];
    (any::<u32>(), answer).prop_map(|(id, answer)| Reply { request: RequestId(id), answer })
}

proptest! {
    #[test]
    fn requests_round_trip(request in request()) {
        prop_assert_eq!(Request::parse(request.kind(), &request.encode()), Ok(request));
    }

    #[test]
    fn replies_round_trip(reply in reply()) {
        prop_assert_eq!(Reply::parse(&reply.encode()), Ok(reply));
    }

    #[test]
    fn truncated_messages_are_refused(request in request(), reply in reply(), cut in 1..8_usize) {
        let bytes = request.encode();
        prop_assert!(Request::parse(request.kind(), &bytes[..bytes.len().saturating_sub(cut)]).is_err());
        let bytes = reply.encode();
        prop_assert!(Reply::parse(&bytes[..bytes.len().saturating_sub(cut)]).is_err());
    }

    #[test]
    fn random_bytes_never_panic(kind in select(Kind::ALL), bytes in vec(any::<u8>(), 0..200)) {
        let _ = GroupPacket::parse(&bytes);
        let _ = Request::parse(kind, &bytes);
        let _ = Reply::parse(&bytes);
        let _ = Nack::parse(&bytes);
    }

    /// Whatever well-formed packets come, the machines neither panic nor run away.
    #[test]
    fn machines_survive_any_packets(
        headers in vec((header(), prop_oneof![
            vec(any::<u8>(), 0..40),
            reply().prop_map(|r| r.encode()),
            // Up to twelve packets, early in a stream.
            (0..60_u32, 0..12_u32).prop_map(|(first, more)| {
                let range = PacketRange { first: Seq(first), last: Seq(first + more) };
                Nack { next: range.first, ranges: vec![range] }.encode()
            }),
        ]), 0..40),
        near in any::<bool>(),
    ) {
        let mut machines = machines();
        let mut now = Nanos::from_secs(1);
        for (mut header, payload) in headers {
            header.session = SessionId(1);
            if near {
                header.source = MemberId(1);
                header.seq = Seq(header.seq.0 % 64);
            }
            let bytes = header.encode(&payload);
            for machine in &mut machines {
                step(machine.as_mut(), now, &bytes);
            }
            now += Nanos::from_millis(7);
        }
    }
}

/// Three machines, of which sender and receiver have joined as member 1 and as its receiver.
fn machines() -> Vec<Box<dyn Machine<Error = CodecError>>> {
    let now = Nanos::from_secs(1);
    let mut source = Source::stream(1 << 16, Seq::FIRST);
    source.written().expect("a stream").write(&[7; 50_000]);
    let member = |seed| MemberConfig {
        session: SessionId(1),
        name: "x".to_owned(),
        token: String::new(),
        patience: None,
        seed,
    };
    let send = SendConfig { receivers: 1, cap: BitRate(0) };
    let receive =
        ReceiveConfig { source: MemberId::NONE, start: StartAt::Now, datagrams: false, target: BitRate(0) };
    let mut machines: Vec<Box<dyn Machine<Error = CodecError>>> = vec![
        Box::new(Endpoint::sending(now, member(1), send, source)),
        Box::new(Endpoint::receiving(now, member(2), receive)),
        Box::new(Endpoint::caching(now, member(3), 10_000)),
    ];
    machines.iter_mut().for_each(|machine| admit(machine.as_mut(), now));
    machines
}

fn handle(machine: &mut dyn Machine<Error = CodecError>, now: Nanos, bytes: &[u8]) {
    let _ = machine.handle(now, Datagram { from: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9), bytes });
}

/// Answers the machine's JOIN.
fn admit(machine: &mut dyn Machine<Error = CodecError>, now: Nanos) {
    let bytes = machine.poll_transmit(now).expect("a JOIN").bytes;
    let packet = GroupPacket::parse(&bytes).expect("a packet");
    let Ok(Request::Join(join)) = Request::parse(packet.header.kind, packet.payload) else {
        panic!("no JOIN");
    };
    let joined = Joined {
        member: MemberId(1),
        source: MemberId(1),
        window: 64,
        rate: BitRate(0),
        mode: Mode::NodeToNode,
        policy: Policy::Isolate,
        keepalive_ms: 1000,
        receivers: 1,
        start_seq: Seq::FIRST,
    };
    let reply = Reply { request: join.request, answer: Answer::Joined(joined) };
    let header = Header::new(Kind::Reply, packet.header.session, MemberId::NONE);
    handle(machine, now, &header.encode(&reply.encode()));
}

fn step(machine: &mut dyn Machine<Error = CodecError>, now: Nanos, bytes: &[u8]) {
    handle(machine, now, bytes);
    let mut sent = 0;
    while machine.poll_transmit(now).is_some() {
        sent += 1;
        assert!(sent < 5_000, "the machine does not come to rest");
    }
}
