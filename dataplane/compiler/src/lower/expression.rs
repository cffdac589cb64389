//! Expressions: what is known is computed, the rest becomes code, in the order of its effects
//! (P4_16 specification, section 8.5).

use num_bigint::BigInt;

use super::assign::{binary, element_of, part_of};
use super::environment::Binding;
use super::ir::{Expr, HeaderRef, Outcome, Statement, StatementKind, UnionRef};
use super::value::{index_name, known, Value};
use super::{Lowered, Lowering};
use crate::check::constant;
use crate::check::literal::default_of;
use crate::check::types::Type;
use crate::check::Target;
use crate::source::{Name, Span};
use crate::syntax::tree::{Binary, Expression, ExpressionKind, Unary};

impl<'t> Lowering<'t, '_> {
    pub fn value(&mut self, expression: &'t Expression) -> Lowered<Value> {
        if let Some(value) = self.facts.values.get(&expression.id) {
            let of =
                self.facts.conversions.get(&expression.id).or_else(|| self.facts.types.get(&expression.id));
            return Ok(known(value, of.unwrap_or(&Type::Wrong), &self.facts.errors));
        }
        let value = self.raw(expression)?;
        // A number without a width gets the one of its place.
        match (&value, self.facts.conversions.get(&expression.id)) {
            (Value::Scalar(Expr::Number(number)), Some(of)) => {
                Ok(Value::number(constant::wrap(number, &self.here(of))))
            }
            _ => Ok(value),
        }
    }

    /// The code of a value that is a number, a truth or a member of an enum.
    pub fn scalar(&mut self, value: &Value, span: Span) -> Lowered<Expr> {
        match value {
            Value::Scalar(expr) => Ok(expr.clone()),
            Value::Slice(field, high, low) => Ok(slice(Expr::Field(field.clone()), *high, *low)),
            _ => self.refuse(span, "a number is expected here"),
        }
    }

    pub fn expr(&mut self, expression: &'t Expression) -> Lowered<Expr> {
        let value = self.value(expression)?;
        self.scalar(&value, expression.span)
    }

    /// The number that an expression is, which must be known.
    pub fn number(&mut self, expression: &'t Expression, what: &str) -> Lowered<BigInt> {
        match self.value(expression)? {
            Value::Scalar(Expr::Number(number)) => Ok(number),
            Value::Scalar(Expr::Bool(truth)) => Ok(BigInt::from(i32::from(truth))),
            _ => self.refuse(expression.span, format!("{what} is a constant")),
        }
    }

    fn raw(&mut self, expression: &'t Expression) -> Lowered<Value> {
        let span = expression.span;
        let of = self.type_of(expression.id);
        match &expression.kind {
            ExpressionKind::Name(path) => self.name(&path.ident.name, path.absolute, span),
            ExpressionKind::Member(base, member) => self.member(base, &member.name, span),
            ExpressionKind::Index(base, index) => self.index(base, index, span),
            ExpressionKind::Slice { value, high, low } => {
                let (high, low) = (self.number(high, "a bound")?, self.number(low, "a bound")?);
                let (high, low) = (u32::try_from(high).unwrap_or(0), u32::try_from(low).unwrap_or(0));
                self.sliced(value, high, low)
            }
            ExpressionKind::Part { value, low, width } => {
                let width = u32::try_from(self.number(width, "a width")?).unwrap_or(1);
                match self.value(low)? {
                    Value::Scalar(Expr::Number(low)) => {
                        let low = u32::try_from(low).unwrap_or(0);
                        self.sliced(value, low + width - 1, low)
                    }
                    low => {
                        let low = self.scalar(&low, span)?;
                        let shifted = binary(Binary::ShiftRight, self.expr(value)?, low);
                        Ok(Value::Scalar(Expr::Wrap(Box::new(shifted), width, false)))
                    }
                }
            }
            ExpressionKind::Unary(operator, operand) => self.unary(*operator, operand, &of),
            ExpressionKind::Binary(operator, left, right) => self.binary(*operator, left, right, &of, span),
            ExpressionKind::Choice { condition, then, otherwise } => {
                self.choice(condition, then, otherwise, &of, span)
            }
            ExpressionKind::Cast(_, value) => self.cast(value, &of, span),
            ExpressionKind::Call { callee, arguments, .. } => self.call(expression, callee, arguments),
            ExpressionKind::List { items, .. } => self.list(items, &of, span),
            ExpressionKind::Record { fields, .. } => {
                let mut parts = Vec::new();
                for (ident, value) in fields {
                    parts.push((ident.name.clone(), value));
                }
                self.record(parts, &of)
            }
            ExpressionKind::Invalid => Ok(Value::Invalid),
            ExpressionKind::Default => self.default(&of, span),
            _ => self.refuse(span, "this expression is not supported here"),
        }
    }

    pub fn name(&mut self, name: &Name, absolute: bool, span: Span) -> Lowered<Value> {
        let found = if absolute { self.globals.reach(name) } else { self.environment.reach(name) };
        match found {
            Some((Binding::Value(value), outside)) => {
                if outside {
                    self.reached.push(value.clone());
                }
                Ok(value)
            }
            Some((Binding::Late(declaration), _)) => self.late(declaration),
            _ => self.refuse(span, format!("`{name}` is not a value here")),
        }
    }

    fn member(&mut self, base: &'t Expression, member: &Name, span: Span) -> Lowered<Value> {
        if let Some(Target::Table(_)) = self.facts.calls.get(&base.id).map(|call| &call.target) {
            return self.outcome(base, member, span);
        }
        let of = self.type_of(base.id);
        let value = self.value(base)?;
        match &value {
            Value::Group(_) => match value.part(member) {
                Some(part) => Ok(part.clone()),
                None => self.refuse(span, format!("there is no `{member}` here")),
            },
            Value::Header(header) => Ok(self.member_of_header(header, member, &of).0),
            Value::Union(union) => {
                let Type::Composite(composite) = of.underlying() else {
                    return self.refuse(span, "no union");
                };
                let place = composite.fields.iter().position(|field| field.name == *member).unwrap_or(0);
                Ok(Value::Header(self.union_member(union, place)))
            }
            Value::Stack(id) => Ok(match &**member {
                "next" => Value::Header(HeaderRef::Next(*id)),
                "last" => Value::Header(HeaderRef::Last(*id)),
                _ => Value::Scalar(Expr::LastIndex(*id)),
            }),
            Value::UnionStack(id) => Ok(match &**member {
                "next" => Value::Union(UnionRef::Next(*id)),
                _ => Value::Union(UnionRef::Last(*id)),
            }),
            Value::Invalid => {
                let place = self.temporary(&of, span)?;
                match place {
                    Value::Header(header) => Ok(self.member_of_header(&header, member, &of).0),
                    _ => self.refuse(span, "this header is invalid"),
                }
            }
            _ => self.refuse(span, format!("there is no `{member}` here")),
        }
    }

    /// `table.apply().hit` as a value.
    fn outcome(&mut self, call: &'t Expression, member: &Name, span: Span) -> Lowered<Value> {
        let Value::Applied(table) = self.value(call)? else { return self.refuse(span, "no table") };
        let place = self.temporary(&Type::Bool, span)?;
        let hit = &**member == "hit";
        let set = |lowering: &mut Self, truth: bool| -> Lowered<Vec<Statement>> {
            let value = Value::Scalar(Expr::Bool(truth));
            Ok(lowering.collect(|lowering| lowering.assign(&place, &value, &Type::Bool, span))?.1)
        };
        let (then, otherwise) = (set(self, hit)?, set(self, !hit)?);
        self.emit(span, StatementKind::Apply { table, then: Outcome::Hit(then, otherwise) });
        Ok(place)
    }

    fn index(&mut self, base: &'t Expression, index: &'t Expression, span: Span) -> Lowered<Value> {
        let base_value = self.value(base)?;
        let of = self.type_of(base.id);
        let place = self.expr(index)?;
        if let Expr::Number(number) = &place {
            let size = match &base_value {
                Value::Stack(id) => self.program.stacks[*id].headers.len(),
                Value::UnionStack(id) => self.program.union_stacks[*id].unions.len(),
                Value::Group(parts) => parts.len(),
                _ => 0,
            };
            return match usize::try_from(number).ok().filter(|&place| place < size) {
                Some(place) => Ok(self.element(&base_value, place)),
                None => {
                    self.refuse(span, format!("the index {number} is not one of 0 to {}", size.max(1) - 1))
                }
            };
        }
        match base_value {
            Value::Stack(id) => Ok(Value::Header(HeaderRef::Element(id, Box::new(place)))),
            Value::UnionStack(id) => Ok(Value::Union(UnionRef::Element(id, Box::new(place)))),
            Value::Group(parts) => self.chosen(parts, &place, &element_of(&of), span),
            _ => self.refuse(span, "this has no elements"),
        }
    }

    /// The element of an array by an index that is computed.
    fn chosen(&mut self, parts: Vec<(Name, Value)>, index: &Expr, of: &Type, span: Span) -> Lowered<Value> {
        let mut chosen: Option<Expr> = None;
        for (place, (_, part)) in parts.iter().enumerate().rev() {
            let value = self.scalar(part, span)?;
            chosen = Some(match chosen {
                None => value,
                Some(rest) => {
                    let here = binary(Binary::Equal, index.clone(), Expr::Number(place.into()));
                    Expr::Choice(Box::new(here), Box::new(value), Box::new(rest))
                }
            });
        }
        match chosen {
            Some(expr) => Ok(Value::Scalar(expr)),
            None => self.default(of, span),
        }
    }

    fn sliced(&mut self, value: &'t Expression, high: u32, low: u32) -> Lowered<Value> {
        Ok(match self.value(value)? {
            Value::Scalar(Expr::Field(field)) => Value::Slice(field, high, low),
            Value::Slice(field, _, base) => Value::Slice(field, base + high, base + low),
            other => Value::Scalar(slice(self.scalar(&other, value.span)?, high, low)),
        })
    }

    fn unary(&mut self, operator: Unary, operand: &'t Expression, of: &Type) -> Lowered<Value> {
        let value = self.expr(operand)?;
        if let Some(result) = folded(&value).and_then(|one| constant::unary(operator, &one, of).ok()) {
            return Ok(known(&result, of, &[]));
        }
        Ok(Value::Scalar(match operator {
            Unary::Not => Expr::Not(Box::new(value)),
            Unary::Complement => wrapped(Expr::Complement(Box::new(value)), of),
            Unary::Minus => wrapped(binary(Binary::Subtract, Expr::Number(0.into()), value), of),
            Unary::Plus => value,
        }))
    }

    fn binary(
        &mut self, operator: Binary, left: &'t Expression, right: &'t Expression, of: &Type, span: Span,
    ) -> Lowered<Value> {
        if matches!(operator, Binary::And | Binary::Or) {
            return self.short_circuit(operator, left, right, span);
        }
        let left_type = self.converted_type(left);
        let mut first = self.value(left)?;
        let (second, effects) = self.collect(|lowering| lowering.value(right))?;
        if !effects.is_empty() {
            // The right side may change what the left one reads.
            first = self.save(&first, &left_type, span)?;
            self.out.extend(effects);
        }
        if matches!(operator, Binary::Equal | Binary::NotEqual) {
            let equal = match (&first, &second) {
                (Value::Scalar(_) | Value::Slice(..), Value::Scalar(_) | Value::Slice(..)) => {
                    return self.arithmetic(operator, left, right, (&first, &second), of);
                }
                _ => self.equal(&first, &second, &left_type, span)?,
            };
            return Ok(Value::Scalar(if operator == Binary::Equal {
                equal
            } else {
                Expr::Not(Box::new(equal))
            }));
        }
        self.arithmetic(operator, left, right, (&first, &second), of)
    }

    /// The type of an expression after the conversion that its place makes.
    pub fn converted_type(&self, expression: &Expression) -> Type {
        match self.facts.conversions.get(&expression.id) {
            Some(of) => self.here(of),
            None => self.type_of(expression.id),
        }
    }

    pub fn arithmetic(
        &mut self, operator: Binary, left: &'t Expression, right: &'t Expression,
        (first, second): (&Value, &Value), of: &Type,
    ) -> Lowered<Value> {
        let (a, b) = (self.scalar(first, left.span)?, self.scalar(second, right.span)?);
        let (left_type, right_type) = (self.converted_type(left), self.converted_type(right));
        if let (Some(one), Some(two)) = (folded(&a), folded(&b)) {
            match constant::binary(operator, (&one, &left_type), (&two, &right_type)) {
                Ok(result) => return Ok(known(&result, of, &[])),
                Err(constant::NoResult::Types) => {}
                Err(reason) => return self.refuse(left.span, reason.message()),
            }
        }
        Ok(Value::Scalar(match operator {
            Binary::Add | Binary::Subtract | Binary::Multiply | Binary::ShiftLeft => {
                wrapped(binary(operator, a, b), of)
            }
            Binary::AddSaturating => clamped(binary(Binary::Add, a, b), of),
            Binary::SubtractSaturating => clamped(binary(Binary::Subtract, a, b), of),
            Binary::Concatenate => {
                let width = right_type.width().unwrap_or(0);
                let high = binary(Binary::ShiftLeft, unsigned(a, &left_type), Expr::Number(width.into()));
                let joined = binary(Binary::BitOr, high, unsigned(b, &right_type));
                if matches!(of, Type::Bits { signed: true, .. }) {
                    wrapped(joined, of)
                } else {
                    joined
                }
            }
            _ => binary(operator, a, b),
        }))
    }

    /// The right side of `&&` and `||` has effects only if it counts.
    fn short_circuit(
        &mut self, operator: Binary, left: &'t Expression, right: &'t Expression, span: Span,
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
                second => binary(operator, first, second),
            }));
        }
        let place = self.temporary(&Type::Bool, span)?;
        self.assign(&place, &Value::Scalar(first), &Type::Bool, span)?;
        let condition = self.scalar(&place, span)?;
        let ((), mut counted) = self.collect(|lowering| {
            lowering.out.extend(effects);
            lowering.assign(&place, &Value::Scalar(second), &Type::Bool, span)
        })?;
        let (then, otherwise) =
            if decides { (Vec::new(), counted) } else { (std::mem::take(&mut counted), Vec::new()) };
        self.emit(span, StatementKind::If(condition, then, otherwise));
        Ok(place)
    }

    fn choice(
        &mut self, condition: &'t Expression, then: &'t Expression, otherwise: &'t Expression, of: &Type,
        span: Span,
    ) -> Lowered<Value> {
        let truth = self.expr(condition)?;
        if let Expr::Bool(truth) = truth {
            return self.value(if truth { then } else { otherwise });
        }
        let (first, first_effects) = self.collect(|lowering| lowering.value(then))?;
        let (second, second_effects) = self.collect(|lowering| lowering.value(otherwise))?;
        if let (true, true, Value::Scalar(_) | Value::Slice(..)) =
            (first_effects.is_empty(), second_effects.is_empty(), &first)
        {
            let (first, second) = (self.scalar(&first, span)?, self.scalar(&second, span)?);
            return Ok(Value::Scalar(Expr::Choice(Box::new(truth), Box::new(first), Box::new(second))));
        }
        let place = self.temporary(of, span)?;
        let branch =
            |lowering: &mut Self, effects: Vec<Statement>, value: Value| -> Lowered<Vec<Statement>> {
                let made = lowering.collect(|lowering| {
                    lowering.out.extend(effects);
                    lowering.assign(&place, &value, of, span)
                })?;
                Ok(made.1)
            };
        let (then, otherwise) = (branch(self, first_effects, first)?, branch(self, second_effects, second)?);
        self.emit(span, StatementKind::If(truth, then, otherwise));
        Ok(place)
    }

    fn cast(&mut self, value: &'t Expression, to: &Type, span: Span) -> Lowered<Value> {
        let from = self.converted_type(value);
        let inner = self.value(value)?;
        match (&inner, to.underlying()) {
            (Value::Group(parts), Type::Composite(composite)) => {
                let named = composite
                    .fields
                    .iter()
                    .zip(parts)
                    .map(|(field, (_, part))| (field.name.clone(), part.clone()));
                return Ok(Value::Group(named.collect()));
            }
            (Value::Scalar(_) | Value::Slice(..), _) => {}
            (Value::Group(parts), _) if parts.len() == 1 && !matches!(to.underlying(), Type::Tuple(_)) => {
                return Ok(parts[0].1.clone());
            }
            _ => return Ok(inner),
        }
        let expr = self.scalar(&inner, span)?;
        Ok(Value::Scalar(match (from.underlying(), to.underlying()) {
            (_, Type::Bits { .. } | Type::Bool) if folded(&expr).is_some() => {
                match (folded(&expr), to.underlying()) {
                    (Some(constant::Value::Number(number)), Type::Bool) => {
                        Expr::Bool(number != BigInt::from(0))
                    }
                    (Some(constant::Value::Number(number)), of) => Expr::Number(constant::wrap(&number, of)),
                    (Some(constant::Value::Bool(truth)), Type::Bits { .. }) => {
                        Expr::Number(i32::from(truth).into())
                    }
                    _ => expr,
                }
            }
            (Type::Bool, Type::Bits { .. }) => Expr::FromBool(Box::new(expr)),
            (Type::Bits { .. }, Type::Bool) => Expr::ToBool(Box::new(expr)),
            (Type::Bits { width, signed }, Type::Bits { width: wide, signed: other }) => {
                if width <= wide && signed == other {
                    expr
                } else {
                    wrapped(expr, to)
                }
            }
            _ => expr,
        }))
    }

    fn list(&mut self, items: &'t [Expression], of: &Type, span: Span) -> Lowered<Value> {
        let names: Vec<Name> = match of.underlying() {
            Type::Composite(composite) => composite.fields.iter().map(|field| field.name.clone()).collect(),
            Type::Tuple(types) => (0..types.len()).map(index_name).collect(),
            Type::Array(_, size) => (0..*size as usize).map(index_name).collect(),
            _ => (0..items.len()).map(index_name).collect(),
        };
        let parts = names.iter().cloned().zip(items).collect();
        let Value::Group(mut made) = self.record(parts, of)? else { return self.refuse(span, "no list") };
        for name in names.iter().skip(made.len()) {
            let value = self.default(&part_of(of, name), span)?;
            made.push((name.clone(), value));
        }
        Ok(Value::Group(made))
    }

    /// The parts of a list or record, in the order of the type. Each is evaluated before the next has effects.
    fn record(&mut self, items: Vec<(Name, &'t Expression)>, of: &Type) -> Lowered<Value> {
        let mut parts: Vec<(Name, Value)> = Vec::new();
        for (name, item) in items {
            let (value, effects) = self.collect(|lowering| lowering.value(item))?;
            if !effects.is_empty() {
                for (name, earlier) in &mut parts {
                    *earlier = self.save(&earlier.clone(), &part_of(of, name), item.span)?;
                }
                self.out.extend(effects);
            }
            parts.push((name, value));
        }
        if let Type::Composite(composite) = of.underlying() {
            let mut ordered = Vec::new();
            for field in &composite.fields {
                match parts.iter().find(|(name, _)| *name == field.name) {
                    Some(part) => ordered.push(part.clone()),
                    None if parts.len() < composite.fields.len() => {
                        ordered.push((field.name.clone(), self.default(&field.of, composite.span)?));
                    }
                    None => {}
                }
            }
            return Ok(Value::Group(ordered));
        }
        Ok(Value::Group(parts))
    }

    fn default(&mut self, of: &Type, span: Span) -> Lowered<Value> {
        match default_of(of) {
            Some(value) => Ok(known(&value, of, &self.facts.errors)),
            None => self.refuse(span, format!("{of} has no default value")),
        }
    }
}

/// The value of code that is a constant.
pub fn folded(expr: &Expr) -> Option<constant::Value> {
    match expr {
        Expr::Number(number) => Some(constant::Value::Number(number.clone())),
        Expr::Bool(truth) => Some(constant::Value::Bool(*truth)),
        _ => None,
    }
}

fn slice(value: Expr, high: u32, low: u32) -> Expr {
    let shifted = if low == 0 { value } else { binary(Binary::ShiftRight, value, Expr::Number(low.into())) };
    Expr::Wrap(Box::new(shifted), high - low + 1, false)
}

/// The low bits of a result, as many as its type has.
pub fn wrapped(expr: Expr, of: &Type) -> Expr {
    match of.underlying() {
        Type::Bits { width, signed } => Expr::Wrap(Box::new(expr), *width, *signed),
        _ => expr,
    }
}

fn clamped(expr: Expr, of: &Type) -> Expr {
    match of.underlying() {
        Type::Bits { width, signed } => Expr::Clamp(Box::new(expr), *width, *signed),
        _ => expr,
    }
}

fn unsigned(expr: Expr, of: &Type) -> Expr {
    match of.underlying() {
        Type::Bits { width, signed: true } => Expr::Wrap(Box::new(expr), *width, false),
        _ => expr,
    }
}
