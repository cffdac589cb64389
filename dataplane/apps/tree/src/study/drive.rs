//! The loop around each node of a [`StreamTree`]: its connections, its actions and its timer.

use groupflow_base::Nanos;

use super::stream_tree::{StreamTree, StreamTreeEvent};
use super::wires::{ConnEnd, WireEvent};
use crate::machine::{HostId, NodeAction, Peer};

/// Bytes given to a connection at once, as `gfagent` does.
const BATCH: usize = 64 << 10;

impl StreamTree {
    pub(super) fn on_wire(&mut self, event: WireEvent) {
        let now = self.now;
        let host = match event {
            WireEvent::Asked { wire, to } => {
                match self.node(to).and_then(|node| node.on_accepted(now)) {
                    Some(conn) => {
                        self.wires.accept(now, wire, conn);
                        self.measure((to, conn));
                    }
                    None if self.hosts[&to].failed => self.wires.refuse(now + self.silence, wire),
                    None => self.wires.refuse(now, wire),
                }
                to
            }
            WireEvent::Connected((host, conn)) => {
                self.measure((host, conn));
                self.tell(host, |node| node.on_connected(now, conn));
                host
            }
            WireEvent::Bytes((host, conn), bytes) => {
                self.tell(host, |node| node.on_bytes(now, conn, &bytes));
                host
            }
            WireEvent::Closed((host, conn)) => {
                self.closing.remove(&(host, conn));
                self.tell(host, |node| node.on_closed(now, conn));
                host
            }
        };
        self.act(host);
    }

    /// Measures a connection, as the kernel would.
    fn measure(&mut self, (host, conn): ConnEnd) {
        let round_trip = self.wires.round_trip((host, conn));
        self.tell(host, |node| node.on_round_trip(conn, round_trip));
    }

    /// Carries out a node's actions and fills its connections, until nothing is left to do.
    pub(super) fn act(&mut self, host: HostId) {
        let mut more = true;
        while std::mem::take(&mut more) {
            while let Some(action) = self.node(host).and_then(|node| node.poll()) {
                self.carry_out(host, action);
            }
            for conn in self.wires.of(host) {
                more |= self.fill((host, conn));
            }
        }
        match self.node(host).map(|node| (node.is_over(), node.deadline())) {
            Some((true, _)) => self.go(host),
            Some((false, due)) => self.wake(host, due),
            None => {}
        }
    }

    fn carry_out(&mut self, host: HostId, action: NodeAction) {
        match action {
            NodeAction::Connect { conn, to } => self.wires.connect(self.now, (host, conn), to.host),
            NodeAction::Close(conn) => drop(self.closing.insert((host, conn))),
            NodeAction::Report(message) => self.report(host, message),
            NodeAction::Measure(peers) => {
                let there = |peer: &&Peer| self.hosts.get(&peer.host).is_some_and(|found| !found.gone);
                let far = |peer: &Peer| (peer.host, self.wires.latency(host, peer.host));
                let measured: Vec<(HostId, Nanos)> = peers.iter().filter(there).map(far).collect();
                let longest = measured.iter().map(|&(_, latency)| latency).max().unwrap_or(Nanos::ZERO);
                let joins = self.hosts.get(&host).map_or(0, |found| found.standing.joins);
                self.counts.probes += 2 * measured.len() as u64;
                self.at(self.now + longest + longest, StreamTreeEvent::Measured(host, joins, measured));
            }
            NodeAction::Join(cluster) => self.ask(host, cluster),
            NodeAction::Refused { .. } => {}
        }
    }

    /// Sends on a connection; returns whether there was something to send, or the connection is closed now.
    fn fill(&mut self, end: ConnEnd) -> bool {
        let now = self.now;
        let mut batch = Vec::new();
        let Some(node) = self.node(end.0) else { return false };
        node.fill(now, end.1, &mut batch, BATCH);
        if !batch.is_empty() {
            self.wires.send(now, end, batch);
            return true;
        }
        let closes = self.closing.remove(&end);
        if closes {
            self.wires.finish(now, end);
            self.tell(end.0, |node| node.on_closed(now, end.1));
        }
        closes
    }

    fn wake(&mut self, host: HostId, due: Nanos) {
        let due = due.max(self.now);
        let earlier = self.hosts.get_mut(&host).filter(|found| due < found.timer);
        if let Some(found) = earlier {
            found.timer = due;
            self.at(due, StreamTreeEvent::Timer(host));
        }
    }
}
