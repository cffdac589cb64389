//! The dispatcher of one cluster: it takes hosts in, and moves hosts whose parent is gone or that are slow.
//!
//! | module | subject |
//! |---|---|
//! | [`joins`] | a host on its way into a cluster |
//! | [`moves`] | the places of hosts: orders, failures, demotions |
//! | [`clusters`] | the clusters above and below, and how they are added and removed |
//! | [`heads`] | which host serves the head of a cluster below |
//! | [`behind`] | hosts that need bytes which the hosts around them no longer have |
//! | [`delays`] | delays from the source, their bound, and moves to parents that have become nearer |
//! | [`debts`] | bytes kept for departed hosts of other clusters |
//! | [`members`] | hosts that lack bytes of the stream, and hosts that are away |

mod behind;
mod clusters;
mod debts;
mod delays;
mod heads;
mod joins;
mod members;
mod moves;

use std::collections::BTreeMap;

use groupflow_base::Nanos;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::cluster::{Cluster, ClusterHost, Hold, ParentOrder, Progress};
use super::dispatchers::{ended, DispatcherMut, Dispatchers};
use super::message::{FromHost, RefusalCode, ToHost, TreeJoin};
use super::names::{ClusterId, HostId, Peer, RouterId, Ticket};
use super::policy::{Demotion, Policy};

pub use clusters::Below;
pub(super) use delays::Review;
use joins::Joining;
pub use members::Members;
use moves::Rank;

/// The host above to which the head of a cluster is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Above {
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
    id: ClusterId,
    #[serde(skip)]
    policy: Policy,
    above: Above,
    founder: Option<(HostId, Nanos)>,
    tree: Cluster,
    joins: BTreeMap<HostId, Joining>,
    below: BTreeMap<ClusterId, Below>,
    /// Moves that would make a cycle before other orders are carried out.
    deferred: BTreeMap<HostId, HostId>,
    /// Hosts below which no other host is demoted until the given time.
    settling: BTreeMap<HostId, Nanos>,
    #[serde(skip)]
    pub(super) now: Nanos,
    /// The delay from the source of the host above to which the head is connected.
    delay_above: Nanos,
    /// When a host was last asked to measure again, and which.
    reviewed: (Nanos, HostId),
    /// Since the head has its present place, all orders of the cluster's hosts were carried out at some time.
    settled: bool,
    /// The host above that lacks the head's next bytes.
    tried_above: Option<HostId>,
    rng: ChaCha8Rng,
    /// In the root cluster: the names of hosts that left or died before they had all of the stream.
    #[serde(default)]
    lost: BTreeMap<HostId, String>,
    /// The cluster's hosts are gone, and the clusters below are handed over.
    ended: bool,
}

impl Dispatcher {
    /// The dispatcher of the root cluster, whose head is the source.
    pub(super) fn root(
        id: ClusterId, policy: Policy, source: &TreeJoin, seed: u64, now: Nanos,
    ) -> Dispatcher {
        let mut dispatcher = Dispatcher::new(id, policy, Above::Root, seed);
        let mut head = ClusterHost::new(source, now);
        head.capacity = head.capacity.min(policy.max_children);
        (head.place, head.attached) = (ParentOrder::Outside, true);
        dispatcher.tree.add(head);
        dispatcher
    }

    /// The dispatcher of a cluster whose founder is expected until the given time.
    pub(super) fn found(
        id: ClusterId, parent: ClusterId, founder: (HostId, Nanos), policy: Policy, seed: u64,
    ) -> Dispatcher {
        let dispatcher = Dispatcher::new(id, policy, Above::Asked(parent), seed);
        Dispatcher { founder: Some(founder), ..dispatcher }
    }

    fn new(id: ClusterId, policy: Policy, above: Above, seed: u64) -> Dispatcher {
        Dispatcher {
            id,
            policy,
            above,
            founder: None,
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

    /// The dispatcher's cluster.
    pub fn id(&self) -> ClusterId {
        self.id
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

    /// Whether the cluster's hosts are gone, and it exists only for those that may need bytes kept for them.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The cluster's hosts.
    pub fn tree(&self) -> &Cluster {
        &self.tree
    }

    /// The clusters below this one.
    pub fn below(&self) -> impl Iterator<Item = (ClusterId, &Below)> {
        self.below.iter().map(|(&id, below)| (id, below))
    }

    /// How many hosts are joining.
    pub fn joining(&self) -> usize {
        self.joins.len()
    }

    /// The head, or the host that will be the head.
    fn head_or_founder(&self) -> Option<HostId> {
        self.tree.head().or(self.founder.map(|(founder, _)| founder))
    }

    /// Continues from a stored state: known hosts are given as long to be heard of as if they had just been
    /// heard of. Hosts then say [`FromHost::Back`].
    pub(super) fn resume(&mut self, policy: Policy, now: Nanos) {
        self.policy = policy;
        for host in self.tree.hosts() {
            if let Some(member) = self.tree.get_mut(host) {
                (member.heard, member.slow_until) = (now, Nanos::ZERO);
                member.review.rest = Nanos::ZERO;
                // An answer may be on its way that the stored state does not know to be asked for.
                member.review.asked = member.review.asked.max(1);
            }
        }
        // The clock may be a different one than before.
        self.tree.change_waits(|_, until| until.min(now + policy.way()));
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
        let sent = self.tree.waits_until().unwrap_or(Nanos::MAX);
        match self.ended {
            true => sent,
            false => patience.min(founder).min(sent).min(self.review_due()),
        }
    }

    /// Whether a member is the source, without which there is no tree.
    fn is_source(&self, member: &ClusterHost) -> bool {
        self.above == Above::Root && member.place == ParentOrder::Outside
    }

    fn ticket(&mut self) -> Ticket {
        let mut bytes = [0; Ticket::BYTES];
        self.rng.fill_bytes(&mut bytes);
        Ticket(bytes)
    }
}

impl DispatcherMut<'_> {
    /// Handles a message of a host.
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
            FromHost::Complete => {
                let member = self.tree.get_mut(from);
                member.into_iter().for_each(|member| member.progress = Progress::Complete);
            }
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
        let before = now.saturating_sub(patience);
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

    pub(in crate::machine) fn mark_changed(&mut self) {
        let id = self.id;
        self.all.mark_changed(id);
    }

    fn notify(&mut self, host: HostId, message: ToHost) {
        let id = self.id;
        self.all.mark_changed(id);
        self.all.notify(id, host, message);
    }

    fn refuse(&mut self, host: HostId, code: RefusalCode, text: String) {
        self.notify(host, ToHost::Refused { code, text });
    }
}
