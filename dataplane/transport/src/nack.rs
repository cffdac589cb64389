//! The payload of a NACK: the packets that are missing at a requester.
//!
//! `u32 next`, the requester's next expected packet, then inclusive ranges `u32 first, u32 last`,
//! ascending, not overlapping.

use groupflow_base::codec::{CodecError, Reader, Writer};

use crate::ids::Seq;

pub const MAX_RANGES: usize = 64;

/// Packets `first..=last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRange {
    pub first: Seq,
    pub last: Seq,
}

impl PacketRange {
    pub fn count(self) -> u32 {
        self.last.since(self.first).saturating_add(1)
    }

    /// The numbers, as [`Ranges`](groupflow_base::ranges::Ranges) have them.
    pub fn numbers(self) -> std::ops::Range<u64> {
        self.first.0.into()..u64::from(self.last.0) + 1
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nack {
    /// The requester's next expected packet.
    pub next: Seq,
    pub ranges: Vec<PacketRange>,
}

impl Nack {
    /// The payload's bytes; ranges beyond [`MAX_RANGES`] are left for the next NACK.
    pub fn encode(&self) -> Vec<u8> {
        let ranges = self.ranges.get(..MAX_RANGES).unwrap_or(&self.ranges);
        let mut w = Writer::with_capacity(4 + 8 * ranges.len());
        w.u32(self.next.0);
        for range in ranges {
            w.u32(range.first.0).u32(range.last.0);
        }
        w.into_bytes()
    }

    pub fn parse(payload: &[u8]) -> Result<Nack, CodecError> {
        let mut r = Reader::new(payload);
        let next = Seq(r.u32("next")?);
        let mut ranges: Vec<PacketRange> = Vec::new();
        while !r.is_empty() {
            if ranges.len() == MAX_RANGES {
                return Err(CodecError::value("ranges", MAX_RANGES as u64 + 1));
            }
            let range = PacketRange { first: Seq(r.u32("first")?), last: Seq(r.u32("last")?) };
            let floor = ranges.last().map_or(Seq::ZERO, |before| before.last);
            if range.first <= floor {
                return Err(CodecError::value("first", range.first.0));
            }
            if range.last < range.first || range.last > Seq::LAST {
                return Err(CodecError::value("last", range.last.0));
            }
            ranges.push(range);
        }
        Ok(Nack { next, ranges })
    }
}
