//! The node's children: those that the dispatcher lets it expect, those that are connected, and departed ones
//! for which bytes are kept.
//!
//! The node does not remember which connection carries which bytes: when a connection dies, all bytes that
//! the child is not known to have go again over the others, and the child drops those that it has.

use std::collections::{BTreeMap, VecDeque};

use groupflow_base::Nanos;
use groupflow_transport::fanout::{BranchId, BranchStart, Fanout};

use super::conns::Conns;
use super::slow::Pace;
use super::stream::HeldBytes;
use super::ConnId;
use crate::machine::frame::{Hello, Reason, TreeFrame};
use crate::machine::messages::{HostId, Ticket};

/// Hosts that may be expected beyond the most children: those that come before others have gone.
const EXPECTED: usize = 16;
/// Departed children that bytes are kept for. All of them were expected once; bytes for more are never kept.
const MAX_DEPARTED: usize = 256;

/// A child that may connect.
#[derive(Debug, Clone, Copy)]
struct Expected {
    host: HostId,
    ticket: Ticket,
    /// Until when bytes that it may need are kept above; none if it has come, or is late.
    until: Option<Nanos>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Children {
    expected: VecDeque<Expected>,
    pub(super) present: BTreeMap<HostId, Child>,
    /// Children without connections, and until when bytes that they did not say to have are kept for them and
    /// for the hosts below them.
    pub(super) departed: BTreeMap<HostId, (Child, Nanos)>,
    /// A child that may lack bytes is served no longer.
    pub(super) gave_up: bool,
}

impl Children {
    /// Lets a child connect that shows this ticket. A child that comes from a farther parent is behind: until
    /// it is here, or that time, this node tells its parent no higher need, which the child then reaches.
    pub(super) fn expect(&mut self, child: HostId, ticket: Ticket, until: Nanos, most: usize) {
        self.expect_no_more(child);
        self.expected.push_back(Expected { host: child, ticket, until: Some(until) });
        if self.expected.len() > most + EXPECTED {
            self.expected.pop_front();
        }
    }

    pub(super) fn expect_no_more(&mut self, child: HostId) {
        self.expected.retain(|expected| expected.host != child);
    }

    /// Whether a child is on its way.
    pub(super) fn awaits(&self, now: Nanos) -> bool {
        self.expected.iter().filter_map(|expected| expected.until).any(|until| now < until)
    }

    pub(super) fn expects(&self, child: HostId, ticket: Ticket) -> bool {
        self.expected.iter().any(|expected| expected.host == child && expected.ticket == ticket)
    }

    pub(super) fn hosts(&self) -> impl Iterator<Item = HostId> + '_ {
        self.present.keys().copied()
    }

    pub(super) fn count(&self) -> usize {
        self.present.len()
    }

    pub(super) fn get_mut(&mut self, child: HostId) -> Option<&mut Child> {
        self.present.get_mut(&child)
    }

    /// The lowest offset that a child, present or departed, and the hosts below it need; `None`: none is
    /// waited for.
    pub(super) fn needed(&self, stream: &Fanout) -> Option<u64> {
        let all = self.present.values().chain(self.departed.values().map(|(child, _)| child));
        let branches = all.map(|child| child.branch).filter(|&branch| !stream.is_isolated(branch));
        branches.filter_map(|branch| stream.acked(branch)).min()
    }

    /// Whether all children and the hosts below them have the whole stream.
    pub(super) fn have_all(&self, stream: &Fanout) -> bool {
        self.departed.is_empty() && self.present.values().all(|child| stream.complete(child.branch))
    }

    /// The largest offset that one child, with all hosts below it, is known to have. Departed children count
    /// if there are no others; without any, all that was received.
    pub(super) fn fastest(&self, stream: &Fanout) -> u64 {
        let acked = |child: &Child| stream.acked(child.branch);
        let here = self.present.values().filter_map(acked).max();
        let gone = || self.departed.values().filter_map(|(gone, _)| acked(gone)).max();
        here.or_else(gone).unwrap_or(stream.received)
    }

    /// Adds a child, in the place of an earlier edge of the same host. The child's branch exists before the
    /// old one goes, so that what it needs is kept.
    pub(super) fn add(&mut self, host: HostId, child: Child, stream: &mut Fanout, conns: &mut Conns) {
        self.forget(host, stream, conns);
        self.release(host, stream);
        self.wait_no_longer(|expected| expected.host == host);
        self.present.insert(host, child);
    }

    /// Takes a departed child back, whose edge has a connection again; returns the offset that its WELCOME
    /// tells.
    pub(super) fn take_back(
        &mut self, host: HostId, edge: u32, conn: ConnId, stream: &mut Fanout,
    ) -> Option<u64> {
        let (mut child, until) = self.departed.remove(&host)?;
        if child.edge != edge {
            self.departed.insert(host, (child, until));
            return None;
        }
        // The child may have asked for this connection long ago: its messages over other connections count.
        child.conns = vec![conn];
        child.send_again(stream);
        let has = child.has;
        self.present.insert(host, child);
        Some(has)
    }

    /// Notes that a child lost its last connection. If the child died, hosts below it may need bytes that it
    /// had not passed on: they are kept until then.
    pub(super) fn lose(&mut self, host: HostId, until: Nanos, stream: &mut Fanout) {
        let Some(lost) = self.present.remove(&host) else { return };
        self.release(host, stream);
        let needs_nothing = lost.leaves || stream.complete(lost.branch) || stream.is_isolated(lost.branch);
        if needs_nothing || self.departed.len() >= MAX_DEPARTED {
            self.gave_up |= !lost.leaves && !stream.complete(lost.branch);
            stream.remove_branch(lost.branch);
        } else {
            self.departed.insert(host, (lost, until));
        }
    }

    /// Keeps nothing any more for a child that is gone, or soon will be.
    pub(super) fn release(&mut self, host: HostId, stream: &mut Fanout) {
        if let Some((gone, _)) = self.departed.remove(&host) {
            stream.remove_branch(gone.branch);
        }
        if let Some(child) = self.present.get_mut(&host) {
            child.leaves = true;
        }
    }

    /// When bytes for a departed or an expected child are kept no longer.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        let kept = self.departed.values().map(|&(_, until)| until);
        kept.chain(self.expected.iter().filter_map(|expected| expected.until)).min()
    }

    pub(super) fn release_late(&mut self, now: Nanos, stream: &mut Fanout) {
        self.wait_no_longer(|expected| expected.until.is_some_and(|until| until <= now));
        let expired = self.departed.iter().filter(|(_, &(_, until))| until <= now).map(|(&host, _)| host);
        for host in expired.collect::<Vec<_>>() {
            self.gave_up = true;
            self.release(host, stream);
        }
    }

    fn wait_no_longer(&mut self, is_over: impl Fn(&Expected) -> bool) {
        for expected in self.expected.iter_mut().filter(|expected| is_over(expected)) {
            expected.until = None;
        }
    }

    pub(super) fn forget(&mut self, host: HostId, stream: &mut Fanout, conns: &mut Conns) {
        if let Some(gone) = self.present.remove(&host) {
            stream.remove_branch(gone.branch);
            gone.conns.iter().for_each(|&conn| conns.drop(conn));
        }
    }

    /// Tells a child why it is served no longer. Nothing is kept for it.
    pub(super) fn refuse(&mut self, host: HostId, reason: Reason, stream: &mut Fanout, conns: &mut Conns) {
        if let Some(gone) = self.present.remove(&host) {
            self.gave_up |= !stream.complete(gone.branch);
            stream.remove_branch(gone.branch);
            gone.conns.iter().for_each(|&conn| conns.send_last(conn, &TreeFrame::Refused(reason)));
        }
    }

    /// Serves no child any more, and keeps nothing.
    pub(super) fn leave_all(&mut self, stream: &mut Fanout, conns: &mut Conns) {
        for host in self.hosts().collect::<Vec<_>>() {
            self.refuse(host, Reason::Leaving, stream, conns);
        }
        for (_, (gone, _)) in std::mem::take(&mut self.departed) {
            stream.remove_branch(gone.branch);
        }
        self.expected.clear();
        self.gave_up = false;
    }

    /// Lets a child go on at a later offset of the stream.
    pub(super) fn skip(&mut self, host: HostId, to: u64, stream: &mut Fanout, conns: &mut Conns) {
        let Some(child) = self.present.get_mut(&host) else { return };
        stream.remove_branch(child.branch);
        if !child.begin_at(to, stream) {
            self.refuse(host, Reason::Gone, stream, conns);
        }
    }

    /// Lets all children go on at one offset of a new stream, which has none of their branches.
    pub(super) fn begin_at(&mut self, to: u64, stream: &mut Fanout) {
        self.departed.clear();
        for child in self.present.values_mut() {
            // The new stream begins there.
            let begun = child.begin_at(to, stream);
            debug_assert!(begun);
        }
    }

    pub(super) fn update(&mut self, now: Nanos, stream: &mut Fanout) {
        self.present.values_mut().for_each(|child| child.update(now, stream));
    }

    pub(super) fn matching(&self, is: impl Fn(&Child) -> bool) -> Vec<HostId> {
        self.present.iter().filter(|(_, child)| is(child)).map(|(&host, _)| host).collect()
    }
}

/// The edge to one child.
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
    /// The offset that SKIP names, until the child says that it goes on there. The first connection carries
    /// SKIP. Until the answer no connection carries bytes, which the child would drop.
    skip: Option<u64>,
    skip_told: bool,
    end_told: bool,
    /// The child was told the end, over whichever connection.
    knows_end: bool,
    pub(super) pace: Pace,
}

impl Child {
    /// A child with its first connection, which has all before `has`. Its branch keeps what it and the hosts
    /// below it need, as far as it is held here.
    pub(super) fn new(
        now: Nanos, conn: ConnId, hello: &Hello, (has, needed): (u64, u64), stream: &mut Fanout,
    ) -> Result<Child, Reason> {
        let received = stream.received;
        let from = BranchStart::Offset(needed.max(stream.base).min(received));
        Ok(Child {
            branch: stream.add_branch(from).map_err(|_| Reason::Gone)?,
            edge: hello.edge,
            has,
            needed,
            room: hello.room,
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
        self.skip_told = false;
        self.end_told = false;
        // The branch exists as long as the child does.
        let again = stream.on_lost(self.branch);
        debug_assert!(again.is_ok(), "{again:?}");
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
        (self.has, self.needed) = (stream.received, stream.received);
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
        self.pace.on_has(now, stream.received, self.has);
    }

    /// Bytes that wait for the child, and that it lacks.
    pub(super) fn waits(&self, stream: &Fanout) -> (u64, u64) {
        let received = stream.received;
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
                TreeFrame::Skip { to }.encode_into(out);
            }
            return tell;
        }
        let range = stream.sendable(self.branch);
        let limit = self.has.saturating_add(self.room);
        let end = range.end.min(limit).min(range.start.saturating_add(most as u64));
        if range.start >= self.has && range.start < end {
            // At most a block, which fits a `usize`.
            let pieces = held.bytes.read(range.start, (end - range.start) as usize);
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
            TreeFrame::End { length: stream.received }.encode_into(out);
        }
        tell
    }

    /// Begins at a later offset of the stream, in a new branch. False: the stream does not have that.
    pub(super) fn begin_at(&mut self, to: u64, stream: &mut Fanout) -> bool {
        let Ok(branch) = stream.add_branch(BranchStart::Offset(to.min(stream.received))) else {
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
