//! Rates of queues: packets per second in fixed point, or bits per second.

use std::fmt;
use std::str::FromStr;

use groupflow_base::quantity::{self, QuantityError, Unit};
use groupflow_base::BitRate;

/// Packets per second in Q26.6: units of 1/64 packet/s in 32 bits, the form that P4 registers hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct PacketRate(u32);

impl PacketRate {
    pub const ZERO: PacketRate = PacketRate(0);
    /// The largest number, which is no rate but means that there is no limit.
    pub const UNLIMITED: PacketRate = PacketRate(u32::MAX);
    /// Units in one packet/s.
    pub const ONE: u64 = 64;

    /// A rate of `units` of 1/64 packet/s.
    pub const fn from_units(units: u32) -> PacketRate {
        PacketRate(units)
    }

    /// Units of 1/64 packet/s.
    pub const fn units(self) -> u32 {
        self.0
    }

    /// The number of packets of `bytes` that a bit rate carries in a second, rounded down, and at most the
    /// largest rate.
    pub fn carried(rate: BitRate, bytes: u32) -> PacketRate {
        let units = u128::from(rate.0) * u128::from(PacketRate::ONE) / (u128::from(bytes.max(1)) * 8);
        PacketRate::saturating(u64::try_from(units).unwrap_or(u64::MAX))
    }

    /// The largest rate below [`PacketRate::UNLIMITED`] that is at most `units`.
    pub fn saturating(units: u64) -> PacketRate {
        PacketRate(u32::try_from(units).unwrap_or(u32::MAX).min(u32::MAX - 1))
    }
}

impl fmt::Display for PacketRate {
    /// `12.5pps`, exactly.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == PacketRate::UNLIMITED {
            return f.write_str("unlimited");
        }
        let (whole, rest) = (u64::from(self.0) / PacketRate::ONE, u64::from(self.0) % PacketRate::ONE);
        let millionths = format!("{:06}", rest * 1_000_000 / PacketRate::ONE);
        match millionths.trim_end_matches('0') {
            "" => write!(f, "{whole}pps"),
            digits => write!(f, "{whole}.{digits}pps"),
        }
    }
}

/// Units of packet rates, in millionths, so that any fraction people write has a nearest 1/64 packet/s.
const PACKET_RATE: [Unit; 3] = [("mpps", 1_000_000_000_000), ("kpps", 1_000_000_000), ("pps", 1_000_000)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueRate {
    /// Packets of any size.
    Packets(PacketRate),
    /// Bits of frames.
    Bits(BitRate),
}

impl FromStr for QueueRate {
    type Err = QuantityError;

    /// `1000pps`, `2.5kpps` (to the nearest 1/64 packet/s; `0pps` lets nothing leave), or a bit rate.
    fn from_str(text: &str) -> Result<QueueRate, QuantityError> {
        let wanted =
            "a rate such as 1000pps (pps, kpps, mpps) or 10mbit (bit, kbit, mbit, gbit), or unlimited";
        let error = || QuantityError::new(text, wanted);
        if let Some(millionths) = quantity::parse(text, &PACKET_RATE) {
            let units = (u128::from(millionths) * u128::from(PacketRate::ONE) + 500_000) / 1_000_000;
            let units = u32::try_from(units).ok().filter(|units| *units < u32::MAX).ok_or_else(error)?;
            return Ok(QueueRate::Packets(PacketRate::from_units(units)));
        }
        parse_bit_rate(text).map(QueueRate::Bits).ok_or_else(error)
    }
}

impl serde::Serialize for QueueRate {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for QueueRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueRate::Packets(rate) => rate.fmt(f),
            QueueRate::Bits(rate) => write!(f, "{}bit", rate.0),
        }
    }
}

/// A bit rate above zero: `100mbit`, `1.5gbit`, `64kbit`, `9600bit`; decimal multiples.
pub fn parse_bit_rate(text: &str) -> Option<BitRate> {
    quantity::parse_rate(text).ok().filter(|bits| *bits > 0).map(BitRate)
}

#[cfg(test)]
#[path = "tests/packet_rate.rs"]
mod tests;
