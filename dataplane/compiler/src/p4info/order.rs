//! The order of tables, actions and instances: as the program declares them, those of an inlined control where it is
//! instantiated; and the actions that controls call without a table.

use std::collections::HashMap;

use super::annotation::{find, string};
use crate::check::constant::Value;
use crate::check::types::Type;
use crate::check::{Facts, ObjectKind, Target};
use crate::lower::ir::Gress;
use crate::syntax::tree::{Annotation, Block, Declaration, DeclarationKind, Expression, ExpressionKind};
use crate::syntax::tree::{Statement, StatementKind};

/// Kinds of declarations: two of different kinds may share a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sort {
    Table,
    Action,
    Instance,
}

/// The place of each name of a program.
pub struct Order<'t> {
    facts: &'t Facts<'t>,
    places: HashMap<(Sort, String), usize>,
    /// The place before the objects of each parser and control of the package.
    starts: Vec<usize>,
    /// The actions that controls call: place, name, annotations.
    pub called: Vec<(usize, String, &'t [Annotation])>,
}

impl<'t> Order<'t> {
    pub fn of(program: &'t [Declaration], facts: &'t Facts<'t>) -> Self {
        let mut order = Self { facts, places: HashMap::new(), starts: Vec::new(), called: Vec::new() };
        order.locals(program, "", true);
        let main = program.iter().find(|one| &*one.ident.name == "main").map(|one| &one.kind);
        if let Some(DeclarationKind::Instance { of, arguments, .. }) = main {
            let places = facts.calls.get(&of.id).map_or(&[][..], |call| &call.arguments);
            for argument in places.iter().filter_map(|&place| arguments.get(place?)) {
                order.block(&argument.value);
            }
        }
        order
    }

    /// The place of an object of a pipeline: objects declared outside of it come before all others.
    #[must_use]
    pub fn place(&self, sort: Sort, name: &str, gress: Gress) -> usize {
        let block = if gress == Gress::Ingress { 2 } else { 3 };
        self.places.get(&(sort, name.to_owned())).or(self.starts.get(block)).copied().unwrap_or(0)
    }

    /// A parser or control of the package.
    fn block(&mut self, argument: &'t Expression) {
        self.starts.push(self.places.len() * 2 + 1);
        let Some(Type::Object(id, _)) = self.facts.types.get(&argument.id) else { return };
        let declaration = self.facts.objects[id.0 as usize].declaration;
        let name = match &argument.kind {
            ExpressionKind::Name(path) => path.ident.name.to_string(),
            _ => declaration.ident.name.to_string(),
        };
        self.object(declaration, &name);
    }

    fn object(&mut self, declaration: &'t Declaration, path: &str) {
        match &declaration.kind {
            DeclarationKind::Parser { locals, .. } => self.locals(locals, path, false),
            DeclarationKind::Control { locals, apply, .. } => {
                self.locals(locals, path, false);
                self.calls(&apply.statements, locals, path);
            }
            _ => {}
        }
    }

    /// The actions that a control calls, and the controls that it applies without an instance.
    fn calls(&mut self, statements: &'t [Statement], locals: &'t [Declaration], path: &str) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Call(expression) => self.call(expression, locals, path),
                StatementKind::Block(Block { statements, .. }) => self.calls(statements, locals, path),
                StatementKind::If { condition, then, otherwise } => {
                    let known = self.facts.values.get(&condition.id).and_then(Value::truth);
                    if known != Some(false) {
                        self.calls(std::slice::from_ref(then), locals, path);
                    }
                    if let (Some(otherwise), None | Some(false)) = (otherwise, known) {
                        self.calls(std::slice::from_ref(otherwise), locals, path);
                    }
                }
                StatementKind::Switch { cases, .. } => {
                    for body in cases.iter().filter_map(|case| case.body.as_ref()) {
                        self.calls(&body.statements, locals, path);
                    }
                }
                StatementKind::For { body, .. } | StatementKind::ForIn { body, .. } => {
                    self.calls(std::slice::from_ref(body), locals, path);
                }
                _ => {}
            }
        }
    }

    fn call(&mut self, expression: &'t Expression, locals: &'t [Declaration], path: &str) {
        let facts = self.facts;
        let ExpressionKind::Call { callee, .. } = &expression.kind else { return };
        match (facts.calls.get(&expression.id).map(|call| &call.target), &callee.kind) {
            (Some(Target::Action(action)), _) => {
                let action = action.declaration;
                let is_local = locals.iter().any(|local| std::ptr::eq(local, action));
                let name = name_in(if is_local { path } else { "" }, action);
                let start = self.starts.last().copied().unwrap_or(0);
                let place = self.places.get(&(Sort::Action, name.clone())).copied().unwrap_or(start);
                self.called.push((place, name, &action.annotations));
            }
            (Some(Target::Method(id, _)), ExpressionKind::Member(base, _)) => {
                let object = &facts.objects[id.0 as usize];
                let is_instance = matches!(&base.kind, ExpressionKind::Name(name)
                    if name.ident.name != object.declaration.ident.name
                        || locals.iter().any(|local| local.ident.name == name.ident.name));
                if object.kind != ObjectKind::Extern && !is_instance {
                    self.object(object.declaration, &format!("{path}.{}", object.declaration.ident.name));
                }
            }
            _ => {}
        }
    }

    fn locals(&mut self, locals: &'t [Declaration], path: &str, outside: bool) {
        for local in locals {
            let name = name_in(path, local);
            match &local.kind {
                DeclarationKind::Instance { of, .. } => {
                    let Some(Type::Object(id, _)) = self.facts.types.get(&of.id) else { continue };
                    let object = &self.facts.objects[id.0 as usize];
                    match object.kind {
                        ObjectKind::Extern => self.add(Sort::Instance, name),
                        _ if outside => {}
                        _ => self.object(object.declaration, &name),
                    }
                }
                DeclarationKind::Action { .. } if outside => {}
                DeclarationKind::Action { .. } => self.add(Sort::Action, name),
                DeclarationKind::ValueSet { .. } => self.add(Sort::Instance, name),
                DeclarationKind::Table(table) => {
                    self.add(Sort::Table, name);
                    // A profile that is made in the table.
                    let names = table.properties.iter().filter_map(|one| find(&one.annotations, "name"));
                    names.filter_map(string).for_each(|name| self.add(Sort::Instance, name));
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, sort: Sort, name: String) {
        let place = (self.places.len() + 1) * 2;
        self.places.entry((sort, name)).or_insert(place);
    }
}

/// The name that the control plane knows: `path.name`, unless `@name` says another.
fn name_in(path: &str, declaration: &Declaration) -> String {
    let own = find(&declaration.annotations, "name").and_then(string);
    let own = own.unwrap_or_else(|| declaration.ident.name.to_string());
    match own.strip_prefix('.') {
        Some(absolute) => absolute.to_owned(),
        None if path.is_empty() => own,
        None => format!("{path}.{own}"),
    }
}
