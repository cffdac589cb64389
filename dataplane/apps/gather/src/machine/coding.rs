//! Systematic erasure coding of a stream: its bytes are sent unchanged, in groups of pieces, together with
//! parity; each block of parity makes up for one missing piece of its group. A Reed-Solomon code is maximum
//! distance separable: any `pieces` of a group's `pieces + parity` blocks suffice.

use std::ops::Range;

use groupflow_base::CodecError;
use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};

/// The most pieces and the most blocks of parity in a group.
pub const MOST: (u8, u8) = (32, 8);
/// Block sizes are multiples of this many bytes.
const UNIT: u64 = 64;
/// A group is not cut into pieces smaller than this many bytes, since each costs a frame and a segment.
const MIN_PIECE: u64 = 512;
/// Bytes of the longest piece.
pub const MAX_PIECE: u64 = 16 << 10;

/// A client's code: K pieces, M blocks of parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErasureCode {
    /// The most pieces of a group.
    pub(super) pieces: u8,
    /// The blocks of parity of a group.
    pub(super) parity: u8,
}

impl ErasureCode {
    /// The rule for its text form.
    pub const RULE: &'static str = "K+M, K from 1 to 32 and M from 1 to 8, like 4+2";

    /// Parses `K+M`.
    pub fn parse(text: &str) -> Option<ErasureCode> {
        let (pieces, parity) = text.split_once('+')?;
        let (pieces, parity) = (pieces.parse().ok()?, parity.parse().ok()?);
        let fits = (1..=MOST.0).contains(&pieces) && (1..=MOST.1).contains(&parity);
        fits.then_some(ErasureCode { pieces, parity })
    }

    /// The group that begins at `start` and has `length` bytes (at least 1, at most [`MAX_PIECE`] a piece).
    pub fn group(self, start: u64, length: u64) -> ParityGroup {
        let most = length.div_ceil(MIN_PIECE).clamp(1, self.pieces.into());
        let block = length.div_ceil(most).next_multiple_of(UNIT);
        let pieces = length.div_ceil(block) as u8;
        ParityGroup { start, length: length as u32, pieces, parity: self.parity }
    }
}

/// Bytes of a stream that are coded together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParityGroup {
    /// Offset of the first byte.
    pub(super) start: u64,
    /// Bytes of the group.
    pub(super) length: u32,
    pub(super) pieces: u8,
    /// The number of blocks of parity.
    pub(super) parity: u8,
}

impl ParityGroup {
    /// A group as a frame describes it; an impossible value is refused by the name of its field.
    pub fn new(start: u64, length: u32, pieces: u8, parity: u8) -> Result<ParityGroup, CodecError> {
        let wrong = |field, text: String| Err(CodecError::new(field, text));
        if !(1..=MOST.0).contains(&pieces) {
            return wrong("parity.pieces", format!("{pieces} is not from 1 to {}", MOST.0));
        }
        if !(1..=MOST.1).contains(&parity) {
            return wrong("parity.parity", format!("{parity} is not from 1 to {}", MOST.1));
        }
        let most = u64::from(pieces) * MAX_PIECE;
        if length == 0 || u64::from(length) > most {
            return wrong("parity.length", format!("{length} is not from 1 to {most}"));
        }
        if start.checked_add(length.into()).is_none() {
            return wrong("parity.start", "lies beyond the longest stream".to_owned());
        }
        let group = ParityGroup { start, length, pieces, parity };
        match u64::from(length).div_ceil(group.block()) == u64::from(pieces) {
            true => Ok(group),
            false => wrong("parity.pieces", format!("{pieces} is too many for {length} bytes")),
        }
    }

    /// Offset past the last byte.
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }

    /// Bytes of each block of parity and of each piece, except the last piece, which may be shorter.
    pub fn block(&self) -> u64 {
        u64::from(self.length).div_ceil(self.pieces.into()).next_multiple_of(UNIT)
    }

    pub fn piece(&self, index: u8) -> Range<u64> {
        let start = self.start + u64::from(index) * self.block();
        start..(start + self.block()).min(self.end())
    }

    /// The parity of the group's bytes.
    pub fn encode(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let block = self.block() as usize;
        let code = || {
            let mut encoder = ReedSolomonEncoder::new(self.pieces.into(), self.parity.into(), block)?;
            for piece in bytes.chunks(block) {
                match piece.len() == block {
                    true => encoder.add_original_shard(piece)?,
                    false => encoder.add_original_shard(padded(piece, block))?,
                }
            }
            let result = encoder.encode()?;
            Ok::<_, reed_solomon_simd::Error>(result.recovery_iter().map(<[u8]>::to_vec).collect())
        };
        // The numbers are within the code's limits; without parity, the stream would go on uncoded.
        code().unwrap_or_default()
    }

    /// Restores the missing pieces from the others and parity, each with its index; together there must be at
    /// least as many as the group has pieces. `None`: there are too few.
    pub fn decode(&self, pieces: &[(u8, Vec<u8>)], parity: &[(u8, &[u8])]) -> Option<Vec<(u8, Vec<u8>)>> {
        let block = self.block() as usize;
        let mut decoder = ReedSolomonDecoder::new(self.pieces.into(), self.parity.into(), block).ok()?;
        for (index, bytes) in pieces {
            decoder.add_original_shard(usize::from(*index), padded(bytes, block)).ok()?;
        }
        for &(index, bytes) in parity {
            decoder.add_recovery_shard(usize::from(index), bytes).ok()?;
        }
        let result = decoder.decode().ok()?;
        let restored = result.restored_original_iter().filter_map(|(index, bytes)| {
            let index = u8::try_from(index).ok()?;
            let range = self.piece(index);
            let bytes = bytes.get(..(range.end - range.start) as usize)?;
            Some((index, bytes.to_vec()))
        });
        Some(restored.collect())
    }
}

fn padded(bytes: &[u8], block: usize) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(block, 0);
    padded
}

#[cfg(test)]
#[path = "tests/coding.rs"]
mod tests;
