//! Operators, casts, indices and slices (P4_16 specification, sections 8.5 to 8.12 and 8.18).

use num_bigint::BigInt;

use super::constant::{self, binary, concatenated, wrap, Value};
use super::expression::Typed;
use super::types::Type;
use super::Checker;
use crate::source::Span;
use crate::syntax::tree::{Binary, Expression, Unary};

impl<'t> Checker<'t, '_> {
    /// Operators of one side (sections 8.5 to 8.8).
    pub fn unary(&mut self, operator: Unary, operand: &'t Expression, span: Span) -> Typed {
        let typed = self.expression(operand, None);
        let typed = self.enum_number(operand, typed);
        let of = typed.of.known();
        let (fits, takes) = match operator {
            Unary::Not => (*of == Type::Bool, "`!` is for bool"),
            Unary::Complement => (of.is_bits(), "`~` is for numbers with a width"),
            Unary::Minus | Unary::Plus => (of.is_number(), "`-` and `+` are for numbers"),
        };
        if of.is_wrong() {
            return Typed::default();
        } else if !fits {
            fail!(self, span, "{takes}, not for {of}");
        }
        let value = typed.value.as_ref().and_then(|value| constant::unary(operator, value, of).ok());
        Typed::new(of.clone(), value, typed.is_constant)
    }

    /// `left operator right` (sections 8.2 to 8.9); the left side was read already.
    pub fn operation(
        &mut self, operator: Binary, span: Span, (left, mut one): (&'t Expression, Typed),
        right: &'t Expression,
    ) -> Typed {
        let alike = !matches!(operator, Binary::ShiftLeft | Binary::ShiftRight | Binary::Concatenate);
        let mut other = self.expression(right, alike.then_some(one.of.known()));
        if !matches!(operator, Binary::Equal | Binary::NotEqual) {
            (one, other) = (self.enum_number(left, one), self.enum_number(right, other));
        }
        if one.of.is_wrong() || other.of.is_wrong() {
            return Typed::default();
        }
        if alike {
            (one, other) = self.same_width((left, one), (right, other));
        }
        let of = self.result(operator, span, &one, &other);
        if of.is_wrong() {
            return Typed::default();
        }
        let is_constant = one.is_constant && other.is_constant;
        let value = match (&one.value, &other.value) {
            (Some(a), Some(b)) => match binary(operator, (a, &one.of), (b, &other.of)) {
                Ok(value) => Some(value),
                Err(constant::NoResult::Types) => None,
                Err(reason) => fail!(self, span, "{reason}"),
            },
            _ if matches!(operator, Binary::Divide | Binary::Modulo) => {
                let by = other.number();
                let is_power = by.is_some_and(|by| by.magnitude().count_ones() == 1);
                let is_zero = |one: &Typed| one.number().is_some_and(|one| *one == BigInt::from(0));
                if is_zero(&other) {
                    self.error(right.span, "division by zero");
                } else if self.is_v1model() && !is_constant && !is_power && !is_zero(&one) {
                    self.error(span, "the target divides constants only, or by a power of 2")
                        .help("`x >> 3` divides by 8");
                }
                None
            }
            _ => None,
        };
        Typed::new(of, value, is_constant)
    }

    /// The value of an enum with a type as a number (section 8.3).
    fn enum_number(&mut self, value: &'t Expression, typed: Typed) -> Typed {
        match typed.of.enum_values().cloned() {
            Some(of) => self.coerce(value, typed, &of),
            None => typed,
        }
    }

    /// Gives a number without a width the width of the other side (section 8.11.2).
    fn same_width(
        &mut self, (left, mut one): (&'t Expression, Typed), (right, mut other): (&'t Expression, Typed),
    ) -> (Typed, Typed) {
        // The values of an enum with a type are numbers beside other types.
        if one.of.known() != other.of.known() {
            (one, other) = (self.enum_number(left, one), self.enum_number(right, other));
        }
        match (one.of.known().clone(), other.of.known().clone()) {
            (Type::Integer, of) if of.is_bits() => (self.coerce(left, one, &of), other),
            (of, Type::Integer) if of.is_bits() => (one, self.coerce(right, other, &of)),
            _ => (one, other),
        }
    }

    /// The type of the result (sections 8.2 to 8.9); [`Type::Wrong`] with a message if the operator does not
    /// take the sides.
    fn result(&mut self, operator: Binary, span: Span, left: &Typed, right: &Typed) -> Type {
        let (of, other) = (left.of.known(), right.of.known());
        let same = of.unify(other);
        let (of, other) = (of.known(), other.known());
        let bits = |of: &Type| of.underlying().is_bits();
        let fits = same && of.is_number();
        let result = match operator {
            Binary::ShiftLeft | Binary::ShiftRight => return self.shift(operator, span, left, right),
            Binary::And | Binary::Or => (*of == Type::Bool && *other == Type::Bool).then_some(Type::Bool),
            Binary::Equal | Binary::NotEqual => {
                ((same || record_like(of, other)) && !incomparable(of)).then_some(Type::Bool)
            }
            Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual => {
                fits.then_some(Type::Bool)
            }
            Binary::Concatenate if *of == Type::String && same => Some(Type::String),
            Binary::Concatenate => (bits(of) && bits(other)).then(|| concatenated(of, other)),
            Binary::AddSaturating | Binary::SubtractSaturating if *of == Type::Integer => None,
            Binary::Divide | Binary::Modulo if matches!(of, Type::Bits { signed: true, .. }) => None,
            _ => fits.then(|| of.clone()),
        };
        result.unwrap_or_else(|| self.sides(operator, span, of, other))
    }

    /// The type of a shift (section 8.9.2).
    fn shift(&mut self, operator: Binary, span: Span, left: &Typed, right: &Typed) -> Type {
        let (of, by) = (left.of.known(), right.of.known());
        let counts = by.enum_values().map_or(by, Type::underlying);
        if !of.is_number() || !matches!(counts, Type::Bits { signed: false, .. } | Type::Integer) {
            return self.sides(operator, span, of, by);
        }
        match (right.number(), of.width()) {
            _ if *of == Type::Integer && !right.is_constant => {
                self.error(span, "a number without a width is shifted by a constant only")
                    .help("a number with a width: `32w1 << ...`");
            }
            (Some(by), _) if *by < BigInt::from(0) => {
                self.error(span, constant::NoResult::NegativeShift.to_string());
            }
            (Some(by), Some(width)) if *by >= BigInt::from(width) => {
                self.warning(span, format!("a number of {width} bits is shifted by {by}"));
                return of.clone();
            }
            _ => return of.clone(),
        }
        Type::Wrong
    }

    fn sides(&mut self, operator: Binary, span: Span, of: &Type, other: &Type) -> Type {
        let name = symbol(operator);
        let error = error!(self, span, "`{name}` does not take {of} and {other}");
        if *of == Type::Bool && matches!(operator, Binary::BitAnd | Binary::BitOr) {
            error.help(format!("`{name}{name}` combines conditions"));
        } else if *of == Type::Bool && other.is_number() && !matches!(name, "==" | "!=") {
            error.help("`&&` combines conditions: `0 < x && x < 8`");
        } else if of.is_header() && *other == Type::Integer {
            error.help("`.isValid()` says whether the header is there");
        } else if of == other && of.is_bits() {
            error.help("numbers with a sign are not divided");
        } else if of.is_bits() && other.is_bits() {
            error.help(format!("both sides need one type: `({of}) ...`"));
        }
        Type::Wrong
    }

    /// `condition ? then : otherwise` (section 8.5.1).
    pub fn choice(
        &mut self, [condition, then, otherwise]: [&'t Expression; 3], want: Option<&Type>,
    ) -> Typed {
        let truth = self.value_of(condition, &Type::Bool);
        let first = self.expression(then, want);
        let second = self.expression(otherwise, want);
        let (first, second) = self.same_width((then, first), (otherwise, second));
        if !first.of.unify(&second.of) {
            self.mismatch(otherwise.span, &second.of, &first.of);
            return Typed::default();
        }
        let of = first.of.known().clone();
        let is_constant = truth.is_constant && first.is_constant && second.is_constant;
        if of == Type::Integer && !is_constant {
            fail!(self, then.span.to(otherwise.span), "the values of `? :` need a width");
        }
        let value = match truth.value {
            Some(Value::Bool(true)) => first.value,
            Some(Value::Bool(false)) => second.value,
            _ => None,
        };
        Typed::new(of, value, is_constant)
    }

    /// `(type) value` (section 8.11.1).
    pub fn cast(&mut self, to: &Type, value: &'t Expression, span: Span) -> Typed {
        let typed = self.expression(value, Some(to));
        let to = to.known();
        if typed.of.is_wrong() || to.is_wrong() {
            return Typed { of: to.clone(), ..Typed::default() };
        }
        if !casts(typed.of.known(), to, &typed) {
            fail!(self, span, "{} cannot be cast to {to}", typed.of);
        }
        let value = match (typed.value, to.underlying()) {
            (Some(Value::Number(number)), Type::Bool) => Some(Value::Bool(number != BigInt::from(0))),
            (Some(Value::Bool(truth)), Type::Bits { .. }) => Some(Value::Number(i32::from(truth).into())),
            (Some(Value::Number(number)), _) => Some(Value::Number(wrap(&number, to))),
            (value, _) => value,
        };
        Typed::new(to.clone(), value, typed.is_constant)
    }

    /// `value[high:low]` (section 8.6).
    pub fn slice(&mut self, [value, high, low]: [&'t Expression; 3], span: Span) -> Typed {
        let typed = self.expression(value, None);
        let bounds =
            (self.size(high, "a bound of a slice", false), self.size(low, "a bound of a slice", false));
        let (Some(high), Some(low)) = bounds else { return Typed::default() };
        let width = match typed.of.underlying() {
            Type::Wrong => return Typed::default(),
            Type::Bits { width, .. } => *width,
            Type::Integer => u32::MAX,
            _ => fail!(self, span, "slices are taken of numbers, not of {}", typed.of),
        };
        if high < low {
            fail!(self, span, "a slice begins with its upper bit: [{low}:{high}]");
        } else if high >= width {
            fail!(self, span, "bit {high} is not one of the {width} bits of this value");
        }
        let of = Type::bits(high - low + 1);
        let value = typed.number().map(|number| Value::Number(wrap(&(number >> low), &of)));
        Typed { of, value, ..typed }
    }

    /// `value[low+:width]`, of the draft after 1.2.5.
    pub fn part(&mut self, [value, low, width]: [&'t Expression; 3], span: Span) -> Typed {
        let typed = self.expression(value, None);
        let start = self.expression(low, None);
        let Some(width) = self.size(width, "the width of a slice", false) else { return Typed::default() };
        let low = start.number().cloned().unwrap_or_default();
        match typed.of.underlying() {
            Type::Wrong => return Typed::default(),
            Type::Bits { width: all, .. } if low + width <= BigInt::from(*all) && width > 0 => {}
            _ => fail!(self, span, "this value has no such slice of {width} bits"),
        }
        Typed { writable: typed.writable, ..Typed::of(Type::bits(width)) }
    }

    /// `array[index]` (sections 8.12, 8.14 and 8.18).
    pub fn index(&mut self, of: &'t Expression, index: &'t Expression) -> Typed {
        let typed = self.expression(of, None);
        let place = self.expression(index, None);
        if typed.of.is_wrong() || place.of.is_wrong() {
            return Typed::default();
        }
        if !place.of.underlying().is_number() {
            fail!(self, index.span, "an index is a number, not {}", place.of);
        }
        let known = place.number();
        let known_place = known.and_then(|known| usize::try_from(known).ok());
        let (element, size) = match &typed.of {
            Type::Array(element, size) => ((**element).clone(), Some(*size)),
            Type::List(element) => ((**element).clone(), None),
            Type::Tuple(types) => match known_place.and_then(|place| types.get(place)) {
                Some(element) => (element.clone(), None),
                None => {
                    let last = types.len().max(1) - 1;
                    fail!(self, index.span, "the index of a tuple is a constant from 0 to {last}")
                }
            },
            other => {
                let error = error!(self, of.span, "{other} has no elements");
                if other.is_bits() {
                    error.help("one bit of a number: `[3:3]`");
                } else if other.is_object() {
                    error.help("`.read(value, index)` and `.write(index, value)`");
                }
                return Typed::default();
            }
        };
        if let (Some(known), Some(size)) = (known, size) {
            if *known < BigInt::from(0) || *known >= BigInt::from(size) {
                fail!(self, index.span, "the index {known} is not one of 0 to {}", size.max(1) - 1);
            }
        }
        let value = match (&typed.value, known_place) {
            (Some(Value::List(items)), Some(place)) => items.get(place).cloned(),
            _ => None,
        };
        Typed { of: element, value, is_constant: typed.is_constant && place.is_constant, ..typed }
    }
}

/// Whether `(to) value` converts (sections 8.11.1, and 8.23 for `type`).
fn casts(from: &Type, to: &Type, typed: &Typed) -> bool {
    if from.unify(to) {
        return true;
    }
    match (from, to) {
        (Type::Bits { width: 1, signed: false }, Type::Bool)
        | (Type::Bool, Type::Bits { width: 1, signed: false })
        | (Type::Integer, Type::Bits { .. })
        | (Type::Bits { .. }, Type::Integer) => true,
        (Type::Integer, Type::Bool) => typed.number().is_some_and(|one| one.bits() <= 1),
        (Type::Bits { width, signed }, Type::Bits { width: wide, signed: other }) => {
            width == wide || signed == other
        }
        (Type::New(one), Type::New(other)) => one.of == *to || *from == other.of || one.of == other.of,
        (Type::New(one), to) => one.of == *to,
        (from, Type::New(one)) => *from == one.of || matches!(from, Type::Integer | Type::Enum(_)),
        (Type::Enum(one), to) if one.of.is_some() => one.of.as_ref().is_some_and(|of| casts(of, to, typed)),
        (from, Type::Enum(one)) => one.of.as_ref().is_some_and(|of| casts(from, of, typed)),
        (Type::Tuple(types), Type::Composite(composite)) => {
            types.len() == composite.fields.len() && !from.contains(&Type::is_object)
        }
        (Type::Composite(composite), to) => composite.fields.len() == 1 && composite.fields[0].of == *to,
        _ => false,
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

/// Whether values of a type are not compared by `==`: those of a type variable are not (section 8.24).
fn incomparable(of: &Type) -> bool {
    of.contains(&|part| {
        matches!(part, Type::Object(..) | Type::Table | Type::Action | Type::Applied | Type::ActionRun)
            || matches!(part, Type::Void | Type::Parameter(_))
    })
}

/// The operator as it is written.
pub fn symbol(operator: Binary) -> &'static str {
    Binary::ALL.iter().find(|(_, one, _)| *one == operator).map_or("", |(text, ..)| text)
}
