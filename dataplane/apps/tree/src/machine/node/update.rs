//! The work that any event may have made due: bytes move on, slow children are handled, the parent is told.

use groupflow_base::Nanos;

use super::config::Slow;
use super::TreeNode;
use crate::machine::frame::{Reason, TreeFrame};
use crate::machine::message::FromHost;

impl TreeNode {
    /// Does the work that any event may have made due.
    pub(super) fn update(&mut self, now: Nanos) {
        self.held.drain(&mut self.stream);
        // A source that cuts off slow children counts what its fastest child has: it writes faster than any
        // child takes, and would be left by all.
        let read = match self.config.slow {
            Slow::Isolate if self.source => self.children.fastest(&self.stream),
            _ => self.stream.received(),
        };
        self.reader.read_nothing(&mut self.stream, self.source, read);
        self.children.update(now, &mut self.stream);
        self.handle_slow(now);
        self.held.discard_below(self.stream.base());
        if std::mem::take(&mut self.children.gave_up) {
            self.presence.gave_up = Some(now);
        }
        self.report_all();
        self.report_to_parent(now);
        self.go_if_released();
    }

    /// Reports slow children, and deals with children and a reader that would hold up the others: they are
    /// waited for, cut off, or skip.
    fn handle_slow(&mut self, now: Nanos) {
        for child in self.children.slow(now, &self.config, &self.stream) {
            self.conns.report(FromHost::Backlog { child });
        }
        if self.config.slow == Slow::Wait {
            self.reader.update(now, &mut self.stream, self.config.stall);
        }
        if !matches!(self.config.slow, Slow::Skip { .. }) {
            let stall = self.config.stall;
            for child in
                self.children.matching(|child| child.pace.stall_at(stall).is_some_and(|at| at <= now))
            {
                self.children.refuse(child, Reason::Stalled, &mut self.stream, &mut self.conns);
            }
        }
        if self.config.slow == Slow::Wait {
            return;
        }
        for branch in self.stream.laggards() {
            let isolated = self.stream.isolate(branch);
            debug_assert!(isolated.is_ok(), "{isolated:?}");
        }
        self.stream.take_back();
        let overtaken = self.stream.overtaken();
        let (isolates, to) = (self.config.slow == Slow::Isolate, self.middle());
        for child in self.children.matching(|child| overtaken.contains(&child.branch)) {
            match isolates {
                true => self.children.refuse(child, Reason::Overtaken, &mut self.stream, &mut self.conns),
                false => self.children.skip(child, to, &mut self.stream, &mut self.conns),
            }
        }
        if overtaken.contains(&self.reader.branch) {
            match isolates {
                true => self.reader.cut_off(&mut self.stream),
                false => self.reader.skip(&mut self.stream, to),
            }
        }
    }

    /// The offset at which a late child or reader goes on: at half of the cached bytes, so that it may fall
    /// behind as much again.
    pub(super) fn middle(&self) -> u64 {
        let (base, received) = (self.stream.base(), self.stream.received());
        self.config.slow.next_record(base + (received - base) / 2)
    }

    /// Tells the dispatchers that this host has all of the stream; with [`Slow::Wait`] its reader, too.
    fn report_all(&mut self) {
        if self.stream.ended() && self.config.slow != Slow::Wait {
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
        let ended = self.stream.ended() && self.reader.is_done() && !self.presence.is_unsure();
        let ended = ended && self.children.have_all(&self.stream);
        if ended && !std::mem::replace(&mut self.receipts.completed, true) {
            self.conns.send(conn, &TreeFrame::Complete);
        }
    }
}
