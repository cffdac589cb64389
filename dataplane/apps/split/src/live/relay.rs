//! Bytes of a stream: from upstream into the cache, from there to the branches, and acknowledged by them.
//! Messages from branches: members' replies, and agents' frames. Messages to upstream: progress, receipts and
//! replies.

use std::io;
use std::ops::ControlFlow;

use groupflow_host::link::ReadOutcome;
use groupflow_host::tcp;
use groupflow_transport::fanout::Mode;
use serde_json::json;

use super::{Abort, Live};
use crate::config::Replies;
use crate::frame::{Fault, SplitFrame, MAX_BODY};
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
            Replies::Leader(_) => self.replies_done || all,
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

impl Live {
    /// Reads the messages of one branch.
    pub(super) fn listen(
        &mut self, resources: &mut Resources, index: usize,
    ) -> io::Result<ControlFlow<Abort>> {
        while self.links[index].is_readable() && self.upstream.link.out.room() > MAX_BODY {
            let link = &mut self.links[index];
            match link.hear(&mut resources.scratch)? {
                ReadOutcome::Nothing => break,
                ReadOutcome::End if link.is_agent() => {
                    if !link.is_complete {
                        return Err(io::ErrorKind::ConnectionReset.into());
                    }
                }
                ReadOutcome::End => {
                    let member = link.member();
                    self.reply_ended(member);
                }
                ReadOutcome::Bytes(count) if link.is_agent() => {
                    let (key, bytes) = (link.key, resources.scratch[..count].to_vec());
                    let mut input = &bytes[..];
                    while let Some(at) = self.links.iter().position(|l| l.key == key) {
                        let next = SplitFrame::next(&mut self.links[at].envelopes, &mut input);
                        let Some(frame) = next.map_err(io::Error::other)? else { break };
                        if let ControlFlow::Break(abort) = self.on_frame(resources, at, frame)? {
                            return Ok(ControlFlow::Break(abort));
                        }
                    }
                    if !self.links.get(index).is_some_and(|l| l.key == key) {
                        break;
                    }
                }
                ReadOutcome::Bytes(count) => {
                    let member = link.member();
                    if self.wants_reply(member) {
                        self.upstream.reply(member, &resources.scratch[..count]);
                    }
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Reads the bytes that a member had sent before its connection was reset: a server may answer, and hang
    /// up on the rest of the stream.
    pub(super) fn take_last_words(&mut self, resources: &mut Resources, index: usize) {
        let member = self.links[index].member();
        while self.upstream.link.out.room() > MAX_BODY {
            match self.links[index].hear(&mut resources.scratch) {
                Ok(ReadOutcome::Bytes(count)) if self.wants_reply(member) => {
                    self.upstream.reply(member, &resources.scratch[..count]);
                }
                _ => break,
            }
        }
    }

    fn on_frame(
        &mut self, resources: &mut Resources, index: usize, frame: SplitFrame,
    ) -> io::Result<ControlFlow<Abort>> {
        let link = &mut self.links[index];
        match frame {
            SplitFrame::Welcome { .. } => {
                let first = !std::mem::replace(&mut link.established, true);
                if !first {
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
            SplitFrame::Progress { offset, complete } => link.on_progress(&self.core, offset, complete)?,
            SplitFrame::Receipt { member, bytes } => self.receipt(resources, member, bytes),
            SplitFrame::Reply { member, bytes } if self.wants_reply(member) => {
                self.upstream.reply(member, &bytes)
            }
            SplitFrame::Reply { .. } => {}
            SplitFrame::ReplyEnd { member } => self.reply_ended(member),
            SplitFrame::Failure { fault, member, offset, text } => {
                return self.on_failure(resources, index, fault, member, offset, text);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn on_failure(
        &mut self, resources: &mut Resources, index: usize, fault: Fault, member: u32, offset: u64,
        text: String,
    ) -> io::Result<ControlFlow<Abort>> {
        match fault {
            Fault::MemberFailed | Fault::MemberReset => {
                if !self.tally.failed(fault, member, "", offset, &text) {
                    return Ok(ControlFlow::Continue(()));
                }
                let fields = json!({"member": member, "acked": offset, "text": text});
                resources.event(fault.word(), self.spec.id, Some(self.id), fields);
                self.upstream.say(&SplitFrame::Failure { fault, member, offset, text });
                self.reply_ended(member);
                Ok(ControlFlow::Continue(()))
            }
            Fault::NoMembers => match self.drop_link(resources, index, fault, &text) {
                Ok(()) => Ok(ControlFlow::Continue(())),
                Err(abort) => Ok(ControlFlow::Break(abort)),
            },
            // An agent that has only just started may not know the session yet.
            Fault::Refused if !self.links[index].established => Err(io::Error::other(text)),
            Fault::Refused | Fault::AgentLost | Fault::Reset => {
                Ok(ControlFlow::Break(Abort::new(fault, format!("{}: {text}", self.links[index].spec.name))))
            }
        }
    }

    fn wants_reply(&self, member: u32) -> bool {
        match self.spec.replies {
            Replies::Leader(leader) => member == leader,
            Replies::Merge => true,
            Replies::Drop => false,
        }
    }

    pub(super) fn reply_ended(&mut self, member: u32) {
        if self.wants_reply(member) {
            self.upstream.say(&SplitFrame::ReplyEnd { member });
            self.replies_done |= matches!(self.spec.replies, Replies::Leader(_));
        }
    }
}
