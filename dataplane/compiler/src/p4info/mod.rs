//! P4Info: what the control plane knows of a program, as protobuf text (P4Runtime specification 1.5, section
//! 6).
//!
//! Names, ids and order are p4c's.

mod annotation;
mod externs;
mod symbols;
mod table;
mod text;
mod types;

use std::collections::{BTreeSet, HashSet};

use crate::check::constant::Value;
use crate::check::types::Shape;
use crate::check::Facts;
use crate::diagnostic::Diagnostics;
use crate::lower::annotation::id;
use crate::lower::ir::{self, each_kind, is_extern, ArrayKind, Head, Program, StatementKind};
use crate::syntax::tree::{annotated, Annotation, Declaration, DeclarationKind};
use annotation::{documentation, structured, values, written};
use symbols::{Kind, Symbols};
use text::{message, number, only_if, string};
use types::{own_name, Types};

/// The P4Info of a program.
pub fn text<'a>(
    tree: &'a [Declaration], facts: &'a Facts<'a>, program: &'a Program, diagnostics: &mut Diagnostics,
) -> String {
    let (applied, calls_externs) = uses(program);
    let tables = applied.into_iter().map(|table| &program.tables[table]);
    let tables = in_order(tables, |table| &table.head.order);
    let actions = used_actions(program, &tables);
    let (symbols, types) = (Symbols::default(), Types::new(tree, facts));
    let mut writer = Writer { program, symbols, types, facts, tables, actions };
    let headers: Vec<&Declaration> = tree
        .iter()
        .filter(|one| matches!(one.kind, DeclarationKind::Composite { shape: Shape::Header, .. }))
        .filter(|one| annotated(&one.annotations, "controller_header").is_some())
        .collect();
    writer.collect(&headers, diagnostics);
    let main = tree.iter().find(|one| &*one.ident.name == "main");
    let text = writer.package(main.map_or(&[], |main| &main.annotations)) + &writer.objects(&headers);
    // p4c writes `type_info`, empty, for each program that has one of these.
    let has_none = writer.actions.iter().all(|action| action.parameters.is_empty())
        && [writer.tables.len(), headers.len(), program.arrays.len(), program.profiles.len()] == [0; 4]
        && !calls_externs;
    if has_none {
        text
    } else {
        text + &writer.types.info(&program.errors)
    }
}

struct Writer<'a> {
    program: &'a Program,
    symbols: Symbols,
    types: Types<'a>,
    facts: &'a Facts<'a>,
    /// The tables that are applied, in order.
    tables: Vec<&'a ir::Table>,
    /// The actions of these tables and those that controls call, in order.
    actions: Vec<&'a ir::Action>,
}

/// The numbers of the tables that the controls apply, and whether they call functions of the architecture.
fn uses(program: &Program) -> (BTreeSet<usize>, bool) {
    let (mut applied, mut calls) = (BTreeSet::new(), !program.checksums.is_empty());
    for control in [&program.ingress, &program.egress] {
        each_kind(&control.body, &mut |kind| match kind {
            StatementKind::Apply { table, .. } => drop(applied.insert(*table)),
            StatementKind::Operation(name, _) => calls |= is_extern(name),
            _ => {}
        });
    }
    (applied, calls)
}

/// Objects as the program declares them.
fn in_order<T>(objects: impl Iterator<Item = T>, order: impl Fn(&T) -> &[usize]) -> Vec<T> {
    let mut objects: Vec<T> = objects.collect();
    objects.sort_by(|one, other| order(one).cmp(order(other)));
    objects
}

/// The ids of fields, keys and parameters: those that `@id` gives, the others from 1 on.
fn field_ids<'n>(fields: impl Iterator<Item = &'n [Annotation]> + Clone) -> Vec<u32> {
    let written: HashSet<u32> = fields.clone().filter_map(id).collect();
    let mut next = 1;
    let mut ids = Vec::new();
    for annotations in fields {
        let own = id(annotations);
        while own.is_none() && written.contains(&next) {
            next += 1;
        }
        ids.push(own.unwrap_or(next));
        next += 1;
    }
    ids
}

/// The actions: in each pipeline first those that are declared outside of it, in the order of their use.
fn used_actions<'a>(program: &'a Program, tables: &[&'a ir::Table]) -> Vec<&'a ir::Action> {
    let of_tables = tables.iter().flat_map(|table| {
        let actions = table.actions.iter().map(|one| &program.actions[one.action]);
        actions.map(|one| {
            (if one.head.order.is_empty() { &table.head.order[..1] } else { &one.head.order }, one)
        })
    });
    let called = program.called.iter().map(|one| (&one.head.order[..], one));
    let mut used = in_order(of_tables.chain(called), |(order, _)| order);
    let mut seen = HashSet::new();
    used.retain(|(_, action)| seen.insert((&action.head.name, action.head.span)));
    used.into_iter().map(|(_, action)| action).collect()
}

impl<'a> Writer<'a> {
    /// Gives all objects their ids.
    fn collect(&mut self, headers: &[&Declaration], diagnostics: &mut Diagnostics) {
        let Program { arrays, profiles, value_sets, digests, .. } = self.program;
        let Self { tables, actions, symbols, types, .. } = self;
        let mut add = |kind, head: &Head| {
            if let Err(message) = symbols.add(kind, &head.name, id(&head.annotations)) {
                diagnostics.error(head.span, message);
            }
        };
        tables.iter().for_each(|one| add(Kind::TABLE, &one.head));
        actions.iter().for_each(|one| add(Kind::ACTION, &one.head));
        arrays.iter().for_each(|one| add(kind_of(one), &one.head));
        profiles.iter().for_each(|one| add(Kind::ACTION_PROFILE, &one.head));
        value_sets.iter().for_each(|one| add(Kind::VALUE_SET, &one.head));
        digests.iter().for_each(|one| add(Kind::DIGEST, &types.digest_head(one)));
        for header in headers {
            let name = own_name(&header.ident.name, &header.annotations);
            let (annotations, span) = (header.annotations.clone(), header.span);
            add(Kind::CONTROLLER_HEADER, &Head { name, annotations, span, ..Head::default() });
        }
        self.symbols.assign();
    }

    /// All objects, kind by kind.
    fn objects(&self, headers: &[&Declaration]) -> String {
        let program = self.program;
        // Section 20.3.3.
        let is_shown = |annotations: &[Annotation]| annotated(annotations, "hidden").is_none();
        let tables = self.tables.iter().filter(|table| is_shown(&table.head.annotations));
        let actions = self.actions.iter().filter(|action| is_shown(&action.head.annotations));
        let profiles = in_order(program.profiles.iter(), |profile| &profile.head.order).into_iter();
        let arrays = program.arrays.iter().filter(|array| !array.direct);
        let arrays = in_order(arrays, |array| &array.head.order).into_iter();
        let direct = self.tables.iter().flat_map(|table| table.counter.into_iter().chain(table.meter));
        let arrays = arrays.chain(direct.map(|id| &program.arrays[id]));
        let value_sets = in_order(program.value_sets.iter(), |set| &set.head.order).into_iter();
        let all = tables.map(|one| self.table(one)).chain(actions.map(|one| self.action(one)));
        let all = all.chain(profiles.map(|one| self.profile(one))).chain(arrays.map(|one| self.array(one)));
        let all = all.chain(headers.iter().map(|one| self.controller_header(one)));
        all.chain(value_sets.map(|one| self.value_set(one))).chain([self.digests()]).collect()
    }

    /// An object with its `preamble` and its fields.
    fn object(
        &self, kind: Kind, head: &Head, skipped: &[&str], fields: impl IntoIterator<Item = String>,
    ) -> String {
        let (id, alias) = (self.symbols.id(kind, &head.name), self.symbols.alias(&head.name));
        let preamble = self.preamble(id, &head.name, alias, &head.annotations, skipped);
        message(kind.1, std::iter::once(preamble).chain(fields))
    }

    /// `preamble` (P4Runtime specification, section 6.1.2).
    fn preamble(
        &self, id: u32, name: &str, alias: &str, annotations: &[Annotation], skipped: &[&str],
    ) -> String {
        let fields = [
            number("id", id),
            string("name", name),
            string("alias", alias),
            written(annotations, skipped),
            documentation(annotations),
            structured(annotations, self.facts),
        ];
        message("preamble", fields)
    }

    /// `pkg_info`, of the annotations of `main` (P4Runtime specification, section 6.2).
    fn package(&self, annotations: &[Annotation]) -> String {
        let keys = |name| annotated(annotations, name).into_iter().flat_map(|one| values(one, self.facts));
        let is_known = |key| ["name", "version", "organization", "contact", "url"].contains(&key);
        let known = keys("pkginfo").filter(|(key, _)| is_known(key)).filter_map(|(key, value)| match value {
            Value::String(value) => Some(string(key, value)),
            _ => None,
        });
        let properties = keys("platform_property")
            .filter_map(|(key, value)| Some(number(key, i32::try_from(value.number()?).ok()?)));
        let has_properties = annotated(annotations, "platform_property").is_some();
        let fields = [
            known.collect(),
            written(annotations, &["pkginfo", "platform_property"]),
            documentation(annotations),
            string("arch", "v1model"),
            structured(annotations, self.facts),
            only_if(has_properties, message("platform_properties", properties)),
        ];
        message("pkg_info", fields)
    }
}

fn kind_of(array: &ir::Array) -> Kind {
    match (&array.kind, array.direct) {
        (ArrayKind::Counter, false) => Kind::COUNTER,
        (ArrayKind::Counter, true) => Kind::DIRECT_COUNTER,
        (ArrayKind::Meter, false) => Kind::METER,
        (ArrayKind::Meter, true) => Kind::DIRECT_METER,
        (ArrayKind::Register, _) => Kind::REGISTER,
    }
}
