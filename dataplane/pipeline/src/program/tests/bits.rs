use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_written_is_read(value: u128, offset in 0usize..40, width in 1usize..=128) {
        let value = value & u128::MAX >> (128 - width);
        let mut bytes = [0; 24];
        write_bits(&mut bytes, offset, width, value);
        prop_assert_eq!(read_bits(&bytes, offset, width), value);
        let ones: u32 = bytes.iter().map(|b| b.count_ones()).sum();
        prop_assert_eq!(ones, value.count_ones());
    }

    #[test]
    fn reading_is_a_shift_of_the_big_endian_number(
        bytes: [u8; 16], offset in 0usize..128, width in 1usize..=128,
    ) {
        prop_assume!(offset + width <= 128);
        let mask = u128::MAX >> (128 - width);
        let expected = u128::from_be_bytes(bytes) >> (128 - offset - width) & mask;
        prop_assert_eq!(read_bits(&bytes, offset, width), expected);
    }
}
