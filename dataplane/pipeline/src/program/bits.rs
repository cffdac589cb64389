//! Big-endian bit fields within bytes.

/// The `width` bits (at most 128) that start `offset` bits into `bytes`, which must hold them.
pub fn read_bits(bytes: &[u8], offset: usize, width: usize) -> u128 {
    if offset % 8 == 0 && width % 8 == 0 {
        let first = offset / 8;
        return bytes[first..first + width / 8].iter().fold(0, |value, &byte| value << 8 | u128::from(byte));
    }
    let (mut value, mut at, end) = (0, offset, offset + width);
    while at < end {
        let available = 8 - at % 8;
        let take = available.min(end - at);
        let chunk = bytes[at / 8] >> (available - take) & (0xff >> (8 - take));
        value = value << take | u128::from(chunk);
        at += take;
    }
    value
}

/// Writes the lowest `width` bits of `value` where [`read_bits`] finds them. The bits there must be zero.
pub fn write_bits(bytes: &mut [u8], offset: usize, width: usize, value: u128) {
    let (mut at, mut left) = (offset, width);
    while left > 0 {
        let available = 8 - at % 8;
        let take = available.min(left);
        let chunk = (value >> (left - take)) as u8 & (0xff >> (8 - take));
        bytes[at / 8] |= chunk << (available - take);
        at += take;
        left -= take;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn what_is_written_is_read(value: u128, offset in 0usize..40, width in 1usize..=128) {
            let value = value & crate::program::phv::mask(width as u8);
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
            let mask = crate::program::phv::mask(width as u8);
            let expected = u128::from_be_bytes(bytes) >> (128 - offset - width) & mask;
            prop_assert_eq!(read_bits(&bytes, offset, width), expected);
        }
    }
}
