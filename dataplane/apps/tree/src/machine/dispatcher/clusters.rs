//! The clusters above and below. A cluster is put below a settled cluster beside it, or comes to its parent's
//! parent when its parent is empty or cannot serve it: so there is never a cycle of clusters.

use super::*;
use crate::machine::RouterId;

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
    /// The last [`Between::Attach`], while it is not known to be carried out.
    pub awaited: Option<Ticket>,
    /// The head needs bytes that other hosts no longer have; this cluster's head may have them.
    pub behind: bool,
    /// The delay of `from` from the source, as the cluster was told last.
    pub delay: Nanos,
    /// The findings of the head's reviews.
    pub(super) review: Review,
}

impl Below {
    /// A cluster of which nothing else is known.
    pub fn found_again(head: Peer, latency: Nanos, behind: bool) -> Below {
        Below {
            head,
            router: None,
            from: None,
            latency,
            awaited: None,
            behind,
            delay: Nanos::ZERO,
            review: Review::default(),
        }
    }

    /// The same cluster on its way to another one.
    fn given(self) -> Below {
        Below { from: None, awaited: None, review: Review::default(), ..self }
    }

    /// Whether the cluster's hosts are connected only to each other and to hosts of this cluster: then
    /// another cluster may be put below it, because no remaining edge can make that one an ancestor.
    pub(super) fn has_settled(&self) -> bool {
        self.from.is_some() && self.awaited.is_none()
    }
}

impl Dispatcher {
    /// Lets a host found a cluster below this one, which may take over clusters that are nearer to it.
    pub(super) fn let_found(&mut self, join: &TreeJoin, latency: Nanos, measured: &[(HostId, Nanos)]) {
        let Some((host, peer)) = self.attach_point(None).and_then(|h| Some((h, self.tree.get(h)?.peer)))
        else {
            return;
        };
        let (cluster, ticket) = (ClusterId(self.rng.next_u64()), self.ticket());
        let delay = self.delay(host).unwrap_or(Nanos::ZERO);
        let new = Below::found_again(join.peer, latency, false);
        let below = Below { router: join.router, from: Some(host), delay, ..new };
        self.below.insert(cluster, below);
        self.tree.hold(Hold { cluster, head: join.peer.host, parent: host, ticket });
        self.count_foreign();
        self.notify(host, ToHost::Expect { child: join.peer.host, ticket });
        let founding = Founding {
            cluster,
            parent: self.id,
            root: self.root,
            founder: join.peer.host,
            attach: Some((peer, ticket)),
            delay,
        };
        self.out.push_back(DispatcherAction::Found(founding));
        self.notify(join.peer.host, ToHost::Redirect(cluster));
        if self.policy.takes_over && join.capacity > 1 {
            self.let_take_over(cluster, usize::from(join.capacity) - 1, latency, measured);
        }
    }

    fn let_take_over(&mut self, by: ClusterId, room: usize, far: Nanos, measured: &[(HostId, Nanos)]) {
        let base = self.tree.head().and_then(|head| self.delay(head)).unwrap_or(Nanos::ZERO);
        let fits = |latency: Nanos| !self.is_beyond(base + far + latency);
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
        let below = below.given();
        self.out.push_back(DispatcherAction::Move { cluster, below, to, may_pass_on });
    }

    /// Handles a cluster that comes from above, or from a cluster that is empty or cannot serve it. Beyond
    /// `Policy::max_clusters`, it is passed on to a settled cluster; if there is none it is kept, but never
    /// more than twice as many.
    pub fn on_adopt(&mut self, now: Nanos, cluster: ClusterId, below: Below, may_pass_on: bool) {
        self.now = now;
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
        let others = self.below.iter().filter(|(&id, other)| id != cluster && other.has_settled());
        others.map(|(&id, other)| (other.latency, id)).min().map(|(_, id)| id)
    }

    /// Handles the move of this cluster below another one, which will name a host for the head.
    pub fn on_moved(&mut self, now: Nanos, to: ClusterId) {
        self.now = now;
        self.above = match self.above {
            Above::Root => return,
            Above::Attached(_, peer, ticket) => Above::Attached(to, peer, ticket),
            Above::Asked(_) => Above::Asked(to),
        };
        self.attach_waiting();
    }

    /// Asks the parent for another host to which the head can be connected.
    pub(super) fn ask_above(&mut self, head: HostId) {
        if let (Some(parent), Some(member)) = (self.parent(), self.tree.get(head)) {
            let (head, behind) = (member.peer, member.behind);
            self.above = Above::Asked(parent);
            self.send(parent, Between::Head { head, behind, tried: self.tried.filter(|_| behind) });
        }
    }

    pub(super) fn on_attach(
        &mut self, from: ClusterId, (to, delay): (Peer, Nanos), ticket: Ticket, given: HostId,
    ) {
        let head = self.tree.head().or(self.founder.map(|(founder, _)| founder));
        // A ticket for an earlier head is of no use to this one, which the named host does not expect; its
        // own will follow.
        let Some(head) = head.filter(|&head| head == given && self.parent() == Some(from)) else {
            return self.send(from, Between::Free(ticket));
        };
        (self.above, self.delay_above) = (Above::Attached(from, to, ticket), delay);
        self.note_outside(head);
        if self.tree.head().is_some() {
            self.order(head, ParentOrder::Outside, Nanos::ZERO);
        }
        self.settle_debts();
    }

    /// Handles a cluster whose head has changed, has lost its parent, or does not get its next bytes.
    pub(super) fn on_head(&mut self, from: ClusterId, head: Peer, behind: bool, tried: Option<Ticket>) {
        let Some(below) = self.below.get_mut(&from) else { return };
        let not = (below.head == head).then_some(below.from).flatten();
        (below.head, below.behind) = (head, behind);
        match tried.filter(|&ticket| behind && self.is_from_head(from, ticket)) {
            Some(ticket) => self.raise_cluster(from, ticket),
            None => {
                // A host that was tried could be reached; another could not.
                not.filter(|_| tried.is_none()).into_iter().for_each(|host| self.suspect(host));
                self.attach(from, not, true);
            }
        }
    }

    /// Notes that a cluster has carried out an [`Between::Attach`].
    pub(super) fn on_settled(&mut self, from: ClusterId, ticket: Ticket) {
        if let Some(below) = self.below.get_mut(&from).filter(|below| below.awaited == Some(ticket)) {
            (below.awaited, below.behind) = (None, false);
        }
    }

    /// Tells the parent, once for each [`Between::Attach`], that all hosts have carried out their orders.
    pub(super) fn report_settled(&mut self) {
        let Above::Attached(parent, _, ticket) = self.above else { return };
        let settled = !self.tree.is_empty() && self.tree.iter().all(|(_, member)| member.attached);
        if settled && self.reported != Some(ticket) {
            self.reported = Some(ticket);
            self.send(parent, Between::Settled(ticket));
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
                self.send(cluster, Between::Dissolve);
            }
            return;
        };
        if let Some(below) = self.below.remove(&cluster) {
            self.give(cluster, below, parent, false);
        }
    }

    /// Handles the root's refusal to keep this cluster, which no host can serve: its hosts begin again.
    pub(super) fn on_dissolve(&mut self) {
        if self.above == Above::Root {
            return;
        }
        for host in self.tree.hosts() {
            self.notify(host, ToHost::Redirect(self.root));
            self.tree.send_away(host, self.now + self.policy.patience);
            self.tree.remove(host);
        }
        self.end();
    }

    /// Handles an empty cluster below, whose own clusters come here.
    pub fn on_vanished(&mut self, now: Nanos, from: ClusterId, clusters: Vec<(ClusterId, Below)>) {
        self.now = now;
        let before = self.below.remove(&from);
        let latency = before.map_or(self.policy.threshold, |below| below.latency);
        self.count_foreign();
        self.retry();
        for (cluster, below) in clusters {
            self.on_adopt(now, cluster, Below { latency: latency + below.latency, ..below }, true);
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
        let below = std::mem::take(&mut self.below);
        let clusters = below.into_iter().map(|(cluster, below)| (cluster, below.given())).collect();
        self.out.push_back(DispatcherAction::Vanished(clusters));
        for (host, _) in std::mem::take(&mut self.joins) {
            self.refuse(host, RefusalCode::Ended, "the cluster is no more".to_owned());
        }
        self.settle_debts();
    }
}
