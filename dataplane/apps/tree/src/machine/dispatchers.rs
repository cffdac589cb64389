//! The dispatchers of a tree that one process runs, all of them or some: what they tell each other is carried at once, what
//! they tell those of other processes is mail, and what is to be stored is known.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use groupflow_base::Nanos;
use groupflow_base::Token;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::dispatcher::Dispatcher;
use super::message::{Between, FromHost, Join, Output, RefusalCode, ToHost};
use super::names::{ClusterId, HostId};
use super::policy::Policy;

/// What a host is to be told, and by which cluster's dispatcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Whose dispatcher.
    pub cluster: ClusterId,
    /// Whom.
    pub host: HostId,
    /// What.
    pub message: ToHost,
}

/// What a dispatcher here tells one that is not. Each pair's is to come in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// Whose it is.
    pub from: ClusterId,
    /// Whom.
    pub to: ClusterId,
    /// What.
    pub message: Between,
}

/// The dispatchers of one tree. Between two calls nothing is under way among them: what is stored then fits together.
#[derive(Debug, Clone)]
pub struct Dispatchers {
    clusters: BTreeMap<ClusterId, Dispatcher>,
    root: ClusterId,
    policy: Policy,
    token: Token,
    changed: BTreeSet<ClusterId>,
    /// Of seeds, which hosts must not be able to guess from the names of clusters.
    seeds: ChaCha8Rng,
    /// What is for others, if this may not be all.
    mail: Option<Vec<Mail>>,
    ended: bool,
}

impl Dispatchers {
    /// A tree of its source alone. `seed`: of the names and tickets that are made up; a secret.
    pub fn new(policy: Policy, token: Token, source: &Join, seed: u64, now: Nanos) -> Dispatchers {
        let mut seeds = ChaCha8Rng::seed_from_u64(seed);
        let root = ClusterId(seeds.next_u64());
        let first = Dispatcher::root(root, policy, token.clone(), source, seeds.next_u64(), now);
        let mut all = Dispatchers::none(root, policy, token, seeds);
        all.insert(first);
        all
    }

    /// A part of a tree, of which nothing is here yet: with [`Dispatchers::adopt`] there is.
    pub fn part(root: ClusterId, policy: Policy, token: Token, seed: u64) -> Dispatchers {
        Dispatchers::none(root, policy, token, ChaCha8Rng::seed_from_u64(seed)).in_part()
    }

    /// The same, while others may run dispatchers of this tree: what is for one that is not here is mail.
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

    /// As they were stored. `None`: the root's is not among them.
    pub fn resume(
        stored: Vec<Dispatcher>,
        policy: Policy,
        token: Token,
        seed: u64,
        now: Nanos,
    ) -> Option<Dispatchers> {
        let root = stored.iter().find(|dispatcher| dispatcher.parent().is_none())?.id();
        let mut all = Dispatchers::none(root, policy, token, ChaCha8Rng::seed_from_u64(seed));
        stored.into_iter().for_each(|each| all.adopt(now, each));
        Some(all)
    }

    /// One as it was stored, that is run here from now on.
    pub fn adopt(&mut self, now: Nanos, mut stored: Dispatcher) {
        stored.resume(now);
        self.insert(stored);
    }

    /// One is run elsewhere from now on, from what was stored of it.
    pub fn let_go_of(&mut self, cluster: ClusterId) {
        self.clusters.remove(&cluster);
        self.changed.remove(&cluster);
    }

    /// Whether that cluster's is here.
    pub fn has(&self, cluster: ClusterId) -> bool {
        self.clusters.contains_key(&cluster)
    }

    /// Where hosts come first.
    pub fn root(&self) -> ClusterId {
        self.root
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Dispatcher> {
        self.clusters.values()
    }

    /// Whether the source has left, as the root's dispatcher here said: there is no tree any more.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Clusters that are not as they were when this was asked last, each with its dispatcher (`None`: it is no more). What
    /// hosts are told counts on it being stored first.
    pub fn take_changed(&mut self) -> Vec<(ClusterId, Option<&Dispatcher>)> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().map(|id| (id, self.clusters.get(&id))).collect()
    }

    /// A host says something to a cluster's dispatcher.
    pub fn on_host(&mut self, now: Nanos, cluster: ClusterId, from: HostId, message: FromHost) -> Vec<Told> {
        match self.clusters.get_mut(&cluster) {
            Some(dispatcher) => {
                // That a host is there need not be stored.
                if message != FromHost::Alive {
                    self.changed.insert(cluster);
                }
                dispatcher.on_host(now, from, message);
                self.carry(now, [cluster])
            }
            None => {
                let message =
                    ToHost::Refused { code: RefusalCode::Ended, text: "the cluster is no more".to_owned() };
                vec![Told { cluster, host: from, message }]
            }
        }
    }

    /// The connection to a host of that cluster is lost.
    pub fn on_gone(&mut self, now: Nanos, cluster: ClusterId, host: HostId) -> Vec<Told> {
        if let Some(dispatcher) = self.clusters.get_mut(&cluster) {
            dispatcher.on_gone(now, host);
            self.changed.insert(cluster);
        }
        self.carry(now, [cluster])
    }

    /// What is to be carried to those of other processes, stored together with [`Dispatchers::take_changed`].
    pub fn take_mail(&mut self) -> Vec<Mail> {
        self.mail.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Mail has come for one that is here.
    pub fn on_mail(&mut self, now: Nanos, Mail { from, to, message }: Mail) -> Vec<Told> {
        if let Some(dispatcher) = self.clusters.get_mut(&to) {
            dispatcher.on_cluster(now, from, message);
            self.changed.insert(to);
        }
        self.carry(now, [to])
    }

    /// Mail of one that is here was for one that is no more.
    pub fn on_returned(&mut self, now: Nanos, Mail { from, to, message }: Mail) -> Vec<Told> {
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

    /// Time has passed.
    pub fn on_time(&mut self, now: Nanos) -> Vec<Told> {
        let due = self.clusters.values_mut().filter(|dispatcher| dispatcher.deadline() <= now);
        let mut woken = Vec::new();
        for dispatcher in due {
            dispatcher.on_time(now);
            woken.push(dispatcher.id());
            self.changed.insert(dispatcher.id());
        }
        self.carry(now, woken)
    }

    /// Carries what dispatchers have to say, until they have nothing more.
    fn carry(&mut self, now: Nanos, first: impl IntoIterator<Item = ClusterId>) -> Vec<Told> {
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
        &mut self,
        now: Nanos,
        id: ClusterId,
        told: &mut Vec<Told>,
        queue: &mut VecDeque<(ClusterId, ClusterId, Between)>,
    ) {
        while let Some(output) = self.clusters.get_mut(&id).and_then(Dispatcher::poll) {
            self.changed.insert(id);
            match output {
                Output::Host(host, message) => told.push(Told { cluster: id, host, message }),
                Output::Cluster(to, message) => queue.push_back((id, to, message)),
                Output::Found(founding) => {
                    let seed = self.seeds.next_u64();
                    let dispatcher = Dispatcher::found(&founding, self.policy, self.token.clone(), seed, now);
                    self.insert(dispatcher);
                }
                Output::Ended => {
                    self.clusters.remove(&id);
                    self.ended |= id == self.root;
                }
            }
        }
    }
}
