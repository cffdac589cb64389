use cranelift_codegen::ir::{
    types, AbiParam, InstBuilder, MemFlags, Signature, StackSlotData, StackSlotKind,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use super::*;

/// The check's verdict on a function of one address, with 24 bytes behind it.
fn checked(body: impl FnOnce(&mut FunctionBuilder<'_>, Value)) -> Result<(), String> {
    let mut function = Function::new();
    function.signature = Signature::new(CallConv::SystemV);
    function.signature.params.push(AbiParam::new(types::I64));
    let mut frontend = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(&mut function, &mut frontend);
    let block = b.create_block();
    b.append_block_params_for_function_params(block);
    b.switch_to_block(block);
    let address = b.block_params(block)[0];
    let mut extents = Extents::default();
    extents.within(address, 24);
    body(&mut b, address);
    b.ins().return_(&[]);
    b.seal_all_blocks();
    b.finalize();
    extents.check(&function)
}

#[test]
fn accesses_end_where_memory_ends() {
    for (kind, last) in [(types::I8, 23), (types::I16, 22), (types::I64, 16), (types::I8X16, 8)] {
        for (offset, fits) in [(0, true), (last, true), (last + 1, false), (-1, false), (i32::MAX, false)] {
            let load = checked(|b, at| {
                b.ins().load(kind, MemFlags::new(), at, offset);
            });
            let store = checked(|b, at| {
                let zero = b.ins().iconst(types::I8, 0);
                let value = match kind {
                    types::I8X16 => b.ins().splat(kind, zero),
                    kind => b.ins().iconst(kind, 0),
                };
                b.ins().store(MemFlags::new(), value, at, offset);
            });
            assert_eq!((load.is_ok(), store.is_ok()), (fits, fits), "{kind} at {offset}: {load:?} {store:?}");
        }
    }
    for (offset, fits) in [(20, true), (21, false)] {
        let extended = checked(|b, at| {
            b.ins().uload32(MemFlags::new(), at, offset);
        });
        assert_eq!(extended.is_ok(), fits, "32 bits extended, at {offset}: {extended:?}");
    }
    let error = checked(|b, at| {
        b.ins().load(types::I64, MemFlags::new(), at, 20);
    });
    assert_eq!(error, Err("v1 = load.i64 v0+20: outside of 24 bytes".to_owned()));
}

#[test]
fn memory_of_unknown_size_is_refused() {
    let elsewhere = checked(|b, at| {
        let moved = b.ins().iadd_imm(at, 8);
        b.ins().load(types::I8, MemFlags::new(), moved, 0);
    });
    assert!(elsewhere.expect_err("refused").ends_with("memory of unknown size"));
    let unusual = checked(|b, at| {
        b.ins().sload8(types::I64, MemFlags::new(), at, 0);
    });
    assert!(unusual.expect_err("refused").ends_with("memory of unknown size"));
}

#[test]
fn stack_slots_have_bounds_too() {
    for (offset, fits) in [(0, true), (8, true), (9, false)] {
        let stored = checked(|b, at| {
            let slot = b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 16));
            b.ins().stack_store(at, slot, offset);
        });
        assert_eq!(stored.is_ok(), fits, "{offset}");
    }
}
