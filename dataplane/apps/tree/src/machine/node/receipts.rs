//! A node's reports to its parent: the offsets that are taken and needed, and the end.

use groupflow_base::Nanos;

use crate::machine::frame::TreeFrame;

/// The parent is told after this time what was taken, if that is not much.
const TELL_AFTER: Nanos = Nanos::from_millis(20);

/// The last offsets that the parent was told, and the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Receipts {
    /// The offsets that this parent was last told: everything before the first is taken, nothing before the
    /// second is needed.
    reported: (u64, u64),
    /// Since when the parent is to be told newer offsets.
    pub(super) unreported: Option<Nanos>,
    /// Hosts above were told that no host here needs bytes before this offset.
    pub(super) promised: u64,
    pub(super) completed: bool,
    /// The dispatchers were told that this host has all of the stream.
    pub(super) reported_all: bool,
}

impl Receipts {
    pub(super) fn at(offset: u64) -> Receipts {
        Receipts { reported: (offset, offset), promised: offset, ..Receipts::default() }
    }

    /// Goes on with a stream that begins anew at the offset.
    pub(super) fn begin_at(&mut self, offset: u64) {
        (self.reported, self.promised) = ((offset, offset), offset);
    }

    /// Tells the parent everything again: the connection that carried it is lost, or the parent is a new one.
    pub(super) fn repeat(&mut self) {
        (self.reported, self.completed, self.reported_all) = ((0, 0), false, false);
    }

    /// When the parent is to be told offsets that were held back.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        self.unreported.map(|since| since + TELL_AFTER)
    }

    /// The frame that tells the offsets: at once if they are `step` further, or if all is taken, else after
    /// a while.
    pub(super) fn taken(&mut self, now: Nanos, new: (u64, u64), step: u64, all: bool) -> Option<TreeFrame> {
        let since = self.unreported.take();
        if self.reported == new {
            return None;
        }
        let more = new.0.saturating_sub(self.reported.0).max(new.1.saturating_sub(self.reported.1));
        self.unreported = Some(since.unwrap_or(now));
        if more < step && self.deadline() > Some(now) && !all {
            return None;
        }
        (self.unreported, self.reported, self.promised) = (None, new, new.1);
        Some(TreeFrame::Taken { taken: new.0, needed: new.1 })
    }
}
