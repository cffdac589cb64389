use groupflow_base::{BitRate, CodecError, Datagram, Machine, Nanos};
use groupflow_session::control::{
    Answer, Joined, LeaveReason, Notice, NoticeKind, Reply, Request, Role, StartAt,
};
use groupflow_session::endpoint::Endpoint;
use groupflow_session::member::{MemberConfig, MemberEvent};
use groupflow_session::Listening;
use groupflow_transport::terms::{Mode, Policy};
use groupflow_transport::wire::{GroupPacket, Header, Kind};
use groupflow_transport::{MemberId, Seq, SessionId};

const NOW: Nanos = Nanos::from_secs(9);

fn listener() -> Endpoint<Listening> {
    let (name, token) = ("mb1".to_owned(), "c0ffee".to_owned());
    let member = MemberConfig { session: SessionId(7), name, token, patience: None, seed: 3 };
    Endpoint::listening(NOW, member, 9000, StartAt::Start)
}

fn sent(listener: &mut Endpoint<Listening>) -> Request {
    let bytes = listener.poll_transmit(NOW).expect("a request").bytes;
    let packet = GroupPacket::parse(&bytes).expect("own packets parse");
    Request::parse(packet.header.kind, packet.payload).expect("own requests parse")
}

fn answer(listener: &mut Endpoint<Listening>, session: u32, reply: &Reply) -> Result<(), CodecError> {
    let bytes = Header::new(Kind::Reply, SessionId(session), MemberId::NONE).encode(&reply.encode());
    let from = std::net::SocketAddrV4::new([10, 0, 0, 254].into(), 1);
    listener.handle(NOW, Datagram { from, bytes: &bytes })
}

#[test]
fn it_joins_with_its_port_and_leaves() {
    let mut subject = listener();
    let Request::Join(join) = sent(&mut subject) else { panic!("a JOIN comes first") };
    assert_eq!((join.role, join.start, join.port), (Role::Listener, StartAt::Start, 9000));
    let joined = Joined {
        member: MemberId(4),
        source: MemberId::NONE,
        window: 1,
        rate: BitRate(0),
        mode: Mode::EndToEnd,
        policy: Policy::Strict,
        keepalive_ms: 500,
        receivers: 1,
        start_seq: Seq::ZERO,
    };
    let reply = Reply { request: join.request, answer: Answer::Joined(joined) };
    assert!(answer(&mut subject, 8, &reply).is_err(), "another session's");
    answer(&mut subject, 7, &reply).expect("well formed");
    assert!(matches!(subject.poll_event(), Some(MemberEvent::Joined { again: false, .. })));
    let notice = |what, about| Notice {
        what,
        about: MemberId(about),
        text: String::new(),
        receivers: 0,
        rate: BitRate(0),
    };
    assert!(subject.lost(&notice(NoticeKind::MemberLost, 4)));
    assert!(!subject.lost(&notice(NoticeKind::MemberLost, 5)));
    assert!(!subject.lost(&notice(NoticeKind::MemberLeft, 4)));
    subject.leave(NOW, LeaveReason::Done);
    let Request::Leave { request, .. } = sent(&mut subject) else { panic!("a LEAVE") };
    answer(&mut subject, 7, &Reply { request, answer: Answer::Left }).expect("well formed");
    assert!(subject.has_ended());
}
