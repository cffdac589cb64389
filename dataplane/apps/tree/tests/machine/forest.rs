//! Dispatchers and hosts, and the messages between them: those of one pair in order, all others in any order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

use groupflow_base::Nanos;
use groupflow_base::Token;
use groupflow_tree::machine::{
    ClusterId, Dispatcher, Dispatchers, FromHost, HostId, HostMessage, ParentOrder, Peer, Policy,
    RefusalCode, RouterId, Ticket, ToHost, TreeJoin,
};

#[derive(Debug)]
enum TreeMessage {
    /// And which join of the host it comes after, or is.
    Up(FromHost, u32),
    /// And which join of the host it comes after.
    Down(ToHost, u32),
    /// The host's connection to its dispatcher is lost.
    Gone,
    /// The host's parent is gone, or its order is carried out.
    Parent(HostId),
    Connect {
        order: u32,
        parent: HostId,
        ticket: Ticket,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Host(HostId),
    Cluster(ClusterId),
}

#[derive(Debug)]
pub struct ForestHost {
    pub place: u64,
    pub router: Option<RouterId>,
    pub capacity: u16,
    pub cluster: ClusterId,
    pub parent: Option<HostId>,
    pub order: u32,
    /// The order is carried out.
    pub done: bool,
    /// The number of times that it has joined: messages from before the last time do not count.
    pub joins: u32,
    pub expected: Vec<(HostId, Ticket)>,
    pub refused: Option<RefusalCode>,
    /// The delay and the bound that it was told last.
    pub told: Option<(Nanos, Nanos)>,
}

pub const SOURCE: HostId = HostId(0);

pub struct Forest {
    pub now: Nanos,
    pub hosts: BTreeMap<HostId, ForestHost>,
    pub dispatchers: Dispatchers,
    pub policy: Policy,
    queues: BTreeMap<(Who, Who), VecDeque<TreeMessage>>,
    joined: BTreeMap<(ClusterId, HostId), u32>,
    next: u64,
    pub told: usize,
}

pub fn token() -> Token {
    Token::parse("c0ffee").expect("a token")
}

fn peer(host: HostId) -> Peer {
    Peer { host, address: SocketAddr::from(([10, 0, 0, 1], 4000)) }
}

impl Forest {
    pub fn new(policy: Policy, capacity: u16) -> Forest {
        let join =
            TreeJoin { peer: peer(SOURCE), router: None, capacity, token: token(), name: String::new() };
        let dispatchers = Dispatchers::new(policy, token(), &join, 1, Nanos::ZERO);
        let root = dispatchers.root;
        let host = |place| ForestHost {
            place,
            router: None,
            capacity,
            cluster: root,
            parent: None,
            order: 0,
            done: false,
            joins: 0,
            expected: Vec::new(),
            refused: None,
            told: None,
        };
        Forest {
            now: Nanos::ZERO,
            hosts: BTreeMap::from([(SOURCE, host(500))]),
            dispatchers,
            policy,
            queues: BTreeMap::new(),
            joined: BTreeMap::new(),
            next: 1,
            told: 0,
        }
    }

    /// A host comes to the root.
    pub fn join(&mut self, place: u64, router: Option<u64>, capacity: u16) -> HostId {
        let host = HostId(self.next);
        self.next += 1;
        let router = router.map(RouterId);
        let (cluster, parent, order, done, refused) = (self.dispatchers.root, None, 0, false, None);
        let (joins, expected, told) = (0, Vec::new(), None);
        let new = ForestHost {
            place,
            router,
            capacity,
            cluster,
            parent,
            order,
            done,
            joins,
            expected,
            refused,
            told,
        };
        self.hosts.insert(host, new);
        self.ask(host);
        host
    }

    /// Those that are to try again do.
    pub fn retry(&mut self) {
        let busy = |host: &ForestHost| host.refused == Some(RefusalCode::Busy);
        let busy: Vec<HostId> = self.hosts.iter().filter(|(_, h)| busy(h)).map(|(&host, _)| host).collect();
        let root = self.dispatchers.root;
        for host in busy {
            let found = self.hosts.get_mut(&host).expect("a host");
            found.cluster = root;
            self.ask(host);
        }
    }

    fn ask(&mut self, host: HostId) {
        let joining = self.hosts.get_mut(&host).expect("a host");
        (joining.joins, joining.refused) = (joining.joins + 1, None);
        let ForestHost { router, capacity, cluster, joins, .. } = *joining;
        let join = FromHost::Join(TreeJoin {
            peer: peer(host),
            router,
            capacity,
            token: token(),
            name: String::new(),
        });
        self.send(Who::Host(host), Who::Cluster(cluster), TreeMessage::Up(join, joins));
    }

    pub fn say(&mut self, host: HostId, message: FromHost) {
        if let Some((cluster, joins)) = self.hosts.get(&host).map(|h| (h.cluster, h.joins)) {
            self.send(Who::Host(host), Who::Cluster(cluster), TreeMessage::Up(message, joins));
        }
    }

    /// A host fails. Its dispatcher and its children get to know of it some time.
    pub fn kill(&mut self, host: HostId) {
        let Some(dead) = self.hosts.remove(&host) else { return };
        self.send(Who::Host(host), Who::Cluster(dead.cluster), TreeMessage::Gone);
        let children: Vec<HostId> = self.children(host);
        for child in children {
            self.send(Who::Host(host), Who::Host(child), TreeMessage::Parent(host));
        }
    }

    /// The dispatchers die and are made again from their stored states; messages between them and the hosts
    /// are lost.
    pub fn replace(&mut self) {
        let stored = |dispatcher: &Dispatcher| serde_json::to_string(dispatcher).expect("JSON");
        let restored = |state: String| serde_json::from_str(&state).expect("the same");
        let states = self.dispatchers.iter().map(stored).map(restored).collect();
        // Else there would be two of each name.
        let seed = 2 + self.told as u64;
        let again = Dispatchers::resume(states, self.policy, token(), seed, self.now);
        self.dispatchers = again.expect("with the root");
        let with_host = |pair: &(Who, Who)| {
            matches!(pair, (Who::Host(_), Who::Cluster(_)) | (Who::Cluster(_), Who::Host(_)))
        };
        self.queues.retain(|pair, _| !with_host(pair));
        for id in self.dispatchers.iter().map(|found| found.id).collect::<Vec<_>>() {
            self.come_back(id);
        }
    }

    /// The hosts of a cluster say where they are.
    fn come_back(&mut self, id: ClusterId) {
        for (host, (order, done)) in self.hosts_of(id) {
            match order {
                0 if host == SOURCE => self.say(host, FromHost::Back { order: 0, attached: true }),
                0 => self.ask(host),
                order => {
                    self.say(host, FromHost::Back { order, attached: done });
                    let is_last = |message: &TreeMessage| match message {
                        TreeMessage::Connect { order: last, .. } => *last == order,
                        _ => false,
                    };
                    let own = self.queues.get(&(Who::Host(host), Who::Host(host)));
                    let under_way = own.is_some_and(|queue| queue.iter().any(is_last));
                    if !under_way && self.hosts[&host].parent.is_none() {
                        self.say(host, FromHost::Lost { order, gone: false });
                    }
                }
            }
        }
    }

    fn hosts_of(&self, id: ClusterId) -> Vec<(HostId, (u32, bool))> {
        let of_it = self.hosts.iter().filter(|(_, h)| h.cluster == id && h.refused.is_none());
        of_it.map(|(&host, h)| (host, (h.order, h.done))).collect()
    }

    pub fn children(&self, host: HostId) -> Vec<HostId> {
        self.hosts.iter().filter(|(_, h)| h.parent == Some(host)).map(|(&child, _)| child).collect()
    }

    pub fn under_way(&self) -> usize {
        self.queues.len()
    }

    /// Carries one message of the queues.
    pub fn carry(&mut self, choice: usize) -> bool {
        let Some(pair) = self.queues.keys().nth(choice % self.queues.len().max(1)).copied() else {
            return false;
        };
        let queue = self.queues.get_mut(&pair).expect("a queue");
        let message = queue.pop_front().expect("a message");
        if queue.is_empty() {
            self.queues.remove(&pair);
        }
        self.take(pair, message);
        true
    }

    /// All that is under way is carried, and all that times out does.
    pub fn settle(&mut self) {
        for round in 0..12 {
            self.carry_all();
            if round < 10 {
                self.pass(Nanos(self.policy.patience.0 / 2));
            }
        }
        self.check();
    }

    /// Lets time pass, after all hosts gave a sign of life.
    pub fn pass(&mut self, time: Nanos) {
        for host in self.hosts.keys().copied().collect::<Vec<_>>() {
            self.say(host, FromHost::Alive);
        }
        self.carry_all();
        self.now += time;
        self.on_time();
    }

    /// Carries all messages, in an order in which no queue waits for ever (Fibonacci hashing): a host that is
    /// sent to an ended cluster begins again until that end is known.
    fn carry_all(&mut self) {
        let mut carried = 0_usize;
        while self.carry(carried.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) {
            carried += 1;
            assert!(carried < 200_000, "messages for ever");
            if carried % 16 == 0 {
                self.check();
            }
        }
    }

    fn on_time(&mut self) {
        if self.dispatchers.deadline() <= self.now {
            let told = self.dispatchers.on_time(self.now);
            self.collect(told);
        }
    }

    fn send(&mut self, from: Who, to: Who, message: TreeMessage) {
        self.told += 1;
        self.queues.entry((from, to)).or_default().push_back(message);
    }

    fn take(&mut self, (from, to): (Who, Who), message: TreeMessage) {
        let now = self.now;
        match (from, to, message) {
            (Who::Host(host), Who::Cluster(id), TreeMessage::Up(message, joins)) => {
                if self.dispatchers.get(id).is_none() {
                    return self.begin_again(host);
                }
                if matches!(message, FromHost::Join(_)) {
                    self.joined.insert((id, host), joins);
                }
                let told = self.dispatchers.on_host(now, id, host, message);
                self.collect(told);
            }
            (Who::Host(host), Who::Cluster(id), TreeMessage::Gone) => {
                let told = self.dispatchers.on_gone(now, id, host);
                self.collect(told);
            }
            (Who::Cluster(id), Who::Host(host), TreeMessage::Down(message, join)) => {
                if self.hosts.get(&host).is_some_and(|h| h.joins == join) {
                    self.obey(host, id, message);
                }
            }
            (_, Who::Host(host), TreeMessage::Connect { order, parent, ticket }) => {
                self.connect(host, order, parent, ticket)
            }
            (_, Who::Host(host), TreeMessage::Parent(parent)) => {
                if let Some(child) =
                    self.hosts.get_mut(&host).filter(|h| h.parent.map_or(true, |p| p == parent))
                {
                    (child.parent, child.done) = (None, false);
                    let order = child.order;
                    self.say(host, FromHost::Lost { order, gone: false });
                }
            }
            other => panic!("{other:?}"),
        }
    }

    fn begin_again(&mut self, host: HostId) {
        let root = self.dispatchers.root;
        if host != SOURCE && self.hosts.get(&host).is_some_and(|lost| lost.cluster != root) {
            self.begin(host, root);
        }
    }

    /// Joins a cluster, and lets go of everything before.
    fn begin(&mut self, host: HostId, cluster: ClusterId) {
        for child in self.children(host) {
            self.hosts.get_mut(&child).expect("a child").parent = None;
            self.send(Who::Host(host), Who::Host(child), TreeMessage::Parent(host));
        }
        let new = self.hosts.get_mut(&host).expect("a host");
        (new.cluster, new.order, new.parent, new.done) = (cluster, 0, None, false);
        new.expected.clear();
        self.ask(host);
    }

    fn obey(&mut self, host: HostId, from: ClusterId, message: ToHost) {
        let Some(at) = self.hosts.get(&host).filter(|h| h.cluster == from) else { return };
        let latency =
            |other: &HostId| Some(Nanos::from_millis(self.hosts.get(other)?.place.abs_diff(at.place)));
        match message {
            ToHost::Probe(peers) => {
                let measured = peers.iter().filter_map(|p| Some((p.host, latency(&p.host)?))).collect();
                self.say(host, FromHost::Measured(measured));
            }
            ToHost::Redirect(cluster) => {
                self.begin(host, cluster);
            }
            ToHost::Place { order, parent, ticket } => {
                // Connecting takes a while, and orders may be carried out after later ones came.
                let obeys = self.hosts.get_mut(&host).expect("a host");
                (obeys.order, obeys.done) = (order, false);
                let message = TreeMessage::Connect { order, parent: parent.host, ticket };
                self.send(Who::Host(host), Who::Host(host), message);
            }
            ToHost::Refused { code: RefusalCode::Ended, .. } => self.begin_again(host),
            ToHost::Refused { code, .. } => self.hosts.get_mut(&host).expect("a host").refused = Some(code),
            ToHost::Expect { child, ticket } => {
                let expects = &mut self.hosts.get_mut(&host).expect("a host").expected;
                expects.retain(|(other, _)| *other != child);
                expects.push((child, ticket));
            }
            ToHost::Delay { delay, bound } => {
                self.hosts.get_mut(&host).expect("a host").told = Some((delay, bound));
            }
            ToHost::Forget { .. } | ToHost::Gone | ToHost::Released => {}
        }
    }

    /// As long as a parent may yet hear of a child, that tries again.
    fn connect(&mut self, host: HostId, order: u32, parent: HostId, ticket: Ticket) {
        let expects = |at: &ForestHost| at.expected.contains(&(host, ticket));
        let is_told = |message: &TreeMessage| match message {
            TreeMessage::Down(ToHost::Expect { ticket: told, .. }, _) => *told == ticket,
            _ => false,
        };
        let is_expected = self.hosts.get(&parent).is_some_and(expects);
        let will_be =
            self.queues.iter().any(|((_, to), queue)| *to == Who::Host(parent) && queue.iter().any(is_told));
        if !is_expected && will_be && self.hosts.contains_key(&parent) {
            let again = TreeMessage::Connect { order, parent, ticket };
            return self.send(Who::Host(host), Who::Host(host), again);
        }
        let latency = self.hosts.get(&parent).filter(|_| is_expected).zip(self.hosts.get(&host));
        let latency = latency.map(|(a, b)| Nanos::from_millis(a.place.abs_diff(b.place)));
        let Some(child) = self.hosts.get_mut(&host).filter(|h| h.order == order) else { return };
        (child.parent, child.done) = (latency.map(|_| parent), latency.is_some());
        self.say(
            host,
            latency.map_or(FromHost::Lost { order, gone: false }, |latency| FromHost::Attached {
                order,
                latency,
            }),
        );
    }

    fn collect(&mut self, told: Vec<HostMessage>) {
        for HostMessage { cluster, host, message } in told {
            let join = self.joined.get(&(cluster, host)).copied().unwrap_or(0);
            self.send(Who::Cluster(cluster), Who::Host(host), TreeMessage::Down(message, join))
        }
    }

    /// Checks that must always hold: connections have no cycle, and all bounds are kept.
    pub fn check(&self) {
        for &host in self.hosts.keys() {
            let (mut at, mut seen) = (host, BTreeSet::new());
            while let Some(parent) = self.hosts.get(&at).and_then(|h| h.parent) {
                assert!(seen.insert(at), "{host} is in a cycle");
                at = parent;
            }
        }
        for dispatcher in self.dispatchers.iter() {
            let tree = &dispatcher.tree;
            assert!(tree.len() <= self.policy.max_members);
            assert!(dispatcher.joining() <= self.policy.max_joins);
            assert!(dispatcher.below.len() <= 2 * self.policy.max_clusters);
            assert!(tree.iter().filter(|(_, m)| m.place == ParentOrder::Outside).count() <= 1, "two heads");
            for (host, member) in tree.iter() {
                if let ParentOrder::Host(parent) = member.place {
                    assert!(!tree.is_below(parent, host), "a cycle was ordered");
                }
            }
        }
    }

    /// Whether a host's connections lead to the source.
    pub fn receives(&self, host: HostId) -> bool {
        let parent = |at: &HostId| self.hosts.get(at)?.parent;
        // A cycle has no end, and none of its hosts receives.
        let path = std::iter::successors(Some(host), parent).take(self.hosts.len());
        path.last() == Some(SOURCE)
    }
}
