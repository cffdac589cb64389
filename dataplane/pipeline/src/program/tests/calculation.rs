use super::*;
use crate::program::field::Location;

#[test]
fn parts_are_packed_and_invalid_headers_left_out() {
    let field = |bit, width| Field { location: Location::Wire { bit }, width, signed: false };
    let fields = vec![field(8, 4), field(12, 12)];
    let header = Header { valid: 0, first: 1, len: 2, fields, ..Header::default() };
    let layout = Layout { headers: vec![header], ..Layout::default() };
    let mut phv = [0; 24];
    phv[..3].copy_from_slice(&[1, 0xd1, 0x23]);
    let parts = vec![
        InputPart::Const { value: 0xabc, width: 12 },
        InputPart::Field { field: field(8, 4), valid: 0 },
        InputPart::Header(0),
        InputPart::Const { value: 1, width: 1 },
        InputPart::Payload,
    ];
    let calculation = Calculation { algorithm: Algorithm::Identity, parts };
    let mut buffer = vec![9];
    calculation.gather(&layout, &phv, &[7, 8], &mut buffer);
    assert_eq!(buffer, [0xab, 0xcd, 0xd1, 0x23, 0x80, 7, 8]);
    phv[0] = 0;
    calculation.gather(&layout, &phv, &[], &mut buffer);
    assert_eq!(buffer, [0xab, 0xc8]);
}

#[test]
fn metadata_are_packed_as_a_header_is() {
    let fields = vec![
        Field { location: Location::Host { offset: 3, bytes: 1 }, width: 5, signed: false },
        Field { location: Location::Host { offset: 1, bytes: 2 }, width: 11, signed: false },
    ];
    let header = Header { valid: 0, first: 1, len: 3, fields, metadata: true, ..Header::default() };
    let layout = Layout { headers: vec![header], ..Layout::default() };
    let mut phv = [0; 24];
    phv[..4].copy_from_slice(&[1, 0x23, 0x01, 0x1f]);
    let calculation = Calculation { algorithm: Algorithm::Identity, parts: vec![InputPart::Header(0)] };
    let mut buffer = Vec::new();
    calculation.gather(&layout, &phv, &[], &mut buffer);
    assert_eq!(buffer, [0xf9, 0x23]);
}
