//! Arguments and parameters: values are copied in and out (P4_16 specification, section 6.8).
//!
//! A copy that nothing could tell from its original is not made.

use super::assign::field_of;
use super::environment::Environment;
use super::ir::{Expr, FieldRef, HeaderRef, Operation, UnionRef};
use super::value::Value;
use super::{Lowered, Lowering};
use crate::check::infer::specialise;
use crate::check::scope::Signature;
use crate::check::types::{Shape, Type};
use crate::check::Call;
use crate::source::{Name, Span};
use crate::syntax::tree::{Argument, Direction, Expression, ExpressionKind};

/// An argument that was evaluated, for its parameter.
pub struct Given {
    pub name: Name,
    pub direction: Direction,
    pub of: Type,
    /// `None` for one that is left out.
    pub value: Option<Value>,
}

impl Given {
    fn writes(&self) -> bool {
        matches!(self.direction, Direction::Out | Direction::InOut)
    }
}

/// An argument, bound to the name of its parameter.
#[derive(Clone)]
pub struct Passed {
    pub name: Name,
    pub value: Value,
    pub of: Type,
    /// The place that gets the value at the end, if this is a copy.
    pub back: Option<Value>,
}

/// The kind of the called code, which decides what it can change besides its parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Callee {
    /// A primitive of the target: nothing, and it reads all arguments before it writes one.
    Target,
    /// A function or control: variables of its own.
    Closed,
    /// A parser: as a function, but what it extracted stays where a packet ends too early.
    Parser,
    /// An action: also the variables of its control.
    Open,
}

impl<'t> Lowering<'t, '_> {
    /// Evaluates the arguments, and binds them.
    pub fn pass(
        &mut self, call: &Call<'t>, signature: &Signature, arguments: &'t [Argument], callee: Callee,
        span: Span,
    ) -> Lowered<Vec<Passed>> {
        let given = self.given(call, signature, arguments, span)?;
        self.bind_all(&given, callee, span)
    }

    /// Evaluates the arguments of a call from left to right.
    pub fn given(
        &mut self, call: &Call<'t>, signature: &Signature, arguments: &'t [Argument], span: Span,
    ) -> Lowered<Vec<Given>> {
        let own: Vec<Type> = call.types.iter().map(|one| self.here(one)).collect();
        let mut given = Vec::new();
        for (parameter, place) in signature.parameters.iter().zip(&call.arguments) {
            let argument = place.map(|place| &arguments[place].value);
            let argument = argument.filter(|one| !matches!(one.kind, ExpressionKind::Any));
            let argument = argument.or_else(|| self.default_argument(call, &parameter.name));
            let of = self.here(&specialise(&parameter.of, &signature.type_parameters, &own));
            self.give(&mut given, &parameter.name, parameter.direction, of, argument, span)?;
        }
        Ok(given)
    }

    /// Evaluates one argument more.
    pub fn give(
        &mut self, given: &mut Vec<Given>, name: &Name, direction: Direction, of: Type,
        argument: Option<&'t Expression>, span: Span,
    ) -> Lowered<()> {
        let value = match argument {
            Some(argument) => {
                let (value, effects) = self.collect(|lowering| lowering.value(argument))?;
                if !effects.is_empty() {
                    // They may change what an earlier argument reads.
                    for earlier in given.iter_mut().filter(|earlier| !earlier.writes()) {
                        if let Some(value) = &mut earlier.value {
                            *value = self.save(&value.clone(), &earlier.of, span)?;
                        }
                    }
                    self.out.extend(effects);
                }
                Some(value)
            }
            None => None,
        };
        given.push(Given { name: name.clone(), direction, of, value });
        Ok(())
    }

    pub fn bind_all(&mut self, given: &[Given], callee: Callee, span: Span) -> Lowered<Vec<Passed>> {
        given.iter().map(|one| self.bound(one, given, callee, span)).collect()
    }

    fn bound(&mut self, one: &Given, all: &[Given], callee: Callee, span: Span) -> Lowered<Passed> {
        let (name, of) = (one.name.clone(), one.of.clone());
        let Some(value) = &one.value else {
            let value = if one.writes() { self.allocate(&name, &of, span)? } else { Value::Nothing };
            return Ok(Passed { name, value, of, back: None });
        };
        let written = all.iter().filter(|other| other.writes()).filter_map(|other| other.value.as_ref());
        let written = written.filter(|other| other.overlaps(value)).count();
        let alone = match callee {
            Callee::Target => true,
            Callee::Closed => one.direction != Direction::Out && written <= usize::from(one.writes()),
            Callee::Parser => written <= usize::from(one.writes()),
            Callee::Open => !value.overlaps(value),
        };
        let direct = match value {
            Value::Scalar(_) => !one.writes() || field_of(value).is_some(),
            Value::Slice(..) | Value::Invalid => false,
            Value::Header(HeaderRef::Fixed(_)) => true,
            Value::Header(_) | Value::Union(_) => !one.writes(),
            // A list of values for a header is no header.
            Value::Group(_) => !of.is_header(),
            _ => true,
        };
        if alone && direct {
            if callee == Callee::Parser && one.direction == Direction::Out {
                self.clear(value, &of, span);
            }
            return Ok(Passed { name, value: value.clone(), of, back: None });
        }
        let back = if one.writes() { Some(self.settled(value, span)?) } else { None };
        let copy = self.allocate(&name, &of, span)?;
        if one.direction == Direction::Out {
            self.clear(&copy, &of, span);
        } else {
            self.assign(&copy, value, &of, span)?;
        }
        Ok(Passed { name, value: copy, of, back })
    }

    /// Headers that are written only begin invalid (specification, section 6.8).
    pub fn clear(&mut self, value: &Value, of: &Type, span: Span) {
        match (value, of.underlying()) {
            (Value::Header(header), _) => self.operate(span, Operation::SetInvalid(header.clone())),
            (Value::Group(parts), Type::Composite(composite)) if composite.shape == Shape::Struct => {
                for ((_, part), field) in parts.iter().zip(&composite.fields) {
                    self.clear(part, &field.of, span);
                }
            }
            _ => {}
        }
    }

    pub fn copy_back(&mut self, passed: &[Passed], span: Span) -> Lowered<()> {
        for one in passed {
            if let Some(back) = &one.back {
                self.assign(back, &one.value, &one.of, span)?;
            }
        }
        Ok(())
    }

    /// Runs `make`, then copies results back; an `exit` in it does so as well.
    pub fn copying<T>(
        &mut self, passed: Vec<Passed>, span: Span, make: impl FnOnce(&mut Self) -> Lowered<T>,
    ) -> Lowered<T> {
        self.pending.push(passed);
        let made = make(self);
        let passed = self.pending.pop().unwrap_or_default();
        let made = made?;
        self.copy_back(&passed, span)?;
        Ok(made)
    }

    /// Runs an action's body: arguments are copied only if it reaches their places by other names, too.
    pub fn open(
        &mut self, given: &[Given], outer: &std::rc::Rc<Environment<'t>>, span: Span,
        make: impl Fn(&mut Self) -> Lowered<()>,
    ) -> Lowered<()> {
        let (begin, known) = (self.out.len(), self.reached.len());
        for callee in [Callee::Closed, Callee::Open] {
            let passed = self.bind_all(given, callee, span)?;
            let environment = Environment::open(outer);
            for one in &passed {
                environment.declare(&one.name, super::environment::Binding::Value(one.value.clone()));
            }
            let direct: Vec<Value> =
                passed.iter().filter(|one| one.back.is_none()).map(|one| one.value.clone()).collect();
            self.copying(passed, span, |lowering| lowering.within(environment, &make))?;
            let reaches = |value: &Value| self.reached[known..].iter().any(|other| other.overlaps(value));
            if callee == Callee::Open || !direct.iter().any(reaches) {
                break;
            }
            self.out.truncate(begin);
        }
        Ok(())
    }

    /// A place whose index does not change any more.
    pub fn settled(&mut self, place: &Value, span: Span) -> Lowered<Value> {
        let mut index = |index: &Expr| -> Lowered<Box<Expr>> {
            let saved = self.save(&Value::Scalar(index.clone()), &Type::bits(32), span)?;
            Ok(Box::new(self.scalar(&saved, span)?))
        };
        let mut header = |header: &HeaderRef| -> Lowered<HeaderRef> {
            Ok(match header {
                HeaderRef::Element(stack, at) => HeaderRef::Element(*stack, index(at)?),
                HeaderRef::Member(UnionRef::Element(stack, at), member) => {
                    HeaderRef::Member(UnionRef::Element(*stack, index(at)?), *member)
                }
                other => other.clone(),
            })
        };
        let mut field =
            |field: &FieldRef| Ok(FieldRef { header: header(&field.header)?, field: field.field });
        Ok(match place {
            Value::Scalar(Expr::Field(one)) => Value::Scalar(Expr::Field(field(one)?)),
            Value::Scalar(Expr::ToBool(inner)) => match &**inner {
                Expr::Field(one) => Value::Scalar(Expr::ToBool(Box::new(Expr::Field(field(one)?)))),
                _ => place.clone(),
            },
            Value::Slice(one, high, low) => Value::Slice(field(one)?, *high, *low),
            Value::Header(one) => Value::Header(header(one)?),
            Value::Union(UnionRef::Element(stack, at)) => Value::Union(UnionRef::Element(*stack, index(at)?)),
            other => other.clone(),
        })
    }
}
