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
    /// The lowest number.
    pub first: Seq,
    /// The highest number.
    pub last: Seq,
}

impl PacketRange {
    /// The number of packets.
    pub fn count(self) -> u32 {
        self.last.since(self.first).saturating_add(1)
    }
}

/// A parsed NACK payload.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_be_bytes()).collect()
    }

    #[test]
    fn ranges_must_ascend() {
        let cases: [(&[u32], Result<usize, &str>); 8] = [
            (&[1], Ok(0)),
            (&[1, 1, 1], Ok(1)),
            (&[1, 1, 3, 5, 5], Ok(2)),
            (&[1, 0, 3], Err("first: 0 is not a legal value")),
            (&[1, 4, 3], Err("last: 3 is not a legal value")),
            (&[1, 1, 3, 3, 5], Err("first: 3 is not a legal value")),
            (&[1, 1, u32::MAX], Err("last: 4294967295 is not a legal value")),
            (&[1, 1], Err("last: 0 bytes where 4 are needed")),
        ];
        for (words, expected) in cases {
            let got = Nack::parse(&payload(words)).map(|n| n.ranges.len());
            assert_eq!(got.map_err(|e| e.to_string()), expected.map_err(str::to_owned));
        }
    }

    #[test]
    fn at_most_64_ranges() {
        let words =
            |n: u32| -> Vec<u32> { std::iter::once(1).chain((1..=n).flat_map(|i| [2 * i, 2 * i])).collect() };
        assert_eq!(Nack::parse(&payload(&words(64))).map(|n| n.ranges.len()), Ok(64));
        assert!(Nack::parse(&payload(&words(65))).is_err());
        let long = Nack::parse(&payload(&words(64))).map(|mut n| {
            n.ranges.push(PacketRange { first: Seq(1000), last: Seq(1000) });
            Nack::parse(&n.encode()).map(|n| n.ranges.len())
        });
        assert_eq!(long, Ok(Ok(64)));
    }
}
