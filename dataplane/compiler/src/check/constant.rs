//! Values that the compiler knows, and their arithmetic (P4_16 specification, section 8).

use num_bigint::{BigInt, Sign};

use super::types::Type;
use crate::source::Name;
use crate::syntax::tree::{Binary, Unary};

/// The widest shift and value that are computed: larger ones would only use memory.
const WIDEST: u32 = 1 << 17;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    Bool(bool),
    /// A number of any type.
    Number(BigInt),
    String(Name),
    /// A member of an enum without values, of `error` or of `match_kind`.
    Member(Name),
    /// Of a tuple, list or array.
    List(Vec<Value>),
    Record(Vec<(Name, Value)>),
    /// `{#}`
    Invalid,
}

impl Value {
    pub fn number(&self) -> Option<&BigInt> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }
}

/// The least number of a type with a width, and how many numbers it has (section 7.1.6).
fn range(of: &Type) -> Option<(BigInt, BigInt)> {
    let Type::Bits { width, signed } = *of.underlying() else { return None };
    let one = BigInt::from(1);
    Some((if signed { -(&one << (width - 1)) } else { BigInt::from(0) }, one << width))
}

/// The number as one of a type (sections 8.6 and 8.7): without the bits that it does not have. As it is for
/// types without a width.
pub fn wrap(number: &BigInt, of: &Type) -> BigInt {
    let Some((least, count)) = range(of) else { return number.clone() };
    ((number - &least) % &count + &count) % &count + least
}

/// Whether a number is a value of a type.
pub fn fits(number: &BigInt, of: &Type) -> bool {
    wrap(number, of) == *number
}

/// The reason why values have no result.
#[derive(Debug, thiserror::Error)]
pub enum NoResult {
    #[error("division by zero")]
    DivisionByZero,
    #[error("`/` and `%` are for numbers that are not negative")]
    DivisionOfNegative,
    #[error("a shift by a negative number of bits")]
    NegativeShift,
    #[error("this number has too many bits")]
    TooWide,
    #[error("this operator does not take these values")]
    Types,
}

/// The result of an operator of one side (sections 8.5 to 8.8); `of` is the type of the result.
pub fn unary(operator: Unary, value: &Value, of: &Type) -> Result<Value, NoResult> {
    Ok(match (operator, value) {
        (Unary::Not, Value::Bool(truth)) => Value::Bool(!truth),
        (Unary::Minus, Value::Number(number)) => Value::Number(wrap(&-number, of)),
        (Unary::Plus, Value::Number(number)) => Value::Number(number.clone()),
        (Unary::Complement, Value::Number(number)) => Value::Number(wrap(&!number, of)),
        _ => return Err(NoResult::Types),
    })
}

/// The result of an operator of two sides (sections 8.2 to 8.9); `left_type` and `right_type` are the types
/// of the sides.
pub fn binary(
    operator: Binary, (left, left_type): (&Value, &Type), (right, right_type): (&Value, &Type),
) -> Result<Value, NoResult> {
    let truth = |truth| Ok(Value::Bool(truth));
    match (operator, left, right) {
        (Binary::Equal, left, right) => return truth(left == right),
        (Binary::NotEqual, left, right) => return truth(left != right),
        (Binary::And, Value::Bool(left), Value::Bool(right)) => return truth(*left && *right),
        (Binary::Or, Value::Bool(left), Value::Bool(right)) => return truth(*left || *right),
        (Binary::Concatenate, Value::String(left), Value::String(right)) => {
            return Ok(Value::String(format!("{left}{right}").into()));
        }
        _ => {}
    }
    let (Value::Number(left), Value::Number(right)) = (left, right) else { return Err(NoResult::Types) };
    let number = match operator {
        Binary::Less => return truth(left < right),
        Binary::LessOrEqual => return truth(left <= right),
        Binary::Greater => return truth(left > right),
        Binary::GreaterOrEqual => return truth(left >= right),
        Binary::Add => left + right,
        Binary::Subtract => left - right,
        Binary::Multiply if left.bits() + right.bits() > u64::from(WIDEST) => return Err(NoResult::TooWide),
        Binary::Multiply => left * right,
        Binary::Divide | Binary::Modulo => return divide(operator, left, right),
        Binary::AddSaturating => saturate(left + right, left_type),
        Binary::SubtractSaturating => saturate(left - right, left_type),
        Binary::BitAnd => left & right,
        Binary::BitOr => left | right,
        Binary::BitXor => left ^ right,
        Binary::ShiftLeft | Binary::ShiftRight => shift(operator, left, right, left_type)?,
        Binary::Concatenate => {
            let width = right_type.width().ok_or(NoResult::Types)?;
            (wrap(left, &unsigned(left_type)) << width) | wrap(right, &unsigned(right_type))
        }
        _ => return Err(NoResult::Types),
    };
    let of =
        if operator == Binary::Concatenate { concatenated(left_type, right_type) } else { left_type.clone() };
    Ok(Value::Number(wrap(&number, &of)))
}

/// `/` and `%` (section 8.8).
fn divide(operator: Binary, left: &BigInt, right: &BigInt) -> Result<Value, NoResult> {
    if right.sign() == Sign::NoSign {
        return Err(NoResult::DivisionByZero);
    }
    if left.sign() == Sign::Minus || right.sign() == Sign::Minus {
        return Err(NoResult::DivisionOfNegative);
    }
    Ok(Value::Number(if operator == Binary::Divide { left / right } else { left % right }))
}

/// `<<` and `>>` (section 8.9.2).
fn shift(operator: Binary, left: &BigInt, right: &BigInt, of: &Type) -> Result<BigInt, NoResult> {
    if right.sign() == Sign::Minus {
        return Err(NoResult::NegativeShift);
    }
    let bits = u32::try_from(right).unwrap_or(u32::MAX);
    if operator == Binary::ShiftRight {
        return Ok(left >> bits.min(WIDEST));
    }
    match of.width() {
        Some(width) if bits >= width => Ok(BigInt::from(0)),
        None if bits > WIDEST => Err(NoResult::TooWide),
        _ => Ok(left << bits),
    }
}

fn unsigned(of: &Type) -> Type {
    Type::bits(of.width().unwrap_or(0))
}

/// The type of `left ++ right` (section 8.9.1): as wide as both, signed if the left is.
pub fn concatenated(left: &Type, right: &Type) -> Type {
    let signed = matches!(left.underlying(), Type::Bits { signed: true, .. });
    let width = left.width().unwrap_or(0).saturating_add(right.width().unwrap_or(0));
    Type::Bits { width, signed }
}

/// The number, or the nearest that the type has (section 8.6).
fn saturate(number: BigInt, of: &Type) -> BigInt {
    match range(of) {
        Some((least, count)) => number.clamp(least.clone(), least + count - 1),
        None => number,
    }
}
