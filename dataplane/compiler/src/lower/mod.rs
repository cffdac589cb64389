//! From a checked program to one without calls, generics and variables: parsers, controls and functions are inlined,
//! variables become fields, expressions get the order of their effects.
//!
//! Lowering runs the program as far as it is known: an environment says what each name stands for, and what is not
//! known yet becomes code.

mod assign;
mod call;
mod control;
mod environment;
mod expression;
mod instance;
pub mod ir;
mod parser;
mod pass;
mod primitive;
mod statement;
mod storage;
mod table;
mod value;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::check::infer::specialise;
use crate::check::types::{Type, TypeParameter};
use crate::check::Facts;
use crate::diagnostic::Diagnostics;
use crate::source::{Name, Span};
use crate::syntax::tree::{Declaration, DeclarationKind, Field, NodeId};
use environment::{Binding, Environment};
use ir::{Gress, Label, Program, Statement, StatementKind};
use pass::Passed;
use value::Value;

/// A message about the program was given; nothing comes of this piece.
#[derive(Clone, Copy, Debug)]
pub struct Told;

pub type Lowered<T> = Result<T, Told>;

/// The most statements of a program after inlining and unrolling.
const MOST_STATEMENTS: usize = 1_000_000;
/// The deepest that controls, functions and actions may call each other.
const DEEPEST: usize = 64;

/// Lowers the program whose package `main` is made of; `None` with messages if it cannot be.
pub fn lower<'t>(
    program: &'t [Declaration], facts: &'t Facts<'t>, diagnostics: &mut Diagnostics,
) -> Option<Program> {
    // A control that turns out to be applied with different arguments gets variables for its parameters, and lowering
    // begins again.
    let mut shared = HashSet::new();
    loop {
        let known = shared.len();
        let lowered = attempt(program, facts, diagnostics, &mut shared);
        if shared.len() == known {
            return lowered;
        }
    }
}

fn attempt<'t>(
    program: &'t [Declaration], facts: &'t Facts<'t>, diagnostics: &mut Diagnostics,
    shared: &mut HashSet<Vec<Name>>,
) -> Option<Program> {
    let globals = Environment::outermost();
    let mut lowering = Lowering {
        facts,
        diagnostics,
        program: Program { errors: facts.errors.clone(), ..Program::default() },
        environment: globals.clone(),
        globals,
        types: Vec::new(),
        out: Vec::new(),
        statements: 0,
        depth: 0,
        labels: 0,
        names: HashSet::new(),
        header_types: HashMap::new(),
        actions: HashMap::new(),
        place: Place::Outside,
        path: Vec::new(),
        instances: HashMap::new(),
        shared,
        meta: None,
        structs: HashMap::new(),
        pending: Vec::new(),
        reached: Vec::new(),
    };
    lowering.run(program).ok()?;
    Some(lowering.program)
}

/// The part of the program whose code is lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Outside,
    Parser,
    Control(Gress),
    Action,
    Checksum { verify: bool },
    Deparser,
}

struct Lowering<'t, 'd> {
    facts: &'t Facts<'t>,
    diagnostics: &'d mut Diagnostics,
    program: Program,
    environment: Rc<Environment<'t>>,
    globals: Rc<Environment<'t>>,
    /// The types of the type parameters around.
    types: Vec<(TypeParameter, Type)>,
    /// The statements that are being made.
    out: Vec<Statement>,
    statements: usize,
    depth: usize,
    labels: Label,
    /// Names of headers, fields and states that are taken.
    names: HashSet<String>,
    header_types: HashMap<Type, usize>,
    /// Actions that were lowered: by their declaration and the environment of their control.
    actions: HashMap<(*const Declaration, *const Environment<'t>), usize>,
    place: Place,
    /// The names of the instances around.
    path: Vec<Name>,
    instances: HashMap<Vec<Name>, Rc<control::Instance<'t>>>,
    /// Controls whose parameters are variables.
    shared: &'d mut HashSet<Vec<Name>>,
    /// The program's metadata with its type.
    meta: Option<(Value, Type)>,
    /// The fields of structs as they are written, for their annotations.
    structs: HashMap<Name, &'t [Field]>,
    /// Copies back, made when the calls around end.
    pending: Vec<Vec<Passed>>,
    /// Variables that actions reach without parameters.
    reached: Vec<Value>,
}

impl<'t> Lowering<'t, '_> {
    fn run(&mut self, program: &'t [Declaration]) -> Lowered<()> {
        self.standard_headers();
        for declaration in program {
            self.global(declaration);
        }
        let main = program
            .iter()
            .find(|one| &*one.ident.name == "main" && matches!(one.kind, DeclarationKind::Instance { .. }));
        let Some(main) = main else {
            let span = program.last().map(|last| last.span).unwrap_or_default();
            self.diagnostics
                .error(span, "the program has no `main`")
                .help("`V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;`");
            return Err(Told);
        };
        self.package(main)
    }

    fn global(&mut self, declaration: &'t Declaration) {
        if let DeclarationKind::Composite { fields, .. } = &declaration.kind {
            self.structs.insert(declaration.ident.name.clone(), fields);
        }
        let binding = match &declaration.kind {
            DeclarationKind::Constant { .. } | DeclarationKind::Instance { .. } => Binding::Late(declaration),
            DeclarationKind::Action { .. } => Binding::Action(declaration, self.globals.clone()),
            _ => return,
        };
        self.globals.declare(&declaration.ident.name, binding);
    }

    /// The type that the checker found for a node, with what the type parameters stand for here.
    fn type_of(&self, node: NodeId) -> Type {
        self.here(self.facts.types.get(&node).unwrap_or(&Type::Wrong))
    }

    /// A type with what the type parameters stand for here.
    fn here(&self, of: &Type) -> Type {
        let mut of = of.clone();
        // The innermost come last, and may name outer ones.
        for (parameter, argument) in self.types.iter().rev() {
            of = specialise(&of, std::slice::from_ref(parameter), std::slice::from_ref(argument));
        }
        of
    }

    fn emit(&mut self, span: Span, kind: StatementKind) {
        self.statements += 1;
        if self.statements <= MOST_STATEMENTS {
            self.out.push(Statement { kind, span });
        }
    }

    /// The statements that `make` makes.
    fn collect<T>(&mut self, make: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<(T, Vec<Statement>)> {
        let before = std::mem::take(&mut self.out);
        let made = make(self);
        let statements = std::mem::replace(&mut self.out, before);
        if self.statements > MOST_STATEMENTS {
            return Err(Told);
        }
        Ok((made?, statements))
    }

    /// Runs `make` with names of its own.
    fn within<T>(&mut self, environment: Rc<Environment<'t>>, make: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.environment, environment);
        let made = make(self);
        self.environment = before;
        made
    }

    /// Runs `make` in a block of its own.
    fn block<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let inner = Environment::inside(&self.environment);
        self.within(inner, make)
    }

    /// Runs `make` one call deeper.
    fn deeper<T>(&mut self, span: Span, make: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<T> {
        if self.depth == DEEPEST {
            return self.refuse(span, format!("calls are nested more than {DEEPEST} deep"));
        }
        self.depth += 1;
        let made = make(self);
        self.depth -= 1;
        made
    }

    fn refuse<T>(&mut self, span: Span, message: impl Into<String>) -> Lowered<T> {
        self.diagnostics.error(span, message);
        Err(Told)
    }

    fn bind(&mut self, name: &Name, value: Value) {
        self.environment.declare(name, Binding::Value(value));
    }

    /// A name that no other has: `name`, or `name_1` and so on.
    fn unique(&mut self, name: &str) -> String {
        let mut tried = name.to_owned();
        let mut number = 0;
        while !self.names.insert(tried.clone()) {
            number += 1;
            tried = format!("{name}_{number}");
        }
        tried
    }
}
