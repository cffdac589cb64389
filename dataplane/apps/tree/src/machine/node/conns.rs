//! A node's connections: the peers at their other ends, bytes that come and go, signs of life. Most of the
//! actions for the node's owner concern connections, and all of them wait here, in order.

use std::collections::{BTreeMap, VecDeque};

use groupflow_base::codec::CodecError;
use groupflow_base::Nanos;

use super::{NodeConfig, TreeNode};
use crate::machine::frame::{EdgeDecoder, TreeFrame};
use crate::machine::messages::{ClusterId, HostId, Peer};
use crate::machine::messages::{FromHost, RefusalCode};

/// Connections of strangers: this many beyond the most that children may have.
const STRANGERS: usize = 16;
/// The most that a round trip counts: a longer one is due to a queue, or to a packet that was sent again.
const LONGEST_WAY: Nanos = Nanos::from_millis(2000);

/// A connection, numbered by the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// A task for the node's owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeAction {
    /// Connect to a host; then [`TreeNode::on_connected`] or [`TreeNode::on_closed`].
    Connect { conn: ConnId, to: Peer },
    /// Close the connection, after the bytes that [`TreeNode::fill`] still has for it; then
    /// [`TreeNode::on_closed`].
    Close(ConnId),
    /// Send a message to the dispatcher.
    Report(FromHost),
    /// Measure the delays to these hosts; then send `FromHost::Measured` to the dispatcher.
    Measure(Vec<Peer>),
    /// Send `FromHost::Join` to the dispatcher of that cluster, which is the node's cluster from now on.
    Join(ClusterId),
    /// The dispatcher refuses this host ([`crate::machine::ToHost::Refused`]).
    Refused { code: RefusalCode, text: String },
}

/// The peer at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnRole {
    /// A peer that connected and did not introduce itself yet.
    Stranger,
    /// A peer to which the last bytes still go out; bytes from it are ignored.
    Closing,
    /// A child that introduced itself.
    Child(HostId),
    /// The parent, or the next parent; `welcome`: it accepted the connection.
    Parent { edge: u32, welcome: bool },
}

#[derive(Debug, Clone)]
pub(super) struct Conn {
    pub(super) role: ConnRole,
    pub(super) connected: bool,
    decoder: EdgeDecoder,
    /// Frames other than DATA that wait to be sent.
    out: Vec<u8>,
    pub(super) heard: Nanos,
    pub(super) said: Nanos,
    /// The round trip, as far as it is known.
    round_trip: Nanos,
}

/// The connections of a node, and the actions for its owner.
#[derive(Debug, Clone)]
pub(super) struct Conns {
    conns: BTreeMap<ConnId, Conn>,
    next: u64,
    most: usize,
    silence: Nanos,
    /// The round trips to the dispatchers, and to the farthest host that was measured last.
    far: (Nanos, Nanos),
    actions: VecDeque<NodeAction>,
}

impl TreeNode {
    /// The next action for the owner.
    pub fn poll(&mut self) -> Option<NodeAction> {
        self.conns.actions.pop_front()
    }

    /// A peer connected; returns the connection's number, or `None` where there are too many.
    pub fn on_accepted(&mut self, now: Nanos) -> Option<ConnId> {
        let conns = &mut self.conns;
        (conns.conns.len() < conns.most).then(|| conns.add(now, ConnRole::Stranger, true))
    }

    /// The strangers' connections, oldest first, once no other peer can connect: one of them is to give way.
    pub fn crowd(&self) -> impl Iterator<Item = ConnId> + '_ {
        let conns = &self.conns.conns;
        let strangers = conns.iter().filter(|(_, conn)| conn.role == ConnRole::Stranger);
        strangers.map(|(&id, _)| id).filter(|_| conns.len() >= self.conns.most)
    }

    /// Sets a connection's round trip. A distant peer begins to speak this much later, and a lost packet is
    /// repaired this much later: neither is silence.
    pub fn on_round_trip(&mut self, conn: ConnId, round_trip: Nanos) {
        if let Some(found) = self.conns.conns.get_mut(&conn) {
            found.round_trip = round_trip.min(LONGEST_WAY);
        }
    }

    /// Sets the round trip to the dispatchers: other hosts count as at least as far until a longer way is
    /// measured.
    pub fn on_dispatchers_measured(&mut self, round_trip: Nanos) {
        self.conns.far.0 = round_trip.min(LONGEST_WAY);
    }

    /// Sets the one-way delays to the hosts that were measured last: the next parent may be one of them.
    pub fn on_measured(&mut self, measured: &[(HostId, Nanos)]) {
        let farthest = measured.iter().map(|&(_, way)| way).max().unwrap_or(Nanos::ZERO);
        self.conns.far.1 = Nanos(farthest.0.saturating_mul(2)).min(LONGEST_WAY);
    }
}

impl Conns {
    pub(super) fn new(config: &NodeConfig) -> Conns {
        Conns {
            conns: BTreeMap::new(),
            next: 0,
            most: config.max_children * usize::from(config.max_sockets) + STRANGERS,
            silence: config.silence,
            far: (Nanos::ZERO, Nanos::ZERO),
            actions: VecDeque::new(),
        }
    }

    pub(super) fn ask(&mut self, action: NodeAction) {
        self.actions.push_back(action);
    }

    pub(super) fn report(&mut self, message: FromHost) {
        self.ask(NodeAction::Report(message));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.conns.is_empty()
    }

    fn add(&mut self, now: Nanos, role: ConnRole, connected: bool) -> ConnId {
        let id = ConnId(self.next);
        self.next += 1;
        let conn = Conn {
            role,
            connected,
            decoder: EdgeDecoder::default(),
            out: Vec::new(),
            heard: now,
            said: now,
            round_trip: Nanos::ZERO,
        };
        self.conns.insert(id, conn);
        id
    }

    pub(super) fn connect(&mut self, now: Nanos, edge: u32, to: Peer) {
        let conn = self.add(now, ConnRole::Parent { edge, welcome: false }, false);
        self.ask(NodeAction::Connect { conn, to });
    }

    pub(super) fn role(&self, conn: ConnId) -> Option<ConnRole> {
        self.conns.get(&conn).map(|found| found.role)
    }

    pub(super) fn get_mut(&mut self, conn: ConnId) -> Option<&mut Conn> {
        self.conns.get_mut(&conn)
    }

    pub(super) fn set_role(&mut self, conn: ConnId, role: ConnRole) {
        if let Some(found) = self.conns.get_mut(&conn) {
            found.role = role;
        }
    }

    /// A connection's round trip; zero: it is not known.
    pub(super) fn round_trip(&self, conn: ConnId) -> Nanos {
        self.conns.get(&conn).map_or(Nanos::ZERO, |found| found.round_trip)
    }

    pub(super) fn remove(&mut self, conn: ConnId) -> Option<ConnRole> {
        self.conns.remove(&conn).map(|lost| lost.role)
    }

    /// The next frame of the bytes that came over a connection, and the connection's role.
    pub(super) fn next_frame(
        &mut self, now: Nanos, conn: ConnId, bytes: &mut &[u8],
    ) -> Option<(ConnRole, Result<Option<TreeFrame>, CodecError>)> {
        let found = self.conns.get_mut(&conn)?;
        // Strangers, and peers that were told to go, are closed after a fixed time, whatever they say.
        if matches!(found.role, ConnRole::Child(_) | ConnRole::Parent { .. }) {
            found.heard = now;
        }
        Some((found.role, found.decoder.next_frame(bytes)))
    }

    /// Appends the frames that wait for a connection; `None`: it is not established.
    pub(super) fn take_out(&mut self, conn: ConnId, out: &mut Vec<u8>) -> Option<ConnRole> {
        let found = self.conns.get_mut(&conn).filter(|found| found.connected)?;
        out.append(&mut found.out);
        Some(found.role)
    }

    /// When a connection has been silent for too long, or needs a sign of life.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        let heard = self.conns.values().map(|conn| self.silent_at(conn));
        let said = self.conns.values().filter(|conn| conn.connected && conn.out.is_empty());
        heard.chain(said.map(|conn| conn.said + self.sign_after())).min()
    }

    /// When the peer of a silent connection counts as gone.
    fn silent_at(&self, conn: &Conn) -> Nanos {
        let way = if conn.connected { conn.round_trip } else { self.far.0.max(self.far.1) };
        conn.heard + self.silence + Nanos(2 * way.0)
    }

    fn sign_after(&self) -> Nanos {
        Nanos(self.silence.0 / 3)
    }

    /// Connections from which nothing came for too long.
    pub(super) fn silent(&self, now: Nanos) -> Vec<ConnId> {
        let silent = self.conns.iter().filter(|(_, conn)| self.silent_at(conn) <= now);
        silent.map(|(&id, _)| id).collect()
    }

    pub(super) fn sign(&mut self, now: Nanos) {
        let after = self.sign_after();
        for conn in self.conns.values_mut() {
            if conn.connected && conn.said + after <= now && conn.out.is_empty() {
                TreeFrame::Alive.encode_into(&mut conn.out);
                conn.said = now;
            }
        }
    }

    pub(super) fn send(&mut self, conn: ConnId, frame: &TreeFrame) {
        if let Some(found) = self.conns.get_mut(&conn) {
            frame.encode_into(&mut found.out);
        }
    }

    /// Sends a last frame and closes the connection.
    pub(super) fn send_last(&mut self, conn: ConnId, frame: &TreeFrame) {
        self.send(conn, frame);
        self.set_role(conn, ConnRole::Closing);
        self.ask(NodeAction::Close(conn));
    }

    /// Closes a connection without a last frame.
    pub(super) fn drop(&mut self, conn: ConnId) {
        if self.conns.remove(&conn).is_some() {
            self.ask(NodeAction::Close(conn));
        }
    }

    fn of_edge(&self, edge: u32) -> impl Iterator<Item = (ConnId, ConnRole)> + '_ {
        let of_it = move |role: ConnRole| matches!(role, ConnRole::Parent { edge: e, .. } if e == edge);
        self.conns.iter().map(|(&id, conn)| (id, conn.role)).filter(move |&(_, role)| of_it(role))
    }

    pub(super) fn count(&self, edge: u32) -> usize {
        self.of_edge(edge).count()
    }

    /// The first connection of an edge that the parent accepted.
    pub(super) fn accepted(&self, edge: u32) -> Option<ConnId> {
        let welcome = ConnRole::Parent { edge, welcome: true };
        self.of_edge(edge).find(|&(_, role)| role == welcome).map(|(id, _)| id)
    }

    /// Closes all connections of an edge. The parent is told MOVED if another one serves this node.
    pub(super) fn close_edge(&mut self, edge: u32, moved: bool) {
        let last = self.accepted(edge).filter(|_| moved);
        for (conn, _) in self.of_edge(edge).collect::<Vec<_>>() {
            match last == Some(conn) {
                true => self.send_last(conn, &TreeFrame::Moved),
                false => self.drop(conn),
            }
        }
    }
}
