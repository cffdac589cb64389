//! Joins. A joining host measures the latency to the head of a cluster and to the heads below, goes on to the
//! nearest, and so down until no head is nearer. There it is taken in if each member shares its router or is
//! near enough, or else founds a cluster below. It measures members for which no third host shows that they
//! are near.
//!
//! Hosts that join at the same time would each found a cluster. Therefore a host also measures the heads of
//! clusters that were founded while it measured, and a host that comes to a cluster before its founder waits
//! for the founder.

use groupflow_base::Nanos;
use serde::{Deserialize, Serialize};

use super::cluster::{latency_to, ClusterHost, ParentOrder};
use super::clusters::Below;
use super::dispatcher::{Above, Dispatcher};
use super::{ended, DispatcherMut};
use crate::machine::messages::{ClusterId, HostId, Peer, RefusalCode, RouterId, ToHost, TreeJoin};

/// A host that is joining.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Joining {
    join: TreeJoin,
    /// When the host was heard of last.
    pub(super) since: Nanos,
    measured: Vec<(HostId, Nanos)>,
    /// The members that it was asked to measure. One that does not answer may be dead, which will show.
    asked: Vec<HostId>,
    /// A member is too far away: the host goes elsewhere.
    is_stranger: bool,
    stage: JoinStage,
    /// How often the host was asked to measure heads of clusters that were founded meanwhile.
    repeats: u8,
}

impl Joining {
    fn new(join: TreeJoin, since: Nanos, stage: JoinStage) -> Joining {
        let (measured, asked) = (Vec::new(), Vec::new());
        Joining { join, since, measured, asked, is_stranger: false, stage, repeats: 0 }
    }

    /// The latency to a host that it has measured.
    fn to(&self, host: HostId) -> Option<Nanos> {
        latency_to(&self.measured, host)
    }

    /// Whether the host is the one that must answer next.
    pub(super) fn is_asked(&self) -> bool {
        self.stage != JoinStage::Founder
    }
}

/// How often a host is asked at most to measure new heads, which it may be unable to reach.
const MEASURED_AGAIN: u8 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum JoinStage {
    /// The host waits for the cluster's founder.
    Founder,
    /// The host measures heads, to choose a cluster.
    Cluster,
    /// The host measures hosts of this cluster, to choose a parent.
    Parent,
}

impl DispatcherMut<'_> {
    pub(super) fn on_join(&mut self, from: HostId, mut join: TreeJoin) {
        if join.token != self.all.token {
            let text = format!("the token of {from} is another one");
            return self.refuse(from, RefusalCode::WrongToken, text);
        }
        if join.peer.host != from || self.tree.get(from).is_some_and(|member| self.is_source(member)) {
            let text = format!("join.host: {} comes from {from}", join.peer.host);
            return self.refuse(from, RefusalCode::BadMessage, text);
        }
        join.capacity = join.capacity.min(self.policy.max_children);
        // A host that is a member already has begun again, and still needs its next bytes.
        if self.tree.get(from).is_some() {
            let until = self.now + self.policy.way();
            self.tree.note_away(from, until);
            self.remove(from);
        }
        self.all.wait_longer(from);
        self.joins.remove(&from);
        if self.ended {
            return self.notify(from, ended());
        }
        if self.founder.is_some_and(|(founder, _)| founder == from) {
            self.founder = None;
            self.take_head(&join);
            self.retry();
            return self.take_waiting();
        }
        if self.joins.len() >= self.policy.max_joins {
            let text = format!("{} hosts are joining, as many as may", self.joins.len());
            return self.refuse(from, RefusalCode::Busy, text);
        }
        if self.tree.is_empty() {
            // The parent sent the host here before the founder came, who goes first. If the founder does not
            // come, the cluster ends, and all waiting hosts are told.
            let waiting = Joining::new(join, self.now, JoinStage::Founder);
            self.joins.insert(from, waiting);
            return;
        }
        let shares = self.shares_router(&join) && self.has_place(join.capacity);
        if let Some(cluster) = self.of_router(&join).filter(|_| !shares) {
            return self.notify(from, ToHost::Redirect(cluster));
        }
        let joining = Joining::new(join, self.now, JoinStage::Cluster);
        if shares {
            let asked = self.to_measure(&joining);
            return self.ask_members(from, joining, asked);
        }
        self.joins.insert(from, joining);
        self.notify(from, ToHost::Probe(self.heads()));
    }

    /// Lets a host measure these members, to choose a parent.
    fn ask_members(&mut self, from: HostId, mut joining: Joining, asked: Vec<Peer>) {
        joining.asked.extend(asked.iter().map(|peer| peer.host));
        joining.stage = JoinStage::Parent;
        self.joins.insert(from, joining);
        self.notify(from, ToHost::Probe(asked));
    }

    fn take_waiting(&mut self) {
        let waiting = self.joins.values().filter(|joining| joining.stage == JoinStage::Founder);
        for join in waiting.map(|joining| joining.join.clone()).collect::<Vec<_>>() {
            self.on_join(join.peer.host, join);
        }
    }

    pub(super) fn on_measured(&mut self, from: HostId, measured: Vec<(HostId, Nanos)>) {
        let Some(mut joining) = self.joins.remove(&from) else {
            return self.on_measured_again(from, &measured);
        };
        if joining.stage == JoinStage::Founder {
            // The host was asked nothing: what it measured is not kept, which would grow without a bound.
            self.joins.insert(from, joining);
            return;
        }
        joining.since = self.now;
        let asked = 1 + self.policy.probes.max(2 * self.policy.max_clusters);
        joining.measured.extend(measured.into_iter().take(asked));
        match joining.stage {
            JoinStage::Cluster => self.choose_cluster(from, joining),
            _ => self.choose_parent(from, joining),
        }
    }

    /// Takes the host in, once it is known to be near all members that do not share its router.
    fn choose_parent(&mut self, from: HostId, mut joining: Joining) {
        joining.is_stranger = self.is_stranger(&joining);
        if joining.is_stranger {
            return match self.of_router(&joining.join) {
                Some(cluster) => self.notify(from, ToHost::Redirect(cluster)),
                None => self.choose_cluster(from, joining),
            };
        }
        let asked = self.doubtful(&joining);
        match asked.is_empty() {
            true => self.take_in(joining),
            false => self.ask_members(from, joining, asked),
        }
    }

    /// Sends the host down to a nearer cluster, or takes it into this one, or lets it found a new one below.
    fn choose_cluster(&mut self, from: HostId, mut joining: Joining) {
        let own = self.tree.head().and_then(|head| joining.to(head)).unwrap_or(Nanos::MAX);
        // A host's delay is at least that over the heads: farther down it may be beyond the bound.
        let base = self.tree.head().and_then(|head| self.delay(head)).unwrap_or(Nanos::ZERO);
        let is_beyond = |latency: Nanos| self.is_beyond(base + latency);
        let rated = self.below.iter().filter_map(|(&cluster, below)| {
            let latency = joining.to(below.head.host)?;
            Some((is_beyond(below.latency + latency), latency, cluster))
        });
        let nearest = rated.min();
        let is_nearer =
            |&(beyond, latency, _): &(bool, Nanos, ClusterId)| latency < own && (!beyond || is_beyond(own));
        if let Some((.., cluster)) = nearest.filter(is_nearer) {
            return self.notify(from, ToHost::Redirect(cluster));
        }
        let is_near = own < self.policy.threshold || self.shares_router(&joining.join);
        if is_near && !self.is_stranger(&joining) && self.has_place(joining.join.capacity) {
            let others = self.to_measure(&joining);
            return match others.is_empty() {
                true => self.take_in(joining),
                false => self.ask_members(from, joining, others),
            };
        }
        let heads = self.heads().into_iter();
        let unknown = heads.filter(|head| joining.to(head.host).is_none()).collect::<Vec<Peer>>();
        if !unknown.is_empty() && joining.repeats < MEASURED_AGAIN {
            // A cluster was founded while the host measured; its head may be near, or behind the same router.
            joining.repeats += 1;
            joining.stage = JoinStage::Cluster;
            self.joins.insert(from, joining);
            return self.notify(from, ToHost::Probe(unknown));
        }
        // A near host for which there is no place here goes to a near cluster.
        let overflows = |latency: Nanos| is_near && latency < self.policy.threshold;
        let may_found = self.below.len() < self.policy.max_clusters && self.attach_point(None).is_some();
        match nearest {
            Some((_, latency, cluster)) if overflows(latency) || !may_found => {
                self.notify(from, ToHost::Redirect(cluster));
            }
            _ if may_found => self.let_found(&joining.join, own, &joining.measured),
            _ => {
                let text = format!("no host of {} has room for another child", self.id);
                self.refuse(from, RefusalCode::Full, text);
            }
        }
    }

    /// Takes a host in, below a host that shares its router if one has room, so that the stream reaches that
    /// router only once. Of those hosts, the parent is the one over which the source is nearest.
    fn take_in(&mut self, joining: Joining) {
        let Joining { join, measured, .. } = joining;
        let host = join.peer.host;
        let measured_open = measured.iter().filter(|(parent, _)| self.room(*parent) > 0);
        let ranked = measured_open.filter_map(|&(parent, latency)| {
            self.rank(parent, latency, !self.tree.is_behind(parent, join.router))
        });
        let best = ranked.min();
        let full = best.is_none() && self.open().next().is_none();
        let above = self.replaceable(join.router).filter(|_| full && join.capacity > 0);
        if self.tree.len() >= self.policy.max_members || full && above.is_none() {
            // Other hosts came while this one measured; an exception would take the place of a host that is
            // here.
            return self.refuse(host, RefusalCode::Busy, format!("{} has become full", self.id));
        }
        let member = ClusterHost { measured, ..ClusterHost::new(&join, self.now) };
        self.tree.add(member);
        match (best, above) {
            (Some(rank), _) => self.order(host, ParentOrder::Host(rank.parent), rank.latency),
            (None, Some(leaf)) => self.put_above(host, leaf),
            (None, None) => self.place(host),
        }
    }

    /// Puts a host in the place of one that serves no children, which goes below it: so a host that can serve
    /// others is taken in although no host has room.
    fn put_above(&mut self, host: HostId, leaf: HostId) {
        match self.tree.get(leaf).map(|member| member.place) {
            Some(ParentOrder::Host(parent)) => {
                self.order_below(host, parent);
                self.order_below(leaf, host);
            }
            Some(ParentOrder::Outside) => {
                self.tree.unplace(leaf);
                self.make_head(host);
                self.place(leaf);
                self.ask_above();
            }
            _ => self.place(host),
        }
    }

    /// Takes in the first host of a cluster as its head.
    fn take_head(&mut self, join: &TreeJoin) {
        let member = ClusterHost::new(join, self.now);
        self.tree.add(member);
        self.order(join.peer.host, ParentOrder::Outside, Nanos::ZERO);
        if let Above::Asked(_) = self.above {
            self.ask_above();
        }
    }
}

impl Dispatcher {
    fn shares_router(&self, join: &TreeJoin) -> bool {
        self.tree.iter().any(|(host, _)| self.tree.is_behind(host, join.router))
    }

    /// The cluster below that a host of the same router founded.
    fn of_router(&self, join: &TreeJoin) -> Option<ClusterId> {
        let there = |below: &Below| join.router.is_some() && below.router == join.router;
        self.below.iter().find(|(_, below)| there(below)).map(|(&cluster, _)| cluster)
    }

    /// Whether a member may be in one cluster with the host: they share a router, or are nearer than the
    /// threshold, which may follow from the latencies of both to a third host. `None`: not known.
    fn is_near(&self, joining: &Joining, member: HostId) -> Option<bool> {
        let threshold = self.policy.threshold;
        if self.tree.is_behind(member, joining.join.router) {
            return Some(true);
        }
        if let Some(latency) = joining.to(member) {
            return Some(latency < threshold);
        }
        let mut ways = joining.measured.iter();
        let bounds = |&(third, way): &(HostId, Nanos)| {
            self.tree.between(third, member).is_some_and(|rest| way + rest < threshold)
        };
        ways.any(bounds).then_some(true)
    }

    fn is_stranger(&self, joining: &Joining) -> bool {
        joining.is_stranger || self.tree.iter().any(|(host, _)| self.is_near(joining, host) == Some(false))
    }

    /// The members that may be too far from the host, as many as it measures at once. The head is first and
    /// alone: its latency tells of others.
    fn doubtful(&self, joining: &Joining) -> Vec<Peer> {
        let is_open = |host| !joining.asked.contains(&host) && self.is_near(joining, host).is_none();
        let open = self.tree.iter().filter(|&(host, _)| is_open(host)).map(|(_, member)| member.peer);
        let open: Vec<Peer> = open.take(self.policy.probes).collect();
        let head = self.tree.head().filter(|&head| is_open(head)).and_then(|head| self.tree.get(head));
        head.map_or(open, |head| vec![head.peer])
    }

    /// The members that the host has to measure before it is taken in: possible parents, and doubtful ones.
    fn to_measure(&self, joining: &Joining) -> Vec<Peer> {
        let parents = self.candidates(joining.join.router).into_iter();
        let mut found: Vec<Peer> = parents.filter(|peer| joining.to(peer.host).is_none()).collect();
        let more = self.doubtful(joining).into_iter().filter(|peer| !found.contains(peer));
        found.extend(more.collect::<Vec<Peer>>());
        found
    }

    /// Whether a host that offers to serve this many children can be taken in.
    fn has_place(&self, capacity: u16) -> bool {
        let full = self.tree.len() >= self.policy.max_members;
        !full && (self.open().next().is_some() || (capacity > 0 && self.replaceable(None).is_some()))
    }

    /// A host that serves no children and can be replaced: behind that router if possible, and as high as
    /// possible.
    fn replaceable(&self, router: Option<RouterId>) -> Option<HostId> {
        let leaves = self.tree.iter().filter(|&(_, m)| m.capacity == 0 && m.attached && !self.is_source(m));
        let rated =
            leaves.filter_map(|(h, _)| Some((!self.tree.is_behind(h, router), self.tree.depth(h)?, h)));
        rated.min().map(|(.., host)| host)
    }

    /// Hosts with room: first those that are not behind a slow host, among them first those behind that
    /// router, and among them the highest.
    pub(super) fn candidates(&self, router: Option<RouterId>) -> Vec<Peer> {
        let rated = self.open().filter_map(|host| {
            let (tree, peer) = (&self.tree, self.tree.get(host)?.peer);
            let (late, apart) = (tree.is_behind_slow(host, self.now), !tree.is_behind(host, router));
            Some((late, apart, tree.depth(host)?, peer))
        });
        let mut open: Vec<_> = rated.collect();
        open.sort_by_key(|&(late, apart, depth, peer)| (late, apart, depth, peer.host));
        open.into_iter().take(self.policy.probes).map(|(.., peer)| peer).collect()
    }

    /// The head of this cluster, and those of the clusters below.
    fn heads(&self) -> Vec<Peer> {
        let own = self.tree.head().and_then(|head| self.tree.get(head)).map(|member| member.peer);
        own.into_iter().chain(self.below.values().map(|below| below.head)).collect()
    }
}
