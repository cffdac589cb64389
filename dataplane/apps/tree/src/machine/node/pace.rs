//! The pace of a child: whether it keeps up with the stream.

use groupflow_base::Nanos;

use super::NodeConfig;

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
        let (after, late, lag) = (config.slow_after, config.late_after, self.lag(now));
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
