//! What is kept for hosts of other clusters that are gone, and when it is let go of.
//!
//! The head of a cluster is connected to a host of the cluster above. When it dies, that host keeps for those below it what they
//! did not get, and only the lower dispatcher knows when they have it from others. So both remember the pair, from the first
//! time that the upper one names that host until the lower one says [`Between::Free`]; and the upper one counts those below as
//! long among those that may need what is kept for its own hosts. A cluster whose hosts are all gone is there until nobody needs
//! what is kept for them.

use super::*;

/// A host of a cluster above was named as the parent of a head of this one, and may keep something for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outside {
    /// Who named it.
    by: ClusterId,
    /// By what it knows it.
    ticket: Ticket,
    parent: HostId,
    head: HostId,
}

impl Dispatcher {
    /// This head, or founder, is to be connected to what the parent named.
    pub(super) fn note_outside(&mut self, head: HostId) {
        if let Above::Attached(by, peer, ticket) = self.above {
            let new = Outside { by, ticket, parent: peer.host, head };
            let same = |old: &Outside| (old.by, old.parent, old.head) == (by, new.parent, head);
            let (old, others): (Vec<Outside>, Vec<Outside>) =
                self.outside.iter().partition(|outside| same(outside));
            self.outside = others;
            self.outside.push(new);
            // The new one stands for them.
            for Outside { ticket, .. } in old.into_iter().filter(|old| old.ticket != ticket) {
                self.out.push_back(Output::Cluster(by, Between::Free(ticket)));
            }
        }
    }

    /// Whether a host of another cluster may keep something for this one, rather than one of its own.
    pub(super) fn is_outside(&self, parent: HostId) -> bool {
        self.tree.get(parent).is_none() && self.outside.iter().any(|outside| outside.parent == parent)
    }

    /// A host is to join another cluster. As long as it may take to find a place there, what it needs is kept here.
    pub(super) fn redirect(&mut self, now: Nanos, host: HostId, to: ClusterId) {
        self.tell(host, ToHost::Redirect(to));
        self.tree.send_away(host, now + self.policy.patience);
        self.remove(now, host);
    }

    /// A cluster, which may be elsewhere by now, does not need any more what is kept here for its heads.
    pub(super) fn on_free(&mut self, cluster: ClusterId, ticket: Option<Ticket>) {
        for (child, parent) in self.tree.free(cluster, ticket) {
            self.forget(child, parent);
        }
        self.settle_debts();
    }

    /// Who keeps something for hosts that are gone is told when nobody needs it any more, here or above; who is empty is no
    /// more then.
    pub(super) fn settle_debts(&mut self) {
        for (child, parent) in self.tree.take_buried() {
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
            self.out.push_back(Output::Cluster(by, Between::Free(ticket)));
        }
        let is_root = self.above == Above::Root;
        if self.ended && self.over.is_none() && (is_root || self.tree.all_is_buried()) {
            self.over = Some(false);
        }
    }

    fn forget(&mut self, child: HostId, parent: HostId) {
        if self.tree.get(parent).is_some() && !self.tree.keeps(parent, child) {
            self.tell(parent, ToHost::Forget { child });
        }
    }

    /// What an empty cluster handed over was not taken, by one that is no more, either: the root takes it.
    pub(super) fn hand_over_again(&mut self, to: ClusterId, message: Between) {
        if to != self.root && matches!(message, Between::Vanished(_)) {
            self.out.push_back(Output::Cluster(self.root, message));
        }
    }
}
