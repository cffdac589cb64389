//! The parser, state by state.

use super::interpreter::Interpreter;
use crate::program::action::AssignTarget;
use crate::program::bits::read_bits;
use crate::program::expr::Env;
use crate::program::parser::{
    Bits, ErrorCodes, KeyPart, ParserOp, ParserState, Pattern, MAX_KEY_PARTS, STATE_LIMIT,
};
use crate::program::phv::HeaderSlots;
use crate::trace::Step;

/// The result of parsing a packet.
pub(crate) struct Parsed {
    /// Bytes taken by headers.
    pub consumed: usize,
    /// The number of the error; `no_error` if there was none.
    pub error: u32,
}

/// Runs the parser. As in BMv2, an error ends parsing, and headers extracted before stay.
pub(crate) fn parse(interpreter: &mut Interpreter<'_>, bytes: &[u8]) -> Parsed {
    let parser = &interpreter.program.parser;
    let mut cursor = Cursor { bytes, at: 0, variable: 0, codes: parser.errors };
    let mut state = parser.start;
    let mut states = 0;
    while let Some(current) = state {
        states += 1;
        interpreter.record(|program, _| Step::State { name: program.names.states[current as usize].clone() });
        let outcome = match states > STATE_LIMIT {
            true => Err(parser.errors.parser_timeout),
            false => visit(interpreter, &mut cursor, &parser.states[current as usize]),
        };
        match outcome {
            Ok(next) => state = next,
            Err(error) => return Parsed { consumed: cursor.at, error },
        }
    }
    Parsed { consumed: cursor.at, error: parser.errors.no_error }
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
            let next = layout.stack(*stack).next as usize;
            let element = layout.element(*stack, interpreter.phv[next]);
            let header = element.ok_or(cursor.codes.stack_out_of_bounds)?;
            extract(interpreter, cursor, header)?;
            interpreter.phv[next] += 1;
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
        ParserOp::Set { target: AssignTarget::Wide(field), value } => {
            let layout = &interpreter.program.layout;
            let value = value.big(Env { layout, phv: interpreter.phv, locals: &[] });
            field.write(interpreter.phv, &value);
        }
        ParserOp::Set { target, value } => interpreter.assign(target, interpreter.eval(value, &[]), &[]),
        ParserOp::SetLookahead { target, offset, width } => {
            let value = cursor.peek(*offset, *width)?;
            interpreter.assign(target, value, &[]);
        }
        ParserOp::SetWideLookahead { target, offset } => {
            let mut offset = *offset;
            cursor.peek(offset + target.width - 1, 1)?;
            for part in target.parts(target.width) {
                part.write(interpreter.phv, cursor.peek(offset, part.width)?);
                offset += u32::from(part.width);
            }
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
    let slots = interpreter.program.layout.header(header);
    cursor.extract(slots, interpreter.phv)?;
    if let Some(recording) = &mut interpreter.externs.recording {
        let names = &interpreter.program.names;
        let fields = names.values(header, slots, interpreter.phv);
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

    fn extract(&mut self, header: &HeaderSlots, phv: &mut [u128]) -> Result<(), u32> {
        let length = header.bytes() + self.variable as usize / 8;
        if self.bytes_left() < length {
            return Err(self.codes.packet_too_short);
        }
        if let Some((_, field)) = header.variable {
            if self.variable > field.width {
                return Err(self.codes.header_too_short);
            }
            field.write(phv, &num_bigint::BigInt::default());
            if let Some(slot) = field.length {
                phv[slot as usize] = self.variable.into();
            }
        }
        let bytes = &self.bytes[self.at..self.at + length];
        let mut offset = 0;
        for field in header.wire(phv) {
            phv[field.slot as usize] = read_bits(bytes, offset, field.width as usize);
            offset += field.width as usize;
        }
        header.set_valid(phv, true);
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
