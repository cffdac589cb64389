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

use std::collections::HashSet;

use crate::check::constant::Value;
use crate::check::types::Shape;
use crate::check::Facts;
use crate::diagnostic::Diagnostics;
use crate::lower::annotation::id;
use crate::lower::ir::{self, each_kind, ArrayKind, Operation, Program, StatementKind};
use crate::syntax::tree::{annotated, Annotation, Declaration, DeclarationKind};
use annotation::{documentation, structured, values, write};
use symbols::{Kind, Symbols};
use text::Text;
use types::{own_name, Types};

/// The P4Info of a program.
pub fn text<'a>(
    tree: &'a [Declaration], facts: &'a Facts<'a>, program: &'a Program, diagnostics: &mut Diagnostics,
) -> String {
    let mut writer = Writer {
        program,
        symbols: Symbols::default(),
        types: Types::new(tree, facts),
        facts,
        tables: tables(program),
        actions: Vec::new(),
        text: Text::default(),
    };
    writer.actions = writer.used_actions();
    let headers: Vec<&Declaration> = tree
        .iter()
        .filter(|one| matches!(one.kind, DeclarationKind::Composite { shape: Shape::Header, .. }))
        .filter(|one| annotated(&one.annotations, "controller_header").is_some())
        .collect();
    writer.collect(&headers, diagnostics);
    let main = tree.iter().find(|one| &*one.ident.name == "main");
    writer.package(main.map_or(&[], |main| &main.annotations));
    writer.write(&headers);
    // p4c writes it, empty, for each program that has one of these.
    let has_none = writer.actions.iter().all(|action| action.parameters.is_empty())
        && [writer.tables.len(), headers.len(), program.arrays.len(), program.profiles.len()] == [0; 4]
        && !calls_externs(program);
    if !has_none {
        writer.types.write(&mut writer.text, &program.errors);
    }
    writer.text.finish()
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
    text: Text,
}

/// Whether a control calls a function of the architecture.
fn calls_externs(program: &Program) -> bool {
    let mut found = !program.checksums.is_empty();
    for control in [&program.ingress, &program.egress] {
        each_kind(&control.body, &mut |kind| {
            found |= matches!(kind, StatementKind::Operation(Operation::Extern(..)))
        });
    }
    found
}

/// The tables that the controls apply.
fn tables(program: &Program) -> Vec<&ir::Table> {
    let mut applied = HashSet::new();
    for control in [&program.ingress, &program.egress] {
        each_kind(&control.body, &mut |kind| {
            if let StatementKind::Apply { table, .. } = kind {
                applied.insert(*table);
            }
        });
    }
    let is_applied = |(id, table)| applied.contains(&id).then_some(table);
    in_order(program.tables.iter().enumerate().filter_map(is_applied), |table| &table.order)
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

impl<'a> Writer<'a> {
    /// The actions: in each pipeline first those that are declared outside of it, in the order of their use.
    fn used_actions(&self) -> Vec<&'a ir::Action> {
        let program = self.program;
        let of_tables = self.tables.iter().flat_map(|table| {
            let actions = table.actions.iter().map(|one| &program.actions[one.action]);
            actions.map(|one| (if one.order.is_empty() { &table.order[..1] } else { &one.order }, one))
        });
        let called = program.called.iter().map(|one| (&one.order[..], one));
        let mut used = in_order(of_tables.chain(called), |(order, _)| order);
        let mut seen = HashSet::new();
        used.retain(|(_, action)| seen.insert((&action.name, action.span)));
        used.into_iter().map(|(_, action)| action).collect()
    }

    /// Gives all objects their ids.
    fn collect(&mut self, headers: &[&Declaration], diagnostics: &mut Diagnostics) {
        let Program { arrays, profiles, value_sets, digests, .. } = self.program;
        let Self { tables, actions, symbols, types, .. } = self;
        let mut add = |kind, name: &str, annotations: &[Annotation], span| {
            if let Err(message) = symbols.add(kind, name, id(annotations)) {
                diagnostics.error(span, message);
            }
        };
        tables.iter().for_each(|one| add(Kind::TABLE, &one.name, &one.annotations, one.span));
        actions.iter().for_each(|one| add(Kind::ACTION, &one.name, &one.annotations, one.span));
        arrays.iter().for_each(|one| add(kind_of(one), &one.name, &one.annotations, one.span));
        profiles.iter().for_each(|one| add(Kind::ACTION_PROFILE, &one.name, &one.annotations, one.span));
        value_sets.iter().for_each(|one| add(Kind::VALUE_SET, &one.name, &one.annotations, one.span));
        digests.iter().for_each(|one| add(Kind::DIGEST, &types.digest_name(one), &[], one.span));
        for header in headers {
            let name = own_name(&header.ident.name, &header.annotations);
            add(Kind::CONTROLLER_HEADER, &name, &header.annotations, header.span);
        }
        self.symbols.assign();
    }

    fn write(&mut self, headers: &[&Declaration]) {
        let program = self.program;
        let is_hidden = |annotations| annotated(annotations, "hidden").is_some();
        for table in self.tables.clone().into_iter().filter(|table| !is_hidden(&table.annotations)) {
            self.table(table);
        }
        for action in self.actions.clone().into_iter().filter(|action| !is_hidden(&action.annotations)) {
            self.action(action);
        }
        for profile in in_order(program.profiles.iter(), |profile| &profile.order) {
            self.profile(profile);
        }
        let arrays = program.arrays.iter().filter(|array| !array.direct);
        let arrays = in_order(arrays, |array| &array.order).into_iter();
        let direct = self.tables.iter().flat_map(|table| table.counter.into_iter().chain(table.meter));
        let direct: Vec<&ir::Array> = direct.map(|id| &program.arrays[id]).collect();
        self.arrays(arrays.chain(direct));
        for header in headers {
            self.controller_header(header);
        }
        for set in in_order(program.value_sets.iter(), |set| &set.order) {
            self.value_set(set);
        }
        self.digests();
    }

    /// Begins an object with its `preamble`.
    fn object(&mut self, kind: Kind, name: &str, annotations: &[Annotation], skipped: &[&str]) {
        self.text.open(kind.1);
        let (id, alias) = (self.symbols.id(kind, name), self.symbols.alias(name).to_owned());
        self.head(id, name, &alias, annotations, skipped);
    }

    /// `preamble` (P4Runtime specification, section 6.1.2).
    fn head(&mut self, id: u32, name: &str, alias: &str, annotations: &[Annotation], skipped: &[&str]) {
        self.text.message("preamble", |text| {
            text.number("id", id);
            text.string("name", name);
            text.string("alias", alias);
            write(text, annotations, skipped);
            documentation(text, annotations);
            structured(text, annotations, self.facts);
        });
    }

    /// `pkg_info`, of the annotations of `main` (P4Runtime specification, section 6.2).
    fn package(&mut self, annotations: &[Annotation]) {
        let facts = self.facts;
        let keys = |name| annotated(annotations, name).into_iter().flat_map(|one| values(one, facts));
        self.text.message("pkg_info", |text| {
            for (key, value) in keys("pkginfo") {
                let is_known = ["name", "version", "organization", "contact", "url"].contains(&key);
                if let (true, Value::String(value)) = (is_known, value) {
                    text.string(key, value);
                }
            }
            write(text, annotations, &["pkginfo", "platform_property"]);
            documentation(text, annotations);
            text.string("arch", "v1model");
            structured(text, annotations, facts);
            if annotated(annotations, "platform_property").is_some() {
                text.message("platform_properties", |text| {
                    for (key, value) in keys("platform_property") {
                        if let Some(value) = value.number().and_then(|value| i32::try_from(value).ok()) {
                            text.number(key, value);
                        }
                    }
                });
            }
        });
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
