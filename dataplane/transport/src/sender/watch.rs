//! The time for which a stream's acknowledgement has not moved.

use groupflow_base::Nanos;

/// A stall is reported after this time, and again each time that it has passed.
const STALL: Nanos = Nanos::from_secs(8);
/// A group that has not even answered a poll for this long is taken to be dead.
const SILENCE: Nanos = Nanos::from_secs(60);

/// A stall: the acknowledgement has not moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stall {
    /// The length of the stall.
    pub(super) quiet: Nanos,
    /// Whether the group has not answered a poll, either.
    pub(super) dead: bool,
}

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
    pub(super) fn stall(&mut self, now: Nanos) -> Option<Stall> {
        if now < self.deadline() {
            return None;
        }
        self.told = now;
        Some(Stall { quiet: now - self.progress, dead: now - self.heard >= SILENCE })
    }

    /// When [`Watch::stall`] next reports one.
    pub(super) fn deadline(&self) -> Nanos {
        self.told + STALL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_answers_polls_is_alive() {
        let mut watch = Watch::new(Nanos::ZERO);
        assert_eq!(watch.stall(Nanos(STALL.0 - 1)), None);
        watch.heard(Nanos::from_secs(30));
        let stall = |secs, dead| Some(Stall { quiet: Nanos::from_secs(secs), dead });
        assert_eq!(watch.stall(Nanos::from_secs(61)), stall(61, false));
        assert_eq!(watch.stall(Nanos::from_secs(61)), None, "told once in {STALL}");
        assert_eq!(watch.stall(Nanos::from_secs(90)), stall(90, true));
    }
}
