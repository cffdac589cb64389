//! The dispatcher's orders, the host's presence in the tree as the dispatcher knows it, and the edges to the
//! parents. A node that gets another parent connects to it first, and leaves the one before when the new one
//! serves it: the stream goes on meanwhile, and bytes that come twice are dropped.

use groupflow_base::Nanos;

use super::conns::Conns;
use super::{NodeAction, Slow, TreeNode};
use crate::machine::frame::Reason;
use crate::machine::messages::{FromHost, HostId, Peer, Ticket, ToHost};

/// Signs of life to the dispatcher for which bytes are kept for a child that is on its way.
const AWAITED: u64 = 3;

/// The time after which dispatchers know what became of a host that is gone.
const NOTICED: Nanos = Nanos::from_millis(5000);
/// A parent that does not expect its child yet is asked again after this time, then after twice as long, and
/// so on.
const FIRST_AGAIN: Nanos = Nanos::from_millis(20);
/// The longest time before a parent is asked again.
const LAST_AGAIN: Nanos = Nanos::from_millis(160);

/// The progress of a host that leaves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum LeaveProgress {
    /// The host stays.
    #[default]
    No,
    /// The host told the dispatcher that it leaves.
    Asked,
    /// The host may go when its children have gone.
    Released,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Presence {
    /// When the dispatcher gets the next sign of life; `None`: the node has no place.
    pub(super) sign: Option<Nanos>,
    pub(super) departure: LeaveProgress,
    /// When the dispatchers were reached last; `None`: they are reached now.
    pub(super) unreached: Option<Nanos>,
    /// When a child that may lack bytes was given up last.
    pub(super) gave_up: Option<Nanos>,
}

impl Presence {
    pub(super) fn is_unsure(&self) -> bool {
        self.unreached.zip(self.gave_up).is_some_and(|(reached, gave_up)| gave_up + NOTICED > reached)
    }

    pub(super) fn is_released(&self) -> bool {
        self.departure == LeaveProgress::Released
    }
}

impl TreeNode {
    /// Carries out an order of the dispatcher.
    pub fn on_order(&mut self, now: Nanos, order: ToHost) {
        match order {
            ToHost::Place { order, parent, ticket } => {
                self.presence.sign = self.presence.sign.or(Some(now + self.config.alive));
                if !self.source && !self.presence.is_released() {
                    self.parents.order(now, &mut self.conns, order, parent, ticket);
                }
            }
            ToHost::Expect { child, ticket } => {
                let until = now + Nanos(AWAITED * self.config.alive.0);
                self.children.expect(child, ticket, until, self.config.max_children);
            }
            ToHost::Forget { child } => {
                self.children.expect_no_more(child);
                self.children.release(child, &mut self.stream);
                self.update(now);
            }
            ToHost::Gone => self.give_up_what_is_gone(now),
            ToHost::Released => {
                self.presence.departure = LeaveProgress::Released;
                self.update(now);
            }
            // A host that leaves needs no other parent.
            ToHost::Probe(_) if self.is_leaving() => {}
            ToHost::Probe(peers) => self.conns.ask(NodeAction::Measure(peers)),
            ToHost::Delay { .. } => {}
            ToHost::Redirect(cluster) => {
                self.begin_again(now);
                if !self.is_leaving() {
                    self.conns.ask(NodeAction::Join(cluster));
                }
            }
            ToHost::Refused { code, text } => self.conns.ask(NodeAction::Refused { code, text }),
        }
    }

    /// Lets go of all other hosts, to join again elsewhere; a host that was to leave is free to go.
    pub fn begin_again(&mut self, now: Nanos) {
        self.presence.sign = None;
        if self.presence.departure == LeaveProgress::Asked {
            self.presence.departure = LeaveProgress::Released;
        }
        self.children.leave_all(&mut self.stream, &mut self.conns);
        self.parents.leave(&mut self.conns, false);
        self.parents.kept = false;
        self.update(now);
    }

    /// Begins to leave: the dispatcher finds other parents for this host's children, and the host serves them
    /// until they have these.
    pub fn leave(&mut self, now: Nanos) {
        if !self.is_leaving() {
            self.presence.departure = LeaveProgress::Asked;
            self.conns.report(FromHost::Leave);
            self.reader.stop(&mut self.stream);
            self.update(now);
        }
    }

    /// Whether the host leaves: it joins no cluster any more, and dispatchers that replace others may not
    /// know that it leaves.
    pub fn is_leaving(&self) -> bool {
        self.presence.departure != LeaveProgress::No
    }

    /// Whether a host that leaves is free to go: no host needs it any more.
    pub fn is_over(&self) -> bool {
        self.presence.is_released() && self.children.count() == 0 && self.conns.is_empty()
    }

    /// Lets go of the parents once this host is released and its children have other parents.
    pub(super) fn go_if_released(&mut self) {
        if self.presence.is_released() && self.children.count() == 0 {
            // If this node keeps bytes for hosts below a departed child, its parent must keep them, too: then
            // the parent is not told MOVED.
            let moved = !self.keeps_for_departed();
            self.parents.leave(&mut self.conns, moved);
        }
    }

    /// No host has the bytes that come next. A stream that may be skipped goes on with bytes that come now;
    /// another one is broken off.
    fn give_up_what_is_gone(&mut self, now: Nanos) {
        match self.config.slow {
            Slow::Skip => {
                // The next parent decides where the stream goes on; children and reader are told then.
                self.parents.leave(&mut self.conns, false);
                (self.held.incoming, self.held.is_lost) = (None, true);
            }
            Slow::Wait | Slow::Isolate => self.break_off(now),
        }
    }

    /// Ends the stream here, for the reader and for all hosts below.
    pub(super) fn break_off(&mut self, now: Nanos) {
        self.reader.failed = self.reader.failed.or(Some(self.stream.received));
        self.begin_again(now);
        self.presence.departure = LeaveProgress::Released;
        self.conns.report(FromHost::Leave);
    }
}

#[derive(Debug, Clone)]
pub(super) struct ParentEdge {
    order: u32,
    peer: Peer,
    pub(super) ticket: Ticket,
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
    pub(super) said: (u64, u64),
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

    pub(super) fn get_mut(&mut self, edge: u32) -> Option<&mut ParentEdge> {
        [&mut self.present, &mut self.next].into_iter().flatten().find(|found| found.edge == edge)
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
