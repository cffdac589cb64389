//! The packets that are missing, and when they are asked for: the bookkeeping behind NACKs.
//!
//! A gap waits a random time before it is asked for: it may be reordering, or a repair for another receiver
//! may fill it. It is asked for again after an exponentially growing timeout. A window bounds the outstanding
//! requests, and so paces repairs to a slow receiver: it is halved when many requests time out, and grows
//! with every answer until answers begin to queue: until they take more than twice as long as the fastest one
//! since the window was last halved.

use groupflow_base::Nanos;
use rangemap::RangeMap;

use crate::ids::Seq;
use crate::nack::{PacketRange, MAX_RANGES};

/// The first window: packets that are asked for and have not arrived.
const WINDOW: u32 = 256;
const WINDOW_MIN: u32 = 16;
pub(crate) const WINDOW_MAX: u32 = 1024;
/// The window is halved when more than one request in this many times out, because then a queue overflows.
/// Fewer timeouts come from a lossy link, which fewer requests would not cure.
const LOSS_SHARE: u32 = 8;
/// The shortest first timeout, and the longest repeated one, unless answers take longer.
const TIMEOUT_MIN: Nanos = Nanos::from_millis(30);
const TIMEOUT_CAP: Nanos = Nanos::from_millis(500);
/// The round-trip time that is assumed before one is measured.
const RTT_GUESS: Nanos = Nanos::from_millis(50);
/// Time between NACKs while a full window reopens packet by packet, so that not each packet costs a NACK.
const SPACING: Nanos = Nanos::from_millis(4);
/// Gaps that are due within this time are asked for together.
const TOGETHER: Nanos = Nanos::from_millis(1);
/// A smaller difference between the times of answers is no sign of a queue.
const JITTER: Nanos = Nanos::from_millis(20);

/// The history of missing packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gap {
    /// When to ask, for the first time or again.
    due: Nanos,
    tries: u32,
    asked: Nanos,
}

/// The missing packets of one stream.
#[derive(Debug, Default)]
pub struct Requests {
    gaps: RangeMap<u32, Gap>,
    rtt: Rtt,
    window: RequestWindow,
    /// No gap is due before this time.
    next_due: Option<Nanos>,
    /// Gaps are due, but the window is full.
    blocked: bool,
    last_asked: Nanos,
}

#[derive(Debug)]
struct RequestWindow {
    size: u32,
    answered: u32,
    timed_out: u32,
    /// The shortest time that an answer took. Packets to the whole group do not count: such a packet may
    /// answer the earlier request of another, and be here at once.
    fastest: Option<Nanos>,
}

impl Default for RequestWindow {
    fn default() -> RequestWindow {
        RequestWindow { size: WINDOW, answered: 0, timed_out: 0, fastest: None }
    }
}

impl RequestWindow {
    /// A larger window would only lengthen the queue in which answers already wait.
    fn answer(&mut self, rtt: &Rtt) {
        self.answered = self.answered.saturating_add(1);
        let queued = |fastest: Nanos| rtt.or(fastest) > Nanos(fastest.0.saturating_mul(2)) + JITTER;
        if !self.fastest.is_some_and(queued) {
            self.size = (self.size + 1).min(WINDOW_MAX);
        }
    }

    fn time_out(&mut self, packets: u32) {
        self.timed_out = self.timed_out.saturating_add(packets);
        if self.timed_out > (self.answered / LOSS_SHARE).max(WINDOW_MIN) {
            self.size = (self.size / 2).max(WINDOW_MIN);
            self.answered = 0;
            self.timed_out = 0;
            self.fastest = None;
        }
    }
}

impl Requests {
    /// Notes that the packets `range` are missing, to be asked for at `due`; known gaps stay as they are.
    pub fn add(&mut self, range: PacketRange, due: Nanos) {
        let range = range.first.0..range.last.next().0;
        if range.is_empty() {
            return;
        }
        let new: Vec<_> = self.gaps.gaps(&range).collect();
        for range in new {
            self.gaps.insert(range, Gap { due, tries: 0, asked: Nanos::ZERO });
            self.due_at(due);
        }
    }

    /// Notes that the packet has arrived, sent to this requester `alone` or to its group. True: it was
    /// missing.
    pub fn arrived(&mut self, now: Nanos, seq: Seq, alone: bool) -> bool {
        let Some(&gap) = self.gaps.get(&seq.0) else { return false };
        self.gaps.remove(seq.0..seq.next().0);
        if gap.tries > 0 {
            // Karn: an answer to one of several requests measures nothing.
            if gap.tries == 1 {
                let took = now - gap.asked;
                self.rtt.sample(took);
                if alone {
                    self.window.fastest = Some(self.window.fastest.map_or(took, |fastest| fastest.min(took)));
                }
            }
            self.window.answer(&self.rtt);
            if self.blocked {
                self.blocked = false;
                self.due_at(now.max(self.last_asked + SPACING));
            }
        }
        true
    }

    /// Forgets packets that are no longer needed.
    pub fn forget(&mut self, range: PacketRange) {
        let range = range.first.0..range.last.next().0;
        if !range.is_empty() {
            self.gaps.remove(range);
        }
    }

    /// The ranges to ask for now; must be called until there are none.
    pub fn take_due(&mut self, now: Nanos) -> Vec<PacketRange> {
        if self.next_due.map_or(true, |due| due > now) {
            return Vec::new();
        }
        let horizon = now + TOGETHER;
        let mut budget = self.budget(horizon);
        let due = self.gaps.iter().filter(|(_, gap)| gap.due <= horizon);
        let firsts: Vec<u32> = due.map(|(range, _)| range.start).collect();
        let mut ranges: Vec<PacketRange> = Vec::new();
        self.blocked = false;
        let mut more = false;
        for first in firsts {
            if ranges.len() == MAX_RANGES {
                more = true;
                break;
            }
            if budget == 0 {
                self.blocked = true;
                break;
            }
            if let Some(range) = self.ask(now, first, &mut budget) {
                push_joined(&mut ranges, range);
            }
        }
        self.schedule(now, more);
        if !ranges.is_empty() {
            self.last_asked = now;
        }
        ranges
    }

    /// The number of packets that may be asked for: the window less the packets that are awaited.
    fn budget(&mut self, horizon: Nanos) -> u32 {
        let (mut awaited, mut timed_out) = (0_u32, 0_u32);
        for (range, gap) in self.gaps.iter().filter(|(_, gap)| gap.tries > 0) {
            let packets = if gap.due > horizon { &mut awaited } else { &mut timed_out };
            *packets = packets.saturating_add(range.end - range.start);
        }
        if timed_out > 0 {
            self.window.time_out(timed_out);
        }
        self.window.size.saturating_sub(awaited)
    }

    /// Marks the gap at `first`, or the part that `budget` allows, as asked for.
    fn ask(&mut self, now: Nanos, first: u32, budget: &mut u32) -> Option<PacketRange> {
        let (range, &gap) = self.gaps.get_key_value(&first)?;
        let end = range.end.min(first.saturating_add(*budget));
        self.blocked |= end < range.end;
        let timeout = self.timeout();
        let due = now + timeout.doubled(gap.tries, TIMEOUT_CAP.max(timeout));
        self.gaps.insert(first..end, Gap { due, tries: gap.tries.saturating_add(1), asked: now });
        *budget -= end - first;
        Some(PacketRange { first: Seq(first), last: Seq(end - 1) })
    }

    /// Computes the next deadline. Gaps without room in the window wait for an answer or a timeout.
    fn schedule(&mut self, now: Nanos, more: bool) {
        self.next_due = if more {
            Some(now)
        } else {
            let waits = |gap: &&Gap| gap.due > now || !self.blocked;
            self.gaps.iter().map(|(_, gap)| gap).filter(waits).map(|gap| gap.due).min()
        };
    }

    fn due_at(&mut self, due: Nanos) {
        self.next_due = Some(self.next_due.map_or(due, |old| old.min(due)));
    }

    fn timeout(&self) -> Nanos {
        let rtt = self.rtt.or(RTT_GUESS);
        Nanos(rtt.0.saturating_mul(2)).max(TIMEOUT_MIN)
    }

    pub fn next_deadline(&self) -> Option<Nanos> {
        self.next_due.filter(|_| !self.gaps.is_empty())
    }

    /// The lowest missing packet from `seq` on.
    pub fn first_from(&self, seq: Seq) -> Option<Seq> {
        self.gaps.overlapping(seq.0..u32::MAX).next().map(|(range, _)| seq.max(Seq(range.start)))
    }

    pub fn contains(&self, seq: Seq) -> bool {
        self.gaps.contains_key(&seq.0)
    }

    pub fn is_empty(&self) -> bool {
        self.gaps.is_empty()
    }
}

/// Appends a range, joined with the last one where they touch.
fn push_joined(ranges: &mut Vec<PacketRange>, range: PacketRange) {
    match ranges.last_mut() {
        Some(before) if before.last.next() == range.first => before.last = range.last,
        _ => ranges.push(range),
    }
}

/// Exponentially smoothed round-trip time (RFC 6298, without the variance: the timeouts here are
/// multiples of the time itself and back off).
#[derive(Debug, Clone, Copy, Default)]
pub struct Rtt {
    /// The smoothed time; `None` before the first measurement.
    pub(crate) smoothed: Option<Nanos>,
}

impl Rtt {
    /// Longer samples are echoes of another packet.
    const PLAUSIBLE: Nanos = Nanos::from_secs(10);

    /// Takes a measurement, with weight 1/8.
    pub fn sample(&mut self, measured: Nanos) {
        if measured > Self::PLAUSIBLE {
            return;
        }
        self.smoothed = Some(match self.smoothed {
            None => measured,
            Some(old) => Nanos(old.0 - old.0 / 8 + measured.0 / 8),
        });
    }

    /// The smoothed time, or `default`.
    pub fn or(&self, default: Nanos) -> Nanos {
        self.smoothed.unwrap_or(default)
    }
}

#[cfg(test)]
#[path = "tests/rtt.rs"]
mod rtt_tests;
#[cfg(test)]
#[path = "tests/requests.rs"]
mod tests;
