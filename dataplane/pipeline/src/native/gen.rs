//! Generating machine code: access to the context, to fields and to bytes of the wire.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{types, AbiParam, Block, InstBuilder, MemFlags, SigRef, Signature, Type, Value};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::FunctionBuilder;

use crate::native::bounds::Extents;
use crate::native::compile::Rare;
use crate::program::field::{Field, Location};
use crate::program::phv::Header;
use crate::program::Program;
use crate::state::context::Word;

/// A step that native code does not cover: the interpreter does it.
#[derive(Debug)]
pub(crate) struct NotNative;

/// The code of one function under construction.
pub(crate) struct Gen<'a> {
    pub b: FunctionBuilder<'a>,
    pub program: &'a Program,
    /// The steps left to the interpreter.
    pub rare: &'a mut Rare,
    pub context: Value,
    pub phv: Value,
    /// The bytes of memory at each address that is used.
    pub extents: Extents,
    /// The block that runs when the packet's way through the control ends.
    pub end: Block,
    pub call_conv: CallConv,
}

/// Blocks by number: of a control's nodes or a parser's states that were reached so far.
#[derive(Default)]
pub(crate) struct Blocks {
    blocks: HashMap<u32, Block>,
    waiting: Vec<u32>,
}

impl Blocks {
    /// The block of a number.
    pub fn get(&mut self, gen: &mut Gen<'_>, number: u32) -> Block {
        *self.blocks.entry(number).or_insert_with(|| {
            self.waiting.push(number);
            gen.b.create_block()
        })
    }

    /// The next number whose block has no code yet; its code goes there.
    pub fn next(&mut self, gen: &mut Gen<'_>) -> Option<u32> {
        let number = self.waiting.pop()?;
        gen.b.switch_to_block(self.blocks[&number]);
        Some(number)
    }
}

/// Bytes of a word, and of the widest move.
const WORD: usize = 8;
const VECTOR: usize = 16;

/// The place of bytes in memory: an address and a constant offset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At {
    pub base: Value,
    pub offset: i32,
}

impl At {
    pub fn plus(self, bytes: usize) -> At {
        At { base: self.base, offset: self.offset + bytes as i32 }
    }
}

/// All memory of native code is there and may be unaligned.
fn flags() -> MemFlags {
    MemFlags::new().with_notrap()
}

impl Gen<'_> {
    pub fn int(&mut self, value: u64) -> Value {
        self.b.ins().iconst(types::I64, value as i64)
    }

    pub fn get(&mut self, word: Word) -> Value {
        self.b.ins().load(types::I64, flags(), self.context, word.offset())
    }

    pub fn put(&mut self, word: Word, value: Value) {
        self.b.ins().store(flags(), value, self.context, word.offset());
    }

    pub fn put_int(&mut self, word: Word, value: u64) {
        let value = self.int(value);
        self.put(word, value);
    }

    /// Adds 1 to a word of the context.
    pub fn bump(&mut self, word: Word) {
        let value = self.get(word);
        let value = self.b.ins().iadd_imm(value, 1);
        self.put(word, value);
    }

    pub fn load(&mut self, base: Value, offset: i32) -> Value {
        self.b.ins().load(types::I64, flags(), base, offset)
    }

    pub fn store(&mut self, value: Value, base: Value, offset: i32) {
        self.b.ins().store(flags(), value, base, offset);
    }

    /// A test as a number: 0 or 1.
    pub fn test(&mut self, code: IntCC, a: Value, b: Value) -> Value {
        let bit = self.b.ins().icmp(code, a, b);
        self.b.ins().uextend(types::I64, bit)
    }

    pub fn is_zero(&mut self, value: Value) -> Value {
        let zero = self.int(0);
        self.test(IntCC::Equal, value, zero)
    }

    pub fn is_not_zero(&mut self, value: Value) -> Value {
        let zero = self.int(0);
        self.test(IntCC::NotEqual, value, zero)
    }

    /// Goes on in a new block, or at `other` if `value` is 0.
    pub fn unless_zero(&mut self, value: Value, other: Block) {
        let next = self.b.create_block();
        self.b.ins().brif(value, next, &[], other, &[]);
        self.b.switch_to_block(next);
    }

    /// Goes on in a new block if `value` is 0, or else at `other`.
    pub fn if_zero(&mut self, value: Value, other: Block) {
        let next = self.b.create_block();
        self.b.ins().brif(value, other, &[], next, &[]);
        self.b.switch_to_block(next);
    }

    /// Code that runs only if `value` is not 0.
    pub fn when(&mut self, value: Value, code: impl FnOnce(&mut Self)) {
        let after = self.b.create_block();
        self.unless_zero(value, after);
        code(self);
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
    }

    /// Calls a Rust function of this many words that returns a word.
    pub fn call(&mut self, function: *const u8, arguments: &[Value]) -> Value {
        let mut signature = Signature::new(self.call_conv);
        signature.params.resize(arguments.len(), AbiParam::new(types::I64));
        signature.returns.push(AbiParam::new(types::I64));
        let signature: SigRef = self.b.import_signature(signature);
        let address = self.int(function as u64);
        let call = self.b.ins().call_indirect(signature, address, arguments);
        self.b.inst_results(call)[0]
    }

    fn host_type(bytes: u8) -> Type {
        match bytes {
            1 => types::I8,
            2 => types::I16,
            4 => types::I32,
            _ => types::I64,
        }
    }

    /// The bits of a field of at most 64 bits.
    pub fn field_bits(&mut self, field: Field) -> Result<Value, NotNative> {
        if field.width > 64 {
            return Err(NotNative);
        }
        match field.location {
            Location::Host { offset, bytes } => Ok(self.host_load(offset, bytes)),
            Location::Wire { bit } => Ok(self.wire_load(bit, field.width)),
        }
    }

    /// Stores the lowest bits of a value in a field of at most 64 bits.
    pub fn set_field(&mut self, field: Field, value: Value) -> Result<(), NotNative> {
        if field.width > 64 {
            return Err(NotNative);
        }
        match field.location {
            Location::Host { offset, bytes } => {
                let value = self.masked(value, field.width, 8 * bytes);
                self.host_store(value, offset, bytes);
                Ok(())
            }
            Location::Wire { bit } => {
                let at = At { base: self.phv, offset: bit as i32 / 8 };
                self.store_bits(at, bit % 8, field.width, value);
                Ok(())
            }
        }
    }

    pub fn host_load(&mut self, offset: u32, bytes: u8) -> Value {
        self.load_extended(At { base: self.phv, offset: offset as i32 }, bytes)
    }

    /// 1, 2, 4 or 8 bytes, as they are in memory, with zeros above: one instruction.
    pub fn load_extended(&mut self, at: At, bytes: u8) -> Value {
        let At { base, offset } = at;
        match bytes {
            1 => self.b.ins().uload8(types::I64, flags(), base, offset),
            2 => self.b.ins().uload16(types::I64, flags(), base, offset),
            4 => self.b.ins().uload32(flags(), base, offset),
            _ => self.b.ins().load(types::I64, flags(), base, offset),
        }
    }

    pub fn host_store(&mut self, value: Value, offset: u32, bytes: u8) {
        let value = self.reduce(value, Gen::host_type(bytes));
        self.b.ins().store(flags(), value, self.phv, offset as i32);
    }

    fn extend(&mut self, value: Value, from: Type) -> Value {
        match from {
            types::I64 => value,
            _ => self.b.ins().uextend(types::I64, value),
        }
    }

    fn reduce(&mut self, value: Value, to: Type) -> Value {
        match to {
            types::I64 => value,
            _ => self.b.ins().ireduce(to, value),
        }
    }

    /// The lowest `width` bits, unless `room` cuts there anyway.
    pub fn masked(&mut self, value: Value, width: u8, room: u8) -> Value {
        if width >= room.min(64) {
            return value;
        }
        self.b.ins().band_imm(value, ((1u64 << width) - 1) as i64)
    }

    /// The place of a header's fields.
    pub fn fields(&self, header: &Header) -> At {
        At { base: self.phv, offset: header.first as i32 }
    }

    pub fn valid(&mut self, header: u32) -> Value {
        let offset = self.program.layout.header(header).valid;
        self.host_load(offset, 1)
    }

    pub fn set_valid(&mut self, header: u32, valid: bool) {
        let offset = self.program.layout.header(header).valid;
        let value = self.int(u64::from(valid));
        self.host_store(value, offset, 1);
        if valid {
            self.only(header);
        }
    }

    /// Makes the other headers of a valid one's union invalid.
    fn only(&mut self, header: u32) {
        for &other in &self.program.layout.header(header).others {
            let zero = self.int(0);
            self.host_store(zero, other, 1);
        }
    }

    /// A field on the wire within the packet's memory, where eight bytes can always be loaded.
    fn wire_load(&mut self, bit: u32, width: u8) -> Value {
        let at = At { base: self.phv, offset: bit as i32 / 8 };
        let bits = bit % 8 + u32::from(width);
        match bits.div_ceil(8) {
            bytes @ (3 | 5 | 6 | 7) => {
                let word = self.load_be(at, 8);
                let value = self.b.ins().ushr_imm(word, i64::from(64 - 8 * bytes));
                self.part(value, 8 * bytes - bits, width, 8 * bytes)
            }
            _ => self.load_bits(at, bit % 8, width),
        }
    }

    /// `width` bits that end `shift` bits above the lowest, of a value of `size` bits.
    fn part(&mut self, value: Value, shift: u32, width: u8, size: u32) -> Value {
        let value = if shift > 0 { self.b.ins().ushr_imm(value, i64::from(shift)) } else { value };
        self.masked(value, width, (size - shift) as u8)
    }

    /// At most 64 big-endian bits; loads the bytes that hold them and no others.
    pub fn load_bits(&mut self, at: At, bit: u32, width: u8) -> Value {
        let at = at.plus(bit as usize / 8);
        let bits = bit % 8 + u32::from(width);
        let bytes = bits.div_ceil(8);
        if bytes > 8 {
            let rest = bits % 8;
            let high = self.load_bits(at, bit % 8, width - rest as u8);
            let low = self.load_bits(at, bits - rest, rest as u8);
            let high = self.b.ins().ishl_imm(high, i64::from(rest));
            return self.b.ins().bor(high, low);
        }
        let value = self.load_be(at, bytes);
        self.part(value, 8 * bytes - bits, width, 8 * bytes)
    }

    /// A big-endian number of 1 to 8 bytes.
    fn load_be(&mut self, at: At, bytes: u32) -> Value {
        let whole = 1 << bytes.ilog2();
        let kind = Gen::host_type(whole as u8);
        let value = if whole == 1 {
            self.load_extended(at, 1)
        } else {
            let value = self.b.ins().load(kind, flags(), at.base, at.offset);
            let value = self.b.ins().bswap(value);
            self.extend(value, kind)
        };
        if whole == bytes {
            return value;
        }
        let rest = self.load_be(at.plus(whole as usize), bytes - whole);
        let value = self.b.ins().ishl_imm(value, i64::from(8 * (bytes - whole)));
        self.b.ins().bor(value, rest)
    }

    fn store_be(&mut self, at: At, bytes: u32, value: Value) {
        let whole = 1 << bytes.ilog2();
        let rest = bytes - whole;
        let high = if rest > 0 { self.b.ins().ushr_imm(value, i64::from(8 * rest)) } else { value };
        let high = self.reduce(high, Gen::host_type(whole as u8));
        let high = if whole > 1 { self.b.ins().bswap(high) } else { high };
        self.b.ins().store(flags(), high, at.base, at.offset);
        if rest > 0 {
            self.store_be(at.plus(whole as usize), rest, value);
        }
    }

    /// Replaces at most 64 big-endian bits by the lowest of a value.
    pub fn store_bits(&mut self, at: At, bit: u32, width: u8, value: Value) {
        let at = at.plus(bit as usize / 8);
        let bits = bit % 8 + u32::from(width);
        let bytes = bits.div_ceil(8);
        if bytes > 8 {
            let rest = bits % 8;
            let high = self.b.ins().ushr_imm(value, i64::from(rest));
            self.store_bits(at, bit % 8, width - rest as u8, high);
            return self.store_bits(at, bits - rest, rest as u8, value);
        }
        if bits == u32::from(width) && bits % 8 == 0 {
            return self.store_be(at, bytes, value);
        }
        let shift = 8 * bytes - bits;
        let mask = (u64::MAX >> (64 - u32::from(width))) << shift;
        let old = self.load_be(at, bytes);
        let old = self.b.ins().band_imm(old, !mask as i64);
        let new = self.b.ins().ishl_imm(value, i64::from(shift));
        let new = self.b.ins().band_imm(new, mask as i64);
        let both = self.b.ins().bor(old, new);
        self.store_be(at, bytes, both);
    }

    /// Copies bytes that do not overlap, word by word: the bytes of a wider load were often written by two
    /// stores a moment ago, and the load would wait until both have reached memory.
    pub fn copy(&mut self, to: At, from: At, bytes: usize) {
        self.moves(bytes, WORD, |gen, kind, offset| {
            let from = from.plus(offset);
            let value = gen.b.ins().load(kind, flags(), from.base, from.offset);
            let to = to.plus(offset);
            gen.b.ins().store(flags(), value, to.base, to.offset);
        });
    }

    pub fn clear(&mut self, to: At, bytes: usize) {
        self.moves(bytes, VECTOR, |gen, kind, offset| {
            let to = to.plus(offset);
            let lane = kind.lane_type();
            let zero = gen.b.ins().iconst(if kind.is_vector() { types::I8 } else { lane }, 0);
            let zero = if kind.is_vector() { gen.b.ins().splat(kind, zero) } else { zero };
            gen.b.ins().store(flags(), zero, to.base, to.offset);
        });
    }

    /// Covers a run of bytes with moves as large as possible, and no larger than `most`; the last may overlap
    /// the one before it.
    fn moves(&mut self, bytes: usize, most: usize, mut each: impl FnMut(&mut Self, Type, usize)) {
        let sizes =
            [(VECTOR, types::I8X16), (WORD, types::I64), (4, types::I32), (2, types::I16), (1, types::I8)];
        let mut at = 0;
        for (size, kind) in sizes.into_iter().filter(|(size, _)| *size <= most) {
            while bytes - at >= size {
                each(self, kind, at);
                at += size;
            }
            if at >= size && at < bytes && size > 1 && bytes - at > size / 2 {
                each(self, kind, bytes - size);
                return;
            }
        }
    }
}
