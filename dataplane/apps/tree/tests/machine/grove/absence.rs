//! Hosts and dispatchers that are away for a while: frozen, or cut off from all others.

use super::*;

/// A host and dispatchers that did not hear of each other for so long connect anew.
const SILENCE: Nanos = Nanos::from_millis(2000);

impl NodeReader {
    pub fn is_frozen(&self) -> bool {
        self.away.is_some_and(|(_, is_frozen)| is_frozen)
    }

    /// For how long the host is away.
    pub fn away_for(&self, now: Nanos) -> Nanos {
        self.away.map_or(Nanos::ZERO, |(since, _)| now - since)
    }
}

impl Grove {
    /// Stops a host, or cuts its link: nothing reaches it, and nothing comes from it.
    pub fn send_away(&mut self, host: HostId, is_frozen: bool) {
        let now = self.now;
        self.nodes.get_mut(&host).into_iter().for_each(|found| found.away = Some((now, is_frozen)));
    }

    /// Ends the absence of a host.
    pub fn bring_back(&mut self, host: HostId) {
        let now = self.now;
        let Some(found) = self.nodes.get_mut(&host) else { return };
        let (away, cluster, joins) = (found.away_for(now), found.cluster, found.joins);
        found.away = None;
        let mine = |end: &(HostId, ConnId)| end.0 == host;
        let (ends, others) = std::mem::take(&mut self.lost_ends).into_iter().partition(mine);
        self.lost_ends = others;
        let ends: Vec<(HostId, ConnId)> = ends;
        for (_, conn) in ends {
            if let Some(found) = self.nodes.get_mut(&host) {
                found.node.on_closed(now, conn);
                self.act(host);
            }
        }
        if away < SILENCE || self.dispatchers.ended {
            return;
        }
        self.told.retain(|up| up.host != host);
        self.orders.retain(|down| down.told.host != host);
        let root = self.dispatchers.root;
        if host == SOURCE {
            return self.tell(SOURCE, FromHost::Back { order: 0, attached: true });
        }
        self.told.push_back(Upward { host, cluster, joins, message: None });
        self.introduce(host, root);
    }

    /// Hosts notice whether they can reach the dispatchers.
    pub(super) fn keep_dialogues(&mut self) {
        for found in self.nodes.values_mut().filter(|found| !found.is_frozen()) {
            found.node.on_dispatchers(self.now, self.are_present && found.away.is_none());
        }
    }

    /// Carries nothing over a connection of a host that is away; the other end may close it alone.
    pub(super) fn close_alone(&mut self, at: usize) -> bool {
        let is_closing =
            |side: usize| self.wires[at].closing[side] && !self.is_frozen_host(self.wires[at].ends[side].0);
        let is_over = is_closing(0) || is_closing(1);
        if is_over {
            self.cut(at);
        }
        is_over
    }

    fn is_frozen_host(&self, host: HostId) -> bool {
        self.nodes.get(&host).is_some_and(NodeReader::is_frozen)
    }
}
