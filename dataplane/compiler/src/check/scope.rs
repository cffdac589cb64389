//! Names and what they are, block by block (P4_16 specification, section 6.9).

use std::rc::Rc;

use super::constant::Value;
use super::infer::specialise;
use super::types::{ObjectId, Type, TypeParameter};
use crate::source::{Name, Span};
use crate::syntax::tree::{Declaration, Direction};

/// The meaning of a name.
#[derive(Clone)]
pub enum Entity<'t> {
    /// A type without type parameters, or one of them.
    Type(Type),
    /// A struct, header or union with type parameters.
    Generic(Rc<GenericType>),
    /// An extern, parser, control or package.
    Object(ObjectId),
    /// Functions of one name, which differ in their parameters.
    Functions(Vec<Rc<Function<'t>>>),
    Action(Rc<Function<'t>>),
    Table(&'t Declaration),
    Value(Variable),
    State,
}

/// A type with type parameters: `fields` names them.
pub struct GenericType {
    pub parameters: Vec<TypeParameter>,
    pub of: Type,
}

/// A name of a value.
#[derive(Clone, Debug)]
pub struct Variable {
    pub of: Type,
    /// Whether it can be assigned to.
    pub writable: bool,
    /// Its value if the compiler knows it.
    pub value: Option<Value>,
    /// Known before the program runs: constants, and parameters of constructors.
    pub is_constant: bool,
}

impl Variable {
    /// A value that is not known while compiling.
    pub fn new(of: Type, writable: bool) -> Self {
        Self { of, writable, value: None, is_constant: false }
    }
}

/// The parameters of a function, method, action or constructor.
#[derive(Clone, Debug)]
pub struct Signature {
    pub type_parameters: Vec<TypeParameter>,
    pub parameters: Vec<Parameter>,
    pub returns: Type,
}

impl Signature {
    /// The signature with types in the place of an object's type parameters.
    #[must_use]
    pub fn specialised(&self, parameters: &[TypeParameter], types: &[Type]) -> Self {
        let replaced =
            |one: &Parameter| Parameter { of: specialise(&one.of, parameters, types), ..one.clone() };
        Self {
            type_parameters: self.type_parameters.clone(),
            parameters: self.parameters.iter().map(replaced).collect(),
            returns: specialise(&self.returns, parameters, types),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: Name,
    pub direction: Direction,
    pub of: Type,
    /// Whether the argument may be left out.
    pub optional: bool,
    pub span: Span,
}

/// A function, extern function or action.
pub struct Function<'t> {
    pub declaration: &'t Declaration,
    pub signature: Signature,
}

/// The place of a name's declaration, and its meaning.
#[derive(Clone)]
pub struct Found<'t> {
    pub entity: Entity<'t>,
    pub span: Span,
}
