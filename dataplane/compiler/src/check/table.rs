//! Tables (P4_16 specification, section 14.2).

use std::rc::Rc;

use num_bigint::BigInt;

use super::call::Callee;
use super::constant::Value;
use super::scope::{Entity, Function};
use super::types::Type;
use super::{Call, Checker, Target};
use crate::source::{near, Name, Span};
use crate::syntax::tree::{
    annotated, ActionReference, Argument, Binary, Declaration, DeclarationKind, Direction, Entries,
    Expression, ExpressionKind, Ident, Key, NodeId, Path, Property, Table,
};

/// The properties of v1model's tables that are neither key, actions nor entries.
const PROPERTIES: &str = "default_action size implementation counters meters support_timeout idle_timeout \
    priority_delta largest_priority_wins";

/// The actions of a table, each with the place where the table names it.
type Actions<'t> = Vec<(Rc<Function<'t>>, &'t ActionReference)>;

impl<'t> Checker<'t, '_> {
    /// A table (section 14.2.1).
    pub fn table(&mut self, declaration: &'t Declaration, table: &'t Table) {
        let ident = &declaration.ident;
        let keys: Vec<(Type, Name)> = table.keys.iter().map(|key| self.table_key(key)).collect();
        if table.actions_span.is_none() {
            error!(self, ident.span, "table `{ident}` has no property `actions`");
        }
        let mut actions: Actions<'t> = Vec::new();
        for reference in &table.actions {
            self.annotations(&reference.annotations);
            let Some(action) = self.table_action(reference) else { continue };
            let name = &action.declaration.ident;
            if actions.iter().any(|(other, _)| other.declaration.ident.name == name.name) {
                error!(self, reference.span, "the action `{name}` is in the table twice");
            }
            actions.push((action, reference));
        }
        for property in &table.properties {
            self.property(property, table, &actions);
        }
        let has_default = property(table, "default_action").is_some();
        if !has_default && self.scopes.find("NoAction", true).is_none() {
            error!(self, ident.span, "table `{ident}` has no default action, and there is no `NoAction`")
                .help("`#include <core.p4>`");
        }
        if let Some(entries) = &table.entries {
            self.entries(ident, entries, &keys, table, &actions);
        }
        self.declare(ident, Entity::Table(declaration));
    }

    /// A key of a table (section 14.2.1.1).
    fn table_key(&mut self, key: &'t Key) -> (Type, Name) {
        let of = self.expression(&key.value, None).of;
        let kind = &key.match_kind;
        if !self.match_kinds.contains(&kind.name) {
            let near = near(&kind.name, &self.match_kinds);
            let all: Vec<String> = self.match_kinds.iter().map(|name| format!("`{name}`")).collect();
            error!(self, kind.span, "there is no match kind `{kind}`")
                .help(format!("there are {}", all.join(", ")))
                .meant(near);
        }
        self.annotations(&key.annotations);
        // Section 18.3.1.3.
        if annotated(&key.annotations, "name").is_none() && !has_name(&key.value) {
            self.error(key.value.span, "a key that is computed needs a name for the control plane")
                .help("`@name(\"sum\")` before the `;`");
        }
        match of.underlying() {
            Type::Bits { .. } | Type::Bool | Type::Error | Type::Enum(_) => {}
            Type::Wrong | Type::Parameter(_) => {}
            underlying => {
                let error = error!(self, key.value.span, "a key is a number, not {of}");
                if *underlying == Type::Integer {
                    error.help("a constant needs a width: `8w1`");
                }
            }
        }
        (of, kind.name.clone())
    }

    /// The action that a table names (section 14.2.1.2), with the arguments that the table gives it.
    fn table_action(&mut self, reference: &'t ActionReference) -> Option<Rc<Function<'t>>> {
        let action = self.find_action(reference)?;
        let parameters = &action.signature.parameters;
        let own: Vec<_> = parameters.iter().filter(|one| one.direction != Direction::None).collect();
        let arguments = reference.arguments.as_deref().unwrap_or_default();
        if arguments.len() != own.len() && !(arguments.is_empty() && own.is_empty()) {
            let (name, wants, has) = (&action.declaration.ident, own.len(), arguments.len());
            let message = if has < wants {
                let which = format!("the parameter `{}` of action `{name}`", own[has].name);
                format!("{which} has a direction: the table gives it a value")
            } else {
                format!(
                    "the table gives `{name}` {has} values, and {wants} of its parameters have a direction"
                )
            };
            let help = "a parameter without a direction gets its value from the control plane";
            self.error(reference.span, message).note(name.span, "the action").help(help);
            return Some(action);
        }
        let callee = Callee::of(&action, Target::Action(action.clone()));
        for (argument, parameter) in arguments.iter().zip(own) {
            let typed = self.expression(&argument.value, Some(&parameter.of));
            self.argument(&callee, parameter, argument, typed, &parameter.of);
        }
        Some(action)
    }

    /// The action of a name (section 14.2.1.2).
    fn find_action(&mut self, reference: &'t ActionReference) -> Option<Rc<Function<'t>>> {
        let ident = &reference.path.ident;
        match self.find(&reference.path).cloned().map(|found| (found.entity, found.span)) {
            Some((Entity::Action(action), _)) => return Some(action),
            Some((_, declared)) => {
                error!(self, ident.span, "`{ident}` is not an action").declared(&ident.name, declared);
            }
            None => {
                let near = self.similar(&ident.name, |entity| matches!(entity, Entity::Action(_)));
                error!(self, ident.span, "there is no action `{ident}`")
                    .help("an action is declared above the table that uses it")
                    .meant(near);
            }
        }
        None
    }

    /// A property of a table but for its key, actions and entries (section 14.2.1).
    fn property(&mut self, property: &'t Property, table: &'t Table, actions: &Actions<'t>) {
        self.annotations(&property.annotations);
        match &*property.ident.name {
            "default_action" => self.default_action(property, table, actions),
            "size" => {
                // Section 14.2.1.5.
                let typed = self.expression(&property.value, Some(&Type::bits(32)));
                if !matches!(typed.of.underlying(), Type::Integer | Type::Bits { .. } | Type::Wrong) {
                    self.error(property.value.span, "the size of a table is a number");
                } else if !typed.is_constant {
                    self.error(property.value.span, "the size of a table is a constant");
                }
            }
            name => {
                self.expression(&property.value, None);
                if self.is_v1model() && PROPERTIES.split(' ').all(|one| one != name) {
                    let message = format!("a table has no property `{name}`, and so this does nothing");
                    self.warning(property.ident.span, message).meant(near(name, PROPERTIES.split(' ')));
                }
            }
        }
    }

    /// `default_action = name(arguments);`: one of the table's actions (section 14.2.1.3).
    fn default_action(&mut self, property: &'t Property, table: &'t Table, actions: &Actions<'t>) {
        let value = &property.value;
        let (callee, arguments) = match &value.kind {
            ExpressionKind::Call { callee, arguments, .. } => (&**callee, &arguments[..]),
            _ => (value, &[][..]),
        };
        let ExpressionKind::Name(path) = &callee.kind else {
            fail!(self, value.span, "the default action is one of the table's actions, with its arguments");
        };
        if table.actions_span.is_some_and(|actions| property.ident.span.start < actions.start) {
            self.error(property.ident.span, "the default action comes after the table's actions");
        }
        if let Some(listed) = self.listed(path, actions, table, "tableonly") {
            self.complete(value.span, value.id, listed, arguments);
        }
    }

    /// The action of the table that a default action or an entry names; `mark` keeps it from there (section
    /// 20.3.2).
    fn listed<'a>(
        &mut self, path: &'t Path, actions: &'a Actions<'t>, table: &'t Table, mark: &str,
    ) -> Option<&'a (Rc<Function<'t>>, &'t ActionReference)> {
        let Ident { name, span } = &path.ident;
        self.reference(&path.ident, table)?;
        // Of one that nobody declares there is a message already.
        let found = actions.iter().find(|(_, reference)| reference.path.ident.name == *name);
        let (action, reference) = found?;
        let meant = self.find(path).map(|found| &found.entity);
        if !matches!(meant, Some(Entity::Action(meant)) if Rc::ptr_eq(meant, action)) {
            error!(self, *span, "this `{name}` is not the action of the table")
                .note(reference.span, "that one");
        }
        if let Some(note) = annotated(&reference.annotations, mark) {
            error!(self, *span, "`{name}` is `@{mark}`").note(note.name.span, "this says so");
        }
        found
    }

    /// The place where a table names an action (section 14.2.1.2).
    fn reference(&mut self, ident: &Ident, table: &'t Table) -> Option<&'t ActionReference> {
        let found = table.actions.iter().find(|one| one.path.ident.name == ident.name);
        if found.is_none() {
            let near = near(&ident.name, table.actions.iter().map(|one| &one.path.ident.name));
            error!(self, ident.span, "`{ident}` is not one of the table's actions")
                .note(table.actions_span.unwrap_or(ident.span), "the actions of the table")
                .meant(near);
        }
        found
    }

    /// Checks the arguments of an action in an entry or as default action (sections 14.2.1.3 and 14.2.1.4):
    /// those that the table gives it among its actions, and constants.
    fn complete(
        &mut self, span: Span, id: NodeId, (action, reference): &(Rc<Function<'t>>, &'t ActionReference),
        arguments: &'t [Argument],
    ) {
        let (ident, parameters) = (&action.declaration.ident, &action.signature.parameters);
        let Some(order) = self.ordered(span, ident, parameters, arguments) else { return };
        let bound = reference.arguments.iter().flatten();
        if bound.zip(arguments).any(|(one, other)| !one.value.is_like(&other.value)) {
            error!(self, span, "the table gives `{ident}` other arguments among its actions")
                .note(reference.span, "the arguments there");
        }
        for (parameter, place) in parameters.iter().zip(&order) {
            let Some(value) = place.map(|place| &arguments[place].value) else { continue };
            if parameter.direction != Direction::None {
                self.expression(value, Some(&parameter.of));
                continue;
            }
            self.constant_of(value, &parameter.of, "the arguments of an entry's action are constants");
        }
        let target = Target::Action(action.clone());
        self.facts.calls.insert(id, Call { target, types: Vec::new(), arguments: order });
    }

    /// The entries of a table (section 14.2.1.4).
    fn entries(
        &mut self, ident: &'t Ident, entries: &'t Entries, keys: &[(Type, Name)], table: &'t Table,
        actions: &Actions<'t>,
    ) {
        let types: Vec<Type> = keys.iter().map(|(of, _)| of.clone()).collect();
        let prioritised = keys.iter().any(|(_, kind)| matches!(&**kind, "ternary" | "range" | "optional"));
        if let Some(key) = table.key_span.filter(|key| key.start > entries.span.start) {
            self.error(entries.span, "the entries of a table come after its key").note(key, "the key");
        }
        if keys.is_empty() && !entries.list.is_empty() {
            error!(self, ident.span, "table `{ident}` has entries and no key")
                .note(entries.span, "the entries");
            return;
        }
        self.priorities(ident, entries, table, prioritised);
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
                    self.error(entry.span, "this key is in the table twice").note(*first, "the first entry");
                }
                seen.push((values, entry.span));
            }
            if let Some(listed) = self.listed(&entry.action.path, actions, table, "defaultonly") {
                let arguments = entry.action.arguments.as_deref().unwrap_or_default();
                self.complete(entry.action.span, entry.id, listed, arguments);
            }
        }
    }

    /// The priorities of entries: each one that is not written follows from the one before (section
    /// 14.2.1.4.1).
    fn priorities(&mut self, ident: &'t Ident, entries: &'t Entries, table: &'t Table, prioritised: bool) {
        let value = |name: &str| self.facts.values.get(&property(table, name)?.value.id);
        let step = value("priority_delta").and_then(Value::number).cloned().unwrap_or_else(|| 1.into());
        let largest = value("largest_priority_wins") != Some(&Value::Bool(false));
        let written = entries.list.iter().any(|entry| entry.priority.is_some());
        let mut last: Option<BigInt> = None;
        for entry in &entries.list {
            let Some(priority) = &entry.priority else {
                last = last.map(|last| if largest { last - &step } else { last + &step });
                if written && last.is_none() && !entries.constant {
                    self.error(entry.span, "this entry needs a priority: others behind it have one");
                    return;
                }
                continue;
            };
            if !prioritised {
                let message = "entries have priorities only if a key is ternary, a range or optional";
                self.error(priority.span, message).note(table.key_span.unwrap_or(entries.span), "the key");
                return;
            }
            let typed = self.expression(priority, None);
            last = typed.number().cloned();
            if last.is_none() && !typed.of.is_wrong() {
                self.error(priority.span, "a priority is a constant number");
            }
        }
        if last.is_some_and(|last| last < BigInt::from(0)) {
            self.error(ident.span, "the priorities of the table's entries fall below 0");
        }
    }

    /// Compares the form of a key with the kind of match (section 14.2.1.1).
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
                match self.facts.values.get(&mask.id).and_then(Value::number) {
                    Some(mask) if !is_prefix(mask, of) => "the mask of a prefix has ones, then zeros",
                    _ => return,
                }
            }
            _ => return,
        };
        self.error(key.span, message);
    }

    /// `case name:` of a switch over `table.apply().action_run` (section 12.7.1).
    pub fn action_label(&mut self, on: &'t Expression, label: &'t Expression) -> Option<Value> {
        let ExpressionKind::Name(path) = &label.kind else {
            fail!(self, label.span, "the label is an action of the table");
        };
        let Target::Table(table) = self.facts.calls.get(&applied(on)?.id)?.target else { return None };
        let DeclarationKind::Table(parts) = &table.kind else { return None };
        self.reference(&path.ident, parts)?;
        self.facts.types.insert(label.id, Type::Action);
        Some(Value::Member(path.ident.name.clone()))
    }
}

/// The first property of a name.
fn property<'t>(table: &'t Table, name: &str) -> Option<&'t Property> {
    table.properties.iter().find(|one| &*one.ident.name == name)
}

/// The call of `apply` in `table.apply().action_run`.
pub fn applied(on: &Expression) -> Option<&Expression> {
    match &on.kind {
        ExpressionKind::Member(call, member) if &*member.name == "action_run" => Some(call),
        _ => None,
    }
}

/// Whether the control plane can name a key after the expression (section 18.3.1.3).
fn has_name(key: &Expression) -> bool {
    match &key.kind {
        ExpressionKind::Member(of, _)
        | ExpressionKind::Index(of, _)
        | ExpressionKind::Slice { value: of, .. }
        | ExpressionKind::Part { value: of, .. } => has_name(of),
        ExpressionKind::Binary(Binary::BitAnd, left, right) => has_name(left) && has_name(right),
        ExpressionKind::Call { callee, .. } => has_name(callee),
        ExpressionKind::Name(_) | ExpressionKind::Type(_) | ExpressionKind::Wrong => true,
        ExpressionKind::Number(_) | ExpressionKind::Bool(_) => true,
        _ => false,
    }
}

/// Whether the mask is one of `lpm` (section 14.2.1.1).
fn is_prefix(mask: &BigInt, of: &Type) -> bool {
    let Some(width) = of.width() else { return true };
    let ones = (BigInt::from(1) << width) - 1;
    let zeros = &ones ^ mask;
    (&zeros & (&zeros + 1)) == BigInt::from(0)
}
