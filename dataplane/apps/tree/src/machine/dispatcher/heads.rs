//! The heads of the clusters below: the host of this cluster that serves each, and the fate of heads that
//! hold others up.

use super::*;

impl Dispatcher {
    /// The host that can serve another head: it has room, is not behind a slow host if possible, and is
    /// nearest to this cluster's head.
    pub(super) fn attach_point(&self, except: Option<HostId>) -> Option<HostId> {
        let ranked = self.open().filter(|&host| Some(host) != except);
        let ranked = ranked.filter_map(|host| self.rank(host, Nanos::ZERO, false));
        ranked.min().map(|rank| rank.parent)
    }

    fn below_of(&self, host: Option<HostId>) -> Vec<ClusterId> {
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
    /// Gives the head of a cluster a parent here, other than `except` if possible. If no host has room, the
    /// cluster may be passed on to one beside it; otherwise some host serves more children than it offered.
    pub(super) fn attach(&mut self, cluster: ClusterId, except: Option<HostId>, may_pass_on: bool) {
        let Some(below) = self.below.get_mut(&cluster) else { return };
        below.from = None;
        let (behind, latency) = (below.behind, below.latency);
        self.count_foreign();
        // The head of this cluster keeps the bytes that any host of it may need.
        if let Some(head) = self.tree.head().filter(|&head| behind && !self.is_suspect(head)) {
            return self.attach_to(cluster, head);
        }
        if let Some(host) = self.attach_point(except).or_else(|| self.attach_point(None)) {
            return self.attach_to(cluster, host);
        }
        if let Some(other) = self.nearest_settled(cluster).filter(|_| may_pass_on) {
            return self.pass_on(cluster, other, latency);
        }
        match self.overloaded_parent(None) {
            Some(host) => self.attach_to(cluster, host),
            None if self.may_serve(None) => {}
            None => self.give_back(cluster),
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
        self.count_foreign();
        self.notify(host, ToHost::Expect { child, ticket });
        if let Some(mut lower) = self.all.change(cluster) {
            lower.on_attach(from, to, ticket, delay);
        }
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
            self.lower_head(cluster);
        }
        true
    }

    /// Lets a child of this cluster's head take its place. False: none can.
    fn replace_slow_head(&mut self) -> bool {
        let Some(slow) = self.tree.head() else { return false };
        let serves = |member: &ClusterHost| member.place == ParentOrder::Host(slow) && member.capacity > 0;
        let Some(head) = self.next_head(serves) else { return false };
        let children: Vec<HostId> = self.tree.children(slow).collect();
        let until = self.now + self.policy.slow_for;
        if let Some(member) = self.tree.get_mut(slow) {
            member.slow_until = until;
        }
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

    /// Connects the head of a cluster below to a lower host, if there is one.
    fn lower_head(&mut self, cluster: ClusterId) {
        let before = self.below.get(&cluster).and_then(|below| below.from);
        let level = before.and_then(|host| self.tree.depth(host));
        let ranked = self.open().filter_map(|host| self.rank(host, Nanos::ZERO, false));
        let lower = ranked.filter(|rank| Some(rank.depth) > level);
        if let Some(rank) = lower.min_by_key(|rank| (rank.depth, rank.delay, rank.parent)) {
            self.attach_to(cluster, rank.parent);
        }
    }

    /// Counts the heads that each host serves.
    pub(super) fn count_foreign(&mut self) {
        for host in self.tree.hosts() {
            let count = self.below.values().filter(|below| below.from == Some(host)).count();
            if let Some(member) = self.tree.get_mut(host) {
                member.foreign = u16::try_from(count).unwrap_or(u16::MAX);
            }
        }
    }
}
