//! The dispatchers of a tree in several processes, of which one may run all: mail between them is under way
//! for a while, and outlives them.

use std::collections::{BTreeMap, VecDeque};

use groupflow_base::Nanos;
use groupflow_tree::machine::{
    ClusterId, Dispatcher, Dispatchers, FromHost, HostId, HostMessage, Mail, Policy, TreeJoin,
};

use super::forest::token;

pub struct SplitDispatchers {
    parts: Vec<Dispatchers>,
    root: ClusterId,
    policy: Policy,
    /// The part that runs a cluster's dispatcher.
    owners: BTreeMap<ClusterId, usize>,
    mail: VecDeque<Mail>,
    /// How many clusters there were, and how much mail.
    pub founded: usize,
    pub mailed: usize,
}

impl SplitDispatchers {
    pub fn new(count: usize, policy: Policy, source: &TreeJoin) -> SplitDispatchers {
        let first = Dispatchers::new(policy, token(), source, 1, Nanos::ZERO).in_part();
        let root = first.root();
        let others = (1..count).map(|n| Dispatchers::part(root, policy, token(), 1 + n as u64));
        let parts = [first].into_iter().chain(others).collect();
        let (owners, mail) = (BTreeMap::from([(root, 0)]), VecDeque::new());
        SplitDispatchers { parts, root, policy, owners, mail, founded: 1, mailed: 0 }
    }

    pub fn root(&self) -> ClusterId {
        self.root
    }

    pub fn iter(&self) -> impl Iterator<Item = &Dispatcher> {
        self.parts.iter().flat_map(Dispatchers::iter)
    }

    pub fn on_host(
        &mut self, now: Nanos, cluster: ClusterId, host: HostId, message: FromHost,
    ) -> Vec<HostMessage> {
        let part = self.owners.get(&cluster).copied().unwrap_or(0);
        let told = self.parts[part].on_host(now, cluster, host, message);
        self.after(now, part, told)
    }

    pub fn on_gone(&mut self, now: Nanos, cluster: ClusterId, host: HostId) -> Vec<HostMessage> {
        let part = self.owners.get(&cluster).copied().unwrap_or(0);
        let told = self.parts[part].on_gone(now, cluster, host);
        self.after(now, part, told)
    }

    /// Does the work that is due.
    pub fn on_time(&mut self, now: Nanos) -> Vec<HostMessage> {
        let mut told = Vec::new();
        for part in 0..self.parts.len() {
            if self.parts[part].deadline() <= now {
                let more = self.parts[part].on_time(now);
                told.extend(self.after(now, part, more));
            }
        }
        told
    }

    /// The first of the mail comes; `None`: there is none.
    pub fn on_mail(&mut self, now: Nanos) -> Option<Vec<HostMessage>> {
        let mail = self.mail.pop_front()?;
        let (to, from) = (self.owners.get(&mail.to).copied(), self.owners.get(&mail.from).copied());
        Some(match (to, from) {
            (Some(part), _) => {
                let told = self.parts[part].on_mail(now, mail);
                self.after(now, part, told)
            }
            (None, Some(part)) => {
                let told = self.parts[part].on_returned(now, mail);
                self.after(now, part, told)
            }
            (None, None) => Vec::new(),
        })
    }

    /// Mail under way.
    pub fn waiting(&self) -> &VecDeque<Mail> {
        &self.mail
    }

    /// Gives new mail to one part after the other; mail for a dispatcher that no longer exists comes back.
    fn after(&mut self, now: Nanos, part: usize, mut told: Vec<HostMessage>) -> Vec<HostMessage> {
        loop {
            let mail = self.parts[part].take_mail();
            if mail.is_empty() {
                break;
            }
            for each in mail {
                match self.owners.get(&each.to) {
                    Some(&other) if other != part => {
                        self.mailed += 1;
                        self.mail.push_back(each);
                    }
                    _ => told.extend(self.parts[part].on_returned(now, each)),
                }
            }
        }
        let changed = self.parts[part].take_changed().into_iter();
        let changed: Vec<_> = changed.map(|(id, state)| (id, state.map(stored))).collect();
        for (id, state) in changed {
            match state {
                None => drop(self.owners.remove(&id)),
                Some(state) if !self.owners.contains_key(&id) => {
                    let to = self.founded % self.parts.len();
                    self.founded += 1;
                    self.owners.insert(id, to);
                    if to != part {
                        self.parts[part].let_go_of(id);
                        self.parts[to].adopt(now, restored(&state));
                        self.parts[to].take_changed();
                    }
                }
                Some(_) => {}
            }
        }
        told
    }

    /// All processes die, and others go on with what was stored, each with what another had.
    pub fn replace(&mut self, now: Nanos, seed: u64) {
        let (count, stored): (_, Vec<String>) = (self.parts.len(), self.iter().map(stored).collect());
        let new = |n| Dispatchers::part(self.root, self.policy, token(), seed + n as u64);
        self.parts = (0..count).map(new).collect();
        for owner in self.owners.values_mut() {
            *owner = (*owner + 1) % count;
        }
        for state in stored {
            let dispatcher = restored(&state);
            let part = self.owners[&dispatcher.id()];
            self.parts[part].adopt(now, dispatcher);
            self.parts[part].take_changed();
        }
    }
}

fn stored(dispatcher: &Dispatcher) -> String {
    serde_json::to_string(dispatcher).expect("JSON")
}

fn restored(state: &str) -> Dispatcher {
    serde_json::from_str(state).expect("the same")
}
