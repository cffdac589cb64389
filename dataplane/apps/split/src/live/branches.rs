//! Branches that are added, lost, retried and removed.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use groupflow_host::error::plain;
use groupflow_host::tcp;
use groupflow_transport::fanout::{BranchId, BranchStart, FanoutError};
use groupflow_transport::terms::Policy;
use serde_json::json;

use super::{Abort, Live};
use crate::config::{BranchKind, BranchSpec, LateStart, SessionSpec};
use crate::frame::{Fault, SplitFrame};
use crate::link::{BranchLink, LinkState};
use crate::session::Resources;

/// Time until a lost or refusing agent is tried again.
const RETRY: Duration = Duration::from_millis(200);

/// The fault that an error of a member's connection shows. A program may reset one connection and go on
/// serving others, as a server does that hangs up on unread bytes. A program that is gone refuses the next
/// connection.
fn member_fault(error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Fault::MemberReset,
        _ => Fault::MemberFailed,
    }
}

impl Live {
    /// Whether the stream goes to this branch: not back to its origin, and not to a member that the stream
    /// has lost.
    pub(super) fn is_wanted(&self, branch: &BranchSpec) -> bool {
        let back = branch.address.ip() == self.upstream.peer.ip();
        match branch.kind {
            BranchKind::Agent => !(self.upstream.is_agent && back),
            BranchKind::Member(_) if self.tally.is_failed(branch) => false,
            BranchKind::Member(_) => self.spec.echo || self.upstream.is_agent || !back,
        }
    }

    pub(super) fn join(
        &mut self, resources: &mut Resources, branch: &BranchSpec, from: BranchStart,
    ) -> Result<(), Abort> {
        let id = match self.core.add_branch(from) {
            Ok(id) => id,
            Err(error @ FanoutError::Discarded { .. }) => {
                let text = format!("cannot begin at the start: {error}");
                let fields = json!({"name": branch.name, "base": self.core.base(), "text": text});
                resources.event("join_refused", self.spec.id, Some(self.id), fields);
                return Ok(());
            }
            Err(error) => return Err(Abort::new(Fault::Refused, error.to_string())),
        };
        let start = self.core.acked(id).unwrap_or(0);
        let until = resources.now + resources.limits.connect;
        let mut link = BranchLink::new(branch.clone(), self.next_key, id, start, until);
        self.next_key += 1;
        let made = link.connect(resources, &self.spec, self.id, start);
        self.links.push(link);
        match made {
            Ok(()) => Ok(()),
            Err(error) if tcp::is_exhausted(&error) => Err(Abort::new(Fault::Refused, tcp::EXHAUSTED)),
            Err(error) => self.lost(resources, self.links.len() - 1, &error),
        }
    }

    /// Applies new settings of the session: branches are added and removed.
    pub fn update(&mut self, resources: &mut Resources, spec: Arc<SessionSpec>) -> Result<(), Abort> {
        let stays = |link: &BranchLink| {
            spec.branches.iter().any(|b| b.kind == link.spec.kind && b.address == link.spec.address)
        };
        while let Some(index) = self.links.iter().position(|link| !stays(link)) {
            let mut link = self.links.remove(index);
            self.core.remove_branch(link.branch);
            link.close(resources);
            let fields = json!({"name": link.spec.name, "member": link.member()});
            resources.event("branch_left", spec.id, Some(self.id), fields);
        }
        self.spec = spec;
        for branch in self.spec.branches.clone() {
            let there =
                |link: &BranchLink| link.spec.kind == branch.kind && link.spec.address == branch.address;
            if !self.links.iter().any(there) && self.is_wanted(&branch) && !self.core.finished() {
                let from = match branch.join {
                    LateStart::Now => BranchStart::Now,
                    LateStart::Start => BranchStart::Start,
                };
                self.join(resources, &branch, from)?;
            }
        }
        self.check_members()
    }

    /// Goes on with a connection that is being opened, or is to be retried.
    pub(super) fn carry_on(
        &mut self, resources: &mut Resources, index: usize,
    ) -> io::Result<ControlFlow<Abort>> {
        let link = &mut self.links[index];
        match link.state {
            LinkState::Waiting(at) if at <= resources.now => {
                let offset = self.core.acked(link.branch).unwrap_or(0);
                link.connect(resources, &self.spec, self.id, offset)?;
            }
            LinkState::Waiting(_) => {}
            LinkState::Connecting if link.until <= resources.now => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            _ => link.establish()?,
        }
        link.greet()?;
        Ok(ControlFlow::Continue(()))
    }

    /// Goes on without branches that alone stop the stream, if the session's policy allows it. Such a branch
    /// is fed from the rest of the cache, for as long as the cache has the bytes that it needs.
    pub(super) fn isolate(&mut self, resources: &mut Resources) -> Result<(), Abort> {
        for branch in self.core.overtaken() {
            self.drop_slow(resources, branch, "which the cache does not reach back")?;
        }
        for branch in self.core.take_back() {
            self.slow_event(resources, "caught_up", branch);
        }
        if self.spec.policy != Policy::Isolate {
            return Ok(());
        }
        for branch in self.core.laggards() {
            self.slow_event(resources, "isolated", branch);
            if self.spec.patience() < self.spec.cache_bytes {
                let _ = self.core.isolate(branch);
            } else {
                self.drop_slow(resources, branch, "with a full cache")?;
            }
        }
        Ok(())
    }

    fn slow_event(&self, resources: &mut Resources, event: &str, branch: BranchId) {
        if let Some(link) = self.links.iter().find(|link| link.branch == branch) {
            let lag = self.core.lag(branch);
            let fields = json!({"name": link.spec.name, "member": link.member(), "lag": lag});
            resources.event(event, self.spec.id, Some(self.id), fields);
        }
    }

    fn drop_slow(&mut self, resources: &mut Resources, branch: BranchId, why: &str) -> Result<(), Abort> {
        let Some(index) = self.links.iter().position(|link| link.branch == branch) else { return Ok(()) };
        let text = format!("{} bytes behind, {why}", self.core.lag(branch).unwrap_or(0));
        self.drop_link(resources, index, Fault::MemberFailed, &text)
    }

    /// Handles a connection that was refused or lost.
    pub(super) fn lost(
        &mut self, resources: &mut Resources, index: usize, error: &io::Error,
    ) -> Result<(), Abort> {
        let text = plain(error);
        if !self.links[index].is_agent() {
            self.take_last_words(resources, index);
        }
        let link = &mut self.links[index];
        if self.core.complete(link.branch) || link.is_complete {
            // The member has everything; only its replies are cut short.
            link.replies_ended = true;
            let member = link.member();
            link.close(resources);
            self.reply_ended(member);
            return Ok(());
        }
        if !link.is_agent() {
            return self.drop_link(resources, index, member_fault(error), &text);
        }
        if link.established {
            let text = format!("agent {} is lost: {text}", link.spec.name);
            return Err(Abort::new(Fault::AgentLost, text));
        }
        let _ = self.core.on_lost(link.branch);
        if resources.now >= link.until {
            let text = format!("agent {} cannot be reached: {text}", link.spec.name);
            return Err(Abort::new(Fault::AgentLost, text));
        }
        link.close(resources);
        link.state = LinkState::Waiting(resources.now + RETRY);
        Ok(())
    }

    /// Drops a branch; the group goes on without it.
    pub(super) fn drop_link(
        &mut self, resources: &mut Resources, index: usize, fault: Fault, text: &str,
    ) -> Result<(), Abort> {
        let mut link = self.links.remove(index);
        let acked = self.core.acked(link.branch).unwrap_or(0);
        self.core.remove_branch(link.branch);
        link.close(resources);
        let (member, name) = (link.member(), link.spec.name.clone());
        let event = if link.is_agent() { "branch_left" } else { fault.word() };
        let fields = json!({"member": member, "name": name, "acked": acked, "text": text});
        resources.event(event, self.spec.id, Some(self.id), fields);
        if !link.is_agent() {
            self.tally.failed(fault, member, &name, acked, text);
            let text = format!("{name}: {text}");
            self.upstream.say(&SplitFrame::Failure { fault, member, offset: acked, text });
            self.reply_ended(member);
        }
        self.check_members()
    }

    fn check_members(&self) -> Result<(), Abort> {
        match self.links.is_empty() {
            true => Err(Abort::new(Fault::NoMembers, "no member is left")),
            false => Ok(()),
        }
    }
}
