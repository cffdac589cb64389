//! The rate of each link, divided among the connections over it: an agent holds back before it overflows the
//! queue of a link (III.A of the paper on split connections). Shares are max-min fair: a connection that
//! something else slows down leaves the others what it does not use.

use std::collections::HashMap;
use std::sync::Arc;

use groupflow_base::Nanos;
use groupflow_transport::fanout::BranchId;

use super::branches::BranchState;
use super::stream::Stream;

/// Losses slow a connection down if it had less than half of its part at more divisions
/// in a row than these. A connection that begins is faster.
const SHORT: u32 = 30;

/// The state of a branch's TCP connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpState {
    /// Bytes acknowledged, in total.
    pub acknowledged: u64,
    /// Bytes that TCP has not sent yet.
    pub unsent: u32,
    /// Segments sent and not acknowledged.
    pub unacknowledged: u32,
    /// Time in which the receiver's window held up bytes, in total, µs.
    pub window_limited_us: u64,
}

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
#[derive(Debug, Default)]
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
    noted: Option<(TcpState, Nanos)>,
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
    fn note(&mut self, tcp: TcpState, now: Nanos, wait: bool) {
        let (before, then) = self.noted.replace((tcp, now)).unwrap_or((tcp, now));
        let bytes = tcp.acknowledged.saturating_sub(before.acknowledged);
        let rate = (u128::from(bytes) * 1_000_000_000).checked_div(u128::from((now - then).0));
        let rate = rate.map_or(0, |rate| u64::try_from(rate).unwrap_or(u64::MAX));
        // Acknowledgements come in bunches.
        self.rate = (3 * self.rate + rate) / 4;
        self.busy = wait || tcp.unsent > 0 || tcp.unacknowledged > 0;
        self.short = if self.rate < self.pace / 2 { self.short.saturating_add(1) } else { 0 };
        let held = tcp.window_limited_us > before.window_limited_us || self.short > SHORT;
        self.greedy = (wait || tcp.unsent > 0) && !held;
    }
}

impl Stream {
    /// Adds the use that each branch makes of its links; `tcp` says how a connection is.
    pub fn add_uses(&mut self, now: Nanos, tcp: impl Fn(BranchId) -> Option<TcpState>, uses: &mut LinkUses) {
        let core = &self.core;
        for branch in &mut self.branches {
            let behind = core.acked(branch.id).is_some_and(|acked| acked < core.received());
            branch.share.busy = false;
            if branch.state != BranchState::Open || branch.spec.links.is_empty() || !behind {
                branch.share.short = 0;
                continue;
            }
            let Some(tcp) = tcp(branch.id) else { continue };
            branch.share.note(tcp, now, !core.sendable(branch.id).is_empty());
            for (place, (name, _)) in branch.spec.links.iter().enumerate() {
                uses.entry(Arc::clone(name)).or_default().add(branch.share.of(place));
            }
        }
    }

    /// Bounds each branch by its share of each link; an idle one gets what it would have if it began now.
    /// Calls `set` with each rate that has changed, in bytes a second.
    pub fn take_shares(&mut self, uses: &LinkUses, mut set: impl FnMut(BranchId, u64)) {
        for branch in &mut self.branches {
            let share = |(place, (name, rate)): (usize, &(Arc<str>, u64))| {
                (uses.get(name).map_or(*rate, |link| link.share(*rate, branch.share.of(place))), place)
            };
            let least = branch.spec.links.iter().enumerate().map(share).min();
            let Some((pace, narrowest)) = least else { continue };
            branch.share.narrowest = narrowest;
            if pace != std::mem::replace(&mut branch.share.pace, pace) {
                set(branch.id, pace);
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/sharing.rs"]
mod tests;
