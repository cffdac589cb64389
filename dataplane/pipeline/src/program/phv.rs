//! The packet header vector: where each field lives, and headers and stacks as groups of fields.
//!
//! A packet's state is one slice of values. Each header takes a run of it: first its validity, then its
//! fields. Each stack has a further slot that counts the elements in use.

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

/// A header or metadata instance.
#[derive(Debug, Clone)]
pub(crate) struct HeaderSlots {
    /// The slot of the validity; the fields follow.
    pub valid: u32,
    pub fields: Vec<Field>,
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

    pub fn is_valid(&self, phv: &[u128]) -> bool {
        phv[self.valid as usize] != 0
    }

    pub fn set_valid(&self, phv: &mut [u128], valid: bool) {
        phv[self.valid as usize] = u128::from(valid);
    }

    /// Sets all fields to 0.
    pub fn clear(&self, phv: &mut [u128]) {
        let first = self.valid as usize + 1;
        phv[first..first + self.fields.len()].fill(0);
    }

    /// Copies validity and fields of a header of the same type.
    pub fn copy_from(&self, source: &HeaderSlots, phv: &mut [u128]) {
        let first = source.valid as usize;
        phv.copy_within(first..=first + source.fields.len(), self.valid as usize);
    }
}

/// A header stack.
#[derive(Debug, Clone)]
pub(crate) struct Stack {
    /// Indices of the elements' headers.
    pub headers: Vec<u32>,
    /// The slot that counts the elements in use; P4's `nextIndex`.
    pub next: u32,
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

    /// P4's `push_front`: shifts up by `count`; the first elements become invalid.
    pub fn push(&self, stack: u32, count: u128, phv: &mut [u128]) {
        let stack = self.stack(stack);
        let size = stack.headers.len();
        let count = usize::try_from(count).unwrap_or(size).min(size);
        for i in (count..size).rev() {
            self.header(stack.headers[i]).copy_from(self.header(stack.headers[i - count]), phv);
        }
        for &header in &stack.headers[..count] {
            self.header(header).set_valid(phv, false);
        }
        let next = &mut phv[stack.next as usize];
        *next = (*next + count as u128).min(size as u128);
    }

    /// P4's `pop_front`: shifts down by `count`; the last elements become invalid.
    pub fn pop(&self, stack: u32, count: u128, phv: &mut [u128]) {
        let stack = self.stack(stack);
        let size = stack.headers.len();
        let count = usize::try_from(count).unwrap_or(size).min(size);
        for i in count..size {
            self.header(stack.headers[i - count]).copy_from(self.header(stack.headers[i]), phv);
        }
        for &header in &stack.headers[size - count..] {
            self.header(header).set_valid(phv, false);
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
mod tests {
    use super::*;

    /// A stack of four one-byte headers in slots 0..8, its counter in slot 8.
    fn stack_of_four() -> Layout {
        let field = |slot| Field { slot, width: 8, signed: false };
        let header = |i: u32| HeaderSlots {
            valid: 2 * i,
            fields: vec![field(2 * i + 1)],
            bits: 8,
            metadata: false,
            kind: 0,
        };
        Layout {
            headers: (0..4).map(header).collect(),
            stacks: vec![Stack { headers: vec![0, 1, 2, 3], next: 8 }],
            initial: vec![0; 9].into(),
        }
    }

    fn valid_values(layout: &Layout, phv: &[u128]) -> Vec<Option<u128>> {
        let value = |h: &HeaderSlots| h.is_valid(phv).then(|| h.fields[0].read(phv));
        layout.headers.iter().map(value).collect()
    }

    #[test]
    fn push_and_pop_shift_the_elements() {
        let layout = stack_of_four();
        let two = [1, 10, 1, 11, 0, 0, 0, 0, 2];
        let cases: [(&str, u128, [Option<u128>; 4], u128); 6] = [
            ("push", 1, [None, Some(10), Some(11), None], 3),
            ("push", 3, [None, None, None, Some(10)], 4),
            ("push", u128::MAX, [None; 4], 4),
            ("pop", 1, [Some(11), None, None, None], 1),
            ("pop", 2, [None; 4], 0),
            ("pop", u128::MAX, [None; 4], 0),
        ];
        for (op, count, expected, next) in cases {
            let mut phv = two;
            match op {
                "push" => layout.push(0, count, &mut phv),
                _ => layout.pop(0, count, &mut phv),
            }
            assert_eq!(valid_values(&layout, &phv), expected, "{op} {count}");
            assert_eq!(phv[8], next, "{op} {count}");
        }
    }

    #[test]
    fn last_needs_an_element() {
        let layout = stack_of_four();
        let mut phv = [0; 9];
        assert_eq!(layout.last(0, &phv), None);
        phv[8] = 2;
        assert_eq!(layout.last(0, &phv), Some(1));
        assert_eq!(layout.element(0, 4), None);
        assert_eq!(layout.element(0, u128::MAX), None);
    }

    #[test]
    fn signed_fields_extend_their_sign() {
        let field = Field { slot: 0, width: 8, signed: true };
        let mut phv = [0];
        field.write(&mut phv, -2i128 as u128);
        assert_eq!(phv[0], 0xfe);
        assert_eq!(field.read(&phv) as i128, -2);
        assert_eq!(sign_extend(u128::MAX, 128), u128::MAX);
        assert_eq!(mask(128), u128::MAX);
        assert_eq!(mask(1), 1);
    }
}
