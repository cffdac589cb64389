//! The memory that generated code may load and store.
//!
//! Nothing checks an address when the code runs. So the code that generates an access says how much memory
//! there is behind the address ([`Extents::within`]), and no function is compiled before each of its accesses
//! was found to lie within that memory.

use std::collections::HashMap;

use cranelift_codegen::ir::{Function, Inst, InstructionData, Opcode, Value};

/// Bytes of memory at an address: always, or wherever the address is computed.
#[derive(Debug, Default)]
pub(crate) struct Extents(HashMap<Value, usize>);

impl Extents {
    /// Notes that `bytes` bytes are at this address. Returns the address.
    pub fn within(&mut self, address: Value, bytes: usize) -> Value {
        self.0.insert(address, bytes);
        address
    }

    /// An error for a load or store that may be outside.
    pub fn check(&self, function: &Function) -> Result<(), String> {
        let blocks = function.layout.blocks();
        blocks.flat_map(|block| function.layout.block_insts(block)).try_for_each(|inst| {
            let (offset, bytes, room) = match self.access(function, inst) {
                None => return Ok(()),
                Some(Err(())) => {
                    return Err(format!("{}: memory of unknown size", function.dfg.display_inst(inst)))
                }
                Some(Ok(access)) => access,
            };
            let end = usize::try_from(offset).ok().and_then(|offset| offset.checked_add(bytes));
            match end {
                Some(end) if end <= room => Ok(()),
                _ => Err(format!("{}: outside of {room} bytes", function.dfg.display_inst(inst))),
            }
        })
    }

    /// The memory that an instruction accesses: its address, the bytes accessed, and the bytes there.
    fn access(&self, function: &Function, inst: Inst) -> Option<Result<(i32, usize, usize), ()>> {
        let size = |value: Value| function.dfg.value_type(value).bytes() as usize;
        let room = |base| self.0.get(&function.dfg.resolve_aliases(base)).copied();
        let slot = |slot| function.sized_stack_slots[slot].size as usize;
        let access = match function.dfg.insts[inst] {
            InstructionData::Load { opcode: Opcode::Load, arg, offset, .. } => {
                room(arg).map(|room| (offset.into(), size(function.dfg.first_result(inst)), room))
            }
            InstructionData::Load { opcode, arg, offset, .. } => {
                let bytes = match opcode {
                    Opcode::Uload8 => Some(1),
                    Opcode::Uload16 => Some(2),
                    Opcode::Uload32 => Some(4),
                    _ => None,
                };
                bytes.zip(room(arg)).map(|(bytes, room)| (offset.into(), bytes, room))
            }
            InstructionData::Store { opcode: Opcode::Store, args: [value, base], offset, .. } => {
                room(base).map(|room| (offset.into(), size(value), room))
            }
            InstructionData::StackStore { arg, stack_slot, offset, .. } => {
                Some((offset.into(), size(arg), slot(stack_slot)))
            }
            data if data.opcode().can_load() || data.opcode().can_store() => None,
            _ => return None,
        };
        Some(access.ok_or(()))
    }
}

#[cfg(test)]
#[path = "tests/bounds.rs"]
mod tests;
