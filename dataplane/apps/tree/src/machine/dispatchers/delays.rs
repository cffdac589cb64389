//! The delays of hosts from the source, their bound, and moves to parents that have become nearer.
//!
//! Each host is asked, one after the other, to measure its parent again and hosts with room. A host that
//! finds a better parent twice in succession is moved there, while no other host of the cluster is on its
//! way. It then rests, after each move twice as long: the stream itself may make an edge's latency longer,
//! and without the rest the host would move between two parents again and again. Hosts that were slow just
//! now are not moved.
//!
//! The parent of a cluster's head is a host of the cluster above, whose dispatcher alone knows which of them
//! have room. It names those hosts when the head is to measure, and finds the best of them by the same rule.

use groupflow_base::Nanos;
use serde::{Deserialize, Serialize};

use super::cluster::{latency_to, ClusterHost, ParentOrder};
use super::dispatcher::{Above, Dispatcher};
use super::moves::Rank;
use super::DispatcherMut;
use crate::machine::messages::{ClusterId, HostId, Peer, RefusalCode, RouterId, ToHost};

/// A move must shorten the delay by as much, and by this part of it.
const MARGIN: Nanos = Nanos::from_millis(2);
const PART: u64 = 4;
/// The part of a delay by which it must have changed before clusters below are told again.
const CHANGED: u64 = 16;
/// How often a host's rest doubles at most.
const DOUBLED: u32 = 6;

/// The findings of a host's reviews.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// How many measurements it was asked for and has not told.
    pub(super) asked: u8,
    /// The host's last measurement found a better parent.
    better: bool,
    /// Until then it is not moved to a better parent.
    pub(super) rest: Nanos,
    /// How often it was moved to a better parent, or down.
    moves: u32,
    /// The host was told that it is beyond the bound.
    beyond: bool,
}

impl Review {
    /// Lets a host that is moved rest, after each move twice as long.
    fn begin_rest(&mut self, now: Nanos, review: Nanos) {
        let doubled = self.moves.min(DOUBLED);
        self.rest = now + Nanos(review.0.saturating_mul(1 << doubled));
        self.moves = self.moves.saturating_add(1);
    }

    /// Notes the better parent that a measurement found, if it found one. Returns that parent if the
    /// measurement before found one, too: the host moves there.
    fn note(&mut self, better: Option<HostId>, now: Nanos, review: Nanos) -> Option<HostId> {
        let target = better.filter(|_| self.better);
        self.better = better.is_some() && target.is_none();
        if target.is_some() {
            self.begin_rest(now, review);
        }
        target
    }
}

impl Dispatcher {
    /// When the next host is to measure again.
    pub(super) fn review_due(&self) -> Nanos {
        let hosts = self.tree.iter().filter(|(_, member)| self.has_parent(member)).count() as u64;
        match (hosts, self.policy.review) {
            (0, _) | (_, Nanos::ZERO) => Nanos::MAX,
            (hosts, review) => self.reviewed.0 + Nanos(review.0 / hosts),
        }
    }

    fn has_parent(&self, member: &ClusterHost) -> bool {
        member.attached && !self.is_source(member)
    }

    /// A better parent than the present one, for a host of this cluster that has measured these.
    fn better_parent(&self, host: HostId, measured: &[(HostId, Nanos)]) -> Option<HostId> {
        let member = self.tree.get(host)?;
        let parent = member.parent()?;
        let is_new = |other: HostId| other != parent && latency_to(measured, other).is_some();
        let best = self.best_rank(host, |other, _| is_new(other) && !self.tree.would_cycle(host, other))?;
        self.is_better(&best, parent, self.delay(host)?, member.router).then_some(best.parent)
    }

    /// Whether a host is to move, while no other is on its way: its delay becomes shorter by the margin, or
    /// comes within the bound.
    fn is_better(&self, best: &Rank, parent: HostId, delay: Nanos, router: Option<RouterId>) -> bool {
        let may_move = self.tree.iter().all(|(_, member)| member.attached);
        let margin = MARGIN.max(Nanos(delay.0 / PART));
        let was_beyond = self.is_beyond(delay);
        // The stream is to reach a router only once, and no host is to wait for a slow one.
        let leaves_router = self.tree.is_behind(parent, router) && !self.tree.is_behind(best.parent, router);
        let nearer = best.delay + margin <= delay && !leaves_router && (was_beyond || !best.is_beyond);
        may_move && !best.is_late && (nearer || was_beyond && !best.is_beyond)
    }
}

impl DispatcherMut<'_> {
    /// Asks the next host, or once more one that has just found a better parent, to measure its parent and
    /// hosts with room.
    pub(super) fn review_next(&mut self) {
        if self.review_due() > self.now {
            return;
        }
        let after = |&(host, member): &(HostId, &ClusterHost)| {
            let again = member.review.better && host == self.reviewed.1;
            (!again, host <= self.reviewed.1, host)
        };
        let next = self.tree.iter().filter(|(_, member)| self.has_parent(member)).min_by_key(after);
        let Some((host, member)) = next else { return };
        let own = member.parent().and_then(|parent| self.tree.get(parent)).map(|parent| parent.peer);
        let (is_head, router) = (member.place == ParentOrder::Outside, member.router);
        self.reviewed = (self.now, host);
        if is_head {
            return self.review_head();
        }
        let others = self.candidates(router).into_iter();
        let others = others.filter(|&peer| Some(peer) != own && !self.tree.is_below(peer.host, host));
        let asked = own.into_iter().chain(others).collect();
        self.ask_to_measure(host, asked);
    }

    /// Lets the head measure hosts of the parent's cluster, and its own parent for comparison.
    fn review_head(&mut self) {
        let (Above::Attached(parent, peer, _), Some(head)) = (self.above, self.tree.head()) else { return };
        let id = self.id;
        let Some(above) = self.all.find(parent) else { return };
        let Some(below) = above.below.get(&id).filter(|_| above.has_settled(id)) else { return };
        let others = above.candidates(below.router).into_iter();
        let asked = [peer].into_iter().chain(others.filter(|peer| Some(peer.host) != below.from)).collect();
        self.ask_to_measure(head, asked);
    }

    /// A better parent for the head of a cluster below, which has measured these.
    fn better_for_head(&self, cluster: ClusterId, measured: &[(HostId, Nanos)]) -> Option<HostId> {
        let below = self.below.get(&cluster).filter(|_| self.has_settled(cluster))?;
        let parent = below.from?;
        let delay = self.delay(parent)? + latency_to(measured, parent)?;
        let open = measured.iter().filter(|&&(host, _)| host != parent && self.room(host) > 0);
        let best = open.filter_map(|&(host, latency)| self.rank(host, latency, false)).min()?;
        self.is_better(&best, parent, delay, below.router).then_some(best.parent)
    }

    fn ask_to_measure(&mut self, host: HostId, asked: Vec<Peer>) {
        self.tree.change(host, |member| member.review.asked = member.review.asked.saturating_add(1));
        self.notify(host, ToHost::Probe(asked));
    }

    /// Handles the latencies that a host measured again: those to its parent, and to hosts with room.
    pub(super) fn on_measured_again(&mut self, host: HostId, measured: &[(HostId, Nanos)]) {
        let measured = &measured[..measured.len().min(1 + self.policy.probes)];
        let review = self.tree.get_mut(host).map(|member| &mut member.review);
        let Some(review) = review.filter(|review| review.asked > 0) else {
            let text = format!("measured: {} asked {host} for nothing", self.id);
            return self.refuse(host, RefusalCode::BadMessage, text);
        };
        review.asked -= 1;
        self.tree.note_measured(host, measured);
        let Some(member) = self.tree.get_mut(host).filter(|member| member.attached) else { return };
        let parent = member.parent().or(member.outside);
        let latency = parent.and_then(|parent| latency_to(measured, parent));
        member.latency = latency.unwrap_or(member.latency);
        let rests_until = member.review.rest.max(member.slow_until);
        let is_head = member.place == ParentOrder::Outside;
        // The parent's dispatcher finds a place for the head.
        let (id, above) = (self.id, self.parent().filter(|_| is_head));
        // A parent that does not answer is soon known to be gone.
        let better = latency.filter(|_| rests_until <= self.now).and_then(|_| match above {
            Some(above) => self.all.find(above)?.better_for_head(id, measured),
            None => self.better_parent(host, measured),
        });
        let (now, review) = (self.now, self.policy.review);
        let target = self.tree.get_mut(host).and_then(|member| member.review.note(better, now, review));
        match (target, above.and_then(|above| self.all.change(above))) {
            (Some(target), Some(mut above)) => above.attach_to(id, target),
            (Some(target), None) => self.order_below(host, target),
            (None, _) => {}
        }
        self.report_delays();
    }

    /// Lets a host that is moved rest, after each move twice as long.
    pub(super) fn rest(&mut self, host: HostId) {
        let (now, review) = (self.now, self.policy.review);
        self.tree.change(host, |member| member.review.begin_rest(now, review));
    }

    /// Tells hosts that have come to be beyond the bound, or within it, also in clusters below whose delay
    /// has changed.
    pub(super) fn report_delays(&mut self) {
        let is_settled = |member: &ClusterHost| member.attached;
        if !self.tree.head().and_then(|head| self.tree.get(head)).is_some_and(is_settled) {
            return;
        }
        if let Some(bound) = self.policy.delay_bound {
            for host in self.tree.hosts() {
                let Some(delay) = self.delay(host) else { continue };
                let Some(member) = self.tree.get_mut(host).filter(|member| member.attached) else { continue };
                if std::mem::replace(&mut member.review.beyond, delay > bound) != (delay > bound) {
                    self.notify(host, ToHost::Delay { delay, bound });
                }
            }
        }
        // If latencies stay those of the joins, and have no bound, nobody asks for them.
        if self.policy.review == Nanos::ZERO && self.policy.delay_bound.is_none() {
            return;
        }
        for (cluster, from) in self.below.iter().map(|(&id, below)| (id, below.from)).collect::<Vec<_>>() {
            let Some(delay) = from.and_then(|from| self.delay(from)) else { continue };
            let before = self.all.get(cluster).map_or(delay, |lower| lower.delay_above);
            if before.0.abs_diff(delay.0) > before.0 / CHANGED {
                self.all.tell(cluster, |lower| {
                    lower.delay_above = delay;
                    lower.report_delays();
                });
            }
        }
    }
}
