//! From names to what they mean: each name its declaration, each expression its type, each constant its
//! value.
//!
//! The checker goes through the program once, in order: P4 declares before it uses. What it finds out is in
//! [`Facts`]; the program stays as it is written.

/// An error at a place; its text is formatted.
macro_rules! error {
    ($checker:expr, $span:expr, $($message:tt)+) => {{
        let (span, message) = ($span, format!($($message)+));
        $checker.diagnostics.error(span, message)
    }};
}

/// Ends a function with an error: what it reads has no type, or no value.
macro_rules! fail {
    ($checker:expr, $span:expr, $($message:tt)+) => {{
        error!($checker, $span, $($message)+);
        return Default::default();
    }};
}

mod annotation;
mod call;
pub mod constant;
mod declaration;
mod expression;
pub mod infer;
mod instance;
pub mod literal;
mod member;
pub mod operator;
mod parser;
pub mod scope;
mod statement;
pub mod table;
mod type_reference;
pub mod types;
mod warning;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::{nearest, Blocks, Name, Span};
pub use crate::syntax::tree::ObjectKind;
use crate::syntax::tree::{Declaration, DeclarationKind, Ident, NodeId, Path};
use constant::Value;
use scope::{Entity, Found, Function, Signature};
use types::{ObjectId, Type, TypeParameter};

/// Facts about a program that the checker found.
#[derive(Default)]
pub struct Facts<'t> {
    pub objects: Vec<Object<'t>>,
    /// The types of expressions, and those that written types are.
    pub types: HashMap<NodeId, Type>,
    /// The types to which expressions are converted without a cast.
    pub conversions: HashMap<NodeId, Type>,
    /// The values of expressions that the compiler knows.
    pub values: HashMap<NodeId, Value>,
    pub calls: HashMap<NodeId, Call<'t>>,
    /// Members of `error`, in order.
    pub errors: Vec<Name>,
}

/// An extern, parser, control or package.
pub struct Object<'t> {
    pub declaration: &'t Declaration,
    pub kind: ObjectKind,
    pub type_parameters: Vec<TypeParameter>,
    pub constructors: Vec<Signature>,
    /// `apply` of parsers and controls; the methods of externs.
    pub methods: Vec<Method>,
}

pub struct Method {
    pub name: Name,
    pub signature: Signature,
    pub is_abstract: bool,
    /// Whether each instance has a body of it.
    pub is_required: bool,
}

/// The called declaration, and the kind of the call.
#[derive(Clone)]
pub struct Call<'t> {
    pub target: Target<'t>,
    /// The types of the type parameters of what is called.
    pub types: Vec<Type>,
    /// For each parameter the argument that belongs to it; `None` if it is left out.
    pub arguments: Vec<Option<usize>>,
}

impl<'t> Call<'t> {
    /// A call without parameters.
    fn of(target: Target<'t>) -> Self {
        Self { target, types: Vec::new(), arguments: Vec::new() }
    }
}

#[derive(Clone)]
pub enum Target<'t> {
    Function(Rc<Function<'t>>),
    Action(Rc<Function<'t>>),
    /// A method of an object, by its number.
    Method(ObjectId, usize),
    Constructor(ObjectId, usize),
    Table(&'t Declaration),
    /// `isValid` and other methods of headers, stacks and types.
    Builtin(Name),
}

/// The surroundings of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Outside,
    Parser,
    Control,
    Action,
    /// A function with the type that it returns.
    Function(Type),
}

/// Checks a program.
pub fn check<'t>(program: &'t [Declaration], diagnostics: &mut Diagnostics) -> Facts<'t> {
    let mut checker = Checker {
        diagnostics,
        scopes: Blocks::default(),
        facts: Facts::default(),
        match_kinds: Vec::new(),
        parameters: 0,
        place: Place::Outside,
        loops: 0,
        in_initializer: false,
        unknown: HashSet::new(),
        extracted: warning::Extracted::default(),
        doubtful: HashSet::new(),
    };
    // Controls may stand before the parser.
    for declaration in program {
        if let DeclarationKind::Applicable(_, one) = &declaration.kind {
            checker.extracted.note(&one.states);
        }
    }
    for declaration in program {
        checker.declaration(declaration);
    }
    let mut facts = checker.facts;
    let called = facts.calls.values_mut().flat_map(|call| &mut call.types);
    for of in facts.types.values_mut().chain(facts.conversions.values_mut()).chain(called) {
        *of = of.resolve();
    }
    facts
}

pub struct Checker<'t, 'd> {
    diagnostics: &'d mut Diagnostics,
    scopes: Blocks<Found<'t>>,
    facts: Facts<'t>,
    match_kinds: Vec<Name>,
    /// Type parameters so far: each has a number.
    parameters: u32,
    place: Place,
    /// Loops around the place.
    loops: usize,
    /// Types that are not there: one message for each.
    unknown: HashSet<Name>,
    /// Whether the place is in the braces of an instance.
    in_initializer: bool,
    extracted: warning::Extracted,
    /// Headers of which a warning tells that they may be invalid in the control: one for each is enough.
    doubtful: HashSet<String>,
}

impl<'t> Checker<'t, '_> {
    fn error(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.diagnostics.error(span, message)
    }

    fn warning(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.diagnostics.warning(span, message)
    }

    /// Reads something whose names nobody sees outside of it.
    fn scoped<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.enter();
        let read = read(self);
        self.scopes.leave();
        read
    }

    /// Reads something that stands in a place of another kind.
    fn placed<T>(&mut self, place: Place, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.place, place);
        let read = read(self);
        self.place = before;
        read
    }

    /// Adds a name to the innermost block.
    fn declare(&mut self, ident: &Ident, entity: Entity<'t>) {
        if let Some(earlier) = self.scopes.declare(&ident.name, Found { entity, span: ident.span }) {
            let error = error!(self, ident.span, "`{ident}` is declared twice");
            error.note(earlier.span, "its first declaration");
            if earlier.span.file != ident.span.file {
                error.help("an included file has this name: another one is needed, as `My...`");
            }
        }
    }

    /// The meaning of a name that is used (section 6.9).
    fn find(&self, path: &Path) -> Option<&Found<'t>> {
        self.scopes.find(&path.ident.name, path.absolute)
    }

    /// A name like the one that is not there, and fit for its use.
    fn similar(&self, name: &str, fits: impl Fn(&Entity<'t>) -> bool) -> Option<(Name, Span)> {
        let names = self.scopes.iter().filter(|(_, found)| fits(&found.entity));
        nearest(name, names.map(|(one, found)| (one, found.span)))
    }

    /// Whether the program is for v1model, whose targets have limits of their own.
    fn is_v1model(&self) -> bool {
        self.scopes.find("__v1model_version", true).is_some()
    }

    fn object(&self, id: ObjectId) -> &Object<'t> {
        &self.facts.objects[id.0 as usize]
    }

    /// The kind of the object that a type is of.
    fn kind_of(&self, of: &Type) -> Option<ObjectKind> {
        match of.known() {
            Type::Object(id, ..) => Some(self.object(*id).kind),
            _ => None,
        }
    }
}
