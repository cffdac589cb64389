//! Assignments and comparisons of all kinds of values (P4_16 specification, sections 8 and 12.1).

use num_bigint::BigInt;

use super::ir::{Argument, Expr, FieldRef, HeaderRef, Operation, StackId, StatementKind};
use super::value::{element_of, part_of, parts_of, Value};
use super::{Lowered, Lowering};
use crate::check::types::Type;
use crate::syntax::tree::Binary;

/// `left operator right`
pub fn binary(operator: Binary, left: Expr, right: Expr) -> Expr {
    Expr::Binary(operator, Box::new(left), Box::new(right))
}

/// `value << bits`
pub fn shifted_left(value: Expr, bits: u32) -> Expr {
    if bits == 0 {
        value
    } else {
        binary(Binary::ShiftLeft, value, Expr::Number(bits.into()))
    }
}

/// The bits of a value in a place: truths are numbers there.
pub fn stored(value: Expr, of: &Type) -> Expr {
    match value {
        Expr::ToBool(inner) => *inner,
        value if *of.underlying() == Type::Bool => Expr::FromBool(Box::new(value)),
        value => value,
    }
}

impl Lowering<'_, '_> {
    pub fn operate(&mut self, operation: Operation) {
        self.emit(StatementKind::Operation(operation));
    }

    /// An operation on headers.
    pub fn primitive(&mut self, name: &'static str, given: Vec<Argument>) {
        self.operate(Operation::Primitive(name, given));
    }

    pub fn set_valid(&mut self, header: &HeaderRef, valid: bool) {
        let name = if valid { "add_header" } else { "remove_header" };
        self.primitive(name, vec![Argument::Header(header.clone())]);
    }

    /// The parts of a struct, tuple, array, header, stack or union, each with its type.
    pub fn parts(&self, value: &Value, of: &Type) -> Vec<(Value, Type)> {
        match value {
            Value::Group(parts) => {
                parts.iter().map(|(name, part)| (part.clone(), part_of(of, name))).collect()
            }
            Value::Header(header) => parts_of(of)
                .into_iter()
                .map(|(name, of)| (self.header_field(header, &name, &of), of))
                .collect(),
            Value::Stack(stack) => (0..self.program.stacks[*stack].elements.len())
                .map(|place| (self.element(value, place), element_of(of)))
                .collect(),
            Value::Union(union) => (0..)
                .zip(parts_of(of))
                .map(|(member, (_, of))| (Value::Header(self.union_member(union, member)), of))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// `target = source`, both of type `of`.
    pub fn assign(&mut self, target: &Value, source: &Value, of: &Type) -> Lowered<()> {
        // Parts of a list may read what an earlier part writes.
        if let Value::Group(parts) = source {
            if parts.len() > 1 && target.overlaps(source) {
                let saved = self.temporary(of)?;
                self.assign_parts(&saved, source, of)?;
                return self.assign_parts(target, &saved, of);
            }
        }
        self.assign_parts(target, source, of)
    }

    fn assign_parts(&mut self, target: &Value, source: &Value, of: &Type) -> Lowered<()> {
        match (target, source) {
            (Value::Nothing, _) => {}
            (Value::Slice(field, high, low), Value::Scalar(_) | Value::Slice(..)) => {
                let value = self.scalar(source)?;
                self.assign_slice(field, *high, *low, value);
            }
            (Value::Scalar(_), Value::Scalar(_) | Value::Slice(..)) => {
                let value = self.scalar(source)?;
                self.assign_scalar(target, value, of)?;
            }
            (Value::Header(to), Value::Header(from)) => {
                if to != from {
                    let given = vec![Argument::Header(to.clone()), Argument::Header(from.clone())];
                    self.primitive("assign_header", given);
                }
            }
            (Value::Header(to), Value::Invalid) => self.set_valid(to, false),
            (Value::Header(to), Value::Group(parts)) => {
                self.set_valid(to, true);
                for (name, part) in parts {
                    let of = part_of(of, name);
                    self.assign_parts(&self.header_field(to, name, &of), part, &of)?;
                }
            }
            (Value::Union(to), Value::Union(from)) => {
                let given = vec![Argument::Union(to.clone()), Argument::Union(from.clone())];
                self.primitive("assign_union", given);
            }
            (Value::Union(_), Value::Invalid) => {
                for (member, of) in self.parts(target, of) {
                    self.assign_parts(&member, source, &of)?;
                }
            }
            (Value::Stack(to), Value::Stack(from)) => {
                let of_unions = self.program.stacks[*to].of_unions;
                let name = if of_unions { "assign_union_stack" } else { "assign_header_stack" };
                self.primitive(name, vec![Argument::Stack(*to), Argument::Stack(*from)]);
            }
            (Value::Stack(_) | Value::Group(_), Value::Group(from)) => {
                for ((place, of), (_, part)) in self.parts(target, of).iter().zip(from) {
                    self.assign_parts(place, part, of)?;
                }
            }
            _ => return self.refuse("this assignment is not supported"),
        }
        Ok(())
    }

    fn assign_scalar(&mut self, target: &Value, value: Expr, of: &Type) -> Lowered<()> {
        let Some(field) = target.field().cloned() else {
            return self.refuse("this cannot be assigned to on this target");
        };
        if let (Type::Varbit(_), Expr::Field(from)) = (of.underlying(), &value) {
            self.primitive("assign_VL", vec![Argument::Field(field), Argument::Field(from.clone())]);
            return Ok(());
        }
        let value = stored(value, of);
        if value != Expr::Field(field.clone()) {
            self.operate(Operation::Assign(field, value));
        }
        Ok(())
    }

    /// The other bits stay.
    fn assign_slice(&mut self, field: &FieldRef, high: u32, low: u32, value: Expr) {
        let ones = |bits: u32| (BigInt::from(1) << bits) - 1;
        let kind = self.program.type_of(&field.header);
        let width = self.program.header_types[kind].fields[field.field].width;
        let mask: BigInt = ones(high - low + 1) << low;
        let others = ones(width) ^ &mask;
        let kept = binary(Binary::BitAnd, Expr::Field(field.clone()), Expr::Number(others));
        let placed = binary(Binary::BitAnd, shifted_left(value, low), Expr::Number(mask));
        self.operate(Operation::Assign(field.clone(), binary(Binary::BitOr, kept, placed)));
    }

    pub fn union_member(&self, union: &HeaderRef, member: usize) -> HeaderRef {
        match union {
            HeaderRef::Fixed(id) => HeaderRef::Fixed(self.program.unions[*id].members[member].1),
            other => HeaderRef::Member(Box::new(other.clone()), member),
        }
    }

    /// An element of a stack by a number that is known.
    pub fn element(&self, stack: &Value, place: usize) -> Value {
        match stack {
            Value::Stack(id) => {
                self.stack_element(*id, HeaderRef::Fixed(self.program.stacks[*id].elements[place]))
            }
            Value::Group(parts) => parts[place].1.clone(),
            other => other.clone(),
        }
    }

    /// A header or union, whichever the stack is made of.
    pub fn stack_element(&self, stack: StackId, element: HeaderRef) -> Value {
        match self.program.stacks[stack].of_unions {
            true => Value::Union(element),
            false => Value::Header(element),
        }
    }

    /// A copy of a value that later statements do not change.
    pub fn save(&mut self, value: &Value, of: &Type) -> Lowered<Value> {
        let mut changes = !matches!(
            value,
            Value::Text(_) | Value::Object(_) | Value::Nothing | Value::Invalid | Value::Applied(_)
        );
        if let Value::Scalar(expr) = value {
            changes = false;
            expr.visit(&mut |part| {
                changes |= matches!(part, Expr::Field(_) | Expr::Valid(_) | Expr::Lookahead(..));
            });
        }
        if !changes {
            return Ok(value.clone());
        }
        let saved = self.temporary(of)?;
        self.assign_parts(&saved, value, of)?;
        Ok(saved)
    }

    /// Whether two values of one type are equal (sections 8.12 to 8.19).
    pub fn equal(&mut self, left: &Value, right: &Value, of: &Type) -> Lowered<Expr> {
        let valid = |header: &HeaderRef| Expr::Valid(header.clone());
        match (left, right) {
            (Value::Scalar(_) | Value::Slice(..), Value::Scalar(_) | Value::Slice(..)) => {
                Ok(binary(Binary::Equal, self.scalar(left)?, self.scalar(right)?))
            }
            (Value::Header(a), Value::Header(b)) => {
                let fields = self.equal_parts(None, left, right, of)?;
                let neither = binary(Binary::And, valid(a).negated(), valid(b).negated());
                let both = binary(Binary::And, valid(a), valid(b));
                Ok(binary(Binary::Or, neither, binary(Binary::And, both, fields)))
            }
            (Value::Header(a), Value::Invalid) | (Value::Invalid, Value::Header(a)) => Ok(valid(a).negated()),
            (Value::Header(a), Value::Group(_)) => self.equal_parts(Some(valid(a)), left, right, of),
            (Value::Group(_), Value::Header(_)) => self.equal(right, left, of),
            (Value::Stack(_), Value::Stack(_))
            | (Value::Group(_), Value::Group(_))
            | (Value::Union(HeaderRef::Fixed(_)), Value::Union(HeaderRef::Fixed(_))) => {
                self.equal_parts(None, left, right, of)
            }
            _ => self.refuse("this comparison is not supported"),
        }
    }

    /// Whether a condition holds and all parts are equal.
    fn equal_parts(&mut self, first: Option<Expr>, left: &Value, right: &Value, of: &Type) -> Lowered<Expr> {
        let mut all = first;
        for ((a, of), (b, _)) in self.parts(left, of).iter().zip(self.parts(right, of)) {
            let one = self.equal(a, &b, of)?;
            all = Some(match all {
                Some(all) => binary(Binary::And, all, one),
                None => one,
            });
        }
        Ok(all.unwrap_or(Expr::Bool(true)))
    }
}
