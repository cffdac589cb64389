//! A window that is set while the connection runs, and the measurements by which a server sets it: round
//! trips from the timestamps that come back, and gaps.

use groupflow_base::Nanos;

use super::config::{Behaviour, RtoConfig};
use super::rtt::RtoEstimator;

/// Bits by which the window field is shifted (RFC 7323, section 2): windows of up to 8 MB.
pub(super) const WINDOW_SHIFT: u32 = 7;

/// A receive buffer's limit and the right edge it led to. Counts are packets: this TCP has packets of one
/// size only. A packet is taken to be no smaller than the unit that the shift makes; smaller ones are let
/// through up to that unit's worth early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Advertised {
    mss: u32,
    packets: u64,
    /// The first packet that may not be sent. It never moves back (RFC 9293, section 3.8.6).
    edge: u64,
}

impl Advertised {
    /// A limit of `bytes`, and of one packet at least: with less nothing could be sent.
    pub fn new(mss: u32, bytes: u64) -> Advertised {
        let mut advertised = Advertised { mss, packets: 1, edge: 0 };
        advertised.set(bytes);
        advertised
    }

    /// Another limit. A promised window stays promised: a smaller one is reached as packets arrive.
    pub fn set(&mut self, bytes: u64) {
        let most = (u64::from(u16::MAX) << WINDOW_SHIFT) / u64::from(self.mss);
        self.packets = (bytes / u64::from(self.mss)).clamp(1, most.max(1));
    }

    /// The window field of an acknowledgement up to `next`.
    pub fn field(&mut self, next: u64) -> u16 {
        self.edge = self.edge.max(next + self.packets);
        let bytes = (self.edge - next) * u64::from(self.mss);
        u16::try_from(bytes.div_ceil(1 << WINDOW_SHIFT)).unwrap_or(u16::MAX)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Payload bytes received in sequence, since the beginning.
    pub delivered: u64,
    /// Packets received, since the beginning.
    pub packets: u64,
    /// Packets that were missing when a later one came, since the beginning: lost, or overtaken.
    pub missing: u64,
    /// The shortest round trip since the last reading, if there was one.
    pub round_trip: Option<Nanos>,
    /// The sender's retransmission timeout after these round trips (RFC 6298); none before the
    /// first.
    pub timeout: Option<Nanos>,
}

/// Round trips and gaps.
#[derive(Debug, Clone)]
pub(super) struct Trips {
    rtt: RtoEstimator,
    shortest: Option<Nanos>,
    measured: bool,
    /// One past the highest packet that came.
    above: u64,
    missing: u64,
}

impl Trips {
    pub fn new() -> Trips {
        Trips {
            rtt: RtoEstimator::new(RtoConfig::LINUX, Behaviour::Rfc),
            shortest: None,
            measured: false,
            above: 0,
            missing: 0,
        }
    }

    /// Notes that a packet came.
    pub fn arrived(&mut self, packet: u64) {
        self.missing += packet.saturating_sub(self.above);
        self.above = self.above.max(packet + 1);
    }

    /// A packet in sequence answers an acknowledgement that left at `echo` (microseconds; 0: it answers
    /// none).
    ///
    /// A sender that waited before it answered makes the trip look longer, never shorter: hence the shortest.
    pub fn answered(&mut self, now: Nanos, echo: u32) {
        if echo == 0 {
            return;
        }
        let span = Nanos::from_micros(u64::from(((now.0 / 1_000) as u32).wrapping_sub(echo)));
        self.rtt.sample_span(span);
        self.measured = true;
        self.shortest = Some(self.shortest.map_or(span, |shortest| shortest.min(span)));
    }

    /// The measurements so far; the next shortest round trip counts from here.
    pub fn read(&mut self, delivered: u64, packets: u64) -> Reading {
        Reading {
            delivered,
            packets,
            missing: self.missing,
            round_trip: self.shortest.take(),
            timeout: self.measured.then(|| self.rtt.timeout()),
        }
    }
}

#[cfg(test)]
#[path = "tests/advertised.rs"]
mod tests;

#[cfg(test)]
#[path = "tests/trips.rs"]
mod trips_tests;
