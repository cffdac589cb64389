//! Expressions and their evaluation.
//!
//! BMv2 computes with unlimited integers and p4c masks results to the width of their type. Here a value is
//! computed in 128 bits, and once more in numbers of any size where it, or a value on the way to it, has
//! more.

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
    Wrap(u32),
    /// The nearest value of `int<width>` or `bit<width>`.
    Clamp { width: u32, signed: bool },
}

/// An operation on two values.
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
    Shr,
    Eq,
    Ne,
    Less,
    LessEq,
    LogicalAnd,
    LogicalOr,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    /// Of at most 128 bits.
    Const(u128),
    /// Of at most 128 bits.
    Field(Field),
    /// An argument of the action.
    Local(u32),
    /// A field of an element; 0 past the end.
    StackField { stack: u32, index: Box<Expr>, offset: u32 },
    /// An element's validity; 0 past the end.
    StackValid { stack: u32, index: Box<Expr> },
    /// An operation on one value.
    Unary(Unary, Box<Expr>),
    /// An operation on two values.
    Binary(Binary, Box<(Expr, Expr)>),
    /// `cond ? left : right`.
    Select(Box<(Expr, Expr, Expr)>),
    /// A field of more than 128 bits, of none, or of variable length.
    Wide(Wide),
    /// A constant of more than 128 bits.
    Number(Box<BigInt>),
}

/// The most bits of a product or of a value shifted up, which is 0 beyond: more than any field has.
const MOST_BITS: u32 = 1 << 20;

impl Expr {
    /// The lowest 128 bits of the value.
    pub fn eval(&self, env: Env<'_>) -> u128 {
        match self {
            Expr::Unary(..) | Expr::Binary(..) | Expr::Select(_) => {
                let mut exceeded = false;
                let value = self.small(&env, &mut exceeded);
                if exceeded {
                    low(&self.big(env))
                } else {
                    value as u128
                }
            }
            leaf => leaf.leaf(&env),
        }
    }

    /// The lowest 128 bits of a value without operands.
    #[inline(always)] // into `eval`, where most expressions end
    fn leaf(&self, env: &Env<'_>) -> u128 {
        match self {
            Expr::Const(value) => *value,
            Expr::Field(field) => field.read(env.phv),
            Expr::Local(index) => env.locals.get(*index as usize).copied().unwrap_or(0),
            Expr::StackField { stack, index, offset } => {
                let header = env.layout.element(*stack, index.eval(*env));
                header.map_or(0, |header| env.layout.header(header).fields[*offset as usize].read(env.phv))
            }
            Expr::StackValid { stack, index } => match env.layout.element(*stack, index.eval(*env)) {
                Some(header) => u128::from(env.layout.header(header).is_valid(env.phv)),
                None => 0,
            },
            _ => low(&self.big(*env)),
        }
    }

    /// The whole value. Says so in `exceeded` if it, or one on the way to it, does not fit: then it is
    /// another.
    fn small(&self, env: &Env<'_>, exceeded: &mut bool) -> i128 {
        match self {
            Expr::Const(value) => natural(*value, exceeded),
            Expr::Field(field) if !field.signed => natural(field.bits(env.phv), exceeded),
            Expr::Field(field) => field.read(env.phv) as i128,
            Expr::Unary(op, operand) => op.apply(operand.small(env, exceeded)),
            Expr::Binary(Binary::LogicalAnd, sides) => {
                (sides.0.small(env, exceeded) != 0 && sides.1.small(env, exceeded) != 0).into()
            }
            Expr::Binary(Binary::LogicalOr, sides) => {
                (sides.0.small(env, exceeded) != 0 || sides.1.small(env, exceeded) != 0).into()
            }
            Expr::Binary(op, sides) => {
                let (a, b) = (sides.0.small(env, exceeded), sides.1.small(env, exceeded));
                op.apply(a, b, exceeded)
            }
            Expr::Select(parts) if parts.0.small(env, exceeded) != 0 => parts.1.small(env, exceeded),
            Expr::Select(parts) => parts.2.small(env, exceeded),
            Expr::Wide(_) | Expr::Number(_) => {
                *exceeded = true;
                0
            }
            leaf if leaf.may_be_negative(env.layout) => leaf.leaf(env) as i128,
            leaf => natural(leaf.leaf(env), exceeded),
        }
    }

    /// The whole value.
    pub fn big(&self, env: Env<'_>) -> BigInt {
        match self {
            Expr::Wide(field) => field.read(env.phv),
            Expr::Number(value) => (**value).clone(),
            Expr::Unary(op, operand) => op.apply_big(operand.big(env)),
            Expr::Binary(op, sides) => op.apply_big(sides.0.big(env), sides.1.big(env)),
            Expr::Select(parts) => match parts.0.big(env).sign() {
                Sign::NoSign => parts.2.big(env),
                _ => parts.1.big(env),
            },
            leaf if leaf.may_be_negative(env.layout) => BigInt::from(leaf.leaf(&env) as i128),
            leaf => BigInt::from(leaf.leaf(&env)),
        }
    }

    /// Whether the value can be negative.
    pub fn may_be_negative(&self, layout: &Layout) -> bool {
        let either =
            |sides: &(Expr, Expr)| sides.0.may_be_negative(layout) || sides.1.may_be_negative(layout);
        match self {
            Expr::Field(field) => field.signed,
            Expr::Wide(field) => field.signed,
            Expr::Number(value) => value.sign() == Sign::Minus,
            Expr::StackField { stack, offset, .. } => {
                layout.header(layout.stack(*stack).headers[0]).fields[*offset as usize].signed
            }
            Expr::Unary(Unary::Complement | Unary::Wrap(_), _) => true,
            Expr::Unary(Unary::Clamp { signed, .. }, _) => *signed,
            Expr::Binary(Binary::Sub, _) => true,
            Expr::Binary(Binary::And, sides) => {
                sides.0.may_be_negative(layout) && sides.1.may_be_negative(layout)
            }
            Expr::Binary(Binary::Add | Binary::Mul | Binary::Or | Binary::Xor, sides) => either(sides),
            Expr::Binary(Binary::Shl | Binary::Shr | Binary::Div | Binary::Mod, sides) => {
                sides.0.may_be_negative(layout)
            }
            Expr::Select(parts) => parts.1.may_be_negative(layout) || parts.2.may_be_negative(layout),
            _ => false,
        }
    }

    /// The number of expressions that it consists of.
    pub fn nodes(&self) -> usize {
        1 + match self {
            Expr::StackField { index: part, .. }
            | Expr::StackValid { index: part, .. }
            | Expr::Unary(_, part) => part.nodes(),
            Expr::Binary(_, sides) => sides.0.nodes() + sides.1.nodes(),
            Expr::Select(parts) => parts.0.nodes() + parts.1.nodes() + parts.2.nodes(),
            _ => 0,
        }
    }
}

/// A value that is not negative. Says so in `exceeded` if it does not fit.
#[inline]
fn natural(value: u128, exceeded: &mut bool) -> i128 {
    *exceeded |= value > i128::MAX as u128;
    value as i128
}

impl Unary {
    fn apply(self, value: i128) -> i128 {
        match self {
            Unary::Not => i128::from(value == 0),
            Unary::Complement => !value,
            Unary::IsNonZero => i128::from(value != 0),
            // All values of 128 bits are within wider ones.
            Unary::Wrap(129..) | Unary::Clamp { width: 129.., signed: true } => value,
            Unary::Wrap(width) => sign_extend(value as u128, width as u8) as i128,
            Unary::Clamp { width, signed: false } => {
                value.clamp(0, i128::try_from(mask(width.min(128) as u8)).unwrap_or(i128::MAX))
            }
            Unary::Clamp { width, .. } => value.clamp(-1 << (width - 1), mask(width as u8 - 1) as i128),
        }
    }

    fn apply_big(self, value: BigInt) -> BigInt {
        match self {
            Unary::Not => u8::from(value.sign() == Sign::NoSign).into(),
            Unary::Complement => !value,
            Unary::IsNonZero => u8::from(value.sign() != Sign::NoSign).into(),
            Unary::Wrap(width) => ((value + power(width - 1)) & (power(width) - 1)) - power(width - 1),
            Unary::Clamp { width, signed: false } => value.clamp(BigInt::default(), power(width) - 1),
            Unary::Clamp { width, .. } => value.clamp(-power(width - 1), power(width - 1) - 1),
        }
    }
}

/// 2 to the power of `bits`.
fn power(bits: u32) -> BigInt {
    BigInt::from(1) << bits
}

impl Binary {
    /// The result. Says so in `exceeded` if it does not fit.
    fn apply(self, a: i128, b: i128, exceeded: &mut bool) -> i128 {
        let mut wrapped = |(value, wraps): (i128, bool)| {
            *exceeded |= wraps;
            value
        };
        match self {
            Binary::Add => wrapped(a.overflowing_add(b)),
            Binary::Sub => wrapped(a.overflowing_sub(b)),
            Binary::Mul => wrapped(a.overflowing_mul(b)),
            Binary::Div | Binary::Mod if b == 0 => 0,
            Binary::Div => wrapped(a.overflowing_div(b)),
            Binary::Mod => wrapped(a.overflowing_rem(b)),
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Xor => a ^ b,
            Binary::Shl => {
                let shifted = a.wrapping_shl(b as u32);
                wrapped((shifted, !(0..128).contains(&b) || shifted.wrapping_shr(b as u32) != a))
            }
            Binary::Shr => a >> b.clamp(0, 127),
            Binary::Eq => (a == b).into(),
            Binary::Ne => (a != b).into(),
            Binary::Less => (a < b).into(),
            Binary::LessEq => (a <= b).into(),
            Binary::LogicalAnd => (a != 0 && b != 0).into(),
            Binary::LogicalOr => (a != 0 || b != 0).into(),
        }
    }

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
            Binary::Shr => a >> u32::try_from(b).unwrap_or(MOST_BITS),
            Binary::Eq => truth(a == b),
            Binary::Ne => truth(a != b),
            Binary::Less => truth(a < b),
            Binary::LessEq => truth(a <= b),
            Binary::LogicalAnd => truth(!none(&a) && !none(&b)),
            Binary::LogicalOr => truth(!none(&a) || !none(&b)),
        }
    }
}

#[cfg(test)]
#[path = "tests/expr.rs"]
mod tests;
