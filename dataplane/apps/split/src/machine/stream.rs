//! One stream: its branches around its core, from the first byte to its end. `branches` has what befalls the
//! branches, `upstream` what is told upstream.

use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::sync::Arc;

use groupflow_base::{Nanos, StreamId};
use groupflow_transport::fanout::{BranchId, BranchStart, Fanout, FanoutError, Mode};
use groupflow_transport::terms::Policy;
use serde_json::{json, Value};

use super::branches::{Branch, BranchState};
use super::frame::Fault;
use super::sharing::Meter;
use super::spec::{BranchKind, LateStart, Replies, SessionSpec};
use super::tally::Tally;

/// Time within which members must end replies that nobody wants.
const GRACE: Nanos = Nanos::from_secs(10);
/// Time between two looks at acknowledgements while a stream waits for them.
const LOOK_BLOCKED: Nanos = Nanos::from_millis(1);
/// Time between two looks while only memory is waiting for acknowledgements.
const LOOK: Nanos = Nanos::from_millis(20);

/// The reason why a stream ends early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abort {
    pub fault: Fault,
    pub text: String,
}

impl Abort {
    pub fn new(fault: Fault, text: impl Into<String>) -> Abort {
        Abort { fault, text: text.into() }
    }
}

/// An order of a stream to its shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Connect to the branch, in place of any earlier connection; an agent is sent [`Stream::preamble`].
    Connect(BranchId),
    Close(BranchId),
}

/// The peer from which a stream comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    pub peer: SocketAddrV4,
    /// Whether the source is an agent, which takes frames; otherwise it is the sender.
    pub is_agent: bool,
}

impl Source {
    /// The kind of source in reports.
    pub(super) fn word(&self) -> &'static str {
        match self.is_agent {
            true => "agent",
            false => "sender",
        }
    }
}

#[derive(Debug)]
pub struct Stream {
    pub id: StreamId,
    /// The present settings of its session.
    pub spec: Arc<SessionSpec>,
    pub source: Source,
    /// Bytes that go back to the source.
    pub outgoing: Vec<u8>,
    /// Whether the shell has no memory for bytes that may be taken.
    pub starved: bool,
    /// The stream's offsets: which bytes may be taken, acknowledged upstream and discarded.
    pub core: Fanout,
    pub branches: Vec<Branch>,
    pub(super) arrived: Meter,
    pub(super) tally: Tally,
    pub(super) began: Nanos,
    /// How long connecting to the next agent is tried.
    pub(super) patience: Nanos,
    pub(super) actions: VecDeque<Action>,
    pub(super) events: Vec<Value>,
    /// Nothing more goes back to the source.
    pub(super) is_deaf: bool,
    pub(super) replies_done: bool,
    /// The floor and completeness that upstream was last told.
    pub(super) progress: (u64, bool),
    finished_at: Option<Nanos>,
    abort: Option<Abort>,
}

impl Stream {
    /// A stream that begins at `offset`, with branches to all neighbours except the one it came from. `tally`
    /// holds earlier statistics of the stream.
    pub(super) fn open(
        now: Nanos, id: StreamId, spec: Arc<SessionSpec>, source: Source, offset: u64, tally: Tally,
        patience: Nanos,
    ) -> Stream {
        let core = Fanout::resumed(spec.mode, spec.cache_bytes, offset)
            .with_allowance(spec.allowance_bytes)
            .with_history(spec.history_bytes)
            .with_patience(spec.patience());
        let mut stream = Stream {
            id,
            spec: Arc::clone(&spec),
            source,
            outgoing: Vec::new(),
            core,
            branches: Vec::new(),
            arrived: Meter::default(),
            tally,
            began: now,
            starved: false,
            patience,
            actions: VecDeque::new(),
            events: Vec::new(),
            is_deaf: false,
            replies_done: false,
            progress: (offset, false),
            finished_at: None,
            abort: None,
        };
        for branch in &spec.branches {
            if stream.is_wanted(branch) {
                stream.join(now, branch, BranchStart::Offset(offset));
            }
        }
        if stream.branches.is_empty() {
            stream.abort(Fault::NoMembers, "the session has no members behind this agent");
        }
        stream
    }

    /// Applies new settings of the session: branches are added and removed.
    pub(super) fn update(&mut self, now: Nanos, spec: Arc<SessionSpec>) {
        let stays = |branch: &Branch| spec.branches.iter().any(|other| other.is_same(&branch.spec));
        while let Some(index) = self.branches.iter().position(|branch| !stays(branch)) {
            let branch = self.branches.remove(index);
            self.core.remove_branch(branch.id);
            self.actions.push_back(Action::Close(branch.id));
            self.event("branch_left", json!({"name": branch.spec.name, "member": branch.spec.member()}));
        }
        self.spec = spec;
        for branch in self.spec.branches.clone() {
            let is_there = self.branches.iter().any(|other| other.spec.is_same(&branch));
            if !is_there && self.is_wanted(&branch) && !self.core.finished() {
                let from = match branch.join {
                    LateStart::Now => BranchStart::Now,
                    LateStart::Start => BranchStart::Start,
                };
                self.join(now, &branch, from);
            }
        }
        self.check_members();
    }

    /// Ends the stream early; the first reason counts.
    pub fn abort(&mut self, fault: Fault, text: impl Into<String>) {
        self.abort.get_or_insert_with(|| Abort::new(fault, text));
    }

    /// Whether the stream ends early: nothing more is moved, and [`SplitMachine::close`](super::SplitMachine)
    /// adds the reason to what goes back.
    pub fn is_aborted(&self) -> bool {
        self.abort.is_some()
    }

    /// Ends the stream if the shell moved bytes that were not there to move.
    pub(super) fn abort_if(&mut self, noted: Result<(), FanoutError>) {
        if let Err(error) = noted {
            self.abort(Fault::Refused, error.to_string());
        }
    }

    /// Handles what is due, and decides what follows from what happened.
    pub fn advance(&mut self, now: Nanos) {
        self.keep_connecting(now);
        self.isolate();
        self.report();
        if self.core.finished() && self.finished_at.is_none() {
            self.finished_at = Some(now);
        }
    }

    /// When [`Stream::advance`] is due without an event.
    pub fn deadline(&self) -> Option<Nanos> {
        let of_branch = |branch: &Branch| match branch.state {
            BranchState::Waiting(at) => Some(at),
            BranchState::Connecting => Some(branch.until),
            BranchState::Open => None,
        };
        let grace = self.finished_at.map(|at| at + GRACE);
        self.branches.iter().filter_map(of_branch).chain(grace).min()
    }

    /// How soon a shell looks for acknowledgements, if it is not told of them; `None`: none are awaited.
    pub fn look_after(&self) -> Option<Nanos> {
        let cached = self.core.cached() > 0;
        let blocked = !self.core.ended && self.core.intake() == 0;
        if cached && (blocked || self.spec.mode == Mode::EndToEnd) || self.starved {
            return Some(LOOK_BLOCKED);
        }
        let ending = self.core.ended && !self.core.finished();
        (cached || ending).then_some(LOOK)
    }

    /// How the stream has ended, if it has: complete, or early.
    pub fn outcome(&self, now: Nanos) -> Option<Result<(), Abort>> {
        if let Some(abort) = &self.abort {
            return Some(Err(abort.clone()));
        }
        let patient = now < self.finished_at? + GRACE;
        let replies = self.spec.replies;
        let done = |branch: &Branch| {
            let wanted = match (replies, branch.spec.kind) {
                (Replies::Drop, _) => false,
                (Replies::Leader(leader), BranchKind::Member(member)) => member == leader,
                _ => true,
            };
            branch.replies_ended || !wanted && !patient
        };
        let over = self.branches.iter().all(done) && self.outgoing.is_empty();
        over.then_some(Ok(()))
    }

    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Bytes that were handed to all branches together.
    pub fn sent(&self) -> u64 {
        self.tally.bytes_out
    }

    /// Notes that bytes came from upstream and are in the cache.
    pub fn on_received(&mut self, bytes: u64) {
        self.tally.bytes_in += bytes;
        let noted = self.core.on_received(bytes);
        self.abort_if(noted);
    }

    /// Gives up the bytes that are kept for late branches.
    pub fn forget_history(&mut self) {
        self.core.forget_history();
    }

    pub fn on_source_end(&mut self) {
        self.core.on_upstream_end();
    }

    /// Notes that the connection upstream is lost. A sender that has ended its stream may close without
    /// waiting for replies; before that, closing is a reset.
    pub fn on_source_lost(&mut self, text: &str) {
        if self.core.ended {
            return self.on_source_deaf();
        }
        let whose = if self.source.is_agent { "the agent before" } else { "its sender" };
        self.abort(Fault::Reset, format!("the stream was cut off by {whose}: {text}"));
    }

    /// Goes on without branches that alone stop the stream, if the session's policy allows it. Such a branch
    /// is fed from the rest of the cache, for as long as the cache has the bytes that it needs.
    fn isolate(&mut self) {
        for branch in self.core.overtaken() {
            self.drop_slow(branch, "which the cache does not reach back");
        }
        for branch in self.core.take_back() {
            self.slow_event("caught_up", branch);
        }
        if self.spec.policy != Policy::Isolate {
            return;
        }
        for branch in self.core.laggards() {
            self.slow_event("isolated", branch);
            if self.spec.patience() < self.spec.cache_bytes {
                let _ = self.core.isolate(branch);
            } else {
                self.drop_slow(branch, "with a full cache");
            }
        }
    }

    fn slow_event(&mut self, event: &str, id: BranchId) {
        if let Some(branch) = self.branches.iter().find(|branch| branch.id == id) {
            let lag = self.core.lag(id);
            self.event(event, json!({"name": branch.spec.name, "member": branch.spec.member(), "lag": lag}));
        }
    }

    pub(super) fn check_members(&mut self) {
        if self.branches.is_empty() {
            self.abort(Fault::NoMembers, "no member is left");
        }
    }

    pub(super) fn event(&mut self, name: &str, fields: Value) {
        self.events.push(event(name, self.spec.id, Some(self.id), fields));
    }
}

/// An event of a session, or of one of its streams.
pub(super) fn event(name: &str, session: u32, stream: Option<StreamId>, fields: Value) -> Value {
    let mut event = json!({"event": name, "session": session});
    if let Some(stream) = stream {
        event["stream"] = stream.to_string().into();
    }
    if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
        event.extend(fields);
    }
    event
}
