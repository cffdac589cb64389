//! Every state of a membership against every input.

use groupflow_base::{BitRate, Nanos};
use groupflow_session::control::{
    Answer, JoinRequest, Joined, LeaveReason, Notice, NoticeKind, Refusal, Reply, ReportKind, Request,
    RequestId, Role, StartAt,
};
use groupflow_session::member::{Member, MemberConfig, MemberEvent, MembershipState, Purpose};
use groupflow_transport::terms::{Mode, Policy};
use groupflow_transport::wire::{GroupPacket, Kind};
use groupflow_transport::{MemberId, Seq, SessionId};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const KEEPALIVE: Nanos = Nanos::from_millis(1000);
const PATIENCE: Nanos = Nanos::from_secs(10);
const START: Nanos = Nanos::from_secs(100);

/// A member, and the latest request of each kind that it sent.
struct Subject {
    member: Member,
    now: Nanos,
    last: Option<(Kind, RequestId, Seq, MemberId, Option<JoinRequest>)>,
}

impl Subject {
    fn new() -> Subject {
        let config = MemberConfig {
            session: SessionId(5),
            name: "mb1".to_owned(),
            token: "aa".to_owned(),
            patience: Some(PATIENCE),
            seed: 77,
        };
        let purpose = Purpose { start: StartAt::Start, ..Purpose::new(Role::Receiver) };
        let member = Member::new(START, config, purpose, &mut ChaCha8Rng::seed_from_u64(77));
        Subject { member, now: START, last: None }
    }

    /// A member in the given state.
    fn in_state(state: MembershipState) -> Subject {
        let mut subject = Subject::new();
        subject.pump();
        if state == MembershipState::Joining {
            return subject;
        }
        subject.answer(joined());
        if state == MembershipState::Joined {
            subject.drain();
            return subject;
        }
        subject.member.leave(START, LeaveReason::Done);
        subject.pump();
        if state == MembershipState::Over {
            subject.answer(Answer::Left);
        }
        subject.drain();
        assert_eq!(subject.member.state, state);
        subject
    }

    fn pump(&mut self) -> usize {
        let mut sent = 0;
        while let Some(transmit) = self.member.poll_transmit(self.now) {
            let packet = GroupPacket::parse(&transmit.bytes).expect("own packets parse");
            let request = Request::parse(packet.header.kind, packet.payload).expect("own requests parse");
            let (id, join) = match &request {
                Request::Join(m) => (m.request, Some(m.clone())),
                Request::Leave { request, .. } => (*request, None),
                Request::Keepalive { request, .. } => (*request, None),
                Request::Query(request) => (*request, None),
                Request::Report(m) => (m.request, None),
            };
            self.last = Some((packet.header.kind, id, packet.header.seq, packet.header.member, join));
            sent += 1;
        }
        sent
    }

    fn answer(&mut self, answer: Answer) {
        let request = self.last.as_ref().map_or(RequestId(0), |last| last.1);
        self.member.handle(self.now, &Reply { request, answer });
    }

    fn after(&mut self, span: Nanos) -> usize {
        self.now = START + span;
        self.pump()
    }

    fn drain(&mut self) -> Vec<MemberEvent> {
        std::iter::from_fn(|| self.member.poll_event()).collect()
    }
}

fn joined() -> Answer {
    Answer::Joined(Joined {
        member: MemberId(3),
        source: MemberId(1),
        window: 100,
        rate: BitRate(0),
        mode: Mode::EndToEnd,
        policy: Policy::Strict,
        keepalive_ms: KEEPALIVE.as_millis() as u16,
        receivers: 1,
        start_seq: Seq::FIRST,
    })
}

fn refused() -> Answer {
    Answer::Refused { code: Refusal::WrongToken, text: "no".to_owned() }
}

fn notice(what: NoticeKind) -> Answer {
    Answer::Notice(Notice { what, about: MemberId(9), text: "x".to_owned(), receivers: 4, rate: BitRate(0) })
}

const ALIVE: Answer = Answer::Alive { receivers: 1, sources: 1 };

#[test]
fn every_input_in_every_state() {
    use MembershipState::{Joined as In, Joining, Leaving, Over};
    type Input = (&'static str, fn(&mut Subject));
    let inputs: [Input; 10] = [
        ("leave", |s| s.member.leave(START, LeaveReason::Done)),
        ("JOINED", |s| s.answer(joined())),
        ("REFUSED", |s| s.answer(refused())),
        ("ALIVE", |s| s.answer(ALIVE)),
        ("UNKNOWN", |s| s.answer(Answer::Unknown)),
        ("LEFT", |s| s.answer(Answer::Left)),
        ("NOTICE lost", |s| s.answer(notice(NoticeKind::MemberLost))),
        ("NOTICE deleted", |s| s.answer(notice(NoticeKind::SessionDeleted))),
        ("a second", |s| _ = s.after(Nanos::from_secs(1))),
        ("much time", |s| _ = s.after(PATIENCE)),
    ];
    // One row an input, one column a state: Joining, Joined, Leaving, Over. In Joined the
    // request that is answered is the KEEPALIVE.
    let table: [[MembershipState; 4]; 10] = [
        [Leaving, Leaving, Leaving, Over],
        [In, In, Leaving, Over],
        [Over, In, Leaving, Over],
        [Joining, In, Leaving, Over],
        [Joining, Joining, Over, Over],
        [Joining, In, Over, Over],
        [Joining, In, Leaving, Over],
        [Over, Over, Leaving, Over],
        [Joining, In, Over, Over],
        [Over, In, Over, Over],
    ];
    for ((name, input), row) in inputs.iter().zip(table) {
        for (from, expected) in [Joining, In, Leaving, Over].into_iter().zip(row) {
            let mut subject = Subject::in_state(from);
            if from == In {
                subject.now = START + KEEPALIVE;
                assert_eq!(subject.pump(), 1, "a KEEPALIVE to answer");
            }
            input(&mut subject);
            assert_eq!(subject.member.state, expected, "{name} in {from:?}");
        }
    }
}

#[test]
fn an_answer_to_another_request_changes_nothing() {
    for (state, answer) in [
        (MembershipState::Joining, joined()),
        (MembershipState::Joining, refused()),
        (MembershipState::Joined, Answer::Unknown),
        (MembershipState::Leaving, Answer::Left),
    ] {
        let mut subject = Subject::in_state(state);
        let other = RequestId(12345);
        subject.member.handle(START, &Reply { request: other, answer: answer.clone() });
        assert_eq!(subject.member.state, state, "{answer:?}");
    }
}

#[test]
fn requests_are_repeated_every_200_ms_until_answered() {
    let mut subject = Subject::in_state(MembershipState::Joining);
    assert_eq!(subject.after(Nanos::from_millis(199)), 0);
    assert_eq!(subject.member.next_deadline(), Some(START + Nanos::from_millis(200)));
    assert_eq!(subject.after(Nanos::from_millis(200)), 1);
    assert_eq!(subject.after(Nanos::from_millis(400)), 1);
    subject.answer(joined());
    assert_eq!(subject.after(Nanos::from_millis(600)), 0);
    assert_eq!(subject.member.id, MemberId(3));
}

#[test]
fn who_is_forgotten_joins_again_where_it_was() {
    let mut subject = Subject::in_state(MembershipState::Joined);
    subject.member.set_position(4711, 12);
    assert_eq!(subject.after(KEEPALIVE), 1);
    subject.answer(Answer::Unknown);
    assert_eq!(subject.pump(), 1);
    let (kind, _, seq, member, join) = subject.last.clone().expect("a request");
    assert_eq!((kind, seq, member), (Kind::Join, Seq(4711), MemberId(3)));
    let join = join.expect("a JOIN");
    assert_eq!((join.start, join.name.as_str(), join.token.as_str()), (StartAt::Resume, "mb1", "aa"));
    subject.answer(joined());
    let again = subject.drain().into_iter().any(|e| matches!(e, MemberEvent::Joined { again: true, .. }));
    assert!(again);
}

#[test]
fn a_rejoin_is_never_given_up() {
    let mut subject = Subject::in_state(MembershipState::Joined);
    subject.after(KEEPALIVE);
    subject.answer(Answer::Unknown);
    subject.after(Nanos::from_secs(100));
    assert_eq!(subject.member.state, MembershipState::Joining);
}

#[test]
fn a_silent_controller_is_told_once_and_when_it_is_back() {
    let mut subject = Subject::in_state(MembershipState::Joined);
    for tenths in 1..100 {
        subject.after(Nanos::from_millis(100 * tenths));
    }
    let silences: Vec<MemberEvent> = subject.drain();
    assert_eq!(silences, [MemberEvent::ControllerSilent(Nanos::from_secs(3))]);
    assert!(subject.member.silent);
    subject.answer(ALIVE);
    assert_eq!(
        subject.drain(),
        [MemberEvent::ControllerBack, MemberEvent::Alive { receivers: 1, sources: 1 }]
    );
}

#[test]
fn reports_are_repeated_until_answered() {
    let mut subject = Subject::in_state(MembershipState::Joined);
    subject.member.report(START, MemberId(1), ReportKind::Complete, MemberId(3), 9);
    assert_eq!(subject.pump(), 1);
    assert_eq!(subject.last.as_ref().map(|l| l.0), Some(Kind::Report));
    assert_eq!(subject.after(Nanos::from_millis(200)), 1);
    subject.answer(ALIVE);
    assert_eq!(subject.after(Nanos::from_millis(400)), 0);
}
