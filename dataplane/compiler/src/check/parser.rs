//! Parsers: states and transitions (P4_16 specification, section 13).

use std::collections::HashMap;

use super::constant::Value;
use super::scope::Entity;
use super::types::Type;
use super::Checker;
use crate::source::{nearest, Name, Span};
use crate::syntax::tree::{Declaration, Expression, ExpressionKind, Ident, SelectCase, State, Transition};

impl<'t> Checker<'t, '_> {
    pub fn parser_body(
        &mut self, declaration: &'t Declaration, locals: &'t [Declaration], states: &'t [State],
    ) {
        self.locals(declaration, locals);
        let mut names: HashMap<Name, Span> = HashMap::new();
        for ident in states.iter().map(|state| &state.ident) {
            let name = &ident.name;
            if matches!(&**name, "accept" | "reject") {
                self.error(ident.span, format!("`{name}` is the name of a state that every parser has"));
            }
            if let Some(first) = names.insert(name.clone(), ident.span) {
                self.error(ident.span, format!("the state `{name}` is declared twice"))
                    .note(first, "its first declaration");
            }
            if self.scopes.find(name, false).is_none() {
                self.declare(name, Entity::State, ident.span);
            }
        }
        for state in states {
            self.state(state, &names);
        }
        if names.contains_key("start") {
            self.reached(&declaration.ident, states);
        } else {
            let message = format!("parser `{}` has no state `start`", declaration.ident.name);
            self.error(declaration.ident.span, message);
        }
    }

    fn state(&mut self, state: &'t State, names: &HashMap<Name, Span>) {
        self.scoped(|checker| checker.state_body(state, names));
    }

    fn state_body(&mut self, state: &'t State, names: &HashMap<Name, Span>) {
        self.statements(&state.statements);
        match &state.transition {
            Transition::Missing => {
                let message =
                    format!("state `{}` has no transition, and so rejects the packet", state.ident.name);
                self.warning(state.ident.span, message).help("`transition accept;`");
            }
            Transition::To(target) => self.target(target, names),
            Transition::Select { on, cases, span } => self.select(*span, on, cases, names),
        }
    }

    fn target(&mut self, target: &Ident, names: &HashMap<Name, Span>) {
        if names.contains_key(&target.name) || matches!(&*target.name, "accept" | "reject") {
            return;
        }
        let builtin = ["accept", "reject"].map(Name::from);
        let all = names.iter().map(|(name, span)| (name, *span));
        let near = nearest(&target.name, all.chain(builtin.iter().map(|name| (name, Span::default()))));
        self.error(target.span, format!("there is no state `{}`", target.name)).meant(near);
    }

    fn select(
        &mut self, span: Span, on: &'t [Expression], cases: &'t [SelectCase], names: &HashMap<Name, Span>,
    ) {
        let types: Vec<Type> = on.iter().map(|one| self.selected(one)).collect();
        if cases.is_empty() {
            self.warning(span, "this `select` has no case, and so rejects every packet");
        }
        let before = self.diagnostics.len();
        let mut seen: Vec<(Vec<Value>, Span)> = Vec::new();
        let mut all: Option<Span> = None;
        for case in cases {
            self.key_set(&case.keys, &types, case.span);
            self.target(&case.target, names);
            let values = case.keys.iter().map(|key| self.facts.values.get(&key.id).cloned());
            let values = values.collect::<Option<Vec<Value>>>();
            let same = seen.iter().find(|(other, _)| values.as_ref() == Some(other)).map(|(_, first)| *first);
            if let Some(first) = all.or(same) {
                self.warning(case.span, "this case is never chosen")
                    .note(first, "this one takes its packets");
            }
            seen.extend(values.map(|values| (values, case.span)));
            if case.keys.iter().all(|key| matches!(key.kind, ExpressionKind::Any)) {
                all = Some(case.span);
            }
        }
        self.diagnostics.explain(before, Span { end: span.start + 6, ..span }, "what is selected by");
    }

    /// The type of a value to select by.
    fn selected(&mut self, value: &'t Expression) -> Type {
        let (_typed, of) = self.typed(value, None);
        match of {
            Type::Integer => {
                self.error(value.span, "a number to select by needs a width");
            }
            Type::Varbit(_) | Type::Composite(_) | Type::Array(..) | Type::String | Type::Object(..) => {
                self.error(
                    value.span,
                    format!("`select` does not compare values of type {}", self.spell(&of)),
                );
                return Type::Wrong;
            }
            _ => {}
        }
        of
    }

    /// The keys of a case or of an entry: one for each value, or one for all.
    pub fn key_set(&mut self, keys: &'t [Expression], types: &[Type], span: Span) {
        if let ([Expression { kind: ExpressionKind::List { items, .. }, .. }], [one]) = (keys, types) {
            // One key in braces.
            if items.len() == 1 && !matches!(one, Type::Tuple(_)) {
                return self.key(&items[0], one);
            }
        }
        if let [one] = keys {
            if matches!(one.kind, ExpressionKind::Any | ExpressionKind::Default) {
                return;
            }
            if types.len() > 1 {
                let all = Type::Tuple(types.iter().cloned().collect());
                self.key(one, &all);
                return;
            }
        }
        if keys.len() != types.len() {
            let (wants, has) = (types.len(), keys.len());
            self.error(span, format!("{wants} values are compared, and {has} keys are given"));
            return;
        }
        for (key, of) in keys.iter().zip(types) {
            self.key(key, of);
        }
    }

    fn key(&mut self, key: &'t Expression, of: &Type) {
        let of = self.inference.shallow(of);
        match &key.kind {
            ExpressionKind::Any | ExpressionKind::Default => {}
            ExpressionKind::Mask(value, mask) => {
                self.numbers(key.span, "a mask", &of);
                self.bound(value, &of);
                // A mask of an enum's values is of the type of the values.
                let of = if let Type::Enum(_) = of { of.underlying().clone() } else { of };
                self.bound(mask, &of);
            }
            ExpressionKind::Range(low, high) => {
                self.numbers(key.span, "a range", &of);
                self.bound(low, &of);
                self.bound(high, &of);
            }
            ExpressionKind::List { items, .. } if matches!(of, Type::Tuple(_)) => {
                let Type::Tuple(types) = &of else { return };
                self.key_set(items, types, key.span);
            }
            _ => {
                let typed = self.expression(key, Some(&of));
                if matches!(key.kind, ExpressionKind::Call { .. }) && !typed.is_constant {
                    self.error(key.span, "a key is a constant, not the result of a call");
                } else if let Type::Set(inner) = self.inference.shallow(&typed.of) {
                    self.value_set(key, &inner, &of);
                } else {
                    self.coerce(key, typed, &of);
                }
            }
        }
    }

    /// A side of a mask or range.
    fn bound(&mut self, value: &'t Expression, of: &Type) {
        let typed = self.value_of(value, of);
        if !typed.is_constant && !typed.of.is_wrong() {
            self.error(value.span, "the sides of a mask or range are constants");
        }
    }

    fn numbers(&mut self, span: Span, what: &str, of: &Type) {
        if !matches!(of.underlying(), Type::Bits { .. } | Type::Integer | Type::Wrong | Type::Parameter(_)) {
            self.error(span, format!("{what} is for numbers, not for {}", self.spell(of)));
        }
    }

    /// A value set compares with its type's values, or with the fields of a struct in turn.
    fn value_set(&mut self, key: &Expression, inner: &Type, of: &Type) {
        let fields = match (self.inference.shallow(inner), of) {
            (Type::Composite(composite), Type::Tuple(_)) => {
                Type::Tuple(composite.fields.iter().map(|field| only_field(&field.of)).collect())
            }
            (Type::Composite(composite), _) if composite.fields.len() == 1 => composite.fields[0].of.clone(),
            (Type::Tuple(types), of) if types.len() == 1 && !matches!(of, Type::Tuple(_)) => types[0].clone(),
            (inner, _) => inner,
        };
        if !self.inference.unify(&fields, of) {
            self.mismatch(key.span, &fields, of);
        }
    }

    /// Tells of a parser that never ends, and warns of states to which no transition leads.
    fn reached(&mut self, parser: &Ident, states: &'t [State]) {
        let (mut reached, mut place) = (vec!["start"], 0);
        while place < reached.len() {
            let state = states.iter().find(|state| &*state.ident.name == reached[place]);
            place += 1;
            let targets: Vec<&str> = match state.map(|state| &state.transition) {
                None => Vec::new(),
                Some(Transition::Missing) => vec!["reject"],
                Some(Transition::To(target)) => vec![&target.name],
                Some(Transition::Select { cases, .. }) => cases
                    .iter()
                    .map(|case| &*case.target.name)
                    .chain(cases.is_empty().then_some("reject"))
                    .collect(),
            };
            let new: Vec<&str> = targets.into_iter().filter(|target| !reached.contains(target)).collect();
            reached.extend(new);
        }
        if !reached.contains(&"accept") && !reached.contains(&"reject") {
            let message = format!("parser `{}` never comes to `accept` or `reject`", parser.name);
            self.error(parser.span, message);
        }
        for state in states.iter().filter(|state| !reached.contains(&&*state.ident.name)) {
            let message = format!("no transition leads to state `{}`", state.ident.name);
            self.warning(state.ident.span, message);
        }
    }
}

/// The type of the field of a struct that has one.
fn only_field(of: &Type) -> Type {
    match of {
        Type::Composite(composite) if composite.fields.len() == 1 => only_field(&composite.fields[0].of),
        _ => of.clone(),
    }
}
