//! P4Runtime's byte strings: integers in network byte order, of any length that fits, emitted shortest.
//!
//! P4Runtime specification, section "Bytestrings".

use super::status::{Code, Status};

/// Decodes an unsigned integer that fits `width` bits.
pub fn decode(bytes: &[u8], width: u32) -> Result<u128, Status> {
    if bytes.is_empty() {
        return Err(Status::new(Code::OutOfRange, "empty byte string"));
    }
    let significant = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
    let too_wide = || Status::new(Code::OutOfRange, format!("{} does not fit bit<{width}>", Hex(bytes)));
    if significant.len() > 16 {
        return Err(too_wide());
    }
    let value = significant.iter().fold(0u128, |value, byte| value << 8 | u128::from(*byte));
    if value > ones(width) {
        return Err(too_wide());
    }
    Ok(value)
}

/// The shortest form of an unsigned integer.
pub fn encode(value: u128) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count().min(15);
    bytes[zeros..].to_vec()
}

/// Decodes a two's complement integer that fits `int<width>`; gives its `width` low bits.
pub fn decode_signed(bytes: &[u8], width: u32) -> Result<u128, Status> {
    let Some(first) = bytes.first() else { return Err(Status::new(Code::OutOfRange, "empty byte string")) };
    let sign: u8 = if first & 0x80 == 0 { 0x00 } else { 0xff };
    let redundant = bytes.iter().take_while(|byte| **byte == sign).count();
    let significant = &bytes[redundant..];
    let fill = if sign == 0 { 0u128 } else { u128::MAX };
    let too_wide = || Status::new(Code::OutOfRange, format!("{} does not fit int<{width}>", Hex(bytes)));
    if significant.len() > 16 || width == 0 {
        return Err(too_wide());
    }
    let value = significant.iter().fold(fill, |value, byte| value << 8 | u128::from(*byte));
    // All bits from the sign bit of int<width> up must be equal, and equal to the sign sent.
    let above = if width > 128 { 0 } else { (value as i128) >> (width - 1) };
    if (above != 0 && above != -1) || (width <= 128 && (above == 0) != (sign == 0)) {
        return Err(too_wide());
    }
    Ok(value & ones(width))
}

/// The shortest form of the integer whose `width` low bits are given.
pub fn encode_signed(value: u128, width: u32) -> Vec<u8> {
    let negative = (1..=128).contains(&width) && value >> (width - 1) & 1 == 1;
    let extended = if negative { value | !ones(width) } else { value };
    let bytes = extended.to_be_bytes();
    let sign: u8 = if negative { 0xff } else { 0x00 };
    let redundant =
        bytes.windows(2).take_while(|pair| pair[0] == sign && (pair[1] ^ sign) & 0x80 == 0).count();
    bytes[redundant..].to_vec()
}

/// The largest value of `width` bits.
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
        if self.0.len() > SHOWN {
            write!(f, "... ({} bytes)", self.0.len())?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "tests/bytestring.rs"]
mod tests;
