use super::*;

#[test]
fn a_frame_lies_behind_the_headers_and_within_its_slot() {
    for (begin, captured, expected) in [
        (62, 100, (62, 100)),
        (80, 5000, (80, SLOT - 80)),
        (SLOT as u16, 1, (SLOT, 0)),
        (61, 100, (SLOT, 0)),
        (0, 100, (SLOT, 0)),
        (u16::MAX, u32::MAX, (SLOT, 0)),
    ] {
        assert_eq!(frame_in_slot(begin, captured), expected, "{begin}");
    }
}
