//! Controls as machine code: a block for each node, and the actions within.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{types, Block, InstBuilder, StackSlotData, StackSlotKind, Value};
use cranelift_frontend::Switch;

use crate::native::expr::Locals;
use crate::native::gen::{At, Blocks, Gen};
use crate::native::helpers;
use crate::program::table::{ControlNode, Next, Table};
use crate::state::context::Word;
use crate::state::row::{RowShape, COUNTER};
use crate::state::table::TableState;

/// Tables with more actions than this find an action's code through a table of addresses.
const FEW_ACTIONS: usize = 4;

impl Gen<'_> {
    /// A control from its first node; all ways lead to `end`.
    pub fn control(&mut self, start: Next) {
        let mut nodes = Blocks::default();
        let first = self.node(&mut nodes, start);
        self.b.ins().jump(first, &[]);
        while let Some(node) = nodes.next(self) {
            match &self.program.nodes[node as usize] {
                ControlNode::Condition { condition, on_true, on_false } => {
                    let (on_true, on_false) =
                        (self.node(&mut nodes, *on_true), self.node(&mut nodes, *on_false));
                    self.branch(condition, on_true, on_false);
                }
                ControlNode::Call { action, next } => {
                    let ops = &self.program.bodies[*action as usize].ops;
                    self.action(ops, Locals::Known(&[]), None);
                    let next = self.node(&mut nodes, *next);
                    self.b.ins().jump(next, &[]);
                }
                ControlNode::Table(table) => self.table(*table, &mut nodes),
            }
        }
    }

    /// The block of a node, or of the end.
    fn node(&mut self, nodes: &mut Blocks, next: Next) -> Block {
        next.map_or(self.end, |node| nodes.get(self, node))
    }

    fn table(&mut self, number: u32, nodes: &mut Blocks) {
        let program = self.program;
        let table = &program.match_tables[number as usize];
        match (&table.default, table.bare) {
            (Some(call), Some(next)) => {
                let ops = &program.bodies[call.action.index()].ops;
                self.action(ops, Locals::Known(&call.arguments), None);
                let next = self.node(nodes, next);
                self.b.ins().jump(next, &[]);
            }
            _ => self.looked_up(number, table, nodes),
        }
    }

    fn looked_up(&mut self, number: u32, table: &Table, nodes: &mut Blocks) {
        let program = self.program;
        let info = &program.tables[number as usize];
        self.action(&table.before, Locals::Known(&[]), None);
        let shape = RowShape::new(info, &program.actions);
        let found = self.find(number, table, &shape);
        self.extents.within(found, 8 * shape.stride);
        // The first word has the position of the action, then the number of the row.
        let action = self.load_extended(At { base: found, offset: 0 }, 4);
        let hit = self.load_extended(At { base: found, offset: 4 }, 4);
        if table.counted {
            self.count(found, 8 * COUNTER as i32);
        }
        if table.timed {
            let now = self.get(Word::now);
            self.store(now, found, 8 * (shape.stride - 1) as i32);
        }
        if let Some((_, target)) = table.metered {
            let before = self.key_word(target, 0);
            let (context, table) = (self.context, self.int(u64::from(number)));
            let colour = self.call(helpers::direct_meter as *const u8, &[context, table, hit, before]);
            // A colour's field is narrow, or the program would not have been compiled.
            let _ = self.set_field(target, colour);
        }
        let none = self.b.create_block();
        let cases: Vec<_> = info.actions.iter().zip(&table.next).collect();
        let blocks: Vec<_> = cases.iter().map(|_| self.b.create_block()).collect();
        self.dispatch(action, &blocks, none);
        for ((block, places), (&action, &next)) in blocks.into_iter().zip(&shape.arguments).zip(cases) {
            self.b.switch_to_block(block);
            let ops = &program.bodies[action.index()].ops;
            self.action(ops, Locals::Row(found, places), Some((number, found)));
            self.after(table, hit, next, nodes);
        }
        self.b.switch_to_block(none);
        let next = self.node(nodes, table.next_miss.unwrap_or(table.next_default));
        self.b.ins().jump(next, &[]);
    }

    /// Goes to the block of an action: the first for 1, and so on. Few are tested one by one, which costs
    /// less than a jump through a table.
    fn dispatch(&mut self, action: Value, blocks: &[Block], none: Block) {
        if blocks.len() > FEW_ACTIONS {
            let mut switch = Switch::new();
            (1..).zip(blocks).for_each(|(number, &block)| switch.set_entry(number, block));
            return switch.emit(&mut self.b, action, none);
        }
        for (number, &block) in (1..).zip(blocks) {
            let hit = self.b.ins().icmp_imm(IntCC::Equal, action, number);
            self.if_zero(hit, block);
        }
        self.b.ins().jump(none, &[]);
    }

    /// Goes on after an action whose list entry says `next`.
    fn after(&mut self, table: &Table, hit: Value, next: Next, nodes: &mut Blocks) {
        let on_hit = self.node(nodes, table.next_hit.unwrap_or(next));
        let on_miss = self.node(nodes, table.next_miss.unwrap_or(next));
        if on_hit == on_miss {
            self.b.ins().jump(on_hit, &[]);
        } else {
            self.b.ins().brif(hit, on_hit, &[], on_miss, &[]);
        }
    }

    /// The address of the row that matches, or of the miss row. A table without entries costs neither key nor
    /// call.
    fn find(&mut self, number: u32, table: &Table, shape: &RowShape) -> Value {
        let tables = self.get(Word::states);
        let offset = number as usize * std::mem::size_of::<TableState>();
        let address = self.b.ins().iadd_imm(tables, offset as i64);
        let address = self.extents.within(address, 8);
        let vacant = self.load(address, 0);
        let (search, done) = (self.b.create_block(), self.b.create_block());
        let row = self.b.append_block_param(done, types::I64);
        self.b.ins().brif(vacant, done, &[vacant], search, &[]);
        self.b.switch_to_block(search);
        let found = self.search(address, table, shape);
        self.b.ins().jump(done, &[found]);
        self.b.switch_to_block(done);
        row
    }

    /// The address of the row that matches, or of the miss row, of the table at an address.
    fn search(&mut self, address: Value, table: &Table, shape: &RowShape) -> Value {
        if shape.words.is_empty() {
            return self.call(helpers::miss as *const u8, &[address]);
        }
        let size = 8 * shape.words.len() as u32;
        let slot = self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size));
        for (word, &(field, shift)) in shape.words.iter().enumerate() {
            let part = table.key[field];
            let value = self.key_word(part.field, shift);
            let all = crate::program::field::mask((u32::from(part.field.width) - shift).min(64) as u8) as u64;
            let mask = (part.mask >> shift) as u64 & all;
            let value = if mask == all { value } else { self.b.ins().band_imm(value, mask as i64) };
            let value = match self.always_valid(part.valid) {
                true => value,
                false => {
                    let (valid, zero) = (self.host_load(part.valid, 1), self.int(0));
                    self.b.ins().select(valid, value, zero)
                }
            };
            self.b.ins().stack_store(value, slot, 8 * word as i32);
        }
        let key = self.b.ins().stack_addr(types::I64, slot, 0);
        self.call(helpers::find(shape), &[address, key])
    }

    fn always_valid(&self, valid: u32) -> bool {
        self.program.layout.headers.iter().any(|header| header.metadata && header.valid == valid)
    }
}
