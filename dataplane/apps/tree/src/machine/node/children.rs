//! The node's children: those that the dispatcher lets it expect, those that are connected, and departed ones
//! for which bytes are kept.

use std::collections::{BTreeMap, VecDeque};

use groupflow_base::Nanos;
use groupflow_transport::fanout::Fanout;

use super::child::Child;
use super::conns::Conns;
use super::{ConnId, NodeConfig};
use crate::machine::frame::{Reason, TreeFrame};
use crate::machine::names::{HostId, Ticket};

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

/// All children of a node.
#[derive(Debug, Clone, Default)]
pub(super) struct Children {
    expected: VecDeque<Expected>,
    present: BTreeMap<HostId, Child>,
    /// Children without connections, and until when bytes that they did not say to have are kept for them and
    /// for the hosts below them.
    departed: BTreeMap<HostId, (Child, Nanos)>,
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

    /// Whether bytes are kept for departed children.
    pub(super) fn keep_for_departed(&self) -> bool {
        !self.departed.is_empty()
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
        here.or_else(gone).unwrap_or(stream.received())
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
        let begin = child.come_back(conn, stream);
        self.present.insert(host, child);
        Some(begin)
    }

    /// Notes that a child lost its last connection. If the child died, hosts below it may need bytes that it
    /// had not passed on: they are kept until then.
    pub(super) fn lose(&mut self, host: HostId, until: Nanos, stream: &mut Fanout) {
        let Some(lost) = self.present.remove(&host) else { return };
        self.release(host, stream);
        if lost.needs_nothing(stream) || self.departed.len() >= MAX_DEPARTED {
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
        self.expected
            .iter_mut()
            .filter(|expected| is_over(expected))
            .for_each(|expected| expected.until = None);
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

    /// Children for which many bytes wait, or wait for long, in either case more than for the fastest child;
    /// a child is named again until that ends.
    pub(super) fn slow(&mut self, now: Nanos, config: &NodeConfig, stream: &Fanout) -> Vec<HostId> {
        let mut least = (u64::MAX, Nanos(u64::MAX));
        for child in self.present.values_mut() {
            let (waits, missed) = child.waits(stream);
            child.pace.sample(now, config.late_after, missed);
            least = (least.0.min(waits), least.1.min(child.pace.lag(now)));
        }
        let mut slow = Vec::new();
        for (&host, child) in &mut self.present {
            let waits = child.waits(stream);
            slow.extend(child.pace.report(now, config, waits, least).then_some(host));
        }
        slow
    }

    /// The children that are so.
    pub(super) fn matching(&self, is: impl Fn(&Child) -> bool) -> Vec<HostId> {
        self.present.iter().filter(|(_, child)| is(child)).map(|(&host, _)| host).collect()
    }

    pub(super) fn stall_deadline(&self, stall: Nanos) -> Option<Nanos> {
        self.present.values().filter_map(|child| child.pace.stall_at(stall)).min()
    }
}
