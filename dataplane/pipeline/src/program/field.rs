//! Fields: their places within a packet, and access to them.

use num_bigint::{BigInt, BigUint, Sign};

/// Readable and writable bytes behind the last field: an access may be wider than its field.
pub(crate) const SLACK: u32 = 16;

/// All ones in the lowest `width` bits.
pub(crate) const fn mask(width: u8) -> u128 {
    if width >= 128 {
        u128::MAX
    } else {
        (1 << width) - 1
    }
}

/// Ones in the highest `prefix` of `width` bits.
pub(crate) fn prefix_mask(width: u8, prefix: u8) -> u128 {
    mask(width) & !mask(width - prefix)
}

/// The value of the lowest `width` bits in two's complement, extended to 128 bits.
pub(crate) const fn sign_extend(value: u128, width: u8) -> u128 {
    let shift = 128 - width as u32;
    (((value << shift) as i128) >> shift) as u128
}

/// The widths of the parts of a number: 128 bits each, but for the first one.
pub fn part_widths(width: u32) -> impl Iterator<Item = u8> {
    (0..width.div_ceil(128)).rev().map(move |below| (width - 128 * below).min(128) as u8)
}

/// The bits of each part of a number that belong to its highest `prefix` bits, after the part's width.
pub fn part_prefixes(width: u32, mut prefix: u32) -> impl Iterator<Item = (u8, u8)> {
    part_widths(width).map(move |width| {
        let own = prefix.min(width.into());
        prefix -= own;
        (width, own as u8)
    })
}

/// The parts of a number in two's complement, the highest first.
pub fn split(value: &BigInt, width: u32) -> Vec<u128> {
    let parts = part_widths(width).zip((0..width.div_ceil(128)).rev());
    parts.map(|(width, below)| low(&(value >> (128 * below))) & mask(width)).collect()
}

/// A number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// The lowest 128 bits are all that counts.
    Narrow(u128),
    Wide(BigInt),
}

impl Value {
    /// The number that consists of these parts.
    pub fn of(parts: &[u128]) -> Value {
        match *parts {
            [value] => Value::Narrow(value),
            _ => Value::Wide(join(parts).into()),
        }
    }

    /// The lowest 128 bits.
    pub fn low(&self) -> u128 {
        match self {
            Value::Narrow(value) => *value,
            Value::Wide(value) => low(value),
        }
    }

    /// The parts of the number as one of this width.
    pub fn parts(&self, width: u32) -> Vec<u128> {
        match self {
            Value::Narrow(value) => split(&(*value).into(), width),
            Value::Wide(value) => split(value, width),
        }
    }
}

/// The number that consists of these parts.
pub fn join(parts: &[u128]) -> BigUint {
    parts.iter().fold(BigUint::default(), |value, &part| (value << 128) + part)
}

/// The place of a value within a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    /// A number of 1, 2, 4 or 8 bytes, the lowest first.
    Host { offset: u32, bytes: u8 },
    /// Big-endian bits, from this one on.
    Wire { bit: u32 },
}

impl Location {
    /// The first bit.
    pub fn bit(self) -> u32 {
        match self {
            Location::Host { offset, .. } => 8 * offset,
            Location::Wire { bit } => bit,
        }
    }
}

/// A field: its place, 1 to 128 bits wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    pub location: Location,
    pub width: u8,
    pub signed: bool,
}

impl Field {
    /// A number in the machine's form, of at most 64 bits.
    pub fn host(offset: u32, width: u8) -> Field {
        Field { location: Location::Host { offset, bytes: host_bytes(width) }, width, signed: false }
    }

    /// Whether the packet has bytes for the field.
    pub fn is_within(self, phv: &[u8]) -> bool {
        (self.location.bit() / 8 + SLACK) as usize <= phv.len()
    }

    /// The value, sign-extended if the field is signed.
    #[inline]
    pub fn read(self, phv: &[u8]) -> u128 {
        let value = self.bits(phv);
        if self.signed {
            sign_extend(value, self.width)
        } else {
            value
        }
    }

    /// The value's bits as they are stored: the higher ones are zero.
    #[inline]
    pub fn bits(self, phv: &[u8]) -> u128 {
        match self.location {
            Location::Host { offset, bytes } => load_host(phv, offset as usize, bytes).into(),
            Location::Wire { bit } => load_wire(phv, bit as usize, self.width.into()),
        }
    }

    /// Stores the value's lowest bits.
    #[inline]
    pub fn write(self, phv: &mut [u8], value: u128) {
        match self.location {
            Location::Host { offset, bytes } => {
                let value = value as u64 & u64::MAX >> (64 - self.width);
                store_host(phv, offset as usize, bytes, value);
            }
            Location::Wire { bit } => {
                store_wire(phv, bit as usize, self.width.into(), value & mask(self.width));
            }
        }
    }
}

/// Bytes of the number that holds a value of at most 64 bits.
pub(crate) fn host_bytes(width: u8) -> u8 {
    width.div_ceil(8).next_power_of_two()
}

fn bytes_at<const N: usize>(phv: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&phv[at..at + N]);
    bytes
}

#[inline]
fn load_host(phv: &[u8], at: usize, bytes: u8) -> u64 {
    match bytes {
        1 => phv[at].into(),
        2 => u16::from_le_bytes(bytes_at(phv, at)).into(),
        4 => u32::from_le_bytes(bytes_at(phv, at)).into(),
        _ => u64::from_le_bytes(bytes_at(phv, at)),
    }
}

fn store_host(phv: &mut [u8], at: usize, bytes: u8, value: u64) {
    match bytes {
        1 => phv[at] = value as u8,
        2 => phv[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes()),
        4 => phv[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes()),
        _ => phv[at..at + 8].copy_from_slice(&value.to_le_bytes()),
    }
}

#[inline]
fn load_wire(phv: &[u8], bit: usize, width: usize) -> u128 {
    let (at, skip) = (bit / 8, bit % 8);
    match skip + width {
        0..=64 => (u64::from_be_bytes(bytes_at(phv, at)) << skip >> (64 - width)).into(),
        65..=128 => u128::from_be_bytes(bytes_at(phv, at)) << skip >> (128 - width),
        _ => read_bits(phv, bit, width),
    }
}

fn store_wire(phv: &mut [u8], bit: usize, width: usize, value: u128) {
    let (at, skip) = (bit / 8, bit % 8);
    let Some(shift) = 128usize.checked_sub(skip + width) else {
        return write_bits(phv, bit, width, value);
    };
    let others = u128::from_be_bytes(bytes_at(phv, at)) & !(u128::MAX >> (128 - width) << shift);
    phv[at..at + 16].copy_from_slice(&(others | value << shift).to_be_bytes());
}

/// A field of more than 128 bits, of none, or of variable length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Wide {
    /// The first of its bits, all of which lie as on the wire.
    pub bit: u32,
    /// Bits; the most where the length varies: the last ones are in use then.
    pub width: u32,
    pub signed: bool,
    /// The number of bits, where that varies.
    pub length: Option<Field>,
}

impl Wide {
    /// The parts of a field that has the lowest `bits` of this one.
    pub fn parts(self, bits: u32) -> impl Iterator<Item = Field> {
        let mut bit = self.bit + self.width - bits;
        part_widths(bits).map(move |width| {
            let location = Location::Wire { bit };
            bit += u32::from(width);
            Field { location, width, signed: false }
        })
    }

    pub fn bits(self, phv: &[u8]) -> u32 {
        self.length.map_or(self.width, |length| length.bits(phv) as u32)
    }

    pub fn read(self, phv: &[u8]) -> BigInt {
        let bits = self.bits(phv);
        let value = self.parts(bits).fold(BigInt::default(), |value, part| (value << 128) + part.bits(phv));
        if self.signed && value.bits() == u64::from(bits) && bits > 0 {
            return value - (BigInt::from(1) << bits);
        }
        value
    }

    /// Stores the value's lowest bits.
    pub fn write(self, phv: &mut [u8], value: &BigInt) {
        let parts: Vec<Field> = self.parts(self.bits(phv)).collect();
        for (i, part) in parts.into_iter().rev().enumerate() {
            part.write(phv, low(&(value >> (128 * i))));
        }
    }
}

/// The lowest 128 bits of a number in two's complement.
pub(crate) fn low(value: &BigInt) -> u128 {
    let digits = value.iter_u64_digits().take(2).zip([0, 64]);
    let magnitude = digits.fold(0, |low, (digit, shift)| low | u128::from(digit) << shift);
    if value.sign() == Sign::Minus {
        magnitude.wrapping_neg()
    } else {
        magnitude
    }
}

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
#[path = "tests/field.rs"]
mod tests;

#[cfg(test)]
#[path = "tests/bits.rs"]
mod bits_tests;
