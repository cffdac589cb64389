use super::*;
use crate::program::field::read_bits;
use crate::program::field::{low, Location};

/// A header of one byte.
fn header(valid: u32, first: u32) -> Header {
    let location = Location::Wire { bit: 8 * first };
    let fields = vec![Field { location, width: 8, signed: false }];
    Header { valid, first, len: 1, fields, ..Header::default() }
}

/// A stack of four headers, with their validities in bytes 0..4, their fields in 4..8 and the count in 8..12.
fn stack_of_four() -> Layout {
    let mut layout = Layout {
        headers: (0..4).map(|i| header(i, 4 + i)).collect(),
        stacks: vec![Stack::new(vec![0, 1, 2, 3], Field::host(8, 32))],
        len: 12,
        ..Layout::default()
    };
    layout.complete();
    layout
}

fn valid_values(layout: &Layout, phv: &[u8]) -> Vec<Option<u128>> {
    let value = |h: &Header| h.is_valid(phv).then(|| h.fields[0].read(phv));
    layout.headers.iter().map(value).collect()
}

#[test]
fn push_and_pop_shift_the_elements() {
    let layout = stack_of_four();
    let count = layout.stacks[0].next;
    let cases: [(&str, u128, [Option<u128>; 4], u128); 6] = [
        ("push", 1, [None, Some(10), Some(11), None], 3),
        ("push", 3, [None, None, None, Some(10)], 4),
        ("push", u128::MAX, [None; 4], 4),
        ("pop", 1, [Some(11), None, None, None], 1),
        ("pop", 2, [None; 4], 0),
        ("pop", u128::MAX, [None; 4], 0),
    ];
    for (op, by, expected, next) in cases {
        let mut phv = layout.initial.clone();
        phv[..9].copy_from_slice(&[1, 1, 0, 0, 10, 11, 0, 0, 2]);
        layout.shift(0, by, op == "push", &mut phv);
        assert_eq!(valid_values(&layout, &phv), expected, "{op} {by}");
        assert_eq!(count.bits(&phv), next, "{op} {by}");
    }
}

#[test]
fn a_stack_has_no_element_past_its_end() {
    let layout = stack_of_four();
    assert_eq!(layout.element(0, 3), Some(3));
    assert_eq!(layout.element(0, 4), None);
    assert_eq!(layout.element(0, u128::MAX), None);
}

#[test]
fn a_field_of_variable_length_begins_anywhere() {
    let length = Field::host(20, 32);
    for begin in [0, 4] {
        let variable = Wide { bit: 32 + begin, width: 64, signed: false, length: Some(length) };
        let header = Header { valid: 0, first: 4, len: 10, variable: Some(variable), ..Header::default() };
        for bytes in 0..=8u8 {
            let wire: Vec<u8> = (0..2 + bytes).map(|byte| 0x12 + 0x13 * byte).collect();
            let mut phv = vec![0xee; 64];
            length.write(&mut phv, (8 * bytes).into());
            header.extract(&wire, &mut phv);
            assert_eq!(header.size(&phv), wire.len());
            let first = read_bits(&wire, begin as usize, 8 * usize::from(bytes));
            assert_eq!(low(&variable.read(&phv)), first, "{bytes} bytes from bit {begin}");
            let mut emitted = vec![7];
            header.emit(&phv, &mut emitted);
            assert_eq!(emitted[1..], wire, "{bytes} bytes from bit {begin}");
        }
    }
}
