//! A receiver's measurements of a connection, as a server takes them: round trips from the timestamps that
//! come back, and gaps.

use groupflow_base::Nanos;

use super::config::{Behaviour, RtoConfig};
use super::rtt::RtoEstimator;

/// The measurements of a receiver.
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
#[path = "tests/trips.rs"]
mod tests;
