//! Messages from branches: members' replies, and agents' frames.

use std::io;
use std::ops::ControlFlow;

use groupflow_host::link::ReadOutcome;
use serde_json::json;

use super::{Abort, Live};
use crate::config::Replies;
use crate::frame::{Fault, SplitFrame, MAX_BODY};
use crate::session::Resources;

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
            self.reply_over |= matches!(self.spec.replies, Replies::Leader(_));
        }
    }
}
