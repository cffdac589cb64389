//! The hosts of one cluster as a tree below its head.
//!
//! Orders and facts differ for a while: a host that was told another parent may still be connected to an
//! earlier one. A host is put below another only if this makes no cycle over all ordered edges and all edges
//! that may still exist. So the connections never have a cycle, in whatever order messages arrive.

use groupflow_base::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::dispatcher::Review;
use super::names::{HostId, Peer, RouterId};

/// The parent that a host was ordered to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParentOrder {
    /// No parent: the host waits for room.
    Nothing,
    /// A host of the parent's cluster; in the root cluster: none, since the host is the source. Exactly one
    /// member, the head, has this.
    Outside,
    /// A host of this cluster.
    Host(HostId),
}

/// A host of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterHost {
    /// The host and its address.
    pub peer: Peer,
    /// The host's router, if the host knows it.
    pub router: Option<RouterId>,
    /// How many children it may have.
    pub capacity: u16,
    /// The parent that it was ordered to have.
    pub up: ParentOrder,
    /// With [`ParentOrder::Outside`]: the parent outside, once it is known.
    pub outside: Option<HostId>,
    /// Latency to its parent, one way.
    pub latency: Nanos,
    /// The number of its last order.
    pub order: u32,
    /// Whether its last order is carried out.
    pub attached: bool,
    /// Earlier parents, until its last order is carried out: it may still be connected to them, or they keep
    /// bytes for it.
    #[serde(default)]
    pub earlier: Vec<HostId>,
    /// A parent lacked its next bytes; the head may have them.
    pub behind: bool,
    /// How many heads of other clusters are connected to it.
    pub foreign: u16,
    /// Until then it takes no children, because it was slow.
    pub slow_until: Nanos,
    /// When it was heard of last.
    pub heard: Nanos,
    /// A child could not connect to it, or lost it, and it was not heard of since: it takes no children.
    pub suspect: bool,
    /// Latencies that it measured, one way.
    pub measured: Vec<(HostId, Nanos)>,
    /// The result of its reviews.
    #[serde(default)]
    pub(super) review: Review,
}

impl ClusterHost {
    /// A host that has no place yet.
    pub(super) fn new(peer: Peer, router: Option<RouterId>, capacity: u16, now: Nanos) -> ClusterHost {
        ClusterHost {
            peer,
            router,
            capacity,
            up: ParentOrder::Nothing,
            outside: None,
            latency: Nanos::ZERO,
            order: 0,
            attached: false,
            earlier: Vec::new(),
            behind: false,
            foreign: 0,
            slow_until: Nanos::ZERO,
            heard: now,
            suspect: false,
            measured: Vec::new(),
            review: Review::default(),
        }
    }

    /// Leaves the parent, to which the host may stay connected until it has another one.
    fn leave_parent(&mut self) {
        let outside = self.outside.take();
        if let Some(parent) = self.parent().or(outside).filter(|parent| !self.earlier.contains(parent)) {
            self.earlier.push(parent);
        }
    }

    /// The host's parent, if that is in this cluster.
    pub fn parent(&self) -> Option<HostId> {
        match self.up {
            ParentOrder::Host(parent) => Some(parent),
            ParentOrder::Nothing | ParentOrder::Outside => None,
        }
    }

    /// All hosts to which it is or may be connected as a child, or that keep bytes for it.
    fn parents(&self) -> impl Iterator<Item = HostId> + '_ {
        self.parent().into_iter().chain(self.outside).chain(self.earlier.iter().copied())
    }
}

/// The members of a cluster, at most as many as the policy allows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    members: BTreeMap<HostId, ClusterHost>,
    /// Hosts that left or failed, and to which members may still be connected.
    #[serde(default)]
    departed: BTreeMap<HostId, Departed>,
}

/// A host that left or failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Departed {
    parents: Vec<HostId>,
    /// The host goes to another cluster, and still needs what its parents keep for it.
    is_redirected: bool,
}

/// A parent that need not keep bytes for a child any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Release {
    pub(super) parent: HostId,
    pub(super) child: HostId,
}

impl Cluster {
    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// A member.
    pub fn get(&self, host: HostId) -> Option<&ClusterHost> {
        self.members.get(&host)
    }

    /// A member to be changed, except for its place: [`Cluster::put`] changes that.
    pub(super) fn get_mut(&mut self, host: HostId) -> Option<&mut ClusterHost> {
        self.members.get_mut(&host)
    }

    /// All members, by number.
    pub fn iter(&self) -> impl Iterator<Item = (HostId, &ClusterHost)> {
        self.members.iter().map(|(&host, member)| (host, member))
    }

    /// The members' numbers, in order.
    pub(super) fn hosts(&self) -> Vec<HostId> {
        self.members.keys().copied().collect()
    }

    /// The member that receives from outside.
    pub fn head(&self) -> Option<HostId> {
        self.iter().find(|(_, member)| member.up == ParentOrder::Outside).map(|(host, _)| host)
    }

    /// Adds a member that has no place yet.
    pub(super) fn add(&mut self, member: ClusterHost) {
        self.members.insert(member.peer.host, member);
    }

    /// Removes a member; also returns its children, which then have no place. It may live on, and serve them
    /// for a while.
    pub(super) fn remove(&mut self, host: HostId) -> Option<(ClusterHost, Vec<HostId>)> {
        let gone = self.members.remove(&host)?;
        let orphans: Vec<HostId> = self.children(host).collect();
        orphans.iter().for_each(|&orphan| self.unplace(orphan));
        // The host may have been here before, and departed.
        self.departed.entry(host).or_default().parents.extend(gone.parents());
        Some((gone, orphans))
    }

    /// Notes that a host which is about to be removed goes to another cluster.
    pub(super) fn note_redirected(&mut self, host: HostId) {
        self.departed.entry(host).or_default().is_redirected = true;
    }

    /// Forgets departed hosts to which no member can be connected, directly or over others. Their parents need
    /// not keep bytes for them any more; if one of them goes to another cluster, they do so for as long as they
    /// would without a word.
    pub(super) fn forget_departed(&mut self) -> Vec<Release> {
        let mut next: Vec<HostId> = self.members.values().flat_map(|m| m.earlier.iter().copied()).collect();
        let mut kept = BTreeMap::new();
        while let Some(host) = next.pop() {
            if let Some(departed) = self.departed.remove(&host) {
                next.extend(&departed.parents);
                kept.insert(host, departed);
            }
        }
        let forgotten = std::mem::replace(&mut self.departed, kept);
        if forgotten.values().any(|departed| departed.is_redirected) {
            return Vec::new();
        }
        let releases = |(child, departed): (HostId, Departed)| {
            departed.parents.into_iter().map(move |parent| Release { parent, child })
        };
        forgotten.into_iter().flat_map(releases).filter(|r| !self.keeps(r.parent, r.child)).collect()
    }

    /// Whether a parent still keeps bytes for a host, or serves it.
    fn keeps(&self, parent: HostId, child: HostId) -> bool {
        self.get(child).is_some_and(|member| member.parents().any(|each| each == parent))
    }

    /// The direct children of a host.
    pub fn children(&self, host: HostId) -> impl Iterator<Item = HostId> + '_ {
        self.iter().filter(move |(_, member)| member.up == ParentOrder::Host(host)).map(|(child, _)| child)
    }

    /// How many more children a host can take; 0 also if it is slow or may have failed.
    pub fn room(&self, host: HostId, now: Nanos) -> usize {
        match self.get(host) {
            Some(member) if member.slow_until <= now && !member.suspect => {
                let taken = self.children(host).count() + usize::from(member.foreign);
                usize::from(member.capacity).saturating_sub(taken)
            }
            _ => 0,
        }
    }

    /// Whether a host serves more children than it offered, because no other host had room.
    pub(super) fn is_overloaded(&self, host: HostId) -> bool {
        let serves = |member: &ClusterHost| self.children(host).count() + usize::from(member.foreign);
        self.get(host).is_some_and(|member| serves(member) > usize::from(member.capacity))
    }

    /// Whether a host is behind that router; false if no router is known.
    pub fn is_behind(&self, host: HostId, router: Option<RouterId>) -> bool {
        router.is_some() && self.get(host).is_some_and(|member| member.router == router)
    }

    /// The hosts above a host, according to orders: first its parent, last the head or one without a place.
    fn above(&self, host: HostId) -> impl Iterator<Item = HostId> + '_ {
        let parent = |&at: &HostId| self.get(at)?.parent();
        // Orders never make a cycle, but a state from the store may have one.
        std::iter::successors(parent(&host), parent).take(self.members.len())
    }

    /// Whether a host above it is slow, so that the stream arrives late.
    pub fn is_behind_slow(&self, host: HostId, now: Nanos) -> bool {
        self.above(host).any(|above| self.get(above).is_some_and(|member| member.slow_until > now))
    }

    /// Edges from the head down to a host; `None`: it is not connected to the head.
    pub fn depth(&self, host: HostId) -> Option<usize> {
        let top = self.above(host).last().unwrap_or(host);
        (self.get(top)?.up == ParentOrder::Outside).then(|| self.above(host).count())
    }

    /// Latency from the head to a host, one way; `None`: it is not connected to the head.
    pub fn total(&self, host: HostId) -> Option<Nanos> {
        self.depth(host)?;
        let edges = std::iter::once(host).chain(self.above(host)).filter_map(|at| self.get(at));
        let below_head = edges.filter(|member| member.up != ParentOrder::Outside);
        Some(below_head.fold(Nanos::ZERO, |sum, member| sum + member.latency))
    }

    /// Whether `host` is `top` or below it, according to orders.
    pub fn is_below(&self, host: HostId, top: HostId) -> bool {
        host == top || self.above(host).any(|above| above == top)
    }

    /// Whether `host` below `parent` would make a cycle. This counts edges that were ordered or may still
    /// exist, and lost edges whose upper end keeps bytes for the lower one.
    pub fn would_cycle(&self, host: HostId, parent: HostId) -> bool {
        let (mut seen, mut next) = (vec![parent], vec![parent]);
        while let Some(at) = next.pop() {
            if at == host {
                return true;
            }
            let above: Vec<HostId> = match self.get(at) {
                Some(member) => member.parents().collect(),
                None => self.departed.get(&at).map_or(Vec::new(), |departed| departed.parents.clone()),
            };
            for above in above {
                if !seen.contains(&above) {
                    seen.push(above);
                    next.push(above);
                }
            }
        }
        false
    }

    /// Puts a host below a parent; returns the number of the order. `None`: this would make a cycle, now or
    /// before all orders are carried out.
    pub(super) fn put(
        &mut self, host: HostId, up: ParentOrder, outside: Option<HostId>, latency: Nanos,
    ) -> Option<u32> {
        if let ParentOrder::Host(parent) = up {
            if self.would_cycle(host, parent) || !self.members.contains_key(&parent) {
                return None;
            }
        }
        let member = self.members.get_mut(&host)?;
        member.leave_parent();
        member.up = up;
        member.outside = outside;
        member.latency = latency;
        member.attached = false;
        member.order = member.order.wrapping_add(1);
        Some(member.order)
    }

    /// Notes that a host carried out an order; returns its earlier parents, which need not keep bytes for it any
    /// more. `None`: it was not the host's last order.
    pub(super) fn confirm(&mut self, host: HostId, order: u32) -> Option<Vec<Release>> {
        let is_last = |m: &&mut ClusterHost| m.order == order && m.up != ParentOrder::Nothing;
        let member = self.members.get_mut(&host).filter(is_last)?;
        member.attached = true;
        member.behind = false;
        let mut earlier = std::mem::take(&mut member.earlier);
        earlier.retain(|&parent| member.up != ParentOrder::Host(parent) && member.outside != Some(parent));
        Some(earlier.into_iter().map(|parent| Release { parent, child: host }).collect())
    }

    /// Takes a host's place away; until it has another one, it stays connected as it is, or its parent keeps
    /// bytes for it.
    pub(super) fn unplace(&mut self, host: HostId) {
        if let Some(member) = self.members.get_mut(&host) {
            member.leave_parent();
            member.up = ParentOrder::Nothing;
            member.attached = false;
        }
    }

    /// Whether one of two members has reached the other.
    pub fn have_met(&self, a: HostId, b: HostId) -> bool {
        self.measured(a, b).or_else(|| self.measured(b, a)).is_some()
    }

    /// Notes the latencies that a host measured now, and forgets those to hosts that are not here any more.
    pub(super) fn note_measured(&mut self, host: HostId, now: &[(HostId, Nanos)]) {
        let Some(mut member) = self.members.remove(&host) else { return };
        let is_new = |to: &HostId| now.iter().any(|(other, _)| other == to);
        member.measured.retain(|(to, _)| !is_new(to) && self.members.contains_key(to));
        member.measured.extend(now);
        self.members.insert(host, member);
    }

    /// The latency that one host measured to another, one way.
    pub(super) fn measured(&self, from: HostId, to: HostId) -> Option<Nanos> {
        let known = &self.get(from)?.measured;
        known.iter().find(|(host, _)| *host == to).map(|&(_, latency)| latency)
    }

    /// The latency between two members, one way: as measured, or over the head, or `default`.
    pub fn latency(&self, a: HostId, b: HostId, default: Nanos) -> Nanos {
        let either = |a, b| match a == b {
            true => Some(Nanos::ZERO),
            false => self.measured(a, b).or_else(|| self.measured(b, a)),
        };
        let over_head = || self.head().and_then(|head| Some(either(a, head)? + either(head, b)?));
        either(a, b).or_else(over_head).unwrap_or(default)
    }
}

#[cfg(test)]
#[path = "tests/cluster.rs"]
mod tests;
