//! The rate of each link, divided among the connections over it: an agent holds back before it overflows the
//! queue of a link (III.A of the paper on split connections). Shares are max-min fair: a connection that
//! something else slows down leaves the others what it does not use.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use groupflow_host::tcp;
use groupflow_host::tcp::TcpInfo;
use groupflow_transport::fanout::Fanout;

use super::{BranchLink, LinkState};

/// Losses slow a connection down if it had less than half of its part at more divisions
/// in a row than these. A connection that begins is faster.
const SHORT: u32 = 30;

/// A connection's use of one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It has no bytes to send.
    Idle,
    /// Its source, its receiver, losses or another link slow it down to so many bytes a second.
    Slowed(u64),
    /// It would send all that the link takes.
    Greedy,
}

/// The uses of one link.
#[derive(Default)]
pub struct LinkUse {
    busy: u64,
    greedy: u64,
    /// Bytes a second of the connections that something else slows down.
    slowed: u64,
}

/// The uses of all links, by the link's name.
pub type LinkUses = HashMap<Arc<str>, LinkUse>;

impl LinkUse {
    pub fn add(&mut self, one: Use) {
        self.busy += u64::from(!matches!(one, Use::Idle));
        match one {
            Use::Idle => {}
            Use::Slowed(rate) => self.slowed += rate,
            Use::Greedy => self.greedy += 1,
        }
    }

    /// The bytes a second, of the link's `rate`, that `one` of its connections has if it becomes greedy: at
    /// least what an equal division among all busy connections gives it.
    pub fn share(&self, rate: u64, one: Use) -> u64 {
        let (busy, greedy, slowed) = match one {
            Use::Idle => (self.busy + 1, self.greedy + 1, self.slowed),
            Use::Slowed(own) => (self.busy, self.greedy + 1, self.slowed - own),
            Use::Greedy => (self.busy, self.greedy, self.slowed),
        };
        (rate.saturating_sub(slowed) / greedy).max(rate / busy)
    }
}

/// A connection's part in the links to its branch, as of the last division.
#[derive(Default)]
pub struct Share {
    busy: bool,
    /// Whether bytes wait that neither the connection's source nor its receiver holds up, nor losses.
    greedy: bool,
    /// The link, by its place among the branch's links, that gives the connection the least.
    narrowest: usize,
    /// Bytes a second that the receiver acknowledged lately.
    rate: u64,
    /// Divisions in a row at which this was less than half of the pace.
    short: u32,
    /// Bytes a second that the connection was last allowed.
    pace: u64,
    /// The state of the connection's TCP, and when that was.
    noted: Option<(TcpInfo, Instant)>,
}

impl Share {
    fn of(&self, link: usize) -> Use {
        match (self.busy, self.greedy && link == self.narrowest) {
            (false, _) => Use::Idle,
            (true, false) => Use::Slowed(self.rate),
            (true, true) => Use::Greedy,
        }
    }

    /// Notes the state of TCP, and whether bytes `wait` to be written.
    fn note(&mut self, info: TcpInfo, now: Instant, wait: bool) {
        let (before, then) = self.noted.replace((info, now)).unwrap_or((info, now));
        let bytes = info.acknowledged.saturating_sub(before.acknowledged);
        let rate = if now > then { (bytes as f64 / (now - then).as_secs_f64()) as u64 } else { 0 };
        // Acknowledgements come in bunches.
        self.rate = (3 * self.rate + rate) / 4;
        self.busy = wait || info.unsent > 0 || info.unacknowledged > 0;
        self.short = if self.rate < self.pace / 2 { self.short.saturating_add(1) } else { 0 };
        let held = info.window_limited_us > before.window_limited_us || self.short > SHORT;
        self.greedy = (wait || info.unsent > 0) && !held;
    }
}

impl BranchLink {
    /// Adds the connection's use of each of its links.
    pub fn add_use(&mut self, core: &Fanout, now: Instant, uses: &mut LinkUses) {
        let behind = core.acked(self.branch).is_some_and(|acked| acked < core.received());
        self.share.busy = false;
        let open = self.state == LinkState::Open && !self.spec.links.is_empty();
        let Some(link) = self.link.as_ref().filter(|_| open && behind) else {
            self.share.short = 0;
            return;
        };
        let Ok(info) = TcpInfo::of(link.socket()) else { return };
        self.share.note(info, now, !core.sendable(self.branch).is_empty());
        for (place, (name, _)) in self.spec.links.iter().enumerate() {
            uses.entry(Arc::clone(name)).or_default().add(self.share.of(place));
        }
    }

    /// Bounds the connection by its share of each link; an idle one gets what it would have if it began now.
    pub fn take_share(&mut self, uses: &LinkUses) {
        let Some(link) = &self.link else { return };
        let share = |(place, (name, rate)): (usize, &(Arc<str>, u64))| {
            (uses.get(name).map_or(*rate, |link| link.share(*rate, self.share.of(place))), place)
        };
        let Some((pace, narrowest)) = self.spec.links.iter().enumerate().map(share).min() else { return };
        self.share.narrowest = narrowest;
        // The loss of a connection shows when it is next used.
        if pace != self.share.pace && tcp::set_pace(link.socket(), pace).is_ok() {
            self.share.pace = pace;
        }
    }
}

#[cfg(test)]
#[path = "../tests/sharing.rs"]
mod tests;
