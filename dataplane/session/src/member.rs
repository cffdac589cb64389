//! A host's membership: join, keep alive, leave, and join again when the controller forgot.
//!
//! ```text
//!            join               JOINED                  leave              LEFT or timeout
//!   Idle ----------> Joining ----------> Joined ------------> Leaving ---------------> Over
//!                     |  ^                 |                     ^
//!             REFUSED |  +-----------------+ UNKNOWN             | leave (also from Joining)
//!          or timeout v                    | session deleted
//!                    Over <----------------+
//! ```

use std::collections::VecDeque;

use groupflow_base::{Nanos, Transmit};

use crate::control::{
    Answer, Join, Joined, Keepalive, Leave, LeaveReason, Notice, NoticeKind, Refusal, Reply, Report,
    ReportKind, Request, RequestId, Role, StartAt,
};
use crate::ids::{MemberId, Seq, SessionId};
use crate::outbox::Outbox;
use crate::wire::{Header, Kind};

/// A LEAVE without an answer is given up after this.
const LEAVE_PATIENCE: Nanos = Nanos::from_secs(1);
/// The controller counts as silent after this many keepalive periods, and at least this long.
const SILENT_PERIODS: u64 = 3;
const SILENT_MIN: Nanos = Nanos::from_secs(2);

/// Who joins what.
#[derive(Debug, Clone)]
pub struct MemberConfig {
    /// The session; 0 for a cache agent.
    pub session: SessionId,
    /// The stream to receive; 0 leaves it to the controller.
    pub source: MemberId,
    /// What the member does.
    pub role: Role,
    /// Where a receiver begins.
    pub start: StartAt,
    /// The member's name.
    pub name: String,
    /// The session's token.
    pub token: String,
    /// The TCP port of a listener; 0 for others.
    pub port: u16,
    /// Give up joining after this; `None`: never.
    pub patience: Option<Nanos>,
    /// The first request id.
    pub first_request: u32,
}

/// Where a membership stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not begun.
    Idle,
    /// JOIN is on its way.
    Joining,
    /// A member.
    Joined,
    /// LEAVE is on its way.
    Leaving,
    /// Ended, by whichever side.
    Over,
}

/// What a membership tells its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberEvent {
    /// Taken in (again).
    Joined {
        /// What the controller said.
        joined: Joined,
        /// It was a member before.
        again: bool,
        /// From the first JOIN to the answer.
        took: Nanos,
    },
    /// Not taken in.
    Refused {
        /// Why.
        code: Refusal,
        /// Why, in words.
        text: String,
    },
    /// JOIN was not answered in time.
    JoinTimeout,
    /// The controller counts this many receivers.
    Receivers(u16),
    /// Something happened in the session.
    Notice(Notice),
    /// No answer for this long.
    ControllerSilent(Nanos),
    /// It answers again.
    ControllerBack,
    /// The membership ended as asked.
    Left,
}

/// The membership of one host in one session.
#[derive(Debug)]
pub struct Member {
    config: MemberConfig,
    state: State,
    id: MemberId,
    outbox: Outbox,
    /// The request whose answer moves the state.
    awaited: RequestId,
    entered: Nanos,
    keepalive: Nanos,
    keepalive_due: Nanos,
    keepalive_id: Option<RequestId>,
    last_answer: Nanos,
    silent: bool,
    /// Next expected packet and repairs, for KEEPALIVE and for resuming.
    position: (u32, u32),
    events: VecDeque<MemberEvent>,
}

impl Member {
    /// A membership that has not begun.
    pub fn new(config: MemberConfig) -> Member {
        let outbox = Outbox::new(config.first_request);
        Member {
            config,
            state: State::Idle,
            id: MemberId::NONE,
            outbox,
            awaited: RequestId(0),
            entered: Nanos::ZERO,
            keepalive: Nanos::from_secs(1),
            keepalive_due: Nanos::MAX,
            keepalive_id: None,
            last_answer: Nanos::ZERO,
            silent: false,
            position: (1, 0),
            events: VecDeque::new(),
        }
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// The member id; 0 before the first JOINED.
    pub fn id(&self) -> MemberId {
        self.id
    }

    /// Whether the controller has not answered for long.
    pub fn controller_silent(&self) -> bool {
        self.silent
    }

    /// Asks to be taken in. Does nothing but in [`State::Idle`].
    pub fn join(&mut self, now: Nanos) {
        if self.state == State::Idle {
            self.send_join(now);
        }
    }

    /// Tells where the stream is, for the next KEEPALIVE.
    pub fn set_position(&mut self, next: u32, repairs: u32) {
        self.position = (next, repairs);
    }

    /// Tells the controller something. Does nothing but in [`State::Joined`].
    pub fn report(&mut self, now: Nanos, source: MemberId, kind: ReportKind, about: MemberId, value: u32) {
        if self.state != State::Joined {
            return;
        }
        let request = self.outbox.next_id();
        let report = Report { kind, about, value, request };
        let header = Header { source, ..self.header(Kind::Report) };
        self.outbox.push(now, request, header, &Request::Report(report));
    }

    /// Leaves. Whoever was not taken in is out at once.
    pub fn leave(&mut self, now: Nanos, reason: LeaveReason) {
        match self.state {
            State::Idle => self.over(MemberEvent::Left),
            State::Joining | State::Joined => {
                self.outbox.clear();
                let request = self.outbox.next_id();
                let leave = Leave { request, reason };
                self.outbox.push(now, request, self.header(Kind::Leave), &Request::Leave(leave));
                self.enter(now, State::Leaving, request);
            }
            State::Leaving | State::Over => {}
        }
    }

    /// Takes the controller's word.
    pub fn handle(&mut self, now: Nanos, reply: &Reply) {
        if matches!(self.state, State::Idle | State::Over) {
            return;
        }
        let expected = self.outbox.answered(reply.request);
        self.heard(now);
        let awaited = expected && reply.request == self.awaited;
        match (&reply.answer, self.state) {
            (Answer::Joined(joined), State::Joining) if awaited => self.taken_in(now, *joined),
            (Answer::Refused { code, text }, State::Joining) if awaited => {
                self.over(MemberEvent::Refused { code: *code, text: text.clone() });
            }
            (Answer::Unknown, State::Joined) if expected => self.send_join(now),
            (Answer::Alive { receivers, .. }, State::Joined) if expected => {
                if self.keepalive_id == Some(reply.request) {
                    self.keepalive_id = None;
                }
                self.events.push_back(MemberEvent::Receivers(*receivers));
            }
            (Answer::Left | Answer::Unknown, State::Leaving) if awaited => self.over(MemberEvent::Left),
            (Answer::Notice(notice), State::Joining | State::Joined) => self.notice(notice),
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
        self.enter(now, State::Joined, RequestId(0));
        self.events.push_back(MemberEvent::Joined { joined, again, took });
    }

    fn notice(&mut self, notice: &Notice) {
        self.events.push_back(MemberEvent::Notice(notice.clone()));
        if notice.what == NoticeKind::SessionDeleted {
            self.outbox.clear();
            self.state = State::Over;
        }
    }

    fn send_join(&mut self, now: Nanos) {
        self.outbox.clear();
        let request = self.outbox.next_id();
        let again = self.id != MemberId::NONE;
        let resume = again && self.config.role == Role::Receiver;
        let join = Join {
            role: self.config.role,
            start: if resume { StartAt::Resume } else { self.config.start },
            request,
            name: self.config.name.clone(),
            token: self.config.token.clone(),
            port: self.config.port,
        };
        let seq = if resume { Seq(self.position.0) } else { Seq::ZERO };
        let header = Header { seq, ..self.header(Kind::Join) };
        self.outbox.push(now, request, header, &Request::Join(join));
        if !again {
            self.last_answer = now;
        }
        self.enter(now, State::Joining, request);
    }

    fn header(&self, kind: Kind) -> Header {
        let source = match self.config.role {
            Role::Sender => self.id,
            Role::Receiver | Role::Cache | Role::Listener => self.config.source,
        };
        Header { member: self.id, ..Header::new(kind, self.config.session, source) }
    }

    fn enter(&mut self, now: Nanos, state: State, awaited: RequestId) {
        self.state = state;
        self.entered = now;
        self.awaited = awaited;
    }

    fn over(&mut self, event: MemberEvent) {
        self.outbox.clear();
        self.state = State::Over;
        self.events.push_back(event);
    }

    fn heard(&mut self, now: Nanos) {
        self.last_answer = now;
        if self.silent {
            self.silent = false;
            self.events.push_back(MemberEvent::ControllerBack);
        }
    }

    /// The next packet to send.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        self.expire(now);
        if self.state == State::Joined && self.keepalive_due <= now {
            self.send_keepalive(now);
        }
        self.outbox.poll_transmit(now)
    }

    fn send_keepalive(&mut self, now: Nanos) {
        // One KEEPALIVE at a time, the newest: its figures are worth more than the old one's.
        if let Some(old) = self.keepalive_id.take() {
            self.outbox.answered(old);
        }
        let request = self.outbox.next_id();
        let (next, repairs) = self.position;
        let keepalive = Keepalive { request, next, repairs };
        self.outbox.push(now, request, self.header(Kind::Keepalive), &Request::Keepalive(keepalive));
        self.keepalive_id = Some(request);
        self.keepalive_due = now + self.keepalive;
    }

    /// Acts on what did not come in time.
    fn expire(&mut self, now: Nanos) {
        match self.state {
            State::Joining if self.id == MemberId::NONE => {
                let patience = self.config.patience.unwrap_or(Nanos::MAX);
                if now - self.entered >= patience {
                    return self.over(MemberEvent::JoinTimeout);
                }
            }
            State::Leaving if now - self.entered >= LEAVE_PATIENCE => return self.over(MemberEvent::Left),
            State::Idle | State::Over => return,
            State::Joining | State::Joined | State::Leaving => {}
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

    /// When [`Member::poll_transmit`] has something to do next.
    pub fn next_deadline(&self) -> Option<Nanos> {
        let state = match self.state {
            State::Idle | State::Over => return None,
            State::Joining if self.id == MemberId::NONE => self.config.patience.map(|p| self.entered + p),
            State::Joining => None,
            State::Joined => Some(self.keepalive_due),
            State::Leaving => Some(self.entered + LEAVE_PATIENCE),
        };
        let silence = (!self.silent).then(|| self.last_answer + self.silence());
        [state, silence, self.outbox.next_deadline()].into_iter().flatten().min()
    }

    /// What happened since the last call.
    pub fn events(&mut self) -> impl Iterator<Item = MemberEvent> + '_ {
        self.events.drain(..)
    }
}
