use super::*;
use crate::p4rt::Code;
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
            Ok(vec![value as u128 & ones(width)]),
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
    assert_eq!(encode_signed(&[ones(12) & -739i128 as u128], 12), b"\xfd\x1d");
    assert_eq!(encode_signed(&[0xff], 8), b"\xff");
    assert_eq!(encode_signed(&[0x7f], 8), b"\x7f");
    assert_eq!(encode_signed(&[0x80], 16), b"\x00\x80");
}

#[test]
fn messages_show_the_value() {
    let error = decode(b"\x01\x63", 8).expect_err("too wide");
    assert_eq!(error.message, "0x0163 does not fit bit<8>");
    let error = decode_parts(&[1; 18], 130).expect_err("too wide");
    assert_eq!(error.message, format!("0x{} does not fit bit<130>", "01".repeat(18)));
    let error = decode(&[1; 40], 8).expect_err("too wide");
    assert_eq!(error.message, format!("0x{}... (40 bytes) does not fit bit<8>", "01".repeat(20)));
}

proptest! {
    #[test]
    fn what_is_encoded_decodes(value: [u128; 3], width in 1u32..=384) {
        let parts: Vec<u128> = part_widths(width).zip(value).map(|(bits, part)| part & ones(bits.into())).collect();
        prop_assert_eq!(decode_parts(&encode_parts(&parts), width), Ok(parts.clone()));
        prop_assert_eq!(decode_signed(&encode_signed(&parts, width), width), Ok(parts));
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40), width in 0u32..200) {
        let _ = decode_parts(&bytes, width);
        let _ = decode_signed(&bytes, width);
    }
}
