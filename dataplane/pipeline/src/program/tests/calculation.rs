use super::*;

#[test]
fn parts_are_packed_and_invalid_headers_left_out() {
    let field = |slot, width| Field { slot, width, signed: false };
    let header =
        HeaderSlots { valid: 0, fields: vec![field(1, 4), field(2, 12)], bits: 16, ..HeaderSlots::default() };
    let layout = Layout { headers: vec![header], stacks: vec![], initial: vec![0; 3].into() };
    let parts = vec![
        InputPart::Const { value: 0xabc, width: 12 },
        InputPart::Field { field: field(1, 4), valid: 0 },
        InputPart::Header(0),
        InputPart::Const { value: 1, width: 1 },
        InputPart::Payload,
    ];
    let calculation = Calculation { algorithm: Algorithm::Identity, parts };
    let mut buffer = vec![9];
    calculation.gather(&layout, &[1, 0xd, 0x123], &[7, 8], &mut buffer);
    assert_eq!(buffer, [0xab, 0xcd, 0xd1, 0x23, 0x80, 7, 8]);
    calculation.gather(&layout, &[0, 0xd, 0x123], &[], &mut buffer);
    assert_eq!(buffer, [0xab, 0xc8]);
}
