//! Hosts that lack bytes of the stream: those that are away, those whose bytes are kept, and those that need
//! bytes which the hosts around them no longer have.
//!
//! A host that was connected to a parent lacks bytes until it says that it is complete. If it leaves, dies,
//! or is away (silent, or on its way to another cluster) for too long before that, it is lost. If it comes
//! back after all, it is not.
//!
//! # Bytes kept for the hosts of another cluster
//!
//! The head of a cluster is connected to a host of the cluster above. When the head dies, that upper host
//! keeps the bytes that hosts below the head did not get until those have them from others, which shows in
//! the lower cluster. So the upper cluster remembers the pair ([`Hold`]) until no host of the lower one may
//! need these bytes. Meanwhile the lower hosts count among those that may need the bytes kept for hosts of
//! the upper cluster. A cluster whose hosts are all gone continues to exist until no host needs the bytes
//! kept for them.
//!
//! # Bytes that are gone
//!
//! A host keeps the bytes that hosts below it need, and never takes a child that needs bytes which hosts
//! above may have freed. So a host that finds no parent with its next bytes is sent up, in the end to the
//! source.
//!
//! | host | goes to |
//! |---|---|
//! | any host | the head of its cluster |
//! | a host for which the head lacks the bytes | becomes the head; without children, founds a cluster |
//! | a head | the head of the cluster above |
//! | a head for which that head lacks the bytes | its cluster goes below the next cluster above |
//! | a host for which the source lacks the bytes | is told so ([`ToHost::Gone`]) |

use std::collections::{BTreeMap, BTreeSet};

use groupflow_base::Nanos;
use rand::RngCore;

use super::cluster::{Awaited, Cluster, ClusterHost, Hold, Progress};
use super::clusters::Below;
use super::dispatcher::{Above, Dispatcher};
use super::{DispatcherMut, Dispatchers};
use crate::machine::messages::{ClusterId, HostId, Members, ToHost};

/// The most names of hosts without all bytes that the source is told.
const NAMES: usize = 16;
/// The most lost hosts whose names are known.
const MOST_LOST: usize = 1024;

/// Bytes that hosts of the cluster keep for hosts that are gone, away, or in another cluster.
impl Cluster {
    /// Forgets departed hosts to which no member can be connected, and whose bytes no member needs.
    pub(super) fn forget_departed(&mut self) {
        let of_members = self.members.values().flat_map(|member| &member.former);
        let of_others = self.holds.iter().map(|hold| &hold.parent).chain(self.awaited.keys());
        let (mut named, mut next) =
            (BTreeSet::new(), of_members.chain(of_others).copied().collect::<Vec<_>>());
        while let Some(name) = next.pop() {
            if let Some(parents) = self.departed.get(&name).filter(|_| named.insert(name)) {
                next.extend(parents);
            }
        }
        for (name, parents) in std::mem::take(&mut self.departed) {
            if named.contains(&name) {
                self.departed.insert(name, parents);
            } else {
                self.released.extend(parents.into_iter().map(|parent| (name, parent)));
            }
        }
    }

    /// Whether a host, or one below it that has no other parent yet, may need bytes that `parent`, here or in
    /// another cluster, keeps for it.
    fn may_need(&self, host: HostId, parent: HostId) -> bool {
        let of_member = self.get(host).into_iter().flat_map(ClusterHost::parents);
        of_member.chain(self.of_departed(host)).any(|other| other == parent)
    }

    /// The parents of a departed host, present and past.
    pub(super) fn of_departed(&self, host: HostId) -> impl Iterator<Item = HostId> + '_ {
        self.departed.get(&host).into_iter().flatten().copied()
    }

    /// Frees what is kept for another cluster.
    pub(super) fn free(&mut self, hold: Hold) {
        self.holds.retain(|other| *other != hold);
        self.forget_departed();
    }

    /// Whether a member keeps bytes for a host of any cluster, or for those below it.
    pub(super) fn keeps(&self, parent: HostId, host: HostId) -> bool {
        self.holds.iter().any(|hold| (hold.head, hold.parent) == (host, parent))
            || self.may_need(host, parent)
    }

    /// Notes that a member is away, which is then removed: bytes that it and the hosts below it need are kept
    /// here until it has a place again.
    pub(super) fn note_away(&mut self, host: HostId, until: Nanos) {
        if self.members.contains_key(&host) {
            let before = self.awaited.remove(&host).and_then(|awaited| awaited.lacking);
            let lacking = self.lacking(host).or(before);
            self.awaited.insert(host, Awaited { until, lacking });
        }
    }

    /// The name of a member that lacks bytes of the stream.
    pub(super) fn lacking(&self, host: HostId) -> Option<String> {
        let member = self.get(host).filter(|member| member.progress == Progress::Receiving);
        member.map(|member| member.name.clone())
    }

    /// The names of all hosts, here or away, that lack bytes of the stream.
    fn all_lacking(&self) -> impl Iterator<Item = &str> {
        let here = self.members.values().filter(|member| member.progress == Progress::Receiving);
        let away = self.awaited.values().filter_map(|awaited| awaited.lacking.as_deref());
        here.map(|member| &*member.name).chain(away)
    }

    /// Ends the waits for hosts that have a place by now, or are gone; returns those that lacked bytes.
    pub(super) fn wait_no_longer(
        &mut self, is_over: impl Fn(HostId, Nanos) -> bool,
    ) -> Vec<(HostId, String)> {
        let (over, awaited) =
            std::mem::take(&mut self.awaited).into_iter().partition(|(host, a)| is_over(*host, a.until));
        self.awaited = awaited;
        self.forget_departed();
        let over: BTreeMap<HostId, Awaited> = over;
        over.into_iter().filter_map(|(host, awaited)| Some((host, awaited.lacking?))).collect()
    }
}

impl Dispatcher {
    /// Whether hosts of this cluster may need what a host of another cluster keeps for them.
    fn may_need_held(&self, hold: &Hold) -> bool {
        let is_present = !self.ended
            && self.attached_to() == Some(hold.parent)
            && self.head_or_founder() == Some(hold.head);
        is_present || self.tree.may_need(hold.head, hold.parent)
    }
}

impl Dispatchers {
    /// The hosts of the tree, and which of them lack bytes of the stream.
    pub fn members(&self) -> Members {
        let attached = self.iter().flat_map(|dispatcher| dispatcher.tree.iter()).filter(|(_, m)| m.attached);
        // The source has no parent.
        let hosts = attached.count().saturating_sub(1);
        let names = || self.iter().flat_map(|dispatcher| dispatcher.tree.all_lacking());
        let lost = self.get(self.root).map(|root| root.lost.clone()).unwrap_or_default();
        let some = names().take(NAMES).map(str::to_owned).collect();
        Members { hosts, receiving: names().count(), names: some, lost }
    }

    /// Notes that a host lacks bytes for good, unless it comes back.
    pub(super) fn lose(&mut self, host: HostId, name: String) {
        self.tell(self.root, |root| {
            if root.lost.len() < MOST_LOST {
                root.lost.insert(host, name);
            }
        });
    }

    /// Notes that a host is not away any more: it has a parent, or all bytes.
    pub(super) fn find_again(&mut self, host: HostId) {
        self.wait_no_longer(host);
        if self.get(self.root).is_some_and(|root| root.lost.contains_key(&host)) {
            self.change(self.root).and_then(|mut root| root.lost.remove(&host));
        }
    }

    /// Notes that a host leaves, maybe while it is away.
    pub(super) fn let_go(&mut self, host: HostId) {
        if let Some(name) = self.wait_no_longer(host) {
            self.lose(host, name);
        }
    }

    /// Waits for a host that is away until that time at the latest.
    pub(super) fn wait_at_most(&mut self, host: HostId, until: Nanos) {
        match until > self.now {
            true => self.change_wait(host, |before| before.min(until)),
            false => self.let_go(host),
        }
    }

    /// Waits longer for a host that is away, and joins now.
    pub(super) fn wait_longer(&mut self, host: HostId) {
        let until = self.now + self.policy.way();
        self.change_wait(host, |before| before.max(until));
    }

    fn change_wait(&mut self, host: HostId, change: impl Fn(Nanos) -> Nanos) {
        for id in self.awaiting(host) {
            self.tell(id, |found| {
                found.tree.awaited.entry(host).and_modify(|away| away.until = change(away.until));
            });
        }
    }

    fn wait_no_longer(&mut self, host: HostId) -> Option<String> {
        let mut lacking = None;
        for id in self.awaiting(host) {
            self.tell(id, |found| {
                lacking = found.tree.wait_no_longer(|other, _| other == host).pop().or(lacking.take());
                found.settle_debts();
            });
        }
        lacking.map(|(_, name)| name)
    }

    /// The clusters that wait for a host.
    fn awaiting(&self, host: HostId) -> Vec<ClusterId> {
        self.iter().filter(|found| found.tree.awaited.contains_key(&host)).map(|found| found.id).collect()
    }
}

impl DispatcherMut<'_> {
    /// Notes that a member departs; it is lost if it lacks bytes.
    pub(super) fn lose(&mut self, host: HostId) {
        if let Some(name) = self.tree.lacking(host) {
            self.all.lose(host, name);
        }
    }

    /// Removes a host that is silent, or whose connection is lost, and that is waited for until that time.
    pub(super) fn remove_absent(&mut self, host: HostId, until: Nanos) {
        match until > self.now {
            true => self.tree.note_away(host, until),
            false => self.lose(host),
        }
        self.remove(host);
    }

    /// Whether `parent` is a host of another cluster that may keep bytes for this one.
    pub(super) fn is_outside(&self, parent: HostId) -> bool {
        let keeps = |keeper: &Dispatcher| {
            keeper.tree.holds.iter().any(|hold| (hold.cluster, hold.parent) == (self.id, parent))
        };
        self.tree.get(parent).is_none()
            && self.keepers().into_iter().any(|keeper| self.all.get(keeper).is_some_and(keeps))
    }

    /// Notes that a host of this cluster serves that cluster's head.
    pub(super) fn hold(&mut self, cluster: ClusterId, head: HostId, parent: HostId) {
        let id = self.id;
        let hold = Hold { cluster, head, parent };
        if !self.tree.holds.contains(&hold) {
            self.tree.holds.push(hold);
        }
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
        for (child, parent) in std::mem::take(&mut self.tree.released) {
            self.forget(child, parent);
        }
        for keeper in self.keepers() {
            self.free_at(keeper);
        }
        if self.ended && (self.above == Above::Root || self.tree.departed.is_empty()) {
            let id = self.id;
            self.all.finished.push(id);
        }
    }

    /// Frees what hosts of that cluster keep for this one, and need not keep any more.
    fn free_at(&mut self, keeper: ClusterId) {
        let id = self.id;
        let holds = self.all.get(keeper).into_iter().flat_map(|keeper| &keeper.tree.holds);
        let (needed, free): (Vec<Hold>, Vec<Hold>) =
            holds.filter(|hold| hold.cluster == id).partition(|hold| self.may_need_held(hold));
        if needed.is_empty() {
            self.all.keepers.remove(&(id, keeper));
        }
        if free.is_empty() {
            return;
        }
        self.all.tell(keeper, |keeper| {
            for hold in free {
                keeper.tree.free(hold);
                keeper.forget(hold.head, hold.parent);
            }
            keeper.settle_debts();
        });
    }

    fn forget(&mut self, child: HostId, parent: HostId) {
        if self.tree.get(parent).is_some() && !self.tree.keeps(parent, child) {
            self.notify(parent, ToHost::Forget { child });
        }
    }

    /// Handles a host for which the cluster's head lacks the next bytes.
    pub(super) fn on_behind_head(&mut self, host: HostId, head: HostId) {
        let serves = self.tree.get(host).is_some_and(|member| member.capacity > 0);
        match (self.parent(), serves) {
            (None, _) => {
                self.give_up(host);
                self.place_beside(host, Some(head));
            }
            (Some(_), true) => {
                self.tree.unplace(head);
                self.make_head(host);
                self.place(head);
                self.ask_above();
            }
            (Some(parent), false) => self.set_apart(host, parent),
        }
    }

    /// Tells a host that no host has its next bytes.
    fn give_up(&mut self, host: HostId) {
        self.tree.change(host, |member| member.behind = false);
        self.notify(host, ToHost::Gone);
    }

    /// Gives a host that must be connected to a host above, but cannot be the head of others, a cluster of
    /// its own.
    fn set_apart(&mut self, host: HostId, parent: ClusterId) {
        let Some(peer) = self.tree.get(host).map(|member| member.peer) else { return };
        let cluster = ClusterId(self.rng.next_u64());
        let below = Below { behind: true, ..Below::new(peer, None, self.policy.threshold) };
        self.all.found(cluster, parent, host);
        self.all.tell(parent, |above| above.on_adopt(cluster, below, true));
        self.redirect(host, cluster);
    }

    /// Handles a cluster below for whose head this cluster's head lacks the next bytes.
    pub(super) fn raise_cluster(&mut self, cluster: ClusterId) {
        if self.parent().is_some() {
            return self.pass_up(cluster);
        }
        // The source lacks the bytes, too.
        self.all.tell(cluster, |lower| {
            lower.tried_above = None;
            if let Some(head) = lower.tree.head() {
                lower.give_up(head);
            }
        });
        self.below.entry(cluster).and_modify(|below| below.behind = false);
        self.attach(cluster, None, true);
    }
}
