//! One direction of an emulated link: serialisation at a rate, then loss, then propagation.

use std::collections::VecDeque;

use groupflow_base::{BitRate, Nanos};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::loss::Loss;
use super::pacer::Pacer;

/// The most items on the way at once: bounds memory where a long delay meets an unlimited rate.
pub const LINE_LIMIT: usize = 65_536;

/// The largest queue that may be asked for, in packets.
pub const QUEUE_LIMIT: u32 = 1_000_000;

/// The effect of one direction of a link on packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct LinkParameters {
    /// The bit rate; `None` is unlimited. Frame bytes count, not preamble, FCS and gap.
    #[serde(rename = "rate_bps")]
    pub rate: Option<BitRate>,
    /// Propagation delay.
    #[serde(rename = "delay_ns")]
    pub delay: Nanos,
    /// The proportion of packets lost after serialisation: they take up the link, but do not arrive.
    #[serde(rename = "loss_ppb")]
    pub loss: Loss,
    /// The most packets that wait (per priority), not counting the one being sent.
    pub queue_packets: u32,
    /// The most bytes that wait (per priority).
    #[serde(skip)]
    pub queue_bytes: u64,
}

impl LinkParameters {
    /// A link that changes nothing.
    pub const IDEAL: LinkParameters = LinkParameters {
        rate: None,
        delay: Nanos::ZERO,
        loss: Loss::NONE,
        queue_packets: 200,
        queue_bytes: u64::MAX,
    };

    /// Whether packets pass at once and always.
    pub fn is_transparent(&self) -> bool {
        self.rate.is_none() && self.delay == Nanos::ZERO && self.loss == Loss::NONE
    }
}

/// The counters of a wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WireCounters {
    /// Packets put on the wire, lost ones included.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// Packets lost because the link was down.
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

    /// When the next packet may be sent.
    pub fn ready(&self) -> Nanos {
        self.pacer.free_at()
    }

    /// Whether the link is up.
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

    /// Whether a packet crosses a wire without any emulation; counts the packet, or its loss, as
    /// [`Wire::send`] would.
    #[inline(always)]
    pub fn cross(&mut self, bytes: usize) -> bool {
        self.account(bytes)
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
        if !self.account(bytes) {
            return None;
        }
        // A shortened delay must not let packets overtake.
        self.last_due = (sent + self.parameters.delay).max(self.last_due);
        Some(self.last_due)
    }

    /// When the next packet arrives at the far end.
    pub fn due(&self) -> Option<Nanos> {
        self.line.front().map(|(due, _)| *due)
    }

    /// The next packet that has arrived by `now`, and its time of arrival.
    pub fn arrive(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        if self.due()? <= now {
            self.line.pop_front()
        } else {
            None
        }
    }

    /// The counters so far.
    pub fn counters(&self) -> WireCounters {
        self.counters
    }

    /// Counts a packet. False: the packet will not arrive.
    #[inline(always)]
    fn account(&mut self, bytes: usize) -> bool {
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

#[cfg(test)]
#[path = "tests/link.rs"]
mod tests;
