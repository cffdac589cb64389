//! The interpreter: runs a program as it stands, slowly, and is the reference for native code.
//!
//! It has the same three entry points as native code, over the same context and fields of a packet.

pub(crate) mod control;
pub(crate) mod interpreter;
pub(crate) mod parser;

use self::interpreter::Interpreter;
use self::parser::parse;
use crate::packet::Preserved;
use crate::program::calculation::Checksum;
use crate::program::Program;
use crate::state::context::{arrival, departure, Context};
use crate::state::table::TableState;
use crate::trace::Step;

/// Parser, checksum verification and ingress control.
pub(crate) fn ingress(
    interpreter: &mut Interpreter<'_>, states: &mut [TableState], restored: Option<&Preserved>,
) {
    let program = interpreter.program;
    arrive(interpreter, restored);
    parsed(interpreter);
    verify(interpreter);
    control::run(interpreter, states, program.ingress);
    summarise(program, interpreter.phv, interpreter.context);
}

/// Sets the metadata of a packet that comes to ingress.
pub(crate) fn arrive(interpreter: &mut Interpreter<'_>, restored: Option<&Preserved>) {
    let [first, last] = arrival(&interpreter.program.standard);
    interpreter.set(&first);
    if let Some(preserved) = restored {
        preserved.restore(interpreter.phv);
    }
    interpreter.set(&last);
}

/// Runs the parser and sets `parser_error`.
pub(crate) fn parsed(interpreter: &mut Interpreter<'_>) {
    let program = interpreter.program;
    let error = parse(interpreter);
    if error != program.parser.errors.no_error {
        interpreter.externs.stats.parser_errors += 1;
        interpreter.record(|program, _| Step::ParserError { error: program.names.error(error) });
    }
    if let Some(field) = program.standard.parser_error {
        field.write(interpreter.phv, error.into());
    }
}

/// Verifies the checksums and sets `checksum_error`.
fn verify(interpreter: &mut Interpreter<'_>) {
    let program = interpreter.program;
    let wrong = program.verified.iter().any(|checksum| {
        interpreter.phv[checksum.valid as usize] != 0
            && applies(interpreter, checksum)
            && u128::from(interpreter.calculate(checksum.calculation)) != checksum.field.bits(interpreter.phv)
    });
    if wrong {
        interpreter.record(|_, _| Step::ChecksumError);
    }
    if let Some(field) = program.standard.checksum_error {
        field.write(interpreter.phv, wrong.into());
    }
}

fn applies(interpreter: &Interpreter<'_>, checksum: &Checksum) -> bool {
    checksum.condition.as_ref().map_or(true, |condition| interpreter.eval(condition, &[]) != 0)
}

/// Puts what the packet's queue and its frame depend on into the context.
pub(crate) fn summarise(program: &Program, phv: &[u8], context: &mut Context) {
    let standard = &program.standard;
    let headers = program.deparser.valid(&program.layout, phv);
    context.header_bytes = headers.map(|header| header.size(phv) as u64).sum();
    context.group = standard.mcast_grp.map_or(0, |field| field.bits(phv) as u64);
    context.egress_spec = standard.egress_spec.bits(phv) as u64;
    context.priority = standard.priority.map_or(0, |field| field.bits(phv) as u64);
}

pub(crate) fn egress(interpreter: &mut Interpreter<'_>, states: &mut [TableState]) {
    let program = interpreter.program;
    interpreter.set(&departure(&program.standard));
    control::run(interpreter, states, program.egress);
    interpreter.context.egress_spec = program.standard.egress_spec.bits(interpreter.phv) as u64;
}

/// Checksum update and deparser: appends the headers.
pub(crate) fn deparse(interpreter: &mut Interpreter<'_>, out: &mut Vec<u8>) {
    let program = interpreter.program;
    for checksum in &program.updated {
        if applies(interpreter, checksum) {
            let sum = interpreter.calculate(checksum.calculation);
            checksum.field.write(interpreter.phv, u128::from(sum));
        }
    }
    interpreter.run(&program.deparser.ops, &[]);
    for header in program.deparser.valid(&program.layout, interpreter.phv) {
        header.emit(interpreter.phv, out);
    }
}
