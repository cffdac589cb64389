//! The dispatcher's orders, and how a host leaves.

use groupflow_base::Nanos;

use super::presence::LeaveProgress;
use super::{NodeAction, Slow, TreeNode};
use crate::machine::message::{FromHost, ToHost};

/// Signs of life to the dispatcher for which bytes are kept for a child that is on its way.
const AWAITED: u64 = 3;

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
        self.presence.end();
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
            let moved = !self.children.keep_for_departed();
            self.parents.leave(&mut self.conns, moved);
        }
    }

    /// No host has the bytes that come next. A stream that may be skipped goes on with bytes that come now;
    /// another one is broken off.
    fn give_up_what_is_gone(&mut self, now: Nanos) {
        match self.config.slow {
            Slow::Skip { .. } => {
                // The next parent decides where the stream goes on; children and reader are told then.
                self.parents.leave(&mut self.conns, false);
                (self.held.incoming, self.held.is_lost) = (None, true);
            }
            Slow::Wait | Slow::Isolate => self.break_off(now),
        }
    }

    /// Ends the stream here, for the reader and for all hosts below.
    pub(super) fn break_off(&mut self, now: Nanos) {
        self.reader.failed = self.reader.failed.or(Some(self.stream.received()));
        self.begin_again(now);
        self.presence.departure = LeaveProgress::Released;
        self.conns.report(FromHost::Leave);
    }
}
