//! The dispatchers of a tree that one process runs, either all or some: messages among them are delivered at
//! once, messages to dispatchers of other processes become mail, and the dispatchers whose state must be
//! stored are known.

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

/// A message from a dispatcher of this process to one of another process. Messages of one pair must arrive in
/// order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// The cluster of the sending dispatcher.
    pub from: ClusterId,
    /// The cluster of the receiving dispatcher.
    pub to: ClusterId,
    /// The message.
    pub message: Between,
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
    /// Mail for other processes, if these may not be all dispatchers of the tree.
    mail: Option<Vec<Mail>>,
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

    /// A part of a tree, without dispatchers at first; [`Dispatchers::adopt`] adds them.
    pub fn part(root: ClusterId, policy: Policy, token: Token, seed: u64) -> Dispatchers {
        Dispatchers::none(root, policy, token, ChaCha8Rng::seed_from_u64(seed)).in_part()
    }

    /// Allows that other processes run dispatchers of this tree: a message to one that is not here becomes
    /// mail.
    pub fn in_part(self) -> Dispatchers {
        Dispatchers { mail: Some(Vec::new()), ..self }
    }

    fn none(root: ClusterId, policy: Policy, token: Token, seeds: ChaCha8Rng) -> Dispatchers {
        let (clusters, changed) = (BTreeMap::new(), BTreeSet::new());
        Dispatchers { clusters, root, policy, token, changed, seeds, mail: None, ended: false }
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
        stored.into_iter().for_each(|each| all.adopt(now, each));
        Some(all)
    }

    /// Adds a dispatcher that was stored, to be run here from now on.
    pub fn adopt(&mut self, now: Nanos, mut stored: Dispatcher) {
        stored.resume(now);
        self.insert(stored);
    }

    /// Removes a dispatcher, which another process runs from now on from its stored state.
    pub fn let_go_of(&mut self, cluster: ClusterId) {
        self.clusters.remove(&cluster);
        self.changed.remove(&cluster);
    }

    /// Whether that cluster's dispatcher is here.
    pub fn has(&self, cluster: ClusterId) -> bool {
        self.clusters.contains_key(&cluster)
    }

    /// The root cluster, at which every host begins.
    pub fn root(&self) -> ClusterId {
        self.root
    }

    /// All dispatchers, by the name of their cluster.
    pub fn iter(&self) -> impl Iterator<Item = &Dispatcher> {
        self.clusters.values()
    }

    /// Whether the source has left, as the root's dispatcher here said: then the tree no longer exists.
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
                self.carry(now, [cluster])
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
        self.carry(now, [cluster])
    }

    /// Mail for other processes, to be stored together with [`Dispatchers::take_changed`].
    pub fn take_mail(&mut self) -> Vec<Mail> {
        self.mail.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Handles mail for a dispatcher that is here.
    pub fn on_mail(&mut self, now: Nanos, Mail { from, to, message }: Mail) -> Vec<HostMessage> {
        if let Some(dispatcher) = self.clusters.get_mut(&to) {
            dispatcher.on_cluster(now, from, message);
            self.changed.insert(to);
        }
        self.carry(now, [to])
    }

    /// Handles mail of a dispatcher here that came back because its recipient no longer exists.
    pub fn on_returned(&mut self, now: Nanos, Mail { from, to, message }: Mail) -> Vec<HostMessage> {
        if let Some(dispatcher) = self.clusters.get_mut(&from) {
            dispatcher.on_undelivered(now, to, message);
            self.changed.insert(from);
        }
        self.carry(now, [from])
    }

    /// When [`Dispatchers::on_time`] is to be called.
    pub fn deadline(&self) -> Nanos {
        self.clusters.values().map(Dispatcher::deadline).min().unwrap_or(Nanos::MAX)
    }

    /// Handles the passing of time.
    pub fn on_time(&mut self, now: Nanos) -> Vec<HostMessage> {
        let due = self.clusters.values_mut().filter(|dispatcher| dispatcher.deadline() <= now);
        let mut woken = Vec::new();
        for dispatcher in due {
            dispatcher.on_time(now);
            woken.push(dispatcher.id());
            self.changed.insert(dispatcher.id());
        }
        self.carry(now, woken)
    }

    /// Delivers messages among dispatchers until there are none left.
    fn carry(&mut self, now: Nanos, first: impl IntoIterator<Item = ClusterId>) -> Vec<HostMessage> {
        let (mut told, mut queue) = (Vec::new(), VecDeque::new());
        for id in first {
            self.collect(now, id, &mut told, &mut queue);
        }
        while let Some((from, to, message)) = queue.pop_front() {
            match self.clusters.get_mut(&to) {
                Some(dispatcher) => {
                    dispatcher.on_cluster(now, from, message);
                    self.changed.insert(to);
                }
                None => match &mut self.mail {
                    Some(mail) => mail.push(Mail { from, to, message }),
                    None => {
                        if let Some(sender) = self.clusters.get_mut(&from) {
                            sender.on_undelivered(now, to, message);
                        }
                        self.collect(now, from, &mut told, &mut queue);
                    }
                },
            }
            self.collect(now, to, &mut told, &mut queue);
        }
        told
    }

    fn collect(
        &mut self, now: Nanos, id: ClusterId, told: &mut Vec<HostMessage>,
        queue: &mut VecDeque<(ClusterId, ClusterId, Between)>,
    ) {
        while let Some(output) = self.clusters.get_mut(&id).and_then(Dispatcher::poll) {
            self.changed.insert(id);
            match output {
                DispatcherAction::Host(host, message) => {
                    told.push(HostMessage { cluster: id, host, message })
                }
                DispatcherAction::Cluster(to, message) => queue.push_back((id, to, message)),
                DispatcherAction::Found(founding) => {
                    let seed = self.seeds.next_u64();
                    let dispatcher = Dispatcher::found(&founding, self.policy, self.token.clone(), seed, now);
                    self.insert(dispatcher);
                }
                DispatcherAction::Ended => {
                    self.clusters.remove(&id);
                    self.ended |= id == self.root;
                }
            }
        }
    }
}
