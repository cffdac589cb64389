//! Hosts that lack bytes of the stream, and hosts that are away: silent, or on their way to another cluster.
//!
//! A host that was connected to a parent lacks bytes until it says that it is complete. If it leaves, dies,
//! or is away for too long before that, it is lost. If it comes back after all, it is not.

use super::*;

/// The most names of hosts without all bytes that the source is told.
const NAMES: usize = 16;
/// The most lost hosts whose names are known.
const MOST_LOST: usize = 1024;

/// The hosts of the tree, as the source is told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Members {
    /// How many hosts have a parent.
    pub hosts: usize,
    /// How many hosts lack bytes, here or away.
    pub receiving: usize,
    /// The names of some of these.
    pub names: Vec<String>,
    /// Those that left or died before they had all bytes.
    pub lost: BTreeMap<HostId, String>,
}

impl Dispatchers {
    /// The hosts of the tree, and which of them lack bytes of the stream.
    pub fn members(&self) -> Members {
        let attached = self.iter().flat_map(|dispatcher| dispatcher.tree.iter()).filter(|(_, m)| m.attached);
        // The source has no parent.
        let hosts = attached.count().saturating_sub(1);
        let names = || self.iter().flat_map(|dispatcher| dispatcher.tree.all_lacking());
        let lost = self.get(self.root).map(|root| root.lost.clone()).unwrap_or_default();
        let some = names().take(NAMES).map(str::to_owned).collect();
        Members { hosts, receiving: names().count(), names: some, lost }
    }

    /// Notes that a host lacks bytes for good, unless it comes back.
    pub(super) fn lose(&mut self, host: HostId, name: String) {
        if let Some(mut root) = self.change(self.root).filter(|root| root.lost.len() < MOST_LOST) {
            root.lost.insert(host, name);
        }
    }

    /// Notes that a host is not away any more: it has a parent, or all bytes.
    pub(in crate::machine) fn find_again(&mut self, host: HostId) {
        self.wait_no_longer(host);
        if self.get(self.root).is_some_and(|root| root.lost.contains_key(&host)) {
            self.change(self.root).and_then(|mut root| root.lost.remove(&host));
        }
    }

    /// Notes that a host leaves, maybe while it is away.
    pub(in crate::machine) fn let_go(&mut self, host: HostId) {
        if let Some(name) = self.wait_no_longer(host) {
            self.lose(host, name);
        }
    }

    /// Waits for a host that is away until that time at the latest.
    pub(super) fn wait_at_most(&mut self, host: HostId, until: Nanos) {
        match until > self.now {
            true => self.change_wait(host, |before| before.min(until)),
            false => self.let_go(host),
        }
    }

    /// Waits longer for a host that is away, and joins now.
    pub(super) fn wait_longer(&mut self, host: HostId) {
        let until = self.now + self.policy.way();
        self.change_wait(host, |before| before.max(until));
    }

    fn change_wait(&mut self, host: HostId, change: impl Fn(Nanos) -> Nanos) {
        for id in self.awaiting(host) {
            if let Some(mut found) = self.change(id) {
                found.tree.change_waits(|other, until| if other == host { change(until) } else { until });
            }
        }
    }

    fn wait_no_longer(&mut self, host: HostId) -> Option<String> {
        let mut lacking = None;
        for id in self.awaiting(host) {
            if let Some(mut found) = self.change(id) {
                lacking = found
                    .tree
                    .wait_no_longer(|other, _| other == host)
                    .pop()
                    .map(|(_, name)| name)
                    .or(lacking);
                found.settle_debts();
            }
        }
        lacking
    }

    /// The clusters that wait for a host.
    fn awaiting(&self, host: HostId) -> Vec<ClusterId> {
        self.iter().filter(|dispatcher| dispatcher.tree.awaits(host)).map(Dispatcher::id).collect()
    }
}

impl DispatcherMut<'_> {
    /// Notes that a member departs; it is lost if it lacks bytes.
    pub(super) fn lose(&mut self, host: HostId) {
        if let Some(name) = self.tree.lacking(host) {
            self.all.lose(host, name);
        }
    }

    /// Removes a host that is silent, or whose connection is lost, and that is waited for until that time.
    pub(super) fn remove_absent(&mut self, host: HostId, until: Nanos) {
        match until > self.now {
            true => self.tree.note_away(host, until),
            false => self.lose(host),
        }
        self.remove(host);
    }
}
