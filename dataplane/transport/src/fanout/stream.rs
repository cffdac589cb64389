//! The offsets of one stream at one agent.

use std::ops::Range;

use super::{Branch, BranchId, FanoutError, FinState, Mode};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchStart {
    /// With the next byte that comes from upstream.
    Now,
    /// With the stream's first byte.
    Start,
    /// With this byte, for a branch that existed before and has the bytes below.
    Offset(u64),
}

/// Offsets of one stream at one agent. In order, always:
/// `base <= floor <= acked <= sent <= received` and `received - base <= capacity`; of isolated branches only
/// `acked <= sent <= received`.
#[derive(Debug, Clone)]
pub struct Fanout {
    mode: Mode,
    pub capacity: u64,
    allowance: u64,
    history: u64,
    pub(super) patience: u64,
    /// The first byte that is cached.
    pub base: u64,
    /// Every branch that is not isolated has acknowledged the bytes below. Without such a branch the floor
    /// stays where it is.
    pub floor: u64,
    /// Bytes that came from upstream.
    pub received: u64,
    pub ended: bool,
    /// The offset that was acknowledged upstream; it never goes back.
    acknowledged: u64,
    /// The most that was ever cached, without the history.
    pub peak: u64,
    pub(super) branches: Vec<Branch>,
    next_id: u32,
}

impl Fanout {
    /// A stream from its first byte on, without branches. `capacity`: bytes the cache may hold.
    pub fn new(mode: Mode, capacity: u64) -> Fanout {
        Fanout::resumed(mode, capacity, 0)
    }

    /// A stream whose first `offset` bytes went another way, or through this agent before it was
    /// restarted.
    pub fn resumed(mode: Mode, capacity: u64, offset: u64) -> Fanout {
        Fanout {
            mode,
            capacity,
            allowance: capacity,
            history: 0,
            patience: capacity,
            base: offset,
            floor: offset,
            received: offset,
            ended: false,
            acknowledged: offset,
            peak: 0,
            branches: Vec::new(),
            next_id: 0,
        }
    }

    /// In E2E mode, takes at most `bytes` beyond those that every branch has acknowledged: for a shell
    /// that cannot hold back the acknowledgement upstream, and holds back its reads instead.
    #[must_use]
    pub fn with_allowance(mut self, bytes: u64) -> Fanout {
        self.allowance = bytes;
        self
    }

    /// Keeps up to `bytes` that every branch has acknowledged, for branches that come later,
    /// as long as the capacity is not needed for others.
    #[must_use]
    pub fn with_history(mut self, bytes: u64) -> Fanout {
        self.history = bytes;
        self
    }

    /// Bytes that may be taken from upstream now.
    pub fn intake(&self) -> u64 {
        let bound = match self.mode {
            Mode::NodeToNode => self.capacity,
            Mode::EndToEnd => self.capacity.min(self.allowance),
        };
        match self.ended {
            true => 0,
            false => bound.saturating_sub(self.cached()),
        }
    }

    /// Notes that bytes came from upstream and are in the cache.
    pub fn on_received(&mut self, bytes: u64) -> Result<(), FanoutError> {
        if self.ended && bytes > 0 {
            return Err(FanoutError::AfterEnd { end: self.received });
        }
        let intake = self.intake();
        if bytes > intake {
            return Err(FanoutError::Overrun { bytes, intake });
        }
        self.received += bytes;
        self.peak = self.peak.max(self.cached());
        self.discard();
        Ok(())
    }

    /// Notes that upstream has ended the stream (half-close), so that no more bytes come.
    pub fn on_upstream_end(&mut self) {
        self.ended = true;
    }

    /// Adds a branch. Refused if the byte with which it begins is no longer cached, or not yet.
    pub fn add_branch(&mut self, from: BranchStart) -> Result<BranchId, FanoutError> {
        let wanted = match from {
            BranchStart::Now => self.received,
            BranchStart::Start => 0,
            BranchStart::Offset(offset) => offset,
        };
        if wanted < self.base {
            return Err(FanoutError::Discarded { wanted, base: self.base });
        }
        if wanted > self.received {
            return Err(FanoutError::Ahead { wanted, received: self.received });
        }
        let id = BranchId(self.next_id);
        self.next_id += 1;
        self.branches.push(Branch::new(id, wanted));
        self.settle();
        self.peak = self.peak.max(self.cached());
        Ok(id)
    }

    /// Removes a branch, and the bytes that only this branch still needed. With the last branch, no bytes are
    /// removed.
    pub fn remove_branch(&mut self, branch: BranchId) {
        self.branches.retain(|b| b.id != branch);
        self.settle();
    }

    /// Notes that the connection to the branch is lost and another will take its place: the bytes that were
    /// sent and not acknowledged will be sent again. Until then none of them is discarded.
    pub fn on_lost(&mut self, branch: BranchId) -> Result<(), FanoutError> {
        let branch = self.branch_mut(branch)?;
        branch.sent = branch.acked;
        branch.end = FinState::Open;
        Ok(())
    }

    /// Discards the history, because room is needed elsewhere.
    pub fn forget_history(&mut self) {
        self.base = self.floor;
    }

    /// The cached bytes that were not handed to the branch yet; empty if there is no such branch.
    pub fn sendable(&self, branch: BranchId) -> Range<u64> {
        match self.branch(branch) {
            Some(branch) if branch.sent >= self.base => branch.sent..self.received,
            // An overtaken branch is sent nothing more.
            _ => self.received..self.received,
        }
    }

    /// Notes that the first `bytes` of [`Fanout::sendable`] were handed to the branch.
    pub fn on_sent(&mut self, branch: BranchId, bytes: u64) -> Result<(), FanoutError> {
        let range = self.sendable(branch);
        let sendable = range.end - range.start;
        let branch = self.branch_mut(branch)?;
        if bytes > sendable {
            return Err(FanoutError::Oversent { bytes, sendable });
        }
        branch.sent += bytes;
        Ok(())
    }

    /// Notes that the branch has acknowledged all bytes before `offset`.
    pub fn on_acked(&mut self, branch: BranchId, offset: u64) -> Result<(), FanoutError> {
        self.branch_mut(branch)?.acknowledge(offset)?;
        self.settle();
        Ok(())
    }

    /// Whether the branch was sent all bytes of a stream that has ended, and must be told the end.
    pub fn end_due(&self, branch: BranchId) -> bool {
        self.ended && self.branch(branch).is_some_and(|b| b.end == FinState::Open && b.sent == self.received)
    }

    /// Notes that the branch was told the end. Refused if that is not due.
    pub fn on_end_sent(&mut self, branch: BranchId) -> Result<(), FanoutError> {
        if !self.end_due(branch) {
            let sendable = self.sendable(branch);
            return Err(FanoutError::Oversent { bytes: 0, sendable: sendable.end - sendable.start });
        }
        self.branch_mut(branch)?.end = FinState::Sent;
        Ok(())
    }

    /// Notes that the branch has acknowledged the end, and with it all bytes.
    pub fn on_end_acked(&mut self, branch: BranchId) -> Result<(), FanoutError> {
        let received = self.received;
        let found = self.branch_mut(branch)?;
        if found.end == FinState::Open {
            return Err(FanoutError::NotSent { offset: received, sent: found.sent });
        }
        found.end = FinState::Acknowledged;
        found.acked = found.sent;
        self.settle();
        Ok(())
    }

    /// The offset that may be acknowledged upstream: in N2N the bytes that have come, in E2E those that every
    /// branch has acknowledged. It never goes back, also when a branch joins that begins earlier.
    pub fn acknowledged(&self) -> u64 {
        match self.mode {
            Mode::NodeToNode => self.received,
            Mode::EndToEnd => self.acknowledged,
        }
    }

    /// Bytes that are cached because some branch that is not isolated has not acknowledged them.
    pub fn cached(&self) -> u64 {
        self.received - self.floor
    }

    /// Bytes that are cached, with the history and those that isolated branches need.
    pub fn held(&self) -> u64 {
        self.received - self.base
    }

    /// Bytes handed to the branch; `None` if there is no such branch.
    pub fn sent(&self, branch: BranchId) -> Option<u64> {
        self.branch(branch).map(|b| b.sent)
    }

    pub fn acked(&self, branch: BranchId) -> Option<u64> {
        self.branch(branch).map(|b| b.acked)
    }

    pub fn lag(&self, branch: BranchId) -> Option<u64> {
        self.branch(branch).map(|b| self.received - b.acked)
    }

    /// The branches, in the order in which they came.
    pub fn branches(&self) -> impl Iterator<Item = BranchId> + '_ {
        self.branches.iter().map(|b| b.id)
    }

    /// Whether the branch has acknowledged all of a stream that has ended, and its end.
    pub fn complete(&self, branch: BranchId) -> bool {
        self.ended && self.branch(branch).is_some_and(|b| b.end == FinState::Acknowledged)
    }

    /// Whether every branch has acknowledged all of a stream that has ended, and its end. A stream
    /// without branches never is.
    pub fn finished(&self) -> bool {
        self.ended
            && !self.branches.is_empty()
            && self.branches.iter().all(|b| b.end == FinState::Acknowledged)
    }

    fn branch(&self, id: BranchId) -> Option<&Branch> {
        self.branches.iter().find(|b| b.id == id)
    }

    pub(super) fn branch_mut(&mut self, id: BranchId) -> Result<&mut Branch, FanoutError> {
        self.branches.iter_mut().find(|b| b.id == id).ok_or(FanoutError::NoBranch(id))
    }

    /// Computes the floor again after a branch came, went, acknowledged or was isolated.
    pub(super) fn settle(&mut self) {
        let least = |isolated| self.branches.iter().filter(|b| b.isolated == isolated).map(|b| b.acked).min();
        // If only isolated branches are left, the stream waits for them.
        if let Some(floor) = least(false).or_else(|| least(true)) {
            self.floor = floor.max(self.base);
        }
        self.acknowledged = self.acknowledged.max(self.floor);
        self.discard();
    }

    /// Discards history beyond its bound, or if room is needed.
    fn discard(&mut self) {
        let room = self.received.saturating_sub(self.capacity);
        let kept = self.floor.saturating_sub(self.history).min(self.needed_by_isolated());
        self.base = self.base.max(kept).max(room.min(self.floor));
    }
}
