//! Hosts and dispatchers in virtual time, with messages, and connections that take round trips, but without a
//! stream.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use groupflow_base::events::EventQueue;
use groupflow_base::{Nanos, Token};

use super::routers::Routers;
use crate::machine::{
    ClusterId, Dispatcher, Dispatchers, FromHost, HostId, HostMessage, Peer, Policy, RefusalCode, RouterId,
    ToHost, TreeJoin,
};

pub const SOURCE: HostId = HostId(0);
/// Time after which a refused host tries again.
const RETRY: Nanos = Nanos::from_millis(1000);
/// Time between two signs of life.
const ALIVE: Nanos = Nanos::from_millis(500);
/// How long a host that leaves still serves its children.
const LINGER: Nanos = Nanos::from_millis(2000);

#[derive(Debug, Clone)]
pub struct OverlayHost {
    /// The router to which the host is attached.
    pub router: usize,
    /// Latency to the router, one way.
    pub access: Nanos,
    /// How many children the host offers to serve.
    pub capacity: u16,
    /// The host's parent, while it is connected.
    pub parent: Option<HostId>,
    cluster: ClusterId,
    order: u32,
    /// How often the host has joined a cluster: messages to an earlier join are ignored.
    joins: u32,
    began: Nanos,
    /// Whether the host has ever had a parent, and so is in the tree.
    pub joined: bool,
    /// Since when the host has had no parent.
    lost: Option<Nanos>,
}

#[derive(Debug, Clone)]
enum OverlayEvent {
    Begin,
    FromHost(HostId, ClusterId, u32, FromHost),
    ToHost(ClusterId, u32, ToHost),
    Connected { order: u32, parent: HostId },
    ParentGone(HostId),
    Silent(ClusterId),
    Ended,
    Tick,
}

/// Counts of events since the beginning.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Messages between hosts and dispatchers.
    pub messages: u64,
    /// Probes, there and back.
    pub probes: u64,
    /// Times from the beginning of a join to the parent's first answer.
    pub joins: Vec<Nanos>,
    /// Times from a parent's failure or departure until another serves; 0 if the new one did so before the
    /// old one was gone.
    pub repairs: Vec<Nanos>,
    /// Orders that hosts got, except the first of each.
    pub moves: u64,
    /// Hosts that left.
    pub gone: u64,
}

/// The hosts and dispatchers of one tree over a network of routers.
pub struct Overlay<'a> {
    routers: &'a Routers,
    /// How long it takes others to notice a failure.
    silence: Nanos,
    pub now: Nanos,
    pub hosts: BTreeMap<HostId, OverlayHost>,
    dispatchers: Dispatchers,
    /// The router beside which each dispatcher runs: that of the host that founded its cluster.
    seats: BTreeMap<ClusterId, usize>,
    events: EventQueue<(HostId, OverlayEvent)>,
    /// The last join of a host that a dispatcher heard of.
    joined: BTreeMap<(ClusterId, HostId), u32>,
    next_host: u64,
    pub counts: Counts,
}

pub(super) fn token() -> Token {
    // Hexadecimal digits are a valid token.
    Token::parse("00").unwrap_or_else(|| unreachable!())
}

pub(super) fn join_message(host: HostId, router: Option<usize>, capacity: u16) -> TreeJoin {
    let number = u32::try_from(host.0).unwrap_or(u32::MAX);
    let address = SocketAddr::from((Ipv4Addr::from(number), 1));
    let router = router.map(|router| RouterId(router as u64));
    TreeJoin { peer: Peer { host, address }, router, capacity, token: token() }
}

impl<'a> Overlay<'a> {
    /// A tree with only its source, at that router.
    pub fn new(
        routers: &'a Routers, policy: Policy, silence: Nanos, source: usize, capacity: u16,
    ) -> Overlay<'a> {
        let join = join_message(SOURCE, Some(source), capacity);
        let dispatchers = Dispatchers::new(policy, token(), &join, 1, Nanos::ZERO);
        let seats = BTreeMap::from([(dispatchers.root(), source)]);
        let mut overlay = Overlay {
            routers,
            silence,
            now: Nanos::ZERO,
            hosts: BTreeMap::new(),
            dispatchers,
            seats,
            events: EventQueue::default(),
            joined: BTreeMap::new(),
            next_host: 0,
            counts: Counts::default(),
        };
        overlay.add_host(source, Nanos::from_micros(200), capacity);
        overlay.at(ALIVE, SOURCE, OverlayEvent::Tick);
        overlay
    }

    /// Lets a host join at that time.
    pub fn join(&mut self, when: Nanos, router: usize, access: Nanos, capacity: u16) -> HostId {
        let host = self.add_host(router, access, capacity);
        self.at(when, host, OverlayEvent::Begin);
        host
    }

    /// Lets a host fail now.
    pub fn fail(&mut self, host: HostId) {
        self.go(host, self.silence);
    }

    /// Lets a host leave, which serves its children for a while.
    pub fn leave(&mut self, host: HostId) {
        if self.hosts.contains_key(&host) {
            self.send(host, FromHost::Leave);
            self.at(self.now + LINGER, host, OverlayEvent::Ended);
        }
    }

    pub fn run_until(&mut self, end: Nanos) {
        while let Some((time, (host, what))) = self.events.pop_due(end) {
            self.now = time;
            self.handle(host, what);
        }
        self.now = end;
    }

    /// Latency from one host to another, one way.
    pub fn latency(&self, a: &OverlayHost, b: &OverlayHost) -> Nanos {
        self.routers.latency(a.router, b.router) + a.access + b.access
    }

    pub fn clusters(&self) -> impl Iterator<Item = &Dispatcher> {
        self.dispatchers.iter()
    }

    /// The present hosts that have joined, except the source.
    pub fn members(&self) -> Vec<HostId> {
        self.hosts.iter().filter(|(&id, host)| id != SOURCE && host.joined).map(|(&id, _)| id).collect()
    }

    fn add_host(&mut self, router: usize, access: Nanos, capacity: u16) -> HostId {
        let id = HostId(self.next_host);
        self.next_host += 1;
        let (parent, cluster, began) = (None, self.dispatchers.root(), self.now);
        let host = OverlayHost {
            router,
            access,
            capacity,
            parent,
            cluster,
            order: 0,
            joins: 0,
            began,
            joined: false,
            lost: None,
        };
        self.hosts.insert(id, host);
        id
    }

    fn join_message(&self, host: HostId) -> TreeJoin {
        let found = &self.hosts[&host];
        join_message(host, Some(found.router), found.capacity)
    }

    fn at(&mut self, when: Nanos, host: HostId, what: OverlayEvent) {
        self.events.schedule(when, (host, what));
    }

    /// Sends a host's message to its dispatcher.
    fn send(&mut self, host: HostId, message: FromHost) {
        let Some(found) = self.hosts.get(&host) else { return };
        let (cluster, joins, way) = (found.cluster, found.joins, self.to_cluster(found));
        self.counts.messages += 1;
        self.at(self.now + way, host, OverlayEvent::FromHost(host, cluster, joins, message));
    }

    fn to_cluster(&self, host: &OverlayHost) -> Nanos {
        let at = self.seats.get(&host.cluster);
        at.map_or(Nanos::ZERO, |&router| self.routers.latency(host.router, router) + host.access)
    }

    fn handle(&mut self, host: HostId, what: OverlayEvent) {
        match what {
            OverlayEvent::Begin => self.begin(host, self.dispatchers.root()),
            OverlayEvent::FromHost(from, cluster, joins, message) => {
                if self.dispatchers.get(cluster).is_none() {
                    return self.begin_again(from);
                }
                self.joined.insert((cluster, from), joins);
                let messages = self.dispatchers.on_host(self.now, cluster, from, message);
                self.collect(messages);
            }
            OverlayEvent::ToHost(from, joins, message) => {
                if self.hosts.get(&host).is_some_and(|found| found.joins == joins) {
                    self.obey(host, from, message);
                }
            }
            OverlayEvent::Connected { order, parent } => self.connected(host, order, parent),
            OverlayEvent::ParentGone(parent) => self.parent_gone(host, parent),
            OverlayEvent::Silent(cluster) => {
                let messages = self.dispatchers.on_gone(self.now, cluster, host);
                self.collect(messages);
            }
            OverlayEvent::Ended => self.go(host, Nanos::ZERO),
            OverlayEvent::Tick => self.tick(),
        }
    }

    /// Signs of life are neither sent one by one nor counted.
    fn tick(&mut self) {
        let alive: Vec<(HostId, ClusterId)> =
            self.hosts.iter().map(|(&id, host)| (id, host.cluster)).collect();
        for (host, cluster) in alive {
            if self.dispatchers.get(cluster).is_some_and(|each| each.tree().get(host).is_some()) {
                let messages = self.dispatchers.on_host(self.now, cluster, host, FromHost::Alive);
                self.collect(messages);
            }
        }
        if self.dispatchers.deadline() <= self.now {
            let messages = self.dispatchers.on_time(self.now);
            self.collect(messages);
        }
        self.at(self.now + ALIVE, SOURCE, OverlayEvent::Tick);
    }

    fn begin_again(&mut self, host: HostId) {
        if host != SOURCE {
            self.begin(host, self.dispatchers.root());
        }
    }

    /// Lets a host join a cluster, and leave everything before.
    fn begin(&mut self, host: HostId, cluster: ClusterId) {
        let (now, root) = (self.now, self.dispatchers.root());
        let Some(found) = self.hosts.get_mut(&host) else { return };
        if !found.joined && cluster == root {
            found.began = now;
        }
        if found.parent.take().is_some() {
            found.lost = Some(now);
        }
        (found.cluster, found.order) = (cluster, 0);
        found.joins += 1;
        let children: Vec<HostId> =
            self.hosts.iter().filter(|(_, h)| h.parent == Some(host)).map(|(&id, _)| id).collect();
        for child in children {
            self.parent_gone(child, host);
        }
        let join = self.join_message(host);
        self.send(host, FromHost::Join(join));
    }

    fn obey(&mut self, host: HostId, from: ClusterId, message: ToHost) {
        let Some(found) = self.hosts.get(&host).filter(|found| found.cluster == from) else { return };
        match message {
            ToHost::Probe(peers) => {
                let there = peers
                    .iter()
                    .filter_map(|p| Some((p.host, self.latency(self.hosts.get(&p.host)?, found))));
                let measured: Vec<(HostId, Nanos)> = there.collect();
                // The round-trip time to the farthest host.
                let longest = measured.iter().map(|&(_, latency)| latency).max().unwrap_or(Nanos::ZERO);
                let way = self.to_cluster(found);
                self.counts.probes += 2 * measured.len() as u64;
                self.counts.messages += 1;
                let answer = OverlayEvent::FromHost(host, from, found.joins, FromHost::Measured(measured));
                self.at(self.now + longest + longest + way, host, answer);
            }
            ToHost::Redirect(cluster) => self.begin(host, cluster),
            ToHost::Place { order, parent, .. } => {
                let moves = u64::from(found.joined);
                // Connecting takes one round trip, HELLO and WELCOME take another.
                let latency = self.hosts.get(&parent.host).map_or(self.silence, |p| self.latency(p, found));
                if let Some(found) = self.hosts.get_mut(&host) {
                    found.order = order;
                }
                self.counts.moves += moves;
                self.at(
                    self.now + Nanos(4 * latency.0),
                    host,
                    OverlayEvent::Connected { order, parent: parent.host },
                );
            }
            ToHost::Refused { code: RefusalCode::Ended, .. } => self.begin_again(host),
            ToHost::Refused { .. } => self.at(self.now + RETRY, host, OverlayEvent::Begin),
            ToHost::Expect { .. } | ToHost::Forget { .. } | ToHost::Delay { .. } => {}
            ToHost::Gone | ToHost::Released => {}
        }
    }

    fn connected(&mut self, host: HostId, order: u32, parent: HostId) {
        let latency = self.hosts.get(&parent).zip(self.hosts.get(&host)).map(|(a, b)| self.latency(a, b));
        let now = self.now;
        let Some(found) = self.hosts.get_mut(&host).filter(|found| found.order == order) else { return };
        let Some(latency) = latency else {
            found.lost = found.lost.or(Some(now)).filter(|_| found.joined);
            found.parent = None;
            return self.send(host, FromHost::Lost { order, gone: false });
        };
        found.parent = Some(parent);
        if let Some(lost) = found.lost.take() {
            self.counts.repairs.push(now - lost);
        }
        if !std::mem::replace(&mut found.joined, true) {
            self.counts.joins.push(now - found.began);
        }
        self.send(host, FromHost::Attached { order, latency });
    }

    fn parent_gone(&mut self, host: HostId, parent: HostId) {
        let now = self.now;
        let Some(found) = self.hosts.get_mut(&host).filter(|found| found.parent == Some(parent)) else {
            return;
        };
        found.parent = None;
        found.lost = found.lost.or(Some(now));
        let order = found.order;
        self.send(host, FromHost::Lost { order, gone: false });
    }

    /// Removes a host; others notice after `silence`.
    fn go(&mut self, host: HostId, silence: Nanos) {
        let Some(gone) = self.hosts.remove(&host) else { return };
        self.counts.gone += 1;
        let now = self.now;
        self.at(now + silence + self.to_cluster(&gone), host, OverlayEvent::Silent(gone.cluster));
        let children: Vec<HostId> =
            self.hosts.iter().filter(|(_, h)| h.parent == Some(host)).map(|(&id, _)| id).collect();
        for child in children {
            let way = self.latency(&self.hosts[&child], &gone);
            if let Some(found) = self.hosts.get_mut(&child) {
                found.lost = found.lost.or(Some(now));
            }
            self.at(now + silence + way, child, OverlayEvent::ParentGone(host));
        }
    }

    /// Carries the messages of dispatchers to hosts.
    fn collect(&mut self, messages: Vec<HostMessage>) {
        for HostMessage { cluster, host, message } in messages {
            let Some(found) = self.hosts.get(&host) else { continue };
            if let ToHost::Redirect(to) = &message {
                // The founder of a cluster is the first that is sent there.
                self.seats.entry(*to).or_insert(found.router);
            }
            let seat = self.seats.get(&cluster).copied().unwrap_or(found.router);
            let way = self.routers.latency(found.router, seat) + found.access;
            self.counts.messages += 1;
            let joins = self.joined.get(&(cluster, host)).copied().unwrap_or(0);
            self.at(self.now + way, host, OverlayEvent::ToHost(cluster, joins, message));
        }
    }
}
