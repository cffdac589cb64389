//! P4Runtime's byte strings: integers in network byte order, of any length that fits, emitted shortest.
//!
//! P4Runtime specification, section "Bytestrings".

use super::status::{Code, Refusal};

/// Decodes an unsigned integer that fits `width` bits.
pub fn decode(bytes: &[u8], width: u32) -> Result<u128, Refusal> {
    if bytes.is_empty() {
        return Err(Refusal::new(Code::OutOfRange, "empty byte string"));
    }
    let significant = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
    let too_wide = || Refusal::new(Code::OutOfRange, format!("{} does not fit bit<{width}>", Hex(bytes)));
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
pub fn decode_signed(bytes: &[u8], width: u32) -> Result<u128, Refusal> {
    let Some(first) = bytes.first() else { return Err(Refusal::new(Code::OutOfRange, "empty byte string")) };
    let sign: u8 = if first & 0x80 == 0 { 0x00 } else { 0xff };
    let redundant = bytes.iter().take_while(|byte| **byte == sign).count();
    let significant = &bytes[redundant..];
    let fill = if sign == 0 { 0u128 } else { u128::MAX };
    let too_wide = || Refusal::new(Code::OutOfRange, format!("{} does not fit int<{width}>", Hex(bytes)));
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The specification's table "Examples of Valid Bytestring Encoding".
    #[test]
    fn the_specifications_valid_examples_are_accepted() {
        let unsigned: [(u32, &[u8], u128); 7] = [
            (8, b"\x63", 99),
            (16, b"\x00\x63", 99),
            (16, b"\x63", 99),
            (16, b"\x30\x64", 12388),
            (16, b"\x00\x30\x64", 12388),
            (12, b"\x00\x63", 99),
            (12, b"\x00\x00\x63", 99),
        ];
        for (width, bytes, value) in unsigned {
            assert_eq!(decode(bytes, width), Ok(value), "bit<{width}> {bytes:?}");
        }
        let signed: [(u32, &[u8], i128); 7] = [
            (8, b"\x63", 99),
            (8, b"\x9d", -99),
            (8, b"\xff\x9d", -99),
            (12, b"\xfd\x1d", -739),
            (16, b"\x00\x00", 0),
            (16, b"\x00", 0),
            (128, b"\xff", -1),
        ];
        for (width, bytes, value) in signed {
            assert_eq!(
                decode_signed(bytes, width),
                Ok(value as u128 & ones(width)),
                "int<{width}> {bytes:?}"
            );
        }
    }

    /// The specification's table "Examples of Invalid Bytestring Encoding".
    #[test]
    fn the_specifications_invalid_examples_are_out_of_range() {
        let unsigned: [(u32, &[u8]); 6] = [
            (8, b"\x01\x63"),
            (8, b""),
            (16, b"\x01\x00\x63"),
            (12, b"\x10\x63"),
            (12, b"\x01\x00\x63"),
            (12, b"\x00\x40\x63"),
        ];
        for (width, bytes) in unsigned {
            assert_eq!(decode(bytes, width).map_err(|e| e.code), Err(Code::OutOfRange), "{bytes:?}");
        }
        let signed: [(u32, &[u8]); 3] = [(8, b"\x00\x9d"), (12, b"\x8d\x1d"), (16, b"")];
        for (width, bytes) in signed {
            assert_eq!(decode_signed(bytes, width).map_err(|e| e.code), Err(Code::OutOfRange), "{bytes:?}");
        }
    }

    #[test]
    fn the_shortest_form_is_emitted() {
        assert_eq!(encode(0), b"\x00");
        assert_eq!(encode(255), b"\xff");
        assert_eq!(encode(256), b"\x01\x00");
        assert_eq!(encode(u128::MAX), [0xff; 16]);
        assert_eq!(encode_signed(ones(12) & -739i128 as u128, 12), b"\xfd\x1d");
        assert_eq!(encode_signed(0xff, 8), b"\xff");
        assert_eq!(encode_signed(0x7f, 8), b"\x7f");
        assert_eq!(encode_signed(0x80, 16), b"\x00\x80");
    }

    #[test]
    fn messages_show_the_value() {
        let error = decode(b"\x01\x63", 8).expect_err("too wide");
        assert_eq!(error.message, "0x0163 does not fit bit<8>");
        let error = decode(&[1; 40], 8).expect_err("too wide");
        assert_eq!(error.message, format!("0x{}... (40 bytes) does not fit bit<8>", "01".repeat(20)));
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes(value: u128, width in 1u32..=128) {
            let value = value & ones(width);
            prop_assert_eq!(decode(&encode(value), width), Ok(value));
            prop_assert_eq!(decode_signed(&encode_signed(value, width), width), Ok(value));
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40), width in 0u32..200) {
            let _ = decode(&bytes, width);
            let _ = decode_signed(&bytes, width);
        }
    }
}
