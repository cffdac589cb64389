//! The polls by which a sender asks the group to acknowledge, and the time for which it has not.

use groupflow_base::Nanos;

use super::report::{SenderError, SenderEvent};
use crate::requests::Rtt;

/// A poll follows after two round trips without an acknowledgement, and at least after this time.
const MIN: Nanos = Nanos::from_millis(50);
const CAP: Nanos = Nanos::from_millis(500);
/// The time from the last packet to the first poll: long enough that the poll does not overtake the packet in
/// a queue.
const AFTER_END: Nanos = Nanos::from_millis(20);
const RTT_GUESS: Nanos = Nanos::from_millis(100);

/// The poll number and the time of the next one.
#[derive(Debug, Default)]
pub(super) struct Polls {
    /// The current poll; 0 before the first.
    pub(super) number: u8,
    due: Option<Nanos>,
    /// The poll after the last packet, which acknowledgements of earlier packets do not put off.
    end_due: Option<Nanos>,
    unanswered: u32,
}

impl Polls {
    /// Begins to wait for an acknowledgement, or goes on after one; stops if nothing is `outstanding`.
    pub(super) fn restart(&mut self, now: Nanos, outstanding: bool, rtt: &Rtt) {
        self.unanswered = 0;
        self.due = outstanding.then(|| now + interval(rtt));
        self.end_due = self.end_due.filter(|_| outstanding);
    }

    /// Notes that the last packet was sent.
    pub(super) fn at_end(&mut self, now: Nanos) {
        self.end_due = Some(now + AFTER_END);
    }

    /// Makes a poll due at once.
    pub(super) fn hurry(&mut self, now: Nanos) {
        self.due = Some(now);
    }

    /// A new poll, if one is due. Each wait for the next is longer.
    pub(super) fn poll(&mut self, now: Nanos, outstanding: bool, rtt: &Rtt) -> bool {
        if self.next_deadline().map_or(true, |due| due > now) {
            return false;
        }
        self.end_due = None;
        self.number = self.number.wrapping_add(1).max(1);
        let pause = interval(rtt).doubled(self.unanswered, CAP);
        self.unanswered = self.unanswered.saturating_add(1);
        self.due = outstanding.then(|| now + pause);
        true
    }

    pub(super) fn next_deadline(&self) -> Option<Nanos> {
        [self.due, self.end_due].into_iter().flatten().min()
    }
}

fn interval(rtt: &Rtt) -> Nanos {
    Nanos(rtt.or(RTT_GUESS).0.saturating_mul(2)).clamp(MIN, CAP)
}

/// A stall is reported after this time, and again each time that it has passed.
const STALL: Nanos = Nanos::from_secs(8);
/// A group that has not even answered a poll for this long is taken to be dead.
const SILENCE: Nanos = Nanos::from_secs(60);

/// The times of acknowledgements.
#[derive(Debug)]
pub(super) struct Watch {
    progress: Nanos,
    last_heard: Nanos,
    reported: Nanos,
}

impl Watch {
    pub(super) fn new(now: Nanos) -> Watch {
        Watch { progress: now, last_heard: now, reported: now }
    }

    /// Notes that an acknowledgement came, new or not.
    pub(super) fn heard(&mut self, now: Nanos) {
        self.last_heard = now;
    }

    /// Notes that the group's acknowledgement advanced, or that waiting for one begins.
    pub(super) fn progress(&mut self, now: Nanos) {
        *self = Watch::new(now);
    }

    /// A stall, if one is due to be reported.
    pub(super) fn stall(&mut self, now: Nanos) -> Option<SenderEvent> {
        if now < self.deadline() {
            return None;
        }
        self.reported = now;
        let quiet = now - self.progress;
        Some(match now - self.last_heard {
            unheard if unheard >= SILENCE => SenderEvent::Failed(SenderError::Silence(quiet)),
            unheard if unheard >= STALL => SenderEvent::Unanswered(quiet),
            _ => SenderEvent::Stalled(quiet),
        })
    }

    /// When [`Watch::stall`] next reports one.
    pub(super) fn deadline(&self) -> Nanos {
        self.reported + STALL
    }
}

#[cfg(test)]
#[path = "tests/polls.rs"]
mod tests;
#[cfg(test)]
#[path = "tests/watch.rs"]
mod watch_tests;
