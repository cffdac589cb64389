//! Expressions: what is known is computed, the rest becomes code, in the order of its effects (P4_16
//! specification, sections 8 and 8.1).

use num_bigint::BigInt;

use super::assign::{binary, ones};
use super::ir::{Expr, HeaderRef, Outcome, Statement, StatementKind};
use super::value::{element_of, index_name, known, part_of, parts_of, Binding, Value};
use super::{Lowered, Lowering};
use crate::check::constant;
use crate::check::literal::default_of;
use crate::check::operator::symbol;
use crate::check::types::Type;
use crate::check::Target;
use crate::source::Name;
use crate::syntax::tree::{Binary, Expression, ExpressionKind, Unary};

impl<'t> Lowering<'t, '_> {
    pub fn value(&mut self, expression: &'t Expression) -> Lowered<Value> {
        let conversion = self.facts.conversions.get(&expression.id);
        if let Some(value) = self.facts.values.get(&expression.id) {
            let of = conversion.or_else(|| self.facts.types.get(&expression.id));
            return Ok(known(value, of.unwrap_or(&Type::Wrong), &self.facts.errors));
        }
        let value = self.at(expression.span, |lowering| lowering.raw(expression))?;
        // A number without a width gets the one of its place (section 8.11.2).
        match (&value, conversion) {
            (Value::Scalar(Expr::Number(number)), Some(of)) => {
                Ok(Value::number(constant::wrap(number, &self.here(of))))
            }
            _ => Ok(value),
        }
    }

    /// The code of a value that is a number, a truth or a member of an enum.
    pub fn scalar(&mut self, value: &Value) -> Lowered<Expr> {
        match value {
            Value::Scalar(expr) => Ok(expr.clone()),
            _ => self.refuse("a number is expected here"),
        }
    }

    pub fn expr(&mut self, expression: &'t Expression) -> Lowered<Expr> {
        let value = self.value(expression)?;
        self.at(expression.span, |lowering| lowering.scalar(&value))
    }

    /// The number that an expression is, which must be known (section 18.1).
    pub fn number(&mut self, expression: &'t Expression, role: &str) -> Lowered<BigInt> {
        match self.value(expression)?.as_number() {
            Some(number) => Ok(number),
            None => self.refuse_at(expression.span, format!("{role} is a constant")),
        }
    }

    /// A known number that is not too large for 32 bits.
    fn small(&mut self, expression: &'t Expression, role: &str, otherwise: u32) -> Lowered<u32> {
        Ok(u32::try_from(self.number(expression, role)?).unwrap_or(otherwise))
    }

    fn raw(&mut self, expression: &'t Expression) -> Lowered<Value> {
        let of = self.type_of(expression.id);
        match &expression.kind {
            ExpressionKind::Name(path) => match self.reach(&path.ident.name, path.absolute) {
                Some(value) => value,
                None => self.refuse(format!("`{}` is not a value here", path.ident.name)),
            },
            ExpressionKind::Member(base, member) => self.member(base, &member.name),
            ExpressionKind::Index(base, index) => self.index(base, index),
            ExpressionKind::Slice { value, high, low } => {
                let (high, low) = (self.small(high, "a bound", 0)?, self.small(low, "a bound", 0)?);
                self.sliced(value, high, low)
            }
            ExpressionKind::Part { value, low, width } => {
                let width = self.small(width, "a width", 1)?;
                match self.value(low)? {
                    Value::Scalar(Expr::Number(low)) => {
                        let low = u32::try_from(low).unwrap_or(0);
                        self.sliced(value, low + width - 1, low)
                    }
                    low => {
                        let low = self.scalar(&low)?;
                        let shifted = binary(">>", self.expr(value)?, low);
                        Ok(Value::Scalar(wrap(shifted, width, false)))
                    }
                }
            }
            ExpressionKind::Unary(operator, operand) => self.unary(*operator, operand, &of),
            ExpressionKind::Binary(operator, left, right) => self.binary(*operator, left, right, &of),
            ExpressionKind::Choice { condition, then, otherwise } => {
                self.choice(condition, then, otherwise, &of)
            }
            ExpressionKind::Cast(_, value) => self.cast(value, &of),
            ExpressionKind::Call { callee, arguments, .. } => self.call(expression, callee, arguments),
            ExpressionKind::List { items, .. } => self.list(items, &of),
            ExpressionKind::Record { fields, .. } => {
                self.record(fields.iter().map(|(ident, value)| (ident.name.clone(), value)), &of)
            }
            ExpressionKind::Invalid => Ok(Value::Invalid),
            ExpressionKind::Default => self.default(&of),
            _ => self.refuse("this expression is not supported here"),
        }
    }

    /// The value that a name stands for.
    pub fn reach(&mut self, name: &Name, absolute: bool) -> Option<Lowered<Value>> {
        match if absolute { &self.globals } else { &self.environment }.reach(name)? {
            (Binding::Value(value), outside) => {
                if outside {
                    self.reached.push(value.clone());
                }
                Some(Ok(value))
            }
            (Binding::Late(declaration), _) => Some(self.late(declaration)),
            _ => None,
        }
    }

    /// `base.member` (sections 8.16 to 8.19), in parsers also `next` and `last` of stacks (section 13.9).
    fn member(&mut self, base: &'t Expression, member: &Name) -> Lowered<Value> {
        if let Some(Target::Table(_)) = self.facts.calls.get(&base.id).map(|call| &call.target) {
            return self.outcome(base, member);
        }
        let of = self.type_of(base.id);
        let value = self.value(base)?;
        match &value {
            Value::Header(header) => Ok(self.header_field(header, member, &part_of(&of, member))),
            Value::Union(union) => {
                let place = parts_of(&of).iter().position(|(name, _)| name == member).unwrap_or(0);
                Ok(Value::Header(self.union_member(union, place)))
            }
            Value::Stack(id) => Ok(match &**member {
                "next" => self.stack_element(*id, HeaderRef::Next(*id)),
                "last" => self.stack_element(*id, HeaderRef::Last(*id)),
                _ => Value::Scalar(Expr::Operation("last_stack_index", vec![Expr::Stack(*id)])),
            }),
            // A field of `{#}` has any value.
            Value::Invalid => self.temporary(&part_of(&of, member)),
            _ => match value.part(member) {
                Some(part) => Ok(part.clone()),
                None => self.refuse(format!("there is no `{member}` here")),
            },
        }
    }

    /// `table.apply().hit` as a value (section 14.2.2).
    fn outcome(&mut self, call: &'t Expression, member: &Name) -> Lowered<Value> {
        let Value::Applied(table) = self.value(call)? else { return self.refuse("no table") };
        let place = self.temporary(&Type::Bool)?;
        let mut set = |truth: bool| {
            let value = Value::Scalar(Expr::Bool(truth));
            self.code(|lowering| lowering.assign(&place, &value, &Type::Bool))
        };
        let hit = &**member == "hit";
        let then = Outcome::Hit(set(hit)?, set(!hit)?);
        self.emit(StatementKind::Apply { table, then });
        Ok(place)
    }

    /// `base[index]` (section 8.18).
    fn index(&mut self, base: &'t Expression, index: &'t Expression) -> Lowered<Value> {
        let value = self.value(base)?;
        let place = self.expr(index)?;
        if let Expr::Number(number) = &place {
            let size = self.parts(&value, &self.type_of(base.id)).len();
            return match usize::try_from(number).ok().filter(|&place| place < size) {
                Some(place) => Ok(self.element(&value, place)),
                None => self.refuse(format!("the index {number} is not one of 0 to {}", size.max(1) - 1)),
            };
        }
        match value {
            Value::Stack(id) => Ok(self.stack_element(id, HeaderRef::Element(id, Box::new(place)))),
            Value::Group(parts) => self.chosen(&parts, &place, &element_of(&self.type_of(base.id))),
            _ => self.refuse("this has no elements"),
        }
    }

    /// The element of an array by an index that is computed.
    fn chosen(&mut self, parts: &[(Name, Value)], index: &Expr, of: &Type) -> Lowered<Value> {
        let Some(((_, last), others)) = parts.split_last() else { return self.default(of) };
        let mut chosen = self.scalar(last)?;
        for (place, (_, part)) in others.iter().enumerate().rev() {
            let here = binary("==", index.clone(), Expr::Number(place.into()));
            chosen = Expr::Operation("?", vec![here, self.scalar(part)?, chosen]);
        }
        Ok(Value::Scalar(chosen))
    }

    /// `value[high:low]` (section 8.6).
    fn sliced(&mut self, value: &'t Expression, high: u32, low: u32) -> Lowered<Value> {
        Ok(Value::Scalar(match self.value(value)? {
            Value::Scalar(Expr::Field(field)) => Expr::Slice(field, high, low),
            Value::Scalar(Expr::Slice(field, top, base)) if base + high <= top => {
                Expr::Slice(field, base + high, base + low)
            }
            other => slice(self.at(value.span, |one| one.scalar(&other))?, high, low),
        }))
    }

    fn unary(&mut self, operator: Unary, operand: &'t Expression, of: &Type) -> Lowered<Value> {
        let value = self.expr(operand)?;
        let folded = Value::Scalar(value.clone()).constant();
        if let Some(result) = folded.and_then(|one| constant::unary(operator, &one, of).ok()) {
            return Ok(known(&result, of, &[]));
        }
        Ok(Value::Scalar(match operator {
            Unary::Not => value.negated(),
            Unary::Complement => wrapped(Expr::Operation("~", vec![value]), of),
            Unary::Minus => wrapped(binary("-", Expr::Number(0.into()), value), of),
            Unary::Plus => value,
        }))
    }

    fn binary(
        &mut self, operator: Binary, left: &'t Expression, right: &'t Expression, of: &Type,
    ) -> Lowered<Value> {
        if matches!(operator, Binary::And | Binary::Or) {
            return self.short_circuit(operator, left, right);
        }
        let left_type = self.converted_type(left);
        let mut first = self.value(left)?;
        let second = self.value_after(right, |one, _| one.keep([(&mut first, left_type.clone())]))?;
        match (operator, &first, &second) {
            (_, Value::Scalar(_), Value::Scalar(_)) => {
                self.arithmetic(operator, left, right, (&first, &second), of)
            }
            (Binary::Equal, ..) => Ok(Value::Scalar(self.equal(&first, &second, &left_type)?)),
            (Binary::NotEqual, ..) => Ok(Value::Scalar(self.equal(&first, &second, &left_type)?.negated())),
            _ => self.arithmetic(operator, left, right, (&first, &second), of),
        }
    }

    /// The type of an expression after the conversion that its place makes.
    pub fn converted_type(&self, expression: &Expression) -> Type {
        match self.facts.conversions.get(&expression.id) {
            Some(of) => self.here(of),
            None => self.type_of(expression.id),
        }
    }

    /// Operations on numbers (sections 8.6 to 8.9).
    pub fn arithmetic(
        &mut self, operator: Binary, left: &'t Expression, right: &'t Expression,
        (first, second): (&Value, &Value), of: &Type,
    ) -> Lowered<Value> {
        let (left_type, right_type) = (self.converted_type(left), self.converted_type(right));
        if let (Some(one), Some(two)) = (first.constant(), second.constant()) {
            match constant::binary(operator, (&one, &left_type), (&two, &right_type)) {
                Ok(result) => return Ok(known(&result, of, &[])),
                Err(constant::NoResult::Types) => {}
                Err(reason) => return self.refuse_at(left.span, reason.to_string()),
            }
        }
        let a = self.at(left.span, |lowering| lowering.scalar(first))?;
        let b = self.at(right.span, |lowering| lowering.scalar(second))?;
        Ok(Value::Scalar(match operator {
            Binary::Add | Binary::Subtract | Binary::Multiply | Binary::ShiftLeft => {
                wrapped(binary(symbol(operator), a, b), of)
            }
            Binary::AddSaturating => clamped(binary("+", a, b), of),
            Binary::SubtractSaturating => clamped(binary("-", a, b), of),
            Binary::Concatenate => {
                let width = right_type.width().unwrap_or(0);
                let high = binary("<<", bits_as(a, &left_type, false), Expr::Number(width.into()));
                let joined = binary("|", high, bits_as(b, &right_type, false));
                match of {
                    Type::Bits { signed: true, .. } => wrapped(joined, of),
                    _ => joined,
                }
            }
            _ => binary(symbol(operator), a, b),
        }))
    }

    /// The right side of `&&` and `||` has effects only if it counts (section 8.5).
    fn short_circuit(
        &mut self, operator: Binary, left: &'t Expression, right: &'t Expression,
    ) -> Lowered<Value> {
        let first = self.expr(left)?;
        let decides = operator == Binary::Or;
        if let Expr::Bool(truth) = first {
            return if truth == decides { Ok(Value::Scalar(first)) } else { self.value(right) };
        }
        let (second, effects) = self.collect(|lowering| lowering.expr(right))?;
        if effects.is_empty() {
            return Ok(Value::Scalar(match second {
                Expr::Bool(truth) if truth == decides => Expr::Bool(truth),
                Expr::Bool(_) => first,
                second => binary(if decides { "or" } else { "and" }, first, second),
            }));
        }
        let place = self.temporary(&Type::Bool)?;
        self.assign(&place, &Value::Scalar(first), &Type::Bool)?;
        let condition = self.scalar(&place)?;
        let counted = self.assigned(effects, &place, Value::Scalar(second), &Type::Bool)?;
        let (then, otherwise) = if decides { (Vec::new(), counted) } else { (counted, Vec::new()) };
        self.emit(StatementKind::If(condition, then, otherwise));
        Ok(place)
    }

    /// `condition ? then : otherwise` (section 8.5.1)
    fn choice(
        &mut self, condition: &'t Expression, then: &'t Expression, otherwise: &'t Expression, of: &Type,
    ) -> Lowered<Value> {
        let truth = self.expr(condition)?;
        if let Expr::Bool(truth) = truth {
            return self.value(if truth { then } else { otherwise });
        }
        let (first, first_effects) = self.collect(|lowering| lowering.value(then))?;
        let (second, second_effects) = self.collect(|lowering| lowering.value(otherwise))?;
        let is_pure = first_effects.is_empty() && second_effects.is_empty();
        if let (true, Value::Scalar(first)) = (is_pure, &first) {
            let all = vec![truth, first.clone(), self.scalar(&second)?];
            return Ok(Value::Scalar(Expr::Operation("?", all)));
        }
        let place = self.temporary(of)?;
        let then = self.assigned(first_effects, &place, first, of)?;
        let otherwise = self.assigned(second_effects, &place, second, of)?;
        self.emit(StatementKind::If(truth, then, otherwise));
        Ok(place)
    }

    /// Effects of a value, and its assignment to a place.
    fn assigned(
        &mut self, effects: Vec<Statement>, place: &Value, value: Value, of: &Type,
    ) -> Lowered<Vec<Statement>> {
        self.code(|lowering| {
            lowering.out.extend(effects);
            lowering.assign(place, &value, of)
        })
    }

    /// `(type) value` (sections 8.11 and 8.23)
    fn cast(&mut self, value: &'t Expression, to: &Type) -> Lowered<Value> {
        let from = self.converted_type(value);
        let inner = self.value(value)?;
        match (&inner, to.underlying()) {
            (Value::Group(parts), Type::Composite(_)) => {
                let named = parts_of(to).into_iter().zip(parts);
                return Ok(Value::Group(named.map(|((name, _), (_, part))| (name, part.clone())).collect()));
            }
            (Value::Scalar(_), _) => {}
            (Value::Group(parts), of) if parts.len() == 1 && !matches!(of, Type::Tuple(_)) => {
                return Ok(parts[0].1.clone());
            }
            _ => return Ok(inner),
        }
        let expr = self.scalar(&inner)?;
        Ok(Value::Scalar(match (inner.constant(), from.underlying(), to.underlying()) {
            (Some(constant::Value::Number(number)), _, Type::Bool) => Expr::Bool(number != BigInt::from(0)),
            (Some(constant::Value::Number(number)), _, of @ Type::Bits { .. }) => {
                Expr::Number(constant::wrap(&number, of))
            }
            (Some(constant::Value::Bool(truth)), _, Type::Bits { .. }) => {
                Expr::Number(i32::from(truth).into())
            }
            (_, Type::Bool, Type::Bits { .. }) => expr.into_bit(),
            (_, Type::Bits { .. }, Type::Bool) => Expr::ToBool(Box::new(expr)),
            (_, Type::Bits { width, signed }, Type::Bits { width: wide, signed: other })
                if width > wide || signed != other =>
            {
                wrapped(expr, to)
            }
            _ => expr,
        }))
    }

    /// `{a, b}` and `{a, ...}` (sections 8.12, 8.14 and 8.26).
    fn list(&mut self, items: &'t [Expression], of: &Type) -> Lowered<Value> {
        let mut names: Vec<Name> = parts_of(of).into_iter().map(|(name, _)| name).collect();
        if names.is_empty() {
            names = (0..items.len()).map(index_name).collect();
        }
        let Value::Group(mut made) = self.record(names.iter().cloned().zip(items), of)? else {
            return self.refuse("no list");
        };
        for name in names.iter().skip(made.len()) {
            let value = self.default(&part_of(of, name))?;
            made.push((name.clone(), value));
        }
        Ok(Value::Group(made))
    }

    /// The parts of a list or record (section 8.13), in the order of the type. Each is evaluated before the
    /// next has effects.
    fn record(&mut self, items: impl Iterator<Item = (Name, &'t Expression)>, of: &Type) -> Lowered<Value> {
        let mut parts: Vec<(Name, Value)> = Vec::new();
        for (name, item) in items {
            let earlier = parts.iter_mut().map(|(name, value)| (value, part_of(of, name)));
            let value = self.at(item.span, |one| one.value_after(item, |one, _| one.keep(earlier)))?;
            parts.push((name, value));
        }
        let Type::Composite(composite) = of.underlying() else { return Ok(Value::Group(parts)) };
        let mut ordered = Vec::new();
        for field in &composite.fields {
            match parts.iter().find(|(name, _)| *name == field.name) {
                Some(part) => ordered.push(part.clone()),
                None if parts.len() < composite.fields.len() => {
                    let value = self.at(composite.span, |lowering| lowering.default(&field.of))?;
                    ordered.push((field.name.clone(), value));
                }
                None => {}
            }
        }
        Ok(Value::Group(ordered))
    }

    /// `...` (section 7.3)
    fn default(&mut self, of: &Type) -> Lowered<Value> {
        match default_of(of) {
            Some(value) => Ok(known(&value, of, &self.facts.errors)),
            None => self.refuse(format!("{of} has no default value")),
        }
    }
}

/// The bits of a value from `low` to `high`.
pub fn slice(value: Expr, high: u32, low: u32) -> Expr {
    let shifted = if low == 0 { value } else { binary(">>", value, Expr::Number(low.into())) };
    wrap(shifted, high - low + 1, false)
}

/// The low bits of a number.
fn wrap(value: Expr, width: u32, signed: bool) -> Expr {
    match signed {
        true => binary("two_comp_mod", value, Expr::Number(width.into())),
        false => binary("&", value, Expr::Number(ones(width))),
    }
}

/// The low bits of a result, as many as its type has.
fn wrapped(expr: Expr, of: &Type) -> Expr {
    match of.underlying() {
        Type::Bits { width, signed } => wrap(expr, *width, *signed),
        _ => expr,
    }
}

/// The number of a type that is nearest to a result.
fn clamped(expr: Expr, of: &Type) -> Expr {
    match of.underlying() {
        Type::Bits { width, signed } => {
            binary(if *signed { "sat_cast" } else { "usat_cast" }, expr, Expr::Number((*width).into()))
        }
        _ => expr,
    }
}

/// The bits of a signed number, as a signed one or not.
pub fn bits_as(expr: Expr, of: &Type, signed: bool) -> Expr {
    match of.underlying() {
        Type::Bits { width, signed: true } => wrap(expr, *width, signed),
        _ => expr,
    }
}
