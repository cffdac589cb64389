//! The edges to the parents. A node that gets another parent connects to it first, and leaves the one before
//! when the new one serves it: the stream goes on meanwhile, and bytes that come twice are dropped.

use groupflow_base::Nanos;

use super::conns::Conns;
use crate::machine::frame::Reason;
use crate::machine::message::FromHost;
use crate::machine::names::{HostId, Peer, Ticket};

/// A parent that does not expect its child yet is asked again after this time, then after twice as long, and
/// so on.
const FIRST_AGAIN: Nanos = Nanos::from_millis(20);
/// The longest time before a parent is asked again.
const LAST_AGAIN: Nanos = Nanos::from_millis(160);

/// An edge to a parent.
#[derive(Debug, Clone)]
struct ParentEdge {
    order: u32,
    peer: Peer,
    ticket: Ticket,
    /// The edge's number, which all its connections share.
    edge: u32,
    /// Whether the parent serves this node.
    serves: bool,
    /// When the parent is tried again.
    again: Option<Nanos>,
    /// Attempts that this parent has refused.
    refusals: u32,
    since: Nanos,
    /// The offsets that HELLO told: all before the first is here, nothing before the second is needed.
    said: (u64, u64),
    /// When the parent was first asked: from then to the first answer it takes at least a round trip.
    asked: Nanos,
}

/// A node's parent, and its next one.
#[derive(Debug, Clone, Default)]
pub(super) struct Parents {
    present: Option<ParentEdge>,
    next: Option<ParentEdge>,
    edges: u32,
    /// Whether a parent served this node once: that parent, or hosts above it, keep the bytes that it needs.
    pub(super) kept: bool,
}

impl Parents {
    /// Connects to the parent that an order named.
    pub(super) fn order(&mut self, now: Nanos, conns: &mut Conns, order: u32, peer: Peer, ticket: Ticket) {
        if let Some(next) = self.next.take() {
            conns.close_edge(next.edge, false);
        }
        self.edges += 1;
        self.next = Some(ParentEdge {
            order,
            peer,
            ticket,
            edge: self.edges,
            serves: false,
            again: None,
            refusals: 0,
            since: now,
            said: (0, 0),
            asked: now,
        });
        conns.connect(now, self.edges, peer);
    }

    /// Leaves all parents; one of them is told MOVED if another host serves this one.
    pub(super) fn leave(&mut self, conns: &mut Conns, moved: bool) {
        for edge in [self.present.take(), self.next.take()].into_iter().flatten() {
            conns.close_edge(edge.edge, moved);
        }
    }

    pub(super) fn host(&self) -> Option<HostId> {
        self.present.as_ref().map(|present| present.peer.host)
    }

    /// The number of the edge to the parent that serves this node.
    pub(super) fn edge(&self) -> Option<u32> {
        self.present.as_ref().map(|present| present.edge)
    }

    fn get_mut(&mut self, edge: u32) -> Option<&mut ParentEdge> {
        [&mut self.present, &mut self.next].into_iter().flatten().find(|found| found.edge == edge)
    }

    /// Notes the offsets that HELLO tells the parent; returns the ticket that it shows.
    pub(super) fn on_hello(&mut self, edge: u32, said: (u64, u64)) -> Option<Ticket> {
        let found = self.get_mut(edge)?;
        found.said = said;
        Some(found.ticket)
    }

    /// The next parent accepted its first connection: it is the parent from now on. False: no such edge is
    /// being made.
    pub(super) fn accept(&mut self, now: Nanos, conns: &mut Conns, edge: u32, sockets: u16) -> bool {
        let Some(mut next) = self.next.take().filter(|next| next.edge == edge) else { return false };
        if let Some(before) = self.present.take() {
            conns.close_edge(before.edge, true);
        }
        (next.serves, self.kept) = (true, true);
        let known = conns.accepted(edge).map(|conn| conns.round_trip(conn)).filter(|way| *way > Nanos::ZERO);
        let latency = Nanos(known.unwrap_or(now - next.asked).0 / 2);
        conns.report(FromHost::Attached { order: next.order, latency });
        (1..sockets).for_each(|_| conns.connect(now, edge, next.peer));
        self.present = Some(next);
        true
    }

    /// A parent refused a connection, which is closed. `now_there`: the offsets that HELLO would tell now.
    pub(super) fn on_refused(
        &mut self, now: Nanos, conns: &mut Conns, edge: u32, reason: Reason, now_there: (u64, u64),
        patience: Nanos,
    ) {
        let Some(found) = self.get_mut(edge) else { return };
        // Other connections of this edge are served, or still wait for an answer.
        let others = conns.count(edge) > 0;
        if others && found.serves && matches!(reason, Reason::TooMany | Reason::Unexpected) {
            return;
        }
        // Another parent serves this node meanwhile, and the offsets of its HELLO are out of date.
        let outdated = reason == Reason::Gone && found.said != now_there;
        let soon = (reason == Reason::Unexpected || outdated) && !found.serves;
        if soon && found.since + patience > now {
            found.again = Some(now + FIRST_AGAIN.doubled(found.refusals, LAST_AGAIN));
            found.refusals += 1;
            return;
        }
        self.lose(conns, edge, matches!(reason, Reason::Gone | Reason::Overtaken));
    }

    /// A connection of the edge is lost; returns whether the parent served this node.
    pub(super) fn on_conn_lost(&mut self, now: Nanos, conns: &mut Conns, edge: u32) -> bool {
        let Some(found) = self.get_mut(edge) else { return false };
        let serves = found.serves;
        match (conns.count(edge) > 0, serves) {
            // Another connection takes the place of this one of several, but not at once: the parent may be
            // dead.
            (true, true) => found.again = Some(now + FIRST_AGAIN),
            (true, false) => {}
            // The parent is tried again.
            (false, false) if found.again.is_some() => {}
            (false, _) => self.lose(conns, edge, false),
        }
        serves
    }

    /// Ends an edge; if it was the last one, tells the dispatcher.
    fn lose(&mut self, conns: &mut Conns, edge: u32, gone: bool) {
        let newest = self.next.as_ref().or(self.present.as_ref());
        let order = newest.map_or(0, |edge| edge.order);
        let is = |found: &Option<ParentEdge>| found.as_ref().is_some_and(|found| found.edge == edge);
        conns.close_edge(edge, false);
        if is(&self.next) {
            // A host that cannot carry out an order leaves its parent, too: so the dispatcher always knows.
            self.leave(conns, false);
        } else if is(&self.present) {
            self.present = None;
        } else {
            return;
        }
        if self.next.is_none() {
            conns.report(FromHost::Lost { order, gone });
        }
    }

    pub(super) fn deadline(&self) -> Option<Nanos> {
        [&self.present, &self.next].into_iter().flatten().filter_map(|edge| edge.again).min()
    }

    pub(super) fn try_again(&mut self, now: Nanos, conns: &mut Conns, sockets: u16) {
        for edge in [&mut self.present, &mut self.next].into_iter().flatten() {
            if edge.again.is_some_and(|again| again <= now) {
                (edge.again, edge.asked) = (None, now);
                let wanted = if edge.serves { sockets } else { 1 };
                for _ in conns.count(edge.edge)..usize::from(wanted) {
                    conns.connect(now, edge.edge, edge.peer);
                }
            }
        }
    }
}
