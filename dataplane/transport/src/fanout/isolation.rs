//! Slow branches of a stream that does not wait for them (policy `isolate`).
//!
//! A branch that alone stops the others is *isolated*: the others go on without it, and the cache keeps the
//! bytes that it needs only as far as its capacity goes. The isolated branch is still sent these bytes, from
//! its position on, whenever it can take them. Either it catches up, and counts again; or its next bytes
//! leave the cache: then the branch is overtaken, and must be removed.

use super::{Branch, BranchId, Fanout, FanoutError};

impl Fanout {
    /// Makes branches laggards once `bytes` are cached for them, and not only when the cache is full:
    /// the rest of the cache is for isolated branches.
    #[must_use]
    pub fn with_patience(mut self, bytes: u64) -> Fanout {
        self.patience = bytes.min(self.capacity);
        self
    }

    /// The branches that alone stop the stream, or soon will: as many bytes as the patience allows are cached
    /// for them, and they are more than half of that behind the fastest branch. With policy `isolate` they
    /// are isolated, or removed. If all branches are slow, there are none.
    pub fn laggards(&self) -> Vec<BranchId> {
        if self.cached() < self.patience {
            return Vec::new();
        }
        let counting = || self.branches.iter().filter(|b| !b.isolated);
        let fastest = counting().map(|b| b.acked).max().unwrap_or(self.received);
        counting().filter(|b| fastest - b.acked > self.patience / 2).map(|b| b.id).collect()
    }

    /// Isolates the branch: the stream no longer waits for it.
    pub fn isolate(&mut self, branch: BranchId) -> Result<(), FanoutError> {
        self.branch_mut(branch)?.isolated = true;
        self.settle();
        Ok(())
    }

    pub fn is_isolated(&self, branch: BranchId) -> bool {
        self.isolated().any(|b| b.id == branch)
    }

    /// Counts isolated branches again that lag by half of the patience or less; returns them.
    pub fn take_back(&mut self) -> Vec<BranchId> {
        let (base, received, most) = (self.base, self.received, self.patience / 2);
        let caught_up = |b: &Branch| b.isolated && b.acked >= base && received - b.acked <= most;
        let back: Vec<BranchId> = self.branches.iter().filter(|b| caught_up(b)).map(|b| b.id).collect();
        if !back.is_empty() {
            self.branches.iter_mut().filter(|b| back.contains(&b.id)).for_each(|b| b.isolated = false);
            self.settle();
        }
        back
    }

    /// The isolated branches that cannot go on, because their next bytes are no longer cached.
    pub fn overtaken(&self) -> Vec<BranchId> {
        self.isolated().filter(|b| b.sent < self.base).map(|b| b.id).collect()
    }

    /// The first byte that the cache keeps for isolated branches, as long as it has room.
    pub(super) fn needed_by_isolated(&self) -> u64 {
        let going_on = self.isolated().filter(|b| b.sent >= self.base);
        going_on.map(|b| b.acked).min().unwrap_or(u64::MAX)
    }

    fn isolated(&self) -> impl Iterator<Item = &Branch> {
        self.branches.iter().filter(|b| b.isolated)
    }
}
