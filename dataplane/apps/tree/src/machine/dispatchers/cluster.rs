//! The hosts of one cluster as a tree below its head.
//!
//! Orders and facts differ for a while: a host that was told another parent may still be connected to an
//! earlier one. A host is put below another only if this makes no cycle over all ordered edges and all edges
//! that may still exist. So the connections never have a cycle, in whatever order messages arrive.

use std::collections::BTreeMap;

use groupflow_base::Nanos;
use serde::{Deserialize, Serialize};

use super::delays::Review;
use crate::machine::messages::{ClusterId, HostId, Peer, RouterId, TreeJoin};

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

/// How much of the stream a host has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Progress {
    /// Nothing: it was connected to no parent yet.
    #[default]
    Joining,
    /// A part of it.
    Receiving,
    /// All.
    Complete,
}

/// A host of the cluster.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClusterHost {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub progress: Progress,
    pub peer: Peer,
    pub router: Option<RouterId>,
    /// How many children it may have.
    pub capacity: u16,
    pub place: ParentOrder,
    /// With [`ParentOrder::Outside`]: the parent outside, once it is known.
    pub outside: Option<HostId>,
    /// Latency to its parent, one way.
    pub latency: Nanos,
    /// The number of its last order.
    pub order: u32,
    /// Whether its last order is carried out.
    pub attached: bool,
    /// Other parents to which it may still be connected, or that keep the bytes that it did not get, until
    /// its last order is carried out.
    pub former: Vec<HostId>,
    /// A parent lacked its next bytes; the head may have them.
    pub behind: bool,
    /// Until then it takes no children, because it was slow.
    pub slow_until: Nanos,
    /// When it was heard of last.
    pub heard: Nanos,
    /// A child could not connect to it, or lost it, and it was not heard of since: it takes no children.
    pub suspect: bool,
    /// Latencies that it measured, one way.
    pub measured: Vec<(HostId, Nanos)>,
    /// The result of its reviews.
    pub(super) review: Review,
}

impl ClusterHost {
    /// A host that has no place yet.
    pub(super) fn new(join: &TreeJoin, now: Nanos) -> ClusterHost {
        ClusterHost {
            name: join.name.clone(),
            progress: Progress::Joining,
            peer: join.peer,
            router: join.router,
            capacity: join.capacity,
            place: ParentOrder::Nothing,
            outside: None,
            latency: Nanos::ZERO,
            order: 0,
            attached: false,
            former: Vec::new(),
            behind: false,
            slow_until: Nanos::ZERO,
            heard: now,
            suspect: false,
            measured: Vec::new(),
            review: Review::default(),
        }
    }

    /// Leaves the parent, to which the host may stay connected when it has another one.
    fn leave_parent(&mut self) {
        let before = self.parent().or(self.outside.take()).filter(|before| !self.former.contains(before));
        self.former.extend(before);
        (self.place, self.attached) = (ParentOrder::Nothing, false);
    }

    /// The host's parent, if that is in this cluster.
    pub fn parent(&self) -> Option<HostId> {
        match self.place {
            ParentOrder::Host(parent) => Some(parent),
            ParentOrder::Nothing | ParentOrder::Outside => None,
        }
    }

    /// All hosts to which it is or may be connected as a child, or that keep bytes for it.
    pub(super) fn parents(&self) -> impl Iterator<Item = HostId> + '_ {
        self.parent().into_iter().chain(self.outside).chain(self.former.iter().copied())
    }
}

/// Bytes that a host of this cluster keeps for the head of another cluster, and for hosts below that head,
/// until none of them can need these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hold {
    pub(super) cluster: ClusterId,
    /// The head of that cluster, which may be gone.
    pub(super) head: HostId,
    /// The host to which the head was connected.
    pub(super) parent: HostId,
}

/// A host that is away: silent, or on its way to another cluster. The bytes that it needs are kept here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Awaited {
    pub(super) until: Nanos,
    /// The name of a host that lacks bytes of the stream.
    pub(super) lacking: Option<String>,
}

/// The members of a cluster, at most as many as the policy allows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Cluster {
    pub(super) members: BTreeMap<HostId, ClusterHost>,
    /// Hosts that left or failed, to which members may still be connected, and all hosts to which each may be
    /// connected or that keep bytes for it.
    pub(super) departed: BTreeMap<HostId, Vec<HostId>>,
    /// Departed hosts to which no member can be connected any more, each with a host that may keep bytes for
    /// it.
    pub(super) released: Vec<(HostId, HostId)>,
    pub(super) holds: Vec<Hold>,
    #[serde(default)]
    pub(super) awaited: BTreeMap<HostId, Awaited>,
}

impl Cluster {
    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn get(&self, host: HostId) -> Option<&ClusterHost> {
        self.members.get(&host)
    }

    /// A member to be changed, except for its place: [`Cluster::put`] changes that.
    pub(super) fn get_mut(&mut self, host: HostId) -> Option<&mut ClusterHost> {
        self.members.get_mut(&host)
    }

    pub(super) fn change(&mut self, host: HostId, what: impl FnOnce(&mut ClusterHost)) {
        if let Some(member) = self.members.get_mut(&host) {
            what(member);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (HostId, &ClusterHost)> {
        self.members.iter().map(|(&host, member)| (host, member))
    }

    pub(super) fn hosts(&self) -> Vec<HostId> {
        self.members.keys().copied().collect()
    }

    /// The member that receives from outside.
    pub fn head(&self) -> Option<HostId> {
        self.iter().find(|(_, member)| member.place == ParentOrder::Outside).map(|(host, _)| host)
    }

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
        self.departed.entry(host).or_default().extend(gone.parents());
        self.forget_departed();
        Some((gone, orphans))
    }

    pub fn children(&self, host: HostId) -> impl Iterator<Item = HostId> + '_ {
        self.iter().filter(move |(_, member)| member.place == ParentOrder::Host(host)).map(|(child, _)| child)
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
        (self.get(top)?.place == ParentOrder::Outside).then(|| self.above(host).count())
    }

    /// Latency from the head to a host, one way; `None`: it is not connected to the head.
    pub fn total(&self, host: HostId) -> Option<Nanos> {
        self.depth(host)?;
        let edges = std::iter::once(host).chain(self.above(host)).filter_map(|at| self.get(at));
        let below_head = edges.filter(|member| member.place != ParentOrder::Outside);
        Some(below_head.fold(Nanos::ZERO, |sum, member| sum + member.latency))
    }

    /// Whether `host` is `top` or below it, according to orders.
    pub fn is_below(&self, host: HostId, top: HostId) -> bool {
        host == top || self.above(host).any(|above| above == top)
    }

    /// Whether `host` below `parent` would make a cycle. This counts edges that were ordered or may still
    /// exist, and lost edges whose upper end keeps bytes for the lower one: otherwise two hosts might come to
    /// rely on each other for bytes that neither has.
    pub fn would_cycle(&self, host: HostId, parent: HostId) -> bool {
        let (mut seen, mut next) = (vec![parent], vec![parent]);
        while let Some(at) = next.pop() {
            if at == host {
                return true;
            }
            let above: Vec<HostId> = match self.get(at) {
                Some(member) => member.parents().collect(),
                None => self.of_departed(at).collect(),
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
        &mut self, host: HostId, place: ParentOrder, outside: Option<HostId>, latency: Nanos,
    ) -> Option<u32> {
        if let ParentOrder::Host(parent) = place {
            if self.would_cycle(host, parent) || !self.members.contains_key(&parent) {
                return None;
            }
        }
        let member = self.members.get_mut(&host)?;
        member.leave_parent();
        member.place = place;
        member.outside = outside;
        member.latency = latency;
        member.order = member.order.wrapping_add(1);
        Some(member.order)
    }

    /// Notes that a host carried out an order; returns the parents that it left. `None`: it was not the
    /// host's last order.
    pub(super) fn confirm(&mut self, host: HostId, order: u32) -> Option<Vec<HostId>> {
        let member =
            self.members.get_mut(&host).filter(|m| m.order == order && m.place != ParentOrder::Nothing)?;
        member.attached = true;
        member.behind = false;
        if member.progress == Progress::Joining {
            member.progress = Progress::Receiving;
        }
        let mut former = std::mem::take(&mut member.former);
        former.retain(|&host| member.place != ParentOrder::Host(host) && member.outside != Some(host));
        self.forget_departed();
        Some(former)
    }

    /// Takes a host's place away; until it has another one, it stays connected as it is.
    pub(super) fn unplace(&mut self, host: HostId) {
        self.change(host, ClusterHost::leave_parent);
    }

    /// The latency between two hosts, one way, as one of them measured it.
    pub(super) fn between(&self, a: HostId, b: HostId) -> Option<Nanos> {
        self.measured(a, b).or_else(|| self.measured(b, a))
    }

    /// Notes the latencies that a host measured now, and forgets those to hosts that are not here any more.
    pub(super) fn note_measured(&mut self, host: HostId, now: &[(HostId, Nanos)]) {
        let Some(mut member) = self.members.remove(&host) else { return };
        member.measured.retain(|(to, _)| latency_to(now, *to).is_none() && self.members.contains_key(to));
        member.measured.extend(now);
        self.members.insert(host, member);
    }

    /// The latency that one host measured to another, one way.
    pub(super) fn measured(&self, from: HostId, to: HostId) -> Option<Nanos> {
        latency_to(&self.get(from)?.measured, to)
    }

    /// The latency between two members, one way: as measured, or over the head, or `default`.
    pub fn latency(&self, a: HostId, b: HostId, default: Nanos) -> Nanos {
        let either = |x, y| if x == y { Some(Nanos::ZERO) } else { self.between(x, y) };
        let over_head = || self.head().and_then(|head| Some(either(a, head)? + either(head, b)?));
        self.between(a, b).or_else(over_head).unwrap_or(default)
    }
}

pub(super) fn latency_to(measured: &[(HostId, Nanos)], host: HostId) -> Option<Nanos> {
    measured.iter().find(|(other, _)| *other == host).map(|&(_, latency)| latency)
}

#[cfg(test)]
#[path = "tests/cluster.rs"]
mod tests;
