//! The rate of sending: a model of the path in the spirit of BBR (Cardwell et al., ACM Queue 14(5), 2016),
//! and the pacer that follows it.
//!
//! The model's two figures are the windowed maximum of the delivery rate and the windowed minimum
//! of the round-trip time. Losses do not enter: repairs come from caches near the loss, so a
//! random loss says nothing about the bottleneck. Delivery is measured once a round (from sending
//! a packet to its acknowledgement), since the group's cumulative acknowledgement stands still
//! while one member repairs and then jumps.
//!
//! Departures from BBR: the controller knows the tree's slowest link, and that hint bounds the
//! pacing rate below the link's, so queues drain without a separate probe for the round-trip time.
//! Queueing delay is no signal here: the aggregated acknowledgement comes now from a near branch,
//! now from a far one.

use std::collections::VecDeque;

use groupflow_base::{BitRate, Nanos};

use crate::ids::{Seq, FRAME_OVERHEAD, MAX_PAYLOAD};

/// Gains are per mille.
const UNIT: u64 = 1000;
/// The gain at the start, which doubles the rate every round; BBR's gain 2/ln 2 overruns short queues.
const STARTUP_GAIN: u64 = 2000;
/// The rate is taken to be the ceiling if the measured rate is at least this share of it.
const CLOSE: u64 = 900;
/// Rounds from one trial of a higher rate, and then of one lower by as much, to the next.
const CYCLE: u64 = 8;
const PROBE_GAIN: u64 = 1250;
/// The largest share of the hint that is used; also the share until a rate is measured.
const HINT_CEILING: u64 = 985;
/// The delivery rate's maximum is taken over this many rounds.
const RATE_ROUNDS: u64 = 10;
/// The hint is used as a measurement for this many rounds.
const HINT_ROUNDS: u64 = 4;
/// The round-trip time's minimum is taken over this time.
const RTT_WINDOW: Nanos = Nanos::from_secs(10);
/// The pipe is full when the rate grew less than 25 % in three rounds.
const FULL_GROWTH: u64 = 1250;
const FULL_ROUNDS: u32 = 3;
/// The first rate, if there is neither a hint nor a measurement.
const RATE_GUESS: BitRate = BitRate(5_000_000);
const RTT_GUESS: Nanos = Nanos::from_millis(100);
/// Rounds that a sample spans, with and without a hint: without one the jumps of the acknowledgement must be
/// averaged out, with one the ceiling bounds them.
const SPAN_HINTED: usize = 1;
const SPAN_UNHINTED: usize = 4;
/// The slowest pacing, so that a stalled path is noticed when it recovers.
const RATE_FLOOR: BitRate = BitRate(200_000);
/// The least number of packets that may be outstanding.
const CWND_FLOOR: u32 = 64;
/// The cumulative acknowledgement lags by the time a repair takes: a NACK's delay and a round
/// trip to a cache or two.
const REPAIR_ALLOWANCE: Nanos = Nanos::from_millis(150);
/// A shell that wakes late makes up for at most this much time.
const BURST: Nanos = Nanos::from_millis(8);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RatePhase {
    Startup,
    Drain,
    Cruise,
}

#[derive(Debug, Clone, Copy)]
struct RateRound {
    /// The round ends when all packets below this one are acknowledged.
    end: Seq,
    began: Nanos,
    /// Bytes of frames that were acknowledged at the beginning.
    acked: u64,
    /// Whether the sender had nothing to send at times.
    app_limited: bool,
    /// The pacing rate at the beginning: packets are not delivered faster for long.
    pacing: BitRate,
}

#[derive(Debug)]
pub struct RateModel {
    ceiling: BitRate,
    phase: RatePhase,
    /// Pairs of round and rate, rates descending.
    rates: VecDeque<(u64, BitRate)>,
    rounds: u64,
    round: Option<RateRound>,
    full_rate: BitRate,
    full_rounds: u32,
    /// Pairs of the time of a measurement and the round-trip time, round-trip times ascending.
    rtts: VecDeque<(Nanos, Nanos)>,
    /// The rounds that the next sample spans, the current one last.
    past: VecDeque<RateRound>,
    span: usize,
}

impl RateModel {
    /// `hint` is the slowest link's rate, `cap` the user's bound; 0 means none.
    pub fn new(hint: BitRate, cap: BitRate) -> RateModel {
        let unbounded = |rate: BitRate| if rate.0 == 0 { BitRate(u64::MAX) } else { rate };
        let ceiling = unbounded(hint.scaled(HINT_CEILING)).min(unbounded(cap));
        let mut rates = VecDeque::new();
        let phase = if hint.0 > 0 {
            // The hint leaves the window after HINT_ROUNDS rounds.
            rates.push_back((HINT_ROUNDS, hint.scaled(HINT_CEILING)));
            RatePhase::Cruise
        } else {
            RatePhase::Startup
        };
        RateModel {
            ceiling,
            phase,
            rates,
            rounds: RATE_ROUNDS,
            round: None,
            full_rate: BitRate(0),
            full_rounds: 0,
            rtts: VecDeque::new(),
            past: VecDeque::new(),
            span: if hint.0 > 0 { SPAN_HINTED } else { SPAN_UNHINTED },
        }
    }

    pub fn on_rtt(&mut self, now: Nanos, rtt: Nanos) {
        while self.rtts.back().is_some_and(|&(_, old)| old >= rtt) {
            self.rtts.pop_back();
        }
        self.rtts.push_back((now, rtt));
        while self.rtts.len() > 1 && self.rtts.front().is_some_and(|&(when, _)| now - when > RTT_WINDOW) {
            self.rtts.pop_front();
        }
    }

    /// Notes that all packets below `acked` were acknowledged, with `bytes` bytes of frames since the
    /// stream's beginning; the next new packet is `next`.
    pub fn on_ack(&mut self, now: Nanos, acked: Seq, bytes: u64, next: Seq) {
        let Some(round) = self.round else { return self.begin_round(now, bytes, next) };
        if acked < round.end {
            return;
        }
        self.past.push_back(round);
        let span = if self.phase == RatePhase::Startup { 1 } else { self.span };
        while self.past.len() > span {
            self.past.pop_front();
        }
        let from = self.past.front().copied().unwrap_or(round);
        let sample = BitRate::of(bytes.saturating_sub(from.acked), now - from.began);
        // After a repair the acknowledgement jumps, but packets did not arrive faster than they were sent.
        let fastest = self.past.iter().map(|r| r.pacing).max().unwrap_or(round.pacing);
        let sample = sample.min(fastest.max(self.pacing()));
        if self.past.iter().all(|r| !r.app_limited) || sample > self.rate() {
            self.take(sample);
        }
        self.begin_round(now, bytes, next);
    }

    /// Notes that there was nothing to send: this round's delivery says little about the path.
    pub fn on_idle(&mut self) {
        if let Some(round) = self.round.as_mut() {
            round.app_limited = true;
        }
    }

    /// Notes that the first packet is sent.
    pub fn begin(&mut self, now: Nanos, first: Seq) {
        if self.round.is_none() {
            self.begin_round(now, 0, first);
        }
    }

    fn begin_round(&mut self, now: Nanos, acked: u64, end: Seq) {
        self.round = Some(RateRound { end, began: now, acked, app_limited: false, pacing: self.pacing() });
    }

    fn take(&mut self, sample: BitRate) {
        self.rounds += 1;
        while self.rates.back().is_some_and(|&(_, old)| old <= sample) {
            self.rates.pop_back();
        }
        self.rates.push_back((self.rounds, sample));
        while self.rates.len() > 1
            && self.rates.front().is_some_and(|&(round, _)| round + RATE_ROUNDS <= self.rounds)
        {
            self.rates.pop_front();
        }
        self.advance_phase();
    }

    fn advance_phase(&mut self) {
        match self.phase {
            RatePhase::Startup => {
                let rate = self.rate();
                if rate >= self.full_rate.scaled(FULL_GROWTH) {
                    self.full_rate = rate;
                    self.full_rounds = 0;
                } else {
                    self.full_rounds += 1;
                }
                if self.full_rounds >= FULL_ROUNDS {
                    self.phase = RatePhase::Drain;
                }
            }
            RatePhase::Drain => self.phase = RatePhase::Cruise,
            RatePhase::Cruise => {}
        }
    }

    /// The delivery rate: the maximum over the window.
    pub fn rate(&self) -> BitRate {
        self.rates.front().map_or(RATE_GUESS, |&(_, rate)| rate)
    }

    /// The rate of sending, counted in bytes of frames.
    pub fn pacing(&self) -> BitRate {
        let measured = self.rate();
        // Close below the ceiling, the measurement varies and not the path.
        let close = measured >= self.ceiling.scaled(CLOSE);
        let rate = if close { measured.max(self.ceiling) } else { measured };
        let probe = rate.scaled(PROBE_GAIN).min(self.ceiling);
        let pacing = match (self.phase, self.rounds % CYCLE) {
            (RatePhase::Startup, _) => rate.scaled(STARTUP_GAIN),
            (RatePhase::Drain, _) => rate.scaled(UNIT * UNIT / STARTUP_GAIN),
            (RatePhase::Cruise, 0) => probe,
            // Makes up for the excess of the probe; there is none if the ceiling held the rate down.
            (RatePhase::Cruise, 1) => BitRate(rate.0.saturating_mul(2).saturating_sub(probe.0)),
            (RatePhase::Cruise, _) => rate,
        };
        pacing.max(RATE_FLOOR).min(self.ceiling)
    }

    /// The number of packets that may be outstanding.
    pub fn cwnd(&self) -> u32 {
        let rtt = self.rtts.front().map_or(RTT_GUESS, |&(_, least)| least);
        let span = Nanos(rtt.0.saturating_mul(2)) + REPAIR_ALLOWANCE;
        let gain = if self.phase == RatePhase::Startup { STARTUP_GAIN } else { UNIT };
        let bytes = self.rate().min(self.ceiling).scaled(gain).bytes_in(span);
        let packets = bytes / (MAX_PAYLOAD as u64 + FRAME_OVERHEAD);
        u32::try_from(packets).unwrap_or(u32::MAX).max(CWND_FLOOR)
    }
}

#[derive(Debug, Default)]
pub struct PacketPacer {
    /// When the next packet may go.
    pub(super) next: Nanos,
}

impl PacketPacer {
    /// Notes that a packet of `payload` bytes is sent.
    pub fn sent(&mut self, now: Nanos, payload: usize, rate: BitRate) {
        let earliest = now - BURST;
        let wire = payload as u64 + FRAME_OVERHEAD;
        self.next = self.next.max(earliest) + rate.time_for(wire);
    }

    /// Notes that there is nothing to send: the unused time is lost.
    pub fn idle(&mut self, now: Nanos) {
        self.next = self.next.max(now);
    }
}

#[cfg(test)]
#[path = "tests/rate.rs"]
mod tests;
