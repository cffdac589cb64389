//! The packet header vector: where each field lives, and headers and stacks as groups of fields.
//!
//! A packet's state is one slice of values. Each header takes a run of it: first its validity, then its
//! fields. Each stack has a further slot that counts the elements in use. A field of more than 128 bits is
//! several fields of at most 128, the highest bits first, which only expressions see as one ([`Wide`]).

use num_bigint::{BigInt, Sign};

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

/// A field: its place, 1 to 128 bits wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    pub slot: u32,
    pub width: u8,
    pub signed: bool,
}

impl Field {
    /// The value, sign-extended if the field is signed.
    pub fn read(self, phv: &[u128]) -> u128 {
        let value = phv[self.slot as usize];
        if self.signed {
            sign_extend(value, self.width)
        } else {
            value
        }
    }

    /// The value's bits as they are stored: the higher ones are zero.
    pub fn bits(self, phv: &[u128]) -> u128 {
        phv[self.slot as usize]
    }

    /// Stores the value's lowest bits.
    pub fn write(self, phv: &mut [u128], value: u128) {
        phv[self.slot as usize] = value & mask(self.width);
    }
}

/// A field of more than 128 bits, or of variable length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Wide {
    /// The slot of the highest bits.
    pub slot: u32,
    /// Bits; the most where the length varies.
    pub width: u32,
    pub signed: bool,
    /// The slot of the number of bits, where that varies.
    pub length: Option<u32>,
}

impl Wide {
    /// The parts of a field that has the lowest `bits` of this one.
    pub fn parts(self, bits: u32) -> impl Iterator<Item = Field> {
        let (all, used) = (self.width.div_ceil(128), bits.div_ceil(128));
        let top = bits.wrapping_sub(128 * used.saturating_sub(1)) as u8;
        (0..used).map(move |part| Field {
            slot: self.slot + all - used + part,
            width: if part == 0 { top } else { 128 },
            signed: false,
        })
    }

    /// Bits in use.
    pub fn bits(self, phv: &[u128]) -> u32 {
        self.length.map_or(self.width, |slot| phv[slot as usize] as u32)
    }

    pub fn read(self, phv: &[u128]) -> BigInt {
        let bits = self.bits(phv);
        let value = self.parts(bits).fold(BigInt::default(), |value, part| (value << 128) + part.bits(phv));
        if self.signed && value.bits() == u64::from(bits) && bits > 0 {
            return value - (BigInt::from(1) << bits);
        }
        value
    }

    /// Stores the value's lowest bits.
    pub fn write(self, phv: &mut [u128], value: &BigInt) {
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

/// A header or metadata instance.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeaderSlots {
    /// The slot of the validity; the fields follow.
    pub valid: u32,
    /// In the order of the wire, the parts of wide ones by themselves.
    pub fields: Vec<Field>,
    /// The field of variable length, and its place among the fields. The slot of the length is the last.
    pub variable: Option<(usize, Wide)>,
    /// The slots of validity of the other headers of the same union: one of them at most is valid.
    pub others: Vec<u32>,
    /// Bits on the wire, without the field of variable length.
    pub bits: u32,
    /// Metadata is always valid and never on the wire.
    pub metadata: bool,
    /// Index of the header type.
    pub kind: usize,
}

impl HeaderSlots {
    pub fn bytes(&self) -> usize {
        self.bits as usize / 8
    }

    /// Bytes on the wire of this packet's header.
    pub fn size(&self, phv: &[u128]) -> usize {
        self.bytes() + self.variable.map_or(0, |(_, field)| field.bits(phv) as usize / 8)
    }

    /// The fields in the order of the wire, of variable ones what is in use.
    pub fn wire<'a>(&'a self, phv: &[u128]) -> impl Iterator<Item = Field> + 'a {
        let (at, end, parts) = match self.variable {
            Some((at, field)) => {
                (at, at + field.width.div_ceil(128) as usize, Some(field.parts(field.bits(phv))))
            }
            None => (self.fields.len(), self.fields.len(), None),
        };
        let (before, after) = (&self.fields[..at], &self.fields[end..]);
        before.iter().copied().chain(parts.into_iter().flatten()).chain(after.iter().copied())
    }

    pub fn is_valid(&self, phv: &[u128]) -> bool {
        phv[self.valid as usize] != 0
    }

    pub fn set_valid(&self, phv: &mut [u128], valid: bool) {
        phv[self.valid as usize] = u128::from(valid);
        if valid {
            self.others.iter().for_each(|&other| phv[other as usize] = 0);
        }
    }

    /// Sets all fields to 0; the length of a variable one stays, as in BMv2.
    pub fn clear(&self, phv: &mut [u128]) {
        let first = self.valid as usize + 1;
        phv[first..first + self.fields.len()].fill(0);
    }

    /// Takes over validity and fields of a header of the same type.
    pub fn copy_from(&self, source: &HeaderSlots, phv: &mut [u128]) {
        let first = source.valid as usize;
        let last = first + source.fields.len() + usize::from(source.variable.is_some());
        phv.copy_within(first..=last, self.valid as usize);
    }

    /// P4's assignment: the fields of a header that becomes invalid stay, as in BMv2.
    pub fn assign(&self, source: &HeaderSlots, phv: &mut [u128]) {
        let valid = source.is_valid(phv);
        if valid {
            self.copy_from(source, phv);
        }
        self.set_valid(phv, valid);
    }
}

/// A header stack.
#[derive(Debug, Clone)]
pub(crate) struct Stack {
    /// Indices of the elements' headers.
    pub headers: Vec<u32>,
    /// The slot that counts the elements in use; P4's `nextIndex`.
    pub next: u32,
    /// In a stack of unions, whose stacks have one kind of header each: the other kinds.
    pub others: Vec<u32>,
}

impl Stack {
    pub fn new(headers: Vec<u32>, next: u32) -> Stack {
        Stack { headers, next, others: Vec::new() }
    }
}

/// The fields, headers and stacks of a program.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub headers: Vec<HeaderSlots>,
    pub stacks: Vec<Stack>,
    /// The values of a new packet: all zero, metadata valid.
    pub initial: Box<[u128]>,
}

impl Layout {
    pub fn header(&self, index: u32) -> &HeaderSlots {
        &self.headers[index as usize]
    }

    pub fn stack(&self, index: u32) -> &Stack {
        &self.stacks[index as usize]
    }

    /// The stack's element at `index`, if there is one.
    pub fn element(&self, stack: u32, index: u128) -> Option<u32> {
        let index = usize::try_from(index).ok()?;
        self.stack(stack).headers.get(index).copied()
    }

    /// The last element in use.
    pub fn last(&self, stack: u32, phv: &[u128]) -> Option<u32> {
        let next = phv[self.stack(stack).next as usize];
        self.element(stack, next.checked_sub(1)?)
    }

    /// The headers of a stack, of each kind.
    fn lanes<'a>(&'a self, stack: &'a Stack) -> impl Iterator<Item = &'a [u32]> {
        let others = stack.others.iter().map(|&other| &*self.stack(other).headers);
        std::iter::once(&*stack.headers).chain(others)
    }

    /// P4's `push_front`: shifts up by `count`; the first elements become invalid.
    pub fn push(&self, stack: u32, count: u128, phv: &mut [u128]) {
        let stack = self.stack(stack);
        let size = stack.headers.len();
        let count = usize::try_from(count).unwrap_or(size).min(size);
        for headers in self.lanes(stack) {
            for i in (count..size).rev() {
                self.header(headers[i]).copy_from(self.header(headers[i - count]), phv);
            }
            for &header in &headers[..count] {
                self.header(header).set_valid(phv, false);
            }
        }
        let next = &mut phv[stack.next as usize];
        *next = (*next + count as u128).min(size as u128);
    }

    /// P4's `pop_front`: shifts down by `count`; the last elements become invalid.
    pub fn pop(&self, stack: u32, count: u128, phv: &mut [u128]) {
        let stack = self.stack(stack);
        let size = stack.headers.len();
        let count = usize::try_from(count).unwrap_or(size).min(size);
        for headers in self.lanes(stack) {
            for i in count..size {
                self.header(headers[i - count]).copy_from(self.header(headers[i]), phv);
            }
            for &header in &headers[size - count..] {
                self.header(header).set_valid(phv, false);
            }
        }
        let next = &mut phv[stack.next as usize];
        *next = next.saturating_sub(count as u128);
    }

    /// Sets all metadata to 0, as BMv2 does for clones, resubmitted and recirculated packets.
    pub fn clear_metadata(&self, phv: &mut [u128]) {
        for header in self.headers.iter().filter(|h| h.metadata) {
            header.clear(phv);
        }
    }
}

#[cfg(test)]
#[path = "tests/phv.rs"]
mod tests;
