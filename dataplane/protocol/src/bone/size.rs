//! The size of the next round's packets.
//!
//! Packets leave at a fixed interval, so their size is the rate (step 4 of the paper: "the sender adapts the
//! transmission rate by adjusting the packet size"). The paper says that the size considers "the reception results
//! and available bandwidth", and gives no formula. This is the one chosen here:
//!
//! ```text
//! S' = S * (1 + (u - u*) / 4),   u* = 0.5       reception results
//! S' <= B * interval                            available bandwidth, when arrivals are stretched
//! least <= S' <= most
//! ```
//!
//! u is the useful share of the round: of the bytes it carried, those that nobody asks for again. Where bytes
//! are lost independently, c a byte (a bit error rate), and x = c * W * S is how many packets of a round of W are
//! lost, Go-Back-N gets u = (1 - exp(-x)) / x of it through. Bytes through a round, u * x, grow with S and level
//! off, u falls. Their product (throughput times efficiency, Kleinrock's power) is greatest at x = 1.26, where u
//! is 0.57. That leaves out that a packet's header is lost with it, and that rims remember what the others lost:
//! measured over four links the power is greatest at 0.45 to 0.6, and a half is nearest to the best
//! (docs/amcb.md, "The size of packets"). With repair that loses only what is lost, u stays above u* and S grows to
//! the most.
//!
//! B is the least rate at which a rim's packets of the round came. It bounds S only when it is more than an eighth
//! below the rate of sending: then the packets waited for one another somewhere.

use crate::ids::Nanos;

/// u*, in 1024ths.
const TARGET: u64 = 512;
/// How fast the size follows: 1 / GAIN.
const GAIN: i64 = 4;

/// Works out sizes.
#[derive(Debug, Clone)]
pub struct SizeControl {
    least: u16,
    most: u16,
    interval: Nanos,
    size: u16,
}

impl SizeControl {
    /// Begins with `first` bytes of payload; packets leave every `interval`.
    pub fn new(first: u16, least: u16, most: u16, interval: Nanos) -> SizeControl {
        let least = least.clamp(1, most.max(1));
        SizeControl { least, most: most.max(1), interval, size: first.clamp(least, most.max(1)) }
    }

    /// Bytes of payload of the next round's packets.
    pub fn size(&self) -> u16 {
        self.size
    }

    /// A round is over: `useful` of its `sent` bytes got through to all; the slowest arrival in bytes/s, where
    /// it is known.
    pub fn on_round(&mut self, useful: u64, sent: u64, slowest: Option<u64>) {
        if sent == 0 {
            return;
        }
        let share = u128::from(useful.min(sent)) * 1024 / u128::from(sent);
        let step = i64::from(self.size) * (share as i64 - TARGET as i64) / (1024 * GAIN);
        let mut size = i64::from(self.size) + step;
        if let Some(bound) = slowest.and_then(|rate| self.bound(rate)) {
            size = size.min(i64::from(bound));
        }
        self.size = size.clamp(self.least.into(), self.most.into()) as u16;
    }

    /// What fits the rate at which packets came, if they were stretched.
    fn bound(&self, rate: u64) -> Option<u16> {
        let fits = u128::from(rate) * u128::from(self.interval.0) / 1_000_000_000;
        let stretched = fits * 8 < u128::from(self.size) * 7;
        stretched.then(|| u16::try_from(fits).unwrap_or(u16::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INTERVAL: Nanos = Nanos::from_millis(100);

    #[test]
    fn it_settles_where_half_gets_through() {
        // c * W = 1.59 / 500: of packets of 500 bytes a half gets through.
        let mut control = SizeControl::new(1000, 64, 1400, INTERVAL);
        for _ in 0..200 {
            let x = f64::from(control.size()) * 1.594 / 500.0;
            let share = (1.0 - (-x).exp()) / x;
            control.on_round((share * 1e6) as u64, 1_000_000, None);
        }
        assert!((480..=520).contains(&control.size()), "{}", control.size());
    }

    #[test]
    fn it_obeys_the_available_bandwidth_only_when_packets_are_stretched() {
        let mut control = SizeControl::new(1000, 64, 1400, INTERVAL);
        control.on_round(100, 100, Some(9_900));
        assert_eq!(control.size(), 1125, "10,000 bytes/s were sent");
        control.on_round(100, 100, Some(5_000));
        assert_eq!(control.size(), 500);
        control.on_round(0, 100, Some(100));
        assert_eq!(control.size(), 64);
    }

    proptest! {
        #[test]
        fn it_stays_within_its_bounds(
            first in any::<u16>(), least in any::<u16>(), most in 1..u16::MAX,
            rounds in proptest::collection::vec((any::<u64>(), any::<u64>(), any::<Option<u64>>()), 0..20),
        ) {
            let mut control = SizeControl::new(first, least, most, INTERVAL);
            for (useful, sent, rate) in rounds {
                control.on_round(useful, sent, rate);
                prop_assert!(control.size() >= least.clamp(1, most) && control.size() <= most);
            }
        }
    }
}
