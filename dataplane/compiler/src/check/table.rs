//! Tables (P4_16 specification, section 14.2).

use std::rc::Rc;

use num_bigint::BigInt;

use super::constant::Value;
use super::scope::{Entity, Function};
use super::types::Type;
use super::{Call, Checker, Target};
use crate::source::{nearest, Name, Span};
use crate::syntax::tree::{
    ActionReference, Argument, Binary, Declaration, DeclarationKind, Direction, Entries, Expression,
    ExpressionKind, Ident, Key, Path, Property, Table,
};

/// The actions of a table, each with the place where the table names it.
type Actions<'t> = Vec<(Rc<Function<'t>>, &'t ActionReference)>;

impl<'t> Checker<'t, '_> {
    pub fn table(&mut self, declaration: &'t Declaration, table: &'t Table) {
        let keys: Vec<(Type, Name)> = table.keys.iter().map(|key| self.table_key(key)).collect();
        if table.actions_span.is_none() {
            let message = format!("table `{}` has no property `actions`", declaration.ident.name);
            self.error(declaration.ident.span, message);
        }
        let mut actions: Actions<'t> = Vec::new();
        for reference in &table.actions {
            let Some(action) = self.table_action(reference) else { continue };
            if actions.iter().any(|(other, _)| Rc::ptr_eq(other, &action)) {
                let name = &action.declaration.ident.name;
                self.error(reference.span, format!("the action `{name}` is in the table twice"));
            }
            actions.push((action, reference));
        }
        for property in &table.properties {
            self.property(property, table, &actions);
        }
        let has_default = table.properties.iter().any(|one| &*one.ident.name == "default_action");
        if !has_default && self.scopes.find("NoAction", true).is_none() {
            let message = format!(
                "table `{}` has no default action, and there is no `NoAction`",
                declaration.ident.name
            );
            self.error(declaration.ident.span, message).help("`#include <core.p4>`");
        }
        if let Some(entries) = &table.entries {
            self.entries(declaration, entries, &keys, table, &actions);
        }
        self.declare(&declaration.ident.name, Entity::Table(declaration), declaration.ident.span);
    }

    fn table_key(&mut self, key: &'t Key) -> (Type, Name) {
        let (_typed, of) = self.typed(&key.value, None);
        let kind = &key.match_kind;
        if !self.match_kinds.contains(&kind.name) {
            let near = nearest(&kind.name, self.match_kinds.iter().map(|name| (name, Span::default())));
            let all: Vec<String> = self.match_kinds.iter().map(|name| format!("`{name}`")).collect();
            self.error(kind.span, format!("there is no match kind `{}`", kind.name))
                .help(format!("there are {}", all.join(", ")))
                .meant(near);
        }
        self.annotations(&key.annotations);
        let named = key.annotations.iter().any(|note| &*note.name.name == "name");
        if !named && !has_name(&key.value) {
            self.error(key.value.span, "a key that is computed needs a name for the control plane")
                .help("`@name(\"sum\")` before the `;`");
        }
        let fits = matches!(
            of.underlying(),
            Type::Bits { .. } | Type::Bool | Type::Error | Type::Enum(_) | Type::Wrong | Type::Parameter(_)
        );
        if !fits {
            let spelled = self.spell(&of);
            let error = self.error(key.value.span, format!("a key is a number, not {spelled}"));
            if of == Type::Integer {
                error.help("a constant needs a width: `8w1`");
            }
        }
        (of, kind.name.clone())
    }

    /// The action that a table names, with the arguments that the table gives it.
    fn table_action(&mut self, reference: &'t ActionReference) -> Option<Rc<Function<'t>>> {
        let action = self.find_action(reference)?;
        let parameters = &action.signature.parameters;
        let own: Vec<_> = parameters.iter().filter(|one| one.direction != Direction::None).collect();
        let arguments = reference.arguments.as_deref().unwrap_or_default();
        if arguments.len() != own.len() && !(arguments.is_empty() && own.is_empty()) {
            let (name, wants) = (&action.declaration.ident.name, own.len());
            let message = if arguments.len() < own.len() {
                format!(
                    "the parameter `{}` of action `{name}` has a direction: the table gives it a value",
                    own[arguments.len()].name
                )
            } else {
                format!(
                    "the table gives `{name}` {} values, and {wants} of its parameters have a direction",
                    arguments.len()
                )
            };
            self.error(reference.span, message).note(action.declaration.ident.span, "the action");
            return Some(action);
        }
        for (argument, parameter) in arguments.iter().zip(own) {
            let typed = self.expression(&argument.value, Some(&parameter.of));
            if parameter.direction == Direction::In {
                self.coerce(&argument.value, typed, &parameter.of);
            } else if !typed.writable && !typed.of.is_wrong() {
                self.error(argument.value.span, "this action writes here: a variable belongs here");
            } else if !self.inference.unify(&typed.of, &parameter.of) {
                self.mismatch(argument.value.span, &typed.of, &parameter.of);
            }
        }
        Some(action)
    }

    fn find_action(&mut self, reference: &'t ActionReference) -> Option<Rc<Function<'t>>> {
        let ident = &reference.path.ident;
        match self
            .scopes
            .find(&ident.name, reference.path.absolute)
            .map(|found| (found.entity.clone(), found.span))
        {
            Some((Entity::Action(action), _)) => Some(action),
            Some((_, declared)) => {
                self.error(ident.span, format!("`{}` is not an action", ident.name))
                    .declared(&ident.name, declared);
                None
            }
            None => {
                let near = self.similar(&ident.name, |entity| matches!(entity, Entity::Action(_)));
                self.error(ident.span, format!("there is no action `{}`", ident.name))
                    .help("an action is declared above the table that uses it")
                    .meant(near);
                None
            }
        }
    }

    fn property(&mut self, property: &'t Property, table: &'t Table, actions: &Actions<'t>) {
        match &*property.ident.name {
            "default_action" => self.default_action(property, table, actions),
            "size" => {
                let typed = self.expression(&property.value, Some(&Type::bits(32)));
                if !matches!(
                    self.inference.shallow(&typed.of).underlying(),
                    Type::Integer | Type::Bits { .. } | Type::Wrong
                ) {
                    self.error(property.value.span, "the size of a table is a number");
                } else if !typed.is_constant {
                    self.error(property.value.span, "the size of a table is a constant");
                }
            }
            _ => {
                self.expression(&property.value, None);
            }
        }
    }

    /// `default_action = name(arguments);`: one of the table's actions, with the arguments of the table before.
    fn default_action(&mut self, property: &'t Property, table: &'t Table, actions: &Actions<'t>) {
        let value = &property.value;
        let (path, arguments): (_, &'t [Argument]) = match &value.kind {
            ExpressionKind::Name(path) => (path, &[]),
            ExpressionKind::Call { callee, arguments, .. } => match &callee.kind {
                ExpressionKind::Name(path) => (path, arguments),
                _ => return self.no_default(value),
            },
            _ => return self.no_default(value),
        };
        if table.actions_span.is_some_and(|actions| property.ident.span.start < actions.start) {
            self.error(property.ident.span, "the default action comes after the table's actions");
        }
        let Some((action, reference)) = self.listed(path, actions, table, "tableonly") else { return };
        let bound = reference.arguments.as_deref().unwrap_or_default();
        let all = arguments.len() == action.signature.parameters.len();
        if all && arguments.iter().zip(bound).any(|(one, other)| !one.value.is_like(&other.value)) {
            let message = format!("the table gives `{}` other arguments among its actions", path.ident.name);
            self.error(value.span, message).note(reference.span, "the arguments there");
        }
        self.complete(value.span, value.id, action, arguments, true);
    }

    /// The action of the table that a default action or an entry names; `mark` keeps it from there.
    fn listed<'a>(
        &mut self, path: &'t Path, actions: &'a Actions<'t>, table: &'t Table, mark: &str,
    ) -> Option<&'a (Rc<Function<'t>>, &'t ActionReference)> {
        let Ident { name, span } = &path.ident;
        let same = |one: &ActionReference| one.path.ident.name == *name;
        let found = actions.iter().find(|(_, reference)| same(reference));
        let Some((_, reference)) = found else {
            // Of one that the table names and nobody declares there is a message already.
            if !table.actions.iter().any(same) {
                let names = table.actions.iter().map(|one| (&one.path.ident.name, Span::default()));
                let near = nearest(name, names);
                self.error(*span, format!("`{name}` is not one of the table's actions"))
                    .note(table.actions_span.unwrap_or(*span), "the actions of the table")
                    .meant(near);
            }
            return None;
        };
        if let Some(note) = reference.annotations.iter().find(|note| &*note.name.name == mark) {
            self.error(*span, format!("`{name}` is `@{mark}`")).note(note.name.span, "this says so");
        }
        found
    }

    fn no_default(&mut self, value: &'t Expression) {
        self.error(value.span, "the default action is one of the table's actions, with its arguments");
    }

    /// Checks the arguments of an action in an entry or as default action: those without a direction are constants.
    fn complete(
        &mut self, span: Span, id: crate::syntax::tree::NodeId, action: &Rc<Function<'t>>,
        arguments: &'t [Argument], with_bound: bool,
    ) {
        let parameters = &action.signature.parameters;
        let bound = parameters.iter().filter(|one| one.direction != Direction::None).count();
        let skipped = if with_bound && arguments.len() == parameters.len() { 0 } else { bound };
        let Some(order) = self.ordered(span, &action.declaration.ident, &parameters[skipped..], arguments)
        else {
            return;
        };
        let order: Vec<Option<usize>> = std::iter::repeat(None).take(skipped).chain(order).collect();
        for (parameter, place) in parameters.iter().zip(&order) {
            let Some(value) = place.map(|place| &arguments[place].value) else { continue };
            if parameter.direction != Direction::None {
                self.expression(value, Some(&parameter.of));
                continue;
            }
            let typed = self.value_of(value, &parameter.of);
            if !typed.is_constant && !typed.of.is_wrong() {
                self.error(value.span, "the arguments of an entry's action are constants");
            }
        }
        let target = Target::Action(action.clone());
        self.facts.calls.insert(id, Call { target, types: Vec::new(), arguments: order });
    }

    fn entries(
        &mut self, declaration: &'t Declaration, entries: &'t Entries, keys: &[(Type, Name)],
        table: &'t Table, actions: &Actions<'t>,
    ) {
        let types: Vec<Type> = keys.iter().map(|(of, _)| of.clone()).collect();
        let prioritised = keys.iter().any(|(_, kind)| matches!(&**kind, "ternary" | "range" | "optional"));
        if let Some(key) = table.key_span.filter(|key| key.start > entries.span.start) {
            self.error(entries.span, "the entries of a table come after its key").note(key, "the key");
        }
        if keys.is_empty() && !entries.list.is_empty() {
            let message = format!("table `{}` has entries and no key", declaration.ident.name);
            self.error(declaration.ident.span, message).note(entries.span, "the entries");
            return;
        }
        self.priorities(declaration, entries, table, prioritised);
        let exact = keys.iter().all(|(_, kind)| &**kind == "exact");
        let mut seen: Vec<(Vec<Value>, Span)> = Vec::new();
        for entry in &entries.list {
            self.annotations(&entry.annotations);
            self.key_set(&entry.keys, &types, entry.span);
            for (key, (of, kind)) in entry.keys.iter().zip(keys) {
                self.match_of(key, of, kind);
            }
            let values = entry.keys.iter().map(|key| self.facts.values.get(&key.id).cloned());
            if let Some(values) = values.collect::<Option<Vec<Value>>>().filter(|_| exact) {
                if let Some((_, first)) = seen.iter().find(|(other, _)| *other == values) {
                    let first = *first;
                    self.error(entry.span, "this key is in the table twice").note(first, "the first entry");
                }
                seen.push((values, entry.span));
            }
            if let Some((action, _)) = self.listed(&entry.action.path, actions, table, "defaultonly") {
                let arguments = entry.action.arguments.as_deref().unwrap_or_default();
                self.complete(entry.action.span, entry.id, action, arguments, false);
            }
        }
    }

    /// The priorities of entries: each one that is not written follows from the one before (section 14.2.1.4).
    fn priorities(
        &mut self, declaration: &'t Declaration, entries: &'t Entries, table: &'t Table, prioritised: bool,
    ) {
        let property = |name: &str| table.properties.iter().find(|one| &*one.ident.name == name);
        let value = |one: &Property| self.facts.values.get(&one.value.id).cloned();
        let step = property("priority_delta").and_then(value).and_then(|one| one.number().cloned());
        let step = step.unwrap_or_else(|| BigInt::from(1));
        let largest = property("largest_priority_wins").and_then(value) != Some(Value::Bool(false));
        let written = entries.list.iter().any(|entry| entry.priority.is_some());
        let mut last: Option<BigInt> = None;
        for entry in &entries.list {
            let Some(priority) = &entry.priority else {
                last = last.map(|last| if largest { last - &step } else { last + &step });
                if written && last.is_none() && !entries.constant {
                    self.error(entry.span, "entries before this have no priority, and others behind it have")
                        .label("the first one needs a priority");
                    return;
                }
                continue;
            };
            if !prioritised {
                self.error(
                    priority.span,
                    "entries have priorities only if a key is ternary, a range or optional",
                )
                .note(table.key_span.unwrap_or(entries.span), "the key");
                return;
            }
            let typed = self.expression(priority, None);
            last = typed.value.as_ref().and_then(Value::number).cloned();
            if last.is_none() && !typed.of.is_wrong() {
                self.error(priority.span, "a priority is a constant number");
            }
        }
        if last.is_some_and(|last| last < BigInt::from(0)) {
            self.error(declaration.ident.span, "the priorities of the table's entries fall below 0");
        }
    }

    fn match_of(&mut self, key: &'t Expression, of: &Type, kind: &str) {
        let message = match (&key.kind, kind) {
            (ExpressionKind::Mask(..), "exact") if self.is_v1model() => {
                "a key that matches exactly has no mask"
            }
            (ExpressionKind::Range(..), "exact" | "ternary" | "lpm" | "optional") => {
                "only keys of kind `range` are ranges"
            }
            (ExpressionKind::Mask(..), "range" | "optional") => "this kind of key has no mask",
            (ExpressionKind::Any, "exact") => "a key that matches exactly has a value",
            (ExpressionKind::Mask(_, mask), "lpm") => {
                let known = self.facts.values.get(&mask.id).and_then(Value::number).cloned();
                match known {
                    Some(mask) if !is_prefix(&mask, of) => "the mask of a prefix has ones, then zeros",
                    _ => return,
                }
            }
            _ => return,
        };
        self.error(key.span, message);
    }

    /// `case name:` of a switch over `table.apply().action_run`.
    pub fn action_label(&mut self, on: &'t Expression, label: &'t Expression) -> Option<Value> {
        let ExpressionKind::Name(path) = &label.kind else {
            self.error(label.span, "the label is an action of the table");
            return None;
        };
        let table =
            applied(on).and_then(|call| match self.facts.calls.get(&call.id).map(|one| &one.target) {
                Some(Target::Table(declaration)) => Some(*declaration),
                _ => None,
            })?;
        let DeclarationKind::Table(parts) = &table.kind else { return None };
        if !parts.actions.iter().any(|one| one.path.ident.name == path.ident.name) {
            self.error(
                label.span,
                format!("`{}` is not an action of table `{}`", path.ident.name, table.ident.name),
            )
            .note(parts.actions_span.unwrap_or(table.ident.span), "its actions");
            return None;
        }
        self.facts.types.insert(label.id, Type::Action);
        Some(Value::Member(path.ident.name.clone()))
    }
}

/// The call of `apply` in `table.apply().action_run`.
#[must_use]
pub fn applied(on: &Expression) -> Option<&Expression> {
    match &on.kind {
        ExpressionKind::Member(call, member) if &*member.name == "action_run" => Some(call),
        _ => None,
    }
}

/// Whether the control plane can name a key after the expression.
fn has_name(key: &Expression) -> bool {
    match &key.kind {
        ExpressionKind::Member(of, _)
        | ExpressionKind::Index(of, _)
        | ExpressionKind::Slice { value: of, .. }
        | ExpressionKind::Part { value: of, .. } => has_name(of),
        ExpressionKind::Binary(Binary::BitAnd, left, right) => has_name(left) && has_name(right),
        ExpressionKind::Call { callee, .. } => has_name(callee),
        kind => matches!(
            kind,
            ExpressionKind::Name(_)
                | ExpressionKind::Number(_)
                | ExpressionKind::Bool(_)
                | ExpressionKind::Type(_)
                | ExpressionKind::Wrong
        ),
    }
}

fn is_prefix(mask: &BigInt, of: &Type) -> bool {
    let Some(width) = of.width() else { return true };
    let ones = (BigInt::from(1) << width) - 1;
    let zeros = &ones ^ mask;
    (&zeros & (&zeros + 1)) == BigInt::from(0)
}
