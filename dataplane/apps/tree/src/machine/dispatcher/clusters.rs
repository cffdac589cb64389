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
    /// How often the cluster was given to another one: of two clusters that claim it, the later one has it.
    pub moves: u32,
    /// The head needs bytes that other hosts no longer have; this cluster's head may have them.
    pub behind: bool,
    /// The delay of `from` from the source, as the cluster was told last.
    #[serde(default)]
    pub delay: Nanos,
    /// The findings of the head's reviews.
    #[serde(default)]
    pub(super) review: Review,
}

impl Below {
    /// A cluster of which nothing else is known.
    pub fn found_again(head: Peer, latency: Nanos, moves: u32, behind: bool) -> Below {
        let (router, from, awaited, delay) = (None, None, None, Nanos::ZERO);
        let review = Review::default();
        Below { head, router, from, latency, awaited, moves, behind, delay, review }
    }

    /// The same cluster on its way to another one.
    fn given(self) -> Below {
        let (moves, review) = (self.moves.saturating_add(1), Review::default());
        Below { from: None, awaited: None, moves, review, ..self }
    }

    /// Whether the cluster's hosts are connected only to each other and to hosts of this cluster: then
    /// another cluster may be put below it, because no remaining edge can make that one an ancestor.
    pub(super) fn has_settled(&self) -> bool {
        self.from.is_some() && self.awaited.is_none()
    }
}

impl Dispatcher {
    pub(super) fn knows(&self, cluster: ClusterId) -> bool {
        self.below.contains_key(&cluster) || self.parent() == Some(cluster)
    }

    pub(super) fn passed_on_to(&self, cluster: ClusterId) -> Option<ClusterId> {
        self.passed_on.iter().rev().find(|(passed, _)| *passed == cluster).map(|&(_, to)| to)
    }

    /// Lets a host found a cluster below this one, which may take over clusters that are nearer to it.
    pub(super) fn let_found(&mut self, join: &TreeJoin, latency: Nanos, measured: &[(HostId, Nanos)]) {
        let Some((host, peer)) = self.attach_point(None).and_then(|h| Some((h, self.tree.get(h)?.peer)))
        else {
            return;
        };
        let (cluster, ticket) = (ClusterId(self.rng.next_u64()), self.ticket());
        let delay = self.delay(host).unwrap_or(Nanos::ZERO);
        let new = Below::found_again(join.peer, latency, 0, false);
        let below = Below { router: join.router, from: Some(host), delay, ..new };
        self.below.insert(cluster, below);
        self.tree.hold(Hold { cluster, head: join.peer.host, parent: host, ticket });
        self.count_foreign();
        self.tell(host, ToHost::Expect { child: join.peer.host, ticket });
        let founding = Founding {
            cluster,
            parent: self.id,
            root: self.root,
            founder: join.peer.host,
            attach: Some((peer, ticket)),
            delay,
        };
        self.out.push_back(DispatcherAction::Found(founding));
        self.tell(join.peer.host, ToHost::Redirect(cluster));
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

    /// Passes a cluster below on to another one.
    pub(super) fn pass_on(&mut self, cluster: ClusterId, to: ClusterId, latency: Nanos) {
        if let Some(below) = self.give(cluster, to) {
            self.send(to, Between::Adopt { cluster, below: Below { latency, ..below } });
        }
    }

    /// Gives a cluster away, and remembers to which one: messages that still come from it go there, since a
    /// second claim on it, made here, could put it below a cluster that the first claim put below it.
    fn give(&mut self, cluster: ClusterId, to: ClusterId) -> Option<Below> {
        let below = self.below.remove(&cluster)?;
        self.passed_on.push_back((cluster, to));
        if self.passed_on.len() > MAX_PASSED_ON {
            self.passed_on.pop_front();
        }
        self.count_foreign();
        Some(below.given())
    }

    /// Handles a cluster that comes from above, or from a cluster that is empty or cannot serve it. Beyond
    /// `Policy::max_clusters`, it is passed on to a settled cluster; if there is none it is kept, but never
    /// more than twice as many.
    pub(super) fn on_adopt(&mut self, cluster: ClusterId, below: Below, may_pass_on: bool) {
        self.passed_on.retain(|(passed, _)| *passed != cluster);
        let Below { head, latency, moves, .. } = below;
        let is_late = self.below.get(&cluster).is_some_and(|known| known.moves > moves);
        // This cluster was put below that one, which therefore has a place.
        if is_late || cluster == self.id || self.parent() == Some(cluster) {
            return;
        }
        self.below.insert(cluster, Below { from: None, awaited: None, ..below });
        self.count_foreign();
        let many = may_pass_on && self.below.len() > self.policy.max_clusters;
        if let Some(other) = self.nearest_settled(cluster).filter(|_| many) {
            return self.pass_on(cluster, other, latency);
        }
        if self.below.len() > 2 * self.policy.max_clusters {
            return self.pass_up(cluster);
        }
        self.send(cluster, Between::Adopted { head, moves });
        self.attach(cluster, None, may_pass_on);
    }

    /// The nearest of the settled clusters beside that one, below which it may be put.
    pub(super) fn nearest_settled(&self, cluster: ClusterId) -> Option<ClusterId> {
        let others = self.below.iter().filter(|(&id, other)| id != cluster && other.has_settled());
        others.map(|(&id, other)| (other.latency, id)).min().map(|(_, id)| id)
    }

    /// Handles the end of the parent's dispatcher. Mostly another parent has taken over, or will; otherwise
    /// the root does.
    pub(super) fn on_parent_lost(&mut self) {
        let was_root = self.parent() == Some(self.root);
        (self.above, self.asked) = (Above::Asked(self.root), self.now);
        // A cluster that asked the root asks again after a while, in case the root's dispatcher comes back.
        if let Some(head) = self.tree.head().filter(|_| !was_root) {
            self.ask_above(head);
        }
    }

    pub(super) fn on_adopted(&mut self, from: ClusterId, believed: Peer, moves: u32) {
        if let Some(before) = self.parent().filter(|&before| before != from) {
            // A claim of a cluster that is below this one is from before it was put there.
            let late = moves <= self.moves || self.below.contains_key(&from);
            let left = Between::Left(moves.max(self.moves));
            self.send(if late { from } else { before }, left);
            if late {
                return;
            }
        }
        self.moves = self.moves.max(moves);
        self.above = match self.above {
            Above::Root => return,
            Above::Attached(_, peer, ticket) => Above::Attached(from, peer, ticket),
            Above::Asked(_) => Above::Asked(from),
        };
        self.asked = self.now;
        let head = self.tree.head().and_then(|head| self.tree.get(head)).map(|member| member.peer);
        if let Some(peer) = head.filter(|&peer| peer != believed) {
            self.tell_head(from, peer);
        }
        self.attach_waiting();
    }

    /// Asks the parent for another host to which the head can be connected.
    pub(super) fn ask_above(&mut self, head: HostId) {
        if let (Some(parent), Some(member)) = (self.parent(), self.tree.get(head)) {
            let peer = member.peer;
            (self.above, self.asked) = (Above::Asked(parent), self.now);
            self.tell_head(parent, peer);
        }
    }

    fn tell_head(&mut self, parent: ClusterId, head: Peer) {
        let behind = self.tree.get(head.host).is_some_and(|member| member.behind);
        let tried = self.tried.filter(|_| behind);
        self.send(parent, Between::Head { head, moves: self.moves, behind, tried });
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
    pub(super) fn on_head(
        &mut self, from: ClusterId, (head, moves): (Peer, u32), behind: bool, tried: Option<Ticket>,
    ) {
        let Some(below) = self.below.get_mut(&from) else {
            // The cluster's earlier parent no longer exists, or messages about it were lost.
            return self.find_again(from, (head, moves), behind);
        };
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

    /// Takes in a cluster of which nothing else is known, and that asks to be below this one.
    pub(super) fn find_again(&mut self, cluster: ClusterId, (head, moves): (Peer, u32), behind: bool) {
        let below = Below::found_again(head, self.policy.threshold, moves.saturating_add(1), behind);
        self.on_adopt(cluster, below, true);
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
        if let Some(below) = self.give(cluster, parent) {
            self.send(parent, Between::GiveBack { cluster, below });
        }
    }

    /// Keeps a cluster that could not be given to the lost parent, until there is another parent.
    pub(super) fn keep(&mut self, cluster: ClusterId, below: Below) {
        self.passed_on.retain(|(passed, _)| *passed != cluster);
        self.below.insert(cluster, below);
        if self.below.len() > 2 * self.policy.max_clusters {
            self.pass_up(cluster);
        }
    }

    /// Handles the root's refusal to keep this cluster, which no host can serve: its hosts begin again.
    pub(super) fn on_dissolve(&mut self, from: ClusterId) {
        if self.above == Above::Root || (from != self.root && self.parent() != Some(from)) {
            return;
        }
        for host in self.tree.hosts() {
            self.tell(host, ToHost::Redirect(self.root));
            self.tree.send_away(host, self.now + self.policy.patience);
            self.tree.remove(host);
        }
        self.end();
    }

    /// Handles an empty cluster below, whose own clusters come here.
    pub(super) fn on_vanished(&mut self, from: ClusterId, clusters: Vec<(ClusterId, Below)>) {
        let latency = self.below.get(&from).map_or(self.policy.threshold, |below| below.latency);
        self.lose_cluster(from);
        for (cluster, below) in clusters {
            self.on_adopt(cluster, Below { latency: latency + below.latency, ..below }, true);
        }
    }

    /// Notes that a cluster which was below this one is elsewhere, unless it came back since.
    pub(super) fn on_left(&mut self, from: ClusterId, moves: u32) {
        if !self.below.get(&from).is_some_and(|below| below.moves > moves) {
            self.lose_cluster(from);
        }
    }

    pub(super) fn lose_cluster(&mut self, cluster: ClusterId) {
        self.passed_on.retain(|&(passed, _)| passed != cluster);
        if self.below.remove(&cluster).is_some() {
            self.count_foreign();
            self.retry();
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
        if let Some(parent) = self.parent() {
            self.send(parent, Between::Vanished(clusters));
        }
        for (host, _) in std::mem::take(&mut self.joins) {
            self.refuse(host, RefusalCode::Ended, "the cluster is no more".to_owned());
        }
        self.settle_debts();
    }
}
