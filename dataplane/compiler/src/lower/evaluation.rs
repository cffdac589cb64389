//! The order of evaluation (P4_16 specification, sections 6.8 and 8.1): operands, arguments, the keys of a
//! `select` and the sides of an assignment are evaluated from left to right.
//!
//! An expression becomes code that is run where its value is used, so a later expression with effects could
//! change it. The effects are the statements that lowering makes of an expression; before those, earlier
//! values are copied, and the indices of earlier places.

use super::ir::{each_kind, Expr, FieldRef, HeaderRef, Statement, StatementKind};
use super::pass::Passed;
use super::storage::STANDARD;
use super::value::Value;
use super::{Lowered, Lowering};
use crate::check::types::Type;
use crate::syntax::tree::{Direction, Expression};

/// Takes each header in a value, with the number of the field if it is one field only.
type Visit<'v> = dyn FnMut(&mut HeaderRef, Option<usize>) + 'v;

impl HeaderRef {
    fn places(&mut self, field: Option<usize>, visit: &mut Visit) {
        visit(self, field);
        if let HeaderRef::Element(_, index) = self {
            index.places(visit);
        }
    }
}

impl Expr {
    /// Visits the headers in an expression, and in the indices of their stacks.
    fn places(&mut self, visit: &mut Visit) {
        match self {
            Expr::Field(FieldRef { header, field }) | Expr::Slice(FieldRef { header, field }, ..) => {
                header.places(Some(*field), visit);
            }
            Expr::Union(HeaderRef::Fixed(_)) | Expr::Stack(_) => visit(&mut HeaderRef::Next(0), None),
            Expr::Header(header) | Expr::Union(header) | Expr::Valid(header) => header.places(None, visit),
            Expr::ToBool(part) => part.places(visit),
            Expr::Operation(_, parts) | Expr::Values(parts) => {
                parts.iter_mut().for_each(|part| part.places(visit));
            }
            _ => {}
        }
    }
}

impl Value {
    /// Visits the headers in a value, and in the indices of their stacks.
    fn places(&mut self, visit: &mut Visit) {
        match self {
            Value::Scalar(expr) => expr.places(visit),
            Value::Union(HeaderRef::Fixed(_)) | Value::Stack(_) => visit(&mut HeaderRef::Next(0), None),
            Value::Header(header) | Value::Union(header) => header.places(None, visit),
            Value::Group(parts) => parts.iter_mut().for_each(|(_, part)| part.places(visit)),
            _ => {}
        }
    }

    /// Whether two values share a field that a program may write to.
    pub fn overlaps(&self, other: &Value) -> bool {
        let [ours, theirs] = [self, other].map(|value| {
            let mut found = Vec::new();
            value.clone().places(&mut |header, field| found.push((header.clone(), field)));
            found
        });
        ours.iter().any(|one| theirs.iter().any(|two| meet(one, two)))
    }

    /// Whether statements may change it: they name a part of it, or apply a table.
    fn is_touched(&self, statements: &[Statement]) -> bool {
        let mut found = false;
        each_kind(statements, &mut |kind| match kind {
            StatementKind::Operation(_, operands) => {
                found |= operands.iter().any(|one| Value::Scalar(one.clone()).overlaps(self));
            }
            StatementKind::Apply { .. } => found = true,
            _ => {}
        });
        found
    }
}

/// Whether two headers, or a field of each, may be the same.
fn meet((one, field): &(HeaderRef, Option<usize>), (other, others): &(HeaderRef, Option<usize>)) -> bool {
    let same = match (one, other) {
        (HeaderRef::Fixed(a), HeaderRef::Fixed(b)) => a == b,
        // Elements of stacks and unions are not told apart, but none is metadata.
        (HeaderRef::Fixed(id), _) | (_, HeaderRef::Fixed(id)) => *id > STANDARD,
        _ => true,
    };
    same && (field.is_none() || others.is_none() || field == others)
}

impl<'t> Lowering<'t, '_> {
    /// Evaluates an expression that comes after others: `keep` copies those if it has effects on them.
    pub fn value_after(
        &mut self, expression: &'t Expression, keep: impl FnOnce(&mut Self, &[Statement]) -> Lowered<()>,
    ) -> Lowered<Value> {
        let (value, effects) = self.collect(|lowering| lowering.value(expression))?;
        if !effects.is_empty() {
            keep(self, &effects)?;
            self.out.extend(effects);
        }
        Ok(value)
    }

    /// Saves values that come before an expression with effects.
    pub fn keep<'v>(&mut self, earlier: impl IntoIterator<Item = (&'v mut Value, Type)>) -> Lowered<()> {
        earlier.into_iter().try_for_each(|(value, of)| {
            *value = self.save(value, &of)?;
            Ok(())
        })
    }

    /// A copy of a value that later statements do not change.
    pub fn save(&mut self, value: &Value, of: &Type) -> Lowered<Value> {
        let mut changes = false;
        value.clone().places(&mut |_, _| changes = true);
        if !changes {
            return Ok(value.clone());
        }
        let saved = self.temporary(of)?;
        self.assign_parts(&saved, value, of)?;
        Ok(saved)
    }

    /// A place whose index, of which it has one at most, does not change any more (section 6.7).
    pub fn settled(&mut self, place: &Value) -> Lowered<Value> {
        let mut place = place.clone();
        let mut index = None;
        place.places(&mut |header, _| {
            if let HeaderRef::Element(_, at) = header {
                index.get_or_insert_with(|| Value::Scalar((**at).clone()));
            }
        });
        if let Some(index) = index {
            let saved = self.save(&index, &Type::bits(32))?;
            let saved = Box::new(self.scalar(&saved)?);
            place.places(&mut |header, _| {
                if let HeaderRef::Element(_, index) = header {
                    index.clone_from(&saved);
                }
            });
        }
        Ok(place)
    }

    /// An argument is copied in before the next one has effects on it, and an `out` place is known before
    /// (section 6.8).
    pub fn copied_in(&mut self, earlier: &mut Passed, effects: &[Statement]) -> Lowered<()> {
        let value = earlier.value.clone();
        earlier.value = match earlier.direction {
            Direction::Out => self.settled(&value)?,
            Direction::InOut if earlier.back.is_none() && value.is_touched(effects) => {
                earlier.back = Some(self.settled(&value)?);
                let copy = self.allocate(&earlier.name, &earlier.of)?;
                self.assign(&copy, &value, &earlier.of)?;
                copy
            }
            Direction::InOut => value,
            _ => self.save(&value, &earlier.of)?,
        };
        Ok(())
    }
}
