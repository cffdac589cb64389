//! A rim's reports of the bytes that it received.

use groupflow_base::Nanos;
use rand::Rng;

use super::{HeardRound, Rim, COMPLETE_TIMES};
use crate::machine::message::{Body, Method, Reception, Span};
use crate::machine::states::RimState;

impl Rim {
    /// Schedules the report when the round is over or the hub asks: at once or, where answers are spread, at
    /// a random time, earlier for rims that lack earlier bytes.
    pub(super) fn report_soon(&mut self, now: Nanos, asked: bool) {
        let Some(arriving) = self.arriving() else { return };
        let window = u64::from(arriving.control.window_ms) * 1_000_000;
        let chance = self.random.gen_range(0..=window);
        let Some(transfer) = &mut self.transfer else { return };
        let Some(arriving) = &mut transfer.arriving else { return };
        let complete = arriving.stored.complete();
        // If all rims are to answer, the hub would take silence for a loss. If answers are spread, it asks at
        // the end.
        if complete && !asked && window > 0 {
            arriving.told_complete = arriving.told_complete.saturating_add(1);
            if arriving.told_complete > COMPLETE_TIMES {
                transfer.report_at = Nanos::MAX;
                return;
            }
        }
        let lateness = arriving.heard.map_or(0, |HeardRound { round, .. }| {
            let through = arriving.stored.position().saturating_sub(round.first);
            let length = u64::from(round.count) * u64::from(round.packet);
            (u128::from(window) * u128::from(through.min(length)) / u128::from(length)) as u64
        });
        let delay = if complete { chance } else { (3 * lateness + chance) / 4 };
        transfer.report_at = now + Nanos(delay);
        transfer.chosen = true;
        if !complete && self.state == RimState::Receiving {
            self.go(RimState::Reporting);
        }
    }

    pub(super) fn report(&mut self) {
        let rim = self.config.id;
        let Some(transfer) = &mut self.transfer else { return };
        transfer.report_at = Nanos::MAX;
        let Some(arriving) = &mut transfer.arriving else { return };
        let complete = arriving.stored.complete();
        if complete && arriving.control.method == Method::Unscheduled {
            return; // silence is success
        }
        let heard = arriving.heard;
        arriving.reported = arriving.round();
        let rate = heard.and_then(|heard| {
            let span = heard.last_at.saturating_sub(heard.first_at?);
            let rate = u128::from(heard.bytes) * 1_000_000_000 / u128::from(span.0.max(1));
            (span > Nanos::ZERO).then(|| u64::try_from(rate).unwrap_or(u64::MAX))
        });
        let result = Reception {
            rim,
            round: arriving.round(),
            complete,
            rate: rate.unwrap_or(0),
            lacks: arriving.stored.lacks(),
        };
        if self.state == RimState::Reporting {
            self.go(RimState::Receiving);
        }
        self.send(Body::Result(result));
    }

    /// Handles HEARD: if others asked for all that this rim lacks, it need not ask.
    pub(super) fn on_heard(&mut self, round: u32, lacks: &[Span]) {
        let Some(transfer) = &mut self.transfer else { return };
        let Some(arriving) = &transfer.arriving else { return };
        if arriving.round() == round
            && self.state == RimState::Reporting
            && arriving.stored.is_covered_by(lacks)
        {
            transfer.report_at = Nanos::MAX;
            self.go(RimState::Receiving);
        }
    }
}
