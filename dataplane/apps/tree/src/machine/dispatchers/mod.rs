//! The dispatchers of a tree as one value: each keeps one cluster, and calls the others. The clusters whose
//! state must be stored are known.

pub mod cluster; // the hosts of a cluster as a tree that never has a cycle
mod clusters; // the clusters above and below, and the hosts that serve their heads
mod delays; // delays from the source, their bound, and moves to parents that have become nearer
pub mod dispatcher; // the dispatcher of one cluster: its state and its messages
mod joins; // a host on its way into a cluster
mod moves; // the places of hosts: orders, failures, demotions
mod needs; // hosts that lack bytes of the stream, and bytes that are kept for them

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};

use groupflow_base::{Nanos, Token};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::messages::{ClusterId, FromHost, HostId, RefusalCode, ToHost, TreeJoin};
use dispatcher::{Above, Dispatcher};

/// The direct child of a host that is moved down when the backlog for one of them grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Demotion {
    Never,
    /// The child with the largest total latency, whichever is slow (the paper, section 3.1.2).
    LargestLatency,
    /// The child for which the backlog grows.
    Slowest,
}

/// The rules of a tree, the same for all of its dispatchers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Latency, one way: hosts that do not share a router are in one cluster only if they are nearer than
    /// this.
    pub threshold: Nanos,
    pub max_members: usize,
    /// The most clusters directly below a cluster that may be founded. Clusters whose parent is empty or
    /// cannot serve them are kept up to twice as many; further ones go to the parent, and at the root their
    /// hosts begin again.
    pub max_clusters: usize,
    /// How many hosts a joining host measures at once.
    pub probes: usize,
    /// The most children of a host, whatever it offers.
    pub max_children: u16,
    /// The most hosts that may be joining one cluster.
    pub max_joins: usize,
    /// Time after which a silent host counts as failed, and an idle join as ended.
    pub patience: Nanos,
    pub demotion: Demotion,
    /// How long a silent host is waited for, with the bytes that it needs; from `patience` on, its children
    /// have other parents. Zero: it is not waited for.
    pub absence: Nanos,
    /// Time after a demotion below a host during which no other follows; the moved host takes no children
    /// meanwhile.
    pub settling: Nanos,
    /// Time for which a host that was reported as slow takes no children.
    pub slow_for: Nanos,
    /// The longest delay of a host from the source, one way, as the sum of its edges' latencies; `None`: any.
    pub delay_bound: Option<Nanos>,
    /// Each host measures the latencies to its parent and to other hosts once in this time; zero: never.
    pub review: Nanos,
}

impl Policy {
    /// How long a host is waited for that is on its way to another cluster.
    fn way(&self) -> Nanos {
        self.patience.max(self.absence)
    }
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            threshold: Nanos::from_millis(5),
            max_members: 64,
            max_clusters: 16,
            probes: 16,
            max_children: 8,
            max_joins: 256,
            patience: Nanos::from_millis(3000),
            demotion: Demotion::Slowest,
            absence: Nanos::ZERO,
            settling: Nanos::from_millis(2000),
            slow_for: Nanos::from_millis(30_000),
            delay_bound: None,
            review: Nanos::from_millis(30_000),
        }
    }
}

/// A message to a host, and the cluster whose dispatcher sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostMessage {
    pub cluster: ClusterId,
    pub host: HostId,
    pub message: ToHost,
}

#[derive(Debug, Clone)]
pub struct Dispatchers {
    clusters: BTreeMap<ClusterId, Dispatcher>,
    /// The root cluster, at which every host begins.
    pub root: ClusterId,
    policy: Policy,
    token: Token,
    now: Nanos,
    /// Pairs of clusters: hosts of the second may keep bytes for hosts of the first.
    keepers: BTreeSet<(ClusterId, ClusterId)>,
    /// The messages of the present step.
    messages: Vec<HostMessage>,
    changed: BTreeSet<ClusterId>,
    /// Clusters that are removed after the present step.
    finished: Vec<ClusterId>,
    /// The source of seeds, which hosts must not be able to guess from the names of clusters.
    seeds: ChaCha8Rng,
    /// The source has left: the tree no longer exists.
    pub ended: bool,
}

impl Dispatchers {
    /// A tree with only its source. `seed` determines the names and tickets that are made, and is secret.
    pub fn new(policy: Policy, token: Token, source: &TreeJoin, seed: u64, now: Nanos) -> Dispatchers {
        let mut seeds = ChaCha8Rng::seed_from_u64(seed);
        let root = ClusterId(seeds.next_u64());
        let first = Dispatcher::root(root, policy, source, seeds.next_u64(), now);
        let mut all = Dispatchers::none(root, policy, token, seeds, now);
        all.insert(first);
        all
    }

    fn none(root: ClusterId, policy: Policy, token: Token, seeds: ChaCha8Rng, now: Nanos) -> Dispatchers {
        Dispatchers {
            clusters: BTreeMap::new(),
            root,
            policy,
            token,
            now,
            keepers: BTreeSet::new(),
            messages: Vec::new(),
            changed: BTreeSet::new(),
            finished: Vec::new(),
            seeds,
            ended: false,
        }
    }

    fn insert(&mut self, dispatcher: Dispatcher) {
        self.changed.insert(dispatcher.id);
        self.clusters.insert(dispatcher.id, dispatcher);
    }

    /// The dispatchers as they were stored, which follow this policy from now on. `None`: the root's is not
    /// among them.
    pub fn resume(
        stored: Vec<Dispatcher>, policy: Policy, token: Token, seed: u64, now: Nanos,
    ) -> Option<Dispatchers> {
        let root = stored.iter().find(|dispatcher| dispatcher.parent().is_none())?.id;
        let mut all = Dispatchers::none(root, policy, token, ChaCha8Rng::seed_from_u64(seed), now);
        for mut dispatcher in stored {
            dispatcher.resume(policy, now);
            all.keepers.extend(dispatcher.tree.holds.iter().map(|hold| (hold.cluster, dispatcher.id)));
            all.insert(dispatcher);
        }
        Some(all)
    }

    pub fn get(&self, cluster: ClusterId) -> Option<&Dispatcher> {
        self.clusters.get(&cluster)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Dispatcher> {
        self.clusters.values()
    }

    /// Clusters that changed since the last call, each with its dispatcher (`None`: the cluster no longer
    /// exists). They must be stored before hosts get the messages of this step.
    pub fn take_changed(&mut self) -> Vec<(ClusterId, Option<&Dispatcher>)> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().map(|id| (id, self.clusters.get(&id))).collect()
    }

    /// Handles a message of a host to a cluster's dispatcher. The host's connection authenticates it.
    pub fn on_host(
        &mut self, now: Nanos, cluster: ClusterId, from: HostId, message: FromHost,
    ) -> Vec<HostMessage> {
        self.now = now;
        // The host may be a member of no cluster at the moment.
        match message {
            FromHost::Complete => self.find_again(from),
            FromHost::Leave => self.let_go(from),
            _ => {}
        }
        match self.find(cluster) {
            Some(mut dispatcher) => dispatcher.on_host(from, message),
            None => self.notify(cluster, from, ended()),
        }
        self.end_step()
    }

    /// Handles the loss of the connection to a host of that cluster, which counts as a failure.
    pub fn on_gone(&mut self, now: Nanos, cluster: ClusterId, host: HostId) -> Vec<HostMessage> {
        self.now = now;
        self.tell(cluster, |dispatcher| dispatcher.on_gone(host));
        self.end_step()
    }

    /// When [`Dispatchers::on_time`] is to be called.
    pub fn deadline(&self) -> Nanos {
        self.clusters.values().map(Dispatcher::deadline).min().unwrap_or(Nanos::MAX)
    }

    pub fn on_time(&mut self, now: Nanos) -> Vec<HostMessage> {
        self.now = now;
        let due = self.clusters.values().filter(|dispatcher| dispatcher.deadline() <= now);
        for id in due.map(|dispatcher| dispatcher.id).collect::<Vec<_>>() {
            self.tell(id, |dispatcher| dispatcher.on_time());
        }
        self.end_step()
    }

    /// A cluster to be read, or to be changed by something that need not be stored.
    fn find(&mut self, id: ClusterId) -> Option<DispatcherMut<'_>> {
        self.clusters.get_mut(&id)?.now = self.now;
        Some(DispatcherMut { all: self, id })
    }

    /// A cluster to be changed.
    fn change(&mut self, id: ClusterId) -> Option<DispatcherMut<'_>> {
        self.changed.insert(self.get(id)?.id);
        self.find(id)
    }

    fn tell(&mut self, id: ClusterId, what: impl FnOnce(&mut DispatcherMut<'_>)) {
        if let Some(mut found) = self.change(id) {
            what(&mut found);
        }
    }

    /// Adds a cluster, whose first host will be this one.
    fn found(&mut self, id: ClusterId, parent: ClusterId, founder: HostId) {
        let until = self.now + self.policy.patience;
        let seed = self.seeds.next_u64();
        self.insert(Dispatcher::new(id, self.policy, Above::Asked(parent), Some((founder, until)), seed));
    }

    fn notify(&mut self, cluster: ClusterId, host: HostId, message: ToHost) {
        self.messages.push(HostMessage { cluster, host, message });
    }

    fn end_step(&mut self) -> Vec<HostMessage> {
        for id in std::mem::take(&mut self.finished) {
            self.clusters.remove(&id);
            self.changed.insert(id);
            self.ended |= id == self.root;
        }
        std::mem::take(&mut self.messages)
    }
}

/// The refusal of a host whose cluster no longer exists.
fn ended() -> ToHost {
    ToHost::Refused { code: RefusalCode::Ended, text: "the cluster is no more".to_owned() }
}

/// A dispatcher at work: it changes its own cluster, and calls the dispatchers of others.
struct DispatcherMut<'a> {
    all: &'a mut Dispatchers,
    id: ClusterId,
}

impl Deref for DispatcherMut<'_> {
    type Target = Dispatcher;

    fn deref(&self) -> &Dispatcher {
        self.all.clusters.get(&self.id).expect("no cluster is removed within a step")
    }
}

impl DerefMut for DispatcherMut<'_> {
    fn deref_mut(&mut self) -> &mut Dispatcher {
        self.all.clusters.get_mut(&self.id).expect("no cluster is removed within a step")
    }
}
