//! The reception of a round at a rim, and the rim's reports of the bytes that it received.

use std::ops::Range;

use groupflow_base::{CodecError, Nanos};
use rand::Rng;

use super::{HeardRound, Rim, COMPLETE_TIMES};
use crate::machine::message::{Body, DataPacket, Method, Parameters, Reception, Round};
use crate::machine::states::RimState;

impl Rim {
    pub(super) fn on_round(&mut self, now: Nanos, round: Round) {
        let Some(transfer) = &mut self.transfer else { return };
        let Some(arriving) = &mut transfer.arriving else { return };
        if arriving.heard.is_some_and(|heard| heard.round.round >= round.round) {
            return;
        }
        if self.config.forgets && !arriving.stored.complete() {
            arriving.stored.go_back(round.first);
        }
        arriving.heard = Some(HeardRound { round, bytes: 0, first_at: None, last_at: now });
        let remaining = u64::from(round.count);
        transfer.chosen = false;
        transfer.report_at = expected(now, &arriving.control, remaining);
        if self.state == RimState::Reporting {
            self.go(RimState::Receiving);
        }
    }

    pub(super) fn on_data(&mut self, now: Nanos, data: DataPacket) -> Result<(), CodecError> {
        let Some(arriving) = self.transfer.as_ref().and_then(|t| t.arriving.as_ref()) else { return Ok(()) };
        let current = arriving.heard.map_or(0, |heard| heard.round.round);
        if data.round > current {
            // The hub announces no rounds, or the announcement was lost.
            let Parameters { packet, per_round, .. } = arriving.control;
            let before = u64::from(data.number.saturating_sub(1)) * u64::from(packet);
            let first = data.offset.saturating_sub(before);
            self.on_round(now, Round { round: data.round, packet, count: per_round, first });
        }
        let (round, number, length) = (data.round, data.number, data.bytes.len() as u64);
        let Some(transfer) = &mut self.transfer else { return Ok(()) };
        let Some(arriving) = &mut transfer.arriving else { return Ok(()) };
        let was_complete = arriving.stored.complete();
        let before = arriving.stored.bytes();
        arriving.stored.accept(data, &mut self.writes)?;
        let is_new = arriving.stored.bytes() != before;
        let complete = arriving.stored.complete();
        let mut round_ended = false;
        if let Some(heard) = arriving.heard.as_mut().filter(|heard| heard.round.round == round) {
            match heard.first_at {
                None => heard.first_at = Some(now),
                Some(_) => heard.bytes += length,
            }
            heard.last_at = now;
            let remaining = if number == 0 { 0 } else { heard.round.count.saturating_sub(number) };
            round_ended = remaining == 0;
            // The rim reported too early, while the hub was still sending: packets arrived later than
            // expected.
            if is_new && arriving.reported == round && transfer.report_at == Nanos::MAX {
                transfer.chosen = false;
                transfer.report_at = expected(now, &arriving.control, remaining.into());
            }
            if !round_ended && transfer.report_at < Nanos::MAX && !transfer.chosen {
                transfer.report_at = expected(now, &arriving.control, remaining.into());
            }
        }
        if complete && !was_complete {
            self.complete();
        }
        if round_ended && self.transfer.as_ref().is_some_and(|t| t.report_at < Nanos::MAX && !t.chosen) {
            self.report_soon(now, false);
        }
        Ok(())
    }
}

/// When the last of the round's packets should be there at the latest, or the hub would miss the report.
pub(super) fn expected(now: Nanos, control: &Parameters, remaining: u64) -> Nanos {
    let interval = u64::from(control.interval_us) * 1000;
    let grace = u64::from(control.grace_ms.min(control.result_ms / 2)) * 1_000_000;
    now + Nanos(remaining.saturating_mul(interval).saturating_add(grace))
}

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
    pub(super) fn on_heard(&mut self, round: u32, lacks: &[Range<u64>]) {
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
