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
mod tests {
    use super::*;

    fn taken(budgets: &mut Budgets, now: Nanos, host: u16, rate: BitRate) -> u64 {
        let [high, low] = host.to_be_bytes();
        let from = Ipv4Addr::new(10, 0, high, low);
        (0..3 * BURST).filter(|_| budgets.take(now, from, rate)).count() as u64
    }

    #[test]
    fn a_bucket_holds_a_burst_and_fills_at_the_rate() {
        let rate = BitRate(8 * FULL_PACKET * 1000); // a packet a millisecond
        let mut budgets = Budgets::default();
        let at = |budgets: &mut Budgets, ms| taken(budgets, Nanos::from_millis(ms), 1, rate);
        assert_eq!(at(&mut budgets, 0), BURST);
        assert_eq!(at(&mut budgets, 0), 0);
        assert_eq!(at(&mut budgets, 10), 10);
        assert_eq!(at(&mut budgets, 1_000_000), BURST, "no more than a burst is saved");
    }

    #[test]
    fn each_requester_has_a_bucket_and_their_number_is_bounded() {
        let mut budgets = Budgets::default();
        for host in 0..BOUND as u16 {
            assert_eq!(taken(&mut budgets, Nanos::ZERO, host, BitRate(0)), BURST);
        }
        assert_eq!(taken(&mut budgets, Nanos::ZERO, BOUND as u16, BitRate(0)), 0);
        assert_eq!(taken(&mut budgets, Nanos::from_secs(10), BOUND as u16, BitRate(0)), BURST);
    }
}
