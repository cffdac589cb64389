//! The edges to the children: each takes from the cache at its own pace.

use super::*;

/// Departed children that bytes are kept for. All of them were expected once; bytes for more are never kept.
const MAX_GONE: usize = 256;

/// One child. The node does not remember which connection carries which bytes: when a connection dies, all
/// bytes that the child is not known to have go again over the others, and the child drops those that it has.
#[derive(Debug, Clone)]
pub(super) struct Child {
    pub(super) branch: BranchId,
    edge: u32,
    /// The child has all before this offset, which this node may not even have itself.
    pub(super) has: u64,
    /// The child and the hosts below it need nothing before this offset.
    needed: u64,
    /// Bytes that the child takes beyond those it has.
    room: u64,
    /// The child has another parent, or soon will.
    leaves: bool,
    conns: Vec<ConnId>,
    /// The connection over which the child takes its DATA in datagrams, as the connection's HELLO asked;
    /// nothing is kept for such a child.
    pub(super) datagrams: Option<ConnId>,
    /// The offset at which the child is to go on, until it says that it does. Its first connection carries
    /// SKIP; the child would drop bytes that came over another one earlier.
    skip: Option<u64>,
    skip_told: bool,
    end_told: bool,
    /// The child was told the end, over whichever connection.
    knows_end: bool,
    /// The time of the last report that the child is slow.
    pub(super) reported: Option<Nanos>,
    /// The stream's end at some moment, and that moment: the child does not have all of it yet, and has all
    /// of earlier marks.
    pub(super) mark: (u64, Nanos),
    /// The numbers of bytes that the child lacked at two times: the later at most [`NodeConfig::late_after`]
    /// ago, the earlier longer ago, unless the child connected since.
    pub(super) missed: [(Nanos, u64); 2],
    /// Since when bytes wait and the child takes none.
    pub(super) stuck: Option<Nanos>,
}

/// A child without connections. Bytes that it did not say to have are kept for it and for the hosts below it.
#[derive(Debug, Clone)]
pub(super) struct Gone {
    pub(super) child: Child,
    pub(super) until: Nanos,
}

impl Node {
    pub(super) fn on_strangers_frame(
        &mut self,
        now: Nanos,
        conn: ConnId,
        frame: Frame,
    ) -> Result<(), Reason> {
        let Frame::Hello { child, ticket, edge, begin, needed, room, deadline } = frame else {
            return Err(Reason::BadFrame);
        };
        if !self.expected.iter().any(|&(expected, known)| expected == child && known == ticket) {
            return Err(Reason::Unexpected);
        }
        if self.leaves == orders::Leaves::Released {
            return Err(Reason::Leaving);
        }
        let full = self.children.len() >= self.config.max_children;
        let taken = match self.children.get_mut(&child) {
            Some(known) if known.edge == edge => {
                if known.datagrams.is_some()
                    || deadline.is_some()
                    || known.conns.len() >= usize::from(self.config.max_sockets)
                {
                    return Err(Reason::TooMany);
                }
                known.conns.push(conn);
                let begin = known.has;
                self.welcome(conn, child, begin);
                Ok(())
            }
            None if full => Err(Reason::TooMany),
            None if self.gone.get(&child).is_some_and(|gone| gone.child.edge == edge) => {
                self.take_back_child(conn, child);
                Ok(())
            }
            // An earlier edge of this child is over.
            _ => self.serve(now, conn, (child, edge), (begin, needed), room, deadline.is_some()),
        };
        if let (Ok(()), Some(deadline)) = (taken, deadline) {
            self.actions.push_back(Action::Datagrams { conn, deadline });
        }
        taken
    }

    /// Takes another connection of an edge that had none left. The child may have asked for it long ago; what
    /// it said over other connections counts.
    fn take_back_child(&mut self, conn: ConnId, child: HostId) {
        if let Some(Gone { child: mut known, .. }) = self.gone.remove(&child) {
            (known.conns, known.skip_told, known.end_told) = (vec![conn], false, false);
            let (branch, begin) = (known.branch, known.has);
            self.children.insert(child, known);
            self.send_again(branch);
            self.welcome(conn, child, begin);
        }
    }

    /// Sends again the bytes that the child of this branch is not known to have.
    fn send_again(&mut self, branch: BranchId) {
        // The branch exists as long as the child does.
        let again = self.stream.on_lost(branch);
        debug_assert!(again.is_ok(), "{again:?}");
    }

    fn serve(
        &mut self,
        now: Nanos,
        conn: ConnId,
        (child, edge): (HostId, u32),
        (begin, needed): (Begin, u64),
        room: u64,
        datagrams: bool,
    ) -> Result<(), Reason> {
        // A node without a place in the tree accepts no child: nobody above keeps bytes for its subtree, and
        // it may not know where its own stream begins.
        if !self.source && (self.incoming.is_none() || !self.kept) {
            return Err(Reason::Unexpected);
        }
        let (base, received) = (self.stream.base(), self.stream.received());
        let (needed, has, late) = match begin {
            // The child gets bytes that come from now on, and none that came before.
            Begin::Now if datagrams => (received, self.frontier(), false),
            Begin::At(offset) if datagrams => (received, offset, false),
            // A child that began at the newest byte would be the fastest, and the others late.
            Begin::Now if self.source && self.config.slow == Slow::Isolate => {
                let begin = self.fastest().max(base);
                (begin, begin, false)
            }
            Begin::Now => (received, self.next_record(received), false),
            Begin::At(offset) => (needed, offset, offset < base),
        };
        // Nodes above may have dropped bytes that this node did not need. With `Wait` a child that needs them
        // is refused, so that nobody depends on this host alone. Otherwise this node serves what it has: the
        // child may come from a slow parent, and no other host would take it.
        let promised = self.config.mode == Mode::EndToEnd && !self.source && needed < self.promised;
        let refused = match self.config.slow {
            Slow::Wait => late || promised && !datagrams,
            Slow::Isolate => late,
            Slow::Skip { .. } => false,
        };
        if refused {
            return Err(Reason::Gone);
        }
        // The new branch keeps what hosts below the child need, as far as it is cached. It is added before
        // old branches go, because one of these may be the child's.
        let from = needed.max(base).min(received);
        let branch = self.stream.add_branch(BranchStart::Offset(from)).map_err(|_| Reason::Gone)?;
        self.drop_child(child);
        self.release(child);
        let new = Child {
            branch,
            edge,
            has,
            needed,
            room,
            leaves: false,
            conns: vec![conn],
            datagrams: datagrams.then_some(conn),
            skip: None,
            skip_told: true,
            end_told: false,
            knows_end: false,
            reported: None,
            mark: (received, now),
            missed: [(now, received.saturating_sub(has)); 2],
            stuck: None,
        };
        self.children.insert(child, new);
        self.welcome(conn, child, has);
        if late {
            self.skip_child(child, self.middle());
        }
        Ok(())
    }

    fn welcome(&mut self, conn: ConnId, child: HostId, begin: u64) {
        if let Some(found) = self.conns.get_mut(&conn) {
            found.role = Role::Child(child);
        }
        self.say(conn, &Frame::Welcome { begin });
    }

    pub(super) fn on_childs_frame(
        &mut self,
        conn: ConnId,
        child: HostId,
        frame: Frame,
    ) -> Result<(), Reason> {
        let Some(known) = self.children.get_mut(&child).filter(|known| known.conns.contains(&conn)) else {
            return Err(Reason::BadFrame);
        };
        match frame {
            // The child may have more than this node sent it: bytes from an earlier parent.
            Frame::Taken { taken, needed } => {
                if taken > known.has {
                    (known.has, known.stuck) = (taken, None);
                }
                known.needed = known.needed.max(needed);
                known.skip = known.skip.filter(|&to| taken < to);
                self.advance(child);
                Ok(())
            }
            Frame::Complete if known.knows_end => self.complete_child(child),
            Frame::Moved => {
                self.drop_child(child);
                Ok(())
            }
            Frame::Alive => Ok(()),
            _ => Err(Reason::BadFrame),
        }
    }

    /// A child and all hosts below it have the whole stream.
    fn complete_child(&mut self, child: HostId) -> Result<(), Reason> {
        let received = self.stream.received();
        if let Some(known) = self.children.get_mut(&child) {
            (known.has, known.needed) = (received, received);
            let branch = known.branch;
            self.advance(child);
            if self.stream.end_due(branch) {
                self.stream.on_end_sent(branch).map_err(|_| Reason::BadFrame)?;
            }
            self.stream.on_end_acked(branch).map_err(|_| Reason::BadFrame)?;
        }
        Ok(())
    }

    /// Moves the children's branches on: bytes that came may be bytes that a child has already and needs no
    /// more.
    pub(super) fn advance_children(&mut self, now: Nanos) {
        let received = self.stream.received();
        for child in self.children.keys().copied().collect::<Vec<_>>() {
            self.advance(child);
            if let Some(known) = self.children.get_mut(&child) {
                if known.has >= known.mark.0 || known.datagrams.is_some() {
                    known.mark = (received, now);
                }
                known.stuck =
                    (known.has < received && known.datagrams.is_none()).then(|| known.stuck.unwrap_or(now));
            }
        }
    }

    fn advance(&mut self, child: HostId) {
        let Some(known) = self.children.get(&child) else {
            return;
        };
        let (branch, has, needed) = match known.datagrams {
            None => (known.branch, known.has, known.needed),
            Some(_) => (known.branch, u64::MAX, u64::MAX),
        };
        let range = self.stream.sendable(branch);
        if range.start < has && !range.is_empty() {
            let sent = self.stream.on_sent(branch, has.min(range.end) - range.start);
            debug_assert!(sent.is_ok(), "{sent:?}");
        }
        let acked = needed.min(self.stream.sent(branch).unwrap_or(0));
        let taken = self.stream.on_acked(branch, acked);
        debug_assert!(taken.is_ok(), "{taken:?}");
    }

    /// Appends the bytes that a connection of a child carries next; false: there are none.
    pub(super) fn give(&mut self, child: HostId, conn: ConnId, most: usize, out: &mut Vec<u8>) -> bool {
        self.advance(child);
        self.skip_gap(child);
        let Some(known) = self.children.get_mut(&child) else {
            return false;
        };
        let (first, branch) = (known.conns.first() == Some(&conn), known.branch);
        if let Some(to) = known.skip {
            let tell = first && !known.skip_told;
            if tell {
                known.skip_told = true;
                Frame::Skip { to }.encode(out);
            }
            return tell;
        }
        let range = self.stream.sendable(branch);
        let limit = known.has.saturating_add(known.room);
        let gap = self.datagrams.gap(range.start).map_or(u64::MAX, |gap| gap.start);
        let end = range.end.min(limit).min(gap).min(range.start.saturating_add(most as u64));
        if range.start >= known.has && range.start < end {
            // At most a block, which fits a `usize`.
            let pieces = self.cache.read(range.start, (end - range.start) as usize);
            let count = (pieces.0.len() + pieces.1.len()) as u64;
            if count == 0 || self.stream.on_sent(branch, count).is_err() {
                debug_assert!(false, "what is sendable is cached");
                return false;
            }
            Frame::encode_data(range.start, pieces, out);
            return true;
        }
        if first && !known.end_told && self.stream.end_due(branch) {
            (known.end_told, known.knows_end) = (true, true);
            let sent = self.stream.on_end_sent(branch);
            debug_assert!(sent.is_ok(), "{sent:?}");
            Frame::End { length: self.stream.received() }.encode(out);
            return true;
        }
        false
    }

    /// Lets a child that takes a stream go on behind bytes that are missing here.
    fn skip_gap(&mut self, child: HostId) {
        let Some(known) =
            self.children.get(&child).filter(|known| known.skip.is_none() && known.datagrams.is_none())
        else {
            return;
        };
        let at = self.stream.sendable(known.branch).start.max(known.has);
        if let Some(gap) = self.datagrams.gap(at).filter(|gap| gap.start <= at) {
            self.skip_child(child, gap.end);
        }
    }

    pub(super) fn on_child_conn_lost(&mut self, now: Nanos, child: HostId, conn: ConnId) {
        let Some(known) = self.children.get_mut(&child).filter(|known| known.conns.contains(&conn)) else {
            return;
        };
        known.conns.retain(|&other| other != conn);
        if known.conns.is_empty() {
            return self.lose_child(now, child);
        }
        if !self.stream.complete(known.branch) {
            (known.skip_told, known.end_told) = (false, false);
            let branch = known.branch;
            self.send_again(branch);
        }
    }

    /// A child lost its last connection. If the child died, hosts below it may need bytes that it had not
    /// passed on.
    fn lose_child(&mut self, now: Nanos, child: HostId) {
        let Some(lost) = self.children.remove(&child) else {
            return;
        };
        // The dispatcher may hear of the lost edge from the child, and is to know soon that this host is
        // alive.
        self.sign = self.sign.map(|_| now);
        self.release(child);
        let done = lost.datagrams.is_some()
            || lost.leaves
            || self.stream.complete(lost.branch)
            || self.stream.is_isolated(lost.branch);
        if done || self.gone.len() >= MAX_GONE {
            self.stream.remove_branch(lost.branch);
        } else {
            self.gone.insert(child, Gone { child: lost, until: now + self.config.keep });
        }
    }

    /// Nothing need be kept any more for a child that is gone, or soon will be.
    pub(super) fn release(&mut self, child: HostId) {
        if let Some(gone) = self.gone.remove(&child) {
            self.stream.remove_branch(gone.child.branch);
        }
        if let Some(known) = self.children.get_mut(&child) {
            known.leaves = true;
        }
    }

    /// Forgets a child, whatever connections it has.
    fn drop_child(&mut self, child: HostId) {
        if let Some(gone) = self.children.remove(&child) {
            self.stream.remove_branch(gone.branch);
            for conn in gone.conns {
                self.drop_conn(conn);
            }
        }
    }

    /// Tells a child why it is served no longer. Nothing is kept for it.
    pub(super) fn refuse_child(&mut self, child: HostId, reason: Reason) {
        if let Some(gone) = self.children.remove(&child) {
            self.stream.remove_branch(gone.branch);
            for conn in gone.conns {
                self.say_last(conn, &Frame::Refused(reason));
            }
        }
    }

    /// Lets a child go on at a later offset of the stream.
    pub(super) fn skip_child(&mut self, child: HostId, to: u64) {
        if let Some(known) = self.children.get(&child) {
            self.stream.remove_branch(known.branch);
        }
        self.begin_child_at(child, to);
    }

    /// Lets all children go on at one offset; the stream is a new one, without their branches.
    pub(super) fn skip_all(&mut self, to: u64) {
        self.gone.clear();
        let children: Vec<HostId> = self.children.keys().copied().collect();
        for child in children {
            self.begin_child_at(child, to);
        }
    }

    fn begin_child_at(&mut self, child: HostId, to: u64) {
        let received = self.stream.received();
        let Some(known) = self.children.get_mut(&child) else {
            return;
        };
        let Ok(branch) = self.stream.add_branch(BranchStart::Offset(to.min(received))) else {
            return self.refuse_child(child, Reason::Gone);
        };
        let skip = Some(to).filter(|_| known.datagrams.is_none());
        (known.branch, known.skip, known.skip_told, known.end_told) = (branch, skip, false, false);
        (known.has, known.needed) = (to, to);
    }
}
