//! The ranges that the receiver reported above the cumulative acknowledgement, and their meaning for the
//! rest (RFC 6675).
//!
//! With packets of one size RFC 6675's questions have closed answers. A packet is lost once `threshold`
//! packets above it are acknowledged, so the lost ones are those below the `threshold`-highest acknowledged
//! packet; retransmissions go upwards, so one number says which were repeated. The pipe is then two
//! differences and two counts, and nothing scans the window.

use std::ops::Range;

use groupflow_base::ranges::Ranges;

#[derive(Debug, Clone, Default)]
pub(super) struct Scoreboard {
    sacked: Ranges,
    /// One past the highest packet retransmitted in this recovery: RFC 6675's HighRxt.
    repeated: u64,
    /// Acknowledged packets below `repeated`.
    count_below_repeated: u64,
    /// Everything below this number was in flight at a timeout and counts as lost.
    written_off: u64,
}

impl Scoreboard {
    pub fn clear(&mut self) {
        self.sacked.clear();
        *self = Scoreboard { sacked: std::mem::take(&mut self.sacked), ..Scoreboard::default() };
    }

    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// Notes that the cumulative acknowledgement moved to `una`.
    pub fn advance(&mut self, una: u64) {
        let (below, repeated) = (&mut self.count_below_repeated, self.repeated);
        self.sacked.remove_below_with(una, |range| {
            *below -= part_below(range, repeated);
        });
        if self.repeated < una {
            self.repeated = una;
            self.count_below_repeated = 0;
        }
    }

    /// Notes that packets `start..end` arrived. Returns how many of them are news.
    pub fn add(&mut self, start: u64, end: u64) -> u64 {
        let (mut news, repeated) = (0, self.repeated);
        let below = &mut self.count_below_repeated;
        self.sacked.insert_with(start..end, |range| {
            news += range.end - range.start;
            *below += part_below(range, repeated);
        });
        news
    }

    /// Packets not acknowledged below this number are lost: `threshold` packets from it on are acknowledged.
    pub fn lost_below(&self, threshold: u64) -> u64 {
        let mut left = threshold;
        for range in self.sacked.iter().rev() {
            let length = range.end - range.start;
            if length >= left {
                return self.written_off.max(range.end - left);
            }
            left -= length;
        }
        self.written_off
    }

    /// Packets believed to be in the network, of `una..max`: sent and not lost, or lost and repeated.
    pub fn pipe(&self, una: u64, max: u64, threshold: u64) -> u64 {
        let lost_below = self.lost_below(threshold).clamp(una, max);
        // Fewer ranges than `threshold` lie above: lost_below would be higher otherwise.
        let above: u64 = self
            .sacked
            .iter()
            .rev()
            .take_while(|range| range.end > lost_below)
            .map(|range| range.end - range.start.max(lost_below))
            .sum();
        let not_lost = max - lost_below - above;
        let repeated = self.repeated.max(una) - una - self.count_below_repeated;
        not_lost + repeated
    }

    /// The lowest packet not acknowledged nor repeated that lies below `bound`.
    pub fn next_hole(&self, una: u64, bound: u64) -> Option<u64> {
        let hole = self.sacked.first_missing(self.repeated.max(una));
        (hole < bound).then_some(hole)
    }

    /// The lowest packet from `una` on that is not acknowledged: `una` itself, but where the receiver holds
    /// its cumulative acknowledgement back.
    pub fn first_missing(&self, una: u64) -> u64 {
        self.sacked.first_missing(una)
    }

    /// Whether the receiver has reported a packet above a missing one.
    pub fn has_hole(&self, una: u64) -> bool {
        self.first_missing(una) < self.highest()
    }

    /// One past the highest packet acknowledged selectively, or 0.
    pub fn highest(&self) -> u64 {
        self.sacked.last().map_or(0, |range| range.end)
    }

    /// Notes that `packet` is sent again: the one that `next_hole` named, or the first of all, which a
    /// receiver that breaks the rules may have acknowledged selectively.
    pub fn mark_repeated(&mut self, una: u64, packet: u64) {
        let from = self.repeated.max(una);
        // Between the two lie acknowledged packets only.
        self.count_below_repeated += packet.saturating_sub(from);
        self.count_below_repeated += u64::from(self.sacked.containing(packet).is_some());
        self.repeated = packet + 1;
    }

    /// Notes a timeout: all packets of `una..max` that were not acknowledged are lost, and none is repeated.
    pub fn write_off(&mut self, una: u64, max: u64) {
        self.written_off = max;
        self.restart(una);
    }

    /// Notes that a recovery begins, in which no packet is repeated yet.
    pub fn restart(&mut self, una: u64) {
        self.repeated = una;
        self.count_below_repeated = 0;
    }
}

fn part_below(range: Range<u64>, bound: u64) -> u64 {
    range.end.min(bound).saturating_sub(range.start)
}

#[cfg(test)]
#[path = "tests/scoreboard.rs"]
mod tests;
