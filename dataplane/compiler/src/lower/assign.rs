//! Assignments and comparisons of all kinds of values.

use num_bigint::BigInt;

use super::ir::{Expr, FieldRef, HeaderRef, Operation, StackId, StatementKind, UnionRef};
use super::value::Value;
use super::{Lowered, Lowering};
use crate::check::types::{Shape, Type};
use crate::source::{Name, Span};
use crate::syntax::tree::Binary;

/// `left operator right`
pub fn binary(operator: Binary, left: Expr, right: Expr) -> Expr {
    Expr::Binary(operator, Box::new(left), Box::new(right))
}

/// The field that a scalar is, if it is one.
pub fn field_of(value: &Value) -> Option<&FieldRef> {
    match value {
        Value::Scalar(Expr::Field(field)) => Some(field),
        Value::Scalar(Expr::ToBool(inner)) => match &**inner {
            Expr::Field(field) => Some(field),
            _ => None,
        },
        _ => None,
    }
}

impl Lowering<'_, '_> {
    pub fn operate(&mut self, span: Span, operation: Operation) {
        self.emit(span, StatementKind::Operation(operation));
    }

    /// `target = source`, both of type `of`.
    pub fn assign(&mut self, target: &Value, source: &Value, of: &Type, span: Span) -> Lowered<()> {
        // Parts of a list may read what an earlier part writes.
        if let Value::Group(parts) = source {
            if parts.len() > 1 && target.overlaps(source) {
                let saved = self.temporary(of, span)?;
                self.assign_parts(&saved, source, of, span)?;
                return self.assign_parts(target, &saved, of, span);
            }
        }
        self.assign_parts(target, source, of, span)
    }

    fn assign_parts(&mut self, target: &Value, source: &Value, of: &Type, span: Span) -> Lowered<()> {
        match (target, source) {
            (Value::Nothing, _) => {}
            (Value::Slice(field, high, low), Value::Scalar(value)) => {
                self.assign_slice(field, *high, *low, value.clone(), span)
            }
            (Value::Slice(field, high, low), Value::Slice(..)) => {
                let value = self.scalar(source, span)?;
                self.assign_slice(field, *high, *low, value, span);
            }
            (Value::Scalar(_), Value::Scalar(value)) => {
                self.assign_scalar(target, value.clone(), of, span)?
            }
            (Value::Scalar(_), Value::Slice(..)) => {
                let value = self.scalar(source, span)?;
                self.assign_scalar(target, value, of, span)?;
            }
            (Value::Header(to), Value::Header(from)) => {
                if to != from {
                    self.operate(span, Operation::AssignHeader(to.clone(), from.clone()));
                }
            }
            (Value::Header(to), Value::Invalid) => self.operate(span, Operation::SetInvalid(to.clone())),
            (Value::Header(to), Value::Group(parts)) => {
                self.operate(span, Operation::SetValid(to.clone()));
                for (name, part) in parts {
                    let (place, of) = self.member_of_header(to, name, of);
                    self.assign_parts(&place, part, &of, span)?;
                }
            }
            (Value::Union(to), Value::Union(from)) => {
                self.operate(span, Operation::AssignUnion(to.clone(), from.clone()))
            }
            (Value::Union(to), Value::Invalid) => self.invalidate_union(to, of, span),
            (Value::Stack(to), Value::Stack(from)) => self.operate(span, Operation::AssignStack(*to, *from)),
            (Value::UnionStack(to), Value::UnionStack(from)) => {
                self.operate(span, Operation::AssignUnionStack(*to, *from));
            }
            (Value::Stack(_) | Value::UnionStack(_), Value::Group(parts)) => {
                let element = element_of(of);
                for (place, (_, part)) in parts.iter().enumerate() {
                    let to = self.element(target, place);
                    self.assign_parts(&to, part, &element, span)?;
                }
            }
            (Value::Group(to), Value::Group(from)) => {
                for ((name, place), (_, part)) in to.iter().zip(from) {
                    self.assign_parts(place, part, &part_of(of, name), span)?;
                }
            }
            _ => return self.refuse(span, "this assignment is not supported"),
        }
        Ok(())
    }

    fn assign_scalar(&mut self, target: &Value, value: Expr, of: &Type, span: Span) -> Lowered<()> {
        let Some(field) = field_of(target).cloned() else {
            return self.refuse(span, "this cannot be assigned to on this target");
        };
        if let (Type::Varbit(_), Expr::Field(from)) = (of.underlying(), &value) {
            self.operate(span, Operation::AssignVarbit(field, from.clone()));
            return Ok(());
        }
        let truth = *of.underlying() == Type::Bool;
        let value = match value {
            Expr::ToBool(inner) if truth => *inner,
            value if truth => Expr::FromBool(Box::new(value)),
            value => value,
        };
        if value != Expr::Field(field.clone()) {
            self.operate(span, Operation::Assign(field, value));
        }
        Ok(())
    }

    /// The other bits stay.
    fn assign_slice(&mut self, field: &FieldRef, high: u32, low: u32, value: Expr, span: Span) {
        let ones = |bits: u32| (BigInt::from(1) << bits) - 1;
        let kind = self.kind_of_header(&field.header);
        let width = self.program.header_types[kind].fields[field.field].width;
        let mask: BigInt = ones(high - low + 1) << low;
        let others = ones(width) ^ &mask;
        let kept = binary(Binary::BitAnd, Expr::Field(field.clone()), Expr::Number(others));
        let shifted =
            if low == 0 { value } else { binary(Binary::ShiftLeft, value, Expr::Number(low.into())) };
        let placed = binary(Binary::BitAnd, shifted, Expr::Number(mask));
        self.operate(span, Operation::Assign(field.clone(), binary(Binary::BitOr, kept, placed)));
    }

    fn invalidate_union(&mut self, union: &UnionRef, of: &Type, span: Span) {
        let count = if let Type::Composite(composite) = of { composite.fields.len() } else { 0 };
        for member in 0..count {
            let header = self.union_member(union, member);
            self.operate(span, Operation::SetInvalid(header));
        }
    }

    pub fn union_member(&self, union: &UnionRef, member: usize) -> HeaderRef {
        match union {
            UnionRef::Fixed(id) => HeaderRef::Fixed(self.program.unions[*id].members[member].1),
            other => HeaderRef::Member(other.clone(), member),
        }
    }

    /// An element of a stack by a number that is known.
    pub fn element(&self, stack: &Value, place: usize) -> Value {
        match stack {
            Value::Stack(id) => Value::Header(HeaderRef::Fixed(self.program.stacks[*id].headers[place])),
            Value::UnionStack(id) => {
                Value::Union(UnionRef::Fixed(self.program.union_stacks[*id].unions[place]))
            }
            Value::Group(parts) => parts[place].1.clone(),
            other => other.clone(),
        }
    }

    /// A field of a header with its type.
    pub fn member_of_header(&self, header: &HeaderRef, name: &str, of: &Type) -> (Value, Type) {
        let field = part_of(of, name);
        (self.header_field(header, name, &field), field)
    }

    pub fn temporary(&mut self, of: &Type, span: Span) -> Lowered<Value> {
        self.allocate("tmp", of, span)
    }

    /// A copy of a value that later statements do not change.
    pub fn save(&mut self, value: &Value, of: &Type, span: Span) -> Lowered<Value> {
        match value {
            Value::Scalar(expr)
                if !expr
                    .any(&|part| matches!(part, Expr::Field(_) | Expr::Valid(_) | Expr::Lookahead(..))) =>
            {
                Ok(value.clone())
            }
            Value::Text(_) | Value::Object(_) | Value::Nothing | Value::Invalid | Value::Applied(_) => {
                Ok(value.clone())
            }
            _ => {
                let saved = self.temporary(of, span)?;
                self.assign_parts(&saved, value, of, span)?;
                Ok(saved)
            }
        }
    }

    /// Whether two values of one type are equal.
    pub fn equal(&mut self, left: &Value, right: &Value, of: &Type, span: Span) -> Lowered<Expr> {
        match (left, right) {
            (Value::Scalar(_) | Value::Slice(..), Value::Scalar(_) | Value::Slice(..)) => {
                let (left, right) = (self.scalar(left, span)?, self.scalar(right, span)?);
                Ok(binary(Binary::Equal, left, right))
            }
            (Value::Header(a), Value::Header(b)) => {
                let (a, b) = (a.clone(), b.clone());
                let fields = self.equal_fields(&a, &b, of, span)?;
                let (a, b) = (Expr::Valid(a), Expr::Valid(b));
                let neither =
                    binary(Binary::And, Expr::Not(Box::new(a.clone())), Expr::Not(Box::new(b.clone())));
                Ok(binary(Binary::Or, neither, binary(Binary::And, binary(Binary::And, a, b), fields)))
            }
            (Value::Header(a), Value::Invalid) | (Value::Invalid, Value::Header(a)) => {
                Ok(Expr::Not(Box::new(Expr::Valid(a.clone()))))
            }
            (Value::Header(a), Value::Group(parts)) | (Value::Group(parts), Value::Header(a)) => {
                let mut all = Expr::Valid(a.clone());
                for (name, part) in parts {
                    let (place, of) = self.member_of_header(a, name, of);
                    let one = self.equal(&place, part, &of, span)?;
                    all = binary(Binary::And, all, one);
                }
                Ok(all)
            }
            (Value::Stack(a), Value::Stack(b)) => self.equal_stacks(*a, *b, of, span),
            (Value::Union(UnionRef::Fixed(_)), Value::Union(UnionRef::Fixed(_))) => {
                let Type::Composite(composite) = of else {
                    return self.refuse(span, "this comparison is not supported");
                };
                let mut all = Expr::Bool(true);
                for (member, field) in composite.fields.iter().enumerate() {
                    let (Value::Union(a), Value::Union(b)) = (left, right) else { break };
                    let (a, b) = (self.union_member(a, member), self.union_member(b, member));
                    let one = self.equal(&Value::Header(a), &Value::Header(b), &field.of, span)?;
                    all = binary(Binary::And, all, one);
                }
                Ok(all)
            }
            (Value::Group(a), Value::Group(b)) => {
                let mut all: Option<Expr> = None;
                for ((name, a), (_, b)) in a.iter().zip(b) {
                    let one = self.equal(a, b, &part_of(of, name), span)?;
                    all = Some(match all {
                        Some(all) => binary(Binary::And, all, one),
                        None => one,
                    });
                }
                Ok(all.unwrap_or(Expr::Bool(true)))
            }
            _ => self.refuse(span, "this comparison is not supported"),
        }
    }

    fn equal_fields(&mut self, a: &HeaderRef, b: &HeaderRef, of: &Type, span: Span) -> Lowered<Expr> {
        let Type::Composite(composite) = of.underlying() else { return Ok(Expr::Bool(true)) };
        let mut all = Expr::Bool(true);
        for field in &composite.fields {
            let (left, right) =
                (self.header_field(a, &field.name, &field.of), self.header_field(b, &field.name, &field.of));
            let one = self.equal(&left, &right, &field.of, span)?;
            all = if all == Expr::Bool(true) { one } else { binary(Binary::And, all, one) };
        }
        Ok(all)
    }

    fn equal_stacks(&mut self, a: StackId, b: StackId, of: &Type, span: Span) -> Lowered<Expr> {
        let element = element_of(of);
        let mut all = Expr::Bool(true);
        for place in 0..self.program.stacks[a].headers.len() {
            let (left, right) =
                (self.element(&Value::Stack(a), place), self.element(&Value::Stack(b), place));
            let one = self.equal(&left, &right, &element, span)?;
            all = if all == Expr::Bool(true) { one } else { binary(Binary::And, all, one) };
        }
        Ok(all)
    }
}

pub fn element_of(of: &Type) -> Type {
    match of.underlying() {
        Type::Array(element, _) | Type::List(element) => (**element).clone(),
        _ => Type::Wrong,
    }
}

/// The type of a part of a struct, tuple or array.
pub fn part_of(of: &Type, name: &str) -> Type {
    match of.underlying() {
        Type::Composite(composite) if composite.shape != Shape::Union => {
            composite.field(name).map_or(Type::Wrong, |field| field.of.clone())
        }
        Type::Tuple(types) => {
            name.parse().ok().and_then(|place: usize| types.get(place).cloned()).unwrap_or(Type::Wrong)
        }
        Type::Record(fields) => {
            fields.iter().find(|(field, _)| &**field == name).map_or(Type::Wrong, |(_, of)| of.clone())
        }
        Type::Array(..) | Type::List(_) => element_of(of),
        _ => Type::Wrong,
    }
}

/// The names of a value's parts: for messages and fields.
pub fn dotted(path: &[Name]) -> String {
    path.iter().map(|name| &**name).collect::<Vec<_>>().join(".")
}
