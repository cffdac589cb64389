//! Tables and their keys and entries (P4_16 specification, section 14.2).

use std::cmp::Reverse;

use super::annotation::{string, value};
use super::ir::{add, ActionCall, ArrayKind, Entry, Expr, Head, HeaderRef, Key, Match, Table, TableAction};
use super::parser::each_key;
use super::value::{Binding, State, Value};
use super::{Lowered, Lowering};
use crate::check::types::Type;
use crate::source::{Name, Span};
use crate::syntax::tree::{self, ActionReference, Declaration, Expression, ExpressionKind, Property};

impl<'t> Lowering<'t, '_> {
    /// A table with its name, keys and actions (sections 14.2.1 and 18.3.1.2).
    pub fn table(&mut self, declaration: &'t Declaration, written: &'t tree::Table) -> Lowered<usize> {
        let mut keys = Vec::new();
        for key in &written.keys {
            self.key_of_table(&mut keys, key)?;
        }
        let is = |kind: &str| keys.iter().filter(|key: &&Key| &*key.kind == kind).count();
        if is("lpm") > 1 && is("lpm") + is("exact") + is("selector") == keys.len() {
            return self
                .refuse_at(declaration.ident.span, "a table of this target has one key of kind `lpm`");
        }
        let mut table = Table { head: self.head(declaration), keys, size: 1024, ..Table::default() };
        for reference in &written.actions {
            let action = self.table_action(reference)?;
            let (written, annotations) = (reference.path.ident.name.clone(), reference.annotations.clone());
            table.actions.push(TableAction { action, written, annotations });
        }
        if !written.properties.iter().any(|one| &*one.ident.name == "default_action") {
            self.no_default(&mut table);
        }
        for property in &written.properties {
            self.property(&mut table, property)?;
        }
        if let Some(entries) = &written.entries {
            self.entries(&mut table, entries, &written.properties)?;
        }
        Ok(add(&mut self.program.tables, table))
    }

    /// Section 14.2.1.4.
    fn entries(
        &mut self, table: &mut Table, written: &'t tree::Entries, properties: &'t [Property],
    ) -> Lowered<()> {
        let mut made = Vec::new();
        for entry in &written.list {
            made.push(self.at(entry.action.span, |lowering| lowering.entry(table, entry))?);
        }
        if !written.constant {
            self.prioritise(properties, table, &mut made)?;
        }
        if written.constant || !made.is_empty() {
            table.entries = Some(made);
            table.constant_entries = written.constant;
        }
        Ok(())
    }

    /// Entries without a priority follow the one before (section 14.2.1.4.1); the first comes first.
    fn prioritise(
        &mut self, properties: &'t [Property], table: &Table, entries: &mut [Entry],
    ) -> Lowered<()> {
        let ordered = |kind: &str| !matches!(kind, "exact" | "lpm");
        if !table.keys.iter().any(|key| ordered(&key.kind)) {
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
        match largest {
            true => entries.sort_by_key(|entry| Reverse(entry.priority)),
            false => entries.sort_by_key(|entry| entry.priority),
        }
        Ok(())
    }

    /// A table without a default action has `NoAction` (section 14.2.1.3).
    fn no_default(&mut self, table: &mut Table) {
        if let Some(Binding::Action(declaration, outer, order)) = self.globals.find("NoAction") {
            if let Ok(action) = self.lower_action(declaration, &outer, &order, &[]) {
                if !table.actions.iter().any(|one| one.action == action) {
                    let written = declaration.ident.name.clone();
                    table.actions.push(TableAction { action, written, annotations: vec![default_only()] });
                }
                table.default = Some(ActionCall { action, arguments: Vec::new() });
            }
        }
    }

    /// Section 14.2.1.1. A key that is no field is computed before the table is applied, and so is each key
    /// before one that has effects (section 8.1).
    fn key_of_table(&mut self, keys: &mut Vec<Key>, key: &'t tree::Key) -> Lowered<()> {
        let of = self.type_of(key.value.id);
        let (value, effects) = self.collect(|lowering| lowering.value(&key.value))?;
        for earlier in keys.iter_mut().filter(|_| !effects.is_empty()) {
            let place = self.temporary(&earlier.of)?.fixed();
            earlier.value = place.unwrap_or_else(|| earlier.value.clone());
        }
        let is_match = &*key.match_kind.name != "selector";
        let value = match (self.as_field(&value, &of), value) {
            (Some(field), _) => field,
            // BMv2's selectors take fields only.
            (_, Value::Scalar(valid @ Expr::Valid(HeaderRef::Fixed(_)))) if is_match => valid,
            _ => match self.at(key.value.span, |lowering| lowering.temporary(&of))?.fixed() {
                Some(place) => place,
                None => return self.refuse_at(key.value.span, "this key is not supported"),
            },
        };
        let own = string(&key.annotations, "name");
        let name = own.unwrap_or_else(|| self.key_name(&key.value));
        let (kind, annotations) = (key.match_kind.name.clone(), key.annotations.clone());
        keys.push(Key { name, kind, value, of, annotations });
        Ok(())
    }

    /// The statements that compute the keys that are no fields (section 14.2.3).
    pub fn compute_keys(&mut self, written: &'t tree::Table, table: usize) -> Lowered<()> {
        let Table { keys, profile, .. } = &self.program.tables[table];
        let selector = profile.and_then(|profile| self.program.profiles[profile].selector.as_ref());
        let own = keys.iter().filter(|key| &*key.kind == "selector").map(|key| &key.value);
        if selector.is_some_and(|(_, input)| !own.eq(input)) {
            return self.refuse("the selector of this table chooses by the keys of another table");
        }
        for (place, key) in written.keys.iter().enumerate() {
            let value = self.value(&key.value)?;
            let of = self.type_of(key.value.id);
            let target = self.program.tables[table].keys[place].value.clone();
            if matches!(target, Expr::Field(_)) && value.fixed().as_ref() != Some(&target) {
                let place = Value::of(target, &of);
                self.at(key.value.span, |lowering| lowering.assign(&place, &value, &of))?;
            }
        }
        Ok(())
    }

    fn table_action(&mut self, reference: &'t ActionReference) -> Lowered<usize> {
        let Some(Binding::Action(declaration, outer, order)) = self.find(&reference.path) else {
            return self.refuse_at(reference.span, "this is no action here");
        };
        let arguments = reference.arguments.as_deref().unwrap_or_default();
        self.lower_action(declaration, &outer, &order, arguments)
    }

    /// Sections 14.2.1.3, 14.2.1.5 and 14.2.1.6.
    fn property(&mut self, table: &mut Table, property: &'t Property) -> Lowered<()> {
        let value = &property.value;
        match &*property.ident.name {
            "size" => {
                let size = self.number(value, "the size of a table")?;
                table.size = u64::try_from(size).ok().filter(|size| *size > 0).unwrap_or(1024);
            }
            "default_action" => {
                let (callee, arguments) = match &value.kind {
                    ExpressionKind::Call { callee, arguments, .. } => (&**callee, &arguments[..]),
                    _ => (value, &[][..]),
                };
                let ExpressionKind::Name(path) = &callee.kind else {
                    return self.refuse_at(callee.span, "no action");
                };
                let call = self.at(callee.span, |one| one.complete(table, path, value.id, arguments))?;
                table.default = Some(call);
                table.constant_default = property.constant;
            }
            "implementation" => {
                let State::Profile(profile) = self.object_state(value)? else {
                    return self.refuse_at(value.span, "this is no action profile");
                };
                table.profile = Some(profile);
                let named = self.name_of_made(property)?;
                self.use_profile(table, profile, named.map(|name| (name, property)));
            }
            name @ ("counters" | "meters") => {
                let State::Array(array) = self.object_state(value)? else {
                    return self.refuse_at(value.span, "this is no counter or meter");
                };
                let (named, kind) = (self.name_of_made(property)?, self.program.arrays[array].kind);
                let direct = &mut self.program.arrays[array];
                if !direct.direct || (kind == ArrayKind::Counter) != (name == "counters") {
                    return self.refuse_at(value.span, format!("`{name}` of a table are direct {name}"));
                }
                if direct.table.replace(self.program.tables.len()).is_some() {
                    return self.refuse_at(value.span, format!("another table has these {name}"));
                }
                direct.head.name = named.unwrap_or_else(|| direct.head.name.clone());
                direct.size = table.size;
                let slot = if name == "counters" { &mut table.counter } else { &mut table.meter };
                *slot = Some(array);
            }
            "support_timeout" | "idle_timeout" => {
                table.idle_timeout = matches!(self.value(value)?, Value::Scalar(Expr::Bool(true)));
            }
            _ => {}
        }
        Ok(())
    }

    fn object_state(&mut self, value: &'t Expression) -> Lowered<State> {
        Ok(match self.value(value)? {
            Value::Object(object) => object.state,
            _ => State::None,
        })
    }

    /// The name of an object that the property makes: `@name` of the property, for the whole program.
    fn name_of_made(&mut self, property: &Property) -> Lowered<Option<String>> {
        let is_made = matches!(property.value.kind, ExpressionKind::Call { .. });
        let name = string(&property.annotations, "name").filter(|_| is_made);
        if is_made && name.is_none() {
            let message = "the control plane has no name for this: `@name(\"...\")` is missing before it";
            return self.refuse_at(property.ident.span, message);
        }
        Ok(name.map(|name| name.trim_start_matches('.').to_owned()))
    }

    /// A profile that is made in the table has the annotations of the property but for `@id`, as p4c has it.
    /// Keys of kind `selector` choose the member.
    fn use_profile(&mut self, table: &Table, profile: usize, named: Option<(String, &Property)>) {
        let profile = &mut self.program.profiles[profile];
        if let Some((name, property)) = named {
            let others = property.annotations.iter().filter(|one| &*one.name.name != "id");
            let (annotations, order) = (others.cloned().collect(), [&table.head.order[..], &[0]].concat());
            profile.head = Head { name, order, annotations, ..profile.head };
        }
        if let Some((_, input)) = &mut profile.selector {
            if input.is_empty() {
                let keys = table.keys.iter().filter(|key| &*key.kind == "selector");
                *input = keys.map(|key| key.value.clone()).collect();
            }
        }
    }

    fn entry(&mut self, table: &Table, entry: &'t tree::Entry) -> Lowered<Entry> {
        let count = table.keys.len();
        let items = each_key(&entry.keys, count);
        let keys: Vec<Match> = match items.len() == count {
            true => items.into_iter().map(|key| self.key_set(key)).collect::<Lowered<_>>()?,
            false => (0..count).map(|_| Match::Any).collect(),
        };
        let priority = match &entry.priority {
            Some(priority) => u64::try_from(self.number(priority, "a priority")?).ok(),
            None => None,
        };
        let arguments = entry.action.arguments.as_deref().unwrap_or_default();
        let call = self.complete(table, &entry.action.path, entry.id, arguments)?;
        // p4c had this annotation before entries had priorities.
        let annotated_priority =
            value(&entry.annotations, "priority").and_then(|one| u64::try_from(one).ok());
        Ok(Entry { keys, priority, annotated_priority, call, span: entry.span })
    }

    /// A key as the control plane names it (section 18.3.1.3): the words of its expression.
    fn key_name(&self, expression: &Expression) -> String {
        let name = |one: &Expression| self.key_name(one);
        match &expression.kind {
            ExpressionKind::Name(path) => path.ident.name.to_string(),
            ExpressionKind::Member(base, member) => {
                let own = self.field_name(&self.type_of(base.id), &member.name);
                match own.strip_prefix('.') {
                    // A name with a dot before it is absolute.
                    Some(absolute) => absolute.to_owned(),
                    None => format!("{}.{own}", name(base)),
                }
            }
            ExpressionKind::Index(base, index) => format!("{}[{}]", name(base), name(index)),
            ExpressionKind::Slice { value, high, low } => {
                format!("{}[{}:{}]", name(value), name(high), name(low))
            }
            ExpressionKind::Number(number) => match number.base {
                16 => format!("{:#x}", number.value),
                8 => format!("{:#o}", number.value),
                2 => format!("{:#b}", number.value),
                _ => number.value.to_string(),
            },
            ExpressionKind::Call { callee, .. } => match &callee.kind {
                ExpressionKind::Member(base, member) if &*member.name == "isValid" => {
                    format!("{}.$valid$", name(base))
                }
                _ => format!("{}()", name(callee)),
            },
            ExpressionKind::Binary(tree::Binary::BitAnd, a, b) => format!("{} & {}", name(a), name(b)),
            _ => String::new(),
        }
    }

    /// A field as the control plane names it: by `@name`, if it has one (section 18.3.2).
    fn field_name(&self, of: &Type, name: &Name) -> String {
        let Type::Composite(composite) = of else { return name.to_string() };
        let fields = self.structs.get(&composite.name).copied().unwrap_or_default();
        let field = fields.iter().find(|field| field.ident.name == *name);
        let own = field.and_then(|field| string(&field.annotations, "name"));
        own.map_or_else(
            || name.to_string(),
            |own| if own.starts_with('.') { own } else { own.rsplit('.').next().unwrap_or(&own).to_owned() },
        )
    }
}

/// `@defaultonly`
fn default_only() -> tree::Annotation {
    let name = tree::Ident { name: "defaultonly".into(), span: Span::default() };
    tree::Annotation { name, body: None, values: None, structured: false }
}
