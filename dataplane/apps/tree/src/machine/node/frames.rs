//! Frames from peers: strangers that introduce themselves, children, and parents; and the work that any event
//! may have made due: bytes move on, and the parent is told.

use groupflow_base::Nanos;

use super::children::Child;
use super::conns::ConnRole;
use super::{ConnId, Slow, TreeNode};
use crate::machine::frame::{Hello, Reason, StartAt, TreeFrame, DATA_HEADER, MAX_BLOCK};
use crate::machine::messages::{FromHost, HostId};

impl TreeNode {
    /// A connection that the node asked for is established.
    pub fn on_connected(&mut self, now: Nanos, conn: ConnId) {
        let Some(found) = self.conns.get_mut(conn) else { return };
        found.connected = true;
        found.heard = now;
        found.said = now;
        let ConnRole::Parent { edge, .. } = found.role else { return };
        let (child, room) = (self.config.host, self.config.window);
        let (begin, needed) = match self.held.delivered() {
            None => (StartAt::Now, 0),
            Some(delivered) => (StartAt::Offset(delivered), self.needed()),
        };
        if let Some(parent) = self.parents.get_mut(edge) {
            parent.said = (self.stream.received, needed);
            self.receipts.promised = self.receipts.promised.max(needed);
            let hello = Hello { child, ticket: parent.ticket, edge, begin, needed, room };
            self.conns.send(conn, &TreeFrame::Hello(hello));
        }
    }

    /// Takes bytes that came over a connection; no bytes are a sign of life.
    pub fn on_bytes(&mut self, now: Nanos, conn: ConnId, mut bytes: &[u8]) {
        while let Some((role, frame)) = self.conns.next_frame(now, conn, &mut bytes) {
            let taken = match (role, frame) {
                (ConnRole::Closing, _) => return,
                (_, Ok(None)) => break,
                (ConnRole::Parent { edge, welcome }, Ok(Some(frame))) => {
                    self.on_parents_frame(now, conn, (edge, welcome), frame)
                }
                (ConnRole::Child(child), Ok(Some(frame))) => self.on_childs_frame(conn, child, frame),
                (ConnRole::Stranger, Ok(Some(frame))) => self.on_strangers_frame(now, conn, frame),
                (_, Err(_)) => Err(Reason::BadFrame),
            };
            if let Err(reason) = taken {
                // The peer is told the reason, and the connection is closed.
                if let Some(role) = self.conns.role(conn) {
                    self.conns.send_last(conn, &TreeFrame::Refused(reason));
                    self.let_go_of(now, conn, role);
                }
                break;
            }
        }
        self.update(now);
    }

    /// Appends the bytes that are to go over a connection now, until there are about `most`.
    pub fn fill(&mut self, now: Nanos, conn: ConnId, out: &mut Vec<u8>, most: usize) {
        let before = out.len();
        if let Some(ConnRole::Child(child)) = self.conns.take_out(conn, out) {
            while out.len() + DATA_HEADER < before + most {
                let block = (before + most - out.len() - DATA_HEADER).min(MAX_BLOCK);
                let Some(child) = self.children.get_mut(child) else { break };
                child.advance(&mut self.stream);
                if !child.give(conn, block, &mut self.stream, &self.held, out) {
                    break;
                }
            }
        }
        if out.len() > before {
            if let Some(found) = self.conns.get_mut(conn) {
                found.said = now;
            }
            self.update(now);
        }
    }

    /// A connection is lost, could not be made, or was closed.
    pub fn on_closed(&mut self, now: Nanos, conn: ConnId) {
        if let Some(role) = self.conns.remove(conn) {
            self.let_go_of(now, conn, role);
            self.update(now);
        }
    }

    fn let_go_of(&mut self, now: Nanos, conn: ConnId, role: ConnRole) {
        match role {
            ConnRole::Stranger | ConnRole::Closing => {}
            ConnRole::Child(host) => {
                let child = self.children.get_mut(host).filter(|child| child.conns.contains(&conn));
                if child.is_some_and(|child| !child.lose_conn(conn, &mut self.stream)) {
                    // The dispatcher may hear of the lost edge from the child, and is to know soon that this
                    // host is alive.
                    self.presence.sign = self.presence.sign.map(|_| now);
                    self.children.lose(host, now + self.config.keep, &mut self.stream);
                }
            }
            ConnRole::Parent { edge, .. } => {
                if self.parents.on_conn_lost(now, &mut self.conns, edge) {
                    self.receipts.repeat();
                }
            }
        }
    }

    fn on_strangers_frame(&mut self, now: Nanos, conn: ConnId, frame: TreeFrame) -> Result<(), Reason> {
        let TreeFrame::Hello(hello) = frame else { return Err(Reason::BadFrame) };
        let Hello { child, ticket, edge, .. } = hello;
        if !self.children.expects(child, ticket) {
            return Err(Reason::Unexpected);
        }
        if self.presence.is_released() {
            return Err(Reason::Leaving);
        }
        let full = self.children.count() >= self.config.max_children;
        let most = usize::from(self.config.max_sockets);
        let known = match self.children.get_mut(child) {
            Some(known) if known.edge == edge => Some(known.add_conn(conn, most)?),
            // An earlier edge of this child is over.
            Some(_) => None,
            None if full => return Err(Reason::TooMany),
            None => self.children.take_back(child, edge, conn, &mut self.stream),
        };
        let (begin, late) = match known {
            Some(has) => (has, false),
            None => self.serve(now, conn, &hello)?,
        };
        self.conns.set_role(conn, ConnRole::Child(child));
        self.conns.send(conn, &TreeFrame::Welcome { begin });
        if late {
            let to = self.middle();
            self.children.skip(child, to, &mut self.stream, &mut self.conns);
        }
        Ok(())
    }

    /// Adds a child; returns where it begins, and whether that is before all that is held.
    fn serve(&mut self, now: Nanos, conn: ConnId, hello: &Hello) -> Result<(u64, bool), Reason> {
        // A node without a place in the tree accepts no child: no host above keeps bytes for its subtree, and
        // it may not know where its own stream begins.
        if !self.source && (self.held.incoming.is_none() || !self.parents.kept) {
            return Err(Reason::Unexpected);
        }
        let (base, received) = (self.stream.base, self.stream.received);
        let (needed, has, late) = match hello.begin {
            // A child that began at the newest byte would be the fastest, and the others late.
            StartAt::Now if self.source && self.config.slow == Slow::Isolate => {
                let begin = self.children.fastest(&self.stream).max(base);
                (begin, begin, false)
            }
            StartAt::Now => (received, self.config.next_record(received), false),
            StartAt::Offset(offset) => (hello.needed, offset, offset < base),
        };
        // Nodes above may have dropped bytes that this node did not need. With `Wait` a child that needs them
        // is refused, so that no host depends on this one alone. Otherwise this node serves what it has: the
        // child may come from a slow parent, and no other host would take it.
        let promised = !self.source && needed < self.receipts.promised;
        let refused = match self.config.slow {
            Slow::Wait => late || promised,
            Slow::Isolate => late,
            Slow::Skip => false,
        };
        if refused {
            return Err(Reason::Gone);
        }
        let new = Child::new(now, conn, hello, (has, needed), &mut self.stream)?;
        self.children.add(hello.child, new, &mut self.stream, &mut self.conns);
        Ok((has, late))
    }

    fn on_childs_frame(&mut self, conn: ConnId, host: HostId, frame: TreeFrame) -> Result<(), Reason> {
        let child = self.children.get_mut(host).filter(|child| child.conns.contains(&conn));
        let child = child.ok_or(Reason::BadFrame)?;
        match frame {
            TreeFrame::Taken { taken, needed } => child.on_taken(taken, needed, &mut self.stream),
            TreeFrame::Complete => return child.on_complete(&mut self.stream),
            TreeFrame::Moved => self.children.forget(host, &mut self.stream, &mut self.conns),
            TreeFrame::Alive => {}
            _ => return Err(Reason::BadFrame),
        }
        Ok(())
    }

    fn on_parents_frame(
        &mut self, now: Nanos, conn: ConnId, (edge, welcome): (u32, bool), frame: TreeFrame,
    ) -> Result<(), Reason> {
        match frame {
            TreeFrame::Data { .. } | TreeFrame::End { .. } | TreeFrame::Skip { .. } if !welcome => {
                return Err(Reason::BadFrame);
            }
            TreeFrame::Welcome { begin } => return self.on_welcome(now, conn, edge, begin),
            TreeFrame::Data { offset, bytes } => return self.held.receive(&mut self.stream, offset, &bytes),
            TreeFrame::End { length } => return self.held.end(length, self.config.slow == Slow::Skip),
            TreeFrame::Skip { to } => {
                if self.held.delivered().is_some_and(|delivered| delivered < to) {
                    self.go_on_at(to);
                }
                // The parent waits for an answer.
                self.receipts.repeat();
            }
            TreeFrame::Refused(reason) => self.on_refused(now, conn, edge, reason),
            TreeFrame::Alive => {}
            TreeFrame::Hello(_) | TreeFrame::Taken { .. } | TreeFrame::Complete | TreeFrame::Moved => {
                return Err(Reason::BadFrame);
            }
        }
        Ok(())
    }

    fn on_welcome(&mut self, now: Nanos, conn: ConnId, edge: u32, begin: u64) -> Result<(), Reason> {
        self.conns.set_role(conn, ConnRole::Parent { edge, welcome: true });
        match (self.held.incoming.is_some(), std::mem::take(&mut self.held.is_lost)) {
            (false, true) => self.go_on_at(begin),
            (false, false) => self.begin_at(begin),
            (true, _) => {}
        }
        if self.parents.edge() == Some(edge) {
            return Ok(());
        }
        if !self.parents.accept(now, &mut self.conns, edge, self.config.sockets) {
            return Err(Reason::BadFrame);
        }
        self.receipts.repeat();
        Ok(())
    }

    fn on_refused(&mut self, now: Nanos, conn: ConnId, edge: u32, reason: Reason) {
        let now_there = (self.stream.received, self.needed());
        self.conns.drop(conn);
        if reason == Reason::Stalled {
            return self.break_off(now);
        }
        self.parents.on_refused(now, &mut self.conns, edge, reason, now_there, self.config.patience);
    }

    /// Begins anew at an offset that a parent told.
    fn begin_at(&mut self, begin: u64) {
        self.stream = super::stream(&self.config, begin);
        self.reader.begin_at(&mut self.stream, begin);
        self.held.begin_at(begin);
        self.receipts.begin_at(begin);
    }

    /// Lets the stream go on at `to`: earlier bytes come too late, and none is kept for anybody.
    pub(super) fn go_on_at(&mut self, to: u64) {
        self.begin_at(to);
        self.reader.skipped = Some(to).filter(|_| self.reader.reads);
        self.children.begin_at(to, &mut self.stream);
    }

    /// Does the work that any event may have made due.
    pub(super) fn update(&mut self, now: Nanos) {
        self.held.drain(&mut self.stream);
        // A source that cuts off slow children counts what its fastest child has: it writes faster than any
        // child takes, and would be left by all.
        let read = match self.config.slow {
            Slow::Isolate if self.source => self.children.fastest(&self.stream),
            _ => self.stream.received,
        };
        self.reader.read_nothing(&mut self.stream, self.source, read);
        self.children.update(now, &mut self.stream);
        self.handle_slow(now);
        self.held.bytes.discard_below(self.stream.base);
        if std::mem::take(&mut self.children.gave_up) {
            self.presence.gave_up = Some(now);
        }
        self.report_all();
        self.report_to_parent(now);
        self.go_if_released();
    }

    /// Tells the dispatchers that this host has all of the stream; with [`Slow::Wait`] its reader, too.
    fn report_all(&mut self) {
        if self.stream.ended && self.config.slow != Slow::Wait {
            self.reader.note_all();
        }
        if self.has_all_read() && !std::mem::replace(&mut self.receipts.reported_all, true) {
            self.conns.report(FromHost::Complete);
        }
    }

    /// Tells the parent which bytes are taken and which are still needed, and the end.
    fn report_to_parent(&mut self, now: Nanos) {
        let conn = self.parents.edge().and_then(|edge| self.conns.accepted(edge));
        let Some((taken, conn)) = self.held.delivered().zip(conn) else {
            self.receipts.unreported = None;
            return;
        };
        let needed = if self.children.awaits(now) { self.receipts.promised } else { self.needed() };
        let (new, step) = ((taken, needed), self.config.window / 8);
        if let Some(frame) = self.receipts.taken(now, new, step, self.held.is_complete()) {
            self.conns.send(conn, &frame);
        }
        let ended = self.stream.ended && self.reader.is_done() && !self.presence.is_unsure();
        let ended = ended && self.children.have_all(&self.stream);
        if ended && !std::mem::replace(&mut self.receipts.completed, true) {
            self.conns.send(conn, &TreeFrame::Complete);
        }
    }
}
