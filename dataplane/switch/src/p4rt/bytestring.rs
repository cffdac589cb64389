//! P4Runtime's byte strings: integers in network byte order, of any length that fits, emitted shortest.
//!
//! P4Runtime specification, section "Bytestrings".

use groupflow_pipeline::{join, part_widths, split};
use num_bigint::BigInt;

use super::status::Status;

/// Decodes an unsigned integer that fits `width` bits, at most 128.
pub fn decode(bytes: &[u8], width: u32) -> Result<u128, Status> {
    Ok(decode_parts(bytes, width)?.last().copied().unwrap_or(0))
}

/// As [`decode`], the parts of an integer of any width.
pub fn decode_parts(bytes: &[u8], width: u32) -> Result<Vec<u128>, Status> {
    refuse_if!(bytes.is_empty(), Status::out_of_range, "empty byte string");
    let significant = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
    let number = |part: &[u8]| part.iter().fold(0, |value, byte| value << 8 | u128::from(*byte));
    let mut parts: Vec<u128> = significant.rchunks(16).map(number).collect();
    parts.resize(parts.len().max(part_widths(width).count()), 0);
    parts.reverse();
    let mut widths = part_widths(width).map(|width| ones(width.into()));
    match parts.iter().all(|part| widths.next().is_some_and(|most| *part <= most)) {
        true => Ok(parts),
        false => Err(Status::out_of_range(format!("{} does not fit bit<{width}>", Hex(bytes)))),
    }
}

/// The shortest form of an unsigned integer.
pub fn encode(value: u128) -> Vec<u8> {
    encode_parts(&[value])
}

/// The same of an integer's parts.
pub fn encode_parts(parts: &[u128]) -> Vec<u8> {
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_be_bytes()).collect();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.get(zeros..).filter(|rest| !rest.is_empty()).map_or_else(|| vec![0], <[u8]>::to_vec)
}

/// Decodes a two's complement integer that fits `int<width>`; gives the parts of its `width` low bits.
pub fn decode_signed(bytes: &[u8], width: u32) -> Result<Vec<u128>, Status> {
    let value = BigInt::from_signed_bytes_be(bytes);
    // Without its sign, a negative number is like one that is not.
    let natural = if value < BigInt::default() { !&value } else { value.clone() };
    match natural.bits() < width.into() {
        _ if bytes.is_empty() => Err(Status::out_of_range("empty byte string")),
        true => Ok(split(&value, width)),
        false => Err(Status::out_of_range(format!("{} does not fit int<{width}>", Hex(bytes)))),
    }
}

/// The shortest form of the integer whose `width` low bits are given in parts.
pub fn encode_signed(parts: &[u128], width: u32) -> Vec<u8> {
    let value = BigInt::from(join(parts));
    let is_negative = value.bit(u64::from(width) - 1);
    (if is_negative { value - (BigInt::from(1) << width) } else { value }).to_signed_bytes_be()
}

pub fn ones(width: u32) -> u128 {
    1u128.checked_shl(width).map_or(u128::MAX, |power| power - 1)
}

/// Shows a byte string; long ones are cut.
struct Hex<'a>(&'a [u8]);

impl std::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN: usize = 20;
        write!(f, "0x")?;
        self.0.iter().take(SHOWN).try_for_each(|byte| write!(f, "{byte:02x}"))?;
        match self.0.len() {
            0..=SHOWN => Ok(()),
            length => write!(f, "... ({length} bytes)"),
        }
    }
}

#[cfg(test)]
#[path = "tests/bytestring.rs"]
mod tests;
