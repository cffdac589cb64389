//! Bytes kept for departed hosts of other clusters, and when they may be freed.
//!
//! The head of a cluster is connected to a host of the cluster above. When the head dies, that upper host
//! keeps the bytes that hosts below the head did not get, and only the lower dispatcher knows when those have
//! them from others. So both dispatchers remember the pair, from the first time the upper one names that host
//! until the lower one says [`Between::Free`]. Meanwhile the upper dispatcher counts the lower hosts among
//! those that may need the bytes kept for its own. A cluster whose hosts are all gone continues to exist
//! until no host needs the bytes kept for them.

use super::*;

/// A host of a cluster above that was named as the parent of a head of this cluster, and may keep bytes for
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outside {
    /// The cluster that named the host.
    by: ClusterId,
    /// The ticket by which that cluster knows the connection.
    ticket: Ticket,
    parent: HostId,
    head: HostId,
}

impl Dispatcher {
    /// Notes that this head, or founder, is to be connected to the host that the parent named.
    pub(super) fn note_outside(&mut self, head: HostId) {
        if let Above::Attached(by, peer, ticket) = self.above {
            let new = Outside { by, ticket, parent: peer.host, head };
            let same = |old: &Outside| (old.by, old.parent, old.head) == (by, new.parent, head);
            let (old, others): (Vec<Outside>, Vec<Outside>) =
                self.outside.iter().partition(|outside| same(outside));
            self.outside = others;
            self.outside.push(new);
            // The new entry stands for the old ones, too.
            for Outside { ticket, .. } in old.into_iter().filter(|old| old.ticket != ticket) {
                self.send(by, Between::Free(ticket));
            }
        }
    }

    /// Whether `parent` is a host of another cluster that may keep bytes for this one.
    pub(super) fn is_outside(&self, parent: HostId) -> bool {
        self.tree.get(parent).is_none() && self.outside.iter().any(|outside| outside.parent == parent)
    }

    /// Sends a host to another cluster. Bytes that it needs are kept here for as long as finding a place
    /// there may take.
    pub(super) fn redirect(&mut self, host: HostId, to: ClusterId) {
        self.notify(host, ToHost::Redirect(to));
        self.tree.send_away(host, self.now + self.policy.patience);
        self.remove(host);
    }

    /// Handles a cluster, which may be elsewhere by now, that no longer needs bytes kept here for its head.
    pub(super) fn on_free(&mut self, cluster: ClusterId, ticket: Ticket) {
        if let Some((child, parent)) = self.tree.free(cluster, ticket) {
            self.forget(child, parent);
        }
        self.settle_debts();
    }

    /// Tells each host that keeps bytes for departed hosts when no host needs them any more, here or above;
    /// an empty cluster then ends.
    pub(super) fn settle_debts(&mut self) {
        for (child, parent) in self.tree.take_released() {
            self.forget(child, parent);
        }
        let current = match self.above {
            Above::Attached(.., ticket) if !self.ended => Some(ticket),
            _ => None,
        };
        let owed = |outside: &Outside| {
            Some(outside.ticket) == current || self.tree.may_need(outside.head, outside.parent)
        };
        let (owed, free): (Vec<Outside>, Vec<Outside>) =
            self.outside.iter().partition(|outside| owed(outside));
        self.outside = owed;
        for Outside { by, ticket, .. } in free {
            self.send(by, Between::Free(ticket));
        }
        let is_root = self.above == Above::Root;
        if self.ended && self.over.is_none() && (is_root || self.tree.needs_no_departed()) {
            self.over = Some(false);
        }
    }

    fn forget(&mut self, child: HostId, parent: HostId) {
        if self.tree.get(parent).is_some() && !self.tree.keeps(parent, child) {
            self.notify(parent, ToHost::Forget { child });
        }
    }
}
