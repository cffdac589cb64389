//! Actions as machine code.

use std::mem::size_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use crate::native::compile::RareStep;
use crate::native::expr::{Locals, RangedValue};
use crate::native::gen::{At, Gen, NotNative};
use crate::native::helpers;
use crate::program::action::{AssignTarget, HeaderRef, Op};
use crate::program::expr::Expr;
use crate::program::field::{Field, Location};
use crate::state::context::{CounterCells, RegisterCells, Word};

/// Bytes of a cell of a register array, and of a counter array: a power of two.
const REGISTER_BYTES: usize = 8;
const COUNTER_BYTES: usize = 16;

/// A row from which the interpreter takes an action's arguments: the table, and the row's address.
pub(crate) type ArgumentRow = Option<(u32, Value)>;

impl Gen<'_> {
    /// An action's primitives. Goes to `end` where one of them fails or exits.
    pub fn action(&mut self, ops: &[Op], locals: Locals<'_>, source: ArgumentRow) {
        let jumps_back = |(at, op): (usize, &Op)| match op {
            Op::Jump(to) | Op::JumpIfZero { to, .. } => *to as usize <= at,
            _ => false,
        };
        if ops.iter().enumerate().any(jumps_back) {
            // The interpreter bounds loops.
            self.rare_ops(ops, locals, source);
            return;
        }
        let targets = |op: &Op| match op {
            Op::Jump(to) | Op::JumpIfZero { to, .. } => Some((*to as usize).min(ops.len())),
            _ => None,
        };
        let mut blocks = vec![None; ops.len() + 1];
        for target in ops.iter().filter_map(targets) {
            blocks[target].get_or_insert_with(|| self.b.create_block());
        }
        for (at, op) in ops.iter().enumerate() {
            self.enter(blocks[at]);
            match op {
                Op::Jump(to) => {
                    if let Some(block) = blocks[(*to as usize).min(ops.len())] {
                        self.b.ins().jump(block, &[]);
                        let unreachable = self.b.create_block();
                        self.b.switch_to_block(unreachable);
                    }
                }
                Op::JumpIfZero { condition, to } => {
                    if let Some(block) = blocks[(*to as usize).min(ops.len())] {
                        let value = self.expr(condition, locals).and_then(RangedValue::exact);
                        let value =
                            value.unwrap_or_else(|NotNative| self.rare_test(condition, locals, source));
                        self.unless_zero(value, block);
                    }
                }
                _ => {
                    if self.op(op, locals).is_err() {
                        self.rare_ops(std::slice::from_ref(op), locals, source);
                    }
                }
            }
        }
        self.enter(blocks[ops.len()]);
        if ops.iter().any(|op| matches!(op, Op::Exit)) {
            let exit = self.get(Word::exit);
            self.if_zero(exit, self.end);
        }
    }

    fn enter(&mut self, block: Option<cranelift_codegen::ir::Block>) {
        if let Some(block) = block {
            self.b.ins().jump(block, &[]);
            self.b.switch_to_block(block);
        }
    }

    /// One primitive, or nothing that has an effect and an error.
    pub fn op(&mut self, op: &Op, locals: Locals<'_>) -> Result<(), NotNative> {
        match op {
            Op::Assign { target: AssignTarget::Field(field), value } => self.assign(*field, value, locals)?,
            Op::AddHeader(HeaderRef::Fixed(header)) => self.add_header(*header),
            Op::RemoveHeader(HeaderRef::Fixed(header)) => self.remove_header(*header),
            Op::CopyHeaders { pairs, next } => self.copy_headers(pairs, *next)?,
            Op::MarkToDrop { egress_spec, mcast_grp, place } => {
                self.put_int(Word::dropped_at, u64::from(*place));
                let (drop_port, zero) = (self.get(Word::drop_port), self.int(0));
                self.set_field(*egress_spec, drop_port)?;
                mcast_grp.map_or(Ok(()), |group| self.set_field(group, zero))?;
            }
            Op::RegisterRead { target: AssignTarget::Field(field), register, index } => {
                if self.program.registers[*register as usize].width > 64 || field.width > 64 {
                    return Err(NotNative);
                }
                let index = self.expr(index, locals)?.natural()?;
                let array = self.register(*register);
                self.with_cell((array, REGISTER_BYTES), index, Word::register_out_of_range, |gen, at| {
                    let loaded = gen.load(at, 0);
                    gen.set_field(*field, loaded)
                })?;
            }
            Op::RegisterWrite { register, index, value } => {
                let width = self.program.registers[*register as usize].width;
                if width > 64 {
                    return Err(NotNative);
                }
                let (index, value) = (self.expr(index, locals)?.natural()?, self.expr(value, locals)?.value);
                let value = self.masked(value, width as u8, 64);
                self.register_write(*register, index, value)?;
            }
            Op::Count { counter, index } => {
                let index = self.expr(index, locals)?.natural()?;
                self.count_at(*counter, index)?;
            }
            Op::ExecuteMeter { meter, index, target: AssignTarget::Field(field) } => {
                let index = self.expr(index, locals)?.natural()?;
                let (context, meter, before) =
                    (self.context, self.int(u64::from(*meter)), self.field_bits(*field)?);
                let colour = self.call(helpers::meter as *const u8, &[context, meter, index, before]);
                self.set_field(*field, colour)?;
            }
            Op::Hash { target: AssignTarget::Field(field), base, calculation, max } => {
                if field.width > 64 {
                    return Err(NotNative);
                }
                let (base, max) = (self.expr(base, locals)?, self.expr(max, locals)?.natural()?);
                let one = self.int(1);
                let max = self.b.ins().umax(max, one);
                let hash = self.calculation(*calculation);
                let hash = self.b.ins().urem(hash, max);
                let value = self.b.ins().iadd(base.value, hash);
                self.set_field(*field, value)?;
            }
            Op::Clone { session, list } => {
                let session = self.expr(session, locals)?.value;
                let session = self.b.ins().band_imm(session, i64::from(u32::MAX));
                self.put(Word::clone_session, session);
                self.put_int(Word::clone_list, u64::from(*list) + 1);
            }
            Op::Resubmit(list) => self.put_int(Word::resubmit, u64::from(*list) + 1),
            Op::Recirculate(list) => self.put_int(Word::recirculate, u64::from(*list) + 1),
            Op::Truncate(length) => {
                let (length, most) = (self.expr(length, locals)?.natural()?, self.int(u64::from(u32::MAX)));
                let length = self.b.ins().umin(length, most);
                self.put(Word::truncate, length);
            }
            Op::Assert { condition, place } => {
                let condition = self.expr(condition, locals)?.exact()?;
                self.assert(condition, *place);
            }
            Op::Exit => self.put_int(Word::exit, 1),
            Op::Nothing => {}
            _ => return Err(NotNative),
        }
        Ok(())
    }

    pub fn assign(&mut self, field: Field, value: &Expr, locals: Locals<'_>) -> Result<(), NotNative> {
        if field.width <= 64 {
            let value = self.expr(value, locals)?;
            return self.set_field(field, value.value);
        }
        // Wider fields can be copied where they start and end with a byte.
        let Expr::Field(from) = value else { return Err(NotNative) };
        match (field.location, from.location) {
            (Location::Wire { bit: to }, Location::Wire { bit })
                if to % 8 == 0 && bit % 8 == 0 && field.width == from.width && field.width % 8 == 0 =>
            {
                let to = At { base: self.phv, offset: to as i32 / 8 };
                let from = At { base: self.phv, offset: bit as i32 / 8 };
                self.copy(to, from, usize::from(field.width) / 8);
                Ok(())
            }
            _ => Err(NotNative),
        }
    }

    fn add_header(&mut self, header: u32) {
        let fields = self.program.layout.header(header);
        if fields.metadata {
            return;
        }
        let (valid, next) = (self.valid(header), self.b.create_block());
        self.if_zero(valid, next);
        self.clear(self.fields(fields), fields.len as usize);
        self.set_valid(header, true);
        let (length, most) = (self.get(Word::length), self.int(u64::from(u32::MAX)));
        let length = self.b.ins().iadd_imm(length, i64::from(fields.len));
        let length = self.b.ins().umin(length, most);
        self.put(Word::length, length);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
    }

    fn remove_header(&mut self, header: u32) {
        let fields = self.program.layout.header(header);
        if fields.metadata {
            return;
        }
        let valid = self.valid(header);
        self.when(valid, |gen| {
            gen.set_valid(header, false);
            let (length, least) = (gen.get(Word::length), gen.int(u64::from(fields.len)));
            // Not below 0.
            let length = gen.b.ins().umax(length, least);
            let length = gen.b.ins().isub(length, least);
            gen.put(Word::length, length);
        });
    }

    fn copy_headers(
        &mut self, pairs: &[(HeaderRef, HeaderRef)], next: Option<(Field, Field)>,
    ) -> Result<(), NotNative> {
        let fixed = |pair: &(HeaderRef, HeaderRef)| match pair {
            (HeaderRef::Fixed(target), HeaderRef::Fixed(source)) => Ok((*target, *source)),
            _ => Err(NotNative),
        };
        let pairs = pairs.iter().map(fixed).collect::<Result<Vec<_>, _>>()?;
        pairs.into_iter().for_each(|(target, source)| self.copy_header(target, source));
        next.map_or(Ok(()), |(to, from)| {
            let count = self.field_bits(from)?;
            self.set_field(to, count)
        })
    }

    fn copy_header(&mut self, target: u32, source: u32) {
        let layout = &self.program.layout;
        let (to, from) = (layout.header(target), layout.header(source));
        if target == source {
            return;
        }
        let valid = self.valid(source);
        self.host_store(valid, to.valid, 1);
        self.when(valid, |gen| {
            gen.set_valid(target, true);
            gen.copy(gen.fields(to), gen.fields(from), to.len as usize);
        });
    }

    fn assert(&mut self, condition: Value, place: u32) {
        let (failed, next) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(condition, next, &[], failed, &[]);
        self.b.switch_to_block(failed);
        self.bump(Word::assertions_failed);
        self.put_int(Word::failed, 1);
        self.put_int(Word::dropped_at, u64::from(place));
        self.b.ins().jump(self.end, &[]);
        self.b.switch_to_block(next);
    }

    /// Counts the packet in a counter's cell.
    fn count_at(&mut self, counter: u32, index: Value) -> Result<(), NotNative> {
        if !self.program.counters[counter as usize].reasons.is_empty() {
            self.put_int(Word::counter, u64::from(counter) + 1);
            self.put(Word::counter_cell, index);
        }
        let base = self.get(Word::counters);
        self.extents.within(base, size_of::<CounterCells>() * self.program.counters.len());
        let array = At { base, offset: 0 }.plus(size_of::<CounterCells>() * counter as usize);
        self.with_cell((array, COUNTER_BYTES), index, Word::counter_out_of_range, |gen, at| {
            gen.count(at, 0);
            Ok(())
        })
    }

    /// The address of a register's description, [`RegisterCells`].
    fn register(&mut self, register: u32) -> At {
        let base = self.get(Word::registers);
        self.extents.within(base, size_of::<RegisterCells>() * self.program.registers.len());
        At { base, offset: 0 }.plus(size_of::<RegisterCells>() * register as usize)
    }

    /// Code for the cell of an array, given where the array's address and length are and the bytes of a cell,
    /// or for counting an index beyond its end.
    fn with_cell(
        &mut self, (array, bytes): (At, usize), index: Value, out_of_range: Word,
        code: impl FnOnce(&mut Self, Value) -> Result<(), NotNative>,
    ) -> Result<(), NotNative> {
        let (within, out) = (self.b.create_block(), self.b.create_block());
        let done = self.b.create_block();
        let cells = self.load(array.base, array.offset);
        let len = self.load(array.base, array.offset + 8);
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, index, len);
        self.b.ins().brif(inside, within, &[], out, &[]);
        self.b.switch_to_block(within);
        let at = self.b.ins().ishl_imm(index, i64::from(bytes.ilog2()));
        let at = self.b.ins().iadd(cells, at);
        let at = self.extents.within(at, bytes);
        code(self, at)?;
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(out);
        self.bump(out_of_range);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
        Ok(())
    }

    fn register_write(&mut self, register: u32, index: Value, value: Value) -> Result<(), NotNative> {
        let array = self.register(register);
        self.with_cell((array, REGISTER_BYTES), index, Word::register_out_of_range, |gen, at| {
            gen.store(value, at, 0);
            let watched = gen.load(array.base, array.offset + 16);
            gen.when(watched, |gen| {
                let (context, register) = (gen.context, gen.int(u64::from(register)));
                gen.call(helpers::note as *const u8, &[context, register, index]);
            });
            Ok(())
        })
    }

    /// Adds the packet to the counter at an address.
    pub fn count(&mut self, at: Value, offset: i32) {
        let packets = self.load(at, offset);
        let packets = self.b.ins().iadd_imm(packets, 1);
        self.store(packets, at, offset);
        let (bytes, received) = (self.load(at, offset + 8), self.get(Word::received));
        let bytes = self.b.ins().iadd(bytes, received);
        self.store(bytes, at, offset + 8);
    }

    /// Leaves primitives to the interpreter, and goes to `end` where one failed or exited.
    pub fn rare_ops(&mut self, ops: &[Op], locals: Locals<'_>, source: ArgumentRow) {
        let stop = self.rare(RareStep::Ops(ops.to_vec()), locals, source);
        self.if_zero(stop, self.end);
    }

    /// Leaves a condition to the interpreter: 0 or 1.
    pub fn rare_test(&mut self, condition: &Expr, locals: Locals<'_>, source: ArgumentRow) -> Value {
        self.rare(RareStep::Test(condition.clone()), locals, source)
    }

    fn rare(&mut self, step: RareStep, locals: Locals<'_>, source: ArgumentRow) -> Value {
        let number = self.rare.steps.len() as u64;
        let known = match locals {
            Locals::Known(values) => values.to_vec(),
            Locals::Row(..) => Vec::new(),
        };
        self.rare.steps.push((step, known));
        let (context, number) = (self.context, self.int(number));
        let (table, row) = match source {
            Some((table, row)) => (self.int(u64::from(table) + 1), row),
            None => (self.int(0), self.int(0)),
        };
        self.call(helpers::interpret as *const u8, &[context, number, table, row])
    }
}
