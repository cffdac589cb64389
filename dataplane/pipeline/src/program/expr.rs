//! Expressions and their evaluation.
//!
//! BMv2 computes with unlimited integers and p4c masks results to the width of their type. Here a value is
//! 128 bits in two's complement. The loader tracks how wide each intermediate result can grow; the few
//! expressions whose result depends on a bit above the 128th (see `load::expr`) are computed in numbers of
//! any size, so both agree.

use num_bigint::{BigInt, Sign};

use crate::program::field::{low, mask, sign_extend, Field, Wide};
use crate::program::phv::Layout;

/// The values that an expression can read.
#[derive(Clone, Copy)]
pub(crate) struct Env<'a> {
    pub layout: &'a Layout,
    pub phv: &'a [u8],
    /// The arguments of the action that runs.
    pub locals: &'a [u128],
}

/// An operation on one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unary {
    /// Logical not.
    Not,
    /// Every bit inverted.
    Complement,
    /// 1 unless 0: BMv2's `d2b`.
    IsNonZero,
    /// Two's complement of a width: `two_comp_mod`, a cast to `int<width>`.
    Wrap(u8),
    /// The nearest value of `int<width>` or `bit<width>`.
    Clamp { width: u8, signed: bool },
}

/// An operation on two values. Comparisons are signed where a side can be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    /// Division by 0 gives 0.
    Div,
    /// The remainder of a division by 0 is 0.
    Mod,
    And,
    Or,
    Xor,
    Shl,
    ShrUnsigned,
    ShrSigned,
    Eq,
    Ne,
    Less {
        signed: bool,
    },
    LessEq {
        signed: bool,
    },
    LogicalAnd,
    LogicalOr,
    /// `|+|` of a width.
    SaturatingAdd {
        width: u8,
        signed: bool,
    },
    /// `|-|` of a width.
    SaturatingSub {
        width: u8,
        signed: bool,
    },
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    Const(u128),
    Field(Field),
    /// An argument of the action.
    Local(u32),
    /// A field of the last element in use; 0 where there is none.
    StackLast {
        stack: u32,
        offset: u32,
    },
    /// A field of an element; 0 past the end.
    StackField {
        stack: u32,
        index: Box<Expr>,
        offset: u32,
    },
    /// An element's validity; 0 past the end.
    StackValid {
        stack: u32,
        index: Box<Expr>,
    },
    /// The index of the last element in use, as 32 bits.
    LastIndex(u32),
    /// The number of elements in use.
    StackCount(u32),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<(Expr, Expr)>),
    /// `cond ? left : right`.
    Select(Box<(Expr, Expr, Expr)>),
    /// A field of more than 128 bits or of variable length.
    Wide(Wide),
    /// A constant of more than 128 bits.
    Number(Box<BigInt>),
    /// An expression that needs more than 128 bits on the way.
    Big(Box<Expr>),
}

/// The most bits of a product or of a value shifted up, which is 0 beyond: more than any field has.
const MOST_BITS: u32 = 1 << 20;

impl Expr {
    pub fn eval(&self, env: Env<'_>) -> u128 {
        match self {
            Expr::Const(value) => *value,
            Expr::Field(field) => field.read(env.phv),
            Expr::Local(index) => env.locals.get(*index as usize).copied().unwrap_or(0),
            Expr::StackLast { stack, offset } => {
                element_field(env, env.layout.last(*stack, env.phv), *offset)
            }
            Expr::StackField { stack, index, offset } => {
                element_field(env, env.layout.element(*stack, index.eval(env)), *offset)
            }
            Expr::StackValid { stack, index } => match env.layout.element(*stack, index.eval(env)) {
                Some(header) => u128::from(env.layout.header(header).is_valid(env.phv)),
                None => 0,
            },
            Expr::LastIndex(stack) => env.layout.stack(*stack).next.bits(env.phv).wrapping_sub(1) & mask(32),
            Expr::StackCount(stack) => env.layout.stack(*stack).next.bits(env.phv),
            Expr::Unary(op, operand) => op.apply(operand.eval(env)),
            Expr::Binary(Binary::LogicalAnd, sides) => {
                u128::from(sides.0.eval(env) != 0 && sides.1.eval(env) != 0)
            }
            Expr::Binary(Binary::LogicalOr, sides) => {
                u128::from(sides.0.eval(env) != 0 || sides.1.eval(env) != 0)
            }
            Expr::Binary(op, sides) => op.apply(sides.0.eval(env), sides.1.eval(env)),
            Expr::Select(parts) if parts.0.eval(env) != 0 => parts.1.eval(env),
            Expr::Select(parts) => parts.2.eval(env),
            Expr::Wide(_) | Expr::Number(_) | Expr::Big(_) => low(&self.big(env)),
        }
    }

    /// The whole value.
    pub fn big(&self, env: Env<'_>) -> BigInt {
        match self {
            Expr::Wide(field) => field.read(env.phv),
            Expr::Number(value) => (**value).clone(),
            Expr::Big(expr) => expr.big(env),
            Expr::Unary(op, operand) => op.apply_big(operand.big(env)),
            Expr::Binary(op, sides) => op.apply_big(sides.0.big(env), sides.1.big(env)),
            Expr::Select(parts) => match parts.0.big(env).sign() {
                Sign::NoSign => parts.2.big(env),
                _ => parts.1.big(env),
            },
            _ if self.is_signed(env.layout) => BigInt::from(self.eval(env) as i128),
            _ => BigInt::from(self.eval(env)),
        }
    }

    /// Whether a value without operands can be negative.
    fn is_signed(&self, layout: &Layout) -> bool {
        match self {
            Expr::Field(field) => field.signed,
            Expr::StackLast { stack, offset } | Expr::StackField { stack, offset, .. } => {
                layout.header(layout.stack(*stack).headers[0]).fields[*offset as usize].signed
            }
            _ => false,
        }
    }

    /// The number of expressions that it consists of.
    pub fn nodes(&self) -> usize {
        1 + match self {
            Expr::StackField { index: part, .. }
            | Expr::StackValid { index: part, .. }
            | Expr::Unary(_, part)
            | Expr::Big(part) => part.nodes(),
            Expr::Binary(_, sides) => sides.0.nodes() + sides.1.nodes(),
            Expr::Select(parts) => parts.0.nodes() + parts.1.nodes() + parts.2.nodes(),
            _ => 0,
        }
    }

    pub fn is_true(&self, env: Env<'_>) -> bool {
        self.eval(env) != 0
    }
}

fn element_field(env: Env<'_>, header: Option<u32>, offset: u32) -> u128 {
    match header {
        Some(header) => env.layout.header(header).fields[offset as usize].read(env.phv),
        None => 0,
    }
}

impl Unary {
    pub fn apply(self, value: u128) -> u128 {
        match self {
            Unary::Not => u128::from(value == 0),
            Unary::Complement => !value,
            Unary::IsNonZero => u128::from(value != 0),
            Unary::Wrap(width) => sign_extend(value, width),
            Unary::Clamp { width, signed } => clamp(value as i128, width, signed),
        }
    }

    fn apply_big(self, value: BigInt) -> BigInt {
        match self {
            Unary::Not => u8::from(value.sign() == Sign::NoSign).into(),
            Unary::Complement => !value,
            Unary::IsNonZero => u8::from(value.sign() != Sign::NoSign).into(),
            Unary::Wrap(width) => (sign_extend(low(&value), width) as i128).into(),
            Unary::Clamp { width, signed } => clamp_big(value, width, signed),
        }
    }
}

fn clamp_big(value: BigInt, width: u8, signed: bool) -> BigInt {
    let (least, most) = match signed {
        true => (signed_bounds(width).0.into(), signed_bounds(width).1.into()),
        false => (BigInt::default(), BigInt::from(mask(width))),
    };
    value.clamp(least, most)
}

/// The lowest and highest value of `int<width>`.
fn signed_bounds(width: u8) -> (i128, i128) {
    (i128::MIN >> (128 - width as u32), i128::MAX >> (128 - width as u32))
}

fn clamp(value: i128, width: u8, signed: bool) -> u128 {
    if signed {
        let (low, high) = signed_bounds(width);
        value.clamp(low, high) as u128
    } else if value < 0 {
        0
    } else {
        (value as u128).min(mask(width))
    }
}

impl Binary {
    pub fn apply(self, a: u128, b: u128) -> u128 {
        match self {
            Binary::Add => a.wrapping_add(b),
            Binary::Sub => a.wrapping_sub(b),
            Binary::Mul => a.wrapping_mul(b),
            Binary::Div => a.checked_div(b).unwrap_or(0),
            Binary::Mod => a.checked_rem(b).unwrap_or(0),
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Xor => a ^ b,
            Binary::Shl => shift_amount(b).map_or(0, |n| a << n),
            Binary::ShrUnsigned => shift_amount(b).map_or(0, |n| a >> n),
            Binary::ShrSigned => ((a as i128) >> shift_amount(b).unwrap_or(127)) as u128,
            Binary::Eq => u128::from(a == b),
            Binary::Ne => u128::from(a != b),
            Binary::Less { signed: false } => u128::from(a < b),
            Binary::Less { signed: true } => u128::from((a as i128) < b as i128),
            Binary::LessEq { signed: false } => u128::from(a <= b),
            Binary::LessEq { signed: true } => u128::from((a as i128) <= b as i128),
            Binary::LogicalAnd => u128::from(a != 0 && b != 0),
            Binary::LogicalOr => u128::from(a != 0 || b != 0),
            Binary::SaturatingAdd { width, signed: false } => a.saturating_add(b).min(mask(width)),
            Binary::SaturatingAdd { width, signed: true } => {
                clamp((a as i128).saturating_add(b as i128), width, true)
            }
            Binary::SaturatingSub { signed: false, .. } => a.saturating_sub(b),
            Binary::SaturatingSub { width, signed: true } => {
                clamp((a as i128).saturating_sub(b as i128), width, true)
            }
        }
    }
}

impl Binary {
    fn apply_big(self, a: BigInt, b: BigInt) -> BigInt {
        let truth = |value: bool| u8::from(value).into();
        let none = |value: &BigInt| value.sign() == Sign::NoSign;
        match self {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul if a.bits() + b.bits() > MOST_BITS.into() => BigInt::default(),
            Binary::Mul => a * b,
            Binary::Div => a.checked_div(&b).unwrap_or_default(),
            Binary::Mod if none(&b) => b,
            Binary::Mod => a % b,
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Xor => a ^ b,
            Binary::Shl => match u32::try_from(b) {
                Ok(bits) if a.bits() + u64::from(bits) <= MOST_BITS.into() => a << bits,
                _ => BigInt::default(),
            },
            Binary::ShrUnsigned | Binary::ShrSigned => a >> u32::try_from(b).unwrap_or(MOST_BITS),
            Binary::Eq => truth(a == b),
            Binary::Ne => truth(a != b),
            Binary::Less { .. } => truth(a < b),
            Binary::LessEq { .. } => truth(a <= b),
            Binary::LogicalAnd => truth(!none(&a) && !none(&b)),
            Binary::LogicalOr => truth(!none(&a) || !none(&b)),
            Binary::SaturatingAdd { width, signed } => clamp_big(a + b, width, signed),
            Binary::SaturatingSub { width, signed } => clamp_big(a - b, width, signed),
        }
    }
}

/// Shifting by 128 or more leaves nothing.
fn shift_amount(bits: u128) -> Option<u32> {
    (bits < 128).then_some(bits as u32)
}

#[cfg(test)]
#[path = "tests/expr.rs"]
mod tests;
