//! The requesters of a cache: how many repairs each may ask for, and which of them lag behind the stream.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

use groupflow_base::{BitRate, Nanos};

use super::store::FULL_PACKET;
use crate::ids::{MemberId, Seq};
use crate::requests::WINDOW_MAX;

/// The most requesters remembered per stream.
const BOUND: usize = 64;
/// A requester that asks for nothing for this long is forgotten.
const PATIENCE: Nanos = Nanos::from_secs(60);
/// Intervals at which a lagging requester is told where the stream is: after a change, and without one.
const SYNC: Nanos = Nanos::from_millis(50);
const SYNC_IDLE: Nanos = Nanos::from_millis(500);

#[derive(Debug)]
struct Requester {
    member: MemberId,
    slow: bool,
    asked: Nanos,
    synced: Option<Nanos>,
    announced: Seq,
}

/// A change that the controller may want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LagChange {
    pub member: MemberId,
    /// Whether the requester lags now, or no longer does.
    pub slow: bool,
    /// The number of packets that the requester is behind.
    pub behind: u32,
}

#[derive(Debug, Default)]
pub struct Requesters {
    all: BTreeMap<SocketAddrV4, Requester>,
}

impl Requesters {
    /// Notes that `from` asked, and is `behind` packets behind. A requester lags once it is two windows
    /// behind, until it is within a quarter of a window.
    pub fn asked(
        &mut self, now: Nanos, from: SocketAddrV4, member: MemberId, behind: u32, window: u32,
    ) -> Option<LagChange> {
        if self.all.len() >= BOUND && !self.all.contains_key(&from) {
            self.all.retain(|_, r| r.slow && now - r.asked < PATIENCE);
            if self.all.len() >= BOUND {
                return None;
            }
        }
        let fresh = Requester { member, slow: false, asked: now, synced: None, announced: Seq::ZERO };
        let requester = self.all.entry(from).or_insert(fresh);
        requester.member = member;
        requester.asked = now;
        let slow = match requester.slow {
            false => behind > window.saturating_mul(2),
            true => behind > window / 4,
        };
        if slow == requester.slow {
            return None;
        }
        requester.slow = slow;
        Some(LagChange { member, slow, behind })
    }

    /// A requester that lags and has to be told now that the stream is at `highest`.
    pub fn poll_sync(&mut self, now: Nanos, highest: Seq) -> Option<SocketAddrV4> {
        let (&address, requester) =
            self.all.iter_mut().find(|(_, r)| r.slow && r.sync_due(highest) <= now)?;
        if now - requester.asked > PATIENCE {
            requester.slow = false;
            return None;
        }
        requester.synced = Some(now);
        requester.announced = highest;
        Some(address)
    }

    pub fn next_deadline(&self, highest: Seq) -> Option<Nanos> {
        self.all.values().filter(|r| r.slow).map(|r| r.sync_due(highest)).min()
    }

    pub fn slow(&self) -> Vec<MemberId> {
        self.all.values().filter(|r| r.slow).map(|r| r.member).collect()
    }
}

impl Requester {
    fn sync_due(&self, highest: Seq) -> Nanos {
        let pause = if self.announced == highest { SYNC_IDLE } else { SYNC };
        self.synced.map_or(Nanos::ZERO, |synced| synced + pause)
    }
}

/// Packets in a full bucket: as many as a receiver has requested at a time.
const BURST: u64 = WINDOW_MAX as u64;
/// The rate of a bucket where the controller knows no rate of the branches.
const RATE: BitRate = BitRate(1_000_000_000);
/// The most requesters at a time.
const BUDGETS: usize = 1024;

/// The requesters whose buckets are not full, each with the time when its bucket will be.
#[derive(Debug, Default)]
pub(super) struct Budgets {
    full_at: BTreeMap<Ipv4Addr, Nanos>,
}

impl Budgets {
    /// Takes a packet out of the bucket of `from`, which fills at the branches' rate (0: not known). False:
    /// the bucket is empty.
    pub(super) fn take(&mut self, now: Nanos, from: Ipv4Addr, rate: BitRate) -> bool {
        if self.full_at.len() >= BUDGETS && !self.full_at.contains_key(&from) {
            self.full_at.retain(|_, &mut full_at| full_at > now);
            if self.full_at.len() >= BUDGETS {
                return false;
            }
        }
        let packet = if rate.0 == 0 { RATE } else { rate }.time_for(FULL_PACKET);
        let full_at = self.full_at.entry(from).or_insert(now);
        let after = (*full_at).max(now) + packet;
        let affordable = after - now <= Nanos(packet.0.saturating_mul(BURST));
        if affordable {
            *full_at = after;
        }
        affordable
    }
}

#[cfg(test)]
#[path = "tests/budget.rs"]
mod budget_tests;
#[cfg(test)]
#[path = "tests/requesters.rs"]
mod tests;
