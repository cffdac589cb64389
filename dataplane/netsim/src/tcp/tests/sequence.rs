use super::*;
use proptest::prelude::*;

#[test]
fn a_syn_takes_one_number() {
    let numbers = Numbering::new(1000, true);
    assert_eq!([0, 1, 2, 3].map(|packet| numbers.byte(packet)), [0, 1, 1001, 2001]);
    assert_eq!(numbers.packet(0, 1), Some((1, 0)));
    assert_eq!(numbers.packet(3, 0), Some((0, 0)));
    assert_eq!(numbers.packet(3, 1500), Some((2, 499)));
    assert_eq!(numbers.packet(0, u32::MAX), None, "before the first byte");
}

proptest! {
    #[test]
    fn wire_numbers_are_unwrapped(
        near in 0u64..1 << 40, ahead in -100_000i64..100_000, mss in 1u32..9000, syn: bool) {
        let numbers = Numbering::new(mss, syn);
        let packet = near.saturating_add_signed(ahead);
        prop_assert_eq!(numbers.packet(near, numbers.wire(packet)), Some((packet, 0)));
    }
}
