//! Shapes a flow to a rate that the network tells (Takano et al., eq. 9: the external node); and a host's own
//! queue of such a flow: what TCP may send waits there, not in TCP.

use groupflow_base::Nanos;

use crate::frame_queue::FrameQueue;
use crate::spec::BacklogSpec;

/// Nanoseconds a second, times the units of a rate in a packet a second (Q26.6).
const SECOND: u64 = 64 * 1_000_000_000;

/// The time between packets. A new rate counts at once, also for the packet that waits.
#[derive(Debug, Clone)]
pub struct FlowShaper {
    rate: u32,
    sent: Option<Nanos>,
    /// The fraction of a nanosecond by which the last packet left too early, in parts of 1 / rate.
    carry: u64,
}

impl FlowShaper {
    /// The rate that means no limit.
    pub const UNLIMITED: u32 = u32::MAX;

    /// A shaper that lets everything pass until it is told a rate.
    pub fn new() -> FlowShaper {
        FlowShaper { rate: FlowShaper::UNLIMITED, sent: None, carry: 0 }
    }

    /// The rate in Q26.6 packets/s.
    pub fn rate(&self) -> u32 {
        self.rate
    }

    /// Sets the rate, in Q26.6 packets/s: 0 pauses, [`FlowShaper::UNLIMITED`] ends the limit.
    pub fn set_rate(&mut self, rate: u32) {
        if rate != self.rate {
            self.rate = rate;
            self.carry = 0;
        }
    }

    /// When the next packet may leave.
    pub fn next(&self) -> Nanos {
        match (self.rate, self.sent) {
            (0, _) => Nanos::MAX,
            (FlowShaper::UNLIMITED, _) | (_, None) => Nanos::ZERO,
            (rate, Some(sent)) => sent + Nanos((SECOND + self.carry) / u64::from(rate)),
        }
    }

    /// Notes that a packet leaves. Unused time is not made up for.
    pub fn send(&mut self, now: Nanos) {
        let limited = self.rate != 0 && self.rate != FlowShaper::UNLIMITED;
        self.carry = if limited && self.sent.is_some() && now == self.next() {
            (SECOND + self.carry) % u64::from(self.rate)
        } else {
            0
        };
        self.sent = Some(now);
    }
}

#[derive(Debug)]
pub struct Backlog {
    spec: BacklogSpec,
    frames: FrameQueue,
    waiting: u32,
    /// Packets that found no room.
    pub dropped: u64,
}

impl Backlog {
    pub fn new(spec: BacklogSpec) -> Backlog {
        Backlog { spec, frames: FrameQueue::default(), waiting: 0, dropped: 0 }
    }

    /// Since when a packet waits; [`Nanos::MAX`]: none does.
    pub fn since(&self) -> Nanos {
        self.frames.next()
    }

    /// By how much the host exceeds the rate it is told, as D_0 n_0.
    pub fn surplus(&self) -> i64 {
        i64::from(self.spec.gain) * i64::from(self.waiting)
    }

    /// Takes in a packet, or drops it.
    pub fn push(&mut self, now: Nanos, head: &[u8], tail: u32) {
        if self.waiting >= self.spec.packets {
            self.dropped += 1;
            return;
        }
        self.waiting += 1;
        self.frames.push(now, head, tail);
    }

    /// Takes out the packet that has waited longest; returns the length of its tail.
    pub fn pop(&mut self, head: &mut Vec<u8>) -> Option<u32> {
        let mut frame = self.frames.lend()?;
        head.clear();
        head.extend_from_slice(frame.head());
        let tail = frame.tail;
        self.frames.give_back(frame);
        self.waiting -= 1;
        Some(tail)
    }
}

#[cfg(test)]
#[path = "tests/shaper.rs"]
mod tests;
