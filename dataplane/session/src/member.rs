//! A host's membership: join, keep alive, leave, and join again when the controller forgot.
//!
//! ```text
//!            JOINED                  leave              LEFT or timeout
//!   Joining ----------> Joined ------------> Leaving ---------------> Over
//!    |  ^                 |                     ^
//!    |  +-----------------+ UNKNOWN             | leave (also from Joining)
//!    | REFUSED            |
//!    | or timeout         | session deleted
//!    +-> Over <-----------+
//! ```

use std::collections::{BTreeMap, VecDeque};

use groupflow_base::{BitRate, Nanos, Transmit};
use groupflow_transport::wire::{Header, Kind};
use groupflow_transport::{MemberId, Seq, SessionId};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use crate::caching::PendingRequests;
use crate::control::{
    Answer, JoinRequest, Joined, LeaveReason, Notice, NoticeKind, Refusal, Reply, Report, ReportKind,
    Request, RequestId, Role, StartAt,
};

/// A LEAVE without an answer is given up after this.
const LEAVE_PATIENCE: Nanos = Nanos::from_secs(1);
/// The controller counts as silent after this many keepalive periods, and at least this long.
const SILENT_PERIODS: u64 = 3;
const SILENT_MIN: Nanos = Nanos::from_secs(2);
/// The most members about which the last notice is remembered.
const NOTICES: usize = 1024;

/// A host that joins a session.
#[derive(Debug, Clone)]
pub struct MemberConfig {
    /// The session; 0 for a cache agent.
    pub session: SessionId,
    pub name: String,
    pub token: String,
    /// Give up joining after this; `None`: never.
    pub patience: Option<Nanos>,
    /// Seeds the request ids and the random delays.
    pub seed: u64,
}

impl MemberConfig {
    /// The randomness of the member and of its transport.
    pub(crate) fn rng(&self) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(self.seed)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Purpose {
    pub role: Role,
    /// The stream to receive; 0 leaves it to the controller.
    pub source: MemberId,
    /// The place at which a receiver begins.
    pub start: StartAt,
    /// The TCP port of a listener; 0 for others.
    pub port: u16,
    /// The rate that a receiver wants; 0: none.
    pub target: BitRate,
}

impl Purpose {
    /// The purpose of a member in this role, which begins with the packets that are sent from now on.
    pub fn new(role: Role) -> Purpose {
        Purpose { role, source: MemberId::NONE, start: StartAt::Now, port: 0, target: BitRate(0) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MembershipState {
    /// JOIN is on its way.
    Joining,
    Joined,
    /// LEAVE is on its way.
    Leaving,
    /// Ended, by whichever side.
    Over,
}

/// The reason why a membership ends unasked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MemberError {
    #[error("refused by the controller: {text}")]
    Refused { code: Refusal, text: String },
    #[error("no answer from the controller")]
    JoinTimeout,
    #[error("the session was deleted")]
    SessionDeleted,
    /// The controller put this member out, for the reason that it gives.
    #[error("put out of the session: {0}")]
    PutOut(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberEvent {
    /// The host was taken in, or taken in `again`; it `took` this long from the first JOIN to the answer.
    Joined {
        joined: Joined,
        again: bool,
        took: Nanos,
    },
    /// The controller counts this many receivers, and this many senders: none where a receiver's own has
    /// left.
    Alive {
        receivers: u16,
        sources: u8,
    },
    /// Something happened in the session.
    Notice(Notice),
    /// The controller has not answered for this long.
    ControllerSilent(Nanos),
    ControllerBack,
    /// The membership ended, not as asked.
    Failed(MemberError),
    /// The membership ended as asked.
    Left,
}

/// The membership of one host in one session.
#[derive(Debug)]
pub struct Member {
    config: MemberConfig,
    purpose: Purpose,
    pub state: MembershipState,
    /// The member id; 0 before the first JOINED.
    pub id: MemberId,
    pub(crate) pending: PendingRequests,
    /// The request whose answer moves the state.
    awaited: RequestId,
    entered: Nanos,
    keepalive: Nanos,
    keepalive_due: Nanos,
    keepalive_id: Option<RequestId>,
    last_answer: Nanos,
    /// Whether the controller has not answered for long.
    pub silent: bool,
    /// The next packet to be sent or to be acknowledged (0: not known) and repairs, for KEEPALIVE and for
    /// resuming.
    position: (u32, u32),
    /// The last notice about each member: the controller repeats notices, as some are lost.
    notices: BTreeMap<MemberId, NoticeKind>,
    events: VecDeque<MemberEvent>,
}

impl Member {
    /// A member that asks at once to be taken in. Its request ids begin anywhere.
    pub fn new(now: Nanos, config: MemberConfig, purpose: Purpose, rng: &mut impl Rng) -> Member {
        let mut member = Member {
            config,
            purpose,
            state: MembershipState::Joining,
            id: MemberId::NONE,
            pending: PendingRequests::new(rng.gen()),
            awaited: RequestId(0),
            entered: Nanos::ZERO,
            keepalive: Nanos::from_secs(1),
            keepalive_due: Nanos::MAX,
            keepalive_id: None,
            last_answer: Nanos::ZERO,
            silent: false,
            position: (0, 0),
            notices: BTreeMap::new(),
            events: VecDeque::new(),
        };
        member.send_join(now);
        member
    }

    pub fn session(&self) -> SessionId {
        self.config.session
    }

    /// Whether the controller has answered within the last two keepalives: it still counts on this member.
    pub fn is_current(&self, now: Nanos) -> bool {
        self.state == MembershipState::Joined && now - self.last_answer <= Nanos(2 * self.keepalive.0)
    }

    /// Tells where the stream is, for the next KEEPALIVE.
    pub fn set_position(&mut self, next: u32, repairs: u32) {
        self.position = (next, repairs);
    }

    /// Notes the stream that a receiver follows, which its requests name from now on.
    pub fn set_source(&mut self, source: MemberId) {
        self.purpose.source = source;
    }

    /// Sends a report to the controller. Does nothing except in [`MembershipState::Joined`].
    pub fn report(&mut self, now: Nanos, source: MemberId, kind: ReportKind, about: MemberId, value: u32) {
        if self.state != MembershipState::Joined {
            return;
        }
        let header = Header { source, ..self.header() };
        let report = |request| Request::Report(Report { kind, about, value, request });
        self.pending.send(now, header, report);
    }

    pub fn leave(&mut self, now: Nanos, reason: LeaveReason) {
        match self.state {
            MembershipState::Joining | MembershipState::Joined => {
                self.pending.clear();
                let leave = |request| Request::Leave { request, reason };
                let request = self.pending.send(now, self.header(), leave);
                self.enter(now, MembershipState::Leaving, request);
            }
            MembershipState::Leaving | MembershipState::Over => {}
        }
    }

    /// Takes the controller's word.
    pub fn handle(&mut self, now: Nanos, reply: &Reply) {
        if self.state == MembershipState::Over {
            return;
        }
        let expected = self.pending.answered(reply.request);
        self.heard(now);
        let awaited = expected && reply.request == self.awaited;
        match (&reply.answer, self.state) {
            (Answer::Joined(joined), MembershipState::Joining) if awaited => self.taken_in(now, *joined),
            (Answer::Refused { code, text }, MembershipState::Joining) if awaited => {
                let error = MemberError::Refused { code: *code, text: text.clone() };
                self.end(MemberEvent::Failed(error));
            }
            (Answer::Unknown, MembershipState::Joined) if expected => self.send_join(now),
            (&Answer::Alive { receivers, sources }, MembershipState::Joined) if expected => {
                if self.keepalive_id == Some(reply.request) {
                    self.keepalive_id = None;
                }
                self.events.push_back(MemberEvent::Alive { receivers, sources });
            }
            (Answer::Left | Answer::Unknown, MembershipState::Leaving) if awaited => {
                self.end(MemberEvent::Left)
            }
            (Answer::Notice(notice), MembershipState::Joining | MembershipState::Joined) => {
                self.notice(notice)
            }
            _ => {}
        }
    }

    fn taken_in(&mut self, now: Nanos, joined: Joined) {
        let again = self.id != MemberId::NONE;
        let took = now - self.entered;
        self.id = joined.member;
        self.keepalive = Nanos::from_millis(u64::from(joined.keepalive_ms.max(10)));
        self.keepalive_due = now + self.keepalive;
        self.keepalive_id = None;
        self.enter(now, MembershipState::Joined, RequestId(0));
        self.events.push_back(MemberEvent::Joined { joined, again, took });
    }

    fn notice(&mut self, notice: &Notice) {
        if notice.about != MemberId::NONE {
            if self.notices.len() >= NOTICES {
                self.notices.clear();
            }
            if self.notices.insert(notice.about, notice.what) == Some(notice.what) {
                return;
            }
        }
        self.events.push_back(MemberEvent::Notice(notice.clone()));
        let is_own = notice.about == self.id && self.id != MemberId::NONE;
        match notice.what {
            NoticeKind::SessionDeleted => self.end(MemberEvent::Failed(MemberError::SessionDeleted)),
            NoticeKind::MemberLost if is_own => {
                self.end(MemberEvent::Failed(MemberError::PutOut(notice.text.clone())));
            }
            _ => {}
        }
    }

    fn send_join(&mut self, now: Nanos) {
        self.pending.clear();
        let again = self.id != MemberId::NONE;
        let resume = again && self.purpose.role == Role::Receiver;
        let (Purpose { role, start, port, target, .. }, config) = (self.purpose, &self.config);
        let (start, name) = (if resume { StartAt::Resume } else { start }, config.name.clone());
        let token = config.token.clone();
        let seq = if resume { Seq(self.position.0) } else { Seq::ZERO };
        let header = Header { seq, ..self.header() };
        let join = |request| Request::Join(JoinRequest { role, start, request, name, token, port, target });
        let request = self.pending.send(now, header, join);
        if !again {
            self.last_answer = now;
        }
        self.enter(now, MembershipState::Joining, request);
    }

    /// The header of a request, but for its kind.
    fn header(&self) -> Header {
        let source = match self.purpose.role {
            Role::Sender => self.id,
            Role::Receiver | Role::Cache | Role::Listener => self.purpose.source,
        };
        Header { member: self.id, ..Header::new(Kind::Join, self.config.session, source) }
    }

    fn enter(&mut self, now: Nanos, state: MembershipState, awaited: RequestId) {
        self.state = state;
        self.entered = now;
        self.awaited = awaited;
    }

    fn end(&mut self, event: MemberEvent) {
        self.pending.clear();
        self.state = MembershipState::Over;
        self.events.push_back(event);
    }

    fn heard(&mut self, now: Nanos) {
        self.last_answer = now;
        if self.silent {
            self.silent = false;
            self.events.push_back(MemberEvent::ControllerBack);
        }
    }

    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        self.expire(now);
        if self.state == MembershipState::Joined && self.keepalive_due <= now {
            self.send_keepalive(now);
        }
        self.pending.poll_transmit(now)
    }

    fn send_keepalive(&mut self, now: Nanos) {
        // One KEEPALIVE at a time, the newest: its figures are worth more than the old one's.
        if let Some(old) = self.keepalive_id.take() {
            self.pending.answered(old);
        }
        let (next, repairs) = self.position;
        let keepalive = |request| Request::Keepalive { request, next, repairs };
        self.keepalive_id = Some(self.pending.send(now, self.header(), keepalive));
        self.keepalive_due = now + self.keepalive;
    }

    /// Acts on answers that did not come in time.
    fn expire(&mut self, now: Nanos) {
        match self.state {
            MembershipState::Joining if self.id == MemberId::NONE => {
                let patience = self.config.patience.unwrap_or(Nanos::MAX);
                if now - self.entered >= patience {
                    return self.end(MemberEvent::Failed(MemberError::JoinTimeout));
                }
            }
            MembershipState::Leaving if now - self.entered >= LEAVE_PATIENCE => {
                return self.end(MemberEvent::Left)
            }
            MembershipState::Over => return,
            MembershipState::Joining | MembershipState::Joined | MembershipState::Leaving => {}
        }
        let quiet = now - self.last_answer;
        if !self.silent && quiet >= self.silence() {
            self.silent = true;
            self.events.push_back(MemberEvent::ControllerSilent(quiet));
        }
    }

    fn silence(&self) -> Nanos {
        Nanos(self.keepalive.0.saturating_mul(SILENT_PERIODS)).max(SILENT_MIN)
    }

    pub fn next_deadline(&self) -> Option<Nanos> {
        let state = match self.state {
            MembershipState::Over => return None,
            MembershipState::Joining if self.id == MemberId::NONE => {
                self.config.patience.map(|p| self.entered + p)
            }
            MembershipState::Joining => None,
            MembershipState::Joined => Some(self.keepalive_due),
            MembershipState::Leaving => Some(self.entered + LEAVE_PATIENCE),
        };
        let silence = (!self.silent).then(|| self.last_answer + self.silence());
        [state, silence, self.pending.next_deadline()].into_iter().flatten().min()
    }

    pub fn poll_event(&mut self) -> Option<MemberEvent> {
        self.events.pop_front()
    }
}
