//! Slow children and a slow reader: which children are reported, and what becomes of one that would hold up
//! the others.

use groupflow_base::Nanos;
use groupflow_transport::fanout::Fanout;

use super::children::Children;
use super::{NodeConfig, Slow, TreeNode};
use crate::machine::frame::Reason;
use crate::machine::messages::{FromHost, HostId};

impl TreeNode {
    /// Reports slow children, and deals with children and a reader that would hold up the others: they are
    /// waited for, cut off, or skip.
    pub(super) fn handle_slow(&mut self, now: Nanos) {
        for child in self.children.slow(now, &self.config, &self.stream) {
            self.conns.report(FromHost::Backlog { child });
        }
        if self.config.slow == Slow::Wait {
            self.reader.update(now, &mut self.stream, self.config.stall);
        }
        if self.config.slow != Slow::Skip {
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
        let (base, received) = (self.stream.base, self.stream.received);
        self.config.next_record(base + (received - base) / 2)
    }
}

impl Children {
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

    pub(super) fn stall_deadline(&self, stall: Nanos) -> Option<Nanos> {
        self.present.values().filter_map(|child| child.pace.stall_at(stall)).min()
    }
}

/// The measures of one child by which it is reported as slow, or cut off.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    /// The time of the last report that the child is slow.
    reported: Option<Nanos>,
    /// The stream's end at some moment, and that moment: the child does not have all of it yet, and has all
    /// of earlier marks.
    mark: (u64, Nanos),
    /// The numbers of bytes that the child lacked at two times: the later at most [`NodeConfig::late_after`]
    /// ago, the earlier longer ago, unless the child connected since.
    missed: [(Nanos, u64); 2],
    /// Since when bytes wait and the child takes none.
    pub(super) stuck: Option<Nanos>,
}

impl Pace {
    /// A child that connects now, and lacks `missed` of the bytes before `received`.
    pub(super) fn new(now: Nanos, received: u64, missed: u64) -> Pace {
        Pace { reported: None, mark: (received, now), missed: [(now, missed); 2], stuck: None }
    }

    /// The child has all before `has`.
    pub(super) fn on_has(&mut self, now: Nanos, received: u64, has: u64) {
        if has >= self.mark.0 {
            self.mark = (received, now);
        }
        self.stuck = (has < received).then(|| self.stuck.unwrap_or(now));
    }

    /// When the child counts as stuck: after twice the time that a reader may take nothing, so that a host
    /// whose reader is stuck cuts that off first.
    pub(super) fn stall_at(&self, stall: Nanos) -> Option<Nanos> {
        self.stuck.map(|since| since + stall + stall)
    }

    pub(super) fn lag(&self, now: Nanos) -> Nanos {
        now - self.mark.1
    }

    pub(super) fn sample(&mut self, now: Nanos, every: Nanos, missed: u64) {
        let [_, last] = self.missed;
        if last.0 + every <= now {
            self.missed = [last, (now, missed)];
        }
    }

    /// Whether the child is to be reported, for which `waits` bytes wait and that lacks `missed`. `least`:
    /// the bytes that wait for the fastest child, and the lag of the fastest. A child that lacks less than a
    /// while ago, or has connected since, is not slow: it may come from a slow parent.
    pub(super) fn report(
        &mut self, now: Nanos, config: &NodeConfig, (waits, missed): (u64, u64), least: (u64, Nanos),
    ) -> bool {
        let (after, late) = (config.slow_after, config.late_after);
        let lag = self.lag(now);
        let much = waits >= after && waits - least.0 > after / 2;
        let long = lag >= late && lag - least.1 > Nanos(late.0 / 2);
        let due = self.reported.map_or(true, |last| last + late <= now);
        let [(then, before), _] = self.missed;
        let catches_up = then + late > now || missed < before;
        let slow = (much || long) && due && !catches_up;
        if slow {
            self.reported = Some(now);
        }
        slow
    }
}
