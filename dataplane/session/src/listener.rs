//! Who takes a session's streams as TCP connections: a membership, and nothing else. The streams come from the
//! session agent beside the member's switch, to an ordinary listening program.

use groupflow_base::{Datagram, Nanos, Transmit};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::control::{LeaveReason, Notice, NoticeKind, Reply, Role, StartAt};
use crate::ids::{MemberId, SessionId};
use crate::member::{Member, MemberConfig, MemberEvent, State};
use crate::wire::{Kind, Packet, WireError};

/// Who listens where.
#[derive(Debug, Clone)]
pub struct ListenerConfig {
    /// The session.
    pub session: SessionId,
    /// The member's name.
    pub name: String,
    /// The session's token.
    pub token: String,
    /// The TCP port where a program of this host listens.
    pub port: u16,
    /// Where it begins in a stream that is under way when it joins.
    pub start: StartAt,
    /// Give up joining after this; `None`: never.
    pub join_patience: Option<Nanos>,
    /// Seeds the request ids.
    pub seed: u64,
}

/// The membership of a listener.
#[derive(Debug)]
pub struct Listener {
    member: Member,
    session: SessionId,
}

impl Listener {
    /// A listener that joins at once.
    pub fn new(now: Nanos, config: ListenerConfig) -> Listener {
        let mut member = Member::new(MemberConfig {
            session: config.session,
            source: MemberId::NONE,
            role: Role::Listener,
            start: config.start,
            name: config.name,
            token: config.token,
            port: config.port,
            patience: config.join_patience,
            first_request: ChaCha8Rng::seed_from_u64(config.seed).gen(),
        });
        member.join(now);
        Listener { member, session: config.session }
    }

    /// Takes a datagram in. What is no group packet of this session is refused.
    pub fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), WireError> {
        let packet = Packet::parse(datagram.bytes)?;
        let header = packet.header;
        if header.session != self.session {
            return Err(WireError::Value { field: "session", value: header.session.0.into() });
        }
        if header.kind == Kind::Reply {
            self.member.handle(now, &Reply::parse(packet.payload)?);
        }
        Ok(())
    }

    /// Whether a notice says that this very member was put out: its session agent could not serve it.
    pub fn lost(&self, notice: &Notice) -> bool {
        notice.what == NoticeKind::MemberLost
            && notice.about == self.member.id()
            && notice.about != MemberId::NONE
    }

    /// The next packet to send.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        self.member.poll_transmit(now)
    }

    /// When [`Listener::poll_transmit`] has something to do next.
    pub fn next_deadline(&self) -> Option<Nanos> {
        self.member.next_deadline()
    }

    /// Leaves the session.
    pub fn leave(&mut self, now: Nanos, reason: LeaveReason) {
        self.member.leave(now, reason);
    }

    /// Whether the membership has ended: nothing more will be sent.
    pub fn over(&self) -> bool {
        self.member.state() == State::Over
    }

    /// What happened since the last call.
    pub fn events(&mut self) -> impl Iterator<Item = MemberEvent> + '_ {
        self.member.events()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Answer, Joined, Mode, Policy, Request};
    use crate::ids::Seq;
    use crate::wire::Header;
    use groupflow_base::BitRate;

    const NOW: Nanos = Nanos::from_secs(9);

    fn listener() -> Listener {
        Listener::new(
            NOW,
            ListenerConfig {
                session: SessionId(7),
                name: "mb1".to_owned(),
                token: "c0ffee".to_owned(),
                port: 9000,
                start: StartAt::Start,
                join_patience: None,
                seed: 3,
            },
        )
    }

    fn sent(listener: &mut Listener) -> Request {
        let bytes = listener.poll_transmit(NOW).expect("a request").bytes;
        let packet = Packet::parse(&bytes).expect("own packets parse");
        Request::parse(packet.header.kind, packet.payload).expect("own requests parse")
    }

    fn answer(listener: &mut Listener, session: u32, reply: &Reply) -> Result<(), WireError> {
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
        assert!(matches!(subject.events().next(), Some(MemberEvent::Joined { again: false, .. })));
        let notice = |what, about| Notice { what, about: MemberId(about), text: String::new(), receivers: 0 };
        assert!(subject.lost(&notice(NoticeKind::MemberLost, 4)));
        assert!(!subject.lost(&notice(NoticeKind::MemberLost, 5)));
        assert!(!subject.lost(&notice(NoticeKind::MemberLeft, 4)));
        subject.leave(NOW, LeaveReason::Done);
        let Request::Leave(leave) = sent(&mut subject) else { panic!("a LEAVE") };
        answer(&mut subject, 7, &Reply { request: leave.request, answer: Answer::Left })
            .expect("well formed");
        assert!(subject.over());
    }
}
