//! One direction of an emulated link: serialisation at a rate, then loss, then propagation.

use std::collections::VecDeque;
use std::str::FromStr;

use groupflow_base::quantity::{parse_decimal, QuantityError};
use groupflow_base::{BitRate, Nanos};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::queue::Depth;

/// The most items on the way at once: bounds memory where a long delay meets an unlimited rate.
pub const LINE_LIMIT: usize = 65_536;

/// The largest queue that may be asked for, in packets.
pub const QUEUE_LIMIT: u32 = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct LinkParameters {
    /// The bit rate; `None` is unlimited. Frame bytes count, not preamble, FCS and gap.
    #[serde(rename = "rate_bps")]
    pub rate: Option<BitRate>,
    #[serde(rename = "delay_ns")]
    pub delay: Nanos,
    /// The proportion of packets lost after serialisation: they take up the link, but do not arrive.
    #[serde(rename = "loss_ppb")]
    pub loss: Loss,
    /// The most packets that wait (per priority), not counting the one being sent.
    pub queue_packets: u32,
}

impl LinkParameters {
    pub const IDEAL: LinkParameters =
        LinkParameters { rate: None, delay: Nanos::ZERO, loss: Loss::NONE, queue_packets: 200 };

    /// Whether packets pass at once and always.
    pub fn is_transparent(&self) -> bool {
        self.rate.is_none() && self.delay == Nanos::ZERO && self.loss == Loss::NONE
    }

    /// The limit of a queue that waits for the link, and has none of its own.
    pub fn depth(&self) -> Depth {
        Depth { packets: self.queue_packets, bytes: u64::MAX }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WireCounters {
    /// Packets put on the wire, lost ones included.
    pub packets: u64,
    pub bytes: u64,
    pub lost: u64,
    pub down: u64,
    /// Packets refused because [`LINE_LIMIT`] were on their way.
    pub line_full: u64,
}

/// The wire itself; the packets that wait for it are kept elsewhere.
#[derive(Debug)]
pub struct Wire<T> {
    /// The effect of the link. A change counts from the next packet on.
    pub parameters: LinkParameters,
    up: bool,
    pacer: Pacer,
    /// When the last frame was or will be at the far end.
    last_due: Nanos,
    line: VecDeque<(Nanos, T)>,
    rng: ChaCha8Rng,
    counters: WireCounters,
}

impl<T> Wire<T> {
    /// An idle wire. Wires with the same `seed` draw different numbers by their `stream`.
    pub fn new(parameters: LinkParameters, seed: u64, stream: u64) -> Wire<T> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Wire {
            parameters,
            up: true,
            pacer: Pacer::default(),
            last_due: Nanos::ZERO,
            line: VecDeque::new(),
            rng,
            counters: WireCounters::default(),
        }
    }

    pub fn ready(&self) -> Nanos {
        self.pacer.free_at()
    }

    pub fn is_up(&self) -> bool {
        self.up
    }

    /// Takes the link up or down. A packet that is on the wire when it goes down is lost.
    pub fn set_up(&mut self, up: bool) {
        if self.up && !up {
            self.counters.down += self.line.len() as u64;
            self.line.clear();
        }
        self.up = up;
    }

    /// Sends a packet of `bytes` at `start`, which must not be before [`Wire::ready`]. False: it is lost.
    pub fn send(&mut self, start: Nanos, item: T, bytes: usize) -> bool {
        let Some(due) = self.send_eagerly(start, bytes) else { return false };
        if self.line.len() >= LINE_LIMIT {
            self.counters.line_full += 1;
            return false;
        }
        self.line.push_back((due, item));
        true
    }

    /// Does the same as [`Wire::send`] without keeping the packet; returns when the packet will be at the far
    /// end, unless it is lost.
    #[inline(always)]
    pub fn send_eagerly(&mut self, start: Nanos, bytes: usize) -> Option<Nanos> {
        let (_, sent) = self.pacer.send(self.parameters.rate, start, bytes);
        if !self.cross(bytes) {
            return None;
        }
        // A shortened delay must not let packets overtake.
        self.last_due = (sent + self.parameters.delay).max(self.last_due);
        Some(self.last_due)
    }

    pub fn due(&self) -> Option<Nanos> {
        self.line.front().map(|(due, _)| *due)
    }

    /// The next packet that has arrived by `now`, and its time of arrival.
    pub fn arrive(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        self.due().filter(|due| *due <= now)?;
        self.line.pop_front()
    }

    pub fn counters(&self) -> WireCounters {
        self.counters
    }

    /// Counts a packet, or its loss, which is all that a wire without emulation does. False: the packet is
    /// lost.
    #[inline(always)]
    pub fn cross(&mut self, bytes: usize) -> bool {
        if !self.up {
            self.counters.down += 1;
            return false;
        }
        self.counters.packets += 1;
        self.counters.bytes += bytes as u64;
        if self.parameters.loss == Loss::NONE || !self.parameters.loss.hits(self.rng.next_u32()) {
            return true;
        }
        self.counters.lost += 1;
        false
    }
}

/// A proportion of packets, in parts per 10^9.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Loss(u32);

impl Loss {
    pub const NONE: Loss = Loss(0);
    const WHOLE: u32 = 1_000_000_000;

    /// A proportion of `parts` in 10^9; `None` above the whole.
    pub const fn parts_per_billion(parts: u32) -> Option<Loss> {
        if parts <= Loss::WHOLE {
            Some(Loss(parts))
        } else {
            None
        }
    }

    /// The proportion in parts of 10^9.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Whether a uniformly drawn number means that this packet is lost.
    pub fn hits(self, drawn: u32) -> bool {
        // drawn / 2^32 < loss / 10^9, without division.
        u64::from(drawn) * u64::from(Loss::WHOLE) < u64::from(self.0) << 32
    }
}

impl FromStr for Loss {
    type Err = QuantityError;

    /// A proportion such as `0.01`, or `1%`.
    fn from_str(text: &str) -> Result<Loss, QuantityError> {
        let (number, parts) = match text.strip_suffix('%') {
            Some(number) => (number, Loss::WHOLE / 100),
            None => (text, Loss::WHOLE),
        };
        parse_decimal(number, parts.into())
            .and_then(|parts| u32::try_from(parts).ok())
            .and_then(Loss::parts_per_billion)
            .ok_or_else(|| QuantityError::new(text, "a loss between 0 and 1, or a percentage such as 1%"))
    }
}

/// The pacer of an interface: one frame leaves after the other. The fraction of a nanosecond that is left
/// over by a frame is added to the next, so that the total of frames back to back is exact.
#[derive(Debug, Clone, Default)]
pub struct Pacer {
    free_at: Nanos,
    remainder: u64,
    /// The last rate and size, with their whole nanoseconds and remainder: most frames have the size of the
    /// one before.
    last: (BitRate, usize, Nanos, u64),
}

impl Pacer {
    #[inline]
    pub fn free_at(&self) -> Nanos {
        self.free_at
    }

    /// Sends a frame as soon as it may leave, not before `now`; returns when it begins and when its last bit
    /// has left. Without a rate it takes no time; a rate of 0 counts as 1 bit/s.
    #[inline]
    pub fn send(&mut self, rate: Option<BitRate>, now: Nanos, bytes: usize) -> (Nanos, Nanos) {
        let start = now.max(self.free_at);
        let Some(rate) = rate else {
            self.free_at = start;
            return (start, start);
        };
        if now > self.free_at {
            self.remainder = 0; // after a pause nothing is owed
        }
        let rate = BitRate(rate.0.max(1));
        if (self.last.0, self.last.1) != (rate, bytes) {
            let (span, rest) = rate.transmission(bytes, 0);
            self.last = (rate, bytes, span, rest);
        }
        let (.., mut span, rest) = self.last;
        // Both remainders are below the rate, so their sum is at most one nanosecond and a remainder; after a
        // change of rate the old one may be larger.
        match self.remainder.checked_add(rest) {
            Some(sum) if sum < rate.0 => self.remainder = sum,
            Some(sum) if sum - rate.0 < rate.0 => {
                self.remainder = sum - rate.0;
                span += Nanos(1);
            }
            _ => (span, self.remainder) = rate.transmission(bytes, self.remainder),
        }
        self.free_at = start + span;
        (start, self.free_at)
    }
}

#[cfg(test)]
#[path = "tests/link.rs"]
mod tests;
#[cfg(test)]
#[path = "tests/loss.rs"]
mod tests_of_loss;
#[cfg(test)]
#[path = "tests/pacer.rs"]
mod tests_of_pacer;
