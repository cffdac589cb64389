//! The range of the intermediate results of an expression.

use crate::program::expr::Expr;
use crate::program::field::Field;

use Range::{Signed, Unsigned, Wrapped};

/// The values an expression can have, as BMv2 would compute them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Range {
    /// 0 to 2^bits - 1, bits at most 128.
    Unsigned(u32),
    /// -2^(bits-1) to 2^(bits-1) - 1, bits at most 128.
    Signed(u32),
    /// More than 128 bits: the lowest 128 are right.
    Wrapped,
}

impl Range {
    pub fn unsigned(bits: u32) -> Range {
        if bits <= 128 {
            Unsigned(bits)
        } else {
            Wrapped
        }
    }

    pub fn signed(bits: u32) -> Range {
        if bits <= 128 {
            Signed(bits)
        } else {
            Wrapped
        }
    }

    /// Bits of the smallest signed range around this one; 129 for 128 unsigned bits.
    pub fn signed_bits(self) -> u32 {
        match self {
            Unsigned(bits) => bits + 1,
            Signed(bits) => bits,
            Wrapped => 1_000,
        }
    }

    pub fn join(self, other: Range) -> Range {
        match (self, other) {
            (Wrapped, _) | (_, Wrapped) => Wrapped,
            (Unsigned(a), Unsigned(b)) => Unsigned(a.max(b)),
            (a, b) => Range::signed(a.signed_bits().max(b.signed_bits())),
        }
    }

    pub fn and(self, other: Range) -> Range {
        match (self, other) {
            (Unsigned(a), Unsigned(b)) => Unsigned(a.min(b)),
            // A mask that is not negative leaves nothing above its own highest bit.
            (Unsigned(bits), _) | (_, Unsigned(bits)) => Unsigned(bits),
            (a, b) => a.join(b),
        }
    }

    pub fn add(self, other: Range) -> Range {
        match (self, other) {
            (Unsigned(a), Unsigned(b)) => Range::unsigned(a.max(b) + 1),
            (a, b) => Range::signed(a.signed_bits().max(b.signed_bits()) + 1),
        }
    }

    pub fn mul(self, other: Range) -> Range {
        match (self, other) {
            (Unsigned(a), Unsigned(b)) => Range::unsigned(a + b),
            (a, b) => Range::signed(a.signed_bits() + b.signed_bits()),
        }
    }

    pub fn shl(self, amount: &Expr) -> Range {
        let Expr::Const(bits) = *amount else { return Wrapped };
        let bits = bits.min(1_000) as u32;
        match self {
            Unsigned(own) => Range::unsigned(own + bits),
            Signed(own) => Range::signed(own + bits),
            Wrapped => Wrapped,
        }
    }

    pub fn of_field(field: Field) -> Range {
        match field.signed {
            true => Signed(u32::from(field.width)),
            false => Unsigned(u32::from(field.width)),
        }
    }
}
