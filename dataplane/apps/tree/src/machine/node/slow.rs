//! Children and readers that hold others up: they are reported, waited for, cut off, or skip.

use super::*;

impl Node {
    /// Reports slow children, and deals with those that would hold up the others.
    pub(super) fn tend_slow(&mut self, now: Nanos) {
        self.report(now);
        match self.config.slow {
            Slow::Wait => {
                self.tend_reader(now);
                return self.tend_stalled(now);
            }
            Slow::Isolate => self.tend_stalled(now),
            Slow::Skip { .. } => {}
        }
        for branch in self.stream.laggards() {
            let isolated = self.stream.isolate(branch);
            debug_assert!(isolated.is_ok(), "{isolated:?}");
        }
        self.stream.take_back();
        let overtaken = self.stream.overtaken();
        if overtaken.is_empty() {
            return;
        }
        let late = self.children.iter().filter(|(_, child)| overtaken.contains(&child.branch));
        let late: Vec<HostId> = late.map(|(&child, _)| child).collect();
        let reader = overtaken.contains(&self.reader.branch);
        if let Slow::Isolate = self.config.slow {
            late.into_iter().for_each(|child| self.refuse_child(child, Reason::Overtaken));
            if reader {
                self.cut_off_reader();
            }
        } else {
            let to = self.middle();
            late.into_iter().for_each(|child| self.skip_child(child, to));
            if reader {
                self.skip_reader(to);
            }
        }
    }

    /// Where a late child or reader goes on: at half of the cached bytes, so that it may fall behind as much
    /// again.
    pub(super) fn middle(&self) -> u64 {
        self.next_record(self.stream.base() + (self.stream.received() - self.stream.base()) / 2)
    }

    /// The start of the first record that begins at the offset or after.
    pub(super) fn next_record(&self, offset: u64) -> u64 {
        match self.config.slow {
            Slow::Skip { align } if align > 1 => offset.div_ceil(align).saturating_mul(align),
            _ => offset,
        }
    }

    /// Cuts off a reader that takes nothing for too long.
    fn tend_reader(&mut self, now: Nanos) {
        let stall = self.config.stall;
        let waits = !self.stream.sendable(self.reader.branch).is_empty();
        self.reader.stuck = waits.then(|| self.reader.stuck.unwrap_or(now));
        if self.reader.stuck.is_some_and(|since| since + stall <= now) {
            self.cut_off_reader();
        }
    }

    /// Cuts off children that take nothing for too long.
    fn tend_stalled(&mut self, now: Nanos) {
        let stall = self.config.stall;
        let stuck = |child: &Child| child.stuck.is_some_and(|since| since + stall + stall <= now);
        let stalled: Vec<HostId> =
            self.children.iter().filter(|(_, c)| stuck(c)).map(|(&id, _)| id).collect();
        for child in stalled {
            self.refuse_child(child, Reason::Stalled);
        }
    }

    /// When some child or reader will have taken nothing for too long.
    pub(super) fn stall_deadline(&self) -> Option<Nanos> {
        let stall = self.config.stall;
        let waits = !matches!(self.config.slow, Slow::Skip { .. });
        let children =
            self.children.values().filter_map(|child| child.stuck).map(|since| since + stall + stall);
        // The time since when the reader is stuck is known with `Wait` only.
        children.chain(self.reader.stuck.map(|since| since + stall)).filter(|_| waits).min()
    }

    /// Reports a child for which many bytes wait, or wait for long, in either case more than for the fastest
    /// child; repeats the report until that ends. A child that catches up is not slow: it may come from a
    /// slow parent.
    fn report(&mut self, now: Nanos) {
        let received = self.stream.received();
        let (after, late) = (self.config.slow_after, self.config.late_after);
        for child in self.children.values_mut() {
            child.look(now, late, received);
        }
        let waits = |child: &Child| received - self.stream.sent(child.branch).unwrap_or(received);
        let lags = |child: &Child| now - child.mark.1;
        let (mut least, mut soonest) = (u64::MAX, Nanos(u64::MAX));
        for child in self.children.values() {
            (least, soonest) = (least.min(waits(child)), soonest.min(lags(child)));
        }
        let mut slow = Vec::new();
        for (&id, child) in &self.children {
            let much = waits(child) >= after && waits(child) - least > after / 2;
            let long = lags(child) >= late && lags(child) - soonest > Nanos(late.0 / 2);
            let due = child.reported.map_or(true, |last| last + late <= now);
            if (much || long) && due && !child.catches_up(now, late, received) {
                slow.push(id);
            }
        }
        for id in slow {
            if let Some(child) = self.children.get_mut(&id) {
                child.reported = Some(now);
            }
            self.actions.push_back(Action::Tell(FromHost::Backlog { child: id }));
        }
    }
}

impl Child {
    fn look(&mut self, now: Nanos, every: Nanos, received: u64) {
        let [_, last] = self.missed;
        if last.0 + every <= now {
            self.missed = [last, (now, received.saturating_sub(self.has))];
        }
    }

    /// Whether the child lacks less than a while ago, or has connected since.
    fn catches_up(&self, now: Nanos, while_ago: Nanos, received: u64) -> bool {
        let [(then, missed), _] = self.missed;
        then + while_ago > now || received.saturating_sub(self.has) < missed
    }
}
