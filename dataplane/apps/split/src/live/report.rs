//! Messages to upstream: progress, receipts, and replies.

use serde_json::json;

use super::Live;
use crate::config::Replies;
use crate::frame::SplitFrame;
use crate::resources::Resources;

impl Live {
    /// Notes that a member has everything.
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
        if wanted && self.progress != now && (complete || self.upstream.link.out.is_empty()) {
            self.progress = now;
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
