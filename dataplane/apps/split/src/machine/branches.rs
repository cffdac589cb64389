//! Branches that are added, connected, sent to, lost, retried and removed.

use std::ops::Range;

use groupflow_base::codec::Envelopes;
use groupflow_base::Nanos;
use groupflow_transport::fanout::{BranchId, BranchStart, FanoutError, Mode};
use serde_json::json;

use super::frame::{Fault, Preamble, SplitFrame};
use super::sharing::Share;
use super::spec::{BranchKind, BranchSpec};
use super::stream::{Action, Stream};

/// Time until a lost or refusing agent is tried again.
const RETRY: Nanos = Nanos::from_millis(200);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchState {
    Connecting,
    /// The connection was refused or lost, and is retried at this time.
    Waiting(Nanos),
    /// The connection takes bytes.
    Open,
}

/// How the connection to a branch was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkLoss {
    /// It was reset. A program may reset one connection and go on serving others, as a server does that hangs
    /// up on unread bytes. A program that is gone refuses the next connection.
    Reset,
    /// The shell has no descriptor for it.
    NoDescriptor,
    Failed,
}

#[derive(Debug)]
pub struct Branch {
    pub spec: BranchSpec,
    pub id: BranchId,
    pub state: BranchState,
    /// The offset at which the branch began.
    pub start: u64,
    /// When attempts to connect end.
    pub(super) until: Nanos,
    /// Whether the first connection failed.
    pub(super) retried: bool,
    /// Whether the next agent has said that it accepts the stream.
    pub(super) established: bool,
    pub(super) replies_ended: bool,
    /// Cut the next agent's bytes into frames.
    pub(super) envelopes: Envelopes,
    pub(super) share: Share,
}

impl Stream {
    pub fn branch(&self, id: BranchId) -> Option<&Branch> {
        self.branches.iter().find(|branch| branch.id == id)
    }

    pub(super) fn branch_mut(&mut self, id: BranchId) -> Option<&mut Branch> {
        self.branches.iter_mut().find(|branch| branch.id == id)
    }

    /// Whether the stream goes to this branch: not back to its origin, and not to a member that the stream
    /// has lost.
    pub(super) fn is_wanted(&self, branch: &BranchSpec) -> bool {
        match branch.kind {
            BranchKind::Agent => !(self.source.is_agent && branch.address.ip() == self.source.peer.ip()),
            BranchKind::Member(_) => !self.tally.is_failed(branch),
        }
    }

    pub(super) fn join(&mut self, now: Nanos, spec: &BranchSpec, from: BranchStart) {
        let id = match self.core.add_branch(from) {
            Ok(id) => id,
            Err(error @ FanoutError::Discarded { .. }) => {
                let text = format!("cannot begin at the start: {error}");
                let fields = json!({"name": spec.name, "base": self.core.base, "text": text});
                return self.event("join_refused", fields);
            }
            Err(error) => return self.abort(Fault::Refused, error.to_string()),
        };
        self.branches.push(Branch {
            spec: spec.clone(),
            id,
            state: BranchState::Connecting,
            start: self.core.acked(id).unwrap_or(0),
            until: now + self.patience,
            retried: false,
            established: false,
            replies_ended: false,
            envelopes: Envelopes::default(),
            share: Share::default(),
        });
        self.actions.push_back(Action::Connect(id));
    }

    /// The offset of the first byte that a new connection to the branch carries.
    pub fn connects_at(&self, id: BranchId) -> u64 {
        self.core.acked(id).unwrap_or(0)
    }

    /// The first bytes of a new connection, which tell the next agent which stream follows.
    pub fn preamble(&self, id: BranchId) -> Preamble {
        Preamble {
            session: self.spec.id,
            stream: self.id,
            offset: self.connects_at(id),
            mode: self.spec.mode,
        }
    }

    /// Tries agents again, and gives up connections that take too long.
    pub(super) fn keep_connecting(&mut self, now: Nanos) {
        let mut late = Vec::new();
        for branch in &mut self.branches {
            match branch.state {
                BranchState::Waiting(at) if at <= now => {
                    branch.state = BranchState::Connecting;
                    branch.envelopes = Envelopes::default();
                    branch.share = Share::default();
                    branch.replies_ended = false;
                    self.actions.push_back(Action::Connect(branch.id));
                }
                BranchState::Connecting if branch.until <= now => late.push(branch.id),
                _ => {}
            }
        }
        late.into_iter().for_each(|id| self.on_branch_lost(now, id, LinkLoss::Failed, "timed out"));
    }

    pub fn on_connected(&mut self, id: BranchId) {
        if let Some(branch) = self.branch_mut(id) {
            branch.state = BranchState::Open;
        }
    }

    pub fn is_connected(&self) -> bool {
        self.branches.iter().all(|branch| branch.state == BranchState::Open)
    }

    /// The cached bytes that the branch is to be sent now.
    pub fn sendable(&self, id: BranchId) -> Range<u64> {
        match self.branch(id) {
            Some(branch) if branch.state == BranchState::Open => self.core.sendable(id),
            _ => 0..0,
        }
    }

    /// Notes that so many bytes from the beginning of [`Stream::sendable`] were handed to the branch.
    pub fn on_sent(&mut self, id: BranchId, bytes: u64) {
        self.tally.bytes_out += bytes;
        let noted = self.core.on_sent(id, bytes);
        self.abort_if(noted);
    }

    /// Whether the branch is to be told the end of the stream (half-close).
    pub fn end_due(&self, id: BranchId) -> bool {
        self.core.end_due(id) && self.branch(id).is_some_and(|branch| branch.state == BranchState::Open)
    }

    pub fn on_end_sent(&mut self, id: BranchId) {
        let noted = self.core.on_end_sent(id);
        self.abort_if(noted);
    }

    /// Whether the acknowledgements of the branch's own TCP count: those of an agent in N2N do, once the
    /// agent has said that it accepts the stream; in E2E its PROGRESS frames count instead.
    pub fn counts_by_tcp(&self, id: BranchId) -> bool {
        let counts = |branch: &Branch| {
            let by_frames = branch.spec.is_agent() && (self.counts_by_frames() || !branch.established);
            branch.state == BranchState::Open && !by_frames
        };
        !self.core.complete(id) && self.branch(id).is_some_and(counts)
    }

    /// Whether agents count by their PROGRESS frames.
    pub(super) fn counts_by_frames(&self) -> bool {
        self.spec.mode == Mode::EndToEnd
    }

    /// Notes that the branch's TCP has acknowledged the bytes before `offset`, and with `end` the stream's
    /// end.
    pub fn on_acknowledged(&mut self, id: BranchId, offset: u64, end: bool) {
        if !self.counts_by_tcp(id) {
            return;
        }
        // The branch exists, and has been sent these bytes.
        let _ = self.core.on_acked(id, offset.min(self.core.sent(id).unwrap_or(0)));
        let Some(branch) = self.branch(id).filter(|branch| end && !branch.spec.is_agent()) else { return };
        let (member, bytes) = (branch.spec.member(), self.core.received - branch.start);
        if self.core.on_end_acked(id).is_ok() {
            self.receipt(member, bytes);
        }
    }

    /// Handles a connection that was refused or lost.
    pub fn on_branch_lost(&mut self, now: Nanos, id: BranchId, how: LinkLoss, text: &str) {
        let complete = self.core.complete(id);
        let Some(branch) = self.branch_mut(id) else { return };
        let (name, member, is_agent) = (&branch.spec.name, branch.spec.member(), branch.spec.is_agent());
        if complete {
            // The member has everything; only its replies are cut short.
            branch.replies_ended = true;
            self.actions.push_back(Action::Close(id));
            return self.reply_ended(member);
        }
        if how == LinkLoss::NoDescriptor && !branch.retried {
            return self.abort(Fault::Refused, text);
        }
        if !is_agent {
            let fault = if how == LinkLoss::Reset { Fault::MemberReset } else { Fault::MemberFailed };
            return self.drop_branch(id, fault, text);
        }
        if branch.established || now >= branch.until {
            let what = if branch.established { "is lost" } else { "cannot be reached" };
            let text = format!("agent {name} {what}: {text}");
            return self.abort(Fault::AgentLost, text);
        }
        (branch.state, branch.retried) = (BranchState::Waiting(now + RETRY), true);
        let _ = self.core.on_lost(id);
        self.actions.push_back(Action::Close(id));
    }

    pub(super) fn drop_slow(&mut self, id: BranchId, why: &str) {
        let text = format!("{} bytes behind, {why}", self.core.lag(id).unwrap_or(0));
        self.drop_branch(id, Fault::MemberFailed, &text);
    }

    /// Drops a branch; the group goes on without it.
    pub(super) fn drop_branch(&mut self, id: BranchId, fault: Fault, text: &str) {
        let Some(index) = self.branches.iter().position(|branch| branch.id == id) else { return };
        let BranchSpec { kind, name, .. } = self.branches.remove(index).spec;
        let acked = self.core.acked(id).unwrap_or(0);
        self.core.remove_branch(id);
        self.actions.push_back(Action::Close(id));
        let (event, member) = match kind {
            BranchKind::Agent => ("branch_left", 0),
            BranchKind::Member(member) => (fault.word(), member),
        };
        self.event(event, json!({"member": member, "name": name, "acked": acked, "text": text}));
        if kind != BranchKind::Agent {
            self.tally.failed(fault, member, &name, acked, text);
            let text = format!("{name}: {text}");
            self.tell_source(&SplitFrame::Failure { fault, member, offset: acked, text });
            self.reply_ended(member);
        }
        self.check_members();
    }
}
