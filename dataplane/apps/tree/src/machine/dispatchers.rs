//! The dispatchers of a tree as one value: each keeps one cluster, and calls the others. The clusters whose state
//! must be stored are known.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};

use groupflow_base::Nanos;
use groupflow_base::Token;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::dispatcher::Dispatcher;
use super::message::{FromHost, RefusalCode, ToHost, TreeJoin};
use super::names::{ClusterId, HostId};
use super::policy::Policy;

/// A message to a host, and the cluster whose dispatcher sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostMessage {
    /// The cluster of the sending dispatcher.
    pub cluster: ClusterId,
    /// The receiving host.
    pub host: HostId,
    /// The message.
    pub message: ToHost,
}

/// The dispatchers of one tree.
#[derive(Debug, Clone)]
pub struct Dispatchers {
    clusters: BTreeMap<ClusterId, Dispatcher>,
    pub(super) root: ClusterId,
    pub(super) policy: Policy,
    pub(super) token: Token,
    pub(super) now: Nanos,
    /// Pairs of clusters: hosts of the second may keep bytes for hosts of the first.
    pub(super) keepers: BTreeSet<(ClusterId, ClusterId)>,
    /// The messages of the present step.
    messages: Vec<HostMessage>,
    changed: BTreeSet<ClusterId>,
    /// Clusters that are removed after the present step.
    finished: Vec<ClusterId>,
    /// The source of seeds, which hosts must not be able to guess from the names of clusters.
    seeds: ChaCha8Rng,
    ended: bool,
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
        self.changed.insert(dispatcher.id());
        self.clusters.insert(dispatcher.id(), dispatcher);
    }

    /// The dispatchers as they were stored, which follow this policy from now on. `None`: the root's is not
    /// among them.
    pub fn resume(
        stored: Vec<Dispatcher>, policy: Policy, token: Token, seed: u64, now: Nanos,
    ) -> Option<Dispatchers> {
        let root = stored.iter().find(|dispatcher| dispatcher.parent().is_none())?.id();
        let mut all = Dispatchers::none(root, policy, token, ChaCha8Rng::seed_from_u64(seed), now);
        for mut dispatcher in stored {
            dispatcher.resume(policy, now);
            all.keepers.extend(dispatcher.keeps_for().map(|lower| (lower, dispatcher.id())));
            all.insert(dispatcher);
        }
        Some(all)
    }

    /// The dispatcher of a cluster.
    pub fn get(&self, cluster: ClusterId) -> Option<&Dispatcher> {
        self.clusters.get(&cluster)
    }

    /// The root cluster, at which every host begins.
    pub fn root(&self) -> ClusterId {
        self.root
    }

    /// All dispatchers, by the name of their cluster.
    pub fn iter(&self) -> impl Iterator<Item = &Dispatcher> {
        self.clusters.values()
    }

    /// Whether the source has left: then the tree no longer exists.
    pub fn has_ended(&self) -> bool {
        self.ended
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
        if let Some(mut dispatcher) = self.change(cluster) {
            dispatcher.on_gone(host);
        }
        self.end_step()
    }

    /// When [`Dispatchers::on_time`] is to be called.
    pub fn deadline(&self) -> Nanos {
        self.clusters.values().map(Dispatcher::deadline).min().unwrap_or(Nanos::MAX)
    }

    /// Handles the passing of time.
    pub fn on_time(&mut self, now: Nanos) -> Vec<HostMessage> {
        self.now = now;
        let due = self.clusters.values().filter(|dispatcher| dispatcher.deadline() <= now);
        for id in due.map(Dispatcher::id).collect::<Vec<_>>() {
            if let Some(mut dispatcher) = self.change(id) {
                dispatcher.on_time();
            }
        }
        self.end_step()
    }

    /// A cluster to be read, or to be changed by something that need not be stored.
    pub(super) fn find(&mut self, id: ClusterId) -> Option<DispatcherMut<'_>> {
        self.clusters.get_mut(&id)?.now = self.now;
        Some(DispatcherMut { all: self, id })
    }

    /// A cluster to be changed.
    pub(super) fn change(&mut self, id: ClusterId) -> Option<DispatcherMut<'_>> {
        let mut found = self.find(id)?;
        found.mark_changed();
        Some(found)
    }

    pub(super) fn mark_changed(&mut self, id: ClusterId) {
        self.changed.insert(id);
    }

    /// Adds a cluster, whose first host will be this one.
    pub(super) fn found(&mut self, id: ClusterId, parent: ClusterId, founder: HostId) {
        let until = self.now + self.policy.patience;
        let dispatcher = Dispatcher::found(id, parent, (founder, until), self.policy, self.seeds.next_u64());
        self.insert(dispatcher);
    }

    pub(super) fn notify(&mut self, cluster: ClusterId, host: HostId, message: ToHost) {
        self.messages.push(HostMessage { cluster, host, message });
    }

    /// Removes a cluster after the present step.
    pub(super) fn finish(&mut self, id: ClusterId) {
        self.finished.push(id);
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
pub(super) fn ended() -> ToHost {
    ToHost::Refused { code: RefusalCode::Ended, text: "the cluster is no more".to_owned() }
}

/// A dispatcher at work: it changes its own cluster, and calls the dispatchers of others.
pub(super) struct DispatcherMut<'a> {
    pub(super) all: &'a mut Dispatchers,
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
