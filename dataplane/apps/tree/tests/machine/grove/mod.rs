//! Clusters: their dispatchers, nodes, and connections that carry what they like, and break.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

use groupflow_base::Nanos;
use groupflow_tree::machine::{
    ClusterId, ConnId, Dispatcher, Dispatchers, FromHost, HostId, HostMessage, NodeAction, NodeConfig, Peer,
    Policy, ReadItem, RefusalCode, StartAt, ToHost, TreeJoin, TreeNode,
};

use super::forest::{token, SOURCE};

mod absence;
mod checks;
mod messages;
mod wires;

/// Bytes that a connection's sockets hold.
const SOCKET: usize = 3000;
/// The place of the source. Two hosts are as many milliseconds from each other as their places are apart.
pub const MIDDLE: u64 = 500;
/// A refused host begins again after this time.
const AGAIN: Nanos = Nanos::from_millis(100);

pub struct NodeReader {
    pub node: TreeNode,
    /// Bytes that the host read, all of them the stream's; and the offset of the next.
    pub count: usize,
    pub at: Option<u64>,
    pub skips: usize,
    pub ended: bool,
    pub broken: bool,
    pub cluster: ClusterId,
    place: u64,
    capacity: u16,
    /// How often the host has joined: messages to an earlier join do not count.
    joins: u32,
    /// The host's last order, and whether it is carried out.
    order: u32,
    attached: bool,
    /// The host was connected to a parent once.
    placed: bool,
    /// The host had a place, and found none with room when it joined again.
    pub refused: bool,
    /// When the host joins again.
    again: Option<Nanos>,
    /// Since when the host is away, and whether it does nothing meanwhile.
    pub away: Option<(Nanos, bool)>,
}

/// A message of a host to a cluster's dispatcher, and the number of the host's joins; `None`: the host's
/// connection is lost.
struct Upward {
    host: HostId,
    cluster: ClusterId,
    joins: u32,
    message: Option<FromHost>,
}

struct Down {
    told: HostMessage,
    joins: u32,
}

struct WirePair {
    ends: [(HostId, ConnId); 2],
    /// From the first to the second, and back.
    bytes: [VecDeque<u8>; 2],
    closing: [bool; 2],
    /// From the second to the first.
    carried: usize,
}

pub struct Grove {
    pub now: Nanos,
    pub nodes: BTreeMap<HostId, NodeReader>,
    pub written: u64,
    pub dispatchers: Dispatchers,
    /// Whether the dispatchers run.
    pub are_present: bool,
    /// Hosts that were sent from one cluster to another.
    pub redirected: usize,
    /// How often the dispatchers were replaced.
    pub replaced: usize,
    policy: Policy,
    wires: Vec<WirePair>,
    /// On the way to dispatchers.
    told: VecDeque<Upward>,
    /// On the way to hosts.
    orders: VecDeque<Down>,
    /// After how many joins of a host the dispatchers heard of it last.
    heard: BTreeMap<HostId, u32>,
    /// Ends of connections that are lost, of hosts that are away.
    lost_ends: Vec<(HostId, ConnId)>,
    config: NodeConfig,
    next: u64,
}

pub fn byte(offset: u64) -> u8 {
    (offset.wrapping_mul(31) ^ (offset >> 8).wrapping_mul(17)) as u8
}

fn peer(host: HostId) -> Peer {
    Peer { host, address: SocketAddr::from(([10, 0, 0, 1], 4000)) }
}

fn reader(node: TreeNode, cluster: ClusterId, place: u64, capacity: u16) -> NodeReader {
    NodeReader {
        node,
        count: 0,
        at: None,
        skips: 0,
        ended: false,
        broken: false,
        cluster,
        place,
        capacity,
        joins: 0,
        order: 0,
        attached: false,
        placed: false,
        refused: false,
        again: None,
        away: None,
    }
}

fn is_away(nodes: &BTreeMap<HostId, NodeReader>, host: HostId) -> bool {
    nodes.get(&host).is_some_and(|found| found.away.is_some())
}

/// Takes so many items of a queue that may be taken.
fn take_of<T>(queue: &mut VecDeque<T>, most: usize, may: impl Fn(&T) -> bool) -> Vec<T> {
    let mut taken = Vec::new();
    for item in std::mem::take(queue) {
        match taken.len() < most && may(&item) {
            true => taken.push(item),
            false => queue.push_back(item),
        }
    }
    taken
}

impl Grove {
    pub fn new(config: NodeConfig, policy: Policy, capacity: u16) -> Grove {
        let join =
            TreeJoin { peer: peer(SOURCE), router: None, capacity, token: token(), name: String::new() };
        let source = TreeNode::source(NodeConfig { host: SOURCE, ..config });
        let dispatchers = Dispatchers::new(policy, token(), &join, 1, Nanos::ZERO);
        let source = reader(source, dispatchers.root, MIDDLE, capacity);
        Grove {
            now: Nanos::ZERO,
            nodes: BTreeMap::from([(SOURCE, source)]),
            written: 0,
            dispatchers,
            are_present: true,
            redirected: 0,
            replaced: 0,
            policy,
            wires: Vec::new(),
            told: VecDeque::new(),
            orders: VecDeque::new(),
            heard: BTreeMap::new(),
            lost_ends: Vec::new(),
            config,
            next: 1,
        }
    }

    /// Adds a host that is to have all of the stream.
    pub fn join(&mut self, capacity: u16, sockets: u16) -> HostId {
        self.join_from(MIDDLE, capacity, sockets)
    }

    /// Adds a host at a certain place.
    pub fn join_from(&mut self, place: u64, capacity: u16, sockets: u16) -> HostId {
        assert_eq!(self.written, 0);
        self.join_at(StartAt::Offset(0), place, capacity, sockets)
    }

    pub fn join_at(&mut self, begin: StartAt, place: u64, capacity: u16, sockets: u16) -> HostId {
        let host = HostId(self.next);
        self.next += 1;
        let node = TreeNode::new(NodeConfig { host, sockets, ..self.config }, begin);
        let at = (begin == StartAt::Offset(0)).then_some(0);
        let root = self.dispatchers.root;
        self.nodes.insert(host, NodeReader { at, ..reader(node, root, place, capacity) });
        self.ask(host, root);
        host
    }

    /// Ends a host at once; the others and the dispatcher notice.
    pub fn kill(&mut self, host: HostId) {
        if let Some(NodeReader { cluster, joins, .. }) = self.nodes.remove(&host) {
            self.told.push_back(Upward { host, cluster, joins, message: None });
        }
        while let Some(at) = self.wires.iter().position(|wire| wire.ends.iter().any(|end| end.0 == host)) {
            self.cut(at);
        }
    }

    /// Lets a host be elsewhere, at other latencies, from now on.
    pub fn place(&mut self, host: HostId, place: u64) {
        self.nodes.get_mut(&host).into_iter().for_each(|found| found.place = place);
    }

    /// Lets a host leave, which goes when no host needs it.
    pub fn leave(&mut self, host: HostId) {
        let now = self.now;
        if let Some(found) = self.nodes.get_mut(&host) {
            found.node.leave(now);
            self.act(host);
        }
    }

    fn collect(&mut self, told: Vec<HostMessage>) {
        let down = |told: HostMessage| Down { joins: self.heard.get(&told.host).copied().unwrap_or(0), told };
        self.orders.extend(told.into_iter().map(down));
    }

    /// Carries out a node's actions.
    fn act(&mut self, host: HostId) {
        while let Some(action) = self.nodes.get_mut(&host).and_then(|found| found.node.poll()) {
            match action {
                NodeAction::Connect { conn, to } => self.connect(host, conn, to.host),
                NodeAction::Close(conn) => {
                    let found = self.wires.iter().position(|wire| wire.ends.contains(&(host, conn)));
                    if let Some(at) = found {
                        let side = usize::from(self.wires[at].ends[0] != (host, conn));
                        self.wires[at].closing[side] = true;
                    }
                }
                NodeAction::Report(message) => self.tell(host, message),
                NodeAction::Measure(peers) => {
                    let place = self.nodes[&host].place;
                    let far = |to: &NodeReader| Nanos::from_millis(to.place.abs_diff(place).max(1));
                    let measured = peers.iter().filter_map(|p| Some((p.host, far(self.nodes.get(&p.host)?))));
                    let measured = measured.collect();
                    self.tell(host, FromHost::Measured(measured));
                }
                NodeAction::Join(cluster) => self.ask(host, cluster),
                NodeAction::Refused { .. } => {}
            }
        }
    }

    /// Carries all that the first so many connections take.
    pub fn carry_all(&mut self, wires: usize) {
        for wire in 0..wires {
            self.carry(wire, 1, usize::MAX);
            self.carry(wire, 0, usize::MAX);
        }
    }

    pub fn write(&mut self, count: usize) -> usize {
        let bytes: Vec<u8> = (self.written..self.written + count as u64).map(byte).collect();
        let now = self.now;
        let taken = self.nodes.get_mut(&SOURCE).map_or(0, |found| found.node.write(now, &bytes));
        self.written += taken as u64;
        self.act(SOURCE);
        taken
    }

    pub fn finish(&mut self) {
        let now = self.now;
        if let Some(found) = self.nodes.get_mut(&SOURCE) {
            found.node.finish(now);
        }
        self.act(SOURCE);
    }

    pub fn read(&mut self, host: HostId, most: usize) -> bool {
        let now = self.now;
        let Some(found) = self.nodes.get_mut(&host) else { return false };
        let at = found.node.position();
        let read = found.node.read(now, most);
        match &read {
            Some(ReadItem::Bytes(bytes)) => {
                // The host goes on where it was, or where it was told.
                assert_eq!(at, *found.at.get_or_insert(at), "{host}");
                for (offset, &found) in (at..).zip(bytes) {
                    assert_eq!(found, byte(offset), "{host} at {offset}");
                }
                found.at = Some(at + bytes.len() as u64);
                found.count += bytes.len();
            }
            Some(ReadItem::Skipped { to }) => {
                assert!(found.at.map_or(true, |at| at < *to), "{host} goes back to {to}");
                (found.at, found.skips) = (Some(*to), found.skips + 1);
            }
            Some(ReadItem::End) => {
                assert!(!std::mem::replace(&mut found.ended, true), "{host} ends twice");
                found.node.on_stored(now);
            }
            Some(ReadItem::Broken { .. }) => return !std::mem::replace(&mut found.broken, true),
            None => {}
        }
        self.act(host);
        read.is_some()
    }

    pub fn pass(&mut self, time: Nanos) {
        self.now += time;
        let now = self.now;
        for host in self.nodes.keys().copied().collect::<Vec<_>>() {
            let found = self.nodes.get_mut(&host).filter(|found| !found.is_frozen());
            if let Some(found) = found.filter(|found| found.node.deadline() <= now) {
                found.node.on_time(now);
                self.act(host);
            }
        }
        self.keep_dialogues();
        if self.dispatchers.deadline() <= now && self.are_present {
            let told = self.dispatchers.on_time(now);
            self.collect(told);
        }
        let root = self.dispatchers.root;
        let due = |f: &NodeReader| {
            !f.node.is_leaving() && f.away.is_none() && f.again.is_some_and(|again| again <= now)
        };
        for host in self.nodes.iter().filter(|(_, f)| due(f)).map(|(&host, _)| host).collect::<Vec<_>>() {
            self.ask(host, root);
        }
        // A released host goes.
        let over = self
            .nodes
            .iter()
            .filter(|(_, found)| !found.is_frozen() && found.node.is_over() && found.node.failed().is_none())
            .map(|(&host, _)| host);
        for host in over.collect::<Vec<_>>() {
            self.kill(host);
        }
    }

    /// Carries and reads all bytes until none moves any more.
    pub fn settle(&mut self) {
        let mut idle = 0;
        for turn in 0.. {
            assert!(turn < 20_000, "it goes on for ever: {}", self.show());
            self.deliver_all();
            let mut moved = false;
            for wire in 0..self.wires() {
                moved |= self.carry(wire, 0, usize::MAX) | self.carry(wire, 1, usize::MAX);
            }
            for host in self.nodes.keys().copied().collect::<Vec<_>>() {
                moved |= host != SOURCE && self.read(host, usize::MAX);
            }
            self.pass(Nanos::from_millis(25));
            // Signs of life go on for ever.
            self.deliver_all();
            idle = if moved { 0 } else { idle + 1 };
            if idle > 60 {
                return;
            }
        }
    }
}
