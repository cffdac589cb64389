//! Tables, actions and value sets.

use super::annotation::{self, find};
use super::symbols::Kind;
use super::text::Text;
use super::types::own_name;
use super::{field_ids, kind_of, Used, Writer};
use crate::check::types::{Shape, Type};
use crate::lower::ir::{ActionCall, Key, Table, TableAction, ValueSet};
use crate::syntax::tree::Annotation;

impl Writer<'_> {
    pub fn table(&mut self, table: &Table) {
        self.open("tables");
        self.preamble(Kind::Table, &table.name, &table.annotations, &[]);
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
            let id = self.symbols.id(Kind::ActionProfile, &program.profiles[profile].name);
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
        self.open("match_fields");
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
        annotation::write(text, annotations, skipped);
        text.number("bitwidth", width);
        annotation::structured(text, annotations);
    }

    fn action_reference(&mut self, reference: &TableAction) {
        let id = self.symbols.id(Kind::Action, &self.program.actions[reference.action].name);
        let scope = |name| find(&reference.annotations, name).is_some();
        self.text.message("action_refs", |text| {
            text.number("id", id);
            annotation::write(text, &reference.annotations, &[]);
            match () {
                () if scope("tableonly") => text.word("scope", "TABLE_ONLY"),
                () if scope("defaultonly") => text.word("scope", "DEFAULT_ONLY"),
                () => {}
            }
            annotation::structured(text, &reference.annotations);
        });
    }

    fn default_action(&mut self, table: &Table, default: &ActionCall) {
        let action = &self.program.actions[default.action];
        let id = self.symbols.id(Kind::Action, &action.name);
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

    pub fn action(&mut self, action: &Used<'_>) {
        self.open("actions");
        self.preamble(Kind::Action, &action.name, action.annotations, &[]);
        let ids = field_ids(action.parameters.iter().map(|parameter| &parameter.annotations[..]));
        for (parameter, id) in action.parameters.iter().zip(ids) {
            let annotations = &parameter.annotations;
            let width = self.types.width(&parameter.of);
            self.open("params");
            self.field(id, &own_name(&parameter.name, annotations), annotations, &[], width);
            annotation::documentation(&mut self.text, annotations);
            self.types.named(&mut self.text, &parameter.of);
            if let Type::Enum(one) = &parameter.of {
                if one.of.is_none() {
                    self.text.message("type_name", |text| text.string("name", &one.name));
                }
            }
            self.text.close();
        }
        self.text.close();
    }

    pub fn value_set(&mut self, set: &ValueSet) {
        self.open("value_sets");
        self.preamble(Kind::ValueSet, &set.name, &set.annotations, &[]);
        match &set.of {
            Type::Composite(composite) if composite.shape == Shape::Struct => {
                let fields = self.types.fields(&composite.name);
                let ids = field_ids(fields.iter().map(|field| &field.annotations[..]));
                for ((field, id), known) in fields.iter().zip(ids).zip(&composite.fields) {
                    let name = own_name(&field.ident.name, &field.annotations);
                    self.open("match");
                    self.field(id, &name, &field.annotations, &["match"], known.of.width().unwrap_or(0));
                    let kind =
                        find(&field.annotations, "match").and_then(|one| one.body.as_ref()?.first().cloned());
                    match_type(&mut self.text, kind.as_ref().map_or("exact", |word| &word.text));
                    annotation::documentation(&mut self.text, &field.annotations);
                    self.text.close();
                }
            }
            Type::Enum(one) => {
                let width = set.of.width().unwrap_or(0);
                for (id, (name, _)) in (1..).zip(&one.members) {
                    self.simple_match(id, name, width);
                }
            }
            of => self.simple_match(1, "", of.width().unwrap_or(0)),
        }
        self.text.number("size", set.size);
        self.text.close();
    }

    fn simple_match(&mut self, id: u32, name: &str, width: u32) {
        self.open("match");
        self.field(id, name, &[], &[], width);
        match_type(&mut self.text, "exact");
        self.text.close();
    }
}

fn match_type(text: &mut Text, kind: &str) {
    match kind {
        "exact" | "lpm" | "ternary" | "range" | "optional" => text.word("match_type", &kind.to_uppercase()),
        other => text.string("other_match_type", other),
    }
}
