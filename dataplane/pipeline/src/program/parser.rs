//! The parser: states that extract headers and choose where to go on; and the deparser: headers back to
//! bytes.

use crate::program::action::{AssignTarget, Op};
use crate::program::expr::Expr;
use crate::program::phv::{Header, Layout};

/// How many states one packet may run: bounds parsers that loop without extracting.
pub(crate) const STATE_LIMIT: usize = 1_000;

/// The most parts a state's key may have.
pub(crate) const MAX_KEY_PARTS: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct Parser {
    pub states: Vec<ParserState>,
    pub start: Option<u32>,
    pub errors: ErrorCodes,
}

/// The numbers the program gives to the errors the target raises.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ErrorCodes {
    pub no_error: u32,
    pub packet_too_short: u32,
    pub stack_out_of_bounds: u32,
    pub parser_timeout: u32,
    pub parser_invalid_argument: u32,
    pub header_too_short: u32,
}

/// A state: operations, then a choice.
#[derive(Debug)]
pub(crate) struct ParserState {
    pub ops: Vec<ParserOp>,
    pub key: Vec<KeyPart>,
    /// The first that matches is taken.
    pub cases: Vec<ParserCase>,
    /// `None` accepts.
    pub default: Option<u32>,
}

#[derive(Debug)]
pub(crate) enum ParserOp {
    /// Of a header.
    Extract(u32),
    /// Into the next element of a stack.
    ExtractNext(u32),
    /// An extraction of a header whose field of variable length has as many bits.
    Variable(Box<ParserOp>, Expr),
    /// An assignment.
    Set { target: AssignTarget, value: Expr },
    /// An assignment of bits that no header has taken yet.
    SetLookahead { target: AssignTarget, offset: u32, width: u32 },
    /// Ends parsing with the error where the condition is false.
    Verify { condition: Expr, error: Expr },
    /// Skips bits: whole bytes only.
    Advance(Expr),
    /// An operation that actions have, too.
    Primitive(Op),
}

/// A part of the key of a state's choice.
#[derive(Debug)]
pub(crate) enum KeyPart {
    Value(Expr),
    Lookahead { offset: u32, width: u8 },
}

/// A value and a mask for each part of a key.
pub(crate) type Bits = Vec<(u128, u128)>;

/// The keys for which a case is taken.
#[derive(Debug)]
pub(crate) enum Pattern {
    Bits(Bits),
    /// The values that the control plane has put into a value set.
    Set(u32),
}

#[derive(Debug)]
pub(crate) struct ParserCase {
    pub pattern: Pattern,
    /// `None` accepts.
    pub next: Option<u32>,
}

#[derive(Debug, Default)]
pub(crate) struct Deparser {
    /// The headers in the order they go on the wire; invalid ones are left out.
    pub order: Vec<u32>,
    /// Run before, after the checksums' update.
    pub ops: Vec<Op>,
}

impl Deparser {
    /// The valid headers in their order.
    pub fn valid<'a>(&'a self, layout: &'a Layout, phv: &'a [u8]) -> impl Iterator<Item = &'a Header> {
        self.order.iter().map(|&header| layout.header(header)).filter(|header| header.is_valid(phv))
    }
}
