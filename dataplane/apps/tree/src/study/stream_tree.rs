//! One stream over a clustered tree in virtual time. The machines of [`crate::machine`] are driven as
//! `gfagent` and the dispatchers' service drive them, over [`Wires`].

use std::collections::{BTreeMap, BTreeSet};

use groupflow_base::events::EventQueue;
use groupflow_base::Nanos;

use super::overlay::{join_message, token, SOURCE};
use super::wires::{ConnEnd, HostAttachment, WireEvent, Wires};
use crate::machine::{
    ClusterId, Dispatchers, FromHost, HostId, HostMessage, NodeAction, NodeConfig, Peer, Policy, ReadItem,
    RefusalCode, StartAt, ToHost, TreeNode,
};

/// Latency between a host and the dispatchers, one way, beyond the host's link and the path to the source's
/// router, where the dispatchers are. Messages are short and do not wait for data.
const TO_DISPATCHERS: Nanos = Nanos::from_millis(1);
/// Bytes given to a connection at once, as `gfagent` does.
const BATCH: usize = 64 << 10;
/// Time after which a refused host begins again, as `gfagent` does.
const AGAIN: Nanos = Nanos::from_millis(300);

#[derive(Debug)]
pub struct StreamHost {
    node: TreeNode,
    /// How many children the host offers to serve.
    pub capacity: u16,
    cluster: ClusterId,
    order: u32,
    /// How often the host has joined: messages to an earlier join are ignored.
    joins: u32,
    timer: Nanos,
    /// Bytes that the host's reader has.
    pub read: u64,
    /// Bytes that the reader was told it will not get: these and those that it has are the position in the
    /// stream.
    pub skipped: u64,
    /// Orders to another parent.
    pub moves: u32,
    /// When the stream was broken off at this host, which then left.
    pub broken: Option<Nanos>,
}

#[derive(Debug)]
enum StreamTreeEvent {
    Timer(HostId),
    Again(HostId),
    Measured(HostId, u32, Vec<(HostId, Nanos)>),
    /// A message of a host; `None`: the host is gone.
    FromHost(HostId, ClusterId, u32, Option<FromHost>),
    ToHost(u32, HostMessage),
    Dispatchers,
}

/// The stream, the hosts of its tree, and their dispatchers.
#[derive(Debug)]
pub struct StreamTree {
    pub now: Nanos,
    /// All hosts, including those that are gone.
    pub hosts: BTreeMap<HostId, StreamHost>,
    /// The hosts' links and connections.
    pub wires: Wires,
    /// Reports that data accumulate for a child: the time, the host and the child.
    pub reports: Vec<(Nanos, HostId, HostId)>,
    dispatchers: Dispatchers,
    dispatchers_due: Nanos,
    heard: BTreeMap<HostId, u32>,
    config: NodeConfig,
    /// Connections to be closed when all bytes are sent.
    closing: BTreeSet<ConnEnd>,
    steps: EventQueue<StreamTreeEvent>,
}

impl StreamTree {
    /// A tree with only its source.
    pub fn new(
        wires: Wires, policy: Policy, config: NodeConfig, (attachment, capacity): (HostAttachment, u16),
        seed: u64,
    ) -> StreamTree {
        let source = join_message(SOURCE, attachment.router, capacity);
        let mut stream = StreamTree {
            now: Nanos::ZERO,
            hosts: BTreeMap::new(),
            wires,
            reports: Vec::new(),
            dispatchers: Dispatchers::new(policy, token(), &source, seed, Nanos::ZERO),
            dispatchers_due: Nanos::MAX,
            heard: BTreeMap::new(),
            config,
            closing: BTreeSet::new(),
            steps: EventQueue::default(),
        };
        stream.add(SOURCE, TreeNode::source(NodeConfig { host: SOURCE, ..config }), attachment, capacity);
        stream.act(SOURCE);
        stream
    }

    /// Adds a host, which is to receive the whole stream.
    pub fn join(&mut self, attachment: HostAttachment, capacity: u16) -> HostId {
        let host = HostId(self.hosts.len() as u64);
        let node = TreeNode::new(NodeConfig { host, ..self.config }, StartAt::Offset(0));
        self.add(host, node, attachment, capacity);
        self.ask(host, self.dispatchers.root());
        host
    }

    /// Writes bytes at the source; returns how many were taken.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let now = self.now;
        let taken = self.hosts.get_mut(&SOURCE).map_or(0, |source| source.node.write(now, bytes));
        self.act(SOURCE);
        taken
    }

    pub fn parent(&self, host: HostId) -> Option<HostId> {
        self.hosts.get(&host).filter(|found| found.broken.is_none())?.node.parent()
    }

    pub fn clusters(&self) -> usize {
        self.dispatchers.iter().count()
    }

    pub fn run_until(&mut self, end: Nanos) {
        loop {
            let own = self.steps.next().unwrap_or(Nanos::MAX);
            let wires = self.wires.deadline();
            if own.min(wires) > end {
                break;
            }
            self.now = own.min(wires);
            if wires <= own {
                let event = self.wires.step();
                event.into_iter().for_each(|event| self.on_wire(event));
            } else if let Some((_, what)) = self.steps.pop() {
                self.handle(what);
            }
        }
        self.now = end;
    }

    fn add(&mut self, host: HostId, mut node: TreeNode, attachment: HostAttachment, capacity: u16) {
        self.wires.add_host(host, attachment);
        let far = self.to_dispatchers(host);
        node.conns.on_dispatchers(far + far);
        let cluster = self.dispatchers.root();
        let found = StreamHost {
            node,
            capacity,
            cluster,
            order: 0,
            joins: 0,
            timer: Nanos::MAX,
            read: 0,
            skipped: 0,
            moves: 0,
            broken: None,
        };
        self.hosts.insert(host, found);
    }

    fn at(&mut self, when: Nanos, what: StreamTreeEvent) {
        self.steps.schedule(when, what);
    }

    fn node(&mut self, host: HostId) -> Option<&mut TreeNode> {
        self.hosts.get_mut(&host).filter(|found| found.broken.is_none()).map(|found| &mut found.node)
    }

    /// Lets a host join a cluster.
    fn ask(&mut self, host: HostId, cluster: ClusterId) {
        if let Some(found) = self.hosts.get_mut(&host) {
            found.cluster = cluster;
            found.order = 0;
            found.joins += 1;
            let join = join_message(host, self.wires.router(host), found.capacity);
            self.report(host, Some(FromHost::Join(join)));
        }
    }

    /// Sends a host's message to its dispatcher; `None`: the connection between them is lost.
    fn report(&mut self, host: HostId, message: Option<FromHost>) {
        let now = self.now;
        let Some(found) = self.hosts.get_mut(&host) else { return };
        if let Some(FromHost::Backlog { child }) = &message {
            self.reports.push((now, host, *child));
        }
        let what = StreamTreeEvent::FromHost(host, found.cluster, found.joins, message);
        self.at(now + self.to_dispatchers(host), what);
    }

    /// Latency from a host to the dispatchers, one way.
    fn to_dispatchers(&self, host: HostId) -> Nanos {
        self.wires.access(host) + self.wires.between(host, SOURCE) + TO_DISPATCHERS
    }

    fn handle(&mut self, what: StreamTreeEvent) {
        let now = self.now;
        match what {
            StreamTreeEvent::Timer(host) => {
                let Some(found) = self.hosts.get_mut(&host).filter(|found| found.timer <= now) else {
                    return;
                };
                found.timer = Nanos::MAX;
                if found.broken.is_none() && found.node.deadline() <= now {
                    found.node.on_time(now);
                }
                self.act(host);
            }
            StreamTreeEvent::Again(host) => self.ask(host, self.dispatchers.root()),
            StreamTreeEvent::Measured(host, joins, measured) => {
                if self.hosts.get(&host).is_some_and(|found| found.joins == joins) {
                    self.report(host, Some(FromHost::Measured(measured)));
                }
            }
            StreamTreeEvent::FromHost(host, cluster, joins, message) => {
                let messages = match message {
                    Some(message) => {
                        self.heard.insert(host, joins);
                        self.dispatchers.on_host(now, cluster, host, message)
                    }
                    None => self.dispatchers.on_gone(now, cluster, host),
                };
                self.carry(messages);
            }
            StreamTreeEvent::ToHost(joins, message) => self.obey(joins, message),
            StreamTreeEvent::Dispatchers => {
                if self.dispatchers_due <= now {
                    self.dispatchers_due = Nanos::MAX;
                    let due = self.dispatchers.deadline() <= now;
                    let messages = if due { self.dispatchers.on_time(now) } else { Vec::new() };
                    self.carry(messages);
                }
            }
        }
    }

    /// Sends the dispatchers' messages.
    fn carry(&mut self, messages: Vec<HostMessage>) {
        for message in messages {
            let joins = self.heard.get(&message.host).copied().unwrap_or(0);
            self.at(self.now + self.to_dispatchers(message.host), StreamTreeEvent::ToHost(joins, message));
        }
        let due = self.dispatchers.deadline();
        if due < self.dispatchers_due {
            self.dispatchers_due = due;
            self.at(due, StreamTreeEvent::Dispatchers);
        }
    }

    fn obey(&mut self, joins: u32, HostMessage { cluster, host, message }: HostMessage) {
        let now = self.now;
        let here = |found: &&mut StreamHost| {
            found.joins == joins && found.cluster == cluster && found.broken.is_none()
        };
        let Some(found) = self.hosts.get_mut(&host).filter(here) else { return };
        match &message {
            ToHost::Place { order, .. } => {
                found.moves += u32::from(found.order > 0 || found.joins > 1);
                found.order = *order;
            }
            ToHost::Refused { code, .. } => {
                found.node.begin_again(now);
                if !found.node.is_leaving() {
                    let wait = if *code == RefusalCode::Ended { Nanos::ZERO } else { AGAIN };
                    self.at(now + wait, StreamTreeEvent::Again(host));
                }
                return self.act(host);
            }
            _ => {}
        }
        found.node.on_order(now, message);
        self.act(host);
    }

    fn on_wire(&mut self, event: WireEvent) {
        let now = self.now;
        let host = match event {
            WireEvent::Asked { wire, to } => {
                match self.node(to).and_then(|node| node.conns.on_accepted(now)) {
                    Some(conn) => {
                        self.wires.accept(now, wire, conn);
                        self.measure((to, conn));
                    }
                    None => self.wires.refuse(now, wire),
                }
                to
            }
            WireEvent::Connected((host, conn)) => {
                self.measure((host, conn));
                self.node(host).into_iter().for_each(|node| node.on_connected(now, conn));
                host
            }
            WireEvent::Bytes((host, conn), bytes) => {
                self.node(host).into_iter().for_each(|node| node.on_bytes(now, conn, &bytes));
                host
            }
            WireEvent::Closed((host, conn)) => {
                self.closing.remove(&(host, conn));
                self.node(host).into_iter().for_each(|node| node.on_closed(now, conn));
                host
            }
            WireEvent::Room((host, _)) => host,
        };
        self.act(host);
    }

    /// Measures a connection, as the kernel would.
    fn measure(&mut self, (host, conn): ConnEnd) {
        let round_trip = self.wires.round_trip((host, conn));
        self.node(host).into_iter().for_each(|node| node.conns.on_round_trip(conn, round_trip));
    }

    /// Carries out a node's actions, fills its connections and reads, until nothing is left to do.
    fn act(&mut self, host: HostId) {
        let mut more = true;
        while std::mem::take(&mut more) {
            while let Some(action) = self.node(host).and_then(|node| node.conns.poll()) {
                self.carry_out(host, action);
            }
            for conn in self.wires.of(host) {
                more |= self.fill((host, conn));
            }
            more |= self.read(host);
        }
        if let Some(due) = self.node(host).map(|node| node.deadline()) {
            self.wake(host, due);
        }
    }

    fn carry_out(&mut self, host: HostId, action: NodeAction) {
        match action {
            NodeAction::Connect { conn, to } => {
                let deadline = Nanos::from_millis(200);
                self.node(host).into_iter().for_each(|node| node.offer(conn, deadline));
                self.wires.connect(self.now, (host, conn), to.host);
            }
            NodeAction::Close(conn) => drop(self.closing.insert((host, conn))),
            NodeAction::Report(message) => self.report(host, Some(message)),
            NodeAction::Measure(peers) => {
                let there = |peer: &&Peer| self.hosts.get(&peer.host).is_some_and(|f| f.broken.is_none());
                let far = |peer: &Peer| (peer.host, self.wires.latency(host, peer.host));
                let measured: Vec<(HostId, Nanos)> = peers.iter().filter(there).map(far).collect();
                let longest = measured.iter().map(|&(_, latency)| latency).max().unwrap_or(Nanos::ZERO);
                let joins = self.hosts.get(&host).map_or(0, |found| found.joins);
                self.at(self.now + longest + longest, StreamTreeEvent::Measured(host, joins, measured));
            }
            NodeAction::Join(cluster) => self.ask(host, cluster),
            NodeAction::Refused { .. } | NodeAction::Datagrams { .. } => {}
        }
    }

    /// Sends on a connection; returns whether there was something to send, or the connection is closed now.
    fn fill(&mut self, end: ConnEnd) -> bool {
        let now = self.now;
        let room = self.wires.room(end).min(BATCH);
        let mut batch = Vec::new();
        let Some(node) = self.node(end.0).filter(|_| room > 0) else { return false };
        node.fill(now, end.1, &mut batch, room);
        if !batch.is_empty() {
            self.wires.send(now, end, &batch);
            return true;
        }
        let closes = self.closing.remove(&end);
        if closes {
            self.wires.finish(now, end);
            self.node(end.0).into_iter().for_each(|node| node.on_closed(now, end.1));
        }
        closes
    }

    /// Reads at a host; returns whether there was something to read.
    fn read(&mut self, host: HostId) -> bool {
        let now = self.now;
        let Some(found) = self.hosts.get_mut(&host) else { return false };
        match found.node.read(now, BATCH) {
            Some(ReadItem::Bytes(bytes)) => found.read += bytes.len() as u64,
            Some(ReadItem::Skipped { to }) => found.skipped = to.saturating_sub(found.read),
            Some(ReadItem::End) | None => return false,
            Some(ReadItem::Broken { .. }) => {
                found.broken = Some(now);
                self.go(host);
                return false;
            }
        }
        true
    }

    /// Ends a host's program.
    fn go(&mut self, host: HostId) {
        for conn in self.wires.of(host) {
            self.wires.finish(self.now, (host, conn));
        }
        self.report(host, None);
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
