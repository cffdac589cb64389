//! The parser as machine code: a block for each state, one length check for each header.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{types, Block, InstBuilder, Value};
use cranelift_frontend::Variable;

use crate::native::expr::Locals;
use crate::native::gen::{At, Blocks, Gen, NotNative};
use crate::program::action::{AssignTarget, Op};
use crate::program::parser::{KeyPart, ParserOp, ParserState, Pattern, STATE_LIMIT};
use crate::state::context::Word;

/// Bytes taken by headers so far, and states visited.
const CONSUMED: u32 = 0;
const VISITED: u32 = 1;

struct Parsing {
    states: Blocks,
    accept: Block,
    /// The block that ends parsing, with the error's number.
    done: Block,
    /// Whether a state can be visited twice.
    loops: bool,
}

/// Whether all operations of the parser can be machine code.
fn covered(state: &ParserState) -> bool {
    let sets = state.cases.iter().any(|case| matches!(case.pattern, Pattern::Set(_)));
    !sets && !state.ops.iter().any(|op| matches!(op, ParserOp::ExtractNext(_)))
}

/// Whether a primitive in a parser state neither ends anything nor asks for anything.
pub(crate) fn plain(op: &Op) -> bool {
    matches!(
        op,
        Op::Assign { .. }
            | Op::AddHeader(_)
            | Op::RemoveHeader(_)
            | Op::CopyHeaders { .. }
            | Op::CopyVariable { .. }
            | Op::Shift { .. }
            | Op::RegisterRead { .. }
            | Op::RegisterWrite { .. }
            | Op::Count { .. }
            | Op::Nothing
    )
}

/// Whether the states can be visited in a circle.
fn has_loop(states: &[ParserState]) -> bool {
    // A state that leads to itself or an earlier one may be part of a circle.
    states.iter().enumerate().any(|(at, state)| {
        let nexts = state.cases.iter().map(|case| case.next).chain([state.default]);
        nexts.flatten().any(|next| next as usize <= at)
    })
}

impl Gen<'_> {
    /// Parses the frame and sets the fields that depend on the result.
    pub fn parser(&mut self) -> Result<(), NotNative> {
        let parser = &self.program.parser;
        if !parser.states.iter().all(covered) {
            return Err(NotNative);
        }
        let done = self.b.create_block();
        let error = self.b.append_block_param(done, types::I64);
        for variable in [CONSUMED, VISITED] {
            self.b.declare_var(Variable::from_u32(variable), types::I64);
            let zero = self.int(0);
            self.b.def_var(Variable::from_u32(variable), zero);
        }
        let loops = has_loop(&parser.states);
        let accept = self.b.create_block();
        let mut parsing = Parsing { states: Blocks::default(), accept, done, loops };
        self.go(parser.start, &mut parsing);
        while let Some(number) = parsing.states.next(self) {
            self.state(&parser.states[number as usize], &mut parsing)?;
        }
        self.b.switch_to_block(accept);
        self.stop(parser.errors.no_error, &parsing);
        self.b.switch_to_block(done);
        self.parsed(error);
        Ok(())
    }

    /// Sets the place of the payload, `parser_error` and its count.
    fn parsed(&mut self, error: Value) {
        let (bytes, len) = (self.get(Word::bytes), self.get(Word::len));
        let consumed = self.b.use_var(Variable::from_u32(CONSUMED));
        let payload = self.b.ins().iadd(bytes, consumed);
        self.put(Word::payload, payload);
        let remaining = self.b.ins().isub(len, consumed);
        self.put(Word::payload_len, remaining);
        let fine = u64::from(self.program.parser.errors.no_error);
        let wrong = self.b.ins().icmp_imm(IntCC::NotEqual, error, fine as i64);
        let wrong = self.b.ins().uextend(types::I64, wrong);
        let errors = self.get(Word::parser_errors);
        let errors = self.b.ins().iadd(errors, wrong);
        self.put(Word::parser_errors, errors);
        if let Some(field) = self.program.standard.parser_error {
            let _ = self.set_field(field, error);
        }
    }

    fn go(&mut self, next: Option<u32>, parsing: &mut Parsing) {
        let block = self.block_of(next, parsing);
        self.b.ins().jump(block, &[]);
    }

    /// Ends parsing with an error.
    fn stop(&mut self, error: u32, parsing: &Parsing) {
        let error = self.int(u64::from(error));
        self.b.ins().jump(parsing.done, &[error]);
    }

    /// The block of a state, or the one that accepts.
    fn block_of(&mut self, next: Option<u32>, parsing: &mut Parsing) -> Block {
        match next {
            Some(state) => parsing.states.get(self, state),
            None => parsing.accept,
        }
    }

    fn state(&mut self, state: &ParserState, parsing: &mut Parsing) -> Result<(), NotNative> {
        let errors = self.program.parser.errors;
        if parsing.loops {
            let visited = self.b.use_var(Variable::from_u32(VISITED));
            let visited = self.b.ins().iadd_imm(visited, 1);
            self.b.def_var(Variable::from_u32(VISITED), visited);
            let too_many = self.b.ins().icmp_imm(IntCC::UnsignedGreaterThan, visited, STATE_LIMIT as i64);
            self.fails_if(too_many, errors.parser_timeout, parsing);
        }
        for op in &state.ops {
            self.parser_op(op, parsing)?;
        }
        if state.cases.is_empty() {
            self.go(state.default, parsing);
            return Ok(());
        }
        let mut key = Vec::new();
        for part in &state.key {
            key.push(match part {
                KeyPart::Value(expr) => self.expr(expr, Locals::Known(&[]))?.natural()?,
                KeyPart::Lookahead { offset, width } => self.peek(*offset, *width, parsing)?,
            });
        }
        for case in &state.cases {
            let Pattern::Bits(pattern) = &case.pattern else { return Err(NotNative) };
            let hit = self.matches(pattern, &key);
            let target = self.block_of(case.next, parsing);
            self.if_zero(hit, target);
        }
        self.go(state.default, parsing);
        Ok(())
    }

    /// Whether a key matches, as a number.
    fn matches(&mut self, pattern: &[(u128, u128)], key: &[Value]) -> Value {
        let mut all: Option<Value> = None;
        for (&key, &(value, mask)) in key.iter().zip(pattern) {
            let hit = match value >> 64 {
                0 => {
                    let masked = match mask as u64 {
                        u64::MAX => key,
                        mask => self.b.ins().band_imm(key, mask as i64),
                    };
                    let value = self.int(value as u64);
                    self.test(IntCC::Equal, masked, value)
                }
                // No key has that many bits.
                _ => self.int(0),
            };
            all = Some(match all {
                Some(all) => self.b.ins().band(all, hit),
                None => hit,
            });
        }
        all.unwrap_or_else(|| self.int(1))
    }

    fn parser_op(&mut self, op: &ParserOp, parsing: &mut Parsing) -> Result<(), NotNative> {
        let errors = self.program.parser.errors;
        match op {
            ParserOp::Extract(header) => {
                let fields = self.program.layout.header(*header);
                let from = self.take(u64::from(fields.len), parsing);
                self.copy(self.fields(fields), from, fields.len as usize);
                self.set_valid(*header, true);
                let bytes = self.int(fields.len.into());
                self.advance(bytes);
            }
            ParserOp::Set { target: AssignTarget::Field(field), value } => {
                self.assign(*field, value, Locals::Known(&[]))?;
            }
            ParserOp::SetLookahead { target: AssignTarget::Field(field), offset, width } => {
                let value = self.peek(*offset, u8::try_from(*width).unwrap_or(u8::MAX), parsing)?;
                self.set_field(*field, value)?;
            }
            ParserOp::Verify { condition, error } => {
                let condition = self.expr(condition, Locals::Known(&[]))?.exact()?;
                let error = self.expr(error, Locals::Known(&[]))?.value;
                let error = self.b.ins().band_imm(error, i64::from(u32::MAX));
                let next = self.b.create_block();
                self.b.ins().brif(condition, next, &[], parsing.done, &[error]);
                self.b.switch_to_block(next);
            }
            ParserOp::Advance(bits) => {
                let bits = self.expr(bits, Locals::Known(&[]))?.natural()?;
                let part = self.b.ins().band_imm(bits, 7);
                let odd = self.is_not_zero(part);
                self.fails_if(odd, errors.parser_invalid_argument, parsing);
                let bytes = self.b.ins().ushr_imm(bits, 3);
                let remaining = self.bytes_left();
                let short = self.b.ins().icmp(IntCC::UnsignedLessThan, remaining, bytes);
                self.fails_if(short, errors.packet_too_short, parsing);
                self.advance(bytes);
            }
            ParserOp::Primitive(op) => self.op(op, Locals::Known(&[]))?,
            _ => return Err(NotNative),
        }
        Ok(())
    }

    fn fails_if(&mut self, condition: Value, error: u32, parsing: &Parsing) {
        let (fails, next) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(condition, fails, &[], next, &[]);
        self.b.switch_to_block(fails);
        self.stop(error, parsing);
        self.b.switch_to_block(next);
    }

    fn bytes_left(&mut self) -> Value {
        let len = self.get(Word::len);
        let consumed = self.b.use_var(Variable::from_u32(CONSUMED));
        self.b.ins().isub(len, consumed)
    }

    /// The place of the next `bytes`; ends parsing if there are not as many.
    fn take(&mut self, bytes: u64, parsing: &Parsing) -> At {
        let remaining = self.bytes_left();
        let short = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, remaining, bytes as i64);
        self.fails_if(short, self.program.parser.errors.packet_too_short, parsing);
        let consumed = self.b.use_var(Variable::from_u32(CONSUMED));
        let frame = self.get(Word::bytes);
        let next = self.b.ins().iadd(frame, consumed);
        At { base: self.extents.within(next, bytes as usize), offset: 0 }
    }

    fn advance(&mut self, bytes: Value) {
        let consumed = self.b.use_var(Variable::from_u32(CONSUMED));
        let consumed = self.b.ins().iadd(consumed, bytes);
        self.b.def_var(Variable::from_u32(CONSUMED), consumed);
    }

    fn peek(&mut self, offset: u32, width: u8, parsing: &Parsing) -> Result<Value, NotNative> {
        if width > 64 {
            return Err(NotNative);
        }
        let end = u64::from(offset) + u64::from(width);
        let from = self.take(end.div_ceil(8), parsing);
        Ok(self.load_bits(from, offset, width))
    }
}
