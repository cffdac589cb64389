//! P4Info: what the control plane knows of a program (P4Runtime specification 1.5, section 6), as protobuf text.
//!
//! Names, ids and order are p4c's.

mod annotation;
mod externs;
mod order;
mod symbols;
mod table;
mod text;
mod types;

use std::collections::HashSet;

use crate::check::types::Shape;
use crate::check::Facts;
use crate::lower::ir::{self, ArrayKind, Gress, Operation, Outcome, Program, Statement, StatementKind};
use crate::syntax::tree::{Annotation, Declaration, DeclarationKind};
use annotation::find;
use order::{Order, Sort};
use symbols::{Kind, Symbols};
use text::Text;
use types::{own_name, Types};

/// The P4Info of a program.
pub fn text<'a>(tree: &'a [Declaration], facts: &'a Facts<'a>, program: &'a Program) -> String {
    let order = Order::of(tree, facts);
    let mut writer = Writer {
        program,
        symbols: Symbols::default(),
        types: Types::default(),
        tables: tables(program, &order),
        actions: Vec::new(),
        text: Text::default(),
    };
    writer.types.declared = tree.iter().map(|one| (one.ident.name.clone(), one)).collect();
    writer.actions = writer.used_actions(&order);
    let headers: Vec<&Declaration> = tree
        .iter()
        .filter(|one| matches!(one.kind, DeclarationKind::Composite { shape: Shape::Header, .. }))
        .filter(|one| find(&one.annotations, "controller_header").is_some())
        .collect();
    writer.collect(&headers);
    let main = tree.iter().find(|one| &*one.ident.name == "main");
    writer.package(main.map_or(&[], |main| &main.annotations));
    writer.write(&order, &headers, facts);
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
    /// The tables that are applied, in order.
    tables: Vec<&'a ir::Table>,
    /// The actions of these tables and those that controls call, in order.
    actions: Vec<Used<'a>>,
    text: Text,
}

/// Whether a control calls a function of the architecture.
fn calls_externs(program: &Program) -> bool {
    let mut found = !program.checksums.is_empty();
    for control in [&program.ingress, &program.egress] {
        each(&control.body, &mut |kind| {
            found |= matches!(kind, StatementKind::Operation(Operation::Primitive(..)))
        });
    }
    found
}

/// An action that the control plane sees.
#[derive(Clone)]
struct Used<'a> {
    name: String,
    annotations: &'a [Annotation],
    /// None of an action that a control calls.
    parameters: &'a [ir::ActionParameter],
}

/// The tables that the controls apply.
fn tables<'a>(program: &'a Program, order: &Order<'_>) -> Vec<&'a ir::Table> {
    let mut applied = HashSet::new();
    for control in [&program.ingress, &program.egress] {
        each(&control.body, &mut |kind| {
            if let StatementKind::Apply { table, .. } = kind {
                applied.insert(*table);
            }
        });
    }
    let mut tables: Vec<&ir::Table> = program
        .tables
        .iter()
        .enumerate()
        .filter(|(id, _)| applied.contains(id))
        .map(|(_, table)| table)
        .collect();
    tables.sort_by_key(|table| order.place(Sort::Table, &table.name, table.control));
    tables
}

/// Visits statements and those in them.
fn each(statements: &[Statement], visit: &mut dyn FnMut(&StatementKind)) {
    for Statement { kind, .. } in statements {
        visit(kind);
        match kind {
            StatementKind::If(_, then, otherwise)
            | StatementKind::Apply { then: Outcome::Hit(then, otherwise), .. } => {
                each(then, visit);
                each(otherwise, visit);
            }
            StatementKind::Labelled(_, inner) | StatementKind::Again(_, inner) => each(inner, visit),
            StatementKind::Apply { then: Outcome::Actions(cases, rest), .. } => {
                cases.iter().for_each(|(_, case)| each(case, visit));
                each(rest, visit);
            }
            _ => {}
        }
    }
}

/// The ids of fields, keys and parameters: those that `@id` gives, the others from 1 on.
fn field_ids<'n>(fields: impl Iterator<Item = &'n [Annotation]> + Clone) -> Vec<u32> {
    let written: HashSet<u32> = fields.clone().filter_map(annotation::id).collect();
    let mut next = 1;
    let mut ids = Vec::new();
    for annotations in fields {
        let own = annotation::id(annotations);
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
    fn used_actions(&self, order: &Order<'a>) -> Vec<Used<'a>> {
        let mut found: Vec<(usize, Used<'a>)> = Vec::new();
        for table in &self.tables {
            for action in table.actions.iter().map(|one| &self.program.actions[one.action]) {
                let used = Used {
                    name: action.name.clone(),
                    annotations: &action.annotations,
                    parameters: &action.parameters,
                };
                found.push((order.place(Sort::Action, &action.name, table.control), used));
            }
        }
        let called = order.called.iter().map(|(place, name, annotations)| {
            (*place, Used { name: name.clone(), annotations, parameters: &[] })
        });
        found.extend(called);
        found.sort_by_key(|(place, _)| *place);
        let mut seen = HashSet::new();
        found.retain(|(_, action)| seen.insert(action.name.clone()));
        found.into_iter().map(|(_, action)| action).collect()
    }

    /// Gives all objects their ids.
    fn collect(&mut self, headers: &[&Declaration]) {
        let program = self.program;
        for table in &self.tables {
            self.symbols.add(Kind::Table, &table.name, annotation::id(&table.annotations));
        }
        for action in &self.actions {
            self.symbols.add(Kind::Action, &action.name, annotation::id(action.annotations));
        }
        for array in &program.arrays {
            self.symbols.add(kind_of(array), &array.name, annotation::id(&array.annotations));
        }
        for profile in &program.profiles {
            self.symbols.add(Kind::ActionProfile, &profile.name, annotation::id(&profile.annotations));
        }
        for set in &program.value_sets {
            self.symbols.add(Kind::ValueSet, &set.name, annotation::id(&set.annotations));
        }
        for digest in &program.digests {
            self.symbols.add(Kind::Digest, &self.types.digest_name(digest), None);
        }
        for header in headers {
            let name = own_name(&header.ident.name, &header.annotations);
            self.symbols.add(Kind::ControllerHeader, &name, annotation::id(&header.annotations));
        }
        self.symbols.assign();
    }

    fn write(&mut self, order: &Order<'a>, headers: &[&Declaration], facts: &Facts<'_>) {
        let program = self.program;
        for table in self.tables.clone() {
            if find(&table.annotations, "hidden").is_none() {
                self.table(table);
            }
        }
        for action in self.actions.clone() {
            if find(action.annotations, "hidden").is_none() {
                self.action(&action);
            }
        }
        let mut profiles: Vec<&ir::Profile> = program.profiles.iter().collect();
        profiles.sort_by_key(|profile| order.place(Sort::Instance, &profile.name, Gress::Ingress));
        profiles.into_iter().for_each(|profile| self.profile(profile));
        let mut arrays: Vec<&ir::Array> = program.arrays.iter().filter(|array| !array.direct).collect();
        arrays.sort_by_key(|array| order.place(Sort::Instance, &array.name, Gress::Ingress));
        self.arrays(&arrays);
        for header in headers {
            self.controller_header(header, facts);
        }
        let mut sets: Vec<&ir::ValueSet> = program.value_sets.iter().collect();
        sets.sort_by_key(|set| order.place(Sort::Instance, &set.name, Gress::Ingress));
        sets.into_iter().for_each(|set| self.value_set(set));
        self.digests();
    }

    fn open(&mut self, name: &str) {
        self.text.open(name);
    }

    /// `preamble` of an object.
    fn preamble(&mut self, kind: Kind, name: &str, annotations: &[Annotation], skipped: &[&str]) {
        let (id, alias) = (self.symbols.id(kind, name), self.symbols.alias(name).to_owned());
        self.head(id, name, &alias, annotations, skipped);
    }

    fn head(&mut self, id: u32, name: &str, alias: &str, annotations: &[Annotation], skipped: &[&str]) {
        self.text.message("preamble", |text| {
            text.number("id", id);
            text.string("name", name);
            text.string("alias", alias);
            annotation::write(text, annotations, skipped);
            annotation::documentation(text, annotations);
            annotation::structured(text, annotations);
        });
    }

    /// `pkg_info`, of the annotations of `main`.
    fn package(&mut self, annotations: &[Annotation]) {
        let keys = |name| find(annotations, name).into_iter().flat_map(annotation::pairs);
        self.text.message("pkg_info", |text| {
            for (key, words) in keys("pkginfo") {
                if ["name", "version", "organization", "contact", "url"].contains(&key) {
                    text.string(key, &words.iter().map(annotation::unquoted).collect::<String>());
                }
            }
            annotation::write(text, annotations, &["pkginfo", "platform_property"]);
            annotation::documentation(text, annotations);
            text.string("arch", "v1model");
            annotation::structured(text, annotations);
            if find(annotations, "platform_property").is_some() {
                text.message("platform_properties", |text| {
                    for (key, words) in keys("platform_property") {
                        if let Some(value) =
                            annotation::integer(words).and_then(|value| i32::try_from(value).ok())
                        {
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
        (ArrayKind::Counter, false) => Kind::Counter,
        (ArrayKind::Counter, true) => Kind::DirectCounter,
        (ArrayKind::Meter, false) => Kind::Meter,
        (ArrayKind::Meter, true) => Kind::DirectMeter,
        (ArrayKind::Register { .. }, _) => Kind::Register,
    }
}
