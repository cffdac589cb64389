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

/// Writes the lowest `width` bits of `value` where [`read_bits`] finds them.
pub fn write_bits(bytes: &mut [u8], offset: usize, width: usize, value: u128) {
    let (mut at, mut left) = (offset, width);
    while left > 0 {
        let available = 8 - at % 8;
        let take = available.min(left);
        let (shift, mask) = (available - take, 0xff >> (8 - take));
        let chunk = (value >> (left - take)) as u8 & mask;
        bytes[at / 8] = bytes[at / 8] & !(mask << shift) | chunk << shift;
        at += take;
        left -= take;
    }
}

#[cfg(test)]
#[path = "tests/bits.rs"]
mod tests;
