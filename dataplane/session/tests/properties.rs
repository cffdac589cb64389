//! Properties of the parsers (nothing from outside panics, what is encoded is parsed) and of the
//! interval set (it behaves as a plain set of numbers).

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddrV4};

use groupflow_base::{BitRate, Datagram, Nanos};
use groupflow_session::cache::{CacheAgent, CacheConfig};
use groupflow_session::control::{
    Answer, Delegated, Join, Joined, Keepalive, Leave, LeaveReason, Mode, Notice, NoticeKind, Policy, Query,
    Refusal, Reply, Report, ReportKind, Request, RequestId, Role, StartAt,
};
use groupflow_session::intervals::IntervalSet;
use groupflow_session::nack::{Nack, Range};
use groupflow_session::receiver::{Receiver, ReceiverConfig};
use groupflow_session::sender::{Sender, SenderConfig};
use groupflow_session::source::Source;
use groupflow_session::wire::{Flags, Header, Kind, Packet};
use groupflow_session::{MemberId, Seq, SessionId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn header() -> impl Strategy<Value = Header> {
    let ids = (0..=SessionId::MAX.0, any::<u16>(), any::<u16>());
    let rest = (0..32_u8, any::<u8>(), any::<u32>(), any::<u32>());
    (select(&Kind::ALL[..]), ids, rest).prop_map(
        |(kind, (session, source, member), (flags, poll, seq, stamp))| Header {
            kind,
            flags: Flags(flags),
            poll,
            session: SessionId(session),
            source: MemberId(source),
            member: MemberId(member),
            seq: Seq(seq),
            stamp,
        },
    )
}

fn request() -> impl Strategy<Value = Request> {
    let id = any::<u32>().prop_map(RequestId);
    prop_oneof![
        (select(Role::ALL), select(StartAt::ALL), id.clone(), ".{0,60}", "[0-9a-f]{0,64}", any::<u16>())
            .prop_map(|(role, start, request, name, token, port)| {
                let port = if role == Role::Listener { port } else { 0 };
                Request::Join(Join { role, start, request, name, token, port })
            }),
        (id.clone(), select(LeaveReason::ALL))
            .prop_map(|(request, reason)| Request::Leave(Leave { request, reason })),
        (id.clone(), any::<u32>(), any::<u32>()).prop_map(|(request, next, repairs)| {
            Request::Keepalive(Keepalive { request, next, repairs })
        }),
        id.clone().prop_map(|request| Request::Query(Query { request })),
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
    let sizes = (any::<u32>(), any::<u64>(), any::<u64>());
    (ids, sizes, select(Mode::ALL), select(Policy::ALL)).prop_map(
        |((session, source, active, branches), (window, max_bytes, rate), mode, policy)| {
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
            })
        },
    )
}

fn reply() -> impl Strategy<Value = Reply> {
    let answer = prop_oneof![
        joined(),
        delegated(),
        (select(Refusal::ALL), ".{0,60}").prop_map(|(code, text)| Answer::Refused { code, text }),
        (any::<u16>(), any::<u8>()).prop_map(|(receivers, sources)| Answer::Alive { receivers, sources }),
        Just(Answer::Unknown),
        Just(Answer::Left),
        (select(NoticeKind::ALL), any::<u16>(), ".{0,60}", any::<u16>()).prop_map(
            |(what, about, text, receivers)| {
                Answer::Notice(Notice { what, about: MemberId(about), text, receivers })
            }
        ),
    ];
    (any::<u32>(), answer).prop_map(|(id, answer)| Reply { request: RequestId(id), answer })
}

fn range() -> impl Strategy<Value = Range> {
    (0..60_u32, 0..12_u32).prop_map(|(first, more)| Range { first: Seq(first), last: Seq(first + more) })
}

proptest! {
    #[test]
    fn packets_round_trip(header in header(), payload in vec(any::<u8>(), 0..1448)) {
        let bytes = header.encode(&payload);
        prop_assert_eq!(Packet::parse(&bytes), Ok(Packet { header, payload: &payload }));
    }

    #[test]
    fn a_damaged_header_is_refused(header in header(), at in 0..24_usize, bit in 0..8_u8) {
        let mut bytes = header.encode(b"payload");
        bytes[at] ^= 1 << bit;
        prop_assert!(Packet::parse(&bytes).is_err());
    }

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
    fn random_bytes_never_panic(kind in select(&Kind::ALL[..]), bytes in vec(any::<u8>(), 0..200)) {
        let _ = Packet::parse(&bytes);
        let _ = Request::parse(kind, &bytes);
        let _ = Reply::parse(&bytes);
        let _ = Nack::parse(&bytes);
    }

    #[test]
    fn nacks_round_trip(next in any::<u32>(), steps in vec((1..1000_u32, 0..1000_u32), 0..64)) {
        let mut at = 0;
        let ranges = steps
            .iter()
            .map(|&(gap, more)| {
                let first = at + gap;
                at = first + more;
                Range { first: Seq(first), last: Seq(at) }
            })
            .collect();
        let nack = Nack { next: Seq(next), ranges };
        prop_assert_eq!(Nack::parse(&nack.encode()), Ok(nack));
    }

    #[test]
    fn the_interval_set_is_a_set(steps in vec((any::<bool>(), range()), 0..60)) {
        let mut set = IntervalSet::new(usize::MAX);
        let mut model: BTreeSet<u32> = BTreeSet::new();
        for (add, range) in steps {
            let numbers = range.first.0..=range.last.0;
            if add {
                prop_assert!(set.insert(range));
                model.extend(numbers);
            } else {
                set.remove(range);
                model.retain(|n| !numbers.contains(n));
            }
            let ranges: Vec<Range> = set.iter().collect();
            let members: Vec<u32> = ranges.iter().flat_map(|r| r.first.0..=r.last.0).collect();
            prop_assert_eq!(&members, &model.iter().copied().collect::<Vec<_>>());
            prop_assert!(ranges.windows(2).all(|w| w[0].last.0 + 1 < w[1].first.0), "not maximal");
            prop_assert_eq!(set.count(), model.len() as u64);
            prop_assert_eq!(set.first().map(|s| s.0), model.first().copied());
            prop_assert!((0..80).all(|n| set.contains(Seq(n)) == model.contains(&n)));
        }
        prop_assert_eq!(set.pop_first().map(|s| s.0), model.pop_first());
    }

    #[test]
    fn the_interval_set_is_bounded(ranges in vec(range(), 0..60)) {
        let mut set = IntervalSet::new(3);
        for range in ranges {
            set.insert(range);
            prop_assert!(set.iter().count() <= 3);
        }
    }

    /// Whatever well-formed packets come, the machines neither panic nor run away.
    #[test]
    fn machines_survive_any_packets(
        headers in vec((header(), prop_oneof![
            vec(any::<u8>(), 0..40),
            reply().prop_map(|r| r.encode()),
            range().prop_map(|r| Nack { next: r.first, ranges: vec![r] }.encode()),
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
                machine.step(now, &bytes);
            }
            now += Nanos::from_millis(7);
        }
    }
}

enum Machine {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
    Cache(Box<CacheAgent>),
}

/// Three machines, of which sender and receiver have joined as member 1 and as its receiver.
fn machines() -> Vec<Machine> {
    let now = Nanos::from_secs(1);
    let (name, token) = ("x".to_owned(), String::new());
    let mut source = Source::stream(1 << 16, Seq::FIRST);
    if let Source::Written(written) = &mut source {
        written.write(&[7; 50_000]);
    }
    let sender = SenderConfig {
        session: SessionId(1),
        name: name.clone(),
        token: token.clone(),
        receivers: 1,
        cap: BitRate(0),
        first: Seq::FIRST,
        join_patience: None,
        seed: 1,
    };
    let receiver = ReceiverConfig {
        session: SessionId(1),
        source: MemberId::NONE,
        name: name.clone(),
        token: token.clone(),
        start: StartAt::Now,
        datagrams: false,
        join_patience: None,
        seed: 2,
    };
    let cache = CacheConfig { name, token, max_bytes: 10_000, seed: 3 };
    let mut machines = vec![
        Machine::Sender(Box::new(Sender::new(now, sender, source))),
        Machine::Receiver(Box::new(Receiver::new(now, receiver))),
        Machine::Cache(Box::new(CacheAgent::new(now, cache))),
    ];
    for machine in &mut machines {
        machine.admit(now);
    }
    machines
}

impl Machine {
    fn transmit(&mut self, now: Nanos) -> Option<Vec<u8>> {
        match self {
            Machine::Sender(m) => m.poll_transmit(now),
            Machine::Receiver(m) => m.poll_transmit(now),
            Machine::Cache(m) => m.poll_transmit(now),
        }
        .map(|transmit| transmit.bytes)
    }

    fn handle(&mut self, now: Nanos, bytes: &[u8]) {
        let datagram = Datagram { from: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9), bytes };
        let _ = match self {
            Machine::Sender(m) => m.handle(now, datagram),
            Machine::Receiver(m) => m.handle(now, datagram),
            Machine::Cache(m) => m.handle(now, datagram),
        };
    }

    /// Answers the machine's JOIN.
    fn admit(&mut self, now: Nanos) {
        let bytes = self.transmit(now).expect("a JOIN");
        let packet = Packet::parse(&bytes).expect("a packet");
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
        self.handle(now, &header.encode(&reply.encode()));
    }

    fn step(&mut self, now: Nanos, bytes: &[u8]) {
        self.handle(now, bytes);
        let mut sent = 0;
        while self.transmit(now).is_some() {
            sent += 1;
            assert!(sent < 5_000, "the machine does not come to rest");
        }
    }
}
