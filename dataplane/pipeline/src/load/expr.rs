//! Expressions from JSON, with the range of every intermediate result.
//!
//! BMv2 computes with unlimited integers, [`Expr`] with 128 bits. If a result may need more, only its
//! lowest 128 bits are right, which is enough for every value that is masked or stored afterwards (`p4c` does
//! that with the results of `+ - * ~ <<`). Where that is not enough, the whole expression becomes an
//! [`Expr::Big`].

use super::json::Json;
use super::scope::{Place, Scope};
use crate::error::LoadError;
use crate::program::action::HeaderRef;
use crate::program::expr::{Binary, Expr, Unary};
use crate::program::range::Range::{self, Signed, Unsigned, Wrapped};

/// An expression with its range, and the ranges of its two sides if it is a binary operation.
struct RangedExpr {
    expr: Expr,
    range: Range,
    sides: Option<(Range, Range)>,
    /// Whether some step on the way needs more than 128 bits.
    big: bool,
}

fn typed(expr: Expr, range: Range) -> RangedExpr {
    RangedExpr { expr, range, sides: None, big: false }
}

impl RangedExpr {
    /// Whether 128 bits are not enough where the value counts as a whole.
    fn exceeds(&self) -> bool {
        self.big || self.range == Wrapped
    }

    fn with(self, big: bool) -> RangedExpr {
        RangedExpr { big, ..self }
    }
}

/// An expression that is not part of another.
fn whole(expr: Expr, big: bool) -> Expr {
    match big {
        true => Expr::Big(Box::new(expr)),
        false => expr,
    }
}

/// A field as an expression.
fn field(place: Place) -> RangedExpr {
    match place {
        Place::Narrow(field) => typed(Expr::Field(field), Range::of_field(field)),
        Place::Wide(field) => typed(Expr::Wide(field), Wrapped).with(true),
    }
}

/// Widths of the action parameters that the expression may use.
pub(crate) type Params<'a> = &'a [u8];

/// The expression of a `{"type": .., "value": ..}` object.
pub(crate) fn expression(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<Expr, LoadError> {
    let RangedExpr { expr, big, .. } = operand(node, scope, params)?;
    Ok(whole(expr, big))
}

/// As [`expression`], for values that must be exact, such as indices.
pub(crate) fn exact(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<Expr, LoadError> {
    let value = operand(node, scope, params)?;
    let big = value.exceeds();
    Ok(whole(value.expr, big))
}

fn operand(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<RangedExpr, LoadError> {
    let value = node.get("value")?;
    match node.get("type")?.str()? {
        // p4c gives the validity of an element that a variable chooses as a field of it.
        "field" => match value.array()? {
            [header, part] if header.opt("op").is_some() && part.str()? == "$valid$" => {
                Ok(typed(validity(scope, element(&header, scope, params)?), Unsigned(1)))
            }
            _ => Ok(field(scope.place(&value)?)),
        },
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
    let (negative, magnitude) = node.number()?;
    let bits = u32::try_from(magnitude.bits()).unwrap_or(u32::MAX);
    let value = match u128::try_from(magnitude) {
        Ok(value) => typed(Expr::Const(value), Unsigned(bits)),
        Err(error) => typed(Expr::Number(Box::new(error.into_original().into())), Wrapped).with(true),
    };
    if !negative {
        return Ok(value);
    }
    let (big, sides) = (value.big, Box::new((Expr::Const(0), value.expr)));
    Ok(typed(Expr::Binary(Binary::Sub, sides), Range::signed(bits.saturating_add(1))).with(big))
}

fn operation(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<RangedExpr, LoadError> {
    let op = node.get("op")?;
    match op.str()? {
        "valid_union" => {
            let members = union_of(&node.get("right")?, scope, params)?;
            let members = members.into_iter().map(|member| validity(scope, member));
            let any = |a, b| Expr::Binary(Binary::LogicalOr, Box::new((a, b)));
            Ok(typed(members.reduce(any).unwrap_or(Expr::Const(0)), Unsigned(1)))
        }
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
            let left = operand(&node.get("left")?, scope, params)?;
            let right = operand(&node.get("right")?, scope, params)?;
            let range = left.range.join(right.range);
            let big = condition.exceeds() || left.big || right.big;
            Ok(typed(Expr::Select(Box::new((condition.expr, left.expr, right.expr))), range).with(big))
        }
        _ => binary(node, scope, params),
    }
}

fn unary(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<RangedExpr, LoadError> {
    let value = operand(&node.get("right")?, scope, params)?;
    let big = value.big;
    let op = match node.get("op")?.str()? {
        "b2d" => return Ok(value),
        "-" => {
            let sides = Box::new((Expr::Const(0), value.expr));
            let range = Range::signed(value.range.signed_bits() + 1);
            return Ok(typed(Expr::Binary(Binary::Sub, sides), range).with(big));
        }
        "~" => {
            let range = Range::signed(value.range.signed_bits());
            return Ok(typed(Expr::Unary(Unary::Complement, Box::new(value.expr)), range).with(big));
        }
        "not" => Unary::Not,
        _ => Unary::IsNonZero,
    };
    let big = value.exceeds();
    Ok(typed(Expr::Unary(op, Box::new(value.expr)), Unsigned(1)).with(big))
}

/// `two_comp_mod`, `sat_cast`, `usat_cast`: the right side is a constant width.
fn cast(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<RangedExpr, LoadError> {
    let width_node = node.get("right")?.get("value")?;
    let width = match width_node.unsigned_hex()? {
        bits @ 1..=128 => bits as u8,
        bits => return Err(width_node.unsupported(format!("a cast to {bits} bits"))),
    };
    let value = operand(&node.get("left")?, scope, params)?;
    let bits = u32::from(width);
    let signed = match node.get("op")?.str()? {
        "two_comp_mod" => {
            let wrapped = Expr::Unary(Unary::Wrap(width), Box::new(value.expr));
            return Ok(typed(wrapped, Signed(bits)).with(value.big));
        }
        op => op == "sat_cast",
    };
    let range = if signed { Signed(bits) } else { Unsigned(bits) };
    // p4c writes `a |+| b` as a cast of `a + b`, which may need a 129th bit: done as one operation.
    let narrow = |(a, b): (Range, Range)| a.join(range) == range && b.join(range) == range;
    let fused = value.sides.is_some_and(narrow);
    let mut big = value.big;
    let expr = match value.expr {
        Expr::Binary(Binary::Add, sides) if fused => {
            Expr::Binary(Binary::SaturatingAdd { width, signed }, sides)
        }
        Expr::Binary(Binary::Sub, sides) if fused => {
            Expr::Binary(Binary::SaturatingSub { width, signed }, sides)
        }
        expr => {
            big |= matches!(value.range, Wrapped | Unsigned(128));
            Expr::Unary(Unary::Clamp { width, signed }, Box::new(expr))
        }
    };
    Ok(typed(expr, range).with(big))
}

fn binary(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<RangedExpr, LoadError> {
    let op_node = node.get("op")?;
    let (left_node, right_node) = (node.get("left")?, node.get("right")?);
    if left_node.is_null() {
        return Err(op_node.unsupported(format!("the unary operator {:?}", op_node.str()?)));
    }
    operator(&op_node, op_node.str()?, [&left_node, &right_node], scope, params)
}

/// As [`expression`], of an operator and its two sides.
pub(crate) fn operation_of(
    node: &Json<'_>, op: &str, sides: [&Json<'_>; 2], scope: &Scope, params: Params<'_>,
) -> Result<Expr, LoadError> {
    let RangedExpr { expr, big, .. } = operator(node, op, sides, scope, params)?;
    Ok(whole(expr, big))
}

fn operator(
    op_node: &Json<'_>, op: &str, [left_node, right_node]: [&Json<'_>; 2], scope: &Scope, params: Params<'_>,
) -> Result<RangedExpr, LoadError> {
    let (a, b) = (operand(left_node, scope, params)?, operand(right_node, scope, params)?);
    let exceeds = a.exceeds() || b.exceeds();
    let natural = || require_natural(&a, left_node).and_then(|()| require_natural(&b, right_node));
    let mut big = a.big || b.big;
    let mut swapped = false;
    let (op, range) = match op {
        "+" => (Binary::Add, a.range.add(b.range)),
        "-" => (Binary::Sub, Range::signed(a.range.signed_bits().max(b.range.signed_bits()) + 1)),
        "*" => (Binary::Mul, a.range.mul(b.range)),
        "&" => (Binary::And, a.range.and(b.range)),
        "|" => (Binary::Or, a.range.join(b.range)),
        "^" => (Binary::Xor, a.range.join(b.range)),
        "<<" => {
            require_natural(&b, right_node)?;
            big |= b.exceeds();
            (Binary::Shl, a.range.shl(&b.expr))
        }
        ">>" => {
            require_natural(&b, right_node)?;
            big |= exceeds;
            let signed = matches!(a.range, Signed(_));
            (if signed { Binary::ShrSigned } else { Binary::ShrUnsigned }, a.range)
        }
        "/" => {
            natural()?;
            big |= exceeds;
            (Binary::Div, a.range)
        }
        "%" => {
            natural()?;
            big |= exceeds;
            (Binary::Mod, a.range)
        }
        "and" | "or" => {
            big |= exceeds;
            let and = op == "and";
            (if and { Binary::LogicalAnd } else { Binary::LogicalOr }, Unsigned(1))
        }
        comparison => {
            let signed = matches!(a.range, Signed(_)) || matches!(b.range, Signed(_));
            big |= exceeds || signed && a.range.join(b.range) == Wrapped;
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
    Ok(RangedExpr { expr: Expr::Binary(op, Box::new(sides)), range, sides: ranges, big })
}

fn require_natural(value: &RangedExpr, node: &Json<'_>) -> Result<(), LoadError> {
    match value.range {
        Signed(_) => Err(node.unsupported("a divisor, dividend or shift amount that can be negative")),
        _ => Ok(()),
    }
}

fn header_valid(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<RangedExpr, LoadError> {
    Ok(typed(validity(scope, header_ref(node, scope, params)?), Unsigned(1)))
}

/// Whether a header is valid.
fn validity(scope: &Scope, header: HeaderRef) -> Expr {
    match header {
        HeaderRef::Fixed(header) => Expr::Field(scope.layout.header(header).validity()),
        HeaderRef::Element { stack, index } => Expr::StackValid { stack, index: Box::new(index) },
    }
}

/// A field of a header of which only the number or the place in a stack is known.
fn access_field(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<RangedExpr, LoadError> {
    match accessed(node, scope, params)? {
        (HeaderRef::Fixed(_), place) => Ok(field(place)),
        (HeaderRef::Element { stack, index }, place) => {
            let (field, offset) = scope.offset(&node.get("right")?, stack, place)?;
            Ok(typed(Expr::StackField { stack, index: Box::new(index), offset }, Range::of_field(field)))
        }
    }
}

/// The header that an object names: a header, an element of a stack, or a member of a union.
pub(crate) fn header_ref(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<HeaderRef, LoadError> {
    let value = node.get("value")?;
    match node.get("type")?.str()? {
        "header" => Ok(HeaderRef::Fixed(scope.header(&value)?)),
        // The only "field" that is a header: the last element in use.
        "stack_field" => {
            let [stack, _last] = value.array()?;
            let stack = scope.stack(&stack)?;
            Ok(HeaderRef::Element { stack, index: Expr::LastIndex(stack) })
        }
        "expression" if value.opt("op").is_none() => header_ref(&value, scope, params),
        "expression" if value.get("op")?.str()? == "dereference_header_stack" => {
            element(&value, scope, params)
        }
        "expression" if value.get("op")?.str()? == "access_union_header" => {
            let number = value.get("right")?;
            let members = union_of(&value.get("left")?, scope, params)?;
            let member = members.into_iter().nth(number.int()?);
            member.ok_or_else(|| number.invalid("no such member of the union"))
        }
        other => Err(node.unsupported(format!("a header given as {other:?}"))),
    }
}

fn element(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<HeaderRef, LoadError> {
    let stack = scope.stack(&node.get("left")?.get("value")?)?;
    Ok(HeaderRef::Element { stack, index: exact(&node.get("right")?, scope, params)? })
}

/// The most nodes of the copies of an index, one a kind of header: copies of copies grow exponentially.
const MOST_NODES: usize = 4096;

/// The headers of a union, or of an element of a stack of unions.
pub(crate) fn union_of(
    node: &Json<'_>, scope: &Scope, params: Params<'_>,
) -> Result<Vec<HeaderRef>, LoadError> {
    let value = node.get("value")?;
    match node.get("type")?.str()? {
        "header_union" => {
            Ok(scope.union_of(&value)?.iter().map(|&header| HeaderRef::Fixed(header)).collect())
        }
        "expression" if value.opt("op").is_none() => union_of(&value, scope, params),
        "expression" if value.get("op")?.str()? == "dereference_union_stack" => {
            let stacks = scope.union_stack(&value.get("left")?.get("value")?)?;
            let right = value.get("right")?;
            let index = exact(&right, scope, params)?;
            if index.nodes().saturating_mul(stacks.len()) > MOST_NODES {
                return Err(right.unsupported("an index this long in a stack of unions"));
            }
            let element = |&stack: &u32| HeaderRef::Element { stack, index: index.clone() };
            Ok(stacks.iter().map(element).collect())
        }
        other => Err(node.unsupported(format!("a header union given as {other:?}"))),
    }
}

/// The two sides of an `access_field` operation: the header, and the field as the header or the first of the
/// stack has it.
pub(crate) fn accessed(
    node: &Json<'_>, scope: &Scope, params: Params<'_>,
) -> Result<(HeaderRef, Place), LoadError> {
    let target = header_ref(&node.get("left")?, scope, params)?;
    let number = node.get("right")?;
    let header = match &target {
        HeaderRef::Fixed(header) => *header,
        HeaderRef::Element { stack, .. } => scope.layout.stack(*stack).headers[0],
    };
    let place = scope.numbered(header, number.int()?);
    let place =
        place.ok_or_else(|| number.dangling("field", number.int::<u64>().unwrap_or(0).to_string()))?;
    Ok((target, place))
}
