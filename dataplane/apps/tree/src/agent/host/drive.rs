//! A host's node, with the clock and the poller that drive it.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use groupflow_base::Nanos;
use groupflow_host::error::AgentError;
use groupflow_host::poller::{Poller, Ready};
use groupflow_host::process::system;

use crate::machine::{ConnId, HostId, TreeNode};

/// The source of an event.
#[derive(Debug, Clone, Copy)]
pub enum HostPollKey {
    Listener,
    Dispatchers,
    Link(ConnId),
    Probe(HostId),
    Data,
}

pub struct Drive {
    /// The host's node, which decides.
    pub node: TreeNode,
    pub poller: Poller<HostPollKey>,
    began: Instant,
}

impl Drive {
    pub(super) fn new(node: TreeNode) -> Result<Drive, AgentError> {
        let poller = Poller::with_signals().map_err(|e| system(&e))?;
        Ok(Drive { node, began: poller.now, poller })
    }

    /// The time as the node counts it.
    pub fn nanos(&self) -> Nanos {
        nanos(self.poller.now.saturating_duration_since(self.began))
    }

    pub(super) fn deadline(&self) -> Instant {
        self.began + Duration::from_nanos(self.node.deadline().0.min(u64::MAX / 4))
    }

    /// Watches a descriptor. False: it is always ready.
    pub(super) fn watch(&mut self, fd: BorrowedFd<'_>, target: HostPollKey) -> Result<bool, AgentError> {
        self.poller.watch(fd, target).map_err(|e| system(&e))
    }

    /// Takes events, and waits for them until this time unless there is other work.
    pub(super) fn wait(
        &mut self, until: Instant, busy: bool,
    ) -> Result<Vec<(HostPollKey, Ready)>, AgentError> {
        let mut happened = Vec::new();
        let timeout = if busy { Duration::ZERO } else { until.saturating_duration_since(Instant::now()) };
        self.poller.wait(Some(timeout), &mut happened).map_err(|e| system(&e))?;
        Ok(happened)
    }

    /// Tells the node that a connection has ended, or could not be made.
    pub(super) fn on_closed(&mut self, conn: ConnId) {
        self.node.on_closed(self.nanos(), conn);
    }
}

pub(super) fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
