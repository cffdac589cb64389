//! Rust functions that native code calls: lookups that need Rust's structures, and steps left to the
//! interpreter.
//!
//! All take words and return one. The context is that of the pipeline that runs; each pointer in it is to a
//! part of its own, and no reference to such a part lives while native code runs, so a helper may make one.

use groupflow_base::Nanos;

use crate::interpret::interpreter::{Interpreter, Pass};
use crate::interpret::parser;
use crate::native::context::Context;
use crate::packet::DropReason;
use crate::program::expr::Env;
use crate::state::row::ROW_SHIFT;
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

/// The fields of the packet of a context.
///
/// # Safety
///
/// The context must be that of the pipeline that runs, and nothing else may refer to the fields.
unsafe fn fields<'a>(context: &Context) -> (&'a crate::native::layout::NativeLayout, &'a mut [u64]) {
    // SAFETY: the caller's promise; a packet has as many words as the layout's initial one.
    unsafe {
        let layout = &(*context.compiled).layout;
        (layout, std::slice::from_raw_parts_mut(context.phv, layout.initial.len()))
    }
}

/// Sets the fields that a packet kept.
pub(crate) extern "C" fn restore(context: *mut Context) -> u64 {
    // SAFETY: see the module's text; native code has seen that it is not null.
    let (preserved, (layout, words)) = unsafe { (&*(*context).restored, fields(&*context)) };
    for &(slot, value) in &preserved.0 {
        if (slot as usize) < layout.len() {
            layout.write(words, slot, value);
        }
    }
    0
}

/// A hash or checksum.
pub(crate) extern "C" fn calculate(context: *mut Context, calculation: u64) -> u64 {
    with_interpreter(context, &[], |interpreter, _| interpreter.calculate(calculation as u32))
}

/// Runs the interpreter's parser.
pub(crate) extern "C" fn parse(context: *mut Context) -> u64 {
    // SAFETY: see the module's text.
    let bytes = unsafe { std::slice::from_raw_parts((*context).bytes, (*context).len as usize) };
    let consumed = with_interpreter(context, &[], |interpreter, _| {
        let parsed = parser::parse(interpreter, bytes);
        let program = interpreter.program;
        if parsed.error != program.parser.errors.no_error {
            interpreter.externs.stats.parser_errors += 1;
        }
        crate::packet::metadata::set(
            program.standard.parser_error,
            interpreter.phv,
            u128::from(parsed.error),
        );
        parsed.consumed
    });
    // SAFETY: see the module's text.
    let context = unsafe { &mut *context };
    context.payload = bytes[consumed..].as_ptr();
    context.payload_len = (bytes.len() - consumed) as u64;
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

/// Interprets primitives. Not 0 if the packet's way ends with them.
pub(crate) extern "C" fn interpret(context: *mut Context, number: u64, table: u64, found: *const u64) -> u64 {
    // SAFETY: see the module's text.
    let compiled = unsafe { &*(*context).compiled };
    let (ops, known) = &compiled.rare.ops[number as usize];
    let arguments = arguments(context, known, table, found);
    with_interpreter(context, &arguments, |interpreter, arguments| {
        let before = std::mem::replace(&mut interpreter.pass.exit, false);
        interpreter.run(ops, arguments);
        let stop = interpreter.pass.exit;
        interpreter.pass.exit |= before;
        u64::from(stop)
    })
}

/// Interprets a condition.
pub(crate) extern "C" fn test(context: *mut Context, number: u64, table: u64, found: *const u64) -> u64 {
    // SAFETY: see the module's text.
    let compiled = unsafe { &*(*context).compiled };
    let (test, known) = &compiled.rare.tests[number as usize];
    let arguments = arguments(context, known, table, found);
    with_interpreter(context, &arguments, |interpreter, arguments| {
        let env = Env { layout: &interpreter.program.layout, phv: interpreter.phv, locals: arguments };
        u64::from(test.is_true(env))
    })
}

/// Gives the packet to the interpreter for a while.
fn with_interpreter<T>(
    context: *mut Context, arguments: &[u128], work: impl FnOnce(&mut Interpreter<'_>, &[u128]) -> T,
) -> T {
    // SAFETY: see the module's text; the payload is that of the frame or packet that is being worked on.
    let (program, externs, digests) =
        unsafe { (&*(*context).program, &mut *(*context).externs, &mut *(*context).digests) };
    // SAFETY: as above.
    let context = unsafe { &mut *context };
    // SAFETY: as above.
    let (layout, words) = unsafe { fields(context) };
    let payload: &[u8] = match context.payload.is_null() {
        true => &[],
        // SAFETY: as above.
        false => unsafe { std::slice::from_raw_parts(context.payload, context.payload_len as usize) },
    };
    let mut slots = std::mem::take(&mut externs.slots);
    layout.widen(words, &mut slots);
    let pass = Pass {
        now: Nanos(context.now),
        received: context.received as u32,
        length: context.length as u32,
        clone: context.clone_list.checked_sub(1).map(|list| (context.clone_session as u32, list as u32)),
        digests: std::mem::take(digests),
        resubmit: context.resubmit.checked_sub(1).map(|list| list as u32),
        recirculate: context.recirculate.checked_sub(1).map(|list| list as u32),
        truncate: u32::try_from(context.truncate).ok(),
        exit: context.exit != 0,
        failed: None,
        steps: context.steps as u32,
    };
    externs.dropped_at = context.dropped_at as u32;
    externs.counted = (context.counter as u32, context.counter_cell);
    let mut interpreter = Interpreter { program, phv: &mut slots, externs: &mut *externs, payload, pass };
    let result = work(&mut interpreter, arguments);
    let pass = interpreter.pass;
    context.length = u64::from(pass.length);
    if let Some((session, list)) = pass.clone {
        (context.clone_session, context.clone_list) = (u64::from(session), u64::from(list) + 1);
    }
    *digests = pass.digests;
    context.resubmit = pass.resubmit.map_or(0, |list| u64::from(list) + 1);
    context.recirculate = pass.recirculate.map_or(0, |list| u64::from(list) + 1);
    context.truncate = pass.truncate.map_or(u64::MAX, u64::from);
    context.exit = u64::from(pass.exit);
    context.steps = u64::from(pass.steps);
    context.dropped_at = u64::from(externs.dropped_at);
    (context.counter, context.counter_cell) = (u64::from(externs.counted.0), externs.counted.1);
    match pass.failed {
        Some(DropReason::Assertion) => context.failed = 1,
        Some(_) => context.failed = 2,
        None => {}
    }
    layout.narrow(&slots, words);
    externs.slots = slots;
    result
}
