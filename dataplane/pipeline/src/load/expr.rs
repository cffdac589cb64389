//! Expressions from JSON.

use super::json::{Json, MOST_BITS};
use super::scope::{Place, Scope};
use crate::error::LoadError;
use crate::program::action::HeaderRef;
use crate::program::expr::{Binary, Expr, Unary};
use crate::program::field::{part_widths, Wide};

fn field(place: Place) -> Expr {
    match place {
        Place::Narrow(field) => Expr::Field(field),
        Place::Wide(field) => Expr::Wide(field),
    }
}

/// The number that consists of parts of 128 bits, but for the first one.
fn joined(parts: impl Iterator<Item = Expr>) -> Expr {
    let binary = |op, a, b| Expr::Binary(op, Box::new((a, b)));
    let join = |high, low| binary(Binary::Or, binary(Binary::Shl, high, Expr::Const(128)), low);
    parts.reduce(join).unwrap_or(Expr::Const(0))
}

/// Widths of the action parameters that the expression may use.
pub(crate) type Params<'a> = &'a [u32];

/// The expression of a `{"type": .., "value": ..}` object.
pub(crate) fn expression(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<Expr, LoadError> {
    let value = node.get("value")?;
    match node.get("type")?.str()? {
        // p4c gives the validity of an element that a variable chooses as a field of it.
        "field" => match value.array()? {
            [header, part] if header.opt("op").is_some() && part.str()? == "$valid$" => {
                Ok(validity(scope, element(&header, scope, params)?))
            }
            _ => Ok(field(scope.place(&value)?)),
        },
        "hexstr" => constant(&value),
        "bool" => Ok(Expr::Const(u128::from(value.bool()?))),
        "runtime_data" | "local" => {
            let index: usize = value.int()?;
            let Some((&width, before)) = params.get(index).zip(params.get(..index)) else {
                return Err(value.dangling("action parameter", index.to_string()));
            };
            let first: usize = before.iter().map(|&width| part_widths(width).count()).sum();
            let parts = (first as u32..).zip(part_widths(width));
            Ok(joined(parts.map(|(part, _)| Expr::Local(part))))
        }
        "stack_field" => {
            let (stack, offset, place) = scope.stack_field(&value)?;
            element_field(&value, stack, scope.last_index(stack), offset, place)
        }
        // p4c wraps the expression of an action's argument once more.
        "expression" if value.opt("op").is_none() => expression(&value, scope, params),
        "expression" => operation(&value, scope, params),
        other => Err(node.unsupported(format!("an expression of type {other:?}"))),
    }
}

fn constant(node: &Json<'_>) -> Result<Expr, LoadError> {
    let (negative, magnitude) = node.number()?;
    let value = match u128::try_from(magnitude) {
        Ok(value) => Expr::Const(value),
        Err(error) => Expr::Number(Box::new(error.into_original().into())),
    };
    Ok(if negative { minus(value) } else { value })
}

fn minus(value: Expr) -> Expr {
    Expr::Binary(Binary::Sub, Box::new((Expr::Const(0), value)))
}

fn operation(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<Expr, LoadError> {
    let op = node.get("op")?;
    let part = |key| expression(&node.get(key)?, scope, params);
    let unary = |op| Ok(Expr::Unary(op, Box::new(part("right")?)));
    let stack = || scope.stack(&node.get("right")?.get("value")?);
    let is_unary = node.opt("left").is_none();
    match op.str()? {
        "valid_union" => {
            let members = union_of(&node.get("right")?, scope, params)?;
            let members = members.into_iter().map(|member| validity(scope, member));
            let any = |a, b| Expr::Binary(Binary::LogicalOr, Box::new((a, b)));
            Ok(members.reduce(any).unwrap_or(Expr::Const(0)))
        }
        "valid" => Ok(validity(scope, header_ref(&node.get("right")?, scope, params)?)),
        "access_field" => access_field(node, scope, params),
        "last_stack_index" => Ok(scope.last_index(stack()?)),
        "size_stack" => Ok(Expr::Field(scope.layout.stack(stack()?).next)),
        "b2d" if is_unary => part("right"),
        "-" if is_unary => part("right").map(minus),
        "~" if is_unary => unary(Unary::Complement),
        "not" if is_unary => unary(Unary::Not),
        "d2b" if is_unary => unary(Unary::IsNonZero),
        "two_comp_mod" | "sat_cast" | "usat_cast" => cast(node, scope, params),
        "?" => Ok(Expr::Select(Box::new((part("cond")?, part("left")?, part("right")?)))),
        name => {
            let (left, right) = (node.get("left")?, node.get("right")?);
            match left.is_null() {
                true => Err(op.unsupported(format!("the unary operator {name:?}"))),
                false => operator(&op, name, [&left, &right], scope, params),
            }
        }
    }
}

/// `two_comp_mod`, `sat_cast`, `usat_cast`: the right side is a constant width.
fn cast(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<Expr, LoadError> {
    let width_node = node.get("right")?.get("value")?;
    let width = match width_node.unsigned_hex()? {
        bits if bits > 0 && bits <= MOST_BITS.into() => bits as u32,
        bits => return Err(width_node.unsupported(format!("a cast to {bits} bits"))),
    };
    let op = match node.get("op")?.str()? {
        "two_comp_mod" => Unary::Wrap(width),
        op => Unary::Clamp { width, signed: op == "sat_cast" },
    };
    Ok(Expr::Unary(op, Box::new(expression(&node.get("left")?, scope, params)?)))
}

/// As [`expression`], of an operator and its two sides.
pub(crate) fn operator(
    op_node: &Json<'_>, op: &str, [left_node, right_node]: [&Json<'_>; 2], scope: &Scope, params: Params<'_>,
) -> Result<Expr, LoadError> {
    let left = expression(left_node, scope, params)?;
    let right = expression(right_node, scope, params)?;
    let naturals: &[(&Expr, &Json<'_>)] = match op {
        "<<" | ">>" => &[(&right, right_node)],
        "/" | "%" => &[(&left, left_node), (&right, right_node)],
        _ => &[],
    };
    if let Some((_, node)) = naturals.iter().find(|(value, _)| value.may_be_negative(&scope.layout)) {
        return Err(node.unsupported("a divisor, dividend or shift amount that can be negative"));
    }
    let binary = match op {
        "+" => Binary::Add,
        "-" => Binary::Sub,
        "*" => Binary::Mul,
        "&" => Binary::And,
        "|" => Binary::Or,
        "^" => Binary::Xor,
        "<<" => Binary::Shl,
        ">>" => Binary::Shr,
        "/" => Binary::Div,
        "%" => Binary::Mod,
        "and" => Binary::LogicalAnd,
        "or" => Binary::LogicalOr,
        "==" => Binary::Eq,
        "!=" => Binary::Ne,
        "<" | ">" => Binary::Less,
        "<=" | ">=" => Binary::LessEq,
        other => return Err(op_node.unsupported(format!("the operator {other:?}"))),
    };
    let sides = if matches!(op, ">" | ">=") { (right, left) } else { (left, right) };
    Ok(Expr::Binary(binary, Box::new(sides)))
}

fn validity(scope: &Scope, header: HeaderRef) -> Expr {
    match header {
        HeaderRef::Fixed(header) => Expr::Field(scope.layout.header(header).validity()),
        HeaderRef::Element { stack, index } => Expr::StackValid { stack, index: Box::new(index) },
    }
}

/// A field of a header of which only the number or the place in a stack is known.
fn access_field(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<Expr, LoadError> {
    match accessed(node, scope, params)? {
        (HeaderRef::Fixed(_), place) => Ok(field(place)),
        (HeaderRef::Element { stack, index }, place) => {
            let right = node.get("right")?;
            element_field(&right, stack, index, scope.offset(&right, stack, place)?, place)
        }
    }
}

/// A field of an element of a stack, whose first part is at this place of the element.
fn element_field(
    node: &Json<'_>, stack: u32, index: Expr, offset: u32, place: Place,
) -> Result<Expr, LoadError> {
    let parts = place.count();
    if parts > 1 && index.nodes().saturating_mul(parts as usize) > MOST_NODES {
        return Err(node.unsupported("an index this long of a wide field"));
    }
    let part = |part| Expr::StackField { stack, index: Box::new(index.clone()), offset: offset + part };
    let value = joined((0..parts).map(part));
    Ok(match place {
        Place::Wide(Wide { signed: true, width, .. }) => Expr::Unary(Unary::Wrap(width), Box::new(value)),
        _ => value,
    })
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
            Ok(HeaderRef::Element { stack, index: scope.last_index(stack) })
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
    Ok(HeaderRef::Element { stack, index: expression(&node.get("right")?, scope, params)? })
}

/// The most nodes of the copies of an index, one a kind of header or part of a field: copies of copies grow
/// exponentially.
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
            let index = expression(&right, scope, params)?;
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
