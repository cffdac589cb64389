//! Tables, actions and value sets.

use super::annotation::{documentation, structured, written};
use super::symbols::Kind;
use super::text::{bytes, flag, message, named, number, only_if, string, word};
use super::types::own_name;
use super::{field_ids, kind_of, Writer};
use crate::check::types::{Shape, Type};
use crate::lower::annotation::id;
use crate::lower::ir::{Action, ActionCall, Key, Table, TableAction, ValueSet};
use crate::syntax::tree::{annotated, Annotation};

impl Writer<'_> {
    /// P4Runtime specification, section 6.4.1.
    pub fn table(&self, table: &Table) -> String {
        let program = self.program;
        let ids = field_ids(table.keys.iter().map(|key| &key.annotations[..]));
        let keys = table.keys.iter().zip(ids).filter(|(key, _)| &*key.kind != "selector");
        let profile = table.profile.map(|profile| &program.profiles[profile].head.name);
        let profile_id = profile.map_or(0, |name| self.symbols.id(Kind::ACTION_PROFILE, name));
        let direct = [table.counter, table.meter].into_iter().flatten().map(|id| &program.arrays[id]);
        let direct = direct.map(|array| self.symbols.id(kind_of(array), &array.head.name));
        let has_entries = table.entries.as_ref().is_some_and(|entries| !entries.is_empty());
        let fields = [
            keys.map(|(key, id)| self.match_field(key, id)).collect(),
            table.actions.iter().map(|reference| self.action_reference(reference)).collect(),
            table.default.iter().map(|default| self.default_action(table, default)).collect(),
            number("implementation_id", profile_id),
            direct.map(|id| number("direct_resource_ids", id)).collect(),
            number("size", table.size),
            only_if(table.idle_timeout, word("idle_timeout_behavior", "NOTIFY_CONTROL")),
            flag("is_const_table", table.constant_entries),
            flag("has_initial_entries", has_entries),
        ];
        self.object(Kind::TABLE, &table.head, &[], fields)
    }

    fn match_field(&self, key: &Key, id: u32) -> String {
        let field = self.field(id, &key.name, &key.annotations, &[], self.types.width(&key.of));
        message("match_fields", [field, match_type(&key.kind), self.types.named(&key.of)])
    }

    /// The common part of keys, parameters, and fields of headers and value sets.
    pub fn field(
        &self, id: u32, name: &str, annotations: &[Annotation], skipped: &[&str], width: u32,
    ) -> String {
        let head = number("id", id) + &string("name", name) + &written(annotations, skipped);
        head + &number("bitwidth", width) + &structured(annotations, self.facts)
    }

    /// An action of a table with its scope (P4_16 specification, section 20.3.2).
    fn action_reference(&self, reference: &TableAction) -> String {
        let has = |name| annotated(&reference.annotations, name).is_some();
        let fields = [
            number("id", self.symbols.id(Kind::ACTION, &self.program.actions[reference.action].head.name)),
            written(&reference.annotations, &[]),
            only_if(has("tableonly"), word("scope", "TABLE_ONLY")),
            only_if(has("defaultonly") && !has("tableonly"), word("scope", "DEFAULT_ONLY")),
            structured(&reference.annotations, self.facts),
        ];
        message("action_refs", fields)
    }

    fn default_action(&self, table: &Table, default: &ActionCall) -> String {
        let action = &self.program.actions[default.action];
        let action_id = self.symbols.id(Kind::ACTION, &action.head.name);
        let arguments = (1..).zip(action.parameters.iter().zip(&default.arguments));
        let arguments = arguments.map(|(place, (parameter, argument))| {
            let number = number("param_id", id(&parameter.annotations).unwrap_or(place));
            message("arguments", [number, bytes("value", argument, self.types.width(&parameter.of))])
        });
        let initial = std::iter::once(number("action_id", action_id)).chain(arguments);
        let constant = only_if(table.constant_default, number("const_default_action_id", action_id));
        constant + &message("initial_default_action", initial)
    }

    /// P4Runtime specification, section 6.4.2.
    pub fn action(&self, action: &Action) -> String {
        let ids = field_ids(action.parameters.iter().map(|parameter| &parameter.annotations[..]));
        let parameters = action.parameters.iter().zip(ids).map(|(parameter, id)| {
            let (annotations, of) = (&parameter.annotations, &parameter.of);
            let name = own_name(&parameter.name, annotations);
            let field = self.field(id, &name, annotations, &[], self.types.width(of));
            let of = match of {
                Type::Enum(one) if one.of.is_none() => self.types.named(of) + &named("type_name", &one.name),
                of => self.types.named(of),
            };
            message("params", [field, documentation(annotations), of])
        });
        self.object(Kind::ACTION, &action.head, &[], parameters)
    }

    /// P4Runtime specification, section 6.4.7.
    pub fn value_set(&self, set: &ValueSet) -> String {
        let members = match &set.of {
            Type::Composite(composite) if composite.shape == Shape::Struct => {
                let fields = self.types.fields(&composite.name);
                let ids = field_ids(fields.iter().map(|field| &field.annotations[..]));
                let members = fields.iter().zip(ids).zip(&composite.fields).map(|((field, id), known)| {
                    let name = own_name(&field.ident.name, &field.annotations);
                    self.member(id, &name, &field.annotations, &known.of)
                });
                members.collect()
            }
            Type::Enum(one) => {
                let members = (1..).zip(&one.members);
                members.map(|(id, (name, _))| self.member(id, name, &[], &set.of)).collect()
            }
            of => self.member(1, "", &[], of),
        };
        let size = number("size", set.size);
        self.object(Kind::VALUE_SET, &set.head, &[], [members, size])
    }

    /// A part of a value set, whose kind `@match` gives (P4_16 specification, section 20.3.6).
    fn member(&self, id: u32, name: &str, annotations: &[Annotation], of: &Type) -> String {
        let kind = annotated(annotations, "match").and_then(|one| one.body.as_ref()?.first());
        let field = self.field(id, name, annotations, &["match"], of.width().unwrap_or(0));
        let kind = match_type(kind.map_or("exact", |word| &word.text));
        message("match", [field, kind, documentation(annotations)])
    }
}

fn match_type(kind: &str) -> String {
    match kind {
        "exact" | "lpm" | "ternary" | "range" | "optional" => word("match_type", kind.to_uppercase()),
        other => string("other_match_type", other),
    }
}
