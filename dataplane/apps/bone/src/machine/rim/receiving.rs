//! The reception of a round at a rim.

use groupflow_base::{CodecError, Nanos};

use super::{HeardRound, Rim};
use crate::machine::message::{DataPacket, Parameters, Round};
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
        let left = u64::from(round.count);
        transfer.chosen = false;
        transfer.report_at = expected(now, &arriving.control, left);
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
        let news = arriving.stored.bytes() != before;
        let complete = arriving.stored.complete();
        let mut over = false;
        if let Some(heard) = arriving.heard.as_mut().filter(|heard| heard.round.round == round) {
            match heard.first_at {
                None => heard.first_at = Some(now),
                Some(_) => heard.bytes += length,
            }
            heard.last_at = now;
            let left = if number == 0 { 0 } else { heard.round.count.saturating_sub(number) };
            over = left == 0;
            // The rim reported too early, while the hub was still sending: packets arrived later than
            // expected.
            if news && arriving.reported == round && transfer.report_at == Nanos::MAX {
                transfer.chosen = false;
                transfer.report_at = expected(now, &arriving.control, left.into());
            }
            if !over && transfer.report_at < Nanos::MAX && !transfer.chosen {
                transfer.report_at = expected(now, &arriving.control, left.into());
            }
        }
        if complete && !was_complete {
            self.complete();
        }
        if over && self.transfer.as_ref().is_some_and(|t| t.report_at < Nanos::MAX && !t.chosen) {
            self.report_soon(now, false);
        }
        Ok(())
    }
}

/// When the last of the round's packets should be there at the latest, or the hub would miss the report.
pub(super) fn expected(now: Nanos, control: &Parameters, left: u64) -> Nanos {
    let interval = u64::from(control.interval_us) * 1000;
    let grace = u64::from(control.grace_ms.min(control.result_ms / 2)) * 1_000_000;
    now + Nanos(left.saturating_mul(interval).saturating_add(grace))
}
