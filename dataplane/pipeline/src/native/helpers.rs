//! Rust functions that native code calls: lookups that need Rust's structures, and steps left to the
//! interpreter.
//!
//! All take words and return one. The context is that of the pipeline that runs; each pointer in it is to a
//! part of its own, and no reference to such a part lives while native code runs, so a helper may make one.

use groupflow_base::Nanos;

use crate::interpret::interpreter::Interpreter;
use crate::interpret::parsed;
use crate::native::compile::{Compiled, RareStep};
use crate::state::context::Context;
use crate::state::row::{RowShape, ROW_SHIFT};
use crate::state::table::TableState;

/// The row of a table without key.
pub(crate) extern "C" fn miss(table: *mut TableState) -> *mut u64 {
    // SAFETY: see the module's text.
    unsafe { (*table).address(0) }
}

/// Notes a write to a watched register.
pub(crate) extern "C" fn note(context: *mut Context, register: u64, index: u64) -> u64 {
    // SAFETY: see the module's text.
    let externs = unsafe { &mut *(*context).externs };
    externs.note(register as u32, index as u32);
    0
}

/// The colour of a row's direct meter; on a miss without one, the colour from before.
pub(crate) extern "C" fn direct_meter(context: *mut Context, table: u64, number: u64, before: u64) -> u64 {
    // SAFETY: see the module's text; the table is one of the program's.
    let (context, state) = unsafe { (&*context, &mut *(*context).states.add(table as usize)) };
    // SAFETY: as above.
    let program = unsafe { &*context.program };
    let metered = program.match_tables[table as usize].metered;
    let row = number as u32;
    let coloured = row != 0 || state.meter(row).is_some_and(|meter| meter.config().is_some());
    match metered {
        Some((unit, _)) if coloured => {
            state.meter_mut(row).colour(Nanos(context.now), unit, context.received as u32) as u64
        }
        _ => before,
    }
}

/// The colour of a meter's cell; past the end, the colour from before.
pub(crate) extern "C" fn meter(context: *mut Context, meter: u64, index: u64, before: u64) -> u64 {
    // SAFETY: see the module's text; the meter is one of the program's.
    let (context, externs) = unsafe { (&*context, &mut *(*context).externs) };
    let colour =
        externs.meter_colour(meter as u32, index.into(), Nanos(context.now), context.received as u32);
    colour.map_or(before, |colour| colour as u64)
}

/// Sets the fields that a packet kept.
pub(crate) extern "C" fn restore(context: *mut Context) -> u64 {
    // SAFETY: see the module's text; native code has seen that it is not null.
    let preserved = unsafe { &*(*context).restored };
    with_interpreter(context, |interpreter| preserved.restore(interpreter.phv));
    0
}

/// A hash or checksum.
pub(crate) extern "C" fn calculate(context: *mut Context, calculation: u64) -> u64 {
    with_interpreter(context, |interpreter| interpreter.calculate(calculation as u32))
}

/// Runs the interpreter's parser.
pub(crate) extern "C" fn parse(context: *mut Context) -> u64 {
    // SAFETY: see the module's text.
    let bytes = unsafe { std::slice::from_raw_parts((*context).bytes, (*context).len as usize) };
    with_interpreter(context, |interpreter| {
        interpreter.bytes = bytes;
        parsed(interpreter);
        let payload = &bytes[bytes.len() - interpreter.context.payload_len as usize..];
        interpreter.context.payload = payload.as_ptr();
    });
    0
}

/// The arguments of an action: those known when the code was made, or those of a row.
fn arguments(context: *mut Context, known: &[u128], table: u64, found: *const u64) -> Vec<u128> {
    if table == 0 {
        return known.to_vec();
    }
    // SAFETY: see the module's text; native code passes a row of this table.
    let (state, first) = unsafe { (&*(*context).states.add(table as usize - 1), *found) };
    state.arguments((first >> ROW_SHIFT) as u32).collect()
}

/// Interprets a step. Not 0 if a condition is true, or if the packet's way ends with primitives.
pub(crate) extern "C" fn interpret(context: *mut Context, number: u64, table: u64, found: *const u64) -> u64 {
    // SAFETY: see the module's text.
    let compiled = unsafe { &*(*context).compiled.cast::<Compiled>() };
    let (step, known) = &compiled.rare.steps[number as usize];
    let arguments = arguments(context, known, table, found);
    with_interpreter(context, |interpreter| match step {
        RareStep::Test(condition) => u64::from(interpreter.eval(condition, &arguments) != 0),
        RareStep::Ops(ops) => {
            let before = std::mem::take(&mut interpreter.context.exit);
            interpreter.run(ops, &arguments);
            let stop = interpreter.context.exit;
            interpreter.context.exit |= before;
            stop
        }
    })
}

/// Gives the packet to the interpreter for a while.
fn with_interpreter<T>(context: *mut Context, work: impl FnOnce(&mut Interpreter<'_>) -> T) -> T {
    // SAFETY: see the module's text.
    let (context, program, externs) =
        unsafe { (&mut *context, &*(*context).program, &mut *(*context).externs) };
    let bytes = match context.payload.is_null() {
        true => &[],
        // SAFETY: the payload is that of the frame or packet that is being worked on.
        false => unsafe { std::slice::from_raw_parts(context.payload, context.payload_len as usize) },
    };
    // SAFETY: a packet has as many bytes of fields as the layout's initial one.
    let phv = unsafe { std::slice::from_raw_parts_mut(context.phv, program.layout.initial.len()) };
    work(&mut Interpreter { program, phv, externs, context, bytes })
}

/// Finds the row for the key at the pointer.
pub(crate) type Find = extern "C" fn(*mut TableState, *const u64) -> *mut u64;

/// The function that finds rows in this kind of table.
pub(crate) fn find(shape: &RowShape) -> *const u8 {
    let find: Find = match (shape.words.len(), shape.ordered, shape.prefixed) {
        (1, false, false) => find_exact::<1>,
        (2, false, false) => find_exact::<2>,
        (3, false, false) => find_exact::<3>,
        (4, false, false) => find_exact::<4>,
        (1, false, true) => find_prefix,
        _ => find_any,
    };
    find as *const u8
}

extern "C" fn find_exact<const WORDS: usize>(table: *mut TableState, key: *const u64) -> *mut u64 {
    // SAFETY: native code passes a table of the pipeline that runs, which nothing else borrows meanwhile,
    // and a key of as many words as the table has.
    let (table, key) = unsafe { (&mut *table, &*key.cast::<[u64; WORDS]>()) };
    let row = table.search_exact(key);
    table.address(row)
}

/// One field of at most 64 bits, its longest matching prefix.
extern "C" fn find_prefix(table: *mut TableState, key: *const u64) -> *mut u64 {
    // SAFETY: as in `find_exact`.
    let (table, key) = unsafe { (&mut *table, *key) };
    let row = table.search_prefix(key);
    table.address(row)
}

extern "C" fn find_any(table: *mut TableState, key: *const u64) -> *mut u64 {
    // SAFETY: as in `find_exact`.
    let (table, key) = unsafe {
        let table = &mut *table;
        let words = table.shape.words.len();
        (table, std::slice::from_raw_parts(key, words))
    };
    let row = table.search(key);
    table.address(row)
}
