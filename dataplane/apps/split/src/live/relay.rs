//! Bytes of a stream: from upstream into the cache, from there to the branches, and acknowledged by them; and
//! messages to upstream: progress, receipts and replies.

use std::io;
use std::ops::ControlFlow;

use groupflow_host::tcp;
use groupflow_transport::fanout::Mode;
use serde_json::json;

use super::{Abort, Live};
use crate::config::Replies;
use crate::frame::{Fault, SplitFrame};
use crate::session::Resources;

impl Live {
    /// Whether an agent's branch counts by its PROGRESS frames, as in E2E; in N2N it counts by the
    /// acknowledgements of its TCP.
    pub(super) fn waits_for_progress(&self) -> bool {
        self.spec.mode == Mode::EndToEnd
    }

    pub(super) fn take_acknowledgement(
        &mut self, resources: &mut Resources, index: usize,
    ) -> io::Result<ControlFlow<Abort>> {
        let link = &self.links[index];
        if self.core.complete(link.branch) {
            return Ok(ControlFlow::Continue(()));
        }
        if link.is_agent() && link.is_complete && link.is_telling_end() {
            self.core.on_end_acked(link.branch).map_err(io::Error::other)?;
        } else if link.is_agent() && self.waits_for_progress() {
            self.core.on_acked(link.branch, link.reported(&self.core)).map_err(io::Error::other)?;
        } else if link.is_agent() && !link.established {
            // Acknowledgements of an agent's TCP count once the agent has said that it accepts the stream.
        } else if let Some((offset, end)) = link.acknowledged()? {
            let sent = self.core.sent(link.branch).unwrap_or(0);
            self.core.on_acked(link.branch, offset.min(sent)).map_err(io::Error::other)?;
            if end && !link.is_agent() {
                self.core.on_end_acked(link.branch).map_err(io::Error::other)?;
                let (member, bytes) = (link.member(), self.core.received() - link.start);
                self.receipt(resources, member, bytes);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Reads from upstream, once; returns the number of bytes.
    pub(super) fn take(&mut self, resources: &mut Resources) -> Result<u64, Abort> {
        self.starved = false;
        if !self.upstream.link.readable {
            return Ok(0);
        }
        let intake = self.core.intake();
        if intake == 0 {
            // A reset is noticed although nothing is read.
            return match self.upstream.failure() {
                Some(error) => self.upstream_failed(&error),
                None => Ok(0),
            };
        }
        match self.cache.fill(&mut resources.pool, self.upstream.link.socket(), intake) {
            Ok(None) => {
                self.starved = true;
                Ok(0)
            }
            Ok(Some(0)) => {
                self.upstream.link.readable = false;
                self.core.on_upstream_end();
                Ok(0)
            }
            Ok(Some(count)) => {
                let count = count as u64;
                self.core.on_received(count).map_err(|e| Abort::new(Fault::Refused, e.to_string()))?;
                self.tally.bytes_in += count;
                Ok(count)
            }
            Err(error) if tcp::is_later(&error) => {
                self.upstream.link.readable = false;
                Ok(0)
            }
            Err(error) => self.upstream_failed(&error),
        }
    }

    /// A sender that has ended its stream may close without waiting for replies; before that, closing is a
    /// reset.
    fn upstream_failed(&mut self, error: &io::Error) -> Result<u64, Abort> {
        self.upstream.link.readable = false;
        if self.core.ended() {
            self.upstream.hush();
            return Ok(0);
        }
        let whose = if self.upstream.is_agent { "the agent before" } else { "its sender" };
        Err(Abort::new(
            Fault::Reset,
            format!("the stream was cut off by {whose}: {}", groupflow_host::error::plain(error)),
        ))
    }

    pub(super) fn hand_out(
        &mut self, _resources: &mut Resources, index: usize,
    ) -> io::Result<ControlFlow<Abort>> {
        let link = &mut self.links[index];
        self.tally.bytes_out += link.hand_out(&mut self.core, &self.cache)? as u64;
        link.tell_end(&mut self.core)?;
        Ok(ControlFlow::Continue(()))
    }
}

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
