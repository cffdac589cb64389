//! The hosts of one cluster as a tree below its head.
//!
//! What was ordered and what is so differ for a while: a host that was told another parent may still be connected to
//! an earlier one. A host is put below another only where that makes no cycle over all edges that were ordered and
//! all that may still be there: so the connections never have one either, whatever order the news come in.

use std::collections::{BTreeMap, BTreeSet};

use groupflow_base::Nanos;
use serde::{Deserialize, Serialize};

use super::names::{ClusterId, HostId, Peer, RouterId, Ticket};

/// What a host is connected to, as was ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Up {
    /// Nothing: it waits for room.
    Nothing,
    /// A host of the parent's cluster, or of the root cluster: it is the source. There is exactly one: the head.
    Outside,
    /// A host of this cluster.
    Host(HostId),
}

/// One host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Member {
    /// Who, and where.
    pub peer: Peer,
    /// Its router, where it knows it.
    pub router: Option<RouterId>,
    /// Children that it may have.
    pub capacity: u16,
    /// What it is told to be connected to.
    pub up: Up,
    /// With [`Up::Outside`]: which host, once that is known.
    pub outside: Option<HostId>,
    /// To its parent, one way.
    pub latency: Nanos,
    /// The number of its last order.
    pub order: u32,
    /// Whether the last order is carried out.
    pub attached: bool,
    /// What it may be connected to besides, until it has carried out its last order.
    pub was: Vec<HostId>,
    /// What it was connected to and lost; they keep for it what it did not get, until it has another parent.
    pub left: Vec<HostId>,
    /// A parent did not have what comes next for it any more; the head may.
    pub behind: bool,
    /// Heads of other clusters that are connected to it.
    pub foreign: u16,
    /// It takes no children until then.
    pub slow_until: Nanos,
    /// When it was heard of last.
    pub heard: Nanos,
    /// A child could not connect to it, or lost it, and it was not heard of since: it takes no children.
    pub suspect: bool,
    /// What it measured, one way.
    pub measured: Vec<(HostId, Nanos)>,
}

impl Member {
    /// A host that has no place yet.
    pub(super) fn new(peer: Peer, router: Option<RouterId>, capacity: u16, now: Nanos) -> Member {
        Member {
            peer,
            router,
            capacity,
            up: Up::Nothing,
            outside: None,
            latency: Nanos::ZERO,
            order: 0,
            attached: false,
            was: Vec::new(),
            left: Vec::new(),
            behind: false,
            foreign: 0,
            slow_until: Nanos::ZERO,
            heard: now,
            suspect: false,
            measured: Vec::new(),
        }
    }

    /// It may still be connected to its parent when it has another.
    fn leave_parent(&mut self) {
        let outside = self.outside.take();
        if let Some(before) = self.parent().or(outside) {
            if !self.was.contains(&before) {
                self.was.push(before);
            }
        }
    }

    /// Its parent in the cluster.
    pub fn parent(&self) -> Option<HostId> {
        match self.up {
            Up::Host(parent) => Some(parent),
            Up::Nothing | Up::Outside => None,
        }
    }

    /// What it is or may be connected to.
    fn may_be_below(&self) -> impl Iterator<Item = HostId> + '_ {
        self.parent().into_iter().chain(self.outside).chain(self.was.iter().copied())
    }
}

/// What a host of this cluster keeps for the head of another one, and for those below that. It is let go of when the other's
/// dispatcher says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hold {
    /// The other cluster.
    pub(super) cluster: ClusterId,
    /// Its head, which may be gone.
    pub(super) head: HostId,
    /// What it was connected to.
    pub(super) parent: HostId,
    /// By what the other's dispatcher knows it.
    pub(super) ticket: Ticket,
}

/// The members, at most as many as the policy says.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Cluster {
    members: BTreeMap<HostId, Member>,
    /// Those that left or failed, and that members may still be connected to.
    ghosts: BTreeMap<HostId, Ghost>,
    /// Nobody may be connected to these any more; and who may keep something for them.
    buried: Vec<(HostId, HostId)>,
    /// What is kept for the heads of other clusters.
    holds: Vec<Hold>,
    /// Those that were sent to another cluster, and until when what they need is kept here.
    sent_away: BTreeMap<HostId, Nanos>,
}

/// Who left or failed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Ghost {
    /// What it may be connected to.
    ups: Vec<HostId>,
    /// What it was connected to and had lost: that keeps what those below it may need.
    left: Vec<HostId>,
}

impl Cluster {
    /// How many.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// A member.
    pub fn get(&self, host: HostId) -> Option<&Member> {
        self.members.get(&host)
    }

    /// A member, but for its place: [`Cluster::put`] changes that.
    pub(super) fn get_mut(&mut self, host: HostId) -> Option<&mut Member> {
        self.members.get_mut(&host)
    }

    /// All, by number.
    pub fn iter(&self) -> impl Iterator<Item = (HostId, &Member)> {
        self.members.iter().map(|(&host, member)| (host, member))
    }

    /// The one that receives from outside.
    pub fn head(&self) -> Option<HostId> {
        self.iter().find(|(_, member)| member.up == Up::Outside).map(|(host, _)| host)
    }

    /// Adds a member that has no place yet.
    pub(super) fn add(&mut self, member: Member) {
        self.members.insert(member.peer.host, member);
    }

    /// Takes a member out; its children, which have no place any more. It may live on, and serve them for a while.
    pub(super) fn remove(&mut self, host: HostId) -> Option<(Member, Vec<HostId>)> {
        let gone = self.members.remove(&host)?;
        let orphans: Vec<HostId> = self.children(host).collect();
        for orphan in &orphans {
            if let Some(member) = self.members.get_mut(orphan) {
                member.leave_parent();
                member.up = Up::Nothing;
                member.attached = false;
            }
        }
        // It may have been here before, and gone.
        let ghost = self.ghosts.entry(host).or_default();
        ghost.ups.extend(gone.may_be_below());
        ghost.left.extend(&gone.left);
        self.forget_ghosts();
        Some((gone, orphans))
    }

    /// Those that were gone and that nobody is connected to any more, each with who was its parent, now or before: those
    /// need not keep anything for them.
    pub(super) fn take_buried(&mut self) -> Vec<(HostId, HostId)> {
        std::mem::take(&mut self.buried)
    }

    /// Lets go of those that nobody can be connected to any more, or needs what is kept for them.
    fn forget_ghosts(&mut self) {
        let of_members = self.members.values().flat_map(|member| member.was.iter().chain(&member.left));
        let of_others = self.holds.iter().map(|hold| &hold.parent).chain(self.sent_away.keys());
        let (mut named, mut next) =
            (BTreeSet::new(), of_members.chain(of_others).copied().collect::<Vec<_>>());
        while let Some(name) = next.pop() {
            if let Some(ghost) = self.ghosts.get(&name).filter(|_| named.insert(name)) {
                next.extend(ghost.ups.iter().chain(&ghost.left));
            }
        }
        for (name, ghost) in std::mem::take(&mut self.ghosts) {
            if named.contains(&name) {
                self.ghosts.insert(name, ghost);
            } else {
                let parents = ghost.ups.into_iter().chain(ghost.left);
                self.buried.extend(parents.map(|parent| (name, parent)));
            }
        }
    }

    /// Whether nobody can need any more what is kept for those that are gone.
    pub(super) fn all_is_buried(&self) -> bool {
        self.ghosts.is_empty()
    }

    /// Whether a host, or one below it that has no other parent yet, may need what `parent`, here or in another cluster, keeps
    /// for it.
    pub(super) fn may_need(&self, host: HostId, parent: HostId) -> bool {
        let member =
            self.get(host).is_some_and(|m| m.may_be_below().any(|p| p == parent) || m.left.contains(&parent));
        let ghost = self.ghosts.get(&host);
        member || ghost.is_some_and(|ghost| ghost.ups.contains(&parent) || ghost.left.contains(&parent))
    }

    /// A host serves the head of another cluster, which may not take that ticket, and count on an earlier one.
    pub(super) fn hold(&mut self, hold: Hold) {
        self.holds.push(hold);
    }

    /// What another cluster was served by when it was given a ticket.
    pub(super) fn held(&self, cluster: ClusterId, ticket: Ticket) -> Option<Hold> {
        self.holds.iter().copied().find(|hold| hold.cluster == cluster && hold.ticket == ticket)
    }

    /// Nobody of that cluster needs any more what is kept for it, or (`None`) for any of its heads. Whom nothing is kept for
    /// any more, each with who kept it.
    pub(super) fn free(&mut self, cluster: ClusterId, ticket: Option<Ticket>) -> Vec<(HostId, HostId)> {
        let over =
            |hold: &Hold| hold.cluster == cluster && ticket.map_or(true, |ticket| hold.ticket == ticket);
        let (over, held): (Vec<Hold>, Vec<Hold>) = self.holds.iter().partition(|hold| over(hold));
        self.holds = held;
        self.forget_ghosts();
        over.into_iter().map(|hold| (hold.head, hold.parent)).collect()
    }

    /// Whether a member keeps something for a host of whichever cluster, or for those below it.
    pub(super) fn keeps(&self, parent: HostId, host: HostId) -> bool {
        self.holds.iter().any(|hold| (hold.head, hold.parent) == (host, parent))
            || self.may_need(host, parent)
    }

    /// A member is sent to another cluster: what it and those below it need is kept here until it has a place there.
    pub(super) fn send_away(&mut self, host: HostId, until: Nanos) {
        self.sent_away.insert(host, until);
    }

    /// When the next of those that were sent away is not waited for any more.
    pub(super) fn waits_until(&self) -> Option<Nanos> {
        self.sent_away.values().min().copied()
    }

    /// Nobody that was sent away is waited for longer.
    pub(super) fn wait_at_most(&mut self, until: Nanos) {
        self.sent_away.values_mut().for_each(|due| *due = (*due).min(until));
    }

    /// Those that were sent away have a place by now, or are gone.
    pub(super) fn wait_no_longer(&mut self, over: impl Fn(HostId, Nanos) -> bool) {
        self.sent_away.retain(|&host, until| !over(host, *until));
        self.forget_ghosts();
    }

    /// Direct children.
    pub fn children(&self, host: HostId) -> impl Iterator<Item = HostId> + '_ {
        self.iter().filter(move |(_, member)| member.up == Up::Host(host)).map(|(child, _)| child)
    }

    /// Children that a host can take; 0 also where it is slow, or may have failed.
    pub fn room(&self, host: HostId, now: Nanos) -> usize {
        match self.get(host) {
            Some(member) if member.slow_until <= now && !member.suspect => {
                let taken = self.children(host).count() + usize::from(member.foreign);
                usize::from(member.capacity).saturating_sub(taken)
            }
            _ => 0,
        }
    }

    /// Whether a host serves more than it offered to: there was nobody else.
    pub(super) fn is_overloaded(&self, host: HostId) -> bool {
        let serves = |member: &Member| self.children(host).count() + usize::from(member.foreign);
        self.get(host).is_some_and(|member| serves(member) > usize::from(member.capacity))
    }

    /// Whether a host is behind that router. Where none is known nobody is.
    pub fn is_behind(&self, host: HostId, router: Option<RouterId>) -> bool {
        router.is_some() && self.get(host).is_some_and(|member| member.router == router)
    }

    /// Whether a host above it is slow: what comes to it comes late.
    pub fn is_behind_slow(&self, host: HostId, now: Nanos) -> bool {
        let mut at = host;
        // No more steps than members: an order never makes a cycle.
        for _ in 0..=self.members.len() {
            let Some(Up::Host(parent)) = self.get(at).map(|member| member.up) else { return false };
            if self.get(parent).is_some_and(|member| member.slow_until > now) {
                return true;
            }
            at = parent;
        }
        false
    }

    /// Edges from the head down to a host; `None`: it is not connected to the head.
    pub fn depth(&self, host: HostId) -> Option<usize> {
        self.path(host).map(|path| path.len())
    }

    /// From the head to a host, one way; `None`: it is not connected to the head.
    pub fn total(&self, host: HostId) -> Option<Nanos> {
        let path = self.path(host)?;
        Some(path.into_iter().fold(Nanos::ZERO, |sum, latency| sum + latency))
    }

    /// Whether `host` is `top` or below it, as was ordered.
    pub fn is_below(&self, host: HostId, top: HostId) -> bool {
        let mut at = host;
        // No more steps than members: an order never makes a cycle.
        for _ in 0..=self.members.len() {
            match self.get(at).map(|member| member.up) {
                _ if at == top => return true,
                Some(Up::Host(parent)) => at = parent,
                _ => return false,
            }
        }
        true
    }

    /// Whether `host` below `parent` would make a cycle of edges that were ordered or may still be there, or of those
    /// that are lost while the upper end keeps for the lower one what it did not get: else two might come to rely on
    /// each other for what neither has.
    pub fn would_cycle(&self, host: HostId, parent: HostId) -> bool {
        let (mut seen, mut next) = (vec![parent], vec![parent]);
        while let Some(at) = next.pop() {
            if at == host {
                return true;
            }
            let above: Vec<HostId> = match self.get(at) {
                Some(member) => member.may_be_below().chain(member.left.iter().copied()).collect(),
                None => self.ghosts.get(&at).map_or(Vec::new(), |g| [&g.ups[..], &g.left[..]].concat()),
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

    /// Puts a host where it is to be; the number of its order. Refused where it would make a cycle, now or before
    /// all that was ordered is carried out.
    pub(super) fn put(
        &mut self,
        host: HostId,
        up: Up,
        outside: Option<HostId>,
        latency: Nanos,
    ) -> Option<u32> {
        if let Up::Host(parent) = up {
            if self.would_cycle(host, parent) || !self.members.contains_key(&parent) {
                return None;
            }
        }
        let member = self.members.get_mut(&host)?;
        member.leave_parent();
        (member.up, member.outside) = (up, outside);
        member.latency = latency;
        member.attached = false;
        member.order = member.order.wrapping_add(1);
        Some(member.order)
    }

    /// A host carried out an order; the parents that it left. `None`: it was not its last one.
    pub(super) fn confirm(&mut self, host: HostId, order: u32) -> Option<Vec<HostId>> {
        let member = self.members.get_mut(&host).filter(|m| m.order == order && m.up != Up::Nothing)?;
        member.attached = true;
        member.behind = false;
        self.sent_away.remove(&host);
        let mut left = std::mem::take(&mut member.was);
        left.append(&mut member.left);
        left.retain(|&was| member.up != Up::Host(was) && member.outside != Some(was));
        self.forget_ghosts();
        Some(left)
    }

    /// A host is to have another place, and keeps what it is connected to until then.
    pub(super) fn unplace(&mut self, host: HostId) {
        if let Some(member) = self.members.get_mut(&host) {
            member.leave_parent();
            member.up = Up::Nothing;
            member.attached = false;
        }
    }

    /// A host is connected to nothing. It may have said so when it lost an earlier parent, and still carry out its last
    /// order.
    pub(super) fn detach(&mut self, host: HostId) {
        if let Some(member) = self.members.get_mut(&host) {
            let under_way = member.parent().filter(|_| !member.attached);
            member.attached = false;
            member.leave_parent();
            let lost = std::mem::replace(&mut member.was, under_way.into_iter().collect());
            let fresh: Vec<HostId> = lost.into_iter().filter(|host| !member.left.contains(host)).collect();
            member.left.extend(fresh);
            member.up = Up::Nothing;
        }
        self.forget_ghosts();
    }

    /// Whether one of two members has reached the other.
    pub fn have_met(&self, a: HostId, b: HostId) -> bool {
        let to = |from: HostId, to: HostId| {
            self.get(from).is_some_and(|member| member.measured.iter().any(|&(host, _)| host == to))
        };
        to(a, b) || to(b, a)
    }

    /// What is known of the latency between two members, one way: measured, or over the head, or `else_`.
    pub fn latency(&self, a: HostId, b: HostId, else_: Nanos) -> Nanos {
        let measured = |from: HostId, to: HostId| {
            let known = self.get(from).into_iter().flat_map(|member| &member.measured);
            known.filter(|(host, _)| *host == to).map(|&(_, latency)| latency).next()
        };
        let either =
            |a, b| if a == b { Some(Nanos::ZERO) } else { measured(a, b).or_else(|| measured(b, a)) };
        let over_head = || self.head().and_then(|head| Some(either(a, head)? + either(head, b)?));
        either(a, b).or_else(over_head).unwrap_or(else_)
    }

    /// Latencies of the edges from the head to a host.
    fn path(&self, host: HostId) -> Option<Vec<Nanos>> {
        let (mut at, mut path) = (host, Vec::new());
        for _ in 0..=self.members.len() {
            let member = self.get(at)?;
            match member.up {
                Up::Nothing => return None,
                Up::Outside => return Some(path),
                Up::Host(parent) => {
                    path.push(member.latency);
                    at = parent;
                }
            }
        }
        None
    }
}
