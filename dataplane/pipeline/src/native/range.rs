//! The range of the intermediate results of an expression.

use crate::program::expr::Expr;
use crate::program::field::Field;

/// The values an expression can have, as BMv2 would compute them: 0 to 2^bits - 1, or, signed, -2^(bits-1) to
/// 2^(bits-1) - 1. Of more than 128 bits the lowest 128 are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub signed: bool,
    pub bits: u32,
}

/// More bits than any value has that is computed exactly.
const WIDE: u32 = 1_000;

impl Range {
    pub fn unsigned(bits: u32) -> Range {
        Range { signed: false, bits: bits.min(WIDE) }
    }

    pub fn signed(bits: u32) -> Range {
        Range { signed: true, bits: bits.min(WIDE) }
    }

    /// Whether 64 bits are all of a value.
    pub fn is_exact(self) -> bool {
        self.bits <= 64
    }

    /// Bits of the smallest signed range around this one.
    pub fn signed_bits(self) -> u32 {
        self.bits + u32::from(!self.signed)
    }

    /// The range of two values of which one or the other is there.
    pub fn join(self, other: Range) -> Range {
        match self.signed || other.signed {
            true => Range::signed(self.signed_bits().max(other.signed_bits())),
            false => Range::unsigned(self.bits.max(other.bits)),
        }
    }

    /// A mask that is not negative leaves nothing above its own highest bit.
    pub fn and(self, other: Range) -> Range {
        let naturals = [self, other].into_iter().filter(|range| !range.signed);
        naturals.min_by_key(|range| range.bits).unwrap_or_else(|| self.join(other))
    }

    pub fn add(self, other: Range) -> Range {
        let both = self.join(other);
        Range { bits: (both.bits + 1).min(WIDE), ..both }
    }

    pub fn sub(self, other: Range) -> Range {
        Range::signed(self.signed_bits().max(other.signed_bits()) + 1)
    }

    pub fn mul(self, other: Range) -> Range {
        match self.signed || other.signed {
            true => Range::signed(self.signed_bits() + other.signed_bits()),
            false => Range::unsigned(self.bits + other.bits),
        }
    }

    pub fn shl(self, amount: &Expr) -> Range {
        let by = match *amount {
            Expr::Const(bits) => bits.min(WIDE.into()) as u32,
            _ => WIDE,
        };
        Range { bits: (self.bits + by).min(WIDE), ..self }
    }

    pub fn of_field(field: Field) -> Range {
        Range { signed: field.signed, bits: field.width.into() }
    }
}
