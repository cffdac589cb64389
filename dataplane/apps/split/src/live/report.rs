//! What upstream is told: how far the members are, who has everything, what they reply.

use serde_json::json;

use super::{Abort, Live};
use crate::config::Replies;
use crate::frame::Frame;
use crate::upstream::Upstream;
use crate::world::World;

impl Live {
    /// The agent before this one has connected again: it goes on where this one is. It may have been started
    /// again, and know nothing of what it was told before.
    pub fn replace_upstream(&mut self, mut upstream: Upstream) {
        upstream.say(&Frame::Welcome { offset: self.core.received() });
        self.summary.frames().for_each(|frame| upstream.say(&frame));
        self.upstream = upstream;
        self.progress = None;
    }

    /// What an agent before this one is told that asks for the stream when it is over; `abort`: why it was.
    pub fn farewell(&self, abort: Option<&Abort>) -> Vec<Frame> {
        let offset = self.core.received();
        let first = abort.is_none().then_some(Frame::Welcome { offset });
        let last = match abort {
            None => Frame::Progress { offset, complete: true },
            Some(Abort { fault, text }) => {
                Frame::Failure { fault: *fault, member: 0, offset: self.core.floor(), text: text.clone() }
            }
        };
        first.into_iter().chain(self.summary.frames()).chain([last]).collect()
    }

    /// A member has all. What was known already comes from an agent that was started again.
    pub(super) fn receipt(&mut self, world: &mut World, member: u32, bytes: u64) {
        if self.summary.receipt(member, bytes) {
            world.event("receipt", self.spec.id, Some(self.id), json!({"member": member, "bytes": bytes}));
            self.upstream.say(&Frame::Receipt { member, bytes });
        }
    }

    /// Tells upstream how far its members are, and sends what goes back.
    pub(super) fn report(&mut self) {
        let complete = self.core.finished();
        let now = (self.core.floor(), complete);
        let wanted = complete || self.waits_for_progress();
        // What waits goes first: when nothing waits any more, nobody calls again to tell the progress.
        self.flush();
        if wanted && self.progress != Some(now) && (complete || self.upstream.out.is_empty()) {
            self.progress = Some(now);
            self.upstream.say(&Frame::Progress { offset: now.0, complete });
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
            // Who sends hears of it when it is read from; replies are for nobody.
            self.upstream.hush();
        }
    }
}
