//! A host of a clustered tree: the node of `groupflow_tree::machine`, driven as `gfagent` drives it, with its
//! connections to other hosts and to the dispatchers, and its application.

mod application; // a source's writes, and a reader
mod dialogue; // the dispatchers, and measurements for them

use std::net::{SocketAddr, SocketAddrV4};

use groupflow_base::lines::LineBuffer;
use groupflow_base::Nanos;
use groupflow_tree::machine::{
    ConnId, FromHost, HostId, NodeAction, NodeConfig, Peer, RefusalCode, Standing, StartAt, TreeJoin,
    TreeNode,
};

use super::byte_stream::{Arrival, LINE};
use super::streams::{StreamEnds, Streams};
use super::End;
use crate::sample::{FlowSample, TreeSample};
use crate::spec::TreeMemberSpec;
use crate::wire::Addresses;
use application::Source;

/// Bytes given to a connection at once, as `gfagent` does.
const BATCH: usize = 64 << 10;
/// Bytes for one child, where children are served one after the other.
const TURN: usize = 5_000;
/// Time after which a refused host joins again, as in `gfagent`.
const AGAIN: Nanos = Nanos::from_millis(300);
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Dispatchers,
    /// Measures the latency to a host.
    Probe(HostId),
    /// An edge. `closes`: it is closed once its last bytes are sent.
    Edge {
        conn: ConnId,
        accepted: bool,
        closes: bool,
    },
}

#[derive(Debug, Clone, Copy)]
struct StreamUse {
    purpose: Purpose,
    connected: bool,
}

impl StreamUse {
    /// Whether an edge can carry bytes: one that a peer has opened can from the beginning.
    fn is_open(self) -> bool {
        self.connected || matches!(self.purpose, Purpose::Edge { accepted: true, .. })
    }
}

#[derive(Debug)]
pub struct TreeEnd {
    node: TreeNode,
    standing: Standing,
    card: TreeJoin,
    dispatchers: SocketAddrV4,
    streams: Streams<StreamUse>,
    lines: LineBuffer,
    one_by_one: bool,
    /// The child that was served last, where one is served after the other.
    served: Option<StreamEnds>,
    source: Option<Source>,
    /// When the host begins, and then when it joins again; [`Nanos::MAX`]: never.
    begins: Nanos,
    rejoins: Nanos,
    /// The latencies that were measured so far, and since when; [`Nanos::MAX`]: none is asked for.
    measured: Vec<(HostId, Nanos)>,
    measures_since: Nanos,
    /// Whether the host's program has ended.
    over: bool,
    pending: Nanos,
    /// Bytes that the reader has.
    read: u64,
    corrupt: u64,
    latest: Option<Nanos>,
    first: Option<Nanos>,
    /// Packets that the host sent.
    sent: u64,
    sample: TreeSample,
}

/// The settings of a host: its tree, and its part in that.
#[derive(Debug, Clone)]
pub struct TreeSettings {
    pub dispatchers: SocketAddrV4,
    pub card: TreeJoin,
    pub config: NodeConfig,
    pub one_by_one: bool,
    /// The most packets in flight on a connection, each way.
    pub window: u32,
}

impl TreeEnd {
    pub fn new(own: Addresses, tree: TreeSettings, member: &TreeMemberSpec) -> TreeEnd {
        let source = member.source;
        let node = match source {
            Some(_) => TreeNode::source(tree.config),
            None => TreeNode::new(tree.config, StartAt::Offset(0)),
        };
        TreeEnd {
            node,
            standing: Standing::new(source.is_some()),
            card: tree.card,
            dispatchers: tree.dispatchers,
            streams: Streams::new(own, tree.window),
            lines: LineBuffer::new(LINE),
            one_by_one: tree.one_by_one,
            served: None,
            source: source.map(|spec| Source { spec, written: 0, due: Nanos(spec.start_ns) }),
            begins: Nanos(member.start_ns),
            rejoins: Nanos::MAX,
            measured: Vec::new(),
            measures_since: Nanos::MAX,
            over: false,
            pending: Nanos::MAX,
            read: 0,
            corrupt: 0,
            latest: None,
            first: None,
            sent: 0,
            sample: TreeSample::default(),
        }
    }

    /// Does all work that needs no waiting.
    fn pump(&mut self, now: Nanos) {
        let mut more = true;
        while std::mem::take(&mut more) && !self.over {
            self.act(now);
            for ends in self.streams.in_turn(self.served) {
                more |= self.hear(now, ends) | self.fill(now, ends);
            }
            more |= self.read(now);
        }
        let has_all = self.measures_since < Nanos::MAX && self.probes().is_empty();
        if (self.measures_until() <= now || has_all) && !self.over {
            self.report_measured(now);
        }
        self.pending = self.pending.min(now);
    }

    /// Carries out what the node asks for.
    fn act(&mut self, now: Nanos) {
        while let Some(action) = self.node.poll() {
            self.carry_out(now, action);
        }
    }

    fn carry_out(&mut self, now: Nanos, action: NodeAction) {
        match action {
            NodeAction::Connect { conn, to } => {
                let purpose = Purpose::Edge { conn, accepted: false, closes: false };
                if !self.open(now, to.address, purpose) {
                    self.node.on_closed(now, conn);
                }
            }
            NodeAction::Close(closed) => {
                let is_its =
                    |link: &StreamUse| matches!(link.purpose, Purpose::Edge { conn, .. } if conn == closed);
                let found = self.streams.iter().find(|(.., link)| is_its(link));
                match found.map(|(ends, _, link)| (ends, link.is_open(), &mut link.purpose)) {
                    Some((_, true, Purpose::Edge { closes, .. })) => *closes = true,
                    Some((ends, ..)) => self.close(now, ends),
                    None => {}
                }
            }
            NodeAction::Report(message) => {
                self.sample.backlogs += u64::from(matches!(message, FromHost::Backlog { .. }));
                let line = self.standing.line(message);
                self.tell(line);
            }
            NodeAction::Measure(peers) => {
                self.end_probes();
                self.measures_since = now;
                for Peer { host, address } in peers {
                    self.open(now, address, Purpose::Probe(host));
                }
            }
            NodeAction::Join(cluster) => {
                self.end_probes();
                let line = self.standing.join(cluster, self.card.clone());
                self.tell([line]);
            }
            NodeAction::Refused { code, .. } => {
                self.end_probes();
                self.node.begin_again(now);
                self.rejoins = if code == RefusalCode::Ended { now } else { now + AGAIN };
            }
        }
    }

    /// Opens a stream; returns whether the address is one of this network.
    fn open(&mut self, now: Nanos, to: SocketAddr, purpose: Purpose) -> bool {
        let SocketAddr::V4(to) = to else { return false };
        self.streams.open(now, to, StreamUse { purpose, connected: false });
        true
    }

    /// Handles what has come on a stream; returns whether something has.
    fn hear(&mut self, now: Nanos, ends: StreamEnds) -> bool {
        let Some((stream, link)) = self.streams.get(ends) else { return false };
        let purpose = link.purpose;
        if stream.is_connected() && !std::mem::replace(&mut link.connected, true) {
            let round_trip = stream.round_trip();
            self.connected(now, ends, purpose, round_trip);
            return true;
        }
        match stream.read() {
            Some(Arrival::Bytes(bytes)) => match purpose {
                Purpose::Edge { conn, .. } => self.node.on_bytes(now, conn, &bytes),
                Purpose::Dispatchers => self.obey(now, &bytes),
                Purpose::Probe(..) => {}
            },
            Some(Arrival::End) => self.close(now, ends),
            None => return false,
        }
        true
    }

    fn connected(&mut self, now: Nanos, ends: StreamEnds, purpose: Purpose, round_trip: Nanos) {
        match purpose {
            Purpose::Dispatchers => {
                self.node.on_dispatchers_measured(round_trip);
                self.greet(ends);
            }
            Purpose::Probe(host) => {
                self.measured.push((host, Nanos(round_trip.0 / 2)));
                self.streams.release(ends);
            }
            Purpose::Edge { conn, accepted, .. } => {
                self.node.on_round_trip(conn, round_trip);
                if !accepted {
                    self.node.on_connected(now, conn);
                }
            }
        }
    }

    /// Closes a stream behind the bytes that were sent.
    fn close(&mut self, now: Nanos, ends: StreamEnds) {
        if let Some(link) = self.streams.release(ends) {
            self.closed(now, link);
        }
    }

    fn closed(&mut self, now: Nanos, link: StreamUse) {
        match link.purpose {
            Purpose::Edge { conn, .. } => self.node.on_closed(now, conn),
            Purpose::Dispatchers => {
                self.node.on_dispatchers(now, false);
                self.lines = LineBuffer::new(LINE);
                self.open(now, SocketAddr::V4(self.dispatchers), Purpose::Dispatchers);
            }
            Purpose::Probe(..) => {}
        }
    }

    /// Gives an edge as many bytes as it takes now; returns whether there were any, or the edge is closed.
    fn fill(&mut self, now: Nanos, ends: StreamEnds) -> bool {
        let link = self.streams.get(ends).map(|(_, link)| *link).filter(|link| link.is_open());
        let Some(Purpose::Edge { conn, accepted, closes }) = link.map(|link| link.purpose) else {
            return false;
        };
        let one = self.one_by_one && accepted;
        if one && !closes && self.is_child_served() {
            return false;
        }
        let Some((stream, _)) = self.streams.get(ends) else { return false };
        let room = stream.room().min(if one { TURN } else { BATCH });
        let mut batch = Vec::new();
        if room > 0 {
            self.node.fill(now, conn, &mut batch, room);
        }
        if !batch.is_empty() {
            stream.send(&batch);
            self.served = if one { Some(ends) } else { self.served };
        } else if closes && room > 0 {
            self.close(now, ends);
        }
        !batch.is_empty() || closes && room > 0
    }

    /// Whether bytes for a child are under way.
    fn is_child_served(&mut self) -> bool {
        self.streams.iter().any(|(_, stream, link)| {
            let is_child = matches!(link.purpose, Purpose::Edge { accepted: true, closes: false, .. });
            is_child && !stream.is_acknowledged()
        })
    }
}

impl End for TreeEnd {
    fn deadline(&self) -> Nanos {
        if self.begins < Nanos::MAX {
            return self.begins;
        }
        let source = self.source.as_ref().map_or(Nanos::MAX, |source| source.due);
        let own = [self.node.deadline(), source, self.rejoins, self.measures_until()];
        own.into_iter().filter(|_| !self.over).fold(self.streams.deadline(), Nanos::min)
    }

    fn wants(&self) -> Nanos {
        self.pending
    }

    fn on_timer(&mut self, now: Nanos) {
        if self.begins <= now {
            self.begins = Nanos::MAX;
            self.open(now, SocketAddr::V4(self.dispatchers), Purpose::Dispatchers);
        }
        for link in self.streams.on_timer(now) {
            self.closed(now, link);
        }
        if self.over {
            self.pending = now;
            return;
        }
        if self.node.deadline() <= now {
            self.node.on_time(now);
        }
        if self.rejoins <= now {
            self.rejoins = Nanos::MAX;
            let root = self.standing.root.filter(|_| !self.node.is_leaving());
            let line = root.map(|root| self.standing.join(root, self.card.clone()));
            self.tell(line);
        }
        self.write(now);
        self.pump(now);
    }

    fn receive(&mut self, now: Nanos, from: SocketAddrV4, bytes: &[u8], _length: u32, _ecn: u8) {
        if self.begins < Nanos::MAX {
            return;
        }
        let node = Some(&mut self.node).filter(|_| !self.over);
        self.streams.receive(now, from, bytes, || {
            let node = node?;
            let purpose = Purpose::Edge { conn: node.on_accepted(now)?, accepted: true, closes: false };
            Some(StreamUse { purpose, connected: false })
        });
        self.pump(now);
    }

    fn poll(&mut self, now: Nanos, head: &mut Vec<u8>) -> Option<u32> {
        let sent = self.streams.poll(now, head);
        self.pending = if sent { now } else { Nanos::MAX };
        self.sent += u64::from(sent);
        sent.then_some(0)
    }

    fn malformed(&self) -> u64 {
        self.streams.malformed + self.corrupt
    }

    fn sample(&mut self, sample: &mut FlowSample) {
        sample.sent_packets = self.sent;
        (sample.first, sample.latest) = (self.first, self.latest);
        sample.delivered_bytes = self.source.is_none().then_some(self.read);
        sample.offered_bytes = self.source.as_ref().map(|source| source.written);
        sample.finished = Some(self.sample.complete);
        let parent = self.node.parent().map(|host| host.0);
        sample.tree = Some(TreeSample { parent, ..self.sample });
    }
}
