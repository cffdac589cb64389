//! Bytes kept for departed hosts of other clusters, and when they may be freed.
//!
//! The head of a cluster is connected to a host of the cluster above. When the head dies, that upper host
//! keeps the bytes that hosts below the head did not get until those have them from others, which shows in the
//! lower cluster. So the upper cluster remembers the pair ([`Hold`]) until no host of the lower one may need these
//! bytes. Meanwhile the lower hosts count among those that may need the bytes kept for hosts of the upper
//! cluster. A cluster whose hosts are all gone continues to exist until no host needs the bytes kept for them.

use super::*;

impl Dispatcher {
    /// The clusters for whose heads hosts of this cluster may keep bytes.
    pub(in crate::machine) fn keeps_for(&self) -> impl Iterator<Item = ClusterId> + '_ {
        self.tree.holds().map(|hold| hold.cluster)
    }

    /// Whether hosts of this cluster may need what a host of another cluster keeps for them.
    fn may_need_held(&self, hold: &Hold) -> bool {
        let is_present = !self.ended
            && self.attached_to() == Some(hold.parent)
            && self.head_or_founder() == Some(hold.head);
        is_present || self.tree.may_need(hold.head, hold.parent)
    }
}

impl DispatcherMut<'_> {
    /// Whether `parent` is a host of another cluster that may keep bytes for this one.
    pub(super) fn is_outside(&self, parent: HostId) -> bool {
        let keeps = |keeper: &Dispatcher| {
            keeper.tree.holds().any(|hold| (hold.cluster, hold.parent) == (self.id, parent))
        };
        self.tree.get(parent).is_none()
            && self.keepers().into_iter().any(|keeper| self.all.get(keeper).is_some_and(keeps))
    }

    /// Notes that a host of this cluster serves that cluster's head.
    pub(super) fn hold(&mut self, cluster: ClusterId, head: HostId, parent: HostId) {
        let id = self.id;
        self.tree.hold(Hold { cluster, head, parent });
        self.all.keepers.insert((cluster, id));
    }

    fn keepers(&self) -> Vec<ClusterId> {
        let of_this = (self.id, ClusterId(0))..=(self.id, ClusterId(u64::MAX));
        self.all.keepers.range(of_this).map(|&(_, keeper)| keeper).collect()
    }

    /// Sends a host to another cluster. Bytes that it needs are kept here for as long as finding a place
    /// there may take.
    pub(super) fn redirect(&mut self, host: HostId, to: ClusterId) {
        let until = self.now + self.policy.way();
        self.notify(host, ToHost::Redirect(to));
        self.tree.note_away(host, until);
        self.remove(host);
    }

    /// Tells each host that keeps bytes for departed hosts when no host needs them any more, here or above;
    /// an empty cluster then ends.
    pub(super) fn settle_debts(&mut self) {
        for (child, parent) in self.tree.take_released() {
            self.forget(child, parent);
        }
        for keeper in self.keepers() {
            self.free_at(keeper);
        }
        if self.ended && (self.above == Above::Root || self.tree.needs_no_departed()) {
            let id = self.id;
            self.all.finish(id);
        }
    }

    /// Frees what hosts of that cluster keep for this one, and need not keep any more.
    fn free_at(&mut self, keeper: ClusterId) {
        let id = self.id;
        let holds = self.all.get(keeper).into_iter().flat_map(|keeper| keeper.tree.holds());
        let (needed, free): (Vec<Hold>, Vec<Hold>) =
            holds.filter(|hold| hold.cluster == id).partition(|hold| self.may_need_held(hold));
        if needed.is_empty() {
            self.all.keepers.remove(&(id, keeper));
        }
        if free.is_empty() {
            return;
        }
        if let Some(mut keeper) = self.all.change(keeper) {
            for hold in free {
                keeper.tree.free(hold);
                keeper.forget(hold.head, hold.parent);
            }
            keeper.settle_debts();
        }
    }

    fn forget(&mut self, child: HostId, parent: HostId) {
        if self.tree.get(parent).is_some() && !self.tree.keeps(parent, child) {
            self.notify(parent, ToHost::Forget { child });
        }
    }
}
