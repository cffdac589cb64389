//! The clusters above and below, and which hosts serve their heads. A cluster is put below a settled cluster
//! beside it. When its parent is empty or cannot serve it, it comes to its parent's parent. So there is never
//! a cycle of clusters.

use std::collections::BTreeMap;

use groupflow_base::Nanos;
use rand::RngCore;
use serde::{Deserialize, Serialize};

use super::cluster::{latency_to, ClusterHost, ParentOrder};
use super::dispatcher::{Above, Dispatcher};
use super::{ended, DispatcherMut};
use crate::machine::messages::{ClusterId, HostId, Peer, RouterId, Ticket, ToHost, TreeJoin};

/// A cluster below this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Below {
    /// The host that receives the stream for the cluster.
    pub head: Peer,
    /// The router of the host that founded the cluster.
    pub router: Option<RouterId>,
    /// The host of this cluster that serves the head; `None`: no host has room.
    pub from: Option<HostId>,
    /// Latency from this cluster's head to that head, one way, as far as it is known.
    pub latency: Nanos,
    /// The head needs bytes that other hosts no longer have; this cluster's head may have them.
    pub behind: bool,
}

impl Below {
    pub(super) fn new(head: Peer, router: Option<RouterId>, latency: Nanos) -> Below {
        Below { head, router, from: None, latency, behind: false }
    }
}

impl Dispatcher {
    /// The host that can serve another head: it has room, is not behind a slow host if possible, and is
    /// nearest to this cluster's head.
    pub(super) fn attach_point(&self, except: Option<HostId>) -> Option<HostId> {
        let ranked = self.open().filter(|&host| Some(host) != except);
        let ranked = ranked.filter_map(|host| self.rank(host, Nanos::ZERO, false));
        ranked.min().map(|rank| rank.parent)
    }

    pub(super) fn below_of(&self, host: Option<HostId>) -> Vec<ClusterId> {
        self.below.iter().filter(|(_, below)| below.from == host).map(|(&cluster, _)| cluster).collect()
    }

    /// The cluster below whose head is connected to that host.
    fn served(&self, head: HostId, parent: HostId) -> Option<ClusterId> {
        let mut below = self.below.iter();
        let found = below.find(|(_, b)| b.head.host == head && b.from == Some(parent));
        found.map(|(&cluster, _)| cluster)
    }
}

impl DispatcherMut<'_> {
    /// Lets a host found a cluster below this one, which may take over clusters that are nearer to it.
    pub(super) fn let_found(&mut self, join: &TreeJoin, latency: Nanos, measured: &[(HostId, Nanos)]) {
        let Some(host) = self.attach_point(None) else { return };
        let (id, cluster) = (self.id, ClusterId(self.rng.next_u64()));
        self.below.insert(cluster, Below::new(join.peer, join.router, latency));
        self.all.found(cluster, id, join.peer.host);
        self.attach_to(cluster, host);
        // It has no hosts that could be connected elsewhere.
        self.all.tell(cluster, |founded| founded.settled = true);
        self.notify(join.peer.host, ToHost::Redirect(cluster));
        self.let_take_over(cluster, usize::from(join.capacity).saturating_sub(1), latency, measured);
    }

    fn let_take_over(&mut self, by: ClusterId, room: usize, distance: Nanos, measured: &[(HostId, Nanos)]) {
        let base = self.tree.head().and_then(|head| self.delay(head)).unwrap_or(Nanos::ZERO);
        let fits = |latency: Nanos| !self.is_beyond(base + distance + latency);
        let nearer = |(&id, below): (&ClusterId, &Below)| {
            let latency = latency_to(measured, below.head.host)?;
            (id != by && latency < below.latency && fits(latency)).then_some((latency, id))
        };
        let mut taken: Vec<(Nanos, ClusterId)> = self.below.iter().filter_map(nearer).collect();
        taken.sort_unstable();
        for (latency, cluster) in taken.into_iter().take(room) {
            self.pass_on(cluster, by, latency);
        }
    }

    /// Passes a cluster below on to another one beside it.
    fn pass_on(&mut self, cluster: ClusterId, to: ClusterId, latency: Nanos) {
        if let Some(below) = self.below.remove(&cluster) {
            self.give(cluster, Below { latency, ..below }, to, true);
        }
    }

    fn give(&mut self, cluster: ClusterId, below: Below, to: ClusterId, may_pass_on: bool) {
        self.all.tell(cluster, |moved| moved.on_moved(to));
        self.all.tell(to, |taker| taker.on_adopt(cluster, below, may_pass_on));
    }

    /// Handles a cluster that comes from above, or from a cluster that is empty or cannot serve it. Beyond
    /// `Policy::max_clusters`, it is passed on to a settled cluster; if there is none it is kept, but never
    /// more than twice as many.
    pub(super) fn on_adopt(&mut self, cluster: ClusterId, below: Below, may_pass_on: bool) {
        self.below.insert(cluster, Below { from: None, ..below });
        let many = may_pass_on && self.below.len() > self.policy.max_clusters;
        if let Some(other) = self.nearest_settled(cluster).filter(|_| many) {
            return self.pass_on(cluster, other, below.latency);
        }
        if self.below.len() > 2 * self.policy.max_clusters {
            return self.pass_up(cluster);
        }
        self.attach(cluster, None, may_pass_on);
    }

    /// The nearest of the settled clusters beside that one, below which it may be put.
    fn nearest_settled(&self, cluster: ClusterId) -> Option<ClusterId> {
        let others = self.below.iter().filter(|(&id, _)| id != cluster && self.has_settled(id));
        others.map(|(&id, other)| (other.latency, id)).min().map(|(_, id)| id)
    }

    /// Whether the hosts of a cluster below are connected only to each other and to hosts of this cluster:
    /// then another cluster may be put below it, because no remaining edge can make that one an ancestor.
    pub(super) fn has_settled(&self, cluster: ClusterId) -> bool {
        let is_served = self.below.get(&cluster).is_some_and(|below| below.from.is_some());
        is_served && self.all.get(cluster).is_some_and(|lower| lower.settled)
    }

    /// Handles the move of this cluster below another one, which will name a host for the head.
    fn on_moved(&mut self, to: ClusterId) {
        self.above = match self.above {
            Above::Root => return,
            Above::Attached(_, peer, ticket) => Above::Attached(to, peer, ticket),
            Above::Asked(_) => Above::Asked(to),
        };
        self.attach_waiting();
    }

    /// Asks the parent for another host to which the head can be connected.
    pub(super) fn ask_above(&mut self) {
        let head = self.tree.head().and_then(|head| self.tree.get(head));
        let (Some(parent), Some(head)) = (self.parent(), head) else { return };
        let (peer, behind) = (head.peer, head.behind);
        let tried = self.tried_above.filter(|_| behind);
        let id = self.id;
        self.above = Above::Asked(parent);
        self.all.tell(parent, |above| above.on_head(id, peer, behind, tried));
    }

    /// Handles the place of this cluster's head, which that host of the parent's cluster expects.
    fn on_attach(&mut self, from: ClusterId, to: Peer, ticket: Ticket, delay: Nanos) {
        (self.above, self.delay_above) = (Above::Attached(from, to, ticket), delay);
        self.settled = false;
        if let Some(head) = self.tree.head() {
            self.order(head, ParentOrder::Outside, Nanos::ZERO);
        }
        self.settle_debts();
    }

    /// Handles a cluster whose head has changed, has lost its parent, or does not get its next bytes.
    /// `tried`: the host here that lacks these bytes.
    fn on_head(&mut self, from: ClusterId, head: Peer, behind: bool, tried: Option<HostId>) {
        let Some(below) = self.below.get_mut(&from) else { return };
        let before = (below.head == head).then_some(below.from).flatten();
        (below.head, below.behind) = (head, behind);
        if tried.is_some() && tried == self.tree.head() {
            return self.raise_cluster(from);
        }
        // A host that was tried could be reached; another could not.
        if let Some(host) = before.filter(|_| tried.is_none()) {
            self.suspect(host);
        }
        self.attach(from, before, true);
    }

    /// Notes that all hosts have carried out their orders since the head has its place.
    pub(super) fn note_settled(&mut self) {
        let Above::Attached(parent, ..) = self.above else { return };
        if !self.settled && !self.tree.is_empty() && self.tree.iter().all(|(_, member)| member.attached) {
            let id = self.id;
            self.settled = true;
            self.all.tell(parent, |above| {
                above.below.entry(id).and_modify(|below| below.behind = false);
            });
        }
    }

    /// Passes a cluster to this cluster's parent, because no host here can serve it; at the root, the hosts
    /// of the cluster begin again.
    pub(super) fn pass_up(&mut self, cluster: ClusterId) {
        let Some(below) = self.below.remove(&cluster) else { return };
        match self.parent() {
            Some(parent) => self.give(cluster, below, parent, false),
            None => self.all.tell(cluster, |lower| lower.dissolve()),
        }
    }

    /// Ends this cluster, which no host can serve: its hosts begin again.
    fn dissolve(&mut self) {
        let (root, until) = (self.all.root, self.now + self.policy.way());
        for host in self.tree.hosts() {
            self.notify(host, ToHost::Redirect(root));
            self.tree.note_away(host, until);
            self.tree.remove(host);
        }
        self.end();
    }

    /// Handles an empty cluster below, whose own clusters come here.
    fn on_vanished(&mut self, from: ClusterId, clusters: BTreeMap<ClusterId, Below>) {
        let before = self.below.remove(&from);
        let latency = before.map_or(self.policy.threshold, |below| below.latency);
        self.retry();
        for (cluster, below) in clusters {
            self.on_adopt(cluster, Below { latency: latency + below.latency, ..below }, true);
        }
    }

    pub(super) fn end_if_empty(&mut self) {
        if self.tree.is_empty() && self.founder.is_none() {
            self.end();
        }
    }

    /// Hands over the clusters below, and ends this one.
    pub(super) fn end(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        for (host, _) in std::mem::take(&mut self.joins) {
            self.notify(host, ended());
        }
        if let Some(parent) = self.parent() {
            let (id, below) = (self.id, std::mem::take(&mut self.below));
            below.keys().for_each(|&cluster| self.all.tell(cluster, |moved| moved.on_moved(parent)));
            self.all.tell(parent, |above| above.on_vanished(id, below));
        }
        self.settle_debts();
    }

    /// Gives the head of a cluster a parent here, other than `except` if possible. If no host has room, the
    /// cluster may be passed on to one beside it; otherwise some host serves more children than it offered.
    pub(super) fn attach(&mut self, cluster: ClusterId, except: Option<HostId>, may_pass_on: bool) {
        let Some(below) = self.below.get_mut(&cluster) else { return };
        below.from = None;
        let (behind, latency) = (below.behind, below.latency);
        // The head of this cluster keeps the bytes that any host of it may need.
        let keeper = self.tree.head().filter(|&head| behind && !self.is_suspect(head));
        let open = || self.attach_point(except).or_else(|| self.attach_point(None));
        if let Some(host) = keeper.or_else(open) {
            return self.attach_to(cluster, host);
        }
        if let Some(other) = self.nearest_settled(cluster).filter(|_| may_pass_on) {
            return self.pass_on(cluster, other, latency);
        }
        match self.overloaded_parent(None) {
            Some(host) => self.attach_to(cluster, host),
            None if self.may_serve(None) || self.parent().is_none() || self.tree.is_empty() => {}
            None => self.pass_up(cluster),
        }
    }

    pub(super) fn attach_to(&mut self, cluster: ClusterId, host: HostId) {
        let Some(child) = self.all.get(cluster).and_then(Dispatcher::head_or_founder) else { return };
        let Some(to) = self.tree.get(host).map(|member| member.peer) else { return };
        let (from, ticket) = (self.id, self.ticket());
        let delay = self.delay(host).unwrap_or(Nanos::ZERO);
        let Some(below) = self.below.get_mut(&cluster) else { return };
        below.from = Some(host);
        self.hold(cluster, child, host);
        self.notify(host, ToHost::Expect { child, ticket });
        self.all.tell(cluster, |lower| lower.on_attach(from, to, ticket, delay));
    }

    /// Connects the heads that this host serves to others.
    pub(super) fn attach_elsewhere(&mut self, host: HostId) {
        for cluster in self.below_of(Some(host)) {
            self.attach(cluster, Some(host), true);
        }
    }

    /// Repeats the orders of heads that were sent to this host and have not said that they are connected.
    pub(super) fn attach_again(&mut self, host: HostId) {
        for cluster in self.below_of(Some(host)) {
            if !self.has_settled(cluster) {
                self.attach_to(cluster, host);
            }
        }
    }

    /// Connects heads for which no host had room.
    pub(super) fn attach_waiting(&mut self) {
        for cluster in self.below_of(None) {
            self.attach(cluster, None, false);
        }
    }

    /// Lets a host that serves more children than it offered give up that head, if there is room elsewhere,
    /// or a cluster that may take the head's cluster.
    pub(super) fn relieve_of_head(&mut self, parent: HostId, head: HostId) -> bool {
        let Some(cluster) = self.served(head, parent) else { return false };
        let goes = self.attach_point(Some(parent)).is_some() || self.nearest_settled(cluster).is_some();
        if goes {
            self.attach(cluster, Some(parent), true);
        }
        goes
    }

    /// Handles a head of a cluster below that holds others up: one of its children takes its place, or it is
    /// connected to a lower host.
    pub(super) fn demote_head(&mut self, head: HostId, parent: HostId) -> bool {
        let Some(cluster) = self.served(head, parent) else { return false };
        let is_replaced = self.all.change(cluster).is_some_and(|mut lower| lower.replace_slow_head());
        if !is_replaced {
            self.lower_head(cluster, parent);
        }
        true
    }

    /// Lets a child of this cluster's head take its place. False: none can.
    fn replace_slow_head(&mut self) -> bool {
        let Some(slow) = self.tree.head() else { return false };
        let serves = |member: &ClusterHost| member.place == ParentOrder::Host(slow) && member.capacity > 0;
        let Some(head) = self.next_head(serves) else { return false };
        let children: Vec<HostId> = self.tree.children(slow).collect();
        self.note_slow(slow, self.policy.slow_for);
        self.tree.unplace(slow);
        self.make_head(head);
        for child in children.into_iter().filter(|&child| child != head) {
            self.place(child);
        }
        self.attach_elsewhere(slow);
        self.place(slow);
        self.ask_above();
        true
    }

    /// Connects the head of a cluster below to a host that is lower than the present one, if there is one.
    fn lower_head(&mut self, cluster: ClusterId, present: HostId) {
        let level = self.tree.depth(present);
        let ranked = self.open().filter_map(|host| self.rank(host, Nanos::ZERO, false));
        let lower = ranked.filter(|rank| Some(rank.depth) > level);
        if let Some(rank) = lower.min_by_key(|rank| (rank.depth, rank.delay, rank.parent)) {
            self.attach_to(cluster, rank.parent);
        }
    }
}
