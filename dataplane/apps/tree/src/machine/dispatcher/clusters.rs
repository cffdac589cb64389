//! The clusters above and below. A cluster is put below a settled cluster beside it, or comes to its parent's
//! parent when its parent is empty or cannot serve it: so there is never a cycle of clusters.

use super::*;

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
    /// A cluster of which nothing else is known.
    pub(super) fn found_again(head: Peer, latency: Nanos, behind: bool) -> Below {
        Below { head, router: None, from: None, latency, behind }
    }

    /// The same cluster on its way to another one.
    fn given(self) -> Below {
        Below { from: None, ..self }
    }
}

impl DispatcherMut<'_> {
    /// Lets a host found a cluster below this one, which may take over clusters that are nearer to it.
    pub(super) fn let_found(&mut self, join: &TreeJoin, latency: Nanos, measured: &[(HostId, Nanos)]) {
        let Some(host) = self.attach_point(None) else { return };
        let (id, cluster) = (self.id, ClusterId(self.rng.next_u64()));
        let below = Below::found_again(join.peer, latency, false);
        self.below.insert(cluster, Below { router: join.router, ..below });
        self.all.found(cluster, id, join.peer.host);
        self.attach_to(cluster, host);
        if let Some(mut founded) = self.all.change(cluster) {
            // It has no hosts that could be connected elsewhere.
            founded.settled = true;
        }
        self.notify(join.peer.host, ToHost::Redirect(cluster));
        if self.policy.takes_over && join.capacity > 1 {
            self.let_take_over(cluster, usize::from(join.capacity) - 1, latency, measured);
        }
    }

    fn let_take_over(&mut self, by: ClusterId, room: usize, distance: Nanos, measured: &[(HostId, Nanos)]) {
        let base = self.tree.head().and_then(|head| self.delay(head)).unwrap_or(Nanos::ZERO);
        let fits = |latency: Nanos| !self.is_beyond(base + distance + latency);
        let to = |host: HostId| measured.iter().find(|(h, _)| *h == host).map(|&(_, latency)| latency);
        let nearer = |(&id, below): (&ClusterId, &Below)| {
            let latency = to(below.head.host).filter(|&latency| id != by && latency < below.latency)?;
            fits(latency).then_some((latency, id))
        };
        let mut taken: Vec<(Nanos, ClusterId)> = self.below.iter().filter_map(nearer).collect();
        taken.sort_unstable();
        for (latency, cluster) in taken.into_iter().take(room) {
            self.pass_on(cluster, by, latency);
        }
    }

    /// Passes a cluster below on to another one beside it.
    pub(super) fn pass_on(&mut self, cluster: ClusterId, to: ClusterId, latency: Nanos) {
        if let Some(below) = self.below.remove(&cluster) {
            self.give(cluster, Below { latency, ..below }, to, true);
        }
    }

    fn give(&mut self, cluster: ClusterId, below: Below, to: ClusterId, may_pass_on: bool) {
        self.count_foreign();
        if let Some(mut moved) = self.all.change(cluster) {
            moved.on_moved(to);
        }
        if let Some(mut taker) = self.all.change(to) {
            taker.on_adopt(cluster, below.given(), may_pass_on);
        }
    }

    /// Handles a cluster that comes from above, or from a cluster that is empty or cannot serve it. Beyond
    /// `Policy::max_clusters`, it is passed on to a settled cluster; if there is none it is kept, but never
    /// more than twice as many.
    pub(super) fn on_adopt(&mut self, cluster: ClusterId, below: Below, may_pass_on: bool) {
        self.below.insert(cluster, below);
        self.count_foreign();
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
    pub(super) fn nearest_settled(&self, cluster: ClusterId) -> Option<ClusterId> {
        let others = self.below.iter().filter(|(&id, _)| id != cluster && self.has_settled(id));
        others.map(|(&id, other)| (other.latency, id)).min().map(|(_, id)| id)
    }

    /// Whether the hosts of a cluster below are connected only to each other and to hosts of this cluster: then
    /// another cluster may be put below it, because no remaining edge can make that one an ancestor.
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
        let (id, peer, behind) = (self.id, head.peer, head.behind);
        let tried = self.tried_above.filter(|_| behind);
        self.above = Above::Asked(parent);
        if let Some(mut above) = self.all.change(parent) {
            above.on_head(id, peer, behind, tried);
        }
    }

    /// Handles the place of this cluster's head, which that host of the parent's cluster expects.
    pub(super) fn on_attach(&mut self, from: ClusterId, to: Peer, ticket: Ticket, delay: Nanos) {
        (self.above, self.delay_above) = (Above::Attached(from, to, ticket), delay);
        self.settled = false;
        if let Some(head) = self.tree.head() {
            self.order(head, ParentOrder::Outside, Nanos::ZERO);
        }
        self.settle_debts();
    }

    /// Handles a cluster whose head has changed, has lost its parent, or does not get its next bytes. `tried`:
    /// the host here that lacks these bytes.
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
            if let Some(below) = self.all.change(parent).as_mut().and_then(|above| above.below.get_mut(&id)) {
                below.behind = false;
            }
        }
    }

    /// Gives a cluster below to this cluster's parent, because no host here can serve it.
    pub(super) fn give_back(&mut self, cluster: ClusterId) {
        if self.parent().is_some() && !self.tree.is_empty() {
            self.pass_up(cluster);
        }
    }

    /// Passes a cluster to this cluster's parent; at the root, the cluster's hosts begin again.
    pub(super) fn pass_up(&mut self, cluster: ClusterId) {
        let Some(parent) = self.parent() else {
            if self.below.remove(&cluster).is_some() {
                self.count_foreign();
                if let Some(mut lower) = self.all.change(cluster) {
                    lower.dissolve();
                }
            }
            return;
        };
        if let Some(below) = self.below.remove(&cluster) {
            self.give(cluster, below, parent, false);
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
    fn on_vanished(&mut self, from: ClusterId, clusters: Vec<(ClusterId, Below)>) {
        let before = self.below.remove(&from);
        let latency = before.map_or(self.policy.threshold, |below| below.latency);
        self.count_foreign();
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
            self.hand_over(parent);
        }
        self.settle_debts();
    }

    /// Gives the parent the clusters below.
    fn hand_over(&mut self, parent: ClusterId) {
        let (id, below) = (self.id, std::mem::take(&mut self.below));
        let clusters: Vec<_> = below.into_iter().map(|(cluster, below)| (cluster, below.given())).collect();
        for (cluster, _) in &clusters {
            if let Some(mut moved) = self.all.change(*cluster) {
                moved.on_moved(parent);
            }
        }
        if let Some(mut above) = self.all.change(parent) {
            above.on_vanished(id, clusters);
        }
    }
}
