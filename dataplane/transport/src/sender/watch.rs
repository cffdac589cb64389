//! The time for which a stream's acknowledgement has not moved.

use groupflow_base::Nanos;

use super::report::{SenderError, SenderEvent};

/// A stall is reported after this time, and again each time that it has passed.
const STALL: Nanos = Nanos::from_secs(8);
/// A group that has not even answered a poll for this long is taken to be dead.
const SILENCE: Nanos = Nanos::from_secs(60);

/// The times of acknowledgements.
#[derive(Debug)]
pub(super) struct Watch {
    progress: Nanos,
    heard: Nanos,
    told: Nanos,
}

impl Watch {
    pub(super) fn new(now: Nanos) -> Watch {
        Watch { progress: now, heard: now, told: now }
    }

    /// Notes that an acknowledgement came, new or not.
    pub(super) fn heard(&mut self, now: Nanos) {
        self.heard = now;
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
        self.told = now;
        let quiet = now - self.progress;
        Some(match now - self.heard {
            unheard if unheard >= SILENCE => SenderEvent::Failed(SenderError::Silence(quiet)),
            unheard if unheard >= STALL => SenderEvent::Unanswered(quiet),
            _ => SenderEvent::Stalled(quiet),
        })
    }

    /// When [`Watch::stall`] next reports one.
    pub(super) fn deadline(&self) -> Nanos {
        self.told + STALL
    }
}

#[cfg(test)]
#[path = "tests/watch.rs"]
mod tests;
