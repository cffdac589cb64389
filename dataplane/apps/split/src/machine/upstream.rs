//! Messages of branches, members' replies and agents' frames, and the messages to upstream that follow from
//! them: progress, receipts, failures and replies.

use groupflow_base::Nanos;
use groupflow_transport::fanout::BranchId;
use serde_json::json;

use super::branches::{BranchState, LinkLoss};
use super::frame::{Fault, SplitFrame, MAX_BODY};
use super::spec::Replies;
use super::stream::Stream;

/// Bytes that may wait to go back to the source (frames other than replies are never refused).
const OUTBOX: usize = 64 << 10;

impl Stream {
    /// Whether bytes of this branch may be read: what they cause has room on the way back.
    pub fn hears(&self, id: BranchId) -> bool {
        let heard = self.branch(id).is_some_and(|b| b.state != BranchState::Connecting && !b.replies_ended);
        heard && self.outgoing.len() + MAX_BODY < OUTBOX
    }

    /// Handles bytes that came from a branch: at most [`super::frame::MAX_REPLY`].
    pub fn on_heard(&mut self, now: Nanos, id: BranchId, mut bytes: &[u8]) {
        let Some(branch) = self.branch(id) else { return };
        if !branch.spec.is_agent() {
            return self.reply(branch.spec.member(), bytes.to_vec());
        }
        while let Some(branch) = self.branch_mut(id) {
            match SplitFrame::next(&mut branch.envelopes, &mut bytes) {
                Ok(Some(frame)) => self.on_frame(now, id, frame),
                Ok(None) => return,
                Err(error) => return self.on_branch_lost(now, id, LinkLoss::Failed, &error.to_string()),
            }
        }
    }

    /// Notes that no more bytes will come from a branch.
    pub fn on_heard_end(&mut self, now: Nanos, id: BranchId) {
        let complete = self.core.complete(id);
        let Some(branch) = self.branch_mut(id) else { return };
        branch.replies_ended = true;
        match branch.spec.is_agent() {
            false => {
                let member = branch.spec.member();
                self.reply_ended(member);
            }
            true if complete => {}
            true => self.on_branch_lost(now, id, LinkLoss::Reset, "connection reset"),
        }
    }

    fn on_frame(&mut self, now: Nanos, id: BranchId, frame: SplitFrame) {
        match frame {
            SplitFrame::Welcome { .. } => {
                let again =
                    self.branch_mut(id).map(|branch| std::mem::replace(&mut branch.established, true));
                if again != Some(false) {
                    self.on_branch_lost(now, id, LinkLoss::Failed, "invalid data");
                }
            }
            SplitFrame::Progress { offset, complete } => {
                if self.on_progress(id, offset, complete).is_none() {
                    self.on_branch_lost(now, id, LinkLoss::Failed, "invalid data");
                }
            }
            SplitFrame::Receipt { member, bytes } => self.receipt(member, bytes),
            SplitFrame::Reply { member, bytes } => self.reply(member, bytes),
            SplitFrame::ReplyEnd { member } => self.reply_ended(member),
            SplitFrame::Failure { fault, member, offset, text } => {
                self.on_failure(now, id, fault, member, offset, text);
            }
        }
    }

    /// Handles PROGRESS: the members of the next agent have acknowledged all bytes before `offset`, and with
    /// `complete` the end. `None`: the agent cannot have received so much.
    fn on_progress(&mut self, id: BranchId, offset: u64, complete: bool) -> Option<()> {
        if offset > self.core.sent(id)? {
            return None;
        }
        if self.counts_by_frames() {
            self.core.on_acked(id, offset).ok()?;
        }
        if complete && !self.core.complete(id) {
            self.core.on_end_acked(id).ok()?;
        }
        Some(())
    }

    fn on_failure(&mut self, now: Nanos, id: BranchId, fault: Fault, member: u32, offset: u64, text: String) {
        let Some(branch) = self.branch(id) else { return };
        match fault {
            Fault::MemberFailed | Fault::MemberReset => {
                if self.tally.failed(fault, member, "", offset, &text) {
                    self.event(fault.word(), json!({"member": member, "acked": offset, "text": text}));
                    self.tell_source(&SplitFrame::Failure { fault, member, offset, text });
                    self.reply_ended(member);
                }
            }
            Fault::NoMembers => self.drop_branch(id, fault, &text),
            // An agent that has only just started may not know the session yet.
            Fault::Refused if !branch.established => {
                self.on_branch_lost(now, id, LinkLoss::Failed, &text);
            }
            Fault::Refused | Fault::AgentLost | Fault::Reset => {
                let text = format!("{}: {text}", branch.spec.name);
                self.abort(fault, text);
            }
        }
    }

    /// Sends a frame to an agent; a sender gets no frames.
    pub(super) fn tell_source(&mut self, frame: &SplitFrame) {
        if self.source.is_agent && !self.is_deaf {
            frame.encode_into(&mut self.outgoing);
        }
    }

    /// Passes on bytes that a member replied.
    fn reply(&mut self, member: u32, bytes: Vec<u8>) {
        match self.spec.wants_reply(member) && !self.is_deaf {
            true if self.source.is_agent => self.tell_source(&SplitFrame::Reply { member, bytes }),
            true => self.outgoing.extend(bytes),
            false => {}
        }
    }

    pub(super) fn reply_ended(&mut self, member: u32) {
        if self.spec.wants_reply(member) {
            self.tell_source(&SplitFrame::ReplyEnd { member });
            self.replies_done |= matches!(self.spec.replies, Replies::Leader(_));
        }
    }

    /// Notes that a member has everything.
    pub(super) fn receipt(&mut self, member: u32, bytes: u64) {
        if self.tally.receipt(member, bytes) {
            self.event("receipt", json!({"member": member, "bytes": bytes}));
            self.tell_source(&SplitFrame::Receipt { member, bytes });
        }
    }

    /// Tells upstream how far the members are. In N2N only their completeness matters.
    pub(super) fn report(&mut self) {
        let complete = self.core.finished();
        let progress = (self.core.floor, complete);
        let wanted = complete || self.counts_by_frames();
        // Waiting bytes go first: once nothing waits, no event would trigger the report of progress.
        if wanted && self.progress != progress && (complete || self.outgoing.is_empty()) {
            self.progress = progress;
            self.tell_source(&SplitFrame::Progress { offset: progress.0, complete });
        }
    }

    /// Whether replies are over and the source is to be told so (half-close). An agent needs frames until the
    /// stream is over.
    pub fn source_end_due(&self) -> bool {
        let complete = self.core.finished();
        let all = self.branches.iter().all(|branch| branch.replies_ended);
        let over = match self.spec.replies {
            Replies::Leader(_) => self.replies_done || all,
            Replies::Merge => all,
            Replies::Drop => complete,
        };
        let due = over && (!self.source.is_agent || complete && all);
        due && !self.is_deaf && self.outgoing.is_empty() && !self.is_aborted()
    }

    /// Notes that nothing more can go back to the source: it was told the end, or takes no bytes.
    pub fn on_source_deaf(&mut self) {
        self.is_deaf = true;
        self.outgoing.clear();
    }
}
