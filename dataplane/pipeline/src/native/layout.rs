//! The layout of a packet's fields in the native engine's memory.
//!
//! The fields of a header lie there as on the wire, so that a header is extracted and emitted by copying it,
//! and a field costs something only where the program uses it. Metadata and validity have numbers of the
//! machine's byte order.

use crate::program::bits::{read_bits, write_bits};
use crate::program::phv::{mask, Field, Layout};

/// Readable and writable bytes behind the last field: code may load eight bytes at any field.
const SLACK: usize = 16;

/// The place of a value, in bytes from the packet's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    /// A number of 1, 2, 4, 8 or 16 bytes.
    Host { offset: u32, bytes: u8 },
    /// Big-endian bits, from `bit` bits after the packet's first.
    Wire { bit: u32 },
}

/// A header's bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Region {
    /// The place of the validity byte.
    pub valid: u32,
    pub offset: u32,
    /// Bytes of all fields; on the wire, unless it is metadata.
    pub bytes: u32,
    pub metadata: bool,
}

/// The places of all fields.
#[derive(Debug)]
pub(crate) struct NativeLayout {
    /// By slot of the interpreter's layout; the width (bits) of the field there.
    places: Vec<(Location, u8)>,
    /// By header.
    pub regions: Vec<Region>,
    /// A new packet, in words.
    pub initial: Box<[u64]>,
}

/// Bytes of the number that holds a value of this width.
fn host_bytes(width: u8) -> u8 {
    width.div_ceil(8).next_power_of_two()
}

impl NativeLayout {
    pub fn new(layout: &Layout) -> NativeLayout {
        let mut places = vec![(Location::Host { offset: 0, bytes: 1 }, 1); layout.initial.len()];
        let mut at = 0u32;
        let mut take = |bytes: u32, align: u32| {
            at = at.next_multiple_of(align);
            let offset = at;
            at += bytes;
            offset
        };
        for header in &layout.headers {
            places[header.valid as usize] = (Location::Host { offset: take(1, 1), bytes: 1 }, 1);
        }
        for stack in &layout.stacks {
            places[stack.next as usize] = (Location::Host { offset: take(4, 4), bytes: 4 }, 32);
        }
        let mut regions = Vec::with_capacity(layout.headers.len());
        for header in &layout.headers {
            let offset = take(0, 16);
            if header.metadata {
                // The widest first: no gaps.
                let mut fields: Vec<&Field> = header.fields.iter().collect();
                fields.sort_by_key(|field| std::cmp::Reverse(host_bytes(field.width)));
                for field in fields {
                    let bytes = host_bytes(field.width);
                    let place = Location::Host { offset: take(u32::from(bytes), u32::from(bytes)), bytes };
                    places[field.slot as usize] = (place, field.width);
                }
            } else {
                let mut bit = 8 * take(header.bits / 8, 1);
                for field in &header.fields {
                    places[field.slot as usize] = (Location::Wire { bit }, field.width);
                    bit += u32::from(field.width);
                }
            }
            let Location::Host { offset: valid, .. } = places[header.valid as usize].0 else { continue };
            let bytes = take(0, 1) - offset;
            regions.push(Region { valid, offset, bytes, metadata: header.metadata });
        }
        let words = (take(0, 8) as usize + SLACK).div_ceil(8);
        let mut layout_native = NativeLayout { places, regions, initial: vec![0; words].into() };
        let mut initial = vec![0; words];
        layout_native.narrow(&layout.initial, &mut initial);
        layout_native.initial = initial.into();
        layout_native
    }

    /// How many slots there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn place(&self, slot: u32) -> Location {
        self.places[slot as usize].0
    }

    /// The value at a slot of the interpreter's layout.
    pub fn read(&self, words: &[u64], slot: u32) -> u128 {
        let (place, width) = self.places[slot as usize];
        match place {
            Location::Host { offset, bytes: 16 } => {
                let word = offset as usize / 8;
                u128::from(words[word]) | u128::from(words[word + 1]) << 64
            }
            Location::Host { offset, bytes } => {
                let word = words[offset as usize / 8] >> (8 * (offset % 8));
                u128::from(word) & mask(8 * bytes)
            }
            Location::Wire { bit } => {
                read_bits(&wire_bytes(words, bit), bit as usize % 64, usize::from(width))
            }
        }
    }

    /// Sets the value at a slot to the lowest bits of this one.
    pub fn write(&self, words: &mut [u64], slot: u32, value: u128) {
        let (place, width) = self.places[slot as usize];
        let value = value & mask(width);
        match place {
            Location::Host { offset, bytes: 16 } => {
                let word = offset as usize / 8;
                words[word] = value as u64;
                words[word + 1] = (value >> 64) as u64;
            }
            Location::Host { offset, bytes } => {
                let (word, shift) = (&mut words[offset as usize / 8], 8 * (offset % 8));
                *word = *word & !((mask(8 * bytes) as u64) << shift) | (value as u64) << shift;
            }
            Location::Wire { bit } => {
                let mut bytes = wire_bytes(words, bit);
                clear_bits(&mut bytes, bit as usize % 64, usize::from(width));
                write_bits(&mut bytes, bit as usize % 64, usize::from(width), value);
                for (word, bytes) in words[bit as usize / 64..].iter_mut().zip(bytes.chunks_exact(8)) {
                    *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
                }
            }
        }
    }

    /// All slots, as the interpreter has them.
    pub fn widen(&self, words: &[u64], slots: &mut Vec<u128>) {
        slots.clear();
        slots.extend((0..self.places.len() as u32).map(|slot| self.read(words, slot)));
    }

    /// The inverse of [`NativeLayout::widen`].
    pub fn narrow(&self, slots: &[u128], words: &mut [u64]) {
        for (slot, &value) in slots.iter().enumerate() {
            self.write(words, slot as u32, value);
        }
    }
}

/// The bytes of the three words around a field, which has 128 bits at most.
fn wire_bytes(words: &[u64], bit: u32) -> [u8; 24] {
    let mut bytes = [0; 24];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(&words[bit as usize / 64..]) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn clear_bits(bytes: &mut [u8], offset: usize, width: usize) {
    for bit in offset..offset + width {
        bytes[bit / 8] &= !(0x80 >> (bit % 8));
    }
}
