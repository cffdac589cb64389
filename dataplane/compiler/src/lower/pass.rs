//! Arguments and parameters: values are copied in and out (P4_16 specification, section 6.8).
//!
//! A copy that nothing could tell from its original is not made.

use std::rc::Rc;

use super::ir::{Expr, HeaderRef};
use super::value::{Environment, Value};
use super::{Lowered, Lowering, Place};
use crate::check::infer::specialise;
use crate::check::scope::Parameter;
use crate::check::types::{Type, TypeParameter};
use crate::check::{Call, ObjectKind, Target};
use crate::source::Name;
use crate::syntax::tree::{Argument, DeclarationKind, Direction, Expression, ExpressionKind, Statement};

/// The deepest that controls, functions and actions may call each other.
const DEEPEST: usize = 64;

/// An argument, for the parameter of this name.
#[derive(Clone)]
pub struct Passed {
    pub name: Name,
    pub direction: Direction,
    pub of: Type,
    /// `Nothing` for one that is left out.
    pub value: Value,
    /// The place that gets the value at the end, if this is a copy.
    pub back: Option<Value>,
}

impl Passed {
    fn writes(&self) -> bool {
        matches!(self.direction, Direction::Out | Direction::InOut)
    }
}

type Matched<'t> = (&'t Parameter, &'t [TypeParameter], Option<&'t Expression>);

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
        &mut self, call: &'t Call<'t>, arguments: &'t [Argument], callee: Callee,
    ) -> Lowered<Vec<Passed>> {
        let mut given = self.given(call, arguments)?;
        if callee == Callee::Target {
            let matched = self.matched(call, arguments);
            given.sort_by_key(|one| matched.iter().position(|(parameter, ..)| parameter.name == one.name));
        }
        self.bind_all(&given, callee)
    }

    /// Evaluates the arguments of a call from left to right as they are written, which may be another order
    /// than that of the parameters.
    pub fn given(&mut self, call: &'t Call<'t>, arguments: &'t [Argument]) -> Lowered<Vec<Passed>> {
        let own: Vec<Type> = call.types.iter().map(|one| self.here(one)).collect();
        let mut given = Vec::new();
        let mut matched: Vec<_> = call.arguments.iter().zip(self.matched(call, arguments)).collect();
        matched.sort_by_key(|(place, _)| place.unwrap_or(usize::MAX));
        for (_, (parameter, generic, argument)) in matched {
            let of = self.here(&specialise(&parameter.of, generic, &own));
            let argument = argument.filter(|one| !matches!(one.kind, ExpressionKind::Any));
            self.give(&mut given, &parameter.name, parameter.direction, of, argument)?;
        }
        Ok(given)
    }

    /// The parameters of a call with its type parameters, each with its argument, or with the value that is
    /// written for one that is left out (section 6.8.2).
    pub fn matched(&self, call: &'t Call<'t>, arguments: &'t [Argument]) -> Vec<Matched<'t>> {
        let (signature, declaration) = match &call.target {
            Target::Function(function) | Target::Action(function) => {
                (&function.signature, function.declaration)
            }
            Target::Method(id, number) => {
                (&self.known(*id).methods[*number].signature, self.known(*id).declaration)
            }
            Target::Constructor(id, number) => {
                (&self.known(*id).constructors[*number], self.known(*id).declaration)
            }
            Target::Table(_) | Target::Builtin(_) => return Vec::new(),
        };
        let written = match (&declaration.kind, &call.target) {
            (DeclarationKind::Applicable(ObjectKind::Package, one), _) => &one.head.parameters[..],
            (DeclarationKind::Applicable(_, one), Target::Constructor(..)) => &one.constructor,
            (DeclarationKind::Applicable(_, one), _) => &one.head.parameters,
            (DeclarationKind::Function { signature, .. }, _) => &signature.head.parameters,
            (DeclarationKind::Action { parameters, .. }, _) => parameters,
            _ => &[],
        };
        let own = signature.parameters.iter().zip(&call.arguments).enumerate();
        own.map(|(number, (parameter, place))| {
            let argument = place.map(|place| &arguments[place].value);
            let argument = argument.or_else(|| written.get(number)?.default.as_ref());
            (parameter, &signature.type_parameters[..], argument)
        })
        .collect()
    }

    /// Evaluates one argument more.
    pub fn give(
        &mut self, given: &mut Vec<Passed>, name: &Name, direction: Direction, of: Type,
        argument: Option<&'t Expression>,
    ) -> Lowered<()> {
        let make = |argument| {
            self.value_after(argument, |lowering, effects| {
                given.iter_mut().try_for_each(|earlier| lowering.copied_in(earlier, effects))
            })
        };
        let value = argument.map(make).transpose()?.unwrap_or(Value::Nothing);
        given.push(Passed { name: name.clone(), direction, of, value, back: None });
        Ok(())
    }

    pub fn bind_all(&mut self, given: &[Passed], callee: Callee) -> Lowered<Vec<Passed>> {
        given.iter().map(|one| self.bound(one, given, callee)).collect()
    }

    fn bound(&mut self, one: &Passed, all: &[Passed], callee: Callee) -> Lowered<Passed> {
        let (value, of) = (&one.value, &one.of);
        if one.back.is_some() || *value == Value::Nothing {
            let is_variable = one.back.is_none() && one.writes();
            let value = if is_variable { self.allocate(&one.name, of)? } else { value.clone() };
            return Ok(Passed { value, ..one.clone() });
        }
        let written = all.iter().filter(|other| other.writes() && other.value.overlaps(value)).count();
        let alone = match callee {
            Callee::Target => true,
            Callee::Closed => one.direction != Direction::Out && written <= usize::from(one.writes()),
            Callee::Parser => written <= usize::from(one.writes()),
            Callee::Open => !value.overlaps(value),
        };
        let direct = match value {
            Value::Scalar(Expr::Slice(..)) | Value::Invalid => false,
            Value::Scalar(_) => !one.writes() || value.field().is_some(),
            Value::Header(HeaderRef::Fixed(_)) => true,
            Value::Header(_) | Value::Union(_) => !one.writes(),
            // A list of values for a header is no header.
            Value::Group(_) => !of.is_header(),
            _ => true,
        };
        if alone && direct {
            if callee == Callee::Parser && one.direction == Direction::Out {
                self.clear(value, of)?;
            }
            return Ok(one.clone());
        }
        let copy = self.allocate(&one.name, of)?;
        self.copied(one, copy)
    }

    /// An argument in a variable for its parameter.
    pub fn copied(&mut self, one: &Passed, copy: Value) -> Lowered<Passed> {
        let back = if one.writes() { Some(self.settled(&one.value)?) } else { None };
        match one.direction {
            Direction::Out => self.clear(&copy, &one.of)?,
            _ => self.assign(&copy, &one.value, &one.of)?,
        }
        Ok(Passed { value: copy, back, ..one.clone() })
    }

    /// Headers without a value begin invalid, and stacks empty (sections 6.8 and 11.2).
    pub fn clear(&mut self, value: &Value, of: &Type) -> Lowered<()> {
        let parts = self.parts(value, of);
        match value {
            Value::Header(header) => {
                self.set_valid(header, false);
                return Ok(());
            }
            Value::Stack(stack) if !self.program.stacks[*stack].of_unions => {
                self.operate("pop", vec![Expr::Stack(*stack), Expr::Number(parts.len().into())]);
            }
            // gfswitch pops no unions. The index of the next element counts in parsers only.
            Value::Stack(_) if self.place == Place::Parser => {
                let empty = self.allocate("empty", of)?;
                return self.assign_parts(value, &empty, of);
            }
            _ => {}
        }
        parts.iter().try_for_each(|(part, of)| self.clear(part, of))
    }

    pub fn copy_back(&mut self, passed: &[Passed]) -> Lowered<()> {
        for one in passed {
            if let Some(back) = &one.back {
                self.assign(back, &one.value, &one.of)?;
            }
        }
        Ok(())
    }

    /// Runs `make`, the body of a call, then copies results back; an `exit` in it does so as well.
    pub fn copying<T>(
        &mut self, passed: Vec<Passed>, make: impl FnOnce(&mut Self) -> Lowered<T>,
    ) -> Lowered<T> {
        if self.pending.len() == DEEPEST {
            return self.refuse(format!("calls are nested more than {DEEPEST} deep"));
        }
        self.pending.push(passed);
        let made = make(self);
        let passed = self.pending.pop().unwrap_or_default();
        let made = made?;
        self.copy_back(&passed)?;
        Ok(made)
    }

    /// Runs an action's body: arguments are copied only if it reaches their places by other names, too.
    pub fn open(
        &mut self, given: &[Passed], outer: &Rc<Environment<'t>>, body: &'t [Statement],
    ) -> Lowered<()> {
        let (begin, known) = (self.out.len(), self.reached.len());
        let colours: Vec<_> = self.program.arrays.iter().map(|array| array.result.clone()).collect();
        for callee in [Callee::Closed, Callee::Open] {
            let passed = self.bind_all(given, callee)?;
            let environment = outer.with(true, &passed);
            let direct: Vec<Value> =
                passed.iter().filter(|one| one.back.is_none()).map(|one| one.value.clone()).collect();
            self.copying(passed, |one| one.within(environment, |one| one.inlined(body, None)))?;
            let reaches = |value: &Value| self.reached[known..].iter().any(|other| other.overlaps(value));
            if callee == Callee::Open || !direct.iter().any(reaches) {
                break;
            }
            self.out.truncate(begin);
            for (array, colour) in self.program.arrays.iter_mut().zip(&colours) {
                array.result.clone_from(colour);
            }
        }
        Ok(())
    }
}
