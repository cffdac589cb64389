//! The dispatchers of a tree: messages among them are delivered at once, and the dispatchers whose state must
//! be stored are known.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use groupflow_base::Nanos;
use groupflow_base::Token;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::dispatcher::Dispatcher;
use super::message::{Between, DispatcherAction, FromHost, RefusalCode, ToHost, TreeJoin};
use super::names::{ClusterId, HostId};
use super::policy::Policy;

/// A message to a host, and the cluster whose dispatcher sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostMessage {
    /// The cluster of the sending dispatcher.
    pub cluster: ClusterId,
    /// The host that is told.
    pub host: HostId,
    /// The message.
    pub message: ToHost,
}

/// The dispatchers of one tree. Between two calls no message among them is under way, so that states stored
/// then are consistent.
#[derive(Debug, Clone)]
pub struct Dispatchers {
    clusters: BTreeMap<ClusterId, Dispatcher>,
    root: ClusterId,
    policy: Policy,
    token: Token,
    changed: BTreeSet<ClusterId>,
    /// The source of seeds, which hosts must not be able to guess from the names of clusters.
    seeds: ChaCha8Rng,
    ended: bool,
}

impl Dispatchers {
    /// A tree with only its source. `seed` determines the names and tickets that are made, and is secret.
    pub fn new(policy: Policy, token: Token, source: &TreeJoin, seed: u64, now: Nanos) -> Dispatchers {
        let mut seeds = ChaCha8Rng::seed_from_u64(seed);
        let root = ClusterId(seeds.next_u64());
        let first = Dispatcher::root(root, policy, token.clone(), source, seeds.next_u64(), now);
        let mut all = Dispatchers::none(root, policy, token, seeds);
        all.insert(first);
        all
    }

    fn none(root: ClusterId, policy: Policy, token: Token, seeds: ChaCha8Rng) -> Dispatchers {
        let (clusters, changed) = (BTreeMap::new(), BTreeSet::new());
        Dispatchers { clusters, root, policy, token, changed, seeds, ended: false }
    }

    fn insert(&mut self, dispatcher: Dispatcher) {
        self.changed.insert(dispatcher.id());
        self.clusters.insert(dispatcher.id(), dispatcher);
    }

    /// The dispatchers as they were stored. `None`: the root's is not among them.
    pub fn resume(
        stored: Vec<Dispatcher>, policy: Policy, token: Token, seed: u64, now: Nanos,
    ) -> Option<Dispatchers> {
        let root = stored.iter().find(|dispatcher| dispatcher.parent().is_none())?.id();
        let mut all = Dispatchers::none(root, policy, token, ChaCha8Rng::seed_from_u64(seed));
        for mut dispatcher in stored {
            dispatcher.resume(now);
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

    /// Handles a message of a host to a cluster's dispatcher.
    pub fn on_host(
        &mut self, now: Nanos, cluster: ClusterId, from: HostId, message: FromHost,
    ) -> Vec<HostMessage> {
        match self.clusters.get_mut(&cluster) {
            Some(dispatcher) => {
                // A sign of life changes nothing that must be stored.
                if message != FromHost::Alive {
                    self.changed.insert(cluster);
                }
                dispatcher.on_host(now, from, message);
                self.carry(now, cluster)
            }
            None => {
                let message =
                    ToHost::Refused { code: RefusalCode::Ended, text: "the cluster is no more".to_owned() };
                vec![HostMessage { cluster, host: from, message }]
            }
        }
    }

    /// Handles the loss of the connection to a host of that cluster.
    pub fn on_gone(&mut self, now: Nanos, cluster: ClusterId, host: HostId) -> Vec<HostMessage> {
        if let Some(dispatcher) = self.clusters.get_mut(&cluster) {
            dispatcher.on_gone(now, host);
            self.changed.insert(cluster);
        }
        self.carry(now, cluster)
    }

    /// When [`Dispatchers::on_time`] is to be called.
    pub fn deadline(&self) -> Nanos {
        self.clusters.values().map(Dispatcher::deadline).min().unwrap_or(Nanos::MAX)
    }

    /// Handles the passing of time.
    pub fn on_time(&mut self, now: Nanos) -> Vec<HostMessage> {
        let due = self.clusters.values().filter(|dispatcher| dispatcher.deadline() <= now);
        let mut messages = Vec::new();
        for id in due.map(Dispatcher::id).collect::<Vec<_>>() {
            if let Some(dispatcher) = self.clusters.get_mut(&id) {
                dispatcher.on_time(now);
                self.changed.insert(id);
                messages.extend(self.carry(now, id));
            }
        }
        messages
    }

    /// Delivers messages among dispatchers until there are none left.
    fn carry(&mut self, now: Nanos, first: ClusterId) -> Vec<HostMessage> {
        let (mut messages, mut queue) = (Vec::new(), VecDeque::new());
        self.collect(now, first, &mut messages, &mut queue);
        while let Some((from, to, message)) = queue.pop_front() {
            let sender = self.clusters.get(&from).filter(|sender| !sender.has_ended());
            let to = if message.is_to_parent() { sender.and_then(Dispatcher::parent) } else { Some(to) };
            let Some(to) = to else { continue };
            let is_free = matches!(message, Between::Free(_));
            match self.clusters.get_mut(&to).filter(|dispatcher| is_free || !dispatcher.has_ended()) {
                Some(dispatcher) => {
                    dispatcher.on_cluster(now, from, message);
                    self.changed.insert(to);
                    self.collect(now, to, &mut messages, &mut queue);
                }
                None => {
                    if let Some(sender) = self.clusters.get_mut(&from) {
                        sender.on_undelivered(now, to, &message);
                        self.collect(now, from, &mut messages, &mut queue);
                    }
                }
            }
        }
        messages
    }

    /// The cluster, or the nearest above it whose hosts are not gone.
    fn living(&self, cluster: ClusterId) -> ClusterId {
        let mut at = cluster;
        while let Some(above) = self.clusters.get(&at).filter(|each| each.has_ended()) {
            at = above.parent().unwrap_or(self.root);
            if at == self.root {
                break;
            }
        }
        at
    }

    /// Carries out the actions of a dispatcher.
    fn collect(
        &mut self, now: Nanos, id: ClusterId, messages: &mut Vec<HostMessage>,
        queue: &mut VecDeque<(ClusterId, ClusterId, Between)>,
    ) {
        while let Some(output) = self.clusters.get_mut(&id).and_then(Dispatcher::poll) {
            self.changed.insert(id);
            match output {
                DispatcherAction::Host(host, message) => {
                    messages.push(HostMessage { cluster: id, host, message })
                }
                DispatcherAction::Cluster(to, message) => queue.push_back((id, to, message)),
                DispatcherAction::Found(founding) => {
                    let seed = self.seeds.next_u64();
                    let dispatcher = Dispatcher::found(&founding, self.policy, self.token.clone(), seed, now);
                    self.insert(dispatcher);
                }
                DispatcherAction::Move { cluster, below, to, may_pass_on } => {
                    let to = self.living(to);
                    if let Some(moved) = self.clusters.get_mut(&cluster) {
                        moved.on_moved(now, to);
                        self.collect(now, cluster, messages, queue);
                    }
                    if let Some(taker) = self.clusters.get_mut(&to) {
                        taker.on_adopt(now, cluster, below, may_pass_on);
                        self.collect(now, to, messages, queue);
                    }
                }
                DispatcherAction::Vanished(clusters) => {
                    let Some(parent) = self.clusters.get(&id).and_then(Dispatcher::parent) else { continue };
                    let parent = self.living(parent);
                    for (cluster, _) in &clusters {
                        if let Some(moved) = self.clusters.get_mut(cluster) {
                            moved.on_moved(now, parent);
                            self.collect(now, *cluster, messages, queue);
                        }
                    }
                    if let Some(taker) = self.clusters.get_mut(&parent) {
                        taker.on_vanished(now, id, clusters);
                        self.collect(now, parent, messages, queue);
                    }
                }
                DispatcherAction::Ended => {
                    self.clusters.remove(&id);
                    self.ended |= id == self.root;
                }
            }
        }
    }
}
