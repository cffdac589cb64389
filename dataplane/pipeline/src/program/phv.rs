//! The packet header vector: where each field lives, and headers and stacks as groups of fields.
//!
//! A packet's fields are one run of bytes, for both engines: the validity of each header, one byte; then the
//! fields of each header; then the counts of the stacks. The fields of a header lie as on the wire, so that a
//! header is extracted and emitted by copying it, and a field costs something only where the program uses it.
//! Metadata has numbers of 1 to 8 bytes, the lowest first. A field of more than 128 bits is several fields of
//! at most 128, the highest bits first, which only expressions see as one ([`Wide`]).

use std::ops::Range;

use crate::program::field::{Field, Wide, SLACK};

/// A header or metadata instance.
#[derive(Debug, Clone, Default)]
pub(crate) struct Header {
    /// The byte of the validity.
    pub valid: u32,
    /// The bytes of the fields, of a variable one the most. A header's are those on the wire.
    pub first: u32,
    pub len: u32,
    /// In the order of the wire, the parts of wide ones by themselves.
    pub fields: Vec<Field>,
    /// The field of variable length.
    pub variable: Option<Wide>,
    /// The validities of the other headers of the same union: one of them at most is valid.
    pub others: Vec<u32>,
    /// Metadata is always valid and never on the wire.
    pub metadata: bool,
    /// Index of the header type.
    pub kind: usize,
}

impl Header {
    fn range(&self) -> Range<usize> {
        self.first as usize..(self.first + self.len) as usize
    }

    /// Bytes on the wire where the field of variable length has `variable` bits.
    pub fn bytes(&self, variable: u32) -> usize {
        (self.len - self.variable.map_or(0, |field| field.width / 8)) as usize + variable as usize / 8
    }

    /// Bytes on the wire of this packet's header.
    pub fn size(&self, phv: &[u8]) -> usize {
        self.bytes(self.variable.map_or(0, |field| field.bits(phv)))
    }

    /// The bytes of the field of variable length that are not in use: the place of the first, and how many.
    /// The first one's bits before the field are those of another field.
    fn unused(&self, phv: &[u8]) -> (usize, usize) {
        self.variable.map_or((0, 0), |field| {
            ((field.bit / 8 - self.first) as usize, (field.width - field.bits(phv)) as usize / 8)
        })
    }

    /// Takes the fields from the wire, whose bytes are as many as the header has.
    pub fn extract(&self, wire: &[u8], phv: &mut [u8]) {
        let (at, unused) = self.unused(phv);
        let fields = &mut phv[self.range()];
        fields[at + unused..].copy_from_slice(&wire[at..]);
        let before = wire.len().min(at + 1);
        fields[..before].copy_from_slice(&wire[..before]);
        self.set_valid(phv, true);
    }

    /// Appends the fields as on the wire.
    pub fn emit(&self, phv: &[u8], wire: &mut Vec<u8>) {
        let (at, unused) = self.unused(phv);
        let (fields, first) = (&phv[self.range()], wire.len() + at);
        wire.extend_from_slice(&fields[..at]);
        wire.extend_from_slice(&fields[at + unused..]);
        if let Some(skip @ 1..) = self.variable.map(|field| field.bit % 8) {
            let own = 0xff >> skip;
            wire[first] = fields[at] & !own | wire[first] & own;
        }
    }

    pub fn validity(&self) -> Field {
        Field::host(self.valid, 1)
    }

    pub fn is_valid(&self, phv: &[u8]) -> bool {
        phv[self.valid as usize] != 0
    }

    pub fn set_valid(&self, phv: &mut [u8], valid: bool) {
        phv[self.valid as usize] = valid.into();
        if valid {
            self.others.iter().for_each(|&other| phv[other as usize] = 0);
        }
    }

    /// Sets all fields to 0; the length of a variable one stays, as in BMv2.
    pub fn clear(&self, phv: &mut [u8]) {
        phv[self.range()].fill(0);
    }

    /// Takes over validity and fields of a header of the same type.
    pub fn copy_from(&self, source: &Header, phv: &mut [u8]) {
        phv.copy_within(source.range(), self.first as usize);
        phv[self.valid as usize] = phv[source.valid as usize];
        let lengths = self.variable.zip(source.variable);
        if let Some((Some(to), Some(from))) = lengths.map(|(to, from)| (to.length, from.length)) {
            to.write(phv, from.bits(phv));
        }
    }

    /// P4's assignment: the fields of a header that becomes invalid stay, as in BMv2.
    pub fn assign(&self, source: &Header, phv: &mut [u8]) {
        let valid = source.is_valid(phv);
        if valid {
            self.copy_from(source, phv);
        }
        self.set_valid(phv, valid);
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Stack {
    /// Indices of the elements' headers.
    pub headers: Vec<u32>,
    /// The number of elements in use; P4's `nextIndex`.
    pub next: Field,
    /// In a stack of unions, whose stacks have one kind of header each: the other kinds.
    pub others: Vec<u32>,
}

impl Stack {
    pub fn new(headers: Vec<u32>, next: Field) -> Stack {
        Stack { headers, next, others: Vec::new() }
    }
}

/// The fields, headers and stacks of a program.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub headers: Vec<Header>,
    pub stacks: Vec<Stack>,
    /// Bytes taken so far.
    pub len: u32,
    /// A new packet: all zero, metadata valid.
    pub initial: Box<[u8]>,
}

impl Layout {
    /// Takes room for a value.
    pub fn take(&mut self, bytes: u32, align: u32) -> u32 {
        let offset = self.len.next_multiple_of(align);
        self.len = offset + bytes;
        offset
    }

    /// Makes the new packet, when there is a place for all fields.
    pub fn complete(&mut self) {
        let mut initial = vec![0; (self.len + SLACK).next_multiple_of(8) as usize];
        for header in self.headers.iter().filter(|header| header.metadata) {
            initial[header.valid as usize] = 1;
        }
        self.initial = initial.into();
    }

    pub fn header(&self, index: u32) -> &Header {
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

    /// P4's `push_front`: shifts up by `count`; the first elements become invalid. Its `pop_front` is the
    /// same from the other end.
    pub fn shift(&self, stack: u32, count: u128, push: bool, phv: &mut [u8]) {
        let stack = self.stack(stack);
        let size = stack.headers.len();
        let count = usize::try_from(count).unwrap_or(size).min(size);
        let others = stack.others.iter().map(|&other| self.stack(other));
        for kind in std::iter::once(stack).chain(others) {
            let header = |at: usize| self.header(kind.headers[if push { at } else { size - 1 - at }]);
            (count..size).rev().for_each(|at| header(at).copy_from(header(at - count), phv));
            (0..count).for_each(|at| header(at).set_valid(phv, false));
        }
        let (next, count) = (stack.next.bits(phv), count as u128);
        let next = if push { (next + count).min(size as u128) } else { next.saturating_sub(count) };
        stack.next.write(phv, next);
    }

    /// Sets all metadata to 0, as BMv2 does for clones, resubmitted and recirculated packets.
    pub fn clear_metadata(&self, phv: &mut [u8]) {
        for header in self.headers.iter().filter(|h| h.metadata) {
            header.clear(phv);
        }
    }
}

#[cfg(test)]
#[path = "tests/phv.rs"]
mod tests;
