//! Connections: the peers at their other ends, bytes that come and go, signs of life.

use super::*;

/// Connections whose peers did not say yet who they are: this many beyond the most that children may have.
const STRANGERS: usize = 16;

/// The most that a round trip counts: a longer one is due to a queue, or to a packet that was sent again.
const LONGEST_WAY: Nanos = Nanos::from_millis(2000);

/// The peer at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A peer that connected and did not say yet who it is.
    Stranger,
    /// A peer to which the last bytes still go out; bytes from it are ignored.
    Closing,
    /// A child.
    Child(HostId),
    /// The parent, or the next parent.
    Parent {
        /// The edge's number.
        edge: u32,
        /// Whether the parent accepted the connection.
        welcome: bool,
    },
}

#[derive(Debug, Clone)]
pub(super) struct Conn {
    pub(super) role: Role,
    connected: bool,
    decoder: Decoder,
    /// Of a connection to a parent that carries datagrams: the longest that a datagram may wait there.
    pub(super) deadline: Option<Nanos>,
    /// Frames other than DATA that wait to be sent.
    out: Vec<u8>,
    pub(super) heard: Nanos,
    said: Nanos,
    /// The round trip, as far as it is known.
    round_trip: Nanos,
}

impl Node {
    /// A peer connected; returns the connection's number, or `None` where there are too many.
    pub fn on_accepted(&mut self, now: Nanos) -> Option<ConnId> {
        let most = self.config.max_children * usize::from(self.config.max_sockets) + STRANGERS;
        (self.conns.len() < most).then(|| self.add_conn(now, Role::Stranger, true))
    }

    /// A connection that the node asked for is established.
    pub fn on_connected(&mut self, now: Nanos, conn: ConnId) {
        if let Some(found) = self.conns.get_mut(&conn) {
            (found.connected, found.heard, found.said) = (true, now, now);
        }
        self.say_hello(conn);
    }

    /// Counts a connection's silence from now on, as it is begun anew in another way.
    pub fn on_redialled(&mut self, now: Nanos, conn: ConnId) {
        if let Some(found) = self.conns.get_mut(&conn) {
            found.heard = now;
        }
    }

    /// Sets a connection's round trip. A distant peer begins to speak this much later, and a lost packet is
    /// repaired this much later: neither is silence.
    pub fn on_round_trip(&mut self, conn: ConnId, round_trip: Nanos) {
        if let Some(found) = self.conns.get_mut(&conn) {
            found.round_trip = round_trip.min(LONGEST_WAY);
        }
    }

    /// Sets the round trip to the dispatchers: other hosts count as at least as far until a longer way is
    /// measured.
    pub fn on_dispatchers(&mut self, round_trip: Nanos) {
        self.far.0 = round_trip.min(LONGEST_WAY);
    }

    /// Sets the one-way delays to the hosts that were measured last: the next parent may be one of them.
    pub fn on_measured(&mut self, measured: &[(HostId, Nanos)]) {
        let farthest = measured.iter().map(|&(_, way)| way).max().unwrap_or(Nanos::ZERO);
        self.far.1 = Nanos(farthest.0.saturating_mul(2)).min(LONGEST_WAY);
    }

    /// The round trip to the dispatchers or to the farthest host that was measured, whichever is longer, as
    /// far as it is known.
    pub fn far(&self) -> Nanos {
        self.far.0.max(self.far.1)
    }

    /// A peer from which nothing came for this long is gone.
    fn silence(&self, conn: &Conn) -> Nanos {
        let way = if conn.connected { conn.round_trip } else { self.far() };
        self.config.silence + Nanos(2 * way.0)
    }

    /// A connection is lost, could not be made, or was closed.
    pub fn on_closed(&mut self, now: Nanos, conn: ConnId) {
        if let Some(lost) = self.conns.remove(&conn) {
            self.let_go_of(now, conn, lost.role);
            self.tend(now);
        }
    }

    fn let_go_of(&mut self, now: Nanos, conn: ConnId, role: Role) {
        match role {
            Role::Stranger | Role::Closing => {}
            Role::Child(child) => self.on_child_conn_lost(now, child, conn),
            Role::Parent { edge, .. } => self.on_parent_conn_lost(now, edge),
        }
    }

    /// Takes bytes that came over a connection; no bytes are a sign of life.
    pub fn on_bytes(&mut self, now: Nanos, conn: ConnId, mut bytes: &[u8]) {
        while let Some(found) = self.conns.get_mut(&conn) {
            let role = found.role;
            // Strangers, and peers that were told to go, are closed after a fixed time, whatever they say.
            if matches!(role, Role::Child(_) | Role::Parent { .. }) {
                found.heard = now;
            }
            let taken = match (role, found.decoder.next_frame(&mut bytes)) {
                (Role::Closing, _) => return,
                (_, Ok(None)) => break,
                (Role::Parent { edge, .. }, Ok(Some(frame))) => self.on_parents_frame(now, conn, edge, frame),
                (Role::Child(child), Ok(Some(frame))) => self.on_childs_frame(conn, child, frame),
                (Role::Stranger, Ok(Some(frame))) => self.on_strangers_frame(now, conn, frame),
                (_, Err(_)) => Err(Reason::BadFrame),
            };
            if let Err(reason) = taken {
                return self.refuse(now, conn, reason);
            }
        }
        self.tend(now);
    }

    /// Appends the bytes that are to go over a connection now, until there are about `most`.
    pub fn fill(&mut self, now: Nanos, conn: ConnId, out: &mut Vec<u8>, most: usize) {
        let Some(found) = self.conns.get_mut(&conn).filter(|found| found.connected) else {
            return;
        };
        let (before, role) = (out.len(), found.role);
        out.append(&mut found.out);
        if let Role::Child(child) = role {
            while out.len() + DATA_HEADER < before + most {
                let block = (before + most - out.len() - DATA_HEADER).min(MAX_BLOCK);
                if !self.give(child, conn, block, out) {
                    break;
                }
            }
        }
        if out.len() > before {
            if let Some(found) = self.conns.get_mut(&conn) {
                found.said = now;
            }
            self.tend(now);
        }
    }

    /// The time at which [`Node::on_time`] is to be called.
    pub fn deadline(&self) -> Nanos {
        let heard = self.conns.values().map(|conn| conn.heard + self.silence(conn));
        let said = self.conns.values().filter(|conn| conn.connected && conn.out.is_empty());
        let signs = said.map(|conn| conn.said + self.sign_after()).chain(self.sign);
        let again = [&self.upstream, &self.next].into_iter().flatten().filter_map(|edge| edge.again);
        let gone = self.gone.values().map(|gone| gone.until);
        let again = again.chain(self.datagrams.due);
        let others =
            self.untold.map(|since| since + upstream::TELL_AFTER).into_iter().chain(self.stall_deadline());
        heard.chain(signs).chain(again).chain(gone).chain(others).min().unwrap_or(Nanos::MAX)
    }

    /// Sends signs of life, closes silent connections, and repeats attempts that are due.
    pub fn on_time(&mut self, now: Nanos) {
        let after = self.sign_after();
        let silent = self.conns.iter().filter(|(_, conn)| conn.heard + self.silence(conn) <= now);
        for conn in silent.map(|(&id, _)| id).collect::<Vec<_>>() {
            // This connection may have ended with an earlier one.
            if self.conns.contains_key(&conn) {
                self.actions.push_back(Action::Close(conn));
                self.on_closed(now, conn);
            }
        }
        for conn in self.conns.values_mut() {
            if conn.connected && conn.said + after <= now && conn.out.is_empty() {
                Frame::Alive.encode(&mut conn.out);
                conn.said = now;
            }
        }
        if self.sign.is_some_and(|due| due <= now) {
            self.sign = Some(now + self.config.alive);
            self.actions.push_back(Action::Tell(FromHost::Alive));
        }
        self.try_again(now);
        let over = self.gone.iter().filter(|(_, gone)| gone.until <= now).map(|(&child, _)| child);
        for child in over.collect::<Vec<_>>() {
            self.release(child);
        }
        self.tend(now);
    }

    /// The time between two signs of life.
    fn sign_after(&self) -> Nanos {
        Nanos(self.config.silence.0 / 3)
    }

    pub(super) fn add_conn(&mut self, now: Nanos, role: Role, connected: bool) -> ConnId {
        let id = ConnId(self.next_conn);
        self.next_conn += 1;
        let conn = Conn {
            role,
            connected,
            decoder: Decoder::default(),
            deadline: None,
            out: Vec::new(),
            heard: now,
            said: now,
            round_trip: Nanos::ZERO,
        };
        self.conns.insert(id, conn);
        id
    }

    pub(super) fn say(&mut self, conn: ConnId, frame: &Frame) {
        if let Some(found) = self.conns.get_mut(&conn) {
            frame.encode(&mut found.out);
        }
    }

    /// Sends a last frame and closes the connection.
    pub(super) fn say_last(&mut self, conn: ConnId, frame: &Frame) {
        self.say(conn, frame);
        if let Some(found) = self.conns.get_mut(&conn) {
            found.role = Role::Closing;
        }
        self.actions.push_back(Action::Close(conn));
    }

    /// Closes a connection without a last frame.
    pub(super) fn drop_conn(&mut self, conn: ConnId) {
        if self.conns.remove(&conn).is_some() {
            self.actions.push_back(Action::Close(conn));
        }
    }

    /// Tells the peer the reason and closes the connection.
    fn refuse(&mut self, now: Nanos, conn: ConnId, reason: Reason) {
        if let Some(role) = self.conns.get(&conn).map(|found| found.role) {
            self.say_last(conn, &Frame::Refused(reason));
            self.let_go_of(now, conn, role);
            self.tend(now);
        }
    }
}
