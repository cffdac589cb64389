//! One stream: its connections around its core. This file has the stream's turn; the steps of a turn are in
//! `branches` (its destinations) and `relay` (bytes, acknowledgements, and messages in both directions).

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use groupflow_base::StreamId;
use groupflow_transport::fanout::{BranchStart, Fanout};

use super::cache::ByteCache;
use super::config::{BranchKind, Replies, SessionSpec};
use super::frame::{Fault, MAX_BODY};
use super::link::{BranchLink, LinkState, Upstream};
use super::session::{Resources, Tally};

mod branches;
mod relay;

/// Bytes moved before other streams have their turn.
const BUDGET: u64 = 1 << 20;
/// The kernel does not tell when bytes are acknowledged: time between two polls while a stream waits for
/// acknowledgements.
const TICK_BLOCKED: Duration = Duration::from_millis(1);
/// Time between two polls while only memory is waiting for acknowledgements.
const TICK: Duration = Duration::from_millis(20);
/// Time within which members must end replies that nobody wants.
const GRACE: Duration = Duration::from_secs(10);

/// The reason why a stream ends early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abort {
    /// The reason for programs.
    pub fault: Fault,
    /// The reason for people.
    pub text: String,
}

impl Abort {
    pub fn new(fault: Fault, text: impl Into<String>) -> Abort {
        Abort { fault, text: text.into() }
    }
}

#[derive(Debug)]
pub enum Turn {
    /// The stream needs another turn at once.
    Again,
    /// The stream needs a turn when something happens, or after this time.
    Later(Option<Duration>),
    Finished,
    /// The stream has ended early.
    Aborted(Abort),
}

pub struct Live {
    pub id: StreamId,
    /// The present settings of its session.
    pub spec: Arc<SessionSpec>,
    /// The core, which keeps the stream's offsets.
    pub core: Fanout,
    pub upstream: Upstream,
    pub links: Vec<BranchLink>,
    pub tally: Tally,
    pub began: Instant,
    /// When the stream needs a turn in any case.
    pub due: Option<Instant>,
    pub(super) cache: ByteCache,
    pub(super) starved: bool,
    next_key: u32,
    replies_done: bool,
    finished_at: Option<Instant>,
    /// The floor and completeness that upstream was last told.
    progress: (u64, bool),
}

impl Live {
    /// A stream that begins at `offset`, with connections to all branches except the one it came from.
    /// `tally` holds earlier statistics of the stream.
    pub fn open(
        resources: &mut Resources, id: StreamId, spec: Arc<SessionSpec>, upstream: Upstream, offset: u64,
        tally: Tally,
    ) -> Result<Live, (Upstream, Abort)> {
        let core = Fanout::resumed(spec.mode, spec.cache_bytes, offset)
            .with_allowance(spec.allowance_bytes)
            .with_history(spec.history_bytes)
            .with_patience(spec.patience());
        let mut live = Live {
            id,
            core,
            upstream,
            links: Vec::new(),
            tally,
            began: resources.now,
            due: None,
            cache: ByteCache::new(offset),
            starved: false,
            next_key: 0,
            replies_done: false,
            finished_at: None,
            progress: (offset, false),
            spec: Arc::clone(&spec),
        };
        let mut made = Ok(());
        for branch in &spec.branches {
            // If this branch is lost at once, other branches may follow.
            if made.as_ref().is_err_and(|abort: &Abort| abort.fault != Fault::NoMembers) {
                break;
            }
            if !live.is_wanted(branch) {
                continue;
            }
            made = live.join(resources, branch, BranchStart::Offset(offset));
        }
        let nobody = || Abort::new(Fault::NoMembers, "the session has no members behind this agent");
        match made {
            Err(abort) if abort.fault != Fault::NoMembers => {
                live.links.iter_mut().for_each(|link| link.close(resources));
                Err((live.upstream, abort))
            }
            made if live.links.is_empty() => Err((live.upstream, made.err().unwrap_or_else(nobody))),
            _ => Ok(live),
        }
    }

    /// Moves all bytes that can be moved in one turn.
    pub fn turn(&mut self, resources: &mut Resources) -> Turn {
        match self.work(resources) {
            Err(abort) => Turn::Aborted(abort),
            Ok(true) => Turn::Again,
            Ok(false) if self.is_over(resources) => Turn::Finished,
            Ok(false) => Turn::Later(self.patience()),
        }
    }

    fn work(&mut self, resources: &mut Resources) -> Result<bool, Abort> {
        self.each_link(resources, Live::carry_on)?;
        self.each_link(resources, Live::listen)?;
        let mut left = BUDGET;
        loop {
            self.each_link(resources, Live::take_acknowledgement)?;
            self.cache.discard(&mut resources.pool, self.core.base());
            self.isolate(resources)?;
            let taken = self.take(resources)?;
            let before = self.tally.bytes_out;
            self.each_link(resources, Live::hand_out)?;
            let moved = taken + (self.tally.bytes_out - before);
            left = left.saturating_sub(moved);
            if moved == 0 || left == 0 {
                break;
            }
        }
        self.report();
        Ok(self.has_work())
    }

    /// Whether another turn would move something: epoll does not repeat a readiness that it has reported.
    fn has_work(&self) -> bool {
        let takes = self.upstream.link.readable && self.core.intake() > 0 && !self.starved;
        let hands_out = |link: &BranchLink| link.is_writable() && !self.core.sendable(link.branch).is_empty();
        let hears = |link: &BranchLink| link.is_readable() && self.upstream.link.out.room() > MAX_BODY;
        takes || self.links.iter().any(|link| hands_out(link) || hears(link))
    }

    /// Runs an action for each link; a link for which it fails is dropped meanwhile.
    fn each_link(
        &mut self, resources: &mut Resources,
        act: fn(&mut Live, &mut Resources, usize) -> io::Result<ControlFlow<Abort>>,
    ) -> Result<(), Abort> {
        let mut index = 0;
        while index < self.links.len() {
            let key = self.links[index].key;
            match act(self, resources, index) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(abort)) => return Err(abort),
                Err(error) => self.lost(resources, index, &error)?,
            }
            // If the link was dropped, the next one has taken its index.
            if self.links.get(index).is_some_and(|link| link.key == key) {
                index += 1;
            }
        }
        Ok(())
    }

    fn is_over(&mut self, resources: &Resources) -> bool {
        if !self.core.finished() {
            return false;
        }
        let since = *self.finished_at.get_or_insert(resources.now);
        let patient = resources.now < since + GRACE;
        let replies = self.spec.replies;
        let done = |link: &BranchLink| {
            let wanted = match (replies, link.spec.kind) {
                (Replies::Drop, _) => false,
                (Replies::Leader(leader), BranchKind::Member(member)) => member == leader,
                _ => true,
            };
            link.replies_ended || !wanted && !patient
        };
        self.links.iter().all(done) && self.upstream.link.out.is_empty()
    }

    /// Time until the stream needs a turn without an event.
    fn patience(&self) -> Option<Duration> {
        let waiting = |link: &BranchLink| link.state != LinkState::Open;
        let blocked = !self.core.ended() && self.core.intake() == 0;
        let asked = self.core.cached() > 0 && (blocked || self.waits_for_progress());
        let ending = |link: &BranchLink| link.is_telling_end() && !self.core.complete(link.branch);
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

    /// Whether a sender has connected and sent nothing.
    pub fn is_silent(&self) -> bool {
        !self.upstream.is_agent && self.tally.bytes_in == 0
    }

    /// Closes all branches: gracefully if the stream is complete, otherwise with resets. Returns the
    /// connection upstream.
    pub fn close(mut self, resources: &mut Resources, graceful: bool) -> Upstream {
        for link in &mut self.links {
            if graceful {
                link.set_graceful();
            }
            link.close(resources);
        }
        self.cache.release(&mut resources.pool);
        self.upstream
    }
}
