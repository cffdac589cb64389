use super::*;

#[test]
fn signed_fields_extend_their_sign() {
    let field = Field { signed: true, ..Field::host(0, 8) };
    let mut phv = [0];
    field.write(&mut phv, -2i128 as u128);
    assert_eq!(phv[0], 0xfe);
    assert_eq!(field.read(&phv) as i128, -2);
    assert_eq!(sign_extend(u128::MAX, 128), u128::MAX);
    assert_eq!(mask(128), u128::MAX);
    assert_eq!(mask(1), 1);
}

#[test]
fn fields_of_any_place_keep_their_neighbours() {
    for width in 1..=128u8 {
        for bit in 0..16 {
            let field = Field { location: Location::Wire { bit }, width, signed: false };
            for (around, value) in
                [(0xff, 0), (0, u128::MAX), (0xa5, 0x0123_4567_89ab_cdef_0011_2233_4455_6677)]
            {
                let mut phv = [around; 40];
                field.write(&mut phv, value);
                assert_eq!(field.bits(&phv), value & mask(width), "{width} bits at {bit}");
                let mut expected = [around; 40];
                write_bits(&mut expected, bit as usize, width.into(), value);
                assert_eq!(phv, expected, "{width} bits at {bit}");
            }
        }
    }
}
