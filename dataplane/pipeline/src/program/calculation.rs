//! Hashes and checksums over fields.

use crate::program::expr::Expr;
use crate::program::field::{write_bits, Field, Wide};
use crate::program::hash::Algorithm;
use crate::program::phv::{Header, Layout};

/// A part of a calculation's input. Parts of invalid headers are left out, as in BMv2.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum InputPart {
    /// A field, and its header's validity.
    Field { field: Field, valid: u32 },
    /// Bits that are always the same.
    Const { value: u128, width: u8 },
    /// All fields of a header.
    Header(u32),
    /// A field of variable length, and its header's validity.
    Variable(Wide, u32),
    /// Everything after the parsed headers.
    Payload,
}

#[derive(Debug)]
pub(crate) struct Calculation {
    pub algorithm: Algorithm,
    pub parts: Vec<InputPart>,
}

/// A checksum to verify after parsing or to update before deparsing.
#[derive(Debug)]
pub(crate) struct Checksum {
    pub field: Field,
    /// The field's header's validity.
    pub valid: u32,
    pub calculation: u32,
    pub condition: Option<Expr>,
}

impl Calculation {
    /// Puts the parts after one another, bit by bit, into `buffer`. The last byte is filled with zeros.
    pub fn gather(&self, layout: &Layout, phv: &[u8], payload: &[u8], buffer: &mut Vec<u8>) {
        buffer.clear();
        let mut bits = 0;
        for part in &self.parts {
            match part {
                InputPart::Field { valid, .. } if phv[*valid as usize] == 0 => {}
                InputPart::Field { field, .. } => append(buffer, &mut bits, field.width, field.bits(phv)),
                InputPart::Const { value, width } => append(buffer, &mut bits, *width, *value),
                InputPart::Variable(_, valid) if phv[*valid as usize] == 0 => {}
                InputPart::Variable(field, _) => {
                    for part in field.parts(field.bits(phv)) {
                        append(buffer, &mut bits, part.width, part.bits(phv));
                    }
                }
                InputPart::Header(header) if !layout.header(*header).is_valid(phv) => {}
                InputPart::Header(header) => append_header(buffer, &mut bits, layout.header(*header), phv),
                InputPart::Payload => {
                    buffer.extend_from_slice(payload);
                    bits = 8 * buffer.len();
                }
            }
        }
    }
}

fn append(buffer: &mut Vec<u8>, bits: &mut usize, width: u8, value: u128) {
    let end = *bits + width as usize;
    buffer.resize(end.div_ceil(8), 0);
    write_bits(buffer, *bits, width as usize, value);
    *bits = end;
}

fn append_header(buffer: &mut Vec<u8>, bits: &mut usize, header: &Header, phv: &[u8]) {
    if header.metadata {
        header.fields.iter().for_each(|field| append(buffer, bits, field.width, field.bits(phv)));
    } else if *bits % 8 == 0 {
        header.emit(phv, buffer);
        *bits = 8 * buffer.len();
    } else {
        let mut bytes = Vec::with_capacity(header.size(phv));
        header.emit(phv, &mut bytes);
        bytes.into_iter().for_each(|byte| append(buffer, bits, 8, byte.into()));
    }
}

#[cfg(test)]
#[path = "tests/calculation.rs"]
mod tests;
