//! Tables and their actions, keys and entries.

use num_bigint::BigInt;

use super::assign::dotted;
use super::environment::{Binding, Environment};
use super::instance::{annotated, as_number, text_of};
use super::ir::{
    Action, ActionCall, ActionParameter, Entry, Expr, FieldRef, Gress, HeaderRef, Key, Match, StatementKind,
    Table, TableAction,
};
use super::pass::Given;
use super::statement::Leaves;
use super::value::{State, Value};
use super::{Lowered, Lowering, Place};
use crate::check::types::Type;
use crate::source::{Name, Span};
use crate::syntax::tree::{
    self, ActionReference, Argument, Declaration, DeclarationKind, Direction, Expression, ExpressionKind,
    NodeId, Property,
};

impl<'t> Lowering<'t, '_> {
    pub fn table(&mut self, declaration: &'t Declaration) -> Lowered<usize> {
        let DeclarationKind::Table(written) = &declaration.kind else {
            return self.refuse(declaration.span, "no table");
        };
        let name = dotted(&self.control_name(&declaration.ident.name, &declaration.annotations));
        let control =
            if self.place == Place::Control(Gress::Egress) { Gress::Egress } else { Gress::Ingress };
        let mut keys = Vec::new();
        for key in &written.keys {
            keys.push(self.key_of_table(key)?);
        }
        let id = self.program.tables.len();
        self.program.tables.push(Table {
            name,
            span: declaration.ident.span,
            hidden: annotated(&declaration.annotations, "hidden").is_some(),
            annotations: declaration.annotations.clone(),
            keys,
            actions: Vec::new(),
            default: None,
            constant_default: false,
            entries: None,
            constant_entries: false,
            size: 1024,
            profile: None,
            counter: None,
            meter: None,
            idle_timeout: false,
            control,
        });
        for reference in &written.actions {
            let action = self.table_action(reference)?;
            let (written, annotations) = (reference.path.ident.name.clone(), reference.annotations.clone());
            self.program.tables[id].actions.push(TableAction { action, written, annotations });
        }
        if !written.properties.iter().any(|one| &*one.ident.name == "default_action") {
            self.no_default(id);
        }
        for property in &written.properties {
            self.property(id, property)?;
        }
        if let Some(entries) = &written.entries {
            let mut made = Vec::new();
            for entry in &entries.list {
                made.push(self.entry(id, entry, entries.constant)?);
            }
            if !entries.constant {
                self.prioritise(&written.properties, id, &mut made)?;
            }
            let table = &mut self.program.tables[id];
            if !entries.constant && made.is_empty() {
                return Ok(id);
            }
            table.size = table.size.max(made.len() as u64);
            table.entries = Some(made);
            table.constant_entries = entries.constant;
        }
        Ok(id)
    }

    /// Entries without a priority follow the one before (specification, section 14.2.1.4); the first comes first.
    fn prioritise(&mut self, properties: &'t [Property], id: usize, entries: &mut [Entry]) -> Lowered<()> {
        let ordered = |kind: &str| !matches!(kind, "exact" | "lpm");
        if !self.program.tables[id].keys.iter().any(|key| ordered(&key.kind)) {
            return Ok(());
        }
        let mut setting = |name: &str, default: u32| -> Lowered<u64> {
            let found = properties.iter().find(|one| &*one.ident.name == name);
            let value =
                found.map_or(Ok(default.into()), |one| self.number(&one.value, "a property of a table"))?;
            Ok(u64::try_from(value).unwrap_or(default.into()))
        };
        let (largest, delta) = (setting("largest_priority_wins", 1)? == 1, setting("priority_delta", 1)?);
        let chosen = entries.iter().any(|entry| entry.priority.is_some());
        let count = entries.len() as u64;
        let mut next = if chosen || !largest { 1 } else { count.saturating_sub(1).saturating_mul(delta) + 1 };
        for entry in entries.iter_mut() {
            let priority = entry.priority.unwrap_or(next);
            entry.priority = Some(priority);
            next = if largest { priority.saturating_sub(delta) } else { priority.saturating_add(delta) };
        }
        entries.sort_by_key(|entry| {
            let priority = entry.priority.unwrap_or(0);
            if largest {
                u64::MAX - priority
            } else {
                priority
            }
        });
        Ok(())
    }

    /// A table without a default action has `NoAction`.
    fn no_default(&mut self, id: usize) {
        if let Some(Binding::Action(declaration, outer)) = self.globals.find("NoAction") {
            if let Ok(action) = self.lower_action(declaration, &outer, &[]) {
                let table = &mut self.program.tables[id];
                if !table.actions.iter().any(|one| one.action == action) {
                    let written = declaration.ident.name.clone();
                    table.actions.push(TableAction { action, written, annotations: vec![default_only()] });
                }
                table.default = Some(ActionCall { action, arguments: Vec::new() });
            }
        }
    }

    fn key_of_table(&mut self, key: &'t tree::Key) -> Lowered<Key> {
        let of = self.type_of(key.value.id);
        let (value, _) = self.collect(|lowering| lowering.value(&key.value))?;
        let value = match value {
            Value::Scalar(expr) if is_fixed(&expr) => expr,
            Value::Scalar(Expr::ToBool(inner)) if is_fixed(&inner) => *inner,
            Value::Scalar(Expr::Valid(HeaderRef::Fixed(header))) => Expr::Valid(HeaderRef::Fixed(header)),
            // Computed before the table is applied.
            _ => match self.temporary(&of, key.value.span)? {
                Value::Scalar(Expr::ToBool(inner)) => *inner,
                Value::Scalar(place) => place,
                _ => return self.refuse(key.value.span, "this key is not supported"),
            },
        };
        let own = annotated(&key.annotations, "name").and_then(text_of);
        let name = own.unwrap_or_else(|| self.key_name(&key.value));
        Ok(Key { name, kind: key.match_kind.name.clone(), value, of, annotations: key.annotations.clone() })
    }

    /// The statements that compute the keys that are no fields.
    pub fn compute_keys(&mut self, declaration: &'t Declaration, table: usize) -> Lowered<()> {
        let DeclarationKind::Table(written) = &declaration.kind else { return Ok(()) };
        for (place, key) in written.keys.iter().enumerate() {
            let value = self.value(&key.value)?;
            let of = self.type_of(key.value.id);
            let target = self.program.tables[table].keys[place].value.clone();
            let is_same = match &value {
                Value::Scalar(Expr::ToBool(inner)) => **inner == target,
                Value::Scalar(expr) => *expr == target,
                _ => false,
            };
            if let (false, Expr::Field(field)) = (is_same, target) {
                let place = Expr::Field(field);
                let place =
                    if *of.underlying() == Type::Bool { Expr::ToBool(Box::new(place)) } else { place };
                self.assign(&Value::Scalar(place), &value, &of, key.value.span)?;
            }
        }
        Ok(())
    }

    fn table_action(&mut self, reference: &'t ActionReference) -> Lowered<usize> {
        let name = &reference.path.ident.name;
        let found =
            if reference.path.absolute { self.globals.find(name) } else { self.environment.find(name) };
        let Some(Binding::Action(declaration, outer)) = found else {
            return self.refuse(reference.span, format!("`{name}` is no action here"));
        };
        self.lower_action(declaration, &outer, reference.arguments.as_deref().unwrap_or_default())
    }

    /// An action as a table calls it: the parameters with a direction are bound by the table.
    fn lower_action(
        &mut self, declaration: &'t Declaration, outer: &std::rc::Rc<Environment<'t>>, bound: &'t [Argument],
    ) -> Lowered<usize> {
        let DeclarationKind::Action { parameters, body } = &declaration.kind else {
            return self.refuse(declaration.span, "no action");
        };
        let at: *const Declaration = declaration;
        let key = (at, std::rc::Rc::as_ptr(outer));
        if bound.is_empty() {
            if let Some(&action) = self.actions.get(&key) {
                return Ok(action);
            }
        }
        let label = self.label();
        let place = std::mem::replace(&mut self.place, Place::Action);
        let mut data = Vec::new();
        let made = self.collect(|lowering| {
            let mut given = lowering.action_data(parameters, &mut data);
            let mut own = bound.iter();
            for one in parameters.iter().filter(|one| one.direction != Direction::None) {
                let of = lowering.type_of(one.of.id);
                let argument = own.next().map(|argument| &argument.value);
                lowering.give(&mut given, &one.ident.name, one.direction, of, argument, declaration.span)?;
            }
            lowering.open(&given, outer, declaration.span, |lowering| {
                let ((), statements) =
                    lowering.collect(|lowering| lowering.body(body, Leaves::to(label, None)))?;
                lowering.emit(declaration.span, StatementKind::Labelled(label, statements));
                Ok(())
            })
        });
        self.place = place;
        let ((), statements) = made?;
        let name = match std::rc::Rc::ptr_eq(outer, &self.globals) {
            true => vec![Name::from(
                &*annotated(&declaration.annotations, "name")
                    .and_then(text_of)
                    .unwrap_or_else(|| declaration.ident.name.to_string()),
            )],
            false => self.control_name(&declaration.ident.name, &declaration.annotations),
        };
        let name = dotted(&name).trim_start_matches('.').to_owned();
        self.program.actions.push(Action {
            name,
            parameters: data,
            body: statements,
            span: declaration.ident.span,
            hidden: annotated(&declaration.annotations, "hidden").is_some(),
            annotations: declaration.annotations.clone(),
        });
        let action = self.program.actions.len() - 1;
        self.actions.insert(key, action);
        Ok(action)
    }

    /// The parameters without a direction, which the control plane gives values.
    fn action_data(
        &mut self, parameters: &'t [tree::Parameter], data: &mut Vec<ActionParameter>,
    ) -> Vec<Given> {
        let mut given = Vec::new();
        for parameter in parameters.iter().filter(|one| one.direction == Direction::None) {
            let (name, of) = (parameter.ident.name.clone(), self.type_of(parameter.of.id));
            let place = Expr::Parameter(data.len());
            let value = Value::Scalar(if *of.underlying() == Type::Bool {
                Expr::ToBool(Box::new(place))
            } else {
                place
            });
            given.push(Given {
                name: name.clone(),
                direction: Direction::None,
                of: of.clone(),
                value: Some(value),
            });
            data.push(ActionParameter { name, of, annotations: parameter.annotations.clone() });
        }
        given
    }

    /// The number of a table's action by the name in the program.
    pub fn action_of_table(&mut self, table: usize, name: &Name, span: Span) -> Lowered<usize> {
        let table = &self.program.tables[table];
        match table.actions.iter().find(|one| one.written == *name) {
            Some(found) => Ok(found.action),
            None => {
                let message = format!("table `{}` has no action `{name}`", table.name);
                self.refuse(span, message)
            }
        }
    }

    fn property(&mut self, id: usize, property: &'t Property) -> Lowered<()> {
        let value = &property.value;
        match &*property.ident.name {
            "size" => {
                let size = self.number(value, "the size of a table")?;
                self.program.tables[id].size = u64::try_from(size).unwrap_or(1024);
            }
            "default_action" => {
                let call = match &value.kind {
                    ExpressionKind::Call { callee, arguments, .. } => {
                        self.action_call_of(id, callee, value.id, arguments)?
                    }
                    _ => self.action_call_of(id, value, value.id, &[])?,
                };
                self.program.tables[id].default = Some(call);
                self.program.tables[id].constant_default = property.constant;
            }
            "implementation" => {
                let Value::Object(object) = self.value(value)? else {
                    return self.refuse(value.span, "no profile");
                };
                let State::Profile(profile) = object.state else {
                    return self.refuse(value.span, "this is no action profile");
                };
                if let ExpressionKind::Call { .. } = value.kind {
                    self.name_profile(profile, property);
                }
                self.program.tables[id].profile = Some(profile);
                self.selector_fields(id, profile);
            }
            "counters" | "meters" => {
                let Value::Object(object) = self.value(value)? else {
                    return self.refuse(value.span, "no array");
                };
                let State::Array(array) = object.state else {
                    return self.refuse(value.span, "this is no counter or meter");
                };
                let array_table = &mut self.program.arrays[array];
                if !array_table.direct {
                    return self.refuse(value.span, "a table has a direct counter or meter");
                }
                array_table.table = Some(id);
                array_table.size = self.program.tables[id].size;
                let table = &mut self.program.tables[id];
                let slot =
                    if &*property.ident.name == "counters" { &mut table.counter } else { &mut table.meter };
                *slot = Some(array);
            }
            "support_timeout" | "idle_timeout" => {
                let on = matches!(self.value(value)?, Value::Scalar(Expr::Bool(true)));
                self.program.tables[id].idle_timeout = on;
            }
            _ => {}
        }
        Ok(())
    }

    /// A profile that is made in the table has the annotations of the property.
    fn name_profile(&mut self, profile: usize, property: &Property) {
        let profile = &mut self.program.profiles[profile];
        profile.annotations.clone_from(&property.annotations);
        if let Some(name) = annotated(&property.annotations, "name").and_then(text_of) {
            profile.name = name;
        }
    }

    /// The keys of kind `selector` choose the member.
    fn selector_fields(&mut self, id: usize, profile: usize) {
        let keys = self.program.tables[id].keys.iter().filter(|key| &*key.kind == "selector");
        let fields: Vec<Expr> = keys.map(|key| key.value.clone()).collect();
        if let Some((_, input)) = &mut self.program.profiles[profile].selector {
            if input.is_empty() {
                *input = fields;
            }
        }
    }

    fn action_call_of(
        &mut self, table: usize, callee: &'t Expression, node: NodeId, arguments: &'t [Argument],
    ) -> Lowered<ActionCall> {
        let ExpressionKind::Name(path) = &callee.kind else { return self.refuse(callee.span, "no action") };
        self.complete(table, &path.ident.name, path.absolute, node, arguments, callee.span)
    }

    /// An action with the values of its parameters.
    fn complete(
        &mut self, table: usize, name: &Name, absolute: bool, node: NodeId, arguments: &'t [Argument],
        span: Span,
    ) -> Lowered<ActionCall> {
        let found = if absolute { self.globals.find(name) } else { self.environment.find(name) };
        let Some(Binding::Action(declaration, outer)) = found else { return self.refuse(span, "no action") };
        let listed = self.program.tables[table].actions.iter().find(|one| one.written == *name);
        let action = match listed {
            Some(listed) => listed.action,
            None => self.lower_action(declaration, &outer, &[])?,
        };
        let DeclarationKind::Action { parameters, .. } = &declaration.kind else {
            return self.refuse(span, "no action");
        };
        let order = self.facts.calls.get(&node).map(|call| call.arguments.clone()).unwrap_or_default();
        let mut values = Vec::new();
        for (parameter, place) in parameters.iter().zip(order) {
            if let (Direction::None, Some(place)) = (parameter.direction, place) {
                let value = self.value(&arguments[place].value)?;
                match as_number(&value) {
                    Some(number) => values.push(number),
                    None => return self.refuse(arguments[place].value.span, "this argument is a constant"),
                }
            }
        }
        Ok(ActionCall { action, arguments: values })
    }

    fn entry(&mut self, id: usize, entry: &'t tree::Entry, constant: bool) -> Lowered<Entry> {
        let kinds: Vec<(Name, Type)> =
            self.program.tables[id].keys.iter().map(|key| (key.kind.clone(), key.of.clone())).collect();
        let items: Vec<&'t Expression> = match &entry.keys[..] {
            [Expression { kind: ExpressionKind::List { items, .. }, .. }] if items.len() == kinds.len() => {
                items.iter().collect()
            }
            keys => keys.iter().collect(),
        };
        let mut keys = Vec::new();
        for (place, (kind, of)) in kinds.iter().enumerate() {
            let key = items.get(place).copied().filter(|_| items.len() == kinds.len());
            keys.push(match key {
                Some(key) => self.match_of(key, kind, of)?,
                None => whole(kind),
            });
        }
        let annotated_priority =
            annotated(&entry.annotations, "priority").and_then(text_of).and_then(|text| text.parse().ok());
        let priority = match &entry.priority {
            Some(priority) => u64::try_from(self.number(priority, "a priority")?).ok(),
            None => None,
        };
        let arguments = entry.action.arguments.as_deref().unwrap_or_default();
        let path = &entry.action.path;
        let call =
            self.complete(id, &path.ident.name, path.absolute, entry.id, arguments, entry.action.span)?;
        Ok(Entry {
            keys,
            priority,
            annotated_priority,
            call,
            constant: constant || entry.constant,
            span: entry.span,
        })
    }

    fn match_of(&mut self, key: &'t Expression, kind: &str, of: &Type) -> Lowered<Match> {
        let width = of.width().unwrap_or(32);
        let ones: BigInt = (BigInt::from(1) << width) - 1;
        Ok(match &key.kind {
            ExpressionKind::Any | ExpressionKind::Default => whole(kind),
            ExpressionKind::Mask(value, mask) => {
                let (value, mask) = (self.number(value, "a key")?, self.number(mask, "a mask")?);
                if kind == "lpm" {
                    Match::Prefix(value, u32::try_from(mask.magnitude().count_ones()).unwrap_or(0))
                } else {
                    Match::Ternary(value, mask)
                }
            }
            ExpressionKind::Range(low, high) => {
                Match::Range(self.number(low, "a key")?, self.number(high, "a key")?)
            }
            _ => {
                let value = self.number(key, "a key")?;
                match kind {
                    "lpm" => Match::Prefix(value, width),
                    "ternary" | "optional" => Match::Ternary(value, ones),
                    "range" => Match::Range(value.clone(), value),
                    _ => Match::Exact(value),
                }
            }
        })
    }

    /// A key as the control plane names it: the words of its expression.
    fn key_name(&self, expression: &Expression) -> String {
        match &expression.kind {
            ExpressionKind::Name(path) => path.ident.name.to_string(),
            ExpressionKind::Member(base, member) => {
                let own = self.field_name(&self.type_of(base.id), &member.name);
                match own.strip_prefix('.') {
                    // A name with a dot before it is absolute.
                    Some(absolute) => absolute.to_owned(),
                    None => format!("{}.{own}", self.key_name(base)),
                }
            }
            ExpressionKind::Index(base, index) => {
                format!("{}[{}]", self.key_name(base), self.key_name(index))
            }
            ExpressionKind::Slice { value, high, low } => {
                format!("{}[{}:{}]", self.key_name(value), self.key_name(high), self.key_name(low))
            }
            ExpressionKind::Number(number) => match number.base {
                16 => format!("{:#x}", number.value),
                8 => format!("{:#o}", number.value),
                2 => format!("{:#b}", number.value),
                _ => number.value.to_string(),
            },
            ExpressionKind::Call { callee, .. } => match &callee.kind {
                ExpressionKind::Member(base, member) if &*member.name == "isValid" => {
                    format!("{}.$valid$", self.key_name(base))
                }
                _ => format!("{}()", self.key_name(callee)),
            },
            ExpressionKind::Binary(crate::syntax::tree::Binary::BitAnd, left, right) => {
                format!("{} & {}", self.key_name(left), self.key_name(right))
            }
            _ => String::new(),
        }
    }

    /// A field as the control plane names it: by `@name`, if it has one.
    fn field_name(&self, of: &Type, name: &Name) -> String {
        let Type::Composite(composite) = of else { return name.to_string() };
        let fields = self.structs.get(&composite.name).copied().unwrap_or_default();
        let field = fields.iter().find(|field| field.ident.name == *name);
        let own = field.and_then(|field| annotated(&field.annotations, "name")).and_then(text_of);
        own.map_or_else(
            || name.to_string(),
            |own| if own.starts_with('.') { own } else { own.rsplit('.').next().unwrap_or(&own).to_owned() },
        )
    }
}

fn whole(kind: &str) -> Match {
    match kind {
        "lpm" => Match::Prefix(0.into(), 0),
        "ternary" | "optional" => Match::Ternary(0.into(), 0.into()),
        _ => Match::Any,
    }
}

/// `@defaultonly`
fn default_only() -> tree::Annotation {
    let name = tree::Ident { name: "defaultonly".into(), span: Span::default() };
    tree::Annotation { name, body: None, structured: false }
}

/// Whether it is a field that the target can name.
#[must_use]
pub fn is_fixed(expr: &Expr) -> bool {
    matches!(expr, Expr::Field(FieldRef { header: HeaderRef::Fixed(_), .. }))
}
