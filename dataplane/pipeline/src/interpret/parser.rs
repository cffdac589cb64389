//! The parser, state by state.

use super::interpreter::Interpreter;
use crate::program::field::{read_bits, Value, Wide};
use crate::program::parser::{
    Bits, ErrorCodes, KeyPart, ParserOp, ParserState, Pattern, MAX_KEY_PARTS, STATE_LIMIT,
};
use crate::program::phv::Header;
use crate::trace::Step;

/// Runs the parser: sets the length of the payload, and gives the number of the error, `no_error` if there
/// was none. As in BMv2, an error ends parsing, and headers extracted before stay.
pub(crate) fn parse(interpreter: &mut Interpreter<'_>) -> u32 {
    let parser = &interpreter.program.parser;
    let mut cursor = Cursor { bytes: interpreter.bytes, at: 0, variable: 0, codes: parser.errors };
    let error = visit_all(interpreter, &mut cursor, parser.start).err();
    interpreter.context.payload_len = cursor.bytes_left() as u64;
    error.unwrap_or(parser.errors.no_error)
}

/// Visits the states from one on; the error is the parser's.
fn visit_all(
    interpreter: &mut Interpreter<'_>, cursor: &mut Cursor<'_>, mut state: Option<u32>,
) -> Result<(), u32> {
    let mut states = 0;
    while let Some(current) = state {
        states += 1;
        interpreter.record(|program, _| Step::State { name: program.names.states[current as usize].clone() });
        if states > STATE_LIMIT {
            return Err(cursor.codes.parser_timeout);
        }
        state = visit(interpreter, cursor, &interpreter.program.parser.states[current as usize])?;
    }
    Ok(())
}

fn visit(
    interpreter: &mut Interpreter<'_>, cursor: &mut Cursor<'_>, state: &ParserState,
) -> Result<Option<u32>, u32> {
    for op in &state.ops {
        apply(interpreter, cursor, op)?;
    }
    if state.cases.is_empty() {
        return Ok(state.default);
    }
    let mut key = [0; MAX_KEY_PARTS];
    let key = &mut key[..state.key.len()];
    for (value, part) in key.iter_mut().zip(&state.key) {
        *value = match part {
            KeyPart::Value(expr) => interpreter.eval(expr, &[]),
            KeyPart::Lookahead { offset, width } => cursor.peek(*offset, *width)?,
        };
    }
    let fits = |bits: &Bits| key.iter().zip(bits).all(|(key, (value, mask))| key & mask == *value);
    let hit = state.cases.iter().find(|case| match &case.pattern {
        Pattern::Bits(bits) => fits(bits),
        Pattern::Set(set) => interpreter.externs.value_sets[*set as usize].iter().any(fits),
    });
    Ok(hit.map_or(state.default, |case| case.next))
}

fn apply(interpreter: &mut Interpreter<'_>, cursor: &mut Cursor<'_>, op: &ParserOp) -> Result<(), u32> {
    let layout = &interpreter.program.layout;
    match op {
        ParserOp::Extract(header) => extract(interpreter, cursor, *header)?,
        ParserOp::ExtractNext(stack) => {
            let count = layout.stack(*stack).next;
            let next = count.bits(interpreter.phv);
            let header = layout.element(*stack, next).ok_or(cursor.codes.stack_out_of_bounds)?;
            extract(interpreter, cursor, header)?;
            count.write(interpreter.phv, next + 1);
        }
        ParserOp::Variable(op, bits) => {
            let bits = interpreter.eval(bits, &[]);
            if bits % 8 != 0 {
                return Err(cursor.codes.parser_invalid_argument);
            }
            cursor.variable = u32::try_from(bits).unwrap_or(u32::MAX);
            let result = apply(interpreter, cursor, op);
            cursor.variable = 0;
            result?;
        }
        ParserOp::Set { target, value } => interpreter.set_to(target, value, &[]),
        ParserOp::SetLookahead { target, offset, width } => {
            let value = match *width {
                width @ ..=128 => Value::Narrow(cursor.peek(*offset, width as u8)?),
                width => {
                    let parts = Wide { bit: *offset, width, signed: false, length: None }.parts(width);
                    let parts = parts.map(|part| cursor.peek(part.location.bit(), part.width));
                    Value::of(&parts.collect::<Result<Vec<_>, _>>()?)
                }
            };
            interpreter.assign(target, value, &[]);
        }
        ParserOp::Verify { condition, error } => {
            if interpreter.eval(condition, &[]) == 0 {
                return Err(interpreter.eval(error, &[]) as u32);
            }
        }
        ParserOp::Advance(bits) => cursor.advance(interpreter.eval(bits, &[]))?,
        ParserOp::Primitive(op) => interpreter.run(std::slice::from_ref(op), &[]),
    }
    Ok(())
}

fn extract(interpreter: &mut Interpreter<'_>, cursor: &mut Cursor<'_>, header: u32) -> Result<(), u32> {
    let place = interpreter.program.layout.header(header);
    cursor.extract(place, interpreter.phv)?;
    if let Some(recording) = &mut interpreter.externs.recording {
        let names = &interpreter.program.names;
        let fields = names.values(header, place, interpreter.phv);
        recording.step(Step::Extract { header: names.headers[header as usize].0.clone(), fields });
    }
    Ok(())
}

/// A place within the packet.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Bits of the next header's field of variable length.
    variable: u32,
    codes: ErrorCodes,
}

impl Cursor<'_> {
    fn bytes_left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn extract(&mut self, header: &Header, phv: &mut [u8]) -> Result<(), u32> {
        let length = header.bytes(self.variable);
        if self.bytes_left() < length {
            return Err(self.codes.packet_too_short);
        }
        if let Some(field) = header.variable {
            if self.variable > field.width {
                return Err(self.codes.header_too_short);
            }
            if let Some(length) = field.length {
                length.write(phv, self.variable.into());
            }
        }
        header.extract(&self.bytes[self.at..][..header.size(phv)], phv);
        self.at += length;
        Ok(())
    }

    fn peek(&self, offset: u32, width: u8) -> Result<u128, u32> {
        let end = offset as usize + width as usize;
        if self.bytes_left() < end.div_ceil(8) {
            return Err(self.codes.packet_too_short);
        }
        Ok(read_bits(&self.bytes[self.at..], offset as usize, width as usize))
    }

    fn advance(&mut self, bits: u128) -> Result<(), u32> {
        if bits % 8 != 0 {
            return Err(self.codes.parser_invalid_argument);
        }
        match usize::try_from(bits / 8) {
            Ok(bytes) if bytes <= self.bytes_left() => {
                self.at += bytes;
                Ok(())
            }
            _ => Err(self.codes.packet_too_short),
        }
    }
}
