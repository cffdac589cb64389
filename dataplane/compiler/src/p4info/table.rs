//! Tables, actions and value sets.

use super::annotation::{documentation, structured, write};
use super::symbols::Kind;
use super::text::Text;
use super::types::own_name;
use super::{field_ids, kind_of, Writer};
use crate::check::types::{Shape, Type};
use crate::lower::annotation;
use crate::lower::ir::{Action, ActionCall, Key, Table, TableAction, ValueSet};
use crate::syntax::tree::{annotated, Annotation};

impl Writer<'_> {
    /// P4Runtime specification, section 6.4.1.
    pub fn table(&mut self, table: &Table) {
        self.object(Kind::TABLE, &table.name, &table.annotations, &[]);
        let ids = field_ids(table.keys.iter().map(|key| &key.annotations[..]));
        for (key, id) in table.keys.iter().zip(ids).filter(|(key, _)| &*key.kind != "selector") {
            self.match_field(key, id);
        }
        for reference in &table.actions {
            self.action_reference(reference);
        }
        if let Some(default) = &table.default {
            self.default_action(table, default);
        }
        let program = self.program;
        if let Some(profile) = table.profile {
            let id = self.symbols.id(Kind::ACTION_PROFILE, &program.profiles[profile].name);
            self.text.number("implementation_id", id);
        }
        for array in [table.counter, table.meter].into_iter().flatten().map(|id| &program.arrays[id]) {
            self.text.number("direct_resource_ids", self.symbols.id(kind_of(array), &array.name));
        }
        self.text.number("size", table.size);
        if table.idle_timeout {
            self.text.word("idle_timeout_behavior", "NOTIFY_CONTROL");
        }
        self.text.flag("is_const_table", table.constant_entries);
        self.text
            .flag("has_initial_entries", table.entries.as_ref().is_some_and(|entries| !entries.is_empty()));
        self.text.close();
    }

    fn match_field(&mut self, key: &Key, id: u32) {
        let width = self.types.width(&key.of);
        self.text.open("match_fields");
        self.field(id, &key.name, &key.annotations, &[], width);
        match_type(&mut self.text, &key.kind);
        self.types.named(&mut self.text, &key.of);
        self.text.close();
    }

    /// The common part of keys, parameters, and fields of headers and value sets.
    pub fn field(&mut self, id: u32, name: &str, annotations: &[Annotation], skipped: &[&str], width: u32) {
        let text = &mut self.text;
        text.number("id", id);
        text.string("name", name);
        write(text, annotations, skipped);
        text.number("bitwidth", width);
        structured(text, annotations, self.facts);
    }

    /// An action of a table with its scope (P4_16 specification, section 20.3.2).
    fn action_reference(&mut self, reference: &TableAction) {
        let id = self.symbols.id(Kind::ACTION, &self.program.actions[reference.action].name);
        let has = |name| annotated(&reference.annotations, name).is_some();
        self.text.message("action_refs", |text| {
            text.number("id", id);
            write(text, &reference.annotations, &[]);
            if has("tableonly") {
                text.word("scope", "TABLE_ONLY");
            } else if has("defaultonly") {
                text.word("scope", "DEFAULT_ONLY");
            }
            structured(text, &reference.annotations, self.facts);
        });
    }

    fn default_action(&mut self, table: &Table, default: &ActionCall) {
        let action = &self.program.actions[default.action];
        let id = self.symbols.id(Kind::ACTION, &action.name);
        if table.constant_default {
            self.text.number("const_default_action_id", id);
        }
        let widths: Vec<u32> =
            action.parameters.iter().map(|parameter| self.types.width(&parameter.of)).collect();
        self.text.message("initial_default_action", |text| {
            text.number("action_id", id);
            let parameters = action.parameters.iter().zip(widths).zip(&default.arguments);
            for (place, ((parameter, width), argument)) in (1..).zip(parameters) {
                text.message("arguments", |text| {
                    text.number("param_id", annotation::id(&parameter.annotations).unwrap_or(place));
                    text.bytes("value", argument, width);
                });
            }
        });
    }

    /// P4Runtime specification, section 6.4.2.
    pub fn action(&mut self, action: &Action) {
        self.object(Kind::ACTION, &action.name, &action.annotations, &[]);
        let ids = field_ids(action.parameters.iter().map(|parameter| &parameter.annotations[..]));
        for (parameter, id) in action.parameters.iter().zip(ids) {
            let annotations = &parameter.annotations;
            let width = self.types.width(&parameter.of);
            self.text.open("params");
            self.field(id, &own_name(&parameter.name, annotations), annotations, &[], width);
            documentation(&mut self.text, annotations);
            self.types.named(&mut self.text, &parameter.of);
            if let Type::Enum(one) = &parameter.of {
                if one.of.is_none() {
                    self.text.named("type_name", &one.name);
                }
            }
            self.text.close();
        }
        self.text.close();
    }

    /// P4Runtime specification, section 6.4.7.
    pub fn value_set(&mut self, set: &ValueSet) {
        self.object(Kind::VALUE_SET, &set.name, &set.annotations, &[]);
        match &set.of {
            Type::Composite(composite) if composite.shape == Shape::Struct => {
                let fields = self.types.fields(&composite.name);
                let ids = field_ids(fields.iter().map(|field| &field.annotations[..]));
                for ((field, id), known) in fields.iter().zip(ids).zip(&composite.fields) {
                    let name = own_name(&field.ident.name, &field.annotations);
                    self.member(id, &name, &field.annotations, &known.of);
                }
            }
            Type::Enum(one) => {
                for (id, (name, _)) in (1..).zip(&one.members) {
                    self.member(id, name, &[], &set.of);
                }
            }
            of => self.member(1, "", &[], of),
        }
        self.text.number("size", set.size);
        self.text.close();
    }

    fn member(&mut self, id: u32, name: &str, annotations: &[Annotation], of: &Type) {
        self.text.open("match");
        self.field(id, name, annotations, &["match"], of.width().unwrap_or(0));
        let kind = annotated(annotations, "match").and_then(|one| one.body.as_ref()?.first());
        match_type(&mut self.text, kind.map_or("exact", |word| &word.text));
        documentation(&mut self.text, annotations);
        self.text.close();
    }
}

fn match_type(text: &mut Text, kind: &str) {
    match kind {
        "exact" | "lpm" | "ternary" | "range" | "optional" => text.word("match_type", &kind.to_uppercase()),
        other => text.string("other_match_type", other),
    }
}
