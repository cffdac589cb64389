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
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Any of a group's blocks, if they are as many as its pieces, restore the group.
        #[test]
        fn any_blocks_that_are_enough_give_all(
            pieces in 1..=MOST.0, parity in 1..=MOST.1, length in 1..16_000_u64, order in any::<u64>(),
        ) {
            let code = ErasureCode { pieces, parity };
            let group = code.group(1 << 40, length);
            let ParityGroup { start, length, pieces, parity } = group;
            prop_assert_eq!(ParityGroup::new(start, length, pieces, parity), Ok(group));
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7 + at / 251) as u8).collect();
            let all = group.encode(&bytes);
            prop_assert_eq!(all.len(), usize::from(parity));
            // Blocks in a random order, of which the first ones arrived.
            let mut blocks: Vec<u8> = (0..group.pieces + parity).collect();
            blocks.sort_by_key(|&block| (u64::from(block) + 1).wrapping_mul(order | 1) >> 7);
            let came = &blocks[..usize::from(group.pieces)];
            let of = |index: u8| {
                let range = group.piece(index);
                bytes[(range.start - group.start) as usize..(range.end - group.start) as usize].to_vec()
            };
            let there: Vec<_> = came.iter().filter(|&&b| b < group.pieces).map(|&b| (b, of(b))).collect();
            let spare: Vec<_> = came
                .iter()
                .filter_map(|&b| b.checked_sub(group.pieces))
                .map(|b| (b, &all[usize::from(b)][..]))
                .collect();
            let restored = group.decode(&there, &spare).expect("enough");
            prop_assert_eq!(restored.len(), usize::from(group.pieces) - there.len());
            for (index, bytes) in restored {
                prop_assert_eq!(bytes, of(index));
            }
        }
    }

    #[test]
    fn codes_are_read() {
        for (text, expected) in [
            ("4+2", Some((4, 2))),
            ("1+1", Some((1, 1))),
            ("32+8", Some((32, 8))),
            ("33+1", None),
            ("0+1", None),
            ("4+0", None),
            ("4+9", None),
            ("4", None),
            ("4+2+1", None),
        ] {
            let code = ErasureCode::parse(text).map(|code| (code.pieces, code.parity));
            assert_eq!(code, expected, "{text}");
        }
    }

    #[test]
    fn groups_are_cut_so() {
        let code = ErasureCode::parse("4+2").expect("a code");
        let cut = |length| {
            let group = code.group(100, length);
            (group.pieces, group.block())
        };
        assert_eq!(cut(1), (1, 64));
        assert_eq!(cut(512), (1, 512));
        assert_eq!(cut(513), (2, 320));
        assert_eq!(cut(2049), (4, 576));
        assert_eq!(cut(65_536), (4, 16_384));
        assert_eq!(code.group(100, 1000).piece(1), 612..1100);
    }

    #[test]
    fn groups_that_cannot_be_are_refused() {
        for (start, length, pieces, parity, expected) in [
            (0, 1, 0, 1, "parity.pieces: 0 is not from 1 to 32"),
            (0, 1, 33, 1, "parity.pieces: 33 is not from 1 to 32"),
            (0, 1, 1, 9, "parity.parity: 9 is not from 1 to 8"),
            (0, 0, 1, 1, "parity.length: 0 is not from 1 to 16384"),
            (0, 16_385, 1, 1, "parity.length: 16385 is not from 1 to 16384"),
            (u64::MAX, 1, 1, 1, "parity.start: lies beyond the longest stream"),
            (0, 65, 4, 1, "parity.pieces: 4 is too many for 65 bytes"),
        ] {
            let error = ParityGroup::new(start, length, pieces, parity).expect_err(expected);
            assert_eq!(error.to_string(), expected);
        }
    }
}
