//! Action profiles, counters, meters, registers, digests and headers of the controller.

use std::collections::HashSet;

use super::symbols::Kind;
use super::text::{flag, message, number, only_if, word};
use super::types::own_name;
use super::{field_ids, in_order, kind_of, Writer};
use crate::check::types::{Shape, Type};
use crate::lower::annotation::{string, value};
use crate::lower::ir::{Array, ArrayKind, Profile};
use crate::source::Name;
use crate::syntax::tree::{annotated, Annotation, Declaration};

/// Annotations of action profiles that have fields of their own.
const OF_PROFILES: [&str; 3] = ["max_group_size", "selector_size_semantics", "max_member_weight"];

impl<'a> Writer<'a> {
    /// P4Runtime specification, section 6.4.3.
    pub fn profile(&self, profile: &Profile) -> String {
        let (annotations, program) = (&profile.head.annotations, self.program);
        let uses = |of: Option<usize>| of.is_some_and(|of| std::ptr::eq(&program.profiles[of], profile));
        let tables = self.tables.iter().filter(|table| uses(table.profile));
        let mut tables: Vec<&str> = tables.map(|table| &*table.head.name).collect();
        tables.sort_unstable();
        let tables = tables.into_iter().map(|table| number("table_ids", self.symbols.id(Kind::TABLE, table)));
        let of = |name| value(annotations, name).and_then(|one| i32::try_from(one).ok()).unwrap_or(0);
        let semantics = string(annotations, "selector_size_semantics").unwrap_or_default();
        let weights = message("sum_of_weights", [""; 0]);
        let members = message("sum_of_members", [number("max_member_weight", of("max_member_weight"))]);
        let selector = [
            number("max_group_size", of("max_group_size")),
            only_if(semantics.eq_ignore_ascii_case("sum_of_weights"), weights),
            only_if(semantics.eq_ignore_ascii_case("sum_of_members"), members),
        ];
        let fields = [
            tables.collect(),
            flag("with_selector", profile.selector.is_some()),
            number("size", profile.size),
            only_if(profile.selector.is_some(), selector.concat()),
        ];
        self.object(Kind::ACTION_PROFILE, &profile.head, &OF_PROFILES, fields)
    }

    /// A counter, meter or register (P4Runtime specification, sections 6.4.4, 6.4.5 and 6.4.8).
    pub fn array(&self, array: &Array) -> String {
        let spec = match (array.kind, array.unit) {
            (ArrayKind::Register, _) => self.types.spec(&array.element),
            (_, "packets") => message("spec", [word("unit", "PACKETS")]),
            (_, "bytes") => message("spec", [word("unit", "BYTES")]),
            _ => message("spec", [word("unit", "BOTH")]),
        };
        let place = match array.table.map(|table| &self.program.tables[table].head.name) {
            Some(table) => number("direct_table_id", self.symbols.id(Kind::TABLE, table)),
            None => number("size", array.size),
        };
        self.object(kind_of(array), &array.head, &[], [spec, place])
    }

    /// Digests (P4Runtime specification, section 6.4.9), each type once.
    pub fn digests(&self) -> String {
        let mut seen = HashSet::new();
        let digests = in_order(self.program.digests.iter(), |digest| &digest.order).into_iter();
        let named = digests.map(|digest| (self.types.digest_head(digest), &digest.of));
        let first = named.filter(|(head, _)| seen.insert(head.name.clone()));
        first.map(|(head, of)| self.object(Kind::DIGEST, &head, &[], [self.types.spec(of)])).collect()
    }

    /// A header with `@controller_header`: it goes to the controller or comes from it (P4Runtime
    /// specification, section 6.4.6).
    pub fn controller_header(&self, header: &Declaration) -> String {
        let annotations = &header.annotations;
        let id = self.symbols.id(Kind::CONTROLLER_HEADER, &own_name(&header.ident.name, annotations));
        let name = string(annotations, "controller_header").unwrap_or_default();
        let mut fields = Vec::new();
        self.flatten(&header.ident.name, "", &mut fields);
        let ids = field_ids(fields.iter().map(|(_, annotations, _)| *annotations));
        let shown = fields
            .iter()
            .zip(ids)
            .filter(|((_, annotations, _), _)| annotated(annotations, "hidden").is_none());
        let fields = shown.map(|((name, annotations, of), id)| {
            let field = self.field(id, name, annotations, &[], self.types.width(of));
            message("metadata", [field, self.types.named(of)])
        });
        let preamble = self.preamble(id, &name, &name, annotations, &[]);
        message(Kind::CONTROLLER_HEADER.1, std::iter::once(preamble).chain(fields))
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
