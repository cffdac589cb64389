//! Action profiles, counters, meters, registers, digests and headers of the controller.

use super::symbols::Kind;
use super::types::own_name;
use super::{field_ids, kind_of, Writer};
use crate::check::types::{Shape, Type};
use crate::lower::annotation::{string, value};
use crate::lower::ir::{Array, ArrayKind, Profile};
use crate::source::Name;
use crate::syntax::tree::{annotated, Annotation, Declaration};

/// Annotations of action profiles that have fields of their own.
const OF_PROFILES: [&str; 3] = ["max_group_size", "selector_size_semantics", "max_member_weight"];

impl<'a> Writer<'a> {
    /// P4Runtime specification, section 6.4.3.
    pub fn profile(&mut self, profile: &Profile) {
        let annotations = &profile.annotations;
        self.object(Kind::ACTION_PROFILE, &profile.name, annotations, &OF_PROFILES);
        let program = self.program;
        let uses = |of: Option<usize>| of.is_some_and(|of| std::ptr::eq(&program.profiles[of], profile));
        let tables = self.tables.iter().filter(|table| uses(table.profile));
        let mut tables: Vec<&str> = tables.map(|table| &*table.name).collect();
        tables.sort_unstable();
        for table in tables {
            self.text.number("table_ids", self.symbols.id(Kind::TABLE, table));
        }
        self.text.flag("with_selector", profile.selector.is_some());
        self.text.number("size", profile.size);
        if profile.selector.is_some() {
            let number = |name| value(annotations, name).and_then(|one| i32::try_from(one).ok()).unwrap_or(0);
            self.text.number("max_group_size", number("max_group_size"));
            let semantics = string(annotations, "selector_size_semantics").unwrap_or_default();
            match &*semantics.to_lowercase() {
                "sum_of_weights" => self.text.message("sum_of_weights", |_| {}),
                "sum_of_members" => self.text.message("sum_of_members", |text| {
                    text.number("max_member_weight", number("max_member_weight"));
                }),
                _ => {}
            }
        }
        self.text.close();
    }

    /// Counters, meters and registers (P4Runtime specification, sections 6.4.4, 6.4.5 and 6.4.8).
    pub fn arrays<'b>(&mut self, arrays: impl Iterator<Item = &'b Array>) {
        for array in arrays {
            self.object(kind_of(array), &array.name, &array.annotations, &[]);
            match (array.kind, array.unit) {
                (ArrayKind::Register, _) => self.types.spec(&mut self.text, &array.element),
                (_, "packets") => self.text.message("spec", |text| text.word("unit", "PACKETS")),
                (_, "bytes") => self.text.message("spec", |text| text.word("unit", "BYTES")),
                _ => self.text.message("spec", |text| text.word("unit", "BOTH")),
            }
            match array.table.map(|table| &self.program.tables[table].name) {
                Some(table) => self.text.number("direct_table_id", self.symbols.id(Kind::TABLE, table)),
                None => self.text.number("size", array.size),
            }
            self.text.close();
        }
    }

    /// Digests (P4Runtime specification, section 6.4.9), each type once.
    pub fn digests(&mut self) {
        let mut seen = Vec::new();
        for digest in &self.program.digests {
            let name = self.types.digest_name(digest);
            if !seen.contains(&name) {
                self.object(Kind::DIGEST, &name, &[], &[]);
                self.types.spec(&mut self.text, &digest.of);
                self.text.close();
                seen.push(name);
            }
        }
    }

    /// A header with `@controller_header`: it goes to the controller or comes from it (P4Runtime
    /// specification, section 6.4.6).
    pub fn controller_header(&mut self, header: &Declaration) {
        let annotations = &header.annotations;
        let id = self.symbols.id(Kind::CONTROLLER_HEADER, &own_name(&header.ident.name, annotations));
        let name = string(annotations, "controller_header").unwrap_or_default();
        self.text.open(Kind::CONTROLLER_HEADER.1);
        self.head(id, &name, &name, annotations, &[]);
        let mut fields = Vec::new();
        self.flatten(&header.ident.name, "", &mut fields);
        let ids = field_ids(fields.iter().map(|(_, annotations, _)| *annotations));
        for ((name, annotations, of), id) in fields.into_iter().zip(ids) {
            if annotated(annotations, "hidden").is_none() {
                let width = self.types.width(&of);
                self.text.open("metadata");
                self.field(id, &name, annotations, &[], width);
                self.types.named(&mut self.text, &of);
                self.text.close();
            }
        }
        self.text.close();
    }

    /// The fields of a header, with those of the structs in it.
    fn flatten(&self, name: &Name, path: &str, found: &mut Vec<Flat<'a>>) {
        for field in self.types.fields(name) {
            let of = self.facts.types.get(&field.of.id).cloned().unwrap_or(Type::Wrong);
            match &of {
                Type::Composite(inner) if inner.shape == Shape::Struct => {
                    self.flatten(&inner.name, &format!("{path}{}.", field.ident.name), found);
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
