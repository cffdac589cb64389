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

mod behind;
mod clusters;
mod debts;
mod delays;
mod heads;
mod joins;
mod moves;

use std::collections::{BTreeMap, VecDeque};

use groupflow_base::{Nanos, Token};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::cluster::{Cluster, ClusterHost, Hold, ParentOrder};
use super::message::{Between, DispatcherAction, Founding, FromHost, RefusalCode, ToHost, TreeJoin};
use super::names::{ClusterId, HostId, Peer, RouterId, Ticket};
use super::policy::{Demotion, Policy};

pub use clusters::Below;
use debts::Outside;
pub(super) use delays::Review;
use joins::Joining;
use moves::Rank;

/// The host above to which the head of a cluster is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Above {
    /// None: this is the root cluster, and the head is the source.
    Root,
    /// The parent cluster has not answered yet, or its answer is out of date.
    Asked(ClusterId),
    /// A host of the parent's cluster.
    Attached(ClusterId, Peer, Ticket),
}

/// The dispatcher of one cluster. It is a plain value: a copy of it is what is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Dispatcher {
    id: ClusterId,
    root: ClusterId,
    policy: Policy,
    token: Token,
    above: Above,
    founder: Option<(HostId, Nanos)>,
    tree: Cluster,
    joins: BTreeMap<HostId, Joining>,
    below: BTreeMap<ClusterId, Below>,
    /// Moves that would make a cycle before other orders are carried out.
    deferred: BTreeMap<HostId, HostId>,
    /// Hosts below which no other host is demoted until the given time.
    settling: BTreeMap<HostId, Nanos>,
    now: Nanos,
    /// The delay from the source of the host above to which the head is connected.
    #[serde(default)]
    delay_above: Nanos,
    /// When a host was last asked to measure again, and which.
    #[serde(default)]
    reviewed: (Nanos, HostId),
    /// The last [`Between::Attach`] that the parent knows to be carried out.
    reported: Option<Ticket>,
    /// The [`Between::Attach`] by which the head came to a host that lacks its next bytes.
    tried: Option<Ticket>,
    /// The hosts above that may keep bytes for hosts of this cluster.
    outside: Vec<Outside>,
    rng: ChaCha8Rng,
    #[serde(skip)]
    out: VecDeque<DispatcherAction>,
    /// The cluster's hosts are gone, and the clusters below are handed over.
    ended: bool,
    /// No host needs bytes kept for this cluster's hosts any more: it has ended, and (`true`) has said so.
    over: Option<bool>,
}

impl Dispatcher {
    /// The dispatcher of the root cluster, whose head is the source.
    pub fn root(
        id: ClusterId, policy: Policy, token: Token, source: &TreeJoin, seed: u64, now: Nanos,
    ) -> Dispatcher {
        let mut dispatcher = Dispatcher::new((id, id), policy, token, Above::Root, seed);
        let capacity = source.capacity.min(policy.max_children);
        let mut head = ClusterHost::new(source.peer, source.router, capacity, now);
        (head.up, head.attached) = (ParentOrder::Outside, true);
        dispatcher.tree.add(head);
        dispatcher
    }

    /// The dispatcher of a cluster that is being founded.
    pub fn found(founding: &Founding, policy: Policy, token: Token, seed: u64, now: Nanos) -> Dispatcher {
        let above = match founding.attach {
            Some((peer, ticket)) => Above::Attached(founding.parent, peer, ticket),
            None => Above::Asked(founding.parent),
        };
        let mut dispatcher = Dispatcher::new((founding.cluster, founding.root), policy, token, above, seed);
        dispatcher.founder = Some((founding.founder, now + policy.patience));
        dispatcher.delay_above = founding.delay;
        dispatcher.note_outside(founding.founder);
        dispatcher
    }

    fn new(
        (id, root): (ClusterId, ClusterId), policy: Policy, token: Token, above: Above, seed: u64,
    ) -> Dispatcher {
        Dispatcher {
            id,
            root,
            policy,
            token,
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
            reported: None,
            tried: None,
            outside: Vec::new(),
            rng: ChaCha8Rng::seed_from_u64(seed),
            out: VecDeque::new(),
            ended: false,
            over: None,
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

    /// The host to which the head is connected, as far as the parent's dispatcher has said.
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

    /// The next action for the caller.
    pub fn poll(&mut self) -> Option<DispatcherAction> {
        let last = || (self.over == Some(false)).then_some(DispatcherAction::Ended);
        let next = self.out.pop_front().or_else(last);
        if next == Some(DispatcherAction::Ended) {
            self.over = Some(true);
        }
        next
    }

    /// Handles a message of a host, which the host's connection authenticates.
    pub fn on_host(&mut self, now: Nanos, from: HostId, message: FromHost) {
        self.now = now;
        if self.ended {
            return self.refuse(from, RefusalCode::Ended, "the cluster is no more".to_owned());
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
            FromHost::Leave => {
                self.remove(from);
                self.notify(from, ToHost::Released);
            }
        }
    }

    /// Notes that a host lives; a host that waits for a parent may have found one.
    fn on_heard(&mut self, host: HostId) {
        let Some(member) = self.tree.get_mut(host) else { return };
        member.heard = self.now;
        if std::mem::take(&mut member.suspect) {
            self.retry();
        }
    }

    /// Continues from a stored state: known hosts are given as long to be heard of as if they had just been
    /// heard of. Hosts then say [`FromHost::Back`].
    pub fn resume(&mut self, now: Nanos) {
        for host in self.tree.hosts() {
            if let Some(member) = self.tree.get_mut(host) {
                (member.heard, member.slow_until) = (now, Nanos::ZERO);
                member.review.rest = Nanos::ZERO;
                // An answer may be on its way that the stored state does not know to be asked for.
                member.review.asked = member.review.asked.max(1);
            }
        }
        // The clock may be a different one than before.
        self.tree.wait_at_most(now + self.policy.patience);
        self.joins.clear();
        self.settling.clear();
        self.founder = self.founder.map(|(host, _)| (host, now + self.policy.patience));
        (self.now, self.reviewed.0) = (now, now);
    }

    /// Handles the loss of the connection to a host, which counts as a failure.
    pub fn on_gone(&mut self, now: Nanos, host: HostId) {
        self.now = now;
        self.tree.wait_no_longer(|sent, _| sent == host);
        match self.ended {
            false => self.remove(host),
            true => self.settle_debts(),
        }
    }

    /// Handles a message of another dispatcher; only [`Between::Free`] counts once this cluster's hosts are gone.
    pub fn on_cluster(&mut self, now: Nanos, from: ClusterId, message: Between) {
        self.now = now;
        match message {
            Between::Head { head, behind, tried } => self.on_head(from, head, behind, tried),
            Between::Gone(tried) => self.on_gone_above(from, tried),
            Between::Attach { to, ticket, head, delay } => self.on_attach(from, (to, delay), ticket, head),
            Between::Delay(delay) => self.on_delay_above(from, delay),
            Between::Review => self.probe_head(from),
            Between::Probe(others) => self.on_probe(from, others),
            Between::Measured(measured) => self.on_head_measured(from, &measured),
            Between::Settled(ticket) => self.on_settled(from, ticket),
            Between::HeadSlow => self.on_head_slow(from),
            Between::Lower => self.on_lower(from),
            Between::Free(ticket) => self.on_free(from, ticket),
            Between::Dissolve => self.on_dissolve(),
        }
    }

    /// Handles a message to a cluster whose hosts are gone.
    pub fn on_undelivered(&mut self, now: Nanos, to: ClusterId, message: &Between) {
        self.now = now;
        if let Between::Attach { ticket, .. } = message {
            self.on_free(to, *ticket);
        }
    }

    /// When [`Dispatcher::on_time`] is to be called.
    pub fn deadline(&self) -> Nanos {
        let silent = self.tree.iter().filter(|(_, m)| !self.is_source(m)).map(|(_, m)| m.heard);
        let joins = self.joins.values().filter(|joining| joining.is_asked()).map(|joining| joining.since);
        let patience = silent.chain(joins).min().map_or(Nanos::MAX, |since| since + self.policy.patience);
        let founder = self.founder.map_or(Nanos::MAX, |(_, until)| until);
        let sent = self.tree.waits_until().unwrap_or(Nanos::MAX);
        match (self.over, self.ended) {
            (Some(_), _) => Nanos::MAX,
            (None, true) => sent,
            (None, false) => patience.min(founder).min(sent).min(self.review_due()),
        }
    }

    /// Gives up hosts that were silent for too long.
    pub fn on_time(&mut self, now: Nanos) {
        self.now = now;
        self.tree.wait_no_longer(|_, until| until <= now);
        if self.ended {
            return self.settle_debts();
        }
        let before = now.saturating_sub(self.policy.patience);
        let late = |since: Nanos| since <= before && now >= self.policy.patience;
        self.joins.retain(|_, joining| !(joining.is_asked() && late(joining.since)));
        let silent = self.tree.iter().filter(|(_, m)| !self.is_source(m) && late(m.heard));
        let silent: Vec<HostId> = silent.map(|(host, _)| host).collect();
        for host in silent {
            // A waiting host that lives is also silent: it begins again.
            self.refuse(host, RefusalCode::Ended, format!("nothing was heard of {host}"));
            self.remove(host);
        }
        if self.founder.is_some_and(|(_, until)| until <= now) {
            self.founder = None;
            self.end_if_empty();
        }
        self.settling.retain(|_, until| *until > now);
        self.review_next();
        self.retry();
    }

    /// Whether a member is the source, without which there is no tree.
    fn is_source(&self, member: &ClusterHost) -> bool {
        self.above == Above::Root && member.up == ParentOrder::Outside
    }

    fn notify(&mut self, host: HostId, message: ToHost) {
        self.out.push_back(DispatcherAction::Host(host, message));
    }

    fn send(&mut self, to: ClusterId, message: Between) {
        self.out.push_back(DispatcherAction::Cluster(to, message));
    }

    fn refuse(&mut self, host: HostId, code: RefusalCode, text: String) {
        self.notify(host, ToHost::Refused { code, text });
    }

    fn ticket(&mut self) -> Ticket {
        let mut bytes = [0; Ticket::BYTES];
        self.rng.fill_bytes(&mut bytes);
        Ticket(bytes)
    }
}
