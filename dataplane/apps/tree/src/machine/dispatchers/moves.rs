//! The places of hosts: orders and their results, failures, demotions. All of this stays within the cluster.

use groupflow_base::Nanos;

use super::cluster::{ClusterHost, ParentOrder};
use super::dispatcher::{Above, Dispatcher};
use super::{Demotion, DispatcherMut};
use crate::machine::messages::{HostId, RefusalCode, ToHost};

/// The worth of a parent for a host: of several parents the least is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    /// The parent is behind a slow host: the stream arrives late.
    pub(super) is_late: bool,
    /// The host's delay would be beyond the bound.
    pub(super) is_beyond: bool,
    /// The host must wait until other orders are carried out.
    waits: bool,
    /// The two do not share a router.
    is_apart: bool,
    /// The host's delay from the source.
    pub(super) delay: Nanos,
    pub(super) depth: usize,
    /// The latency from the parent to the host.
    pub(super) latency: Nanos,
    pub(super) parent: HostId,
}

impl Dispatcher {
    /// The rank of a parent that is this far from a host, behind the same router or not; `None`: the parent
    /// is not connected to the head.
    pub(super) fn rank(&self, parent: HostId, latency: Nanos, is_apart: bool) -> Option<Rank> {
        let delay = self.delay(parent)? + latency;
        let is_late = self.tree.is_behind_slow(parent, self.now);
        let (is_beyond, depth) = (self.is_beyond(delay), self.tree.depth(parent)?);
        Some(Rank { is_late, is_beyond, waits: false, is_apart, delay, depth, latency, parent })
    }

    /// The hosts with room for one more child.
    pub(super) fn open(&self) -> impl Iterator<Item = HostId> + '_ {
        self.tree.iter().map(|(host, _)| host).filter(|&host| self.room(host) > 0)
    }

    /// Of such hosts, the nearest to the head before; one that can serve one more child precedes one that
    /// cannot.
    pub(super) fn next_head(&self, may: impl Fn(&ClusterHost) -> bool) -> Option<HostId> {
        let able = |member: &ClusterHost| std::cmp::Reverse(member.capacity.min(2));
        let hosts = self.tree.iter().filter(|(_, member)| may(member));
        hosts.min_by_key(|&(host, member)| (able(member), member.latency, host)).map(|(host, _)| host)
    }

    pub(super) fn is_suspect(&self, host: HostId) -> bool {
        self.tree.get(host).is_some_and(|member| member.suspect)
    }

    /// The hosts that serve children, or would if they have not failed after all: those below this one do not
    /// count.
    fn serving(&self, host: Option<HostId>) -> impl Iterator<Item = (HostId, &ClusterHost)> {
        let is_below = move |parent| host.is_some_and(|host| self.tree.is_below(parent, host));
        let serves = move |parent| !is_below(parent) && self.tree.depth(parent).is_some();
        self.tree.iter().filter(move |&(parent, member)| member.capacity > 0 && serves(parent))
    }

    /// Whether some host serves this one, or would if it has not failed after all.
    pub(super) fn may_serve(&self, host: Option<HostId>) -> bool {
        self.serving(host).next().is_some()
    }

    /// The best parent with room: one that shares the host's router if possible, then the one over which the
    /// head is nearest; a host behind a slow one only if there is no other.
    fn best_parent(&self, host: HostId, may: impl Fn(HostId, usize) -> bool) -> Option<HostId> {
        self.best_rank(host, may).map(|rank| rank.parent)
    }

    pub(super) fn best_rank(&self, host: HostId, may: impl Fn(HostId, usize) -> bool) -> Option<Rank> {
        let router = self.tree.get(host).and_then(|member| member.router);
        let open = self.open().filter(|&parent| !self.tree.is_below(parent, host));
        let ranked = open.filter_map(|parent| {
            let latency = self.tree.latency(host, parent, self.policy.threshold);
            // Hosts behind one router may be unable to reach each other, so a shared router counts only once
            // it was tried.
            let is_met = self.tree.between(host, parent).is_some();
            let is_apart = !(is_met && self.tree.is_behind(parent, router));
            let rank = self.rank(parent, latency, is_apart)?;
            // A place is preferred in which the host need not wait for other orders.
            let rank = Rank { waits: self.tree.would_cycle(host, parent), ..rank };
            may(parent, rank.depth).then_some(rank)
        });
        ranked.min()
    }

    /// If no host has room: of all hosts that serve children, the one with the least load for its offer takes
    /// one more, but none below this host; a host that is slow or behind a slow one only if no other host
    /// serves.
    pub(super) fn overloaded_parent(&self, host: Option<HostId>) -> Option<HostId> {
        let rated = self.serving(host).filter(|(_, member)| !member.suspect).map(|(parent, member)| {
            let late = self.is_slow(parent) || self.tree.is_behind_slow(parent, self.now);
            (late, self.serves(parent) * 1000 / usize::from(member.capacity), parent)
        });
        rated.min().map(|(.., parent)| parent)
    }
}

impl DispatcherMut<'_> {
    /// Orders a host to its parent, and tells the parent to expect the host. An order that might make a cycle
    /// for a while is given later.
    pub(super) fn order(&mut self, host: HostId, place: ParentOrder, latency: Nanos) {
        let (parent, ticket) = match (place, self.above) {
            (ParentOrder::Host(parent), _) => (self.tree.get(parent).map(|member| member.peer), None),
            (ParentOrder::Outside, Above::Attached(_, peer, ticket)) => (Some(peer), Some(ticket)),
            _ => (None, None),
        };
        let outside = ticket.and(parent).map(|parent| parent.host);
        let Some(order) = self.tree.put(host, place, outside, latency) else {
            if let (ParentOrder::Host(parent), Some(_)) = (place, self.tree.get(host)) {
                self.deferred.insert(host, parent);
            }
            return;
        };
        self.deferred.remove(&host);
        // The order of a head whose parent is not known yet follows when it is.
        let Some(parent) = parent else { return };
        let ticket = ticket.unwrap_or_else(|| self.ticket());
        if let ParentOrder::Host(parent) = place {
            self.notify(parent, ToHost::Expect { child: host, ticket });
        }
        self.notify(host, ToHost::Place { order, parent, ticket });
    }

    /// Orders a host below another of this cluster.
    pub(super) fn order_below(&mut self, host: HostId, parent: HostId) {
        let latency = self.tree.latency(host, parent, self.policy.threshold);
        self.order(host, ParentOrder::Host(parent), latency);
    }

    pub(super) fn on_attached(&mut self, host: HostId, order: u32, latency: Nanos) {
        let Some(former) = self.tree.confirm(host, order) else { return };
        self.all.find_again(host);
        // The time to connect is longer than the way, which the host may have measured.
        let parent = self.tree.get(host).and_then(|member| member.parent().or(member.outside));
        let measured = parent.and_then(|parent| self.tree.measured(host, parent));
        self.tree.change(host, |member| member.latency = measured.unwrap_or(latency));
        // Hosts of other clusters are told by their own dispatcher.
        for parent in former {
            if !self.is_outside(parent) {
                self.notify(parent, ToHost::Forget { child: host });
            }
        }
        self.retry();
    }

    /// Handles the return of a host after it, or this dispatcher, was out of reach: messages of either side
    /// may have been lost meanwhile.
    pub(super) fn on_back(&mut self, host: HostId, order: u32, attached: bool) {
        let Some(member) = self.tree.get(host) else {
            return self.refuse(host, RefusalCode::Ended, format!("{host} is not in {} any more", self.id));
        };
        let (place, latency) = (member.place, member.latency);
        let knows = member.order == order;
        let is_source = self.is_source(member);
        self.expect_again(host);
        if is_source {
            return;
        }
        match (knows, attached) {
            (true, true) => self.on_attached(host, order, latency),
            // The host did not get its last order.
            (false, _) if place != ParentOrder::Nothing => self.order(host, place, latency),
            _ => {}
        }
        self.retry();
    }

    fn expect_again(&mut self, host: HostId) {
        let under_way = |child: &HostId| self.tree.get(*child).is_some_and(|member| !member.attached);
        for child in self.tree.children(host).filter(under_way).collect::<Vec<_>>() {
            let latency = self.tree.get(child).map_or(self.policy.threshold, |member| member.latency);
            self.order(child, ParentOrder::Host(host), latency);
        }
        self.attach_again(host);
    }

    /// Handles a host that is connected to no parent: it gets another place.
    pub(super) fn on_lost(&mut self, host: HostId, order: u32, gone: bool) {
        let Some(member) = self.tree.get(host).filter(|m| m.order == order && !self.is_source(m)) else {
            return;
        };
        let (place, behind) = (member.place, gone || member.behind);
        self.tree.change(host, |member| member.behind = behind);
        match place {
            ParentOrder::Outside => {
                self.tried_above = self.attached_to().filter(|_| gone);
                self.ask_above();
            }
            ParentOrder::Host(parent) => {
                if !gone {
                    self.suspect(parent);
                }
                self.tree.unplace(host);
                let head = self.tree.head();
                match head.filter(|&head| behind && !self.is_suspect(head)) {
                    Some(head) if gone && head == parent => self.on_behind_head(host, head),
                    // The head of this cluster keeps the bytes that any host of it may need.
                    Some(head) => self.order_below(host, head),
                    None => self.place_beside(host, Some(parent)),
                }
            }
            ParentOrder::Nothing => {}
        }
        self.retry();
    }

    /// Removes a host that left or failed: its children, and the heads that it served, go elsewhere.
    pub(super) fn remove(&mut self, host: HostId) {
        self.joins.remove(&host);
        self.settling.remove(&host);
        self.deferred.retain(|&moved, &mut parent| moved != host && parent != host);
        let Some((gone, mut orphans)) = self.tree.remove(host) else { return };
        if gone.place == ParentOrder::Outside {
            if self.above == Above::Root {
                return self.end();
            }
            if let Some(head) = self.next_head(|member| member.place == ParentOrder::Nothing) {
                orphans.retain(|&orphan| orphan != head);
                self.make_head(head);
            }
        }
        for orphan in orphans {
            // The parent still has the bytes that the host had not passed on.
            match gone.parent().filter(|&above| self.room(above) > 0) {
                Some(above) => self.order_below(orphan, above),
                None => self.place(orphan),
            }
        }
        self.attach_elsewhere(host);
        self.retry();
        self.end_if_empty();
        if gone.place == ParentOrder::Outside {
            self.ask_above();
        }
    }

    /// Makes a host the head. [`DispatcherMut::ask_above`] then asks for its parent.
    pub(super) fn make_head(&mut self, host: HostId) {
        self.tried_above = None;
        if let Some(parent) = self.parent() {
            (self.above, self.settled) = (Above::Asked(parent), false);
        }
        self.order(host, ParentOrder::Outside, Nanos::ZERO);
    }

    /// Puts a host without a place below the host over which the head is nearest.
    pub(super) fn place(&mut self, host: HostId) {
        self.place_beside(host, None);
    }

    /// Does the same as [`DispatcherMut::place`], but not below `except` if there is another host.
    pub(super) fn place_beside(&mut self, host: HostId, except: Option<HostId>) {
        if self.tree.get(host).is_none() {
            return;
        }
        let best = self.best_parent(host, |parent, _| Some(parent) != except);
        let best = best.or_else(|| self.best_parent(host, |_, _| true));
        match best.or_else(|| self.overloaded_parent(Some(host))) {
            Some(parent) => self.order_below(host, parent),
            None if self.may_serve(Some(host)) => {}
            // No host here can serve it: it begins again above.
            None => {
                if let Some(parent) = self.parent() {
                    self.redirect(host, parent);
                }
            }
        }
    }

    /// Notes that a child could not reach a host. It will soon show whether the host failed; until then no
    /// other child is sent to it.
    pub(super) fn suspect(&mut self, host: HostId) {
        self.tree.change(host, |member| member.suspect = true);
    }

    /// Handles growing backlog for a child of this host: the host gets no more children, and one of its
    /// children is moved down. If the host serves more than it offered, that may be the cause: then the child
    /// goes elsewhere first.
    pub(super) fn on_backlog(&mut self, host: HostId, child: HostId) {
        if self.policy.demotion != Demotion::Never && self.relieve(host, child) {
            return;
        }
        let is_child = |member: &ClusterHost| member.place == ParentOrder::Host(host);
        if self.tree.get(child).is_some_and(is_child) {
            self.note_slow(child, self.policy.slow_for);
        }
        if self.tree.get(host).is_none() || self.settling.get(&host).is_some_and(|&until| until > self.now) {
            return;
        }
        let slow = match self.policy.demotion {
            Demotion::Never => return,
            Demotion::Slowest => child,
            Demotion::LargestLatency => {
                let total = |child: &HostId| (self.tree.total(*child).unwrap_or(Nanos::ZERO), *child);
                self.tree.children(host).max_by_key(total).unwrap_or(child)
            }
        };
        let done = match self.tree.get(slow).map(is_child) {
            Some(is_child) => is_child && self.demote(slow, host),
            None => self.demote_head(slow, host),
        };
        if done {
            let until = self.now + self.policy.settling;
            self.settling.insert(host, until);
        }
    }

    /// Lets a slow host take no children for a while.
    pub(super) fn note_slow(&mut self, host: HostId, time: Nanos) {
        let until = self.now + time;
        self.tree.change(host, |member| member.slow_until = member.slow_until.max(until));
    }

    /// Takes a child from a host that has too many, if there is a place elsewhere.
    fn relieve(&mut self, host: HostId, child: HostId) -> bool {
        if self.tree.get(host).map_or(true, |member| self.serves(host) <= usize::from(member.capacity)) {
            return false;
        }
        let Some(member) = self.tree.get(child) else { return self.relieve_of_head(host, child) };
        let is_child = member.place == ParentOrder::Host(host);
        let other = self.best_parent(child, |_, _| true).filter(|_| is_child);
        if let Some(other) = other {
            self.order_below(child, other);
        }
        other.is_some()
    }

    /// Moves a host's children to others with room, and the host itself below a host at its own level or
    /// lower. False: there is no such host.
    fn demote(&mut self, slow: HostId, parent: HostId) -> bool {
        let Some(level) = self.tree.depth(slow) else { return false };
        self.note_slow(slow, self.policy.settling);
        let lower = |this: &Dispatcher| {
            let low_enough = |p: HostId, depth: usize| depth >= level && this.tree.is_below(p, parent);
            this.best_parent(slow, low_enough)
        };
        // One of the host's children takes its place, if possible one with room for the host.
        let serving = self.tree.children(slow).filter(|&c| self.tree.get(c).is_some_and(|m| m.capacity > 0));
        let heir = serving.max_by_key(|&child| self.room(child)).filter(|_| lower(self).is_none());
        let children: Vec<HostId> = self.tree.children(slow).collect();
        for child in children {
            match self.best_parent(child, |p, _| !self.tree.is_below(p, slow)) {
                Some(other) => self.order_below(child, other),
                // The host's own place at its parent becomes free.
                None if heir == Some(child) => self.order_below(child, parent),
                None => {}
            }
        }
        // One of the other children may have taken the room.
        let target = heir.or_else(|| lower(self));
        if target.is_some() || self.attach_point(Some(slow)).is_some() {
            self.attach_elsewhere(slow);
        }
        if let Some(target) = target {
            self.order_below(slow, target);
            self.rest(slow);
        }
        target.is_some()
    }

    /// Retries moves that were not possible before.
    pub(super) fn retry(&mut self) {
        for (host, parent) in std::mem::take(&mut self.deferred) {
            // A host without a place gets the best one that there is now.
            let placed = |member: &ClusterHost| {
                member.place != ParentOrder::Nothing && member.place != ParentOrder::Host(parent)
            };
            // A host that was meanwhile put below the host cannot serve it: the move waits for another.
            if self.tree.get(host).is_some_and(placed) && !self.tree.is_below(parent, host) {
                self.order_below(host, parent);
            }
        }
        let waiting = self.tree.iter().filter(|(_, member)| member.place == ParentOrder::Nothing);
        let waiting: Vec<HostId> =
            waiting.map(|(host, _)| host).filter(|h| !self.deferred.contains_key(h)).collect();
        for host in waiting {
            self.place(host);
        }
        self.attach_waiting();
        self.note_settled();
        self.settle_debts();
        self.report_delays();
    }
}
