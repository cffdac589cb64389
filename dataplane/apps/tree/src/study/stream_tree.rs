//! A clustered tree in virtual time. The machines of [`crate::machine`] are driven as `gfagent` and the
//! dispatchers' service drive them, over [`Wires`].
//!
//! Here are the hosts and their dialogue with the dispatchers; [`super::drive`] is the loop around a node.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};

use groupflow_base::events::EventQueue;
use groupflow_base::{Nanos, Token};

use super::wires::{ConnEnd, HostAttachment, Wires};
use crate::machine::messages::ClusterLine;
use crate::machine::{
    ClusterId, Dispatchers, FromHost, HostId, HostMessage, NodeConfig, Peer, Policy, RefusalCode, RouterId,
    Standing, StartAt, ToHost, TreeJoin, TreeNode,
};

pub const SOURCE: HostId = HostId(0);

/// Latency between a host and the dispatchers, one way, beyond the host's link and the path to the source's
/// router, where the dispatchers are. Messages are short and do not wait for data.
const TO_DISPATCHERS: Nanos = Nanos::from_millis(1);
/// Time after which a refused host begins again, as `gfagent` does.
const AGAIN: Nanos = Nanos::from_millis(300);
/// How long a host that leaves waits for its children to find parents, as `gfagent` does.
const FAREWELL: Nanos = Nanos::from_secs(3);

#[derive(Debug)]
pub struct StreamHost {
    pub(super) node: TreeNode,
    pub capacity: u16,
    pub(super) standing: Standing,
    /// When the host began to join, and whether it has ever had a parent since.
    began: Nanos,
    pub joined: bool,
    /// Since when the host has had no parent because that one is gone.
    lost: Option<Nanos>,
    /// The host has left or failed.
    pub gone: bool,
    pub(super) failed: bool,
    pub(super) timer: Nanos,
    /// Orders to another parent.
    pub moves: u32,
}

/// Counts of events since the beginning.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Messages between hosts and dispatchers, without signs of life.
    pub messages: u64,
    /// Probes, there and back.
    pub probes: u64,
    /// Times from the beginning of a join to the parent's first answer.
    pub joins: Vec<Nanos>,
    /// Times from the end of a parent that failed or left until another one serves.
    pub repairs: Vec<Nanos>,
    /// Hosts that left or failed.
    pub gone: u64,
}

#[derive(Debug)]
pub(super) enum StreamTreeEvent {
    Timer(HostId),
    Begin(HostId),
    Farewell(HostId),
    Measured(HostId, u32, Vec<(HostId, Nanos)>),
    FromHost(HostId, ClusterLine<FromHost>),
    Gone(HostId, ClusterId),
    ToHost(HostId, ClusterLine<ToHost>),
    Dispatchers,
}

/// The hosts of a tree, and their dispatchers.
#[derive(Debug)]
pub struct StreamTree {
    pub now: Nanos,
    /// All hosts, including those that are gone.
    pub hosts: BTreeMap<HostId, StreamHost>,
    pub wires: Wires,
    pub counts: Counts,
    /// How long it takes others to notice a failure.
    pub silence: Nanos,
    dispatchers: Dispatchers,
    dispatchers_due: Nanos,
    /// How often each host had joined when the dispatchers heard it last.
    heard: BTreeMap<HostId, u32>,
    config: NodeConfig,
    /// Connections to be closed when all bytes are sent.
    pub(super) closing: BTreeSet<ConnEnd>,
    steps: EventQueue<StreamTreeEvent>,
}

fn token() -> Token {
    // Hexadecimal digits are a valid token.
    Token::parse("00").unwrap_or_else(|| unreachable!())
}

fn join_message(host: HostId, router: Option<usize>, capacity: u16) -> TreeJoin {
    let number = u32::try_from(host.0).unwrap_or(u32::MAX);
    let address = SocketAddr::from((Ipv4Addr::from(number), 1));
    let router = router.map(|router| RouterId(router as u64));
    TreeJoin { peer: Peer { host, address }, router, capacity, token: token(), name: String::new() }
}

impl StreamTree {
    pub fn new(
        wires: Wires, policy: Policy, config: NodeConfig, (attachment, capacity): (HostAttachment, u16),
        seed: u64,
    ) -> StreamTree {
        let source = join_message(SOURCE, Some(attachment.router), capacity);
        let mut stream = StreamTree {
            now: Nanos::ZERO,
            hosts: BTreeMap::new(),
            wires,
            counts: Counts::default(),
            silence: config.silence,
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

    /// Adds a host that joins at this time.
    pub fn join(&mut self, when: Nanos, attachment: HostAttachment, capacity: u16) -> HostId {
        let host = HostId(self.hosts.len() as u64);
        let node = TreeNode::new(NodeConfig { host, ..self.config }, StartAt::Offset(0));
        self.add(host, node, attachment, capacity);
        self.at(when, StreamTreeEvent::Begin(host));
        host
    }

    /// Lets a host leave, which serves its children until they have other parents.
    pub fn leave(&mut self, host: HostId) {
        let now = self.now;
        self.tell(host, |node| node.leave(now));
        self.at(now + FAREWELL, StreamTreeEvent::Farewell(host));
        self.act(host);
    }

    /// Lets a host fail: its peers and the dispatchers hear nothing of it any more.
    pub fn fail(&mut self, host: HostId) {
        self.wires.vanish(self.now, host, self.silence);
        self.hosts.entry(host).and_modify(|found| found.failed = true);
        self.end(host, self.silence);
    }

    pub fn parent(&self, host: HostId) -> Option<HostId> {
        self.hosts.get(&host).filter(|found| !found.gone)?.node.parent()
    }

    /// The hosts that are there, by number.
    pub fn present(&self) -> impl Iterator<Item = (HostId, &StreamHost)> {
        self.hosts.iter().filter(|(_, host)| !host.gone).map(|(&id, host)| (id, host))
    }

    /// The present hosts that have joined, except the source.
    pub fn members(&self) -> Vec<HostId> {
        self.present().filter(|(id, host)| *id != SOURCE && host.joined).map(|(id, _)| id).collect()
    }

    /// How many hosts each cluster has.
    pub fn clusters(&self) -> impl Iterator<Item = usize> + '_ {
        self.dispatchers.iter().map(|dispatcher| dispatcher.tree.len())
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
                if let Some(event) = self.wires.step() {
                    self.on_wire(event);
                }
            } else if let Some((_, what)) = self.steps.pop() {
                self.handle(what);
            }
        }
        self.now = end;
    }

    fn add(&mut self, host: HostId, mut node: TreeNode, attachment: HostAttachment, capacity: u16) {
        self.wires.add_host(host, attachment);
        let far = self.to_dispatchers(host);
        node.on_dispatchers_measured(far + far);
        let mut standing = Standing::new(host == SOURCE);
        standing.cluster = (host == SOURCE).then_some(self.dispatchers.root);
        let found = StreamHost {
            node,
            capacity,
            standing,
            began: Nanos::ZERO,
            joined: false,
            lost: None,
            gone: false,
            failed: false,
            timer: Nanos::MAX,
            moves: 0,
        };
        self.hosts.insert(host, found);
    }

    pub(super) fn at(&mut self, when: Nanos, what: StreamTreeEvent) {
        self.steps.schedule(when, what);
    }

    pub(super) fn node(&mut self, host: HostId) -> Option<&mut TreeNode> {
        self.hosts.get_mut(&host).filter(|found| !found.gone).map(|found| &mut found.node)
    }

    /// Lets a host's node do something, if the host is there.
    pub(super) fn tell(&mut self, host: HostId, what: impl FnOnce(&mut TreeNode)) {
        if let Some(node) = self.node(host) {
            what(node);
        }
    }

    pub(super) fn ask(&mut self, host: HostId, cluster: ClusterId) {
        if let Some(found) = self.hosts.get_mut(&host).filter(|found| !found.gone) {
            if !found.joined && cluster == self.dispatchers.root {
                found.began = self.now;
            }
            let card = join_message(host, self.wires.router(host), found.capacity);
            let line = found.standing.join(cluster, card);
            self.send(host, line);
        }
    }

    pub(super) fn report(&mut self, host: HostId, message: FromHost) {
        let now = self.now;
        let Some(found) = self.hosts.get_mut(&host) else { return };
        if let FromHost::Attached { .. } = message {
            self.counts.repairs.extend(found.lost.take().map(|lost| now - lost));
            let is_new = !std::mem::replace(&mut found.joined, true);
            self.counts.joins.extend(is_new.then_some(now - found.began));
        }
        if let Some(line) = found.standing.line(message) {
            self.send(host, line);
        }
    }

    fn send(&mut self, host: HostId, line: ClusterLine<FromHost>) {
        self.counts.messages += u64::from(line.message != FromHost::Alive);
        self.at(self.now + self.to_dispatchers(host), StreamTreeEvent::FromHost(host, line));
    }

    /// Ends a host's program; after this time the dispatchers notice that the connection to it is lost.
    fn end(&mut self, host: HostId, silence: Nanos) {
        let now = self.now;
        let Some(found) = self.hosts.get_mut(&host).filter(|found| !found.gone) else { return };
        found.gone = true;
        self.counts.gone += 1;
        let cluster = found.standing.cluster.unwrap_or(self.dispatchers.root);
        self.at(now + silence + self.to_dispatchers(host), StreamTreeEvent::Gone(host, cluster));
        for child in self.hosts.values_mut().filter(|found| !found.gone && found.node.parent() == Some(host))
        {
            child.lost.get_or_insert(now);
        }
    }

    /// Closes a host's connections and ends its program.
    pub(super) fn go(&mut self, host: HostId) {
        for conn in self.wires.of(host) {
            self.wires.finish(self.now, (host, conn));
        }
        self.end(host, Nanos::ZERO);
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
                if !found.gone && found.node.deadline() <= now {
                    found.node.on_time(now);
                }
                self.act(host);
            }
            StreamTreeEvent::Begin(host) => self.ask(host, self.dispatchers.root),
            StreamTreeEvent::Farewell(host) => self.go(host),
            StreamTreeEvent::Measured(host, joins, measured) => {
                if self.hosts.get(&host).is_some_and(|found| found.standing.joins == joins) {
                    self.report(host, FromHost::Measured(measured));
                }
            }
            StreamTreeEvent::FromHost(host, ClusterLine { cluster, joins, message }) => {
                // A sign of life alone makes nothing due earlier.
                let is_alive = message == FromHost::Alive;
                self.heard.insert(host, joins);
                let messages = self.dispatchers.on_host(now, cluster, host, message);
                if !is_alive || !messages.is_empty() {
                    self.carry(messages);
                }
            }
            StreamTreeEvent::Gone(host, cluster) => {
                let messages = self.dispatchers.on_gone(now, cluster, host);
                self.carry(messages);
            }
            StreamTreeEvent::ToHost(host, line) => self.obey(host, line),
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

    fn carry(&mut self, messages: Vec<HostMessage>) {
        self.counts.messages += messages.len() as u64;
        for HostMessage { cluster, host, message } in messages {
            let joins = self.heard.get(&host).copied().unwrap_or(0);
            let line = ClusterLine { cluster, joins, message };
            self.at(self.now + self.to_dispatchers(host), StreamTreeEvent::ToHost(host, line));
        }
        let due = self.dispatchers.deadline();
        if due < self.dispatchers_due {
            self.dispatchers_due = due;
            self.at(due, StreamTreeEvent::Dispatchers);
        }
    }

    fn obey(&mut self, host: HostId, line: ClusterLine<ToHost>) {
        let now = self.now;
        let Some(found) = self.hosts.get_mut(&host).filter(|found| !found.gone) else { return };
        let Some(message) = found.standing.order(line) else { return };
        match &message {
            ToHost::Place { .. } => found.moves += u32::from(found.joined),
            ToHost::Refused { code, .. } => {
                found.node.begin_again(now);
                if !found.node.is_leaving() {
                    let wait = if *code == RefusalCode::Ended { Nanos::ZERO } else { AGAIN };
                    self.at(now + wait, StreamTreeEvent::Begin(host));
                }
                return self.act(host);
            }
            _ => {}
        }
        found.node.on_order(now, message);
        self.act(host);
    }
}
