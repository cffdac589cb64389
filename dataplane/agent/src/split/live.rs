//! One stream: its connections around its core.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use groupflow_protocol::control::Policy;
use groupflow_protocol::split::{From as Begin, Mode, SplitError, Stream};
use serde_json::json;

use super::cache::Cache;
use super::config::{BranchSpec, Join, Kind, Replies, SessionSpec};
use super::frame::{Fault, Frame, MAX_BODY};
use super::link::{Heard, Link, State};
use super::preamble::StreamId;
use super::summary::Summary;
use super::tcp;
use super::upstream::Upstream;
use super::world::{Orphan, World};

/// Bytes moved before other streams have their turn.
const BUDGET: u64 = 1 << 20;
/// The kernel does not tell when bytes are acknowledged: so often it is asked while a stream waits for it,
const TICK_BLOCKED: Duration = Duration::from_millis(1);
/// and so often while only memory waits.
const TICK: Duration = Duration::from_millis(20);
/// A lost or refusing agent is tried again after so long.
const RETRY: Duration = Duration::from_millis(200);
/// Members whose replies nobody wants may take so long to end them.
const GRACE: Duration = Duration::from_secs(10);

/// Why a stream ends early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abort {
    /// For programs.
    pub fault: Fault,
    /// For people.
    pub text: String,
}

impl Abort {
    /// For a reason.
    pub fn new(fault: Fault, text: impl Into<String>) -> Abort {
        Abort { fault, text: text.into() }
    }
}

/// What a stream wants after its turn.
#[derive(Debug)]
pub enum Turn {
    /// Another turn at once.
    Again,
    /// A turn when something happens, or after this time.
    Later(Option<Duration>),
    /// It is complete.
    Finished,
    /// It is over.
    Aborted(Abort),
}

/// One stream.
pub struct Live {
    /// Its number.
    pub id: StreamId,
    /// Its session, as it is wanted now.
    pub spec: Arc<SessionSpec>,
    /// Its offsets.
    pub core: Stream,
    /// Where it comes from.
    pub upstream: Upstream,
    /// Where it goes.
    pub links: Vec<Link>,
    /// What is told of it.
    pub summary: Summary,
    /// When it wants a turn in any case.
    pub due: Option<Instant>,
    pub(super) cache: Cache,
    pub(super) starved: bool,
    next_key: u32,
    reply_over: bool,
    finished_at: Option<Instant>,
    /// What upstream was told last of the floor and of being complete.
    progress: Option<(u64, bool)>,
}

impl Live {
    /// A stream that begins (or goes on) at `offset`, with connections to all branches but the one it came
    /// from. With `orphans` it goes on after the agent was started again.
    pub fn open(
        world: &mut World,
        id: StreamId,
        spec: Arc<SessionSpec>,
        upstream: Upstream,
        offset: u64,
        mut orphans: Option<Vec<Orphan>>,
    ) -> Result<Live, (Upstream, Abort)> {
        let core = Stream::resumed(spec.mode, spec.cache_bytes, offset)
            .with_allowance(spec.allowance_bytes)
            .with_history(spec.history_bytes);
        let mut live = Live {
            id,
            core,
            upstream,
            links: Vec::new(),
            summary: Summary::default(),
            due: None,
            cache: Cache::new(offset),
            starved: false,
            next_key: 0,
            reply_over: false,
            finished_at: None,
            progress: Some((offset, false)),
            spec: Arc::clone(&spec),
        };
        let mut made = Ok(());
        for branch in &spec.branches {
            // One that is lost at once may have others after it.
            if made.as_ref().is_err_and(|abort: &Abort| abort.fault != Fault::NoMembers) {
                break;
            }
            if !live.is_wanted(branch) {
                continue;
            }
            made = match &mut orphans {
                None => live.join(world, branch, Begin::Offset(offset)),
                Some(orphans) => {
                    let ours = |orphan: &Orphan| orphan.address == branch.address;
                    let (ours, others) = std::mem::take(orphans).into_iter().partition(ours);
                    *orphans = others;
                    live.rejoin(world, branch, ours)
                }
            };
        }
        for orphan in orphans.into_iter().flatten() {
            world.drop_kept(orphan.key);
        }
        match made {
            Ok(()) if live.links.is_empty() => {
                Err((live.upstream, Abort::new(Fault::NoMembers, "the session has no members behind this agent")))
            }
            Err(abort) if live.links.is_empty() || abort.fault != Fault::NoMembers => {
                live.links.iter_mut().for_each(|link| link.close(world));
                Err((live.upstream, abort))
            }
            _ => Ok(live),
        }
    }

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

    /// Not back where it came from.
    fn is_wanted(&self, branch: &BranchSpec) -> bool {
        let back = branch.address.ip() == self.upstream.peer.ip();
        match branch.kind {
            Kind::Agent => !(self.upstream.is_agent && back),
            Kind::Member(_) => self.spec.echo || self.upstream.is_agent || !back,
        }
    }

    fn join(&mut self, world: &mut World, branch: &BranchSpec, from: Begin) -> Result<(), Abort> {
        let id = match self.core.add_branch(from) {
            Ok(id) => id,
            Err(error @ SplitError::Discarded { .. }) => {
                let text = format!("cannot begin at the start: {error}");
                let fields = json!({"name": branch.name, "base": self.core.base(), "text": text});
                world.event("join_refused", self.spec.id, Some(self.id), fields);
                return Ok(());
            }
            Err(error) => return Err(Abort::new(Fault::Refused, error.to_string())),
        };
        let start = self.core.acked(id).unwrap_or(0);
        let until = world.now + world.limits.connect;
        let mut link = Link::new(branch.clone(), self.next_key, id, start, until);
        self.next_key += 1;
        let made = link.connect(world, &self.spec, self.id, start);
        self.links.push(link);
        match made {
            Ok(()) => Ok(()),
            Err(error) if tcp::is_exhausted(&error) => Err(Abort::new(Fault::Refused, tcp::EXHAUSTED)),
            Err(error) => self.lost(world, self.links.len() - 1, &error),
        }
    }

    /// A branch of a stream that goes on after the agent was started again, with its earlier connections.
    fn rejoin(
        &mut self,
        world: &mut World,
        branch: &BranchSpec,
        mut orphans: Vec<Orphan>,
    ) -> Result<(), Abort> {
        let offset = self.core.received();
        let until = world.now + world.limits.resume;
        let id = self.core.add_branch(Begin::Offset(offset));
        let id = id.map_err(|e| Abort::new(Fault::Refused, e.to_string()))?;
        let mut link = Link::new(branch.clone(), self.next_key, id, offset, until);
        self.next_key += 1;
        let made = match branch.kind {
            Kind::Agent => {
                link.replace(orphans);
                link.connect(world, &self.spec, self.id, offset)
            }
            Kind::Member(_) => match orphans.pop() {
                Some(orphan) => link.adopt(world, self.id, orphan),
                None => Err(io::Error::other("its connection was lost with the agent")),
            },
        };
        self.links.push(link);
        match made {
            Ok(()) => Ok(()),
            Err(error) => self.lost(world, self.links.len() - 1, &error),
        }
    }

    /// The session is wanted differently: branches come and go.
    pub fn update(&mut self, world: &mut World, spec: Arc<SessionSpec>) -> Result<(), Abort> {
        let stays = |link: &Link| {
            spec.branches.iter().any(|b| b.kind == link.spec.kind && b.address == link.spec.address)
        };
        while let Some(index) = self.links.iter().position(|link| !stays(link)) {
            let mut link = self.links.remove(index);
            self.core.remove_branch(link.branch);
            link.close(world);
            let fields = json!({"name": link.spec.name, "member": link.member()});
            world.event("branch_left", spec.id, Some(self.id), fields);
        }
        self.spec = spec;
        for branch in self.spec.branches.clone() {
            let there = |link: &Link| link.spec.kind == branch.kind && link.spec.address == branch.address;
            let known = self.summary.is_failed(&branch) || self.links.iter().any(there);
            if !known && self.is_wanted(&branch) && !self.core.finished() {
                let from = match branch.join {
                    Join::Now => Begin::Now,
                    Join::Start => Begin::Start,
                };
                self.join(world, &branch, from)?;
            }
        }
        self.check_members()
    }

    /// Moves what can be moved.
    pub fn turn(&mut self, world: &mut World) -> Turn {
        match self.work(world) {
            Err(abort) => Turn::Aborted(abort),
            Ok(true) => Turn::Again,
            Ok(false) if self.is_over(world) => Turn::Finished,
            Ok(false) => Turn::Later(self.patience()),
        }
    }

    fn work(&mut self, world: &mut World) -> Result<bool, Abort> {
        self.each_link(world, Live::carry_on)?;
        self.each_link(world, Live::listen)?;
        let mut left = BUDGET;
        loop {
            self.each_link(world, Live::take_acknowledgement)?;
            self.cache.discard(&mut world.pool, self.core.base());
            self.isolate(world)?;
            let taken = self.take(world)?;
            let before = self.summary.bytes_out;
            self.each_link(world, Live::hand_out)?;
            let moved = taken + (self.summary.bytes_out - before);
            left = left.saturating_sub(moved);
            if moved == 0 || left == 0 {
                break;
            }
        }
        self.report();
        Ok(self.has_work())
    }

    /// Whether another turn would move something: epoll does not repeat what it has said.
    fn has_work(&self) -> bool {
        let takes = self.upstream.readable && self.core.intake() > 0 && !self.starved;
        let hands_out = |link: &Link| link.is_writable() && !self.core.sendable(link.branch).is_empty();
        let hears = |link: &Link| link.is_readable() && self.upstream.out.room() > MAX_BODY;
        takes || self.links.iter().any(|link| hands_out(link) || hears(link))
    }

    /// Does something with each link; one that fails is dropped on the way.
    fn each_link(
        &mut self,
        world: &mut World,
        act: fn(&mut Live, &mut World, usize) -> io::Result<ControlFlow<Abort>>,
    ) -> Result<(), Abort> {
        let mut index = 0;
        while index < self.links.len() {
            let key = self.links[index].key;
            match act(self, world, index) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(abort)) => return Err(abort),
                Err(error) => self.lost(world, index, &error)?,
            }
            // A link that was dropped makes room for the next one.
            if self.links.get(index).is_some_and(|link| link.key == key) {
                index += 1;
            }
        }
        Ok(())
    }

    /// Connections that are being made, or tried again.
    fn carry_on(&mut self, world: &mut World, index: usize) -> io::Result<ControlFlow<Abort>> {
        let link = &mut self.links[index];
        match link.state {
            State::Waiting(at) if at <= world.now => {
                let offset = self.core.acked(link.branch).unwrap_or(0);
                link.connect(world, &self.spec, self.id, offset)?;
            }
            State::Waiting(_) => {}
            State::Connecting | State::Resuming if link.until <= world.now => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            _ => link.establish()?,
        }
        // Before the next agent has heard anything of it: it is not to see it end with this agent.
        if self.spec.resume && self.upstream.is_agent {
            link.keep(world, self.id);
        }
        link.greet()?;
        Ok(ControlFlow::Continue(()))
    }

    /// What branches say: members reply, agents send frames.
    fn listen(&mut self, world: &mut World, index: usize) -> io::Result<ControlFlow<Abort>> {
        while self.links[index].is_readable() && self.upstream.out.room() > MAX_BODY {
            let link = &mut self.links[index];
            match link.hear(&mut world.scratch)? {
                Heard::Nothing => break,
                Heard::End if link.is_agent() => {
                    if !link.is_complete {
                        return Err(io::ErrorKind::ConnectionReset.into());
                    }
                }
                Heard::End => {
                    let member = link.member();
                    self.reply_ended(member);
                }
                Heard::Bytes(count) if link.is_agent() => {
                    link.decoder.push(&world.scratch[..count]);
                    let key = link.key;
                    while let Some(at) = self.links.iter().position(|l| l.key == key) {
                        match self.links[at].decoder.next_frame().map_err(io::Error::other)? {
                            None => break,
                            Some(frame) => {
                                if let ControlFlow::Break(abort) = self.on_frame(world, at, frame)? {
                                    return Ok(ControlFlow::Break(abort));
                                }
                            }
                        }
                    }
                    if !self.links.get(index).is_some_and(|l| l.key == key) {
                        break;
                    }
                }
                Heard::Bytes(count) => {
                    let member = link.member();
                    if self.wants_reply(member) {
                        self.upstream.reply(member, &world.scratch[..count]);
                    }
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn on_frame(&mut self, world: &mut World, index: usize, frame: Frame) -> io::Result<ControlFlow<Abort>> {
        let link = &mut self.links[index];
        match frame {
            Frame::Welcome { offset } => {
                let first = !std::mem::replace(&mut link.established, true);
                if link.state == State::Resuming {
                    let acked = self.core.acked(link.branch).unwrap_or(0);
                    if offset < acked {
                        return Err(io::ErrorKind::InvalidData.into());
                    }
                    // What it has beyond what it had acknowledged is not sent again.
                    link.go_on(world, offset);
                    let fields = json!({"name": link.spec.name, "offset": offset});
                    world.event("branch_resumed", self.spec.id, Some(self.id), fields);
                } else if !first {
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
            Frame::Progress { offset, complete } => link.on_progress(&self.core, offset, complete)?,
            Frame::Receipt { member, bytes } => self.receipt(world, member, bytes),
            Frame::Reply { member, bytes } if self.wants_reply(member) => self.upstream.reply(member, &bytes),
            Frame::Reply { .. } => {}
            Frame::ReplyEnd { member } => self.reply_ended(member),
            Frame::Failure { fault, member, offset, text } => {
                return self.on_failure(world, index, fault, member, offset, text);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn on_failure(
        &mut self,
        world: &mut World,
        index: usize,
        fault: Fault,
        member: u32,
        offset: u64,
        text: String,
    ) -> io::Result<ControlFlow<Abort>> {
        match fault {
            Fault::MemberFailed => {
                if !self.summary.failed(member, "", offset, &text) {
                    return Ok(ControlFlow::Continue(()));
                }
                let fields = json!({"member": member, "acked": offset, "text": text});
                world.event("member_failed", self.spec.id, Some(self.id), fields);
                self.upstream.say(&Frame::Failure { fault, member, offset, text });
                self.reply_ended(member);
                Ok(ControlFlow::Continue(()))
            }
            Fault::NoMembers => match self.drop_link(world, index, fault, &text) {
                Ok(()) => Ok(ControlFlow::Continue(())),
                Err(abort) => Ok(ControlFlow::Break(abort)),
            },
            // It may not know the session yet, when it was only just started.
            Fault::Refused if !self.links[index].established || self.spec.resume => {
                Err(io::Error::other(text))
            }
            Fault::Refused | Fault::AgentLost | Fault::Reset => {
                Ok(ControlFlow::Break(Abort::new(fault, format!("{}: {text}", self.links[index].spec.name))))
            }
        }
    }

    /// In E2E and where streams resume, an agent's branch has what its members have; else what its TCP has.
    fn waits_for_progress(&self) -> bool {
        self.spec.resume || self.spec.mode == Mode::EndToEnd
    }

    fn take_acknowledgement(&mut self, world: &mut World, index: usize) -> io::Result<ControlFlow<Abort>> {
        let link = &self.links[index];
        if self.core.complete(link.branch) {
            return Ok(ControlFlow::Continue(()));
        }
        if link.is_agent() && link.is_complete && link.is_telling_end() {
            self.core.on_end_acked(link.branch).map_err(io::Error::other)?;
        } else if link.is_agent() && self.waits_for_progress() {
            self.core.on_acked(link.branch, link.reported(&self.core)).map_err(io::Error::other)?;
        } else if link.is_agent() && !link.established {
            // What an agent's TCP has acknowledged counts once it has said that it takes the stream.
        } else if let Some((offset, end)) = link.acknowledged()? {
            let sent = self.core.sent(link.branch).unwrap_or(0);
            self.core.on_acked(link.branch, offset.min(sent)).map_err(io::Error::other)?;
            if end && !link.is_agent() {
                self.core.on_end_acked(link.branch).map_err(io::Error::other)?;
                let (member, bytes) = (link.member(), self.core.received() - link.start);
                self.receipt(world, member, bytes);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// A member has all. What was known already comes from an agent that was started again.
    fn receipt(&mut self, world: &mut World, member: u32, bytes: u64) {
        if self.summary.receipt(member, bytes) {
            world.event("receipt", self.spec.id, Some(self.id), json!({"member": member, "bytes": bytes}));
            self.upstream.say(&Frame::Receipt { member, bytes });
        }
    }

    /// Reads from upstream, once; returns the bytes.
    fn take(&mut self, world: &mut World) -> Result<u64, Abort> {
        self.starved = false;
        let Some(socket) = self.upstream.socket().filter(|_| self.upstream.readable) else {
            return Ok(0);
        };
        let intake = self.core.intake();
        if intake == 0 {
            // A reset is heard although nothing is read.
            return match self.upstream.failure() {
                Some(error) => self.upstream_failed(&error),
                None => Ok(0),
            };
        }
        match self.cache.fill(&mut world.pool, socket, intake) {
            Ok(None) => {
                self.starved = true;
                Ok(0)
            }
            Ok(Some(0)) => {
                self.upstream.readable = false;
                self.core.on_upstream_end();
                Ok(0)
            }
            Ok(Some(count)) => {
                let count = count as u64;
                self.core.on_received(count).map_err(|e| Abort::new(Fault::Refused, e.to_string()))?;
                self.summary.bytes_in += count;
                Ok(count)
            }
            Err(error) if tcp::is_later(&error) => {
                self.upstream.readable = false;
                Ok(0)
            }
            Err(error) => self.upstream_failed(&error),
        }
    }

    /// A sender that has ended its stream need not wait for replies; before, it is a reset.
    fn upstream_failed(&mut self, error: &io::Error) -> Result<u64, Abort> {
        self.upstream.readable = false;
        if self.core.ended() {
            self.upstream.hush();
            return Ok(0);
        }
        let whose = if self.upstream.is_agent { "the agent before" } else { "its sender" };
        Err(Abort::new(
            Fault::Reset,
            format!("the stream was cut off by {whose}: {}", crate::input::plain(error)),
        ))
    }

    fn hand_out(&mut self, _world: &mut World, index: usize) -> io::Result<ControlFlow<Abort>> {
        let link = &mut self.links[index];
        self.summary.bytes_out += link.hand_out(&mut self.core, &self.cache)? as u64;
        link.tell_end(&mut self.core)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Removes branches that alone stop the stream, when the session's policy says so.
    fn isolate(&mut self, world: &mut World) -> Result<(), Abort> {
        if self.spec.policy != Policy::Isolate || self.core.intake() > 0 {
            return Ok(());
        }
        for branch in self.core.laggards() {
            let Some(index) = self.links.iter().position(|link| link.branch == branch) else {
                continue;
            };
            let lag = self.core.lag(branch).unwrap_or(0);
            let name = &self.links[index].spec.name;
            let fields = json!({"name": name, "member": self.links[index].member(), "lag": lag});
            world.event("isolated", self.spec.id, Some(self.id), fields);
            let text = format!("{lag} bytes behind a full cache");
            self.drop_link(world, index, Fault::MemberFailed, &text)?;
        }
        Ok(())
    }

    /// A connection is refused or lost.
    fn lost(&mut self, world: &mut World, index: usize, error: &io::Error) -> Result<(), Abort> {
        let text = crate::input::plain(error);
        let link = &mut self.links[index];
        if self.core.complete(link.branch) || link.is_complete {
            // It has everything; only its replies are cut short.
            link.replies_ended = true;
            let member = link.member();
            link.hang_up(world);
            self.reply_ended(member);
            return Ok(());
        }
        if !link.is_agent() {
            return self.drop_link(world, index, Fault::MemberFailed, &text);
        }
        if link.established && !self.spec.resume {
            let text = format!("agent {} is lost: {text}", link.spec.name);
            return Err(Abort::new(Fault::AgentLost, text));
        }
        if link.established && !matches!(link.state, State::Waiting(_)) && link.state != State::Connecting {
            if link.state == State::Open {
                link.until = world.now + world.limits.resume;
                let fields = json!({"name": link.spec.name, "text": text});
                world.event("branch_lost", self.spec.id, Some(self.id), fields);
            }
            let _ = self.core.on_lost(link.branch);
        }
        if !link.established {
            let _ = self.core.on_lost(link.branch);
        }
        if world.now >= link.until {
            let text = format!("agent {} cannot be reached: {text}", link.spec.name);
            return Err(Abort::new(Fault::AgentLost, text));
        }
        link.disconnect(world);
        link.state = State::Waiting(world.now + RETRY);
        Ok(())
    }

    /// The group goes on without a branch.
    fn drop_link(&mut self, world: &mut World, index: usize, fault: Fault, text: &str) -> Result<(), Abort> {
        let mut link = self.links.remove(index);
        let acked = self.core.acked(link.branch).unwrap_or(0);
        self.core.remove_branch(link.branch);
        link.close(world);
        let (member, name) = (link.member(), link.spec.name.clone());
        let event = if link.is_agent() { "branch_left" } else { "member_failed" };
        let fields = json!({"member": member, "name": name, "acked": acked, "text": text});
        world.event(event, self.spec.id, Some(self.id), fields);
        if !link.is_agent() {
            self.summary.failed(member, &name, acked, text);
            let text = format!("{name}: {text}");
            self.upstream.say(&Frame::Failure { fault, member, offset: acked, text });
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

    fn wants_reply(&self, member: u32) -> bool {
        match self.spec.replies {
            Replies::Leader(leader) => member == leader,
            Replies::Merge => true,
            Replies::Drop => false,
        }
    }

    fn reply_ended(&mut self, member: u32) {
        if self.wants_reply(member) {
            self.upstream.say(&Frame::ReplyEnd { member });
            self.reply_over |= matches!(self.spec.replies, Replies::Leader(_));
        }
    }

    /// Tells upstream how far its members are, and sends what goes back.
    fn report(&mut self) {
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

    fn is_over(&mut self, world: &World) -> bool {
        if !self.core.finished() {
            return false;
        }
        let since = *self.finished_at.get_or_insert(world.now);
        let patient = world.now < since + GRACE;
        let replies = self.spec.replies;
        let done = |link: &Link| {
            let wanted = match (replies, link.spec.kind) {
                (Replies::Drop, _) => false,
                (Replies::Leader(leader), Kind::Member(member)) => member == leader,
                _ => true,
            };
            link.replies_ended || !wanted && !patient
        };
        self.links.iter().all(done) && self.upstream.out.is_empty()
    }

    /// When to look again without being called.
    fn patience(&self) -> Option<Duration> {
        let waiting = |link: &Link| link.state != State::Open;
        let blocked = !self.core.ended() && self.core.intake() == 0;
        let asked = self.core.cached() > 0 && (blocked || self.waits_for_progress());
        let ending = |link: &Link| link.is_telling_end() && !self.core.complete(link.branch);
        if asked || self.starved {
            Some(TICK_BLOCKED)
        } else if self.core.cached() > 0 || self.links.iter().any(|link| waiting(link) || ending(link)) {
            Some(TICK)
        } else if self.core.finished() {
            Some(GRACE / 10)
        } else {
            None
        }
    }

    /// Whether the agent that is started next can go on with the stream.
    pub fn can_resume(&self) -> bool {
        let resumes = self.spec.resume && self.upstream.is_agent;
        resumes && !self.links.is_empty() && self.links.iter().all(Link::can_resume)
    }

    /// Closes all connections: gracefully if the stream is complete, else with resets.
    pub fn close(&mut self, world: &mut World, graceful: bool) {
        for link in &mut self.links {
            if graceful {
                link.set_graceful();
            }
            link.close(world);
        }
        if graceful {
            self.upstream.end();
            self.upstream.set_graceful();
        }
        self.upstream.close(world);
        self.cache.release(&mut world.pool);
    }
}
