//! The rate of each link, divided among the connections over it: an agent holds back before it overflows the
//! queue of a link (III.A of the paper on split connections). Shares are max-min fair: a connection that
//! something else slows down leaves the others what it does not use.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use groupflow_base::Nanos;
use groupflow_transport::fanout::BranchId;

use super::branches::BranchState;
use super::stream::Stream;

/// Losses slow a connection down if it had less than half of its part at more divisions
/// in a row than these. A connection that begins is faster.
const SHORT: u32 = 30;
/// Bytes of a segment for each byte of the frame that acknowledges it: 1,448 and 66, with timestamps.
const ACKNOWLEDGED: u64 = 22;

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
    /// Bytes a second of acknowledgements for streams that come over the link's other direction.
    acknowledgements: u64,
}

/// The uses of all links, by the link's name.
pub type LinkUses = HashMap<Arc<str>, LinkUse>;

/// The links to each neighbour, of whichever session, by the neighbour's address.
pub type Ways = HashMap<Ipv4Addr, Vec<Arc<str>>>;

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
        let rate = rate - self.acknowledgements.min(rate / 2);
        (rate.saturating_sub(slowed) / greedy).max(rate / busy)
    }
}

/// The bytes a second of a count, smoothed, as bytes and acknowledgements come in bunches.
#[derive(Debug, Default)]
pub(super) struct Meter {
    noted: Option<(u64, Nanos)>,
    rate: u64,
}

impl Meter {
    fn note(&mut self, total: u64, now: Nanos) {
        let (before, then) = self.noted.replace((total, now)).unwrap_or((total, now));
        let bytes = u128::from(total.saturating_sub(before));
        let rate = (bytes * 1_000_000_000).checked_div(u128::from((now - then).0)).unwrap_or(0);
        self.rate = (3 * self.rate + u64::try_from(rate).unwrap_or(u64::MAX / 4)) / 4;
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
    /// The bytes that the receiver acknowledged lately.
    acknowledged: Meter,
    /// Divisions in a row at which this was less than half of the pace.
    short: u32,
    /// Bytes a second that the connection was last allowed.
    pace: u64,
    /// The time in which the receiver's window held up bytes, so far.
    window_limited_us: Option<u64>,
}

impl Share {
    fn of(&self, link: usize) -> Use {
        match (self.busy, self.greedy && link == self.narrowest) {
            (false, _) => Use::Idle,
            (true, false) => Use::Slowed(self.acknowledged.rate),
            (true, true) => Use::Greedy,
        }
    }

    /// Notes the state of TCP, and whether bytes `wait` to be written.
    fn note(&mut self, tcp: TcpState, now: Nanos, wait: bool) {
        self.acknowledged.note(tcp.acknowledged, now);
        let limited = self.window_limited_us.replace(tcp.window_limited_us);
        self.busy = wait || tcp.unsent > 0 || tcp.unacknowledged > 0;
        self.short = if self.acknowledged.rate < self.pace / 2 { self.short.saturating_add(1) } else { 0 };
        let held = limited.is_some_and(|before| tcp.window_limited_us > before) || self.short > SHORT;
        self.greedy = (wait || tcp.unsent > 0) && !held;
    }
}

impl Stream {
    /// Adds the links to the stream's neighbours.
    pub fn add_ways(&self, ways: &mut Ways) {
        for branch in &self.spec.branches {
            let names = || branch.links.iter().map(|(name, _)| Arc::clone(name)).collect();
            ways.entry(*branch.address.ip()).or_insert_with(names);
        }
    }

    /// Adds the use that each branch makes of its links, and that the acknowledgements to the source make of
    /// the links to it; `tcp` says how a connection is.
    pub fn add_uses(
        &mut self, now: Nanos, ways: &Ways, tcp: impl Fn(BranchId) -> Option<TcpState>, uses: &mut LinkUses,
    ) {
        self.arrived.note(self.core.received, now);
        for name in ways.get(self.source.peer.ip()).into_iter().flatten() {
            uses.entry(Arc::clone(name)).or_default().acknowledgements += self.arrived.rate / ACKNOWLEDGED;
        }
        let core = &self.core;
        for branch in &mut self.branches {
            let behind = core.acked(branch.id).is_some_and(|acked| acked < core.received);
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
