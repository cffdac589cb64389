//! Hashes and checksums as machine code.

use std::ops::Range;

use cranelift_codegen::ir::{types, InstBuilder, Value};

use crate::native::expr::Locals;
use crate::native::gen::{At, Gen, NotNative};
use crate::native::helpers;
use crate::program::calculation::{Calculation, Checksum, InputPart};
use crate::program::field::{Field, Location};
use crate::program::hash::Algorithm;
use crate::program::phv::Header;
use crate::state::context::Word;

/// Adjacent bits of a header, and how many bits of the sum follow them.
struct BitRun {
    bit: u32,
    width: u32,
    end: u32,
}

impl Gen<'_> {
    /// Verifies the checksums; sets `checksum_error`.
    pub fn verify(&mut self) {
        let Some(error) = self.program.standard.checksum_error else { return };
        let (wrong, done) = (self.b.create_block(), self.b.create_block());
        for checksum in &self.program.verified {
            let next = self.b.create_block();
            let valid = self.host_load(checksum.valid, 1);
            self.unless_zero(valid, next);
            self.applies(checksum, next);
            let sum = self.calculation(checksum.calculation);
            match self.field_bits(checksum.field) {
                Ok(value) => {
                    let differ = self.b.ins().bxor(sum, value);
                    self.b.ins().brif(differ, wrong, &[], next, &[]);
                }
                // No checksum has more than 64 bits.
                Err(NotNative) => {
                    self.b.ins().jump(wrong, &[]);
                }
            }
            self.b.switch_to_block(next);
        }
        let zero = self.int(0);
        let _ = self.set_field(error, zero);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(wrong);
        let one = self.int(1);
        let _ = self.set_field(error, one);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
    }

    pub fn update(&mut self) {
        for checksum in &self.program.updated {
            let next = self.b.create_block();
            self.applies(checksum, next);
            let sum = self.calculation(checksum.calculation);
            let _ = self.set_field(checksum.field, sum);
            self.b.ins().jump(next, &[]);
            self.b.switch_to_block(next);
        }
    }

    /// Goes to `other` where the checksum's condition is false.
    fn applies(&mut self, checksum: &Checksum, other: cranelift_codegen::ir::Block) {
        if let Some(condition) = &checksum.condition {
            let next = self.b.create_block();
            self.branch(condition, next, other);
            self.b.switch_to_block(next);
        }
    }

    /// The result of a calculation.
    pub fn calculation(&mut self, number: u32) -> Value {
        let calculation = &self.program.calculations[number as usize];
        match self.internet_runs(calculation) {
            Some((valid, runs)) => self.internet(valid, &runs),
            None => {
                let (context, number) = (self.context, self.int(u64::from(number)));
                self.call(helpers::calculate as *const u8, &[context, number])
            }
        }
    }

    /// The runs of an Internet checksum over fields of one header, and the header's validity.
    fn internet_runs(&self, calculation: &Calculation) -> Option<(u32, Vec<BitRun>)> {
        let mut fields: Vec<(Field, u32)> = Vec::new();
        for part in &calculation.parts {
            match part {
                InputPart::Field { field, valid } => fields.push((*field, *valid)),
                InputPart::Header(header) => {
                    let header = self.program.layout.header(*header);
                    fields.extend(header.fields.iter().map(|field| (*field, header.valid)));
                }
                InputPart::Const { .. } | InputPart::Variable(..) | InputPart::Payload => return None,
            }
        }
        let valid = fields.first()?.1;
        if calculation.algorithm != Algorithm::Csum16 || fields.iter().any(|(_, v)| *v != valid) {
            return None;
        }
        let mut runs: Vec<BitRun> = Vec::new();
        let mut end = 0;
        for (field, _) in fields {
            let Location::Wire { bit } = field.location else { return None };
            let width = u32::from(field.width);
            end += width;
            match runs.last_mut() {
                Some(run) if run.bit + run.width == bit => {
                    run.width += width;
                    run.end = end;
                }
                _ => runs.push(BitRun { bit, width, end }),
            }
        }
        Some((valid, runs))
    }

    /// The sum is one of 16-bit words in ones' complement, where 2^16 counts as 1: any part may be added as a
    /// number, shifted to where it ends within its word. So whole words need no change of their byte order:
    /// 2^8 times their little-endian sum counts the same.
    fn internet(&mut self, valid: u32, runs: &[BitRun]) -> Value {
        let (mut sum, mut little) = (self.int(0), self.int(0));
        for run in runs {
            let (mut bit, mut left) = (run.bit, run.width);
            while left > 0 {
                // 32 bits and a shift below 16 leave room for 2^16 summands. Parts end with a byte if
                // possible.
                let most = 32 - bit % 8;
                let width = left.min(most);
                left -= width;
                let at = At { base: self.phv, offset: bit as i32 / 8 };
                let shift = (16 - (run.end - left) % 16) % 16;
                if width % 16 == 0 && bit % 8 == 0 && shift == 0 {
                    let value = self.load_extended(at, width as u8 / 8);
                    little = self.b.ins().iadd(little, value);
                } else {
                    let value = self.load_bits(at, bit % 8, width as u8);
                    let value = self.b.ins().ishl_imm(value, i64::from(shift));
                    sum = self.b.ins().iadd(sum, value);
                }
                bit += width;
            }
        }
        let little = self.b.ins().ishl_imm(little, 8);
        let sum = self.b.ins().iadd(sum, little);
        let sum = self.folded(sum);
        let sum = self.b.ins().ireduce(types::I32, sum);
        let sum = self.folded(sum);
        let sum = self.b.ins().uextend(types::I64, sum);
        let sum = self.b.ins().bxor_imm(sum, 0xffff);
        let (valid, nothing) = (self.host_load(valid, 1), self.int(0xffff));
        self.b.ins().select(valid, sum, nothing)
    }

    /// The sum of a value's halves in ones' complement: in the upper half, to which the lower one carries.
    fn folded(&mut self, value: Value) -> Value {
        let half = i64::from(self.b.func.dfg.value_type(value).bits() / 2);
        let swapped = self.b.ins().rotl_imm(value, half);
        let both = self.b.ins().iadd(value, swapped);
        self.b.ins().ushr_imm(both, half)
    }

    /// The word of a key field that starts `shift` bits above the lowest.
    pub fn key_word(&mut self, field: Field, shift: u32) -> Value {
        let width = u32::from(field.width);
        match field.location {
            Location::Host { offset, bytes } => self.host_load(offset, bytes),
            Location::Wire { bit } => {
                let part = (width - shift).min(64);
                let first = bit + width - shift - part;
                let at = At { base: self.phv, offset: first as i32 / 8 };
                self.load_bits(at, first % 8, part as u8)
            }
        }
    }

    /// Runs the deparser's operations, then writes the valid headers.
    pub fn deparse(&mut self) {
        self.update();
        let program = self.program;
        self.action(&program.deparser.ops, Locals::Known(&[]), None);
        let mut at = self.get(Word::out);
        let first = at;
        for &header in &program.deparser.order {
            let fields = program.layout.header(header);
            let (emit, next) = (self.b.create_block(), self.b.create_block());
            let after = self.b.append_block_param(next, types::I64);
            let valid = self.valid(header);
            self.b.ins().brif(valid, emit, &[], next, &[at]);
            self.b.switch_to_block(emit);
            let from = self.fields(fields);
            // `out` has room for all headers.
            let to = At { base: self.extents.within(at, fields.len as usize), offset: 0 };
            for piece in self.pieces(fields) {
                self.copy(to.plus(piece.start), from.plus(piece.start), piece.len());
            }
            let moved = self.b.ins().iadd_imm(at, i64::from(fields.len));
            self.b.ins().jump(next, &[moved]);
            self.b.switch_to_block(next);
            at = after;
        }
        let length = self.b.ins().isub(at, first);
        self.put(Word::out_len, length);
    }

    /// A header's bytes, cut around checksums: these were stored a moment ago, and a load of them together
    /// with other bytes would wait until they have reached memory.
    fn pieces(&self, header: &Header) -> Vec<Range<usize>> {
        let end = header.len as usize;
        let within = |checksum: &Checksum| match checksum.field.location {
            Location::Wire { bit } if bit % 8 == 0 && checksum.field.width % 8 == 0 => {
                let start = (bit as usize / 8).checked_sub(header.first as usize)?;
                Some([start, start + usize::from(checksum.field.width) / 8])
            }
            _ => None,
        };
        let fields = self.program.updated.iter().filter_map(within).flatten();
        let mut cuts: Vec<usize> = fields.filter(|cut| *cut < end).chain([0, end]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        cuts.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    /// Puts the results that Rust reads after ingress into the context.
    pub fn summarise(&mut self) {
        let standard = &self.program.standard;
        let mut bytes = self.int(0);
        for &header in &self.program.deparser.order {
            let valid = self.valid(header);
            let len = self.program.layout.header(header).len;
            let size = self.b.ins().imul_imm(valid, i64::from(len));
            bytes = self.b.ins().iadd(bytes, size);
        }
        self.put(Word::header_bytes, bytes);
        let fields = [
            (Word::group, standard.mcast_grp),
            (Word::egress_spec, Some(standard.egress_spec)),
            (Word::priority, standard.priority),
        ];
        for (word, field) in fields {
            let value = match field.map(|field| self.field_bits(field)) {
                Some(Ok(value)) => value,
                _ => self.int(0),
            };
            self.put(word, value);
        }
    }
}
