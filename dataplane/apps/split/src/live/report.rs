//! Messages to upstream: progress, receipts, and replies.

use serde_json::json;

use super::{Abort, Live};
use crate::config::Replies;
use crate::frame::SplitFrame;
use crate::resources::Resources;
use crate::upstream::Upstream;

impl Live {
    /// The upstream agent has connected again: the stream goes on at the present offset. That agent may have
    /// restarted, and know nothing of what it was told before.
    pub fn replace_upstream(&mut self, mut upstream: Upstream) {
        upstream.say(&SplitFrame::Welcome { offset: self.core.received() });
        self.tally.frames().for_each(|frame| upstream.say(&frame));
        self.upstream = upstream;
        self.progress = None;
    }

    /// The frames for an upstream agent that asks for the stream after its end; `abort` says why it ended
    /// early.
    pub fn farewell(&self, abort: Option<&Abort>) -> Vec<SplitFrame> {
        let offset = self.core.received();
        let first = abort.is_none().then_some(SplitFrame::Welcome { offset });
        let last = match abort {
            None => SplitFrame::Progress { offset, complete: true },
            Some(Abort { fault, text }) => SplitFrame::Failure {
                fault: *fault,
                member: 0,
                offset: self.core.floor(),
                text: text.clone(),
            },
        };
        first.into_iter().chain(self.tally.frames()).chain([last]).collect()
    }

    /// Notes that a member has everything. A receipt that is known already may come from an agent that
    /// restarted.
    pub(super) fn receipt(&mut self, resources: &mut Resources, member: u32, bytes: u64) {
        if self.tally.receipt(member, bytes) {
            resources.event(
                "receipt",
                self.spec.id,
                Some(self.id),
                json!({"member": member, "bytes": bytes}),
            );
            self.upstream.say(&SplitFrame::Receipt { member, bytes });
        }
    }

    /// Tells upstream how far its members are, and sends replies.
    pub(super) fn report(&mut self) {
        let complete = self.core.finished();
        let now = (self.core.floor(), complete);
        let wanted = complete || self.waits_for_progress();
        // Waiting bytes go first: once nothing waits, no event would trigger the report of progress.
        self.flush();
        if wanted && self.progress != Some(now) && (complete || self.upstream.out.is_empty()) {
            self.progress = Some(now);
            self.upstream.say(&SplitFrame::Progress { offset: now.0, complete });
            self.flush();
        }
        let all = self.links.iter().all(|link| link.replies_ended);
        let over = match self.spec.replies {
            Replies::Leader(_) => self.reply_over || all,
            Replies::Merge => all,
            Replies::Drop => complete,
        };
        // Frames are needed until the stream is over.
        if over && (!self.upstream.is_agent || complete && all) {
            self.upstream.end();
        }
    }

    fn flush(&mut self) {
        if self.upstream.flush().is_err() {
            // A sender hears of the abort when it is read from; replies have no reader any more.
            self.upstream.hush();
        }
    }
}
