//! The dispatcher of one cluster: it takes hosts in, and moves hosts whose parent is gone or that are slow.

use std::collections::BTreeMap;

use groupflow_base::Nanos;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::cluster::{Cluster, ClusterHost, ParentOrder, Progress};
use super::clusters::Below;
use super::joins::Joining;
use super::{ended, DispatcherMut, Policy};
use crate::machine::messages::{ClusterId, FromHost, HostId, Peer, RefusalCode, Ticket, ToHost, TreeJoin};

/// The host above to which the head of a cluster is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Above {
    /// None: this is the root cluster, and the head is the source.
    Root,
    /// The parent cluster has no place for the head yet.
    Asked(ClusterId),
    /// A host of the parent's cluster.
    Attached(ClusterId, Peer, Ticket),
}

/// The dispatcher of one cluster. It is a plain value: a copy of it is what is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Dispatcher {
    pub id: ClusterId,
    #[serde(skip)]
    pub(super) policy: Policy,
    pub(super) above: Above,
    pub(super) founder: Option<(HostId, Nanos)>,
    pub tree: Cluster,
    pub(super) joins: BTreeMap<HostId, Joining>,
    pub below: BTreeMap<ClusterId, Below>,
    /// Moves that would make a cycle before other orders are carried out.
    pub(super) deferred: BTreeMap<HostId, HostId>,
    /// Hosts below which no other host is demoted until the given time.
    pub(super) settling: BTreeMap<HostId, Nanos>,
    #[serde(skip)]
    pub(super) now: Nanos,
    /// The delay from the source of the host above to which the head is connected.
    pub(super) delay_above: Nanos,
    /// When a host was last asked to measure again, and which.
    pub(super) reviewed: (Nanos, HostId),
    /// Since the head has its present place, all orders of the cluster's hosts were carried out at some time.
    pub(super) settled: bool,
    /// The host above that lacks the head's next bytes.
    pub(super) tried_above: Option<HostId>,
    pub(super) rng: ChaCha8Rng,
    /// In the root cluster: the names of hosts that left or died before they had all of the stream.
    #[serde(default)]
    pub(super) lost: BTreeMap<HostId, String>,
    /// The cluster's hosts are gone, and the clusters below are handed over; the cluster exists only for
    /// hosts that may need bytes kept for them.
    pub ended: bool,
}

impl Dispatcher {
    /// The dispatcher of the root cluster, whose head is the source.
    pub(super) fn root(
        id: ClusterId, policy: Policy, source: &TreeJoin, seed: u64, now: Nanos,
    ) -> Dispatcher {
        let mut dispatcher = Dispatcher::new(id, policy, Above::Root, None, seed);
        let mut head = ClusterHost::new(source, now);
        head.capacity = head.capacity.min(policy.max_children);
        (head.place, head.attached) = (ParentOrder::Outside, true);
        dispatcher.tree.add(head);
        dispatcher
    }

    /// The dispatcher of a cluster, whose founder is expected until the given time.
    pub(super) fn new(
        id: ClusterId, policy: Policy, above: Above, founder: Option<(HostId, Nanos)>, seed: u64,
    ) -> Dispatcher {
        Dispatcher {
            id,
            policy,
            above,
            founder,
            tree: Cluster::default(),
            joins: BTreeMap::new(),
            below: BTreeMap::new(),
            deferred: BTreeMap::new(),
            settling: BTreeMap::new(),
            now: Nanos::ZERO,
            delay_above: Nanos::ZERO,
            reviewed: (Nanos::ZERO, HostId(0)),
            settled: false,
            tried_above: None,
            rng: ChaCha8Rng::seed_from_u64(seed),
            lost: BTreeMap::new(),
            ended: false,
        }
    }

    /// The parent cluster; `None`: this is the root.
    pub fn parent(&self) -> Option<ClusterId> {
        match self.above {
            Above::Root => None,
            Above::Asked(parent) | Above::Attached(parent, ..) => Some(parent),
        }
    }

    /// The host above to which the head is to be connected.
    pub fn attached_to(&self) -> Option<HostId> {
        match self.above {
            Above::Attached(_, peer, _) => Some(peer.host),
            _ => None,
        }
    }

    pub fn joining(&self) -> usize {
        self.joins.len()
    }

    /// The head, or the host that will be the head.
    pub(super) fn head_or_founder(&self) -> Option<HostId> {
        self.tree.head().or(self.founder.map(|(founder, _)| founder))
    }

    /// Continues from a stored state: known hosts are given as long to be heard of as if they had just been
    /// heard of. Hosts then say [`FromHost::Back`].
    pub(super) fn resume(&mut self, policy: Policy, now: Nanos) {
        self.policy = policy;
        for host in self.tree.hosts() {
            self.tree.change(host, |member| {
                member.heard = now;
                member.slow_until = Nanos::ZERO;
                member.review.rest = Nanos::ZERO;
                // An answer may be on its way that the stored state does not know to be asked for.
                member.review.asked = member.review.asked.max(1);
            });
        }
        // The clock may be a different one than before.
        for away in self.tree.awaited.values_mut() {
            away.until = away.until.min(now + policy.way());
        }
        self.joins.clear();
        self.settling.clear();
        self.founder = self.founder.map(|(host, _)| (host, now + policy.patience));
        (self.now, self.reviewed.0) = (now, now);
    }

    /// When [`DispatcherMut::on_time`] is to be called.
    pub(super) fn deadline(&self) -> Nanos {
        let silent = self.tree.iter().filter(|(_, m)| !self.is_source(m)).map(|(_, m)| m.heard);
        let joins = self.joins.values().filter(|joining| joining.is_asked()).map(|joining| joining.since);
        let patience = silent.chain(joins).min().map_or(Nanos::MAX, |since| since + self.policy.patience);
        let founder = self.founder.map_or(Nanos::MAX, |(_, until)| until);
        let sent = self.tree.awaited.values().map(|away| away.until).min().unwrap_or(Nanos::MAX);
        match self.ended {
            true => sent,
            false => patience.min(founder).min(sent).min(self.review_due()),
        }
    }

    /// How many children a host has, heads of other clusters among them.
    pub fn serves(&self, host: HostId) -> usize {
        self.tree.children(host).count() + self.below_of(Some(host)).len()
    }

    /// Whether a host was reported as slow so lately that it takes no children.
    pub fn is_slow(&self, host: HostId) -> bool {
        self.tree.get(host).is_some_and(|member| member.slow_until > self.now)
    }

    /// How many more children a host can take; 0 also if it is slow or may have failed.
    pub(super) fn room(&self, host: HostId) -> usize {
        let able = self.tree.get(host).filter(|member| !self.is_slow(host) && !member.suspect);
        able.map_or(0, |member| usize::from(member.capacity).saturating_sub(self.serves(host)))
    }

    /// The delay of a host from the source: the sum of the latencies of all edges, one way. `None`: the host
    /// is not connected to the cluster's head.
    pub fn delay(&self, host: HostId) -> Option<Nanos> {
        let head = self.tree.get(self.tree.head()?)?;
        Some(self.delay_above + head.latency + self.tree.total(host)?)
    }

    /// Whether the policy's bound is shorter than this delay.
    pub fn is_beyond(&self, delay: Nanos) -> bool {
        self.policy.delay_bound.is_some_and(|bound| delay > bound)
    }

    /// Whether a member is the source, without which there is no tree.
    pub(super) fn is_source(&self, member: &ClusterHost) -> bool {
        self.above == Above::Root && member.place == ParentOrder::Outside
    }

    pub(super) fn ticket(&mut self) -> Ticket {
        let mut bytes = [0; 16];
        self.rng.fill_bytes(&mut bytes);
        Ticket(u128::from_be_bytes(bytes))
    }
}

impl DispatcherMut<'_> {
    pub(super) fn on_host(&mut self, from: HostId, message: FromHost) {
        // A sign of life changes nothing that must be stored.
        if message != FromHost::Alive {
            self.mark_changed();
        }
        if self.ended {
            return self.notify(from, ended());
        }
        self.on_heard(from);
        match message {
            FromHost::Join(join) => self.on_join(from, join),
            FromHost::Measured(measured) => self.on_measured(from, measured),
            FromHost::Attached { order, latency } => self.on_attached(from, order, latency),
            FromHost::Lost { order, gone } => self.on_lost(from, order, gone),
            FromHost::Backlog { child } => self.on_backlog(from, child),
            FromHost::Alive => {}
            FromHost::Back { order, attached } => self.on_back(from, order, attached),
            FromHost::Complete => self.tree.change(from, |member| member.progress = Progress::Complete),
            FromHost::Leave => {
                self.lose(from);
                self.remove(from);
                self.notify(from, ToHost::Released);
            }
        }
    }

    /// Notes that a host lives; a host that waits for a parent may have found one.
    fn on_heard(&mut self, host: HostId) {
        let now = self.now;
        let Some(member) = self.tree.get_mut(host) else { return };
        member.heard = now;
        if std::mem::take(&mut member.suspect) {
            self.mark_changed();
            self.retry();
        }
    }

    /// Handles the loss of the connection to a host, which counts as a failure.
    pub(super) fn on_gone(&mut self, host: HostId) {
        // A host that lives comes back soon.
        let until = self.now + Nanos(self.policy.patience.0 / 3).min(self.policy.absence);
        self.all.wait_at_most(host, until);
        if !self.ended {
            self.remove_absent(host, until);
        }
    }

    /// Gives up hosts that were silent for too long.
    pub(super) fn on_time(&mut self) {
        let (now, patience) = (self.now, self.policy.patience);
        for (host, name) in self.tree.wait_no_longer(|_, until| until <= now) {
            self.all.lose(host, name);
        }
        if self.ended {
            return self.settle_debts();
        }
        let before = now - patience;
        let late = |since: Nanos| since <= before && now >= patience;
        self.joins.retain(|_, joining| !(joining.is_asked() && late(joining.since)));
        let silent = self.tree.iter().filter(|(_, m)| !self.is_source(m) && late(m.heard));
        let silent: Vec<(HostId, Nanos)> = silent.map(|(host, member)| (host, member.heard)).collect();
        for (host, heard) in silent {
            // A waiting host that lives is also silent: it begins again.
            self.refuse(host, RefusalCode::Ended, format!("nothing was heard of {host}"));
            self.remove_absent(host, heard + self.policy.absence);
        }
        if self.founder.is_some_and(|(_, until)| until <= now) {
            self.founder = None;
            self.end_if_empty();
        }
        self.settling.retain(|_, until| *until > now);
        self.review_next();
        self.retry();
    }

    fn mark_changed(&mut self) {
        let id = self.id;
        self.all.changed.insert(id);
    }

    pub(super) fn notify(&mut self, host: HostId, message: ToHost) {
        let id = self.id;
        self.mark_changed();
        self.all.notify(id, host, message);
    }

    pub(super) fn refuse(&mut self, host: HostId, code: RefusalCode, text: String) {
        self.notify(host, ToHost::Refused { code, text });
    }
}
