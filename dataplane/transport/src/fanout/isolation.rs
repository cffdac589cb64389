//! Slow branches of a stream that does not wait for them (policy `isolate`).
//!
//! A branch that alone stops the others is *isolated*: the others go on without it, and the cache keeps what
//! it needs only as far as its capacity goes. It is sent on from where it had come, whenever it can take it.
//! Either it catches up, and counts again; or the cache begins after what it is to be sent next: it is
//! overtaken, and to be removed.

use super::branch::Branch;
use super::{BranchId, Fanout, FanoutError};

impl Fanout {
    /// Calls branches laggards when so many bytes are cached for them, not only when the cache is full: the
    /// rest of the cache is for isolated ones.
    #[must_use]
    pub fn with_patience(mut self, bytes: u64) -> Fanout {
        self.patience = bytes.min(self.capacity);
        self
    }

    /// Branches that alone stop, or soon stop, the stream: patience is over because of them, and they are
    /// more than half of it behind the fastest. With policy `isolate` they are isolated, or removed; when all
    /// are slow, there is none.
    pub fn laggards(&self) -> Vec<BranchId> {
        if self.cached() < self.patience {
            return Vec::new();
        }
        let counting = || self.branches.iter().filter(|b| !b.isolated);
        let fastest = counting().map(|b| b.acked).max().unwrap_or(self.received);
        counting().filter(|b| fastest - b.acked > self.patience / 2).map(|b| b.id).collect()
    }

    /// Isolates the branch: the stream waits for it no more.
    pub fn isolate(&mut self, branch: BranchId) -> Result<(), FanoutError> {
        self.branch_mut(branch)?.isolated = true;
        self.settle();
        Ok(())
    }

    /// Whether the branch is isolated.
    pub fn is_isolated(&self, branch: BranchId) -> bool {
        self.isolated().any(|b| b.id == branch)
    }

    /// Counts isolated branches again that lag half of the patience or less, and says which.
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

    /// Isolated branches that cannot go on: their next bytes are not cached any more.
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
