//! Expressions as machine code.
//!
//! A value is the lowest 64 bits of the interpreter's, together with the range it can have. Where
//! an operation needs more than those bits, it is left to the interpreter.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value};

use crate::native::gen::{Gen, NotNative};
use crate::native::range::Range;
use crate::program::expr::{Binary, Expr, Unary};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Locals<'a> {
    /// Known when the code is made: none, or those of a constant default action.
    Known(&'a [u128]),
    /// In the row at the address: the width of each, and the word that has its lowest 64 bits.
    Row(Value, &'a [(u8, usize)]),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct RangedValue {
    pub value: Value,
    pub range: Range,
}

impl RangedValue {
    /// The value, if 64 bits are all of it.
    pub fn exact(self) -> Result<Value, NotNative> {
        self.range.is_exact().then_some(self.value).ok_or(NotNative)
    }

    /// The value, if 64 bits without sign are all of it.
    pub fn natural(self) -> Result<Value, NotNative> {
        self.exact().and_then(|value| if self.range.signed { Err(NotNative) } else { Ok(value) })
    }
}

impl Gen<'_> {
    /// The value of an expression.
    pub fn expr(&mut self, expr: &Expr, locals: Locals<'_>) -> Result<RangedValue, NotNative> {
        match expr {
            Expr::Const(value) => {
                let range = Range::unsigned(128 - value.leading_zeros());
                Ok(RangedValue { value: self.int(*value as u64), range })
            }
            Expr::Field(field) => {
                let value = self.field_bits(*field)?;
                let range = Range::of_field(*field);
                let value = if field.signed { self.sign_extended(value, field.width) } else { value };
                Ok(RangedValue { value, range })
            }
            Expr::Local(index) => match locals {
                Locals::Known(values) => {
                    let value = values.get(*index as usize).copied().unwrap_or(0);
                    self.expr(&Expr::Const(value), locals)
                }
                Locals::Row(at, places) => {
                    let (width, word) = *places.get(*index as usize).ok_or(NotNative)?;
                    let value = self.load(at, 8 * word as i32);
                    Ok(RangedValue { value, range: Range::unsigned(width.into()) })
                }
            },
            Expr::Unary(op, operand) => {
                let operand = self.expr(operand, locals)?;
                self.unary(*op, operand)
            }
            Expr::Binary(op, sides) => {
                let (a, b) = (self.expr(&sides.0, locals)?, self.expr(&sides.1, locals)?);
                self.binary(*op, a, b, &sides.1)
            }
            Expr::Select(parts) => {
                let condition = self.expr(&parts.0, locals)?.exact()?;
                let (a, b) = (self.expr(&parts.1, locals)?, self.expr(&parts.2, locals)?);
                let value = self.b.ins().select(condition, a.value, b.value);
                Ok(RangedValue { value, range: a.range.join(b.range) })
            }
            Expr::StackField { .. } | Expr::StackValid { .. } | Expr::Wide(_) | Expr::Number(_) => {
                Err(NotNative)
            }
        }
    }

    fn sign_extended(&mut self, value: Value, width: u8) -> Value {
        if width >= 64 {
            return value;
        }
        let shift = i64::from(64 - width);
        let value = self.b.ins().ishl_imm(value, shift);
        self.b.ins().sshr_imm(value, shift)
    }

    fn unary(&mut self, op: Unary, operand: RangedValue) -> Result<RangedValue, NotNative> {
        let bit = Range::unsigned(1);
        match op {
            Unary::Not => {
                let value = operand.exact()?;
                Ok(RangedValue { value: self.is_zero(value), range: bit })
            }
            Unary::IsNonZero => {
                let value = operand.exact()?;
                Ok(RangedValue { value: self.is_not_zero(value), range: bit })
            }
            Unary::Complement => {
                let value = self.b.ins().bnot(operand.value);
                Ok(RangedValue { value, range: Range::signed(operand.range.signed_bits()) })
            }
            Unary::Wrap(width) => {
                let value = self.sign_extended(operand.value, width.min(64) as u8);
                Ok(RangedValue { value, range: Range::signed(width) })
            }
            Unary::Clamp { width, signed } => self.clamp(operand, width, signed),
        }
    }

    fn clamp(&mut self, operand: RangedValue, width: u32, signed: bool) -> Result<RangedValue, NotNative> {
        let value = operand.exact()?;
        if width > 63 || operand.range == Range::unsigned(64) && signed {
            return Err(NotNative);
        }
        if signed {
            let (low, high) = (self.int((-1i64 << (width - 1)) as u64), self.int((1u64 << (width - 1)) - 1));
            let value = self.b.ins().smax(value, low);
            return Ok(RangedValue { value: self.b.ins().smin(value, high), range: Range::signed(width) });
        }
        let (zero, high) = (self.int(0), self.int((1u64 << width) - 1));
        let value = if operand.range.signed { self.b.ins().smax(value, zero) } else { value };
        Ok(RangedValue { value: self.b.ins().umin(value, high), range: Range::unsigned(width) })
    }

    fn binary(
        &mut self, op: Binary, a: RangedValue, b: RangedValue, right: &Expr,
    ) -> Result<RangedValue, NotNative> {
        let bit = Range::unsigned(1);
        let (x, y) = (a.value, b.value);
        let (value, range) = match op {
            Binary::Add => (self.b.ins().iadd(x, y), a.range.add(b.range)),
            Binary::Sub => (self.b.ins().isub(x, y), a.range.sub(b.range)),
            Binary::Mul => (self.b.ins().imul(x, y), a.range.mul(b.range)),
            Binary::And => (self.b.ins().band(x, y), a.range.and(b.range)),
            Binary::Or => (self.b.ins().bor(x, y), a.range.join(b.range)),
            Binary::Xor => (self.b.ins().bxor(x, y), a.range.join(b.range)),
            Binary::Shl => {
                let amount = b.natural()?;
                let shifted = self.b.ins().ishl(x, amount);
                (self.unless_out(amount, shifted), a.range.shl(right))
            }
            Binary::Shr if a.range.signed => {
                let (x, amount, most) = (a.exact()?, b.natural()?, self.int(63));
                let amount = self.b.ins().umin(amount, most);
                (self.b.ins().sshr(x, amount), a.range)
            }
            Binary::Shr => {
                let (x, amount) = (a.natural()?, b.natural()?);
                let shifted = self.b.ins().ushr(x, amount);
                (self.unless_out(amount, shifted), a.range)
            }
            Binary::Div | Binary::Mod => {
                let (x, y) = (a.natural()?, b.natural()?);
                let (zero, one) = (self.int(0), self.int(1));
                let safe = self.b.ins().umax(y, one);
                let result = match op {
                    Binary::Div => self.b.ins().udiv(x, safe),
                    _ => self.b.ins().urem(x, safe),
                };
                (self.b.ins().select(y, result, zero), a.range)
            }
            Binary::LogicalAnd => {
                let (x, y) = (a.exact()?, b.exact()?);
                let (x, y) = (self.is_not_zero(x), self.is_not_zero(y));
                (self.b.ins().band(x, y), bit)
            }
            Binary::LogicalOr => {
                let either = (a.exact()?, b.exact()?);
                let either = self.b.ins().bor(either.0, either.1);
                (self.is_not_zero(either), bit)
            }
            Binary::Eq | Binary::Ne | Binary::Less | Binary::LessEq => (self.comparison(op, a, b)?, bit),
        };
        Ok(RangedValue { value, range })
    }

    /// The shifted value, or 0 if the amount is 64 or more.
    fn unless_out(&mut self, amount: Value, shifted: Value) -> Value {
        let (zero, limit) = (self.int(0), self.int(64));
        let within = self.b.ins().icmp(IntCC::UnsignedLessThan, amount, limit);
        self.b.ins().select(within, shifted, zero)
    }

    fn comparison(&mut self, op: Binary, a: RangedValue, b: RangedValue) -> Result<Value, NotNative> {
        let both = RangedValue { value: a.value, range: a.range.join(b.range) };
        both.exact()?;
        let is_signed = both.range.signed;
        let code = match op {
            Binary::Eq => IntCC::Equal,
            Binary::Ne => IntCC::NotEqual,
            Binary::Less if is_signed => IntCC::SignedLessThan,
            Binary::Less => IntCC::UnsignedLessThan,
            _ if is_signed => IntCC::SignedLessThanOrEqual,
            _ => IntCC::UnsignedLessThanOrEqual,
        };
        Ok(self.test(code, a.value, b.value))
    }

    /// Goes to one block or the other.
    pub fn branch(&mut self, condition: &Expr, on_true: Block, on_false: Block) {
        match condition {
            Expr::Binary(Binary::LogicalAnd, sides) => {
                let second = self.b.create_block();
                self.branch(&sides.0, second, on_false);
                self.b.switch_to_block(second);
                self.branch(&sides.1, on_true, on_false);
            }
            Expr::Binary(Binary::LogicalOr, sides) => {
                let second = self.b.create_block();
                self.branch(&sides.0, on_true, second);
                self.b.switch_to_block(second);
                self.branch(&sides.1, on_true, on_false);
            }
            Expr::Unary(Unary::Not, operand) => self.branch(operand, on_false, on_true),
            Expr::Unary(Unary::IsNonZero, operand) => self.branch(operand, on_true, on_false),
            _ => {
                let exact = self.expr(condition, Locals::Known(&[])).and_then(RangedValue::exact);
                let rare = |NotNative| self.rare_test(condition, Locals::Known(&[]), None);
                let value = exact.unwrap_or_else(rare);
                self.b.ins().brif(value, on_true, &[], on_false, &[]);
            }
        }
    }
}
