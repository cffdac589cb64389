//! Random numbers that are the same on every machine.

use groupflow_base::Nanos;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The purposes of random numbers. Each draws a stream of its own from the seed, so that one more of them
/// changes nothing for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draws {
    Link(u32),
    /// The arrivals of a flow's source.
    Flow(u32),
    /// When a host has messages to send.
    Messages(u32),
    /// The bit errors of a directed link.
    Errors(u32),
}

#[derive(Debug, Clone)]
pub struct Random(ChaCha8Rng);

impl Random {
    pub fn new(seed: u64, stream: Draws) -> Random {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(match stream {
            Draws::Link(link) => u64::from(link) * 2,
            Draws::Flow(flow) => u64::from(flow) * 2 + 1,
            Draws::Messages(host) => 1 << 40 | u64::from(host),
            Draws::Errors(link) => 2 << 40 | u64::from(link),
        });
        Random(rng)
    }

    /// A number that is uniform over all 32-bit numbers.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A number that is uniform over `0..bound`; 0 if that is empty.
    pub fn below(&mut self, bound: u64) -> u64 {
        // Off by less than bound / 2^64 of being uniform.
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// An exponentially distributed time with this mean, in whole nanoseconds.
    pub fn exponential(&mut self, mean: Nanos) -> Nanos {
        // In (0, 1], of 53 bits: never the logarithm of zero.
        let uniform = ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        Nanos((-natural_logarithm(uniform) * mean.0 as f64 + 0.5) as u64)
    }
}

/// The logarithm by operations that IEEE 754 defines to the bit, which a system's `log` is not.
fn natural_logarithm(x: f64) -> f64 {
    // x = m * 2^e with m near 1; ln m = 2 artanh((m - 1) / (m + 1)).
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if m > std::f64::consts::SQRT_2 {
        m /= 2.0;
        exponent += 1;
    }
    let t = (m - 1.0) / (m + 1.0);
    let square = t * t;
    let (mut power, mut sum) = (t, 0.0);
    for odd in 0..14 {
        sum += power / f64::from(2 * odd + 1);
        power *= square;
    }
    2.0 * sum + f64::from(exponent) * std::f64::consts::LN_2
}

#[cfg(test)]
#[path = "tests/random.rs"]
mod tests;
