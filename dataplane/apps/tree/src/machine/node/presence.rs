//! A host's presence in the tree, as its dispatcher knows it: signs of life, and the departure.

use groupflow_base::Nanos;

/// The time after which dispatchers know what became of a host that is gone.
const NOTICED: Nanos = Nanos::from_millis(5000);

/// The progress of a host that leaves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum LeaveProgress {
    /// The host stays.
    #[default]
    No,
    /// The host told the dispatcher that it leaves.
    Asked,
    /// The host may go when its children have gone.
    Released,
}

/// The host's presence.
#[derive(Debug, Clone, Default)]
pub(super) struct Presence {
    /// When the dispatcher gets the next sign of life; `None`: the node has no place.
    pub(super) sign: Option<Nanos>,
    pub(super) departure: LeaveProgress,
    /// When the dispatchers were reached last; `None`: they are reached now.
    pub(super) unreached: Option<Nanos>,
    /// When a child that may lack bytes was given up last.
    pub(super) gave_up: Option<Nanos>,
}

impl Presence {
    pub(super) fn is_unsure(&self) -> bool {
        self.unreached.zip(self.gave_up).is_some_and(|(reached, gave_up)| gave_up + NOTICED > reached)
    }

    /// Ends the presence in one cluster; a host that was to leave is free to go.
    pub(super) fn end(&mut self) {
        self.sign = None;
        if self.departure == LeaveProgress::Asked {
            self.departure = LeaveProgress::Released;
        }
    }

    /// Whether a sign of life is due; the next one is due after `every`.
    pub(super) fn is_due(&mut self, now: Nanos, every: Nanos) -> bool {
        let due = self.sign.is_some_and(|due| due <= now);
        self.sign = if due { Some(now + every) } else { self.sign };
        due
    }

    pub(super) fn is_released(&self) -> bool {
        self.departure == LeaveProgress::Released
    }
}
