//! Expressions from JSON, with the range of every intermediate result.
//!
//! BMv2 computes with unlimited integers, [`Expr`] with 128 bits. Where a result may need more, only its
//! lowest 128 bits are right, which is enough for every value that is masked or stored afterwards (`p4c` does
//! that with the results of `+ - * ~ <<`). Operations for which it is not enough refuse such an operand here.

use super::json::Json;
use super::scope::Scope;
use crate::error::LoadError;
use crate::program::action::HeaderRef;
use crate::program::expr::{Binary, Expr, Unary};
use crate::program::phv::Field;
use crate::program::range::Range::{self, Signed, Unsigned, Wrapped};

/// An expression with its range, and the ranges of its two sides if it is a binary operation.
struct RangedExpr {
    expr: Expr,
    range: Range,
    sides: Option<(Range, Range)>,
}

fn typed(expr: Expr, range: Range) -> RangedExpr {
    RangedExpr { expr, range, sides: None }
}

/// Widths of the action parameters that the expression may use.
pub(crate) type Params<'a> = &'a [u8];

/// The expression of a `{"type": .., "value": ..}` object.
pub(crate) fn expression(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<Expr, LoadError> {
    Ok(operand(node, scope, params)?.expr)
}

/// As [`expression`], for values that must be exact, such as indices.
pub(crate) fn exact(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<Expr, LoadError> {
    let value = operand(node, scope, params)?;
    require_exact(&value, node)?;
    Ok(value.expr)
}

fn operand(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<RangedExpr, LoadError> {
    let value = node.get("value")?;
    match node.get("type")?.str()? {
        "field" => {
            let field = scope.field(&value)?;
            Ok(typed(Expr::Field(field), Range::of_field(field)))
        }
        "hexstr" => constant(&value),
        "bool" => Ok(typed(Expr::Const(u128::from(value.bool()?)), Unsigned(1))),
        "runtime_data" | "local" => {
            let index: u32 = value.int()?;
            let width = params
                .get(index as usize)
                .ok_or_else(|| value.dangling("action parameter", index.to_string()))?;
            Ok(typed(Expr::Local(index), Unsigned(u32::from(*width))))
        }
        "stack_field" => {
            let (stack, offset, field) = scope.stack_field(&value)?;
            Ok(typed(Expr::StackLast { stack, offset }, Range::of_field(field)))
        }
        // p4c wraps the expression of an action's argument once more.
        "expression" if value.opt("op").is_none() => operand(&value, scope, params),
        "expression" => operation(&value, scope, params),
        other => Err(node.unsupported(format!("an expression of type {other:?}"))),
    }
}

fn constant(node: &Json<'_>) -> Result<RangedExpr, LoadError> {
    let (negative, magnitude) = node.hex()?;
    if !negative {
        return Ok(typed(Expr::Const(magnitude), Unsigned(128 - magnitude.leading_zeros())));
    }
    if magnitude > 1 << 127 {
        return Err(node.unsupported("a constant of more than 128 bits"));
    }
    let value = magnitude.wrapping_neg();
    Ok(typed(Expr::Const(value), Signed(129 - value.leading_ones())))
}

fn operation(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<RangedExpr, LoadError> {
    let op = node.get("op")?;
    match op.str()? {
        "valid" => header_valid(&node.get("right")?, scope, params),
        "access_field" => access_field(node, scope, params),
        "last_stack_index" => {
            let stack = scope.stack(&node.get("right")?.get("value")?)?;
            Ok(typed(Expr::LastIndex(stack), Unsigned(32)))
        }
        "size_stack" => {
            let stack = scope.stack(&node.get("right")?.get("value")?)?;
            Ok(typed(Expr::StackCount(stack), Unsigned(32)))
        }
        "not" | "~" | "d2b" | "b2d" | "-" if node.opt("left").is_none() => unary(node, scope, params),
        "two_comp_mod" | "sat_cast" | "usat_cast" => cast(node, scope, params),
        "?" => {
            let condition = operand(&node.get("cond")?, scope, params)?;
            require_exact(&condition, &node.get("cond")?)?;
            let left = operand(&node.get("left")?, scope, params)?;
            let right = operand(&node.get("right")?, scope, params)?;
            let range = left.range.join(right.range);
            Ok(typed(Expr::Select(Box::new((condition.expr, left.expr, right.expr))), range))
        }
        _ => binary(node, scope, params),
    }
}

fn unary(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<RangedExpr, LoadError> {
    let right = node.get("right")?;
    let value = operand(&right, scope, params)?;
    let op = match node.get("op")?.str()? {
        "b2d" => return Ok(value),
        "-" => {
            let sides = Box::new((Expr::Const(0), value.expr));
            let range = Range::signed(value.range.signed_bits() + 1);
            return Ok(typed(Expr::Binary(Binary::Sub, sides), range));
        }
        "~" => {
            let range = Range::signed(value.range.signed_bits());
            return Ok(typed(Expr::Unary(Unary::Complement, Box::new(value.expr)), range));
        }
        "not" => Unary::Not,
        _ => Unary::IsNonZero,
    };
    require_exact(&value, &right)?;
    Ok(typed(Expr::Unary(op, Box::new(value.expr)), Unsigned(1)))
}

/// `two_comp_mod`, `sat_cast`, `usat_cast`: the right side is a constant width.
fn cast(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<RangedExpr, LoadError> {
    let width_node = node.get("right")?.get("value")?;
    let width = match width_node.unsigned_hex()? {
        bits @ 1..=128 => bits as u8,
        bits => return Err(width_node.unsupported(format!("a cast to {bits} bits"))),
    };
    let left = node.get("left")?;
    let value = operand(&left, scope, params)?;
    let bits = u32::from(width);
    let signed = match node.get("op")?.str()? {
        "two_comp_mod" => {
            return Ok(typed(Expr::Unary(Unary::Wrap(width), Box::new(value.expr)), Signed(bits)))
        }
        op => op == "sat_cast",
    };
    let range = if signed { Signed(bits) } else { Unsigned(bits) };
    // p4c writes `a |+| b` as a cast of `a + b`, which may need a 129th bit: done as one operation.
    let narrow = |(a, b): (Range, Range)| a.join(range) == range && b.join(range) == range;
    let fused = value.sides.is_some_and(narrow);
    let expr = match value.expr {
        Expr::Binary(Binary::Add, sides) if fused => {
            Expr::Binary(Binary::SaturatingAdd { width, signed }, sides)
        }
        Expr::Binary(Binary::Sub, sides) if fused => {
            Expr::Binary(Binary::SaturatingSub { width, signed }, sides)
        }
        expr => {
            let value = typed(expr, value.range);
            require_exact(&value, &left)?;
            if value.range == Unsigned(128) {
                return Err(left.unsupported("a saturating cast of 128 unsigned bits"));
            }
            Expr::Unary(Unary::Clamp { width, signed }, Box::new(value.expr))
        }
    };
    Ok(typed(expr, range))
}

fn binary(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<RangedExpr, LoadError> {
    let op_node = node.get("op")?;
    let (left_node, right_node) = (node.get("left")?, node.get("right")?);
    if left_node.is_null() {
        return Err(op_node.unsupported(format!("the unary operator {:?}", op_node.str()?)));
    }
    let (a, b) = (operand(&left_node, scope, params)?, operand(&right_node, scope, params)?);
    let exact = || require_exact(&a, &left_node).and_then(|()| require_exact(&b, &right_node));
    let natural = || {
        exact().and_then(|()| require_natural(&a, &left_node)).and_then(|()| require_natural(&b, &right_node))
    };
    let mut swapped = false;
    let (op, range) = match op_node.str()? {
        "+" => (Binary::Add, a.range.add(b.range)),
        "-" => (Binary::Sub, Range::signed(a.range.signed_bits().max(b.range.signed_bits()) + 1)),
        "*" => (Binary::Mul, a.range.mul(b.range)),
        "&" => (Binary::And, a.range.and(b.range)),
        "|" => (Binary::Or, a.range.join(b.range)),
        "^" => (Binary::Xor, a.range.join(b.range)),
        "<<" => {
            require_exact(&b, &right_node)?;
            require_natural(&b, &right_node)?;
            (Binary::Shl, a.range.shl(&b.expr))
        }
        ">>" => {
            exact()?;
            require_natural(&b, &right_node)?;
            let signed = matches!(a.range, Signed(_));
            (if signed { Binary::ShrSigned } else { Binary::ShrUnsigned }, a.range)
        }
        "/" => {
            natural()?;
            (Binary::Div, a.range)
        }
        "%" => {
            natural()?;
            (Binary::Mod, a.range)
        }
        "and" => (exact().map(|()| Binary::LogicalAnd)?, Unsigned(1)),
        "or" => (exact().map(|()| Binary::LogicalOr)?, Unsigned(1)),
        comparison => {
            exact()?;
            let signed = matches!(a.range, Signed(_)) || matches!(b.range, Signed(_));
            if signed && a.range.join(b.range) == Wrapped {
                return Err(node.unsupported("a comparison of a signed value with 128 unsigned bits"));
            }
            swapped = matches!(comparison, ">" | ">=");
            let op = match comparison {
                "==" => Binary::Eq,
                "!=" => Binary::Ne,
                "<" | ">" => Binary::Less { signed },
                "<=" | ">=" => Binary::LessEq { signed },
                other => return Err(op_node.unsupported(format!("the operator {other:?}"))),
            };
            (op, Unsigned(1))
        }
    };
    let ranges = Some((a.range, b.range));
    let sides = if swapped { (b.expr, a.expr) } else { (a.expr, b.expr) };
    Ok(RangedExpr { expr: Expr::Binary(op, Box::new(sides)), range, sides: ranges })
}

fn require_exact(value: &RangedExpr, node: &Json<'_>) -> Result<(), LoadError> {
    match value.range {
        Wrapped => Err(node.unsupported("an intermediate result of more than 128 bits")),
        _ => Ok(()),
    }
}

fn require_natural(value: &RangedExpr, node: &Json<'_>) -> Result<(), LoadError> {
    match value.range {
        Signed(_) => Err(node.unsupported("a divisor, dividend or shift amount that can be negative")),
        _ => Ok(()),
    }
}

fn header_valid(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<RangedExpr, LoadError> {
    let expr = match header_ref(node, scope, params)? {
        HeaderRef::Fixed(header) => {
            let slot = scope.layout.header(header).valid;
            Expr::Field(Field { slot, width: 1, signed: false })
        }
        HeaderRef::Element { stack, index } => Expr::StackValid { stack, index: Box::new(index) },
    };
    Ok(typed(expr, Unsigned(1)))
}

/// `hdr.stack[i].field` with an index known at run time only.
fn access_field(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<RangedExpr, LoadError> {
    let (target, offset) = accessed(node, scope, params)?;
    match target {
        HeaderRef::Fixed(header) => {
            let field = scope.layout.header(header).fields[offset as usize];
            Ok(typed(Expr::Field(field), Range::of_field(field)))
        }
        HeaderRef::Element { stack, index } => {
            let field = scope.layout.header(scope.layout.stack(stack).headers[0]).fields[offset as usize];
            Ok(typed(Expr::StackField { stack, index: Box::new(index), offset }, Range::of_field(field)))
        }
    }
}

/// The header that a `header` or `dereference_header_stack` object names.
pub(crate) fn header_ref(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<HeaderRef, LoadError> {
    let value = node.get("value")?;
    match node.get("type")?.str()? {
        "header" => Ok(HeaderRef::Fixed(scope.header(&value)?)),
        "expression" if value.opt("op").is_none() => header_ref(&value, scope, params),
        "expression" if value.get("op")?.str()? == "dereference_header_stack" => {
            let stack = scope.stack(&value.get("left")?.get("value")?)?;
            Ok(HeaderRef::Element { stack, index: exact(&value.get("right")?, scope, params)? })
        }
        other => Err(node.unsupported(format!("a header given as {other:?}"))),
    }
}

/// The two sides of an `access_field` operation: the header and the position of the field within it.
pub(crate) fn accessed(
    node: &Json<'_>, scope: &Scope, params: Params<'_>,
) -> Result<(HeaderRef, u32), LoadError> {
    let target = header_ref(&node.get("left")?, scope, params)?;
    let offset: u32 = node.get("right")?.int()?;
    let header = match &target {
        HeaderRef::Fixed(header) => *header,
        HeaderRef::Element { stack, .. } => scope.layout.stack(*stack).headers[0],
    };
    if offset as usize >= scope.layout.header(header).fields.len() {
        return Err(node.get("right")?.dangling("field", offset.to_string()));
    }
    Ok((target, offset))
}
