//! Parsers: states with the values they choose by; parsers that parsers apply become states of their own
//! (P4_16 specification, section 13).

use num_bigint::{BigInt, Sign};

use super::assign::ones;
use super::control::Locals;
use super::ir::{add, Case, Expr, HeaderRef, Match, Pattern, Program, State, StatementKind, ValueSet};
use super::pass::Passed;
use super::value::{Environment, Object, Value};
use super::{Lowered, Lowering};
use crate::check::types::Type;
use crate::source::{Name, Span};
use crate::syntax::tree::{self, Declaration, DeclarationKind, Expression, ExpressionKind, Transition};

impl<'t> Lowering<'t, '_> {
    pub fn top_parser(&mut self, object: &Object, values: Vec<Value>) -> Lowered<()> {
        let bound = self.parameters_of(object, values);
        let span = self.known(object.id).declaration.span;
        self.program.first = self.at(span, |lowering| lowering.run_parser(object, bound, None))?;
        // p4c leaves out a value set that no `select` names.
        let Program { states, value_sets, .. } = &mut self.program;
        value_sets.retain(|set| {
            let mut cases = states.iter().flat_map(|state| &state.cases);
            cases.any(|case| matches!(&case.pattern, Pattern::ValueSet(name) if **name == *set.head.name))
        });
        Ok(())
    }

    /// A parser that a parser applies (section 13.10): statements after the call are a state of their own.
    pub fn run_subparser(&mut self, object: &Object, bound: Vec<Passed>) -> Lowered<()> {
        let accept = self.new_state("after", self.span);
        let start = self.run_parser(object, bound, Some(accept))?;
        self.emit(StatementKind::Parse { start, accept });
        Ok(())
    }

    fn new_state(&mut self, name: &str, span: Span) -> usize {
        let name = self.unique_in("state ", name);
        let (body, key, cases) = Default::default();
        add(&mut self.program.states, State { name, body, key, cases, span })
    }

    /// The states of a parser (section 13.2); the number of the first.
    fn run_parser(&mut self, object: &Object, bound: Vec<Passed>, accept: Option<usize>) -> Lowered<usize> {
        let DeclarationKind::Applicable(_, parser) = &self.known(object.id).declaration.kind else {
            return self.refuse("no parser");
        };
        // Each application has states of its own.
        let instance = self.new_instance(object, bound);
        self.named(&object.path, &object.order, |lowering| {
            lowering.within(Environment::inside(&instance.environment), |lowering| {
                lowering.parser_states(&parser.locals, &parser.states, accept, &instance.locals)
            })
        })
    }

    fn parser_states(
        &mut self, locals: &'t [Declaration], states: &'t [tree::State], accept: Option<usize>,
        known: &Locals<'t>,
    ) -> Lowered<usize> {
        let begin = self.code(|lowering| lowering.locals(locals, known))?;
        let entry = (!begin.is_empty()).then(|| self.new_state("begin", self.span));
        let numbers: Vec<usize> =
            states.iter().map(|state| self.new_state(&state.ident.name, state.span)).collect();
        let target = |name: &str| match name {
            "accept" => accept,
            "reject" => None,
            _ => states.iter().position(|one| &*one.ident.name == name).map(|place| numbers[place]),
        };
        for (state, number) in states.iter().zip(&numbers) {
            self.state(state, *number, &target)?;
        }
        let Some(start) = target("start") else {
            return self.refuse("the parser has no state `start`");
        };
        if let Some(entry) = entry {
            let cases = vec![Case { pattern: Pattern::Any, next: Some(start) }];
            let state = &mut self.program.states[entry];
            (state.body, state.cases) = (begin, cases);
        }
        Ok(entry.unwrap_or(start))
    }

    /// A state (section 13.4) with its transition (section 13.5).
    fn state(
        &mut self, state: &'t tree::State, number: usize, target: &dyn Fn(&str) -> Option<usize>,
    ) -> Lowered<()> {
        let mut key = Vec::new();
        let mut cases = Vec::new();
        let body = self.code(|lowering| {
            lowering.block(|lowering| {
                lowering.statements(&state.statements)?;
                match &state.transition {
                    Transition::Missing => cases.push(Case { pattern: Pattern::Any, next: None }),
                    Transition::To(to) => cases.push(Case { pattern: Pattern::Any, next: target(&to.name) }),
                    Transition::Select { on, cases: written, .. } => {
                        let types = lowering.select_key(on, &mut key)?;
                        for case in written {
                            let next = target(&case.target.name);
                            let patterns = lowering.at(case.span, |one| one.patterns(&case.keys, &types))?;
                            cases.extend(patterns.into_iter().map(|pattern| Case { pattern, next }));
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

    /// The fields that a `select` compares (section 13.6); other values are computed into fields.
    fn select_key(&mut self, on: &'t [Expression], key: &mut Vec<(Expr, u32)>) -> Lowered<Vec<Type>> {
        let mut values: Vec<(Value, Type)> = Vec::new();
        for one in on {
            let earlier = values.iter_mut().map(|(value, of)| (value, of.clone()));
            let value = self.value_after(one, |lowering, _| lowering.keep(earlier))?;
            values.push((value, self.converted_type(one)));
        }
        for (one, (value, of)) in on.iter().zip(&values) {
            let field = self.at(one.span, |lowering| lowering.in_field(value, of))?;
            let Some(field) = field else { return self.refuse_at(one.span, "a `select` compares numbers") };
            key.push((field, of.width().unwrap_or(32)));
        }
        Ok(values.into_iter().map(|(_, of)| of).collect())
    }

    /// The field that a value is, if the target can name it: `(bit<16>)f` is no field of 8 bits.
    pub fn as_field(&self, value: &Value, of: &Type) -> Option<Expr> {
        let field = value.field()?;
        let is_whole = of.width().map_or(true, |width| width == self.program.width(field));
        value.fixed().filter(|_| is_whole)
    }

    /// The value as a field that the target can name: a new one unless it is one.
    pub fn in_field(&mut self, value: &Value, of: &Type) -> Lowered<Option<Expr>> {
        if let Some(field) = self.as_field(value, of) {
            return Ok(Some(field));
        }
        let place = self.temporary(of)?;
        self.assign(&place, value, of)?;
        Ok(place.fixed())
    }

    /// The keys of a case; a range is several.
    fn patterns(&mut self, keys: &'t [Expression], types: &[Type]) -> Lowered<Vec<Pattern>> {
        let keys = each_key(keys, types.len());
        if keys.iter().all(|key| matches!(key.kind, ExpressionKind::Any | ExpressionKind::Default)) {
            return Ok(vec![Pattern::Any]);
        }
        if let [key] = &keys[..] {
            if matches!(self.facts.types.get(&key.id), Some(Type::Set(_))) {
                return match self.value(key)? {
                    Value::Text(name) => Ok(vec![Pattern::ValueSet(name)]),
                    _ => self.refuse_at(key.span, "this is no value set"),
                };
            }
        }
        let mut all: Vec<Vec<(BigInt, BigInt)>> = vec![Vec::new()];
        for (key, of) in keys.iter().zip(types) {
            let parts = masked(self.key_set(key)?, of.width().unwrap_or(32));
            let with = |before: &Vec<_>| -> Vec<Vec<_>> {
                parts.iter().map(|part| [&before[..], std::slice::from_ref(part)].concat()).collect()
            };
            all = all.iter().flat_map(with).collect();
            if all.len() > 4096 {
                return self.refuse("the ranges of this case are too many");
            }
        }
        Ok(all.into_iter().map(Pattern::Bits).collect())
    }

    /// The values that a key of a `select` or an entry stands for (section 8.15).
    pub fn key_set(&mut self, key: &'t Expression) -> Lowered<Match> {
        Ok(match &key.kind {
            ExpressionKind::Any | ExpressionKind::Default => Match::Any,
            ExpressionKind::Mask(value, mask) => {
                Match::Mask(self.number(value, "a key")?, self.number(mask, "a mask")?)
            }
            ExpressionKind::Range(low, high) => {
                Match::Range(self.number(low, "a bound")?, self.number(high, "a bound")?)
            }
            _ => {
                let number = match self.value(key)? {
                    Value::Group(parts) if parts.len() == 1 => parts[0].1.as_number(),
                    value => value.as_number(),
                };
                match number {
                    Some(number) => Match::Value(number),
                    None => return self.refuse_at(key.span, "a key is a constant"),
                }
            }
        })
    }

    /// `value_set<Type>(size) name;` (sections 13.11 and 18.3.1.1)
    pub fn value_set(
        &mut self, declaration: &'t Declaration, of: &'t tree::Type, size: &'t Expression,
    ) -> Lowered<Value> {
        let size = u32::try_from(self.number(size, "the size of a value set")?).unwrap_or(0);
        let (head, of) = (self.head(declaration), self.type_of(of.id));
        let name = Name::from(&*head.name);
        self.program.value_sets.push(ValueSet { head, size, of });
        Ok(Value::Text(name))
    }

    /// `packet.lookahead<T>()` (section 13.8.3): bits as they come, into a place of their own.
    pub fn lookahead(&mut self, of: &Type) -> Lowered<Value> {
        let place = self.temporary(of)?;
        self.look(&place, of, &mut 0)?;
        Ok(place)
    }

    fn look(&mut self, place: &Value, of: &Type, offset: &mut u32) -> Lowered<()> {
        match place {
            Value::Header(_) | Value::Stack(_) | Value::Group(_) => {
                if let Value::Header(header) = place {
                    self.set_valid(header, true);
                }
                for (part, of) in self.parts(place, of) {
                    self.look(&part, &of, offset)?;
                }
                Ok(())
            }
            Value::Scalar(_) => {
                let Some(width) = of.width() else {
                    return self.refuse("this has no size to look ahead");
                };
                let bits = Value::of(Expr::Lookahead(*offset, width), of);
                *offset += width;
                self.assign(place, &bits, of)
            }
            _ => self.refuse("this cannot be looked ahead"),
        }
    }

    /// `packet.extract(header)`, `packet.extract(header, bits)` (sections 13.8.1 and 13.8.2).
    pub fn extract(&mut self, arguments: &'t [tree::Argument], of: &Type) -> Lowered<Value> {
        let argument = &arguments[0].value;
        // `extract<T>(_)` passes a header over.
        let passes = matches!(argument.kind, ExpressionKind::Any);
        let value = if passes { self.temporary(of)? } else { self.value(argument)? };
        // The target extracts no element whose index it computes: the header is copied there.
        let is_computed = matches!(value, Value::Header(HeaderRef::Element(..)));
        let extracted = if is_computed { self.temporary(of)? } else { value.clone() };
        let Value::Header(header) = &extracted else { return self.refuse("a header is extracted") };
        let mut operands = vec![Expr::Header(header.clone())];
        if let Some(bits) = arguments.get(1) {
            operands.push(self.expr(&bits.value)?);
        }
        let place = self.settled(&value)?;
        self.operate(if operands.len() > 1 { "extract_VL" } else { "extract" }, operands);
        self.assign_parts(&place, &extracted, of)?;
        Ok(Value::Nothing)
    }
}

/// The keys of a `select` case or an entry: one for each value, or one list of them all.
pub fn each_key(keys: &[Expression], count: usize) -> Vec<&Expression> {
    match keys {
        [Expression { kind: ExpressionKind::List { items, .. }, .. }] if items.len() == count => {
            items.iter().collect()
        }
        _ => keys.iter().collect(),
    }
}

/// The values with masks that a set is made of.
fn masked(set: Match, width: u32) -> Vec<(BigInt, BigInt)> {
    let ones = ones(width);
    match set {
        Match::Any => vec![(0.into(), 0.into())],
        Match::Value(value) => vec![(value & &ones, ones)],
        Match::Mask(value, mask) => vec![(value & &mask & &ones, mask & &ones)],
        // A range over 0 of signed numbers is of two ranges of bits.
        Match::Range(low, high) if low.sign() == Sign::Minus && high.sign() != Sign::Minus => {
            [prefixes(low & &ones, &ones, width), prefixes(0.into(), &high, width)].concat()
        }
        Match::Range(low, high) => prefixes(low & &ones, &(high & &ones), width),
    }
}

/// Values with masks that together are the numbers from `low` to `high`.
fn prefixes(mut low: BigInt, high: &BigInt, width: u32) -> Vec<(BigInt, BigInt)> {
    let mut found = Vec::new();
    while low <= *high {
        let mut bits = low.trailing_zeros().unwrap_or(u64::from(width)).min(u64::from(width)) as u32;
        while bits > 0 && &low + ones(bits) > *high {
            bits -= 1;
        }
        found.push((low.clone(), ones(width) ^ ones(bits)));
        low += BigInt::from(1) << bits;
    }
    found
}
