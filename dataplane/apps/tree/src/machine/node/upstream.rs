//! The edge to the parent. A node that gets another parent connects to it first, and leaves the one before
//! when the new one serves it: the stream goes on meanwhile, and bytes that come twice are dropped.

use super::reader::take;
use super::*;

/// A parent that does not expect its child yet is asked again after this time, then after twice as long, and
/// so on.
const FIRST_AGAIN: Nanos = Nanos::from_millis(20);
/// The longest time before a parent is asked again.
const LAST_AGAIN: Nanos = Nanos::from_millis(160);
/// The parent is told after this time what was taken, if that is not much.
pub(super) const TELL_AFTER: Nanos = Nanos::from_millis(20);

/// An edge to a parent.
#[derive(Debug, Clone)]
pub(super) struct Upstream {
    pub(super) order: u32,
    pub(super) peer: Peer,
    pub(super) ticket: Ticket,
    /// The edge's number, which all its connections share.
    pub(super) edge: u32,
    /// Whether the parent serves this node.
    pub(super) serves: bool,
    /// When the parent is tried again.
    pub(super) again: Option<Nanos>,
    wait: Nanos,
    since: Nanos,
    /// The offsets that HELLO told: all before the first is here, nothing before the second is needed.
    said: (u64, u64),
    /// When the parent was first asked: from then to the first answer it takes at least a round trip.
    asked: Nanos,
}

impl Node {
    pub(super) fn move_to(&mut self, now: Nanos, order: u32, peer: Peer, ticket: Ticket) {
        if self.source || self.leaves == orders::Leaves::Released {
            return;
        }
        if let Some(next) = self.next.take() {
            self.close_edge(next.edge, false);
        }
        self.edges += 1;
        let edge = self.edges;
        let (wait, since) = (FIRST_AGAIN, now);
        self.next = Some(Upstream {
            order,
            peer,
            ticket,
            edge,
            serves: false,
            again: None,
            wait,
            since,
            said: (0, 0),
            asked: now,
        });
        self.connect(now, edge);
    }

    /// Opens a connection of an edge.
    fn connect(&mut self, now: Nanos, edge: u32) {
        if let Some(to) = self.edge_mut(edge).map(|found| found.peer) {
            let conn = self.add_conn(now, Role::Parent { edge, welcome: false }, false);
            self.actions.push_back(Action::Connect { conn, to });
        }
    }

    pub(super) fn say_hello(&mut self, conn: ConnId) {
        let Some(Role::Parent { edge, .. }) = self.conns.get(&conn).map(|found| found.role) else {
            return;
        };
        let (child, room) = (self.config.host, self.config.window);
        let begin = self.incoming.as_ref().map_or(Begin::Now, |incoming| Begin::At(incoming.delivered()));
        let needed = if begin == Begin::Now { 0 } else { self.needed() };
        let said = (self.stream.received(), needed);
        let deadline = self.conns.get(&conn).and_then(|found| found.deadline);
        if let Some(found) = self.edge_mut(edge) {
            found.said = said;
            let ticket = found.ticket;
            self.promised = self.promised.max(needed);
            self.say(conn, &Frame::Hello { child, ticket, edge, begin, needed, room, deadline });
        }
    }

    pub(super) fn on_parents_frame(
        &mut self,
        now: Nanos,
        conn: ConnId,
        edge: u32,
        frame: Frame,
    ) -> Result<(), Reason> {
        let welcome =
            self.conns.get(&conn).map(|found| found.role) == Some(Role::Parent { edge, welcome: true });
        match frame {
            Frame::Data { .. } | Frame::End { .. } | Frame::Skip { .. } if !welcome => Err(Reason::BadFrame),
            Frame::Welcome { begin } => self.on_welcome(now, conn, edge, begin),
            Frame::Data { offset, bytes } if self.datagrams.arrived.is_some() => {
                self.arrive(now, offset, &bytes);
                Ok(())
            }
            Frame::Data { offset, bytes } => self.on_data(offset, &bytes),
            Frame::End { length } => {
                if let Some(arrived) = &mut self.datagrams.arrived {
                    arrived.end(now, length);
                    return Ok(());
                }
                let incoming = self.incoming.as_mut().ok_or(Reason::BadFrame)?;
                // The record at which this node was to begin may not come any more.
                let skips = matches!(self.config.slow, Slow::Skip { .. });
                let length = if skips { length.max(incoming.delivered()) } else { length };
                incoming.end(length).map_err(|_| Reason::BadFrame)
            }
            // Late bytes do not come in datagrams, either.
            Frame::Skip { .. } if self.datagrams.arrived.is_some() => Ok(()),
            Frame::Skip { to } => {
                self.jump(to);
                // The parent waits for an answer.
                self.tell_again();
                Ok(())
            }
            Frame::Refused(reason) => {
                self.on_refused(now, conn, edge, reason);
                Ok(())
            }
            Frame::Alive => Ok(()),
            Frame::Hello { .. } | Frame::Taken { .. } | Frame::Complete | Frame::Moved => {
                Err(Reason::BadFrame)
            }
        }
    }

    fn on_welcome(&mut self, now: Nanos, conn: ConnId, edge: u32, begin: u64) -> Result<(), Reason> {
        if let Some(found) = self.conns.get_mut(&conn) {
            found.role = Role::Parent { edge, welcome: true };
        }
        match (self.incoming.is_none(), std::mem::take(&mut self.lost_place)) {
            (true, true) => self.go_on_at(begin),
            (true, false) if self.config.datagrams.is_some() => self.begin_at(self.next_record(begin)),
            (true, false) => self.begin_at(begin),
            (false, _) => {}
        }
        let by_datagrams = self.conns.get(&conn).is_some_and(|found| found.deadline.is_some());
        self.take_by(by_datagrams);
        if self.upstream.as_ref().is_some_and(|upstream| upstream.edge == edge) {
            return Ok(());
        }
        // This is the new parent's first connection that is accepted: now it is the parent.
        let Some(mut next) = self.next.take().filter(|next| next.edge == edge) else {
            return Err(Reason::BadFrame);
        };
        if let Some(before) = self.upstream.take() {
            self.close_edge(before.edge, true);
        }
        (next.serves, self.kept) = (true, true);
        let (order, latency) = (next.order, Nanos(now.saturating_sub(next.asked).0 / 2));
        self.upstream = Some(next);
        self.tell_again();
        self.actions.push_back(Action::Tell(FromHost::Attached { order, latency }));
        for _ in 1..self.config.sockets {
            self.connect(now, edge);
        }
        Ok(())
    }

    pub(super) fn on_data(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Reason> {
        let Some(incoming) = self.incoming.as_mut() else {
            return Err(Reason::BadFrame);
        };
        let (stream, cache) = (&mut self.stream, &mut self.cache);
        let mut sink = |bytes: &[u8]| take(stream, cache, bytes);
        incoming.receive(offset, bytes, &mut sink).map(drop).map_err(|_| Reason::BadFrame)
    }

    /// Takes bytes that came and had no room in the cache; the end may be reached, too.
    pub(super) fn take_what_is_held(&mut self) {
        let Some(incoming) = self.incoming.as_mut() else {
            return;
        };
        let (stream, cache) = (&mut self.stream, &mut self.cache);
        incoming.drain(&mut |bytes: &[u8]| take(stream, cache, bytes));
        if incoming.is_complete() && !self.source {
            self.stream.on_upstream_end();
        }
    }

    /// Begins anew at an offset that a parent told.
    fn begin_at(&mut self, begin: u64) {
        self.stream = stream(&self.config, begin);
        self.reader = self.reader.moved(&mut self.stream, begin);
        self.cache = Cache::at(begin);
        self.incoming = Some(Reassembly::new(begin, self.config.window));
        (self.told, self.promised) = ((begin, begin), begin);
        let datagrams = Datagrams::at(&self.config, self.source, Some(begin));
        let by_datagrams = self.datagrams.arrived.is_some();
        (self.datagrams.arrived, self.datagrams.relayed) =
            (datagrams.arrived.filter(|_| by_datagrams), begin);
        self.datagrams.gaps.clear();
    }

    /// Lets the stream go on at `to`: earlier bytes come too late, for the reader and for all children.
    fn jump(&mut self, to: u64) {
        if self.incoming.as_ref().map_or(true, |incoming| incoming.delivered() >= to) {
            return;
        }
        self.go_on_at(to);
    }

    /// Lets the stream go on at `to`; no earlier byte is kept for anybody.
    pub(super) fn go_on_at(&mut self, to: u64) {
        self.begin_at(to);
        self.reader.skipped = Some(to).filter(|_| self.reader.reads);
        self.skip_all(to);
    }

    /// Makes this node tell its parent everything again: the connection that carried it is lost, or the
    /// parent is a new one.
    fn tell_again(&mut self) {
        (self.told, self.completed) = ((0, 0), false);
    }

    /// Tells the parent which bytes are taken and which are still needed: at once when they are many, else
    /// after a while.
    pub(super) fn tell_taken(&mut self, now: Nanos) {
        let since = self.untold.take();
        let (Some(incoming), Some(upstream)) = (self.incoming.as_ref(), self.upstream.as_ref()) else {
            return;
        };
        let (taken, needed, edge) = (incoming.delivered(), self.needed(), upstream.edge);
        let is_parent = |conn: &&Conn| conn.role == Role::Parent { edge, welcome: true };
        let found = self.conns.iter().find(|(_, conn)| is_parent(conn)).map(|(&id, _)| id);
        let Some(conn) = found else { return };
        if self.told != (taken, needed) {
            let step = self.config.window / 8;
            let more = taken.saturating_sub(self.told.0).max(needed.saturating_sub(self.told.1));
            let since = since.unwrap_or(now);
            if more >= step || since + TELL_AFTER <= now || incoming.is_complete() {
                (self.told, self.promised) = ((taken, needed), needed);
                self.say(conn, &Frame::Taken { taken, needed });
            } else {
                self.untold = Some(since);
            }
        }
        if self.passed_on() && !self.completed {
            self.completed = true;
            self.say(conn, &Frame::Complete);
        }
    }

    fn on_refused(&mut self, now: Nanos, conn: ConnId, edge: u32, reason: Reason) {
        let (patience, now_there) = (self.config.patience, (self.stream.received(), self.needed()));
        self.drop_conn(conn);
        let others = self.has_conns(edge);
        if reason == Reason::Stalled {
            return self.break_off(now);
        }
        let Some(found) = self.edge_mut(edge) else {
            return;
        };
        // Other connections of this edge are served, or still wait for an answer.
        if others && found.serves && matches!(reason, Reason::TooMany | Reason::Unexpected) {
            return;
        }
        // Another parent serves this node meanwhile, and the offsets of its HELLO are out of date.
        let outdated = reason == Reason::Gone && found.said != now_there;
        let soon = (reason == Reason::Unexpected || outdated) && !found.serves;
        if soon && found.since + patience > now {
            found.again = Some(now + found.wait);
            found.wait = Nanos(found.wait.0 * 2).min(LAST_AGAIN);
            return;
        }
        self.lose_edge(edge, matches!(reason, Reason::Gone | Reason::Overtaken));
    }

    pub(super) fn on_parent_conn_lost(&mut self, now: Nanos, edge: u32) {
        let others = self.has_conns(edge);
        let Some(found) = self.edge_mut(edge) else {
            return;
        };
        let serves = found.serves;
        if serves {
            self.tell_again();
        }
        let Some(found) = self.edge_mut(edge) else {
            return;
        };
        match (others, serves) {
            // Another connection takes the place of this one of several, but not at once: the parent may be
            // dead.
            (true, true) => found.again = Some(now + FIRST_AGAIN),
            (true, false) => {}
            // The parent is tried again.
            (false, false) if found.again.is_some() => {}
            (false, _) => self.lose_edge(edge, false),
        }
    }

    /// Connections that the parent accepted.
    pub fn parents_conns(&self) -> impl Iterator<Item = ConnId> + '_ {
        let of_it = |conn: &Conn| matches!(conn.role, Role::Parent { welcome: true, .. });
        self.conns.iter().filter(move |(_, conn)| of_it(conn)).map(|(&id, _)| id)
    }

    fn has_conns(&self, edge: u32) -> bool {
        self.conns.values().any(|conn| matches!(conn.role, Role::Parent { edge: e, .. } if e == edge))
    }

    /// Ends an edge; if it was the last one, tells the dispatcher.
    fn lose_edge(&mut self, edge: u32, gone: bool) {
        let order = self.last_order();
        self.close_edge(edge, false);
        let is_next = self.next.as_ref().is_some_and(|next| next.edge == edge);
        let is_parent = self.upstream.as_ref().is_some_and(|upstream| upstream.edge == edge);
        if is_parent {
            self.upstream = None;
        }
        if is_next {
            // A host that cannot carry out an order is connected to nobody: so the dispatcher always knows.
            self.next = None;
            if let Some(before) = self.upstream.take() {
                self.close_edge(before.edge, false);
            }
        }
        if (is_next || is_parent) && self.next.is_none() {
            self.actions.push_back(Action::Tell(FromHost::Lost { order, gone }));
        }
    }

    pub(super) fn try_again(&mut self, now: Nanos) {
        let mut due = Vec::new();
        for edge in [&mut self.upstream, &mut self.next].into_iter().flatten() {
            if edge.again.is_some_and(|again| again <= now) {
                (edge.again, edge.asked) = (None, now);
                due.push((edge.edge, if edge.serves { self.config.sockets } else { 1 }));
            }
        }
        for (edge, wanted) in due {
            let of_it = |conn: &&Conn| matches!(conn.role, Role::Parent { edge: e, .. } if e == edge);
            for _ in self.conns.values().filter(of_it).count()..usize::from(wanted) {
                self.connect(now, edge);
            }
        }
    }

    /// Closes all connections of an edge. The parent is told MOVED if another one serves this node.
    pub(super) fn close_edge(&mut self, edge: u32, moved: bool) {
        let of_it = |role: Role| matches!(role, Role::Parent { edge: e, .. } if e == edge);
        let conns = self.conns.iter().filter(|(_, conn)| of_it(conn.role));
        let conns: Vec<(ConnId, Role)> = conns.map(|(&id, conn)| (id, conn.role)).collect();
        let mut moved = moved;
        for (conn, role) in conns {
            if moved && role == (Role::Parent { edge, welcome: true }) {
                moved = false;
                self.say_last(conn, &Frame::Moved);
            } else {
                self.drop_conn(conn);
            }
        }
    }

    fn last_order(&self) -> u32 {
        let newest = self.next.as_ref().or(self.upstream.as_ref());
        newest.map_or(0, |edge| edge.order)
    }

    fn edge_mut(&mut self, edge: u32) -> Option<&mut Upstream> {
        [&mut self.upstream, &mut self.next].into_iter().flatten().find(|found| found.edge == edge)
    }
}
