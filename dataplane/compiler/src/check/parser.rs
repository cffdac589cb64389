//! Parsers: states and transitions (P4_16 specification, section 13).

use std::collections::HashMap;

use super::call::count;
use super::constant::Value;
use super::scope::Entity;
use super::types::Type;
use super::Checker;
use crate::source::{nearest, Name, Span};
use crate::syntax::tree::{Expression, ExpressionKind, Ident, SelectCase, State, Transition};

impl<'t> Checker<'t, '_> {
    /// The states of a parser (sections 13.2 and 13.4).
    pub fn states(&mut self, parser: &'t Ident, states: &'t [State]) {
        let mut names = HashMap::from(["accept", "reject"].map(|name| (Name::from(name), Span::default())));
        for ident in states.iter().map(|state| &state.ident) {
            if matches!(&*ident.name, "accept" | "reject") {
                error!(self, ident.span, "`{ident}` is the name of a state that every parser has");
            }
            if let Some(first) = names.insert(ident.name.clone(), ident.span) {
                self.twice(ident, "state").note(first, "its first declaration");
            }
            if self.scopes.find(&ident.name, false).is_none() {
                self.declare(ident, Entity::State);
            }
        }
        for state in states {
            self.scoped(|checker| checker.state(state, &names));
        }
        if names.contains_key("start") {
            self.reached(parser, states);
        } else {
            error!(self, parser.span, "parser `{parser}` has no state `start`");
        }
    }

    /// The body of a state (sections 13.4 and 13.5).
    fn state(&mut self, state: &'t State, names: &HashMap<Name, Span>) {
        self.statements(&state.statements);
        match &state.transition {
            Transition::Missing => {
                let message = format!("state `{}` has no transition, and so rejects the packet", state.ident);
                self.warning(state.ident.span, message).help("`transition accept;`");
            }
            Transition::To(target) => self.target(target, names),
            Transition::Select { on, cases, span } => self.select(*span, on, cases, names),
        }
    }

    /// The state to which a transition leads (section 13.5).
    fn target(&mut self, target: &Ident, names: &HashMap<Name, Span>) {
        if !names.contains_key(&target.name) {
            let near = nearest(&target.name, names.iter().map(|(name, span)| (name, *span)));
            error!(self, target.span, "there is no state `{target}`").meant(near);
        }
    }

    /// `select` (section 13.6).
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

    /// The type of a value to select by (section 13.6).
    fn selected(&mut self, value: &'t Expression) -> Type {
        let of = self.expression(value, None).of;
        match of {
            Type::Integer => {
                self.error(value.span, "a number to select by needs a width");
                of
            }
            Type::Varbit(_) | Type::Composite(_) | Type::Array(..) | Type::String | Type::Object(..) => {
                error!(self, value.span, "`select` does not compare values of type {of}");
                Type::Wrong
            }
            _ => of,
        }
    }

    /// The keys of a case or of an entry (section 8.15): one for each value, or one for all.
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
                return self.key(one, &Type::Tuple(types.into()));
            }
        }
        if keys.len() != types.len() {
            let (has, wants) = (count(keys.len(), "key"), count(types.len(), "value"));
            fail!(self, span, "{has} for {wants}: each value is compared with one");
        }
        for (key, of) in keys.iter().zip(types) {
            self.key(key, of);
        }
    }

    /// A key of a case or an entry (sections 8.15.1 to 8.15.5).
    fn key(&mut self, key: &'t Expression, of: &Type) {
        let of = of.known();
        match (&key.kind, of) {
            (ExpressionKind::Any | ExpressionKind::Default, _) => {}
            (ExpressionKind::Mask(first, second) | ExpressionKind::Range(first, second), _) => {
                let known = of.underlying();
                if !known.is_number() && !matches!(known, Type::Wrong | Type::Parameter(_)) {
                    error!(self, key.span, "masks and ranges are of numbers, and this is compared with {of}");
                }
                // A mask of an enum's values is of the type of the values.
                let is_mask = matches!(key.kind, ExpressionKind::Mask(..));
                let values = of.enum_values().filter(|_| is_mask).map_or(of, Type::underlying);
                for (side, of) in [(first, of), (second, values)] {
                    self.constant_of(side, of, "the sides of a mask or range are constants");
                }
            }
            (ExpressionKind::List { items, .. }, Type::Tuple(types)) => self.key_set(items, types, key.span),
            _ => {
                let typed = self.expression(key, Some(of));
                if matches!(key.kind, ExpressionKind::Call { .. }) && !typed.is_constant {
                    self.error(key.span, "a key is a constant, not the result of a call");
                } else if let Type::Set(inner) = &typed.of {
                    self.value_set(key, inner, of);
                } else {
                    self.coerce(key, typed, of);
                }
            }
        }
    }

    /// A value set (section 13.11) compares with its type's values, or with the fields of a struct in turn.
    fn value_set(&mut self, key: &Expression, inner: &Type, of: &Type) {
        let fields = match (inner.known(), of) {
            (Type::Composite(composite), Type::Tuple(_)) => {
                Type::Tuple(composite.fields.iter().map(|field| only_field(&field.of)).collect())
            }
            (Type::Composite(composite), _) if composite.fields.len() == 1 => composite.fields[0].of.clone(),
            (Type::Tuple(types), of) if types.len() == 1 && !matches!(of, Type::Tuple(_)) => types[0].clone(),
            (inner, _) => inner.clone(),
        };
        self.same_type(key.span, &fields, of);
    }

    /// Tells of a parser that never ends, and warns of states to which no transition leads (section 13.3).
    fn reached(&mut self, parser: &Ident, states: &'t [State]) {
        let (mut reached, mut place) = (vec!["start"], 0);
        while let Some(&name) = reached.get(place) {
            place += 1;
            let Some(state) = states.iter().find(|state| &*state.ident.name == name) else { continue };
            let targets = state.transition.targets().into_iter();
            let new: Vec<&str> = targets.filter(|target| !reached.contains(target)).collect();
            reached.extend(new);
        }
        if !reached.contains(&"accept") && !reached.contains(&"reject") {
            error!(self, parser.span, "parser `{parser}` never comes to `accept` or `reject`");
        }
        for state in states.iter().filter(|state| !reached.contains(&&*state.ident.name)) {
            self.warning(state.ident.span, format!("no transition leads to state `{}`", state.ident));
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
