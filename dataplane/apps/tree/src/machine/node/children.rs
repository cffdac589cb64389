//! The edges to the children: each takes from the cache at its own pace.

use super::*;

/// Children that are gone and that something is kept for. They were expected once; more are never kept.
const MAX_GONE: usize = 256;

/// One child. What its connections carry is not remembered one by one: when one of them dies, all that the
/// child is not known to have goes again over the others, and it drops what it has.
#[derive(Debug, Clone)]
pub(super) struct Child {
    pub(super) branch: BranchId,
    edge: u32,
    /// It has all before already, which this node may not even have itself.
    pub(super) has: u64,
    /// It and those below it need nothing before.
    needed: u64,
    /// It takes so much beyond what it has.
    room: u64,
    /// It has another parent, or soon will.
    leaves: bool,
    conns: Vec<ConnId>,
    /// It takes its DATA in datagrams, of which nothing is kept for it, as this connection told.
    pub(super) datagrams: Option<ConnId>,
    /// Where it is to go on, and did not say yet that it does. It is told so over its first connection; what
    /// it gets before, over another, it would drop.
    skip: Option<u64>,
    skip_told: bool,
    end_told: bool,
    /// It was told the end, over whichever connection.
    knows_end: bool,
    /// When it was last reported as slow.
    pub(super) reported: Option<Nanos>,
    /// What it did not have, and when: it has had all since that there was before.
    pub(super) mark: (u64, Nanos),
    /// How many bytes it did not have at two times, the later one at most [`NodeConfig::late_after`] ago and
    /// the earlier one longer, unless it has come since.
    pub(super) missed: [(Nanos, u64); 2],
    /// Since when something waits and it takes nothing.
    pub(super) stuck: Option<Nanos>,
}

/// A child without connections. What it did not say to have is kept for it and for those below it.
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
            // An edge before this one is no more.
            _ => self.serve(now, conn, (child, edge), (begin, needed), room, deadline.is_some()),
        };
        if let (Ok(()), Some(deadline)) = (taken, deadline) {
            self.actions.push_back(Action::Datagrams { conn, deadline });
        }
        taken
    }

    /// Another connection of an edge that had none left. It may have been asked for long ago: what was said
    /// over others counts.
    fn take_back_child(&mut self, conn: ConnId, child: HostId) {
        if let Some(Gone { child: mut known, .. }) = self.gone.remove(&child) {
            (known.conns, known.skip_told, known.end_told) = (vec![conn], false, false);
            let (branch, begin) = (known.branch, known.has);
            self.children.insert(child, known);
            self.send_again(branch);
            self.welcome(conn, child, begin);
        }
    }

    /// What the child of this branch is not known to have is sent again.
    fn send_again(&mut self, branch: BranchId) {
        // There is such a branch as long as there is the child.
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
        // For who is not in the tree yet nobody keeps anything; and it may not know yet where its own stream
        // begins.
        if !self.source && (self.incoming.is_none() || !self.kept) {
            return Err(Reason::Unexpected);
        }
        let (base, received) = (self.stream.base(), self.stream.received());
        let (needed, has, late) = match begin {
            // It gets what comes, and nothing that came.
            Begin::Now if datagrams => (received, self.frontier(), false),
            Begin::At(offset) if datagrams => (received, offset, false),
            // Else it would be the fastest, and the others late.
            Begin::Now if self.source && self.config.slow == Slow::Isolate => {
                let begin = self.fastest().max(base);
                (begin, begin, false)
            }
            Begin::Now => (received, self.next_record(received), false),
            Begin::At(offset) => (needed, offset, offset < base),
        };
        // Those above may not have any more what was not needed here. Where all are waited for nobody is to
        // depend on this host alone; elsewhere it serves what it has: the child may come from a slow host,
        // and nobody else would take it.
        let promised = self.config.mode == Mode::EndToEnd && !self.source && needed < self.promised;
        let refused = match self.config.slow {
            Slow::Wait => late || promised && !datagrams,
            Slow::Isolate => late,
            Slow::Skip { .. } => false,
        };
        if refused {
            return Err(Reason::Gone);
        }
        // What hosts below it need, as far as it is there. Before others are let go of: the child may be one
        // of them.
        let from = needed.max(base).min(received);
        let branch = self.stream.add_branch(From::Offset(from)).map_err(|_| Reason::Gone)?;
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
            // It may have more than it was sent here: of an earlier parent's.
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

    /// A child and all below it have all.
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

    /// What came may be what children have already, and do not need any more.
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

    /// Appends what a connection of a child carries next; false: nothing.
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
            // At most a block.
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

    /// A child that takes a stream goes on behind what is missing here.
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

    /// A child's last connection is lost. Where it died, those below it may need what it had not passed on.
    fn lose_child(&mut self, now: Nanos, child: HostId) {
        let Some(lost) = self.children.remove(&child) else {
            return;
        };
        // The dispatcher, which may hear of it from the child, is to know soon that this host is there.
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

    /// Nothing need be kept for a child that is gone, or will be.
    pub(super) fn release(&mut self, child: HostId) {
        if let Some(gone) = self.gone.remove(&child) {
            self.stream.remove_branch(gone.child.branch);
        }
        if let Some(known) = self.children.get_mut(&child) {
            known.leaves = true;
        }
    }

    /// A child is no more here, whatever connections it has.
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

    /// A child goes on later in the stream.
    pub(super) fn skip_child(&mut self, child: HostId, to: u64) {
        if let Some(known) = self.children.get(&child) {
            self.stream.remove_branch(known.branch);
        }
        self.begin_child_at(child, to);
    }

    /// All children go on there; the stream is a new one, without their branches.
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
        let Ok(branch) = self.stream.add_branch(From::Offset(to.min(received))) else {
            return self.refuse_child(child, Reason::Gone);
        };
        let skip = Some(to).filter(|_| known.datagrams.is_none());
        (known.branch, known.skip, known.skip_told, known.end_told) = (branch, skip, false, false);
        (known.has, known.needed) = (to, to);
    }
}
