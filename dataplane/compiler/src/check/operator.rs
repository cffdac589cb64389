//! Operators, casts, indices and slices (P4_16 specification, sections 8.5 to 8.12).

use num_bigint::BigInt;

use super::constant::{self, binary, concatenated, wrap, Value};
use super::expression::Typed;
use super::types::Type;
use super::Checker;
use crate::source::Span;
use crate::syntax::tree::{Binary, Expression, Unary};

impl<'t> Checker<'t, '_> {
    pub fn unary(&mut self, operator: Unary, operand: &'t Expression, span: Span) -> Typed {
        let typed = self.expression(operand, None);
        let typed = self.enum_number(operand, typed);
        let of = self.inference.shallow(&typed.of);
        let fits = match (operator, &of) {
            (_, Type::Wrong) => return Typed::wrong(),
            (Unary::Not, of) => *of == Type::Bool,
            (Unary::Complement, of) => matches!(of, Type::Bits { .. }),
            (_, of) => matches!(of, Type::Bits { .. } | Type::Integer),
        };
        if !fits {
            let kind = self.spell(&of);
            let name = match operator {
                Unary::Not => "`!` is for bool",
                Unary::Complement => "`~` is for numbers with a width",
                Unary::Minus | Unary::Plus => "`-` and `+` are for numbers",
            };
            return self.wrong(span, format!("{name}, not for {kind}"));
        }
        let value = typed.value.as_ref().and_then(|value| constant::unary(operator, value, &of).ok());
        Typed::new(of, value, typed.is_constant)
    }

    /// `left operator right`; the left side was read already.
    pub fn operation(
        &mut self, operator: Binary, span: Span, (left, left_typed): (&'t Expression, Typed),
        right: &'t Expression,
    ) -> Typed {
        let left_type = self.inference.shallow(&left_typed.of);
        let want = match operator {
            Binary::ShiftLeft | Binary::ShiftRight | Binary::Concatenate => None,
            _ => Some(&left_type),
        };
        let right_typed = self.expression(right, want);
        let compares = matches!(operator, Binary::Equal | Binary::NotEqual);
        let (left_typed, right_typed) = if compares {
            (left_typed, right_typed)
        } else {
            (self.enum_number(left, left_typed), self.enum_number(right, right_typed))
        };
        let left_type = self.inference.shallow(&left_typed.of);
        let right_type = self.inference.shallow(&right_typed.of);
        if left_type.is_wrong() || right_type.is_wrong() {
            return Typed::wrong();
        }
        let (left_typed, right_typed) = match operator {
            Binary::ShiftLeft | Binary::ShiftRight | Binary::Concatenate => (left_typed, right_typed),
            _ => self.same_width((left, left_typed), (right, right_typed)),
        };
        let of = self.result(operator, span, &left_typed, &right_typed);
        if of.is_wrong() {
            return Typed::wrong();
        }
        let value = match (&left_typed.value, &right_typed.value) {
            (Some(a), Some(b)) => match binary(operator, (a, &left_typed.of), (b, &right_typed.of)) {
                Ok(value) => Some(value),
                Err(constant::NoResult::Types) => None,
                Err(reason) => {
                    return self.wrong(span, reason.message());
                }
            },
            (_, by) if matches!(operator, Binary::Divide | Binary::Modulo) => {
                let by = by.as_ref().and_then(Value::number).cloned();
                let constant = left_typed.is_constant && right_typed.is_constant;
                if by.as_ref().is_some_and(|by| *by == BigInt::from(0)) {
                    self.error(right.span, "division by zero");
                } else if self.is_v1model()
                    && !constant
                    && left_typed.value.is_none()
                    && !by.is_some_and(|by| by.magnitude().count_ones() == 1)
                {
                    let message = "the target divides constants only, or by a power of 2";
                    self.error(span, message).help("`x >> 3` divides by 8");
                }
                None
            }
            _ => None,
        };
        Typed::new(of, value, left_typed.is_constant && right_typed.is_constant)
    }

    /// The value of an enum with a type as a number.
    fn enum_number(&mut self, value: &'t Expression, typed: Typed) -> Typed {
        match self.inference.shallow(&typed.of) {
            Type::Enum(one) if one.of.is_some() => {
                self.coerce(value, typed, one.of.as_ref().unwrap_or(&Type::Wrong))
            }
            _ => typed,
        }
    }

    /// Gives a number without a width the width of the other side.
    fn same_width(
        &mut self, left: (&'t Expression, Typed), right: (&'t Expression, Typed),
    ) -> (Typed, Typed) {
        let (of, other) = (self.inference.shallow(&left.1.of), self.inference.shallow(&right.1.of));
        let has_width = |of: &Type| matches!(of, Type::Bits { .. });
        match (&of, &other) {
            (Type::Integer, other) if has_width(other) => (self.coerce(left.0, left.1, other), right.1),
            (of, Type::Integer) if has_width(of) => {
                let typed = self.coerce(right.0, right.1, of);
                (left.1, typed)
            }
            // The values of an enum with a type are numbers beside other types.
            (Type::Enum(one), other) if one.of.is_some() && of != *other => {
                let converted = self.enum_number(left.0, left.1);
                self.same_width((left.0, converted), right)
            }
            (of, Type::Enum(one)) if one.of.is_some() && *of != other => {
                let converted = self.enum_number(right.0, right.1);
                self.same_width(left, (right.0, converted))
            }
            _ => (left.1, right.1),
        }
    }

    /// The type of the result; [`Type::Wrong`] with a message if the operator does not take the sides.
    fn result(&mut self, operator: Binary, span: Span, left: &Typed, right: &Typed) -> Type {
        let (of, other) = (self.inference.shallow(&left.of), self.inference.shallow(&right.of));
        let number = |of: &Type| matches!(of, Type::Bits { .. } | Type::Integer);
        let same = self.inference.unify(&of, &other);
        let bits = |of: &Type| matches!(of.underlying(), Type::Bits { .. });
        let fits = same && number(&of);
        let result = match operator {
            Binary::ShiftLeft | Binary::ShiftRight => return self.shift(operator, span, left, right),
            Binary::And | Binary::Or => (of == Type::Bool && other == Type::Bool).then_some(Type::Bool),
            Binary::Equal | Binary::NotEqual => {
                ((same || record_like(&of, &other)) && !incomparable(&of)).then_some(Type::Bool)
            }
            Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual => {
                fits.then_some(Type::Bool)
            }
            Binary::Concatenate if of == Type::String && same => Some(Type::String),
            Binary::Concatenate => (bits(&of) && bits(&other)).then(|| concatenated(&of, &other)),
            Binary::AddSaturating | Binary::SubtractSaturating if of == Type::Integer => None,
            Binary::Divide | Binary::Modulo if matches!(of, Type::Bits { signed: true, .. }) => None,
            _ => fits.then(|| of.clone()),
        };
        result.unwrap_or_else(|| self.sides(operator, span, &of, &other))
    }

    fn shift(&mut self, operator: Binary, span: Span, left: &Typed, right: &Typed) -> Type {
        let (of, by) = (self.inference.shallow(&left.of), self.inference.shallow(&right.of));
        let counts = if let Type::Enum(_) = by { by.underlying() } else { &by };
        let fits = matches!(of, Type::Bits { .. } | Type::Integer)
            && matches!(counts, Type::Bits { signed: false, .. } | Type::Integer);
        if !fits {
            return self.sides(operator, span, &of, &by);
        }
        if of == Type::Integer && !right.is_constant {
            self.error(span, "a number without a width is shifted by a constant only");
            return Type::Wrong;
        }
        match (&right.value, of.width()) {
            (Some(Value::Number(by)), Some(width)) if *by >= BigInt::from(width) => {
                self.warning(span, format!("a number of {width} bits is shifted by {by}"));
            }
            (Some(Value::Number(by)), _) if *by < BigInt::from(0) => {
                self.error(span, constant::NoResult::NegativeShift.message());
                return Type::Wrong;
            }
            _ => {}
        }
        of
    }

    fn sides(&mut self, operator: Binary, span: Span, of: &Type, other: &Type) -> Type {
        let (left, right) = (self.spell(of), self.spell(other));
        let name = symbol(operator);
        let error = self.error(span, format!("`{name}` does not take {left} and {right}"));
        if *of == Type::Bool && matches!(operator, Binary::BitAnd | Binary::BitOr) {
            error.help(format!("`{name}{name}` combines conditions"));
        } else if of.is_header() && *other == Type::Integer {
            error.help("`.isValid()` says whether the header is there");
        } else if let (Type::Bits { .. }, Type::Bits { .. }) = (of, other) {
            error.help(format!("both sides need one type: `({left}) ...`"));
        }
        Type::Wrong
    }

    pub fn choice(
        &mut self, condition: &'t Expression, then: &'t Expression, otherwise: &'t Expression,
        want: Option<&Type>,
    ) -> Typed {
        let truth = self.value_of(condition, &Type::Bool);
        let first = self.expression(then, want);
        let second = self.expression(otherwise, want);
        let (first, second) = self.same_width((then, first), (otherwise, second));
        if !self.inference.unify(&first.of, &second.of) {
            self.mismatch(otherwise.span, &second.of, &first.of);
            return Typed::wrong();
        }
        let of = self.inference.shallow(&first.of);
        let is_constant = truth.is_constant && first.is_constant && second.is_constant;
        if of == Type::Integer && !is_constant {
            return self.wrong(then.span.to(otherwise.span), "the values of `? :` need a width");
        }
        let value = match truth.value {
            Some(Value::Bool(true)) => first.value,
            Some(Value::Bool(false)) => second.value,
            _ => None,
        };
        Typed::new(of, value, is_constant)
    }

    /// `(type) value` (specification, section 8.12.1).
    pub fn cast(&mut self, to: &Type, value: &'t Expression, span: Span) -> Typed {
        let (typed, from) = self.typed(value, Some(to));
        let to = self.inference.shallow(to);
        if from.is_wrong() || to.is_wrong() {
            return Typed { of: to, ..Typed::wrong() };
        }
        if !self.casts(&from, &to, &typed) {
            let (from, to) = (self.spell(&from), self.spell(&to));
            return self.wrong(span, format!("{from} cannot be cast to {to}"));
        }
        let value = match (&typed.value, to.underlying()) {
            (Some(Value::Number(number)), Type::Bool) => Some(Value::Bool(*number != BigInt::from(0))),
            (Some(Value::Bool(truth)), Type::Bits { .. }) => {
                Some(Value::Number(BigInt::from(i32::from(*truth))))
            }
            (Some(Value::Number(number)), _) => Some(Value::Number(wrap(number, &to))),
            (value, _) => value.clone(),
        };
        Typed::new(to, value, typed.is_constant)
    }

    fn casts(&mut self, from: &Type, to: &Type, typed: &Typed) -> bool {
        if self.inference.unify(from, to) {
            return true;
        }
        match (from, to) {
            (Type::Bits { width: 1, signed: false }, Type::Bool)
            | (Type::Bool, Type::Bits { width: 1, signed: false }) => true,
            (Type::Integer, Type::Bool) => {
                typed.value.as_ref().and_then(Value::number).is_some_and(|one| one.bits() <= 1)
            }
            (Type::Integer, Type::Bits { .. }) | (Type::Bits { .. }, Type::Integer) => true,
            (Type::Bits { width, signed }, Type::Bits { width: wide, signed: other }) => {
                width == wide || signed == other
            }
            (Type::New(one), Type::New(other)) => one.of == *to || *from == other.of || one.of == other.of,
            (Type::New(one), to) => one.of == *to,
            (from, Type::New(one)) => *from == one.of || matches!(from, Type::Integer | Type::Enum(_)),
            (Type::Enum(one), to) if one.of.is_some() => {
                self.casts(&one.of.clone().unwrap_or(Type::Wrong), to, typed)
            }
            (from, Type::Enum(one)) if one.of.is_some() => {
                self.casts(from, &one.of.clone().unwrap_or(Type::Wrong), typed)
            }
            (Type::Tuple(types), Type::Composite(composite)) => {
                types.len() == composite.fields.len()
                    && !from.contains(&|part| matches!(part, Type::Object(..)))
            }
            (Type::Composite(composite), to)
                if composite.fields.len() == 1 && composite.fields[0].of == *to =>
            {
                true
            }
            _ => false,
        }
    }

    /// `value[high:low]`
    pub fn slice(
        &mut self, value: &'t Expression, high: &'t Expression, low: &'t Expression, span: Span,
    ) -> Typed {
        let (typed, of) = self.typed(value, None);
        let bounds = (self.size(high, "a bound of a slice"), self.size(low, "a bound of a slice"));
        let (Some(high), Some(low)) = bounds else { return Typed::wrong() };
        if of.is_wrong() {
            return Typed::wrong();
        }
        let width = match of.underlying() {
            Type::Bits { width, .. } => *width,
            _ if of == Type::Integer => u32::MAX,
            _ => {
                return self.wrong(span, format!("slices are taken of numbers, not of {}", self.spell(&of)));
            }
        };
        if high < low || high >= width {
            let message = if high < low {
                format!("a slice begins with its upper bit: [{low}:{high}]")
            } else {
                format!("bit {high} is not one of the {width} bits of this value")
            };
            return self.wrong(span, message);
        }
        let result = Type::bits(high - low + 1);
        let sliced = typed
            .value
            .as_ref()
            .and_then(Value::number)
            .map(|number| Value::Number(wrap(&(number >> low), &result)));
        Typed { of: result, writable: typed.writable, value: sliced, is_constant: typed.is_constant }
    }

    /// `value[low+:width]`
    pub fn part(
        &mut self, value: &'t Expression, low: &'t Expression, width: &'t Expression, span: Span,
    ) -> Typed {
        let typed = self.expression(value, None);
        let start = self.expression(low, None);
        let of = self.inference.shallow(&typed.of);
        let Some(width) = self.size(width, "the width of a slice") else { return Typed::wrong() };
        let fits = match (of.underlying(), start.value.as_ref().and_then(Value::number)) {
            (Type::Wrong, _) => return Typed::wrong(),
            (Type::Bits { width: all, .. }, Some(low)) => low + width <= BigInt::from(*all) && width > 0,
            (Type::Bits { width: all, .. }, None) => width <= *all && width > 0,
            _ => false,
        };
        if !fits {
            return self.wrong(span, format!("this value has no such slice of {width} bits"));
        }
        Typed { writable: typed.writable, ..Typed::of(Type::bits(width)) }
    }

    /// `array[index]`
    pub fn index(&mut self, of: &'t Expression, index: &'t Expression) -> Typed {
        let (typed, kind) = self.typed(of, None);
        let (place, place_type) = self.typed(index, None);
        if kind.is_wrong() || place_type.is_wrong() {
            return Typed::wrong();
        }
        if !matches!(place_type.underlying(), Type::Bits { .. } | Type::Integer) {
            return self.wrong(index.span, format!("an index is a number, not {}", self.spell(&place_type)));
        }
        let known = place.value.as_ref().and_then(Value::number);
        let (element, size) = match &kind {
            Type::Array(element, size) => ((**element).clone(), Some(*size)),
            Type::List(element) => ((**element).clone(), None),
            Type::Tuple(types) => match known.and_then(|known| usize::try_from(known).ok()) {
                Some(place) if place < types.len() => (types[place].clone(), None),
                _ => {
                    let message =
                        format!("the index of a tuple is a constant from 0 to {}", types.len().max(1) - 1);
                    return self.wrong(index.span, message);
                }
            },
            other => {
                return self.wrong(of.span, format!("{} has no elements", self.spell(other)));
            }
        };
        if let (Some(known), Some(size)) = (known, size) {
            if *known < BigInt::from(0) || *known >= BigInt::from(size) {
                return self
                    .wrong(index.span, format!("the index {known} is not one of 0 to {}", size.max(1) - 1));
            }
        }
        let value = match (&typed.value, known.and_then(|known| usize::try_from(known).ok())) {
            (Some(Value::List(items)), Some(place)) => items.get(place).cloned(),
            _ => None,
        };
        Typed {
            of: element,
            writable: typed.writable,
            value,
            is_constant: typed.is_constant && place.is_constant,
        }
    }
}

/// Whether a list or record is compared with a struct that it may be a value of.
fn record_like(of: &Type, other: &Type) -> bool {
    matches!(
        (of, other),
        (Type::Tuple(_) | Type::Record(_), Type::Composite(_))
            | (Type::Composite(_), Type::Tuple(_) | Type::Record(_))
    )
}

fn incomparable(of: &Type) -> bool {
    of.contains(&|part| {
        matches!(
            part,
            Type::Object(..)
                | Type::Table
                | Type::Action
                | Type::Applied
                | Type::ActionRun
                | Type::Void
                | Type::Parameter(_)
        )
    })
}

/// The operator as it is written.
#[must_use]
pub fn symbol(operator: Binary) -> &'static str {
    let all = crate::syntax::OPERATORS.iter().flat_map(|level| level.iter());
    all.filter(|(_, one)| *one == operator).map(|(text, _)| *text).next().unwrap_or_default()
}
