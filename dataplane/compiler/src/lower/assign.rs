//! Assignments and comparisons of all kinds of values (P4_16 specification, sections 8 and 12.1).

use num_bigint::BigInt;

use super::expression::bits_as;
use super::ir::{add, Expr, FieldRef, HeaderId, HeaderRef, Stack, StackId, StatementKind};
use super::statement::UNKNOWN;
use super::value::{element_of, part_of, parts_of, Value};
use super::{Lowered, Lowering};
use crate::check::types::Type;
use crate::source::Name;

/// `left operator right`
pub fn binary(operator: &'static str, left: Expr, right: Expr) -> Expr {
    Expr::Operation(operator, vec![left, right])
}

/// The number of `width` bits that are 1.
pub fn ones(width: u32) -> BigInt {
    (BigInt::from(1) << width) - 1
}

/// The bits of a value in a place: truths are numbers there.
pub fn stored(value: Expr, of: &Type) -> Expr {
    match value {
        Expr::ToBool(inner) => *inner,
        value if *of.underlying() == Type::Bool => value.into_bit(),
        value => value,
    }
}

impl Lowering<'_, '_> {
    /// A primitive of the target, or an operation of its parsers.
    pub fn operate(&mut self, name: &'static str, operands: Vec<Expr>) {
        self.emit(StatementKind::Operation(name, operands));
    }

    pub fn set_valid(&mut self, header: &HeaderRef, valid: bool) {
        let name = if valid { "add_header" } else { "remove_header" };
        self.operate(name, vec![Expr::Header(header.clone())]);
    }

    /// The parts of a struct, tuple, array, header, stack or union, each with its type.
    pub fn parts(&mut self, value: &Value, of: &Type) -> Vec<(Value, Type)> {
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
        // A call changes the variable of a loop, whose values are known.
        let counts = self.counters.iter().any(|(.., outside)| outside.overlaps(target));
        if counts || target.constant().is_some() {
            return self.refuse(UNKNOWN);
        }
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

    pub fn assign_parts(&mut self, target: &Value, source: &Value, of: &Type) -> Lowered<()> {
        match (target, source) {
            (Value::Nothing, _) => {}
            (Value::Scalar(_), Value::Scalar(value)) => self.assign_scalar(target, value.clone(), of)?,
            (Value::Header(to), Value::Invalid) => self.set_valid(to, false),
            (Value::Header(to), Value::Group(parts)) => {
                self.set_valid(to, true);
                for (name, part) in parts {
                    let of = part_of(of, name);
                    self.assign_parts(&self.header_field(to, name, &of), part, &of)?;
                }
            }
            (Value::Union(_), Value::Invalid) => {
                for (member, of) in self.parts(target, of) {
                    self.assign_parts(&member, source, &of)?;
                }
            }
            (Value::Stack(_) | Value::Group(_), Value::Group(from)) => {
                for ((place, of), (_, part)) in self.parts(target, of).iter().zip(from) {
                    self.assign_parts(place, part, of)?;
                }
            }
            _ => match (self.whole(target), self.whole(source)) {
                (Some((name, to)), Some((_, from))) if to != from => self.operate(name, vec![to, from]),
                (Some(_), Some(_)) => {}
                _ => return self.refuse("this assignment is not supported"),
            },
        }
        Ok(())
    }

    /// A header, union or stack, with the primitive that assigns it.
    fn whole(&self, value: &Value) -> Option<(&'static str, Expr)> {
        Some(match value {
            Value::Header(header) => ("assign_header", Expr::Header(header.clone())),
            Value::Union(union) => ("assign_union", Expr::Union(union.clone())),
            Value::Stack(id) if self.program.stacks[*id].of_unions => {
                ("assign_union_stack", Expr::Stack(*id))
            }
            Value::Stack(id) => ("assign_header_stack", Expr::Stack(*id)),
            _ => return None,
        })
    }

    fn assign_scalar(&mut self, target: &Value, value: Expr, of: &Type) -> Lowered<()> {
        if let Value::Scalar(Expr::Slice(field, high, low)) = target {
            self.assign_slice(field, *high, *low, value);
            return Ok(());
        }
        let Some(field) = target.field() else {
            return self.refuse("this cannot be assigned to on this target");
        };
        let place = Expr::Field(field.clone());
        let (mut value, bits) = (stored(value, of), of.width().map(|width| Expr::Number(width.into())));
        if let Expr::Operation("two_comp_mod", all) = &value {
            // A field takes the bits of signed data as they come.
            if matches!(all[0], Expr::Parameter(_)) && all.get(1) == bits.as_ref() {
                value = all[0].clone();
            }
        }
        match (of.underlying(), &value) {
            (Type::Varbit(_), Expr::Field(_)) => self.operate("assign_VL", vec![place, value]),
            _ if value != place => self.operate("assign", vec![place, value]),
            _ => {}
        }
        Ok(())
    }

    /// The other bits stay.
    fn assign_slice(&mut self, field: &FieldRef, high: u32, low: u32, value: Expr) {
        let kind = &self.program.header_types[self.program.type_of(&field.header)].fields[field.field];
        let (width, of) = (kind.width, Type::Bits { width: kind.width, signed: kind.signed });
        let mask: BigInt = ones(high - low + 1) << low;
        let (place, others) = (Expr::Field(field.clone()), ones(width) ^ &mask);
        let shifted = if low == 0 { value } else { binary("<<", value, Expr::Number(low.into())) };
        let placed = binary("&", shifted, Expr::Number(mask));
        let kept = binary("&", place.clone(), Expr::Number(others));
        self.operate("assign", vec![place, bits_as(binary("|", kept, placed), &of, true)]);
    }

    /// A header of a union. BMv2 finds none in an element of a stack whose index is computed, so the headers
    /// of this name in all elements are a stack, too.
    pub fn union_member(&mut self, union: &HeaderRef, member: usize) -> HeaderRef {
        let (stack, index) = match union {
            HeaderRef::Fixed(id) => return HeaderRef::Fixed(self.program.unions[*id].members[member].1),
            HeaderRef::Member(stack, _) | HeaderRef::Next(stack) => return HeaderRef::Member(*stack, member),
            HeaderRef::Last(stack) => (stack, Expr::Operation("last_stack_index", vec![Expr::Stack(*stack)])),
            HeaderRef::Element(stack, index) => (stack, (**index).clone()),
        };
        let stacks = &mut self.program.stacks;
        let Stack { name, elements, .. } = &stacks[*stack];
        let members = elements.iter().map(|id| &self.program.unions[*id].members[member]);
        let (names, elements): (Vec<&Name>, Vec<HeaderId>) = members.map(|(name, id)| (name, *id)).unzip();
        let name = format!("{name}.{}", names[0]);
        let known = stacks.iter().position(|one| one.elements == elements && !one.of_unions);
        let stack = known.unwrap_or_else(|| add(stacks, Stack { name, of_unions: false, elements }));
        HeaderRef::Element(stack, Box::new(index))
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

    /// Whether two values of one type are equal (sections 8.12 to 8.19).
    pub fn equal(&mut self, left: &Value, right: &Value, of: &Type) -> Lowered<Expr> {
        let valid = |header: &HeaderRef| Expr::Valid(header.clone());
        match (left, right) {
            (Value::Scalar(a), Value::Scalar(b)) => Ok(binary("==", a.clone(), b.clone())),
            (Value::Header(a), Value::Header(b)) => {
                let fields = self.equal_parts(None, left, right, of)?;
                let neither = binary("and", valid(a).negated(), valid(b).negated());
                let both = binary("and", valid(a), valid(b));
                Ok(binary("or", neither, binary("and", both, fields)))
            }
            (Value::Header(a), Value::Invalid) | (Value::Invalid, Value::Header(a)) => Ok(valid(a).negated()),
            (Value::Header(a), Value::Group(_)) => self.equal_parts(Some(valid(a)), left, right, of),
            (Value::Group(_), Value::Header(_)) => self.equal(right, left, of),
            (Value::Stack(_), Value::Stack(_))
            | (Value::Group(_), Value::Group(_))
            | (Value::Union(_), Value::Union(_)) => self.equal_parts(None, left, right, of),
            _ => self.refuse("this comparison is not supported"),
        }
    }

    /// Whether a condition holds and all parts are equal.
    fn equal_parts(&mut self, first: Option<Expr>, left: &Value, right: &Value, of: &Type) -> Lowered<Expr> {
        let mut all = Vec::from_iter(first);
        for ((a, of), (b, _)) in self.parts(left, of).iter().zip(self.parts(right, of)) {
            all.push(self.equal(a, &b, of)?);
        }
        Ok(all.into_iter().reduce(|all, one| binary("and", all, one)).unwrap_or(Expr::Bool(true)))
    }
}
