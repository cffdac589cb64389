//! A clustered tree and its stream in virtual time. The machines of [`crate::machine`] are driven as
//! `gfagent` and the dispatchers' service drive them, over [`Wires`].
//!
//! Here are the hosts and their dialogue with the dispatchers; [`super::drive`] is the loop around a node.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};

use groupflow_base::events::EventQueue;
use groupflow_base::{Nanos, Token};

use super::wires::{ConnEnd, HostAttachment, Wires};
use crate::machine::{
    ClusterId, Dispatchers, FromHost, HostId, HostMessage, NodeConfig, Peer, Policy, RefusalCode, RouterId,
    StartAt, ToHost, TreeJoin, TreeNode,
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
    cluster: ClusterId,
    order: u32,
    /// How often the host has joined: messages to an earlier join are ignored.
    pub(super) joins: u32,
    /// When the host began to join, and whether it has ever had a parent since.
    began: Nanos,
    pub joined: bool,
    /// Since when the host has had no parent because that one is gone.
    lost: Option<Nanos>,
    /// The host has left or failed.
    pub gone: bool,
    pub(super) failed: bool,
    pub(super) timer: Nanos,
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
    pub wires: Wires,
    /// Reports that data accumulate for a child: the time, the host and the child.
    pub reports: Vec<(Nanos, HostId, HostId)>,
    pub counts: Counts,
    /// How long it takes others to notice a failure.
    pub silence: Nanos,
    dispatchers: Dispatchers,
    dispatchers_due: Nanos,
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
        let source = join_message(SOURCE, attachment.router, capacity);
        let mut stream = StreamTree {
            now: Nanos::ZERO,
            hosts: BTreeMap::new(),
            wires,
            reports: Vec::new(),
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

    /// Adds a host that joins at this time, to receive the whole stream.
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

    /// Writes bytes at the source; returns how many were taken.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let now = self.now;
        let taken = self.hosts.get_mut(&SOURCE).map_or(0, |source| source.node.write(now, bytes));
        self.act(SOURCE);
        taken
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
        let cluster = self.dispatchers.root;
        let found = StreamHost {
            node,
            capacity,
            cluster,
            order: 0,
            joins: 0,
            began: Nanos::ZERO,
            joined: false,
            lost: None,
            gone: false,
            failed: false,
            timer: Nanos::MAX,
            read: 0,
            skipped: 0,
            moves: 0,
            broken: None,
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
            found.cluster = cluster;
            found.order = 0;
            found.joins += 1;
            let join = join_message(host, self.wires.router(host), found.capacity);
            self.report(host, FromHost::Join(join));
        }
    }

    pub(super) fn report(&mut self, host: HostId, message: FromHost) {
        let now = self.now;
        let Some(found) = self.hosts.get_mut(&host) else { return };
        match &message {
            FromHost::Backlog { child } => self.reports.push((now, host, *child)),
            FromHost::Attached { .. } => {
                self.counts.repairs.extend(found.lost.take().map(|lost| now - lost));
                let is_new = !std::mem::replace(&mut found.joined, true);
                self.counts.joins.extend(is_new.then_some(now - found.began));
            }
            _ => {}
        }
        self.counts.messages += u64::from(message != FromHost::Alive);
        let what = StreamTreeEvent::FromHost(host, found.cluster, found.joins, Some(message));
        self.at(now + self.to_dispatchers(host), what);
    }

    /// Ends a host's program; after this time the dispatchers notice that the connection to it is lost.
    fn end(&mut self, host: HostId, silence: Nanos) {
        let now = self.now;
        let Some(found) = self.hosts.get_mut(&host).filter(|found| !found.gone) else { return };
        found.gone = true;
        self.counts.gone += 1;
        let what = StreamTreeEvent::FromHost(host, found.cluster, found.joins, None);
        self.at(now + silence + self.to_dispatchers(host), what);
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
                if self.hosts.get(&host).is_some_and(|found| found.joins == joins) {
                    self.report(host, FromHost::Measured(measured));
                }
            }
            StreamTreeEvent::FromHost(host, cluster, joins, message) => {
                // A sign of life alone makes nothing due earlier.
                let is_alive = message == Some(FromHost::Alive);
                let messages = match message {
                    Some(message) => {
                        self.heard.insert(host, joins);
                        self.dispatchers.on_host(now, cluster, host, message)
                    }
                    None => self.dispatchers.on_gone(now, cluster, host),
                };
                if !is_alive || !messages.is_empty() {
                    self.carry(messages);
                }
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

    fn carry(&mut self, messages: Vec<HostMessage>) {
        self.counts.messages += messages.len() as u64;
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
        let here = |found: &&mut StreamHost| found.joins == joins && found.cluster == cluster && !found.gone;
        let Some(found) = self.hosts.get_mut(&host).filter(here) else { return };
        match &message {
            ToHost::Place { order, .. } => {
                found.moves += u32::from(found.joined);
                found.order = *order;
            }
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
