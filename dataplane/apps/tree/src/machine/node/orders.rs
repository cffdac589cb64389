//! The dispatcher's orders, and how a host leaves.

use super::*;

/// Hosts that may be expected beyond the most children: those that come before others have gone.
const EXPECTED: usize = 16;

/// The progress of a host that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaves {
    /// The host stays.
    No,
    /// The host told the dispatcher that it leaves.
    Asked,
    /// The host may go when its children have gone.
    Released,
}

impl Node {
    /// Carries out an order of the dispatcher.
    pub fn on_order(&mut self, now: Nanos, order: ToHost) {
        match order {
            ToHost::Place { order, parent, ticket } => {
                self.sign = self.sign.or(Some(now + self.config.alive));
                self.move_to(now, order, parent, ticket);
            }
            ToHost::Expect { child, ticket } => self.expect(child, ticket),
            ToHost::Forget { child } => {
                self.expected.retain(|(expected, _)| *expected != child);
                self.release(child);
                self.tend(now);
            }
            ToHost::Gone => self.give_up_what_is_gone(now),
            ToHost::Released => {
                self.leaves = Leaves::Released;
                self.tend(now);
            }
            ToHost::Probe(peers) => self.actions.push_back(Action::Measure(peers)),
            ToHost::Redirect(cluster) => {
                self.begin_again(now);
                if self.leaves == Leaves::No {
                    self.actions.push_back(Action::Join(cluster));
                }
            }
            ToHost::Refused { code, text } => self.actions.push_back(Action::Refused { code, text }),
        }
    }

    fn expect(&mut self, child: HostId, ticket: Ticket) {
        self.expected.retain(|(expected, _)| *expected != child);
        self.expected.push_back((child, ticket));
        if self.expected.len() > self.config.max_children + EXPECTED {
            self.expected.pop_front();
        }
    }

    /// Lets go of all other hosts, to join again elsewhere; a host that was to leave is free to go.
    pub fn begin_again(&mut self, now: Nanos) {
        if self.leaves == Leaves::Asked {
            self.leaves = Leaves::Released;
        }
        let children: Vec<HostId> = self.children.keys().copied().collect();
        for child in children {
            self.refuse_child(child, Reason::Leaving);
        }
        let gone: Vec<HostId> = self.gone.keys().copied().collect();
        for child in gone {
            self.release(child);
        }
        self.expected.clear();
        self.leave_parents();
        (self.sign, self.kept) = (None, false);
        self.tend(now);
    }

    /// Begins to leave: the dispatcher finds other parents for this host's children, and the host serves them
    /// until they have these.
    pub fn leave(&mut self, now: Nanos) {
        if self.leaves == Leaves::No {
            self.leaves = Leaves::Asked;
            self.actions.push_back(Action::Tell(FromHost::Leave));
            self.stop_reading();
            self.tend(now);
        }
    }

    /// Whether the host leaves: it joins no cluster any more, and dispatchers that replace others may not
    /// know that it leaves.
    pub fn is_leaving(&self) -> bool {
        self.leaves != Leaves::No
    }

    /// Whether a host that leaves is free to go: nobody needs it any more.
    pub fn is_over(&self) -> bool {
        self.leaves == Leaves::Released && self.children.is_empty() && self.conns.is_empty()
    }

    /// Lets go of the parents once this host is released and its children have other parents.
    pub(super) fn go_if_over(&mut self) {
        if self.leaves != Leaves::Released || !self.children.is_empty() {
            return;
        }
        // If this node keeps bytes for hosts below a departed child, its parent must keep them, too: then the
        // parent is not told MOVED.
        let moved = self.gone.is_empty();
        for edge in [self.upstream.take(), self.next.take()].into_iter().flatten() {
            self.close_edge(edge.edge, moved);
        }
    }

    /// No host has the bytes that come next. A stream that may be skipped goes on with bytes that come now;
    /// another one is broken off.
    fn give_up_what_is_gone(&mut self, now: Nanos) {
        match self.config.slow {
            Slow::Skip { .. } => {
                // The next parent decides where the stream goes on; children and reader are told then.
                self.leave_parents();
                (self.incoming, self.datagrams.arrived) = (None, None);
                self.lost_place = true;
            }
            Slow::Wait | Slow::Isolate => self.break_off(now),
        }
    }

    /// Ends the stream here, for the reader and for all hosts below.
    pub(super) fn break_off(&mut self, now: Nanos) {
        self.failed = self.failed.or(Some(self.stream.received()));
        self.begin_again(now);
        self.leaves = Leaves::Released;
        self.actions.push_back(Action::Tell(FromHost::Leave));
    }

    fn leave_parents(&mut self) {
        for edge in [self.upstream.take(), self.next.take()].into_iter().flatten() {
            self.close_edge(edge.edge, false);
        }
    }
}
