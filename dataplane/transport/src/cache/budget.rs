//! The repairs that a requester may ask for: a token bucket for each address, whatever its ports, so that no
//! host, and no victim whose address a host borrows, gets more than a link's worth.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use groupflow_base::{BitRate, Nanos};

use super::store::FULL_PACKET;
use crate::requests::WINDOW_MAX;

/// Packets in a full bucket: as many as a receiver has requested at a time.
const BURST: u64 = WINDOW_MAX as u64;
/// The rate of a bucket where the controller knows no rate of the branches.
const RATE: BitRate = BitRate(1_000_000_000);
/// The most requesters at a time.
const BOUND: usize = 1024;

/// The requesters whose buckets are not full, each with the time when its bucket will be.
#[derive(Debug, Default)]
pub(super) struct Budgets {
    full_at: BTreeMap<Ipv4Addr, Nanos>,
}

impl Budgets {
    /// Takes a packet out of the bucket of `from`, which fills at the branches' rate (0: not known). False:
    /// the bucket is empty.
    pub(super) fn take(&mut self, now: Nanos, from: Ipv4Addr, rate: BitRate) -> bool {
        if self.full_at.len() >= BOUND && !self.full_at.contains_key(&from) {
            self.full_at.retain(|_, &mut full_at| full_at > now);
            if self.full_at.len() >= BOUND {
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
mod tests;
