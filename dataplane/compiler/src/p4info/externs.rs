//! Action profiles, counters, meters, registers, digests and headers of the controller.

use super::annotation::{self, find};
use super::symbols::Kind;
use super::types::own_name;
use super::{field_ids, kind_of, Writer};
use crate::check::types::{Shape, Type};
use crate::check::Facts;
use crate::lower::ir::{Array, ArrayKind, Profile};
use crate::syntax::tree::{Annotation, Declaration};

/// Annotations of action profiles that have fields of their own.
const OF_PROFILES: [&str; 3] = ["max_group_size", "selector_size_semantics", "max_member_weight"];

impl Writer<'_> {
    pub fn profile(&mut self, profile: &Profile) {
        let annotations = &profile.annotations;
        self.open("action_profiles");
        self.preamble(Kind::ActionProfile, &profile.name, annotations, &OF_PROFILES);
        let program = self.program;
        let uses = |of: Option<usize>| of.is_some_and(|of| std::ptr::eq(&program.profiles[of], profile));
        let mut tables: Vec<&str> =
            self.tables.iter().filter(|table| uses(table.profile)).map(|table| &*table.name).collect();
        tables.sort_unstable();
        for table in tables {
            self.text.number("table_ids", self.symbols.id(Kind::Table, table));
        }
        self.text.flag("with_selector", profile.selector.is_some());
        self.text.number("size", profile.size);
        if profile.selector.is_some() {
            self.selector(annotations);
        }
        self.text.close();
    }

    fn selector(&mut self, annotations: &[Annotation]) {
        let number = |name| {
            find(annotations, name).and_then(annotation::value).and_then(|one| i32::try_from(one).ok())
        };
        self.text.number("max_group_size", number("max_group_size").unwrap_or(0));
        let semantics =
            find(annotations, "selector_size_semantics").and_then(annotation::string).unwrap_or_default();
        match &*semantics.to_lowercase() {
            "sum_of_weights" => self.text.message("sum_of_weights", |_| {}),
            "sum_of_members" => self.text.message("sum_of_members", |text| {
                text.number("max_member_weight", number("max_member_weight").unwrap_or(0));
            }),
            _ => {}
        }
    }

    /// Counters, meters and registers, and the direct ones of the tables.
    pub fn arrays(&mut self, arrays: &[&Array]) {
        let program = self.program;
        for array in arrays {
            self.open(match array.kind {
                ArrayKind::Counter => "counters",
                ArrayKind::Meter => "meters",
                ArrayKind::Register { .. } => "registers",
            });
            self.preamble(kind_of(array), &array.name, &array.annotations, &[]);
            match array.kind {
                ArrayKind::Register { .. } => self.types.spec(&mut self.text, &array.element),
                _ => self.unit(array),
            }
            self.text.number("size", array.size);
            self.text.close();
        }
        for table in self.tables.clone() {
            for id in [table.counter, table.meter].into_iter().flatten() {
                let array = &program.arrays[id];
                let is_counter = array.kind == ArrayKind::Counter;
                self.open(if is_counter { "direct_counters" } else { "direct_meters" });
                self.preamble(kind_of(array), &array.name, &array.annotations, &[]);
                self.unit(array);
                self.text.number("direct_table_id", self.symbols.id(Kind::Table, &table.name));
                self.text.close();
            }
        }
    }

    fn unit(&mut self, array: &Array) {
        let unit = match &*array.unit {
            "packets" => "PACKETS",
            "bytes" => "BYTES",
            _ => "BOTH",
        };
        self.text.message("spec", |text| text.word("unit", unit));
    }

    /// Digests, each type once.
    pub fn digests(&mut self) {
        let mut seen = Vec::new();
        for digest in &self.program.digests {
            let name = self.types.digest_name(digest);
            if seen.contains(&name) {
                continue;
            }
            self.open("digests");
            self.preamble(Kind::Digest, &name, &[], &[]);
            self.types.spec(&mut self.text, &digest.of);
            self.text.close();
            seen.push(name);
        }
    }

    /// A header with `@controller_header`: it goes to the controller or comes from it.
    pub fn controller_header(&mut self, header: &Declaration, facts: &Facts<'_>) {
        let annotations = &header.annotations;
        let id = self.symbols.id(Kind::ControllerHeader, &own_name(&header.ident.name, annotations));
        let name = find(annotations, "controller_header").and_then(annotation::string).unwrap_or_default();
        self.open("controller_packet_metadata");
        self.head(id, &name, &name, annotations, &[]);
        let mut fields = Vec::new();
        self.flatten(&header.ident.name, "", facts, &mut fields);
        let ids = field_ids(fields.iter().map(|(_, annotations, _)| *annotations));
        for ((name, annotations, of), id) in fields.into_iter().zip(ids) {
            if find(annotations, "hidden").is_some() {
                continue;
            }
            let width = self.types.width(&of);
            self.open("metadata");
            self.field(id, &name, annotations, &[], width);
            self.types.named(&mut self.text, &of);
            self.text.close();
        }
        self.text.close();
    }
}

impl<'a> Writer<'a> {
    /// The fields of a header, with those of the structs in it.
    fn flatten(&self, name: &crate::source::Name, path: &str, facts: &Facts<'_>, found: &mut Vec<Flat<'a>>) {
        for field in self.types.fields(name) {
            let of = facts.types.get(&field.of.id).cloned().unwrap_or(Type::Wrong);
            match &of {
                Type::Composite(inner) if inner.shape == Shape::Struct => {
                    self.flatten(&inner.name, &format!("{path}{}.", field.ident.name), facts, found);
                }
                _ if path.is_empty() => {
                    found.push((own_name(&field.ident.name, &field.annotations), &field.annotations, of));
                }
                _ => found.push((format!("{path}{}", field.ident.name), &field.annotations, of)),
            }
        }
    }
}

/// Name, annotations and type of a field.
type Flat<'a> = (String, &'a [Annotation], Type);
