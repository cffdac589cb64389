//! The edge to one child. The node does not remember which connection carries which bytes: when a connection
//! dies, all bytes that the child is not known to have go again over the others, and the child drops those
//! that it has.

use groupflow_base::Nanos;
use groupflow_transport::fanout::{BranchId, BranchStart, Fanout};

use super::held::HeldBytes;
use super::pace::Pace;
use super::ConnId;
use crate::machine::frame::{Reason, TreeFrame};

/// One child.
#[derive(Debug, Clone)]
pub(super) struct Child {
    pub(super) branch: BranchId,
    pub(super) edge: u32,
    /// The child has all before this offset, which this node may not even have itself.
    has: u64,
    /// The child and the hosts below it need nothing before this offset.
    needed: u64,
    /// Bytes that the child takes beyond those it has.
    room: u64,
    /// The child has another parent, or soon will.
    pub(super) leaves: bool,
    pub(super) conns: Vec<ConnId>,
    /// The offset at which the child is to go on, until it says that it does. Its first connection carries
    /// SKIP; the child would drop bytes that came over another one earlier.
    skip: Option<u64>,
    skip_told: bool,
    end_told: bool,
    /// The child was told the end, over whichever connection.
    knows_end: bool,
    pub(super) pace: Pace,
}

/// The request of a child's HELLO.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChildRequest {
    pub(super) edge: u32,
    pub(super) has: u64,
    pub(super) needed: u64,
    pub(super) room: u64,
}

impl Child {
    /// A child with its first connection. Its branch keeps what it and the hosts below it need, as far as it
    /// is held here.
    pub(super) fn new(
        now: Nanos, conn: ConnId, asked: ChildRequest, stream: &mut Fanout,
    ) -> Result<Child, Reason> {
        let ChildRequest { edge, has, needed, room } = asked;
        let received = stream.received();
        let from = BranchStart::Offset(needed.max(stream.base()).min(received));
        Ok(Child {
            branch: stream.add_branch(from).map_err(|_| Reason::Gone)?,
            edge,
            has,
            needed,
            room,
            leaves: false,
            conns: vec![conn],
            skip: None,
            skip_told: true,
            end_told: false,
            knows_end: false,
            pace: Pace::new(now, received, received.saturating_sub(has)),
        })
    }

    /// Takes one more connection; returns the offset that its WELCOME tells.
    pub(super) fn add_conn(&mut self, conn: ConnId, most: usize) -> Result<u64, Reason> {
        if self.conns.len() >= most {
            return Err(Reason::TooMany);
        }
        self.conns.push(conn);
        Ok(self.has)
    }

    /// Takes another connection of an edge that had none left. The child may have asked for it long ago; its
    /// messages over other connections count.
    pub(super) fn come_back(&mut self, conn: ConnId, stream: &mut Fanout) -> u64 {
        self.conns = vec![conn];
        self.send_again(stream);
        self.has
    }

    /// Forgets a connection; false: it was the last one.
    pub(super) fn lose_conn(&mut self, conn: ConnId, stream: &mut Fanout) -> bool {
        self.conns.retain(|&other| other != conn);
        if !self.conns.is_empty() && !stream.complete(self.branch) {
            self.send_again(stream);
        }
        !self.conns.is_empty()
    }

    /// Sends again the bytes that the child is not known to have.
    fn send_again(&mut self, stream: &mut Fanout) {
        (self.skip_told, self.end_told) = (false, false);
        // The branch exists as long as the child does.
        let again = stream.on_lost(self.branch);
        debug_assert!(again.is_ok(), "{again:?}");
    }

    /// Whether no byte need be kept for the child and the hosts below it.
    pub(super) fn needs_nothing(&self, stream: &Fanout) -> bool {
        self.leaves || stream.complete(self.branch) || stream.is_isolated(self.branch)
    }

    /// The child says which bytes it took; they may be more than this node sent it, from an earlier parent.
    pub(super) fn on_taken(&mut self, taken: u64, needed: u64, stream: &mut Fanout) {
        if taken > self.has {
            self.has = taken;
            self.pace.stuck = None;
        }
        self.needed = self.needed.max(needed);
        self.skip = self.skip.filter(|&to| taken < to);
        self.advance(stream);
    }

    /// The child and all hosts below it have the whole stream, whose end the child was told.
    pub(super) fn on_complete(&mut self, stream: &mut Fanout) -> Result<(), Reason> {
        if !self.knows_end {
            return Err(Reason::BadFrame);
        }
        (self.has, self.needed) = (stream.received(), stream.received());
        self.advance(stream);
        if stream.end_due(self.branch) {
            stream.on_end_sent(self.branch).map_err(|_| Reason::BadFrame)?;
        }
        stream.on_end_acked(self.branch).map_err(|_| Reason::BadFrame)
    }

    /// Moves the child's branch on: bytes that came may be bytes that the child has already and needs no
    /// more.
    pub(super) fn advance(&self, stream: &mut Fanout) {
        let range = stream.sendable(self.branch);
        if range.start < self.has && !range.is_empty() {
            let sent = stream.on_sent(self.branch, self.has.min(range.end) - range.start);
            debug_assert!(sent.is_ok(), "{sent:?}");
        }
        let acked = self.needed.min(stream.sent(self.branch).unwrap_or(0));
        let taken = stream.on_acked(self.branch, acked);
        debug_assert!(taken.is_ok(), "{taken:?}");
    }

    /// Moves the child's branch on, and notes how it keeps up.
    pub(super) fn update(&mut self, now: Nanos, stream: &mut Fanout) {
        self.advance(stream);
        self.pace.on_has(now, stream.received(), self.has);
    }

    /// Bytes that wait for the child, and that it lacks.
    pub(super) fn waits(&self, stream: &Fanout) -> (u64, u64) {
        let received = stream.received();
        (received - stream.sent(self.branch).unwrap_or(received), received.saturating_sub(self.has))
    }

    /// Appends the bytes that a connection of the child carries next; false: there are none.
    pub(super) fn give(
        &mut self, conn: ConnId, most: usize, stream: &mut Fanout, held: &HeldBytes, out: &mut Vec<u8>,
    ) -> bool {
        let first = self.conns.first() == Some(&conn);
        if let Some(to) = self.skip {
            let tell = first && !self.skip_told;
            if tell {
                self.skip_told = true;
                TreeFrame::Skip { to }.encode(out);
            }
            return tell;
        }
        let range = stream.sendable(self.branch);
        let limit = self.has.saturating_add(self.room);
        let end = range.end.min(limit).min(range.start.saturating_add(most as u64));
        if range.start >= self.has && range.start < end {
            // At most a block, which fits a `usize`.
            let pieces = held.read(range.start, (end - range.start) as usize);
            let count = (pieces.0.len() + pieces.1.len()) as u64;
            if count == 0 || stream.on_sent(self.branch, count).is_err() {
                debug_assert!(false, "what is sendable is held");
                return false;
            }
            TreeFrame::encode_data(range.start, pieces, out);
            return true;
        }
        let tell = first && !self.end_told && stream.end_due(self.branch);
        if tell {
            (self.end_told, self.knows_end) = (true, true);
            let sent = stream.on_end_sent(self.branch);
            debug_assert!(sent.is_ok(), "{sent:?}");
            TreeFrame::End { length: stream.received() }.encode(out);
        }
        tell
    }

    /// Begins at a later offset of the stream, in a new branch. False: the stream does not have that.
    pub(super) fn begin_at(&mut self, to: u64, stream: &mut Fanout) -> bool {
        let Ok(branch) = stream.add_branch(BranchStart::Offset(to.min(stream.received()))) else {
            return false;
        };
        self.branch = branch;
        self.skip = Some(to);
        self.skip_told = false;
        self.end_told = false;
        self.has = to;
        self.needed = to;
        true
    }
}
