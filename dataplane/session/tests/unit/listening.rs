use groupflow_base::{BitRate, CodecError, Datagram, Machine, Nanos};
use groupflow_session::control::{
    Answer, Joined, LeaveReason, Notice, NoticeKind, Reply, Request, RequestId, Role, StartAt,
};
use groupflow_session::endpoint::Endpoint;
use groupflow_session::member::{MemberConfig, MemberError, MemberEvent};
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

/// A listener that has joined as member 4.
fn joined() -> Endpoint<Listening> {
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
    subject
}

#[test]
fn it_ends_when_it_is_put_out_itself() {
    let mut subject = joined();
    let notice = |what, about| Notice {
        what,
        about: MemberId(about),
        text: "it does not read".to_owned(),
        receivers: 0,
        rate: BitRate(0),
    };
    let mut hear = |what, about| {
        let notice = notice(what, about);
        let reply = Reply { request: RequestId(0), answer: Answer::Notice(notice.clone()) };
        answer(&mut subject, 7, &reply).expect("well formed");
        assert_eq!(subject.poll_event(), Some(MemberEvent::Notice(notice)));
        subject.poll_event()
    };
    assert_eq!(hear(NoticeKind::MemberLost, 5), None);
    assert_eq!(hear(NoticeKind::MemberLeft, 4), None);
    let put_out = MemberError::PutOut("it does not read".to_owned());
    assert_eq!(hear(NoticeKind::MemberLost, 4), Some(MemberEvent::Failed(put_out)));
    assert!(subject.has_ended());
}

#[test]
fn it_leaves() {
    let mut subject = joined();
    subject.leave(NOW, LeaveReason::Done);
    let Request::Leave { request, .. } = sent(&mut subject) else { panic!("a LEAVE") };
    answer(&mut subject, 7, &Reply { request, answer: Answer::Left }).expect("well formed");
    assert!(subject.has_ended());
}
