//! Parsers: states with the values they choose by; parsers that parsers apply become states of their own.

use num_bigint::BigInt;

use super::assign::dotted;
use super::environment::Binding;
use super::ir::{Case, Expr, Next, Pattern, State, StatementKind, ValueSet};
use super::pass::Callee;
use super::table::is_fixed;
use super::value::{Object, Value};
use super::{Lowered, Lowering, Place};
use crate::check::scope::Signature;
use crate::check::types::{Shape, Type};
use crate::check::Call;
use crate::source::{Name, Span};
use crate::syntax::tree::{
    self, Argument, Declaration, DeclarationKind, Expression, ExpressionKind, Transition,
};

impl<'t> Lowering<'t, '_> {
    pub fn top_parser(&mut self, object: &Object, values: Vec<Value>) -> Lowered<()> {
        self.place = Place::Parser;
        let bound = self.parameters_of(object).into_iter().map(|(name, _)| name).zip(values).collect();
        let span = self.facts.objects[object.id.0 as usize].declaration.span;
        self.program.first = self.run_parser(object, bound, Next::Accept, span)?;
        self.place = Place::Outside;
        Ok(())
    }

    pub fn apply_parser(
        &mut self, span: Span, object: &Object, call: &Call<'t>, signature: &Signature,
        arguments: &'t [Argument],
    ) -> Lowered<Value> {
        let before = self.types.len();
        let known = &self.facts.objects[object.id.0 as usize];
        self.types.extend(known.type_parameters.iter().cloned().zip(object.types.iter().cloned()));
        let passed = self.pass(call, signature, arguments, Callee::Parser, span)?;
        let bound = passed.iter().map(|one| (one.name.clone(), one.value.clone())).collect();
        // The statements after the call are a state of their own.
        let accept = self.new_state("after", span);
        let start =
            self.deeper(span, |lowering| lowering.run_parser(object, bound, Next::State(accept), span));
        self.types.truncate(before);
        self.emit(span, StatementKind::Parse { start: start?, accept });
        self.copy_back(&passed, span)?;
        Ok(Value::Nothing)
    }

    fn new_state(&mut self, name: &str, span: Span) -> usize {
        let name = self.unique(&format!("state {name}"))["state ".len()..].to_owned();
        self.program.states.push(State { name, body: Vec::new(), key: Vec::new(), cases: Vec::new(), span });
        self.program.states.len() - 1
    }

    /// The states of a parser; the number of the first.
    fn run_parser(
        &mut self, object: &Object, bound: Vec<(Name, Value)>, accept: Next, span: Span,
    ) -> Lowered<usize> {
        let declaration = self.facts.objects[object.id.0 as usize].declaration;
        let DeclarationKind::Parser { locals, states, .. } = &declaration.kind else {
            return self.refuse(span, "no parser");
        };
        let path = std::mem::replace(&mut self.path, object.path.clone());
        let mut first = 0;
        // Each application has states of its own.
        let instance = self.new_instance(object, bound);
        let result = self.within(instance.environment, |lowering| {
            let ((), begin) = lowering.collect(|lowering| {
                for local in locals {
                    lowering.local(local, true)?;
                }
                Ok(())
            })?;
            let entry = (!begin.is_empty()).then(|| lowering.new_state("begin", span));
            let numbers: Vec<usize> =
                states.iter().map(|state| lowering.new_state(&state.ident.name, state.span)).collect();
            let target = |name: &Name| match &**name {
                "accept" => accept,
                "reject" => Next::Reject,
                _ => states
                    .iter()
                    .position(|state| state.ident.name == *name)
                    .map_or(Next::Reject, |place| Next::State(numbers[place])),
            };
            for (state, number) in states.iter().zip(&numbers) {
                lowering.state(state, *number, &target)?;
            }
            let start = match target(&Name::from("start")) {
                Next::State(start) => start,
                _ => return lowering.refuse(span, "the parser has no state `start`"),
            };
            first = entry.unwrap_or(start);
            if let Some(entry) = entry {
                lowering.program.states[entry].body = begin;
                lowering.program.states[entry].cases =
                    vec![Case { pattern: Pattern::Any, next: Next::State(start) }];
            }
            Ok(())
        });
        self.path = path;
        result.map(|()| first)
    }

    fn state(
        &mut self, state: &'t tree::State, number: usize, target: &dyn Fn(&Name) -> Next,
    ) -> Lowered<()> {
        let mut key = Vec::new();
        let mut cases = Vec::new();
        let ((), body) = self.collect(|lowering| {
            lowering.block(|lowering| {
                lowering.statements(&state.statements, &super::statement::Leaves::to(0, None))?;
                match &state.transition {
                    Transition::Missing => cases.push(Case { pattern: Pattern::Any, next: Next::Reject }),
                    Transition::To(to) => cases.push(Case { pattern: Pattern::Any, next: target(&to.name) }),
                    Transition::Select { on, cases: written, .. } => {
                        let types = lowering.select_key(on, &mut key)?;
                        for case in written {
                            let next = target(&case.target.name);
                            for pattern in lowering.patterns(&case.keys, &types, case.span)? {
                                cases.push(Case { pattern, next });
                            }
                        }
                    }
                }
                Ok(())
            })
        })?;
        let made = &mut self.program.states[number];
        (made.body, made.key, made.cases) = (body, key, cases);
        Ok(())
    }

    /// The fields that a `select` compares; other values are computed into fields.
    fn select_key(&mut self, on: &'t [Expression], key: &mut Vec<(Expr, u32)>) -> Lowered<Vec<Type>> {
        let mut types = Vec::new();
        for one in on {
            let of = self.converted_type(one);
            let value = self.value(one)?;
            let value = match value {
                Value::Scalar(expr) if is_fixed(&expr) => expr,
                Value::Scalar(Expr::ToBool(inner)) if is_fixed(&inner) => *inner,
                value => {
                    let place = self.temporary(&of, one.span)?;
                    self.assign(&place, &value, &of, one.span)?;
                    match place {
                        Value::Scalar(Expr::ToBool(inner)) => *inner,
                        Value::Scalar(place) => place,
                        _ => return self.refuse(one.span, "a `select` compares numbers"),
                    }
                }
            };
            key.push((value, of.width().unwrap_or(32)));
            types.push(of);
        }
        Ok(types)
    }

    /// The keys of a case; a range is several.
    fn patterns(&mut self, keys: &'t [Expression], types: &[Type], span: Span) -> Lowered<Vec<Pattern>> {
        let keys: Vec<&'t Expression> = match keys {
            [Expression { kind: ExpressionKind::List { items, .. }, .. }] if types.len() > 1 => {
                items.iter().collect()
            }
            _ => keys.iter().collect(),
        };
        if keys.iter().all(|key| matches!(key.kind, ExpressionKind::Any | ExpressionKind::Default)) {
            return Ok(vec![Pattern::Any]);
        }
        if let [key] = &keys[..] {
            if matches!(self.facts.types.get(&key.id), Some(Type::Set(_))) {
                return self.set_pattern(key);
            }
        }
        let mut all: Vec<Vec<(BigInt, BigInt)>> = vec![Vec::new()];
        for (key, of) in keys.iter().zip(types) {
            let parts = self.parts(key, of, span)?;
            all = all
                .into_iter()
                .flat_map(|before| {
                    parts.iter().map(move |part| {
                        let mut all = before.clone();
                        all.push(part.clone());
                        all
                    })
                })
                .collect();
            if all.len() > 4096 {
                return self.refuse(span, "the ranges of this case are too many");
            }
        }
        Ok(all.into_iter().map(Pattern::Bits).collect())
    }

    fn set_pattern(&mut self, key: &'t Expression) -> Lowered<Vec<Pattern>> {
        match self.value(key)? {
            Value::Text(name) => {
                let set = self.program.value_sets.iter().position(|set| set.name == *name);
                match set {
                    Some(set) => Ok(vec![Pattern::ValueSet(set)]),
                    None => self.refuse(key.span, "there is no such value set"),
                }
            }
            _ => self.refuse(key.span, "this is no value set"),
        }
    }

    /// Values with masks of one key.
    fn parts(&mut self, key: &'t Expression, of: &Type, span: Span) -> Lowered<Vec<(BigInt, BigInt)>> {
        let width = of.width().unwrap_or(32);
        let ones: BigInt = (BigInt::from(1) << width) - 1;
        let bits = |number: BigInt| if number < BigInt::from(0) { number & &ones } else { number };
        Ok(match &key.kind {
            ExpressionKind::Any | ExpressionKind::Default => vec![(0.into(), 0.into())],
            ExpressionKind::Mask(value, mask) => {
                let (value, mask) = (bits(self.number(value, "a key")?), bits(self.number(mask, "a mask")?));
                vec![(value & &mask, mask)]
            }
            ExpressionKind::Range(low, high) => {
                let (low, high) = (self.number(low, "a bound")?, self.number(high, "a bound")?);
                prefixes(low, &high, width)
            }
            _ => match self.value(key)? {
                Value::Group(parts) if parts.len() == 1 => match &parts[0].1 {
                    Value::Scalar(Expr::Number(number)) => vec![(bits(number.clone()), ones.clone())],
                    _ => return self.refuse(span, "a key is a constant"),
                },
                value => match super::instance::as_number(&value) {
                    Some(number) => vec![(bits(number), ones.clone())],
                    None => return self.refuse(key.span, "a key is a constant"),
                },
            },
        })
    }

    pub fn value_set(
        &mut self, declaration: &'t Declaration, of: &'t tree::Type, size: &'t Expression,
    ) -> Lowered<()> {
        let path = self.control_name(&declaration.ident.name, &declaration.annotations);
        let name = dotted(&path);
        let size = u32::try_from(self.number(size, "the size of a value set")?).unwrap_or(0);
        let of = self.type_of(of.id);
        self.program.value_sets.push(ValueSet {
            name: name.clone(),
            size,
            annotations: declaration.annotations.clone(),
            of,
            span: declaration.ident.span,
        });
        self.environment.declare(&declaration.ident.name, Binding::Value(Value::Text(Name::from(&*name))));
        Ok(())
    }

    /// `packet.lookahead<T>()`: bits as they come, into a place of their own.
    pub fn lookahead(&mut self, of: &Type, span: Span) -> Lowered<Value> {
        let place = self.temporary(of, span)?;
        let mut offset = 0;
        self.look(&place, of, &mut offset, span)?;
        Ok(place)
    }

    fn look(&mut self, place: &Value, of: &Type, offset: &mut u32, span: Span) -> Lowered<()> {
        match (place, of.underlying()) {
            (Value::Header(header), Type::Composite(composite)) => {
                self.operate(span, super::ir::Operation::SetValid(header.clone()));
                for field in &composite.fields {
                    let (part, of) =
                        self.member_of_header(header, &field.name, &Type::Composite(composite.clone()));
                    self.look(&part, &of, offset, span)?;
                }
            }
            (Value::Group(parts), Type::Composite(composite)) if composite.shape == Shape::Struct => {
                for ((_, part), field) in parts.iter().zip(&composite.fields) {
                    self.look(part, &field.of, offset, span)?;
                }
            }
            (Value::Group(parts), Type::Tuple(types)) => {
                for ((_, part), of) in parts.iter().zip(types.iter()) {
                    self.look(part, of, offset, span)?;
                }
            }
            (Value::Stack(_) | Value::Group(_), Type::Array(element, size)) => {
                for number in 0..*size as usize {
                    self.look(&self.element(place, number), element, offset, span)?;
                }
            }
            (Value::Scalar(_), inner) => {
                let Some(width) = inner.width() else {
                    return self.refuse(span, "this has no size to look ahead");
                };
                let bits = Expr::Lookahead(*offset, width);
                let bits = if *inner == Type::Bool { Expr::ToBool(Box::new(bits)) } else { bits };
                *offset += width;
                self.assign(place, &Value::Scalar(bits), of, span)?;
            }
            _ => return self.refuse(span, "this cannot be looked ahead"),
        }
        Ok(())
    }
}

/// Values with masks that together are the numbers from `low` to `high`.
fn prefixes(mut low: BigInt, high: &BigInt, width: u32) -> Vec<(BigInt, BigInt)> {
    let ones: BigInt = (BigInt::from(1) << width) - 1;
    let mut found = Vec::new();
    while low <= *high {
        let mut bits = low.trailing_zeros().unwrap_or(u64::from(width)).min(u64::from(width));
        while bits > 0 && &low + (BigInt::from(1) << bits) - 1 > *high {
            bits -= 1;
        }
        let size = BigInt::from(1) << bits;
        found.push((low.clone(), &ones ^ (&size - 1)));
        low += size;
    }
    found
}
