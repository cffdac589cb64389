//! From a checked program to one without calls, generics and variables: parsers, controls and functions are
//! inlined, variables become fields, expressions get the order of their effects.
//!
//! Lowering runs the program as far as it is known: an environment says what each name stands for, and what
//! is not known yet becomes code.

pub mod annotation;
pub mod assign;
mod call;
mod control;
mod evaluation;
pub mod expression;
mod instance;
pub mod ir;
mod parser;
mod pass;
mod primitive;
mod statement;
pub mod storage;
mod table;
mod value;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::check::infer::specialise;
use crate::check::types::{ObjectId, Type, TypeParameter};
use crate::check::{Facts, Object};
use crate::diagnostic::{Diagnostics, Told};
use crate::source::{Name, Span};
use crate::syntax::tree::{Declaration, DeclarationKind, Field, NodeId, Path};
use ir::{Label, Order, Program, Statement, StatementKind};
use pass::Passed;
use statement::Leaves;
use value::{Binding, Environment, Value};

pub type Lowered<T> = Result<T, Told>;

/// The name of an instance, and its place.
type Key = (Vec<Name>, Order);

/// The most statements of a program after inlining and unrolling.
const MOST_STATEMENTS: usize = 1_000_000;

/// Lowers the program whose package `main` is made of; `None` with messages if it cannot be.
pub fn lower<'t>(
    program: &'t [Declaration], facts: &'t Facts<'t>, diagnostics: &mut Diagnostics,
) -> Option<Program> {
    // A control that turns out to be applied with different arguments gets variables for its parameters, and
    // lowering begins again.
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
    shared: &mut HashSet<Key>,
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
        span: Span::default(),
        labels: 0,
        names: HashSet::new(),
        header_types: HashMap::new(),
        actions: HashMap::new(),
        place: Place::Parser,
        path: Vec::new(),
        order: Order::new(),
        instances: HashMap::new(),
        shared,
        meta: None,
        structs: HashMap::new(),
        leaves: Leaves::default(),
        counters: Vec::new(),
        pending: Vec::new(),
        reached: Vec::new(),
    };
    lowering.run(program).ok()?;
    Some(lowering.program)
}

/// The part of the program whose code is lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Parser,
    Control,
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
    /// The place to which statements and messages belong.
    span: Span,
    labels: Label,
    /// Names of headers, fields and states that are taken.
    names: HashSet<String>,
    header_types: HashMap<Type, usize>,
    /// Actions that were lowered: by their declaration and the environment of their control.
    actions: HashMap<(*const Declaration, *const Environment<'t>), usize>,
    place: Place,
    /// The names of the instances around.
    path: Vec<Name>,
    order: Order,
    instances: HashMap<Key, Rc<control::Instance<'t>>>,
    /// Controls whose parameters are variables.
    shared: &'d mut HashSet<Key>,
    /// The program's metadata with its type.
    meta: Option<(Value, Type)>,
    /// The fields of structs as they are written, for their annotations.
    structs: HashMap<Name, &'t [Field]>,
    /// The targets of `return`, `break` and `continue`.
    leaves: Leaves,
    /// Variables of unrolled loops, whose values are known: each with the branches around its loop, and the
    /// variable outside that has its values, too.
    counters: Vec<(Name, usize, Value)>,
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
        self.at(main.span, |lowering| lowering.package(main))?;
        self.unused(program)
    }

    fn global(&mut self, declaration: &'t Declaration) {
        if let DeclarationKind::Composite { fields, .. } = &declaration.kind {
            self.structs.insert(declaration.ident.name.clone(), fields);
        }
        let binding = match &declaration.kind {
            DeclarationKind::Constant { .. } | DeclarationKind::Instance { .. } => Binding::Late(declaration),
            DeclarationKind::Action { .. } => {
                Binding::Action(declaration, self.globals.clone(), Order::new())
            }
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

    /// Runs `make` where a part of the lowering is something else.
    fn with<P, T>(&mut self, part: fn(&mut Self) -> &mut P, here: P, make: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(part(self), here);
        let made = make(self);
        *part(self) = before;
        made
    }

    /// Runs `make`, whose statements and messages belong to a place.
    fn at<T>(&mut self, span: Span, make: impl FnOnce(&mut Self) -> T) -> T {
        self.with(|lowering| &mut lowering.span, span, make)
    }

    /// Runs `make` with names of its own.
    fn within<T>(&mut self, environment: Rc<Environment<'t>>, make: impl FnOnce(&mut Self) -> T) -> T {
        self.with(|lowering| &mut lowering.environment, environment, make)
    }

    /// Runs `make` in a block of its own (section 12.3).
    fn block<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        self.within(Environment::inside(&self.environment), make)
    }

    fn emit(&mut self, kind: StatementKind) {
        self.statements += 1;
        if self.statements <= MOST_STATEMENTS {
            self.out.push(Statement { kind, span: self.span });
        }
    }

    /// The statements that `make` makes, beside its result.
    fn collect<T>(&mut self, make: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<(T, Vec<Statement>)> {
        let (made, statements) = self.with(
            |lowering| &mut lowering.out,
            Vec::new(),
            |lowering| {
                let made = make(lowering);
                (made, std::mem::take(&mut lowering.out))
            },
        );
        if self.statements > MOST_STATEMENTS {
            return Err(Told);
        }
        Ok((made?, statements))
    }

    /// The statements that `make` makes.
    fn code(&mut self, make: impl FnOnce(&mut Self) -> Lowered<()>) -> Lowered<Vec<Statement>> {
        self.collect(make).map(|((), statements)| statements)
    }

    /// Runs `make` where type parameters stand for types (section 8.24).
    fn specialised<T>(
        &mut self, parameters: &[TypeParameter], types: &[Type], make: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let all = self.types.iter().cloned();
        let all = all.chain(parameters.iter().cloned().zip(types.iter().cloned())).collect();
        self.with(|lowering| &mut lowering.types, all, make)
    }

    /// Runs `make` for what is in an object, by whose name and order its own go.
    fn named<T>(&mut self, path: &[Name], order: &[usize], make: impl FnOnce(&mut Self) -> T) -> T {
        self.with(
            |lowering| &mut lowering.path,
            path.to_vec(),
            |lowering| lowering.with(|lowering| &mut lowering.order, order.to_vec(), make),
        )
    }

    fn refuse<T>(&mut self, message: impl Into<String>) -> Lowered<T> {
        self.refuse_at(self.span, message)
    }

    fn refuse_at<T>(&mut self, span: Span, message: impl Into<String>) -> Lowered<T> {
        self.diagnostics.error(span, message);
        Err(Told)
    }

    fn known(&self, id: ObjectId) -> &'t Object<'t> {
        &self.facts.objects[id.0 as usize]
    }

    /// The meaning of a name (section 6.9).
    fn find(&self, path: &Path) -> Option<Binding<'t>> {
        let environment = if path.absolute { &self.globals } else { &self.environment };
        environment.find(&path.ident.name)
    }

    fn bind(&mut self, name: &Name, value: Value) {
        self.environment.declare(name, Binding::Value(value));
    }
}
