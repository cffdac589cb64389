//! Packets that a host forges for another one: the other takes none of them.

use std::net::{Ipv4Addr, SocketAddrV4};

use groupflow_base::{BitRate, Datagram, Machine, Nanos};
use groupflow_session::control::{Answer, Joined, Notice, NoticeKind, Reply, Request, RequestId, StartAt};
use groupflow_session::{
    Endpoint, MemberConfig, MemberEvent, ReceiveConfig, ReceiveEvent, Receiving, SendConfig, Sending,
};
use groupflow_transport::source::Source;
use groupflow_transport::terms::{Mode, Policy};
use groupflow_transport::wire::{GroupPacket, Header, Kind};
use groupflow_transport::{MemberId, Seq, SessionId};

const SESSION: SessionId = SessionId(7);
const GATEWAY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, 254), 26_470);
const FORGER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, 66), 26_470);
const NOW: Nanos = Nanos::from_secs(1);

fn member() -> MemberConfig {
    let (name, token) = ("h1".to_owned(), String::new());
    MemberConfig { session: SESSION, name, token, patience: None, seed: 7 }
}

/// The id of the request that an endpoint sends.
fn asked(endpoint: &mut impl Machine) -> RequestId {
    let sent = endpoint.poll_transmit(NOW).expect("a request");
    let packet = GroupPacket::parse(&sent.bytes).expect("own packets parse");
    match Request::parse(packet.header.kind, packet.payload) {
        Ok(Request::Join(join)) => join.request,
        other => panic!("{other:?} is no JOIN"),
    }
}

fn reply(request: RequestId, answer: Answer) -> Vec<u8> {
    Header::new(Kind::Reply, SESSION, MemberId(1)).encode(&Reply { request, answer }.encode())
}

fn joined(request: RequestId) -> Vec<u8> {
    let joined = Joined {
        member: MemberId(1),
        source: MemberId(1),
        window: 64,
        rate: BitRate(0),
        mode: Mode::EndToEnd,
        policy: Policy::Strict,
        keepalive_ms: 500,
        receivers: 1,
        start_seq: Seq::ZERO,
    };
    reply(request, Answer::Joined(joined))
}

fn deleted() -> Vec<u8> {
    let (what, about, text) = (NoticeKind::SessionDeleted, MemberId::NONE, String::new());
    reply(RequestId(0), Answer::Notice(Notice { what, about, text, receivers: 0, rate: BitRate(0) }))
}

fn receiver() -> (Endpoint<Receiving>, RequestId) {
    let config =
        ReceiveConfig { source: MemberId(1), start: StartAt::Now, datagrams: false, target: BitRate(0) };
    let mut endpoint = Endpoint::receiving(NOW, member(), config);
    let request = asked(&mut endpoint);
    (endpoint, request)
}

#[test]
fn the_controllers_word_comes_from_the_address_that_answered() {
    let (mut endpoint, request) = receiver();
    assert!(endpoint.handle(NOW, Datagram { from: GATEWAY, bytes: &joined(request) }).is_ok());
    assert!(endpoint.handle(NOW, Datagram { from: FORGER, bytes: &deleted() }).is_err());
    while let Some(event) = endpoint.poll_event() {
        assert!(!matches!(event, ReceiveEvent::Member(MemberEvent::Failed(_))), "{event:?}");
    }
    assert!(!endpoint.has_ended());
    assert!(endpoint.handle(NOW, Datagram { from: GATEWAY, bytes: &deleted() }).is_ok());
    assert!(endpoint.has_ended());
}

/// As when another gateway takes over, or a controller is started elsewhere.
#[test]
fn an_answer_from_elsewhere_moves_the_controllers_address() {
    let (mut endpoint, request) = receiver();
    assert!(endpoint.handle(NOW, Datagram { from: GATEWAY, bytes: &joined(request) }).is_ok());
    let later = NOW + Nanos::from_secs(1);
    let sent = std::iter::from_fn(|| endpoint.poll_transmit(later));
    let keepalive = sent.filter_map(|sent| {
        let packet = GroupPacket::parse(&sent.bytes).ok()?;
        match Request::parse(packet.header.kind, packet.payload) {
            Ok(Request::Keepalive { request, .. }) => Some(request),
            _ => None,
        }
    });
    let request = keepalive.last().expect("a keepalive");
    let other = SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, 253), 26_470);
    let alive = reply(request, Answer::Alive { receivers: 1, sources: 1 });
    assert!(endpoint.handle(later, Datagram { from: other, bytes: &alive }).is_ok());
    assert!(endpoint.handle(later, Datagram { from: GATEWAY, bytes: &deleted() }).is_err());
    assert!(endpoint.handle(later, Datagram { from: other, bytes: &deleted() }).is_ok());
    assert!(endpoint.has_ended());
}

#[test]
fn before_the_answer_nothing_is_taken_that_was_not_asked_for() {
    let (mut endpoint, request) = receiver();
    let guesses = [deleted(), joined(RequestId(request.0.wrapping_add(1)))];
    for bytes in &guesses {
        assert!(endpoint.handle(NOW, Datagram { from: FORGER, bytes }).is_ok());
    }
    assert!(!endpoint.has_ended() && endpoint.poll_event().is_none());
    assert!(endpoint.handle(NOW, Datagram { from: GATEWAY, bytes: &joined(request) }).is_ok());
    assert!(matches!(endpoint.poll_event(), Some(ReceiveEvent::Member(MemberEvent::Joined { .. }))));
}

#[test]
fn an_acknowledgement_of_what_was_not_sent_changes_nothing_and_is_counted() {
    let config = SendConfig { receivers: 1, cap: BitRate(0) };
    let mut endpoint =
        Endpoint::<Sending>::sending(NOW, member(), config, Source::stream(1 << 16, Seq::FIRST));
    let request = asked(&mut endpoint);
    assert!(endpoint.handle(NOW, Datagram { from: GATEWAY, bytes: &joined(request) }).is_ok());
    assert_eq!(
        endpoint.poll_transmit(NOW).and_then(|_| endpoint.written().map(|w| w.write(b"data"))),
        Some(4)
    );
    while endpoint.poll_transmit(NOW).is_some() {}
    assert_eq!(endpoint.stats().outstanding, 1);
    let ack = |seq| Header { seq, ..Header::new(Kind::Ack, SESSION, MemberId(1)) }.encode(&[]);
    for seq in [Seq(3), Seq(u32::MAX - 1)] {
        assert!(endpoint.handle(NOW, Datagram { from: GATEWAY, bytes: &ack(seq) }).is_err());
    }
    assert_eq!((endpoint.stats().outstanding, endpoint.stats().acks_beyond), (1, 2));
    assert!(endpoint.handle(NOW, Datagram { from: GATEWAY, bytes: &ack(Seq(2)) }).is_ok());
    assert_eq!(endpoint.stats().outstanding, 0);
}
