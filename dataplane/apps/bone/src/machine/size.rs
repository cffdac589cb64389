//! The size of the next round's packets.
//!
//! Packets leave at a fixed interval, so their size is the rate (step 4 of the paper: "the sender adapts the
//! transmission rate by adjusting the packet size"). The paper says that the size considers "the reception
//! results and available bandwidth", and gives no formula. This is the one chosen here:
//!
//! ```text
//! S' = S * (1 + (u - u*) / 4)                   reception results
//! u* = 0.57 - 3/8 * H / S, and at least 0.2     H = 64: bytes of a frame besides its payload
//! S' <= B * interval                            available bandwidth, when arrivals are stretched
//! least <= S' <= most
//! ```
//!
//! u is the useful share of the round: of the bytes it carried, those that no rim asks for again. Let c be
//! the probability that a byte is lost (a bit error rate), independently of others, and x = c * W * (S + H)
//! the expected number of lost packets in a round of W. Go-Back-N then gets u = (1 - exp(-x)) / x of the
//! round through. The bytes through a round, proportional to u * S, grow with S and level off, while u falls.
//! Their product S * u^2 (throughput times efficiency, Kleinrock's power) is greatest where -x u'(x) / u(x) =
//! (S + H) / 2S: without headers at x = 1.26, where u is 0.57. With headers the maximum lies at a smaller u:
//! where headers are most of what is lost, smaller packets are hardly lost less often. From H / S = 0 to 0.8,
//! u at the maximum falls by 0.375 H / S, to within 0.01. The model leaves out that rims remember bytes that
//! other rims lost; measured over four links, the power is 0.89 to 0.98 of that of the best fixed size
//! (docs/results/amcb.md, "The size of packets"). With a repair method that repeats only lost packets, u
//! stays above u*, and S grows to its maximum.
//!
//! B is the least rate at which a rim's packets of the round came. It bounds S only when it is more than an
//! eighth below the rate of sending: then the packets waited for one another somewhere.

use groupflow_base::Nanos;

use super::message::DATA_HEADER;

/// u* of packets without headers, its decrease where a packet is as long as its headers, and its minimum, in
/// 1024ths.
const TARGET: u64 = 583;
const LESS: u64 = 384;
const LEAST: u64 = 205;
/// H in bytes: DATA, UDP, IPv4 and Ethernet headers.
const HEADERS: u64 = DATA_HEADER as u64 + 8 + 20 + 14;
/// The size follows with a gain of 1 / GAIN.
const GAIN: i64 = 4;

/// Computes the packet size of each round.
#[derive(Debug, Clone)]
pub struct SizeControl {
    least: u16,
    most: u16,
    interval: Nanos,
    /// Payload bytes of the next round's packets.
    pub size: u16,
}

impl SizeControl {
    /// Begins with `first` payload bytes; packets are sent every `interval`.
    pub fn new(first: u16, least: u16, most: u16, interval: Nanos) -> SizeControl {
        let least = least.clamp(1, most.max(1));
        SizeControl { least, most: most.max(1), interval, size: first.clamp(least, most.max(1)) }
    }

    /// Ends a round: `useful` of its `sent` bytes reached all rims; `slowest` is the slowest arrival in
    /// bytes/s, if known.
    pub fn on_round(&mut self, useful: u64, sent: u64, slowest: Option<u64>) {
        if sent == 0 {
            return;
        }
        let share = u128::from(useful.min(sent)) * 1024 / u128::from(sent);
        let step = i64::from(self.size) * (share as i64 - self.target()) / (1024 * GAIN);
        let mut size = i64::from(self.size) + step;
        if let Some(bound) = slowest.and_then(|rate| self.bound(rate)) {
            size = size.min(i64::from(bound));
        }
        self.size = size.clamp(self.least.into(), self.most.into()) as u16;
    }

    /// u*, in 1024ths.
    fn target(&self) -> i64 {
        let headers = LESS * HEADERS / u64::from(self.size.max(1));
        TARGET.saturating_sub(headers).max(LEAST) as i64
    }

    /// The largest payload that fits the rate of arrival, if arrivals were stretched.
    fn bound(&self, rate: u64) -> Option<u16> {
        let fits = u128::from(rate) * u128::from(self.interval.0) / 1_000_000_000;
        let stretched = fits * 8 < u128::from(self.size) * 7;
        stretched.then(|| u16::try_from(fits).unwrap_or(u16::MAX))
    }
}

#[cfg(test)]
#[path = "tests/size.rs"]
mod tests;
