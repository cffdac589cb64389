//! Names and what they are, block by block (P4_16 specification, section 6.9); parameters and results of
//! functions, methods, actions, parsers and controls (section 6.8).

use std::rc::Rc;

use super::expression::Typed;
use super::infer::specialise;
use super::types::{ObjectId, Type, TypeParameter};
use super::{Checker, ObjectKind};
use crate::source::{Name, Span};
use crate::syntax::tree::{self, annotated, Declaration, Direction, Ident};

/// The meaning of a name.
#[derive(Clone)]
pub enum Entity<'t> {
    /// A type; generic structs, headers and unions have type parameters.
    Type(Vec<TypeParameter>, Type),
    /// An extern, parser, control or package.
    Object(ObjectId),
    /// Functions of one name, which differ in their parameters.
    Functions(Vec<Rc<Function<'t>>>),
    Action(Rc<Function<'t>>),
    Table(&'t Declaration),
    Value(Typed),
    State,
}

/// The parameters of a function, method, action or constructor.
#[derive(Clone, Debug)]
pub struct Signature {
    pub type_parameters: Vec<TypeParameter>,
    pub parameters: Vec<Parameter>,
    pub returns: Type,
}

impl Signature {
    /// The signature with types in the place of an object's type parameters (section 7.2.11).
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

/// The kinds of declarations with parameters, which allow different types of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Package,
    Extern,
    Constructor,
    Code,
}

impl<'t> Checker<'t, '_> {
    /// The parameters as others see them (section 6.8). The names are not declared.
    pub fn signature(&mut self, written: &'t [tree::Parameter], place: Takes) -> Signature {
        let mut parameters: Vec<Parameter> = Vec::new();
        for one in written {
            self.annotations(&one.annotations);
            let of = self.complete_type(&one.of);
            if parameters.iter().any(|other| other.name == one.ident.name) {
                self.twice(&one.ident, "parameter");
            }
            self.parameter_type(one, &of, place);
            if let Some(default) = &one.default {
                let typed = if of.is_object() {
                    let typed = self.expression(default, Some(&of));
                    self.object_argument(default, &typed, &of, true);
                    typed
                } else {
                    self.value_of(default, &of)
                };
                if matches!(one.direction, Direction::Out | Direction::InOut) {
                    self.error(default.span, "a parameter that is written has no default value");
                } else if !typed.is_constant && !typed.of.is_wrong() {
                    self.error(default.span, "a default value is a constant");
                }
            }
            // Section 20.3.1.
            let optional = annotated(&one.annotations, "optional");
            if let Some(note) = optional.filter(|_| matches!(place, Takes::Code | Takes::Constructor)) {
                let message = "parameters of externs and packages may be left out, and no others";
                self.error(one.ident.span, message).note(note.name.span, "this says so");
            }
            parameters.push(Parameter {
                name: one.ident.name.clone(),
                direction: one.direction,
                of,
                optional: one.default.is_some() || optional.is_some(),
                span: one.ident.span,
            });
        }
        Signature { type_parameters: Vec::new(), parameters, returns: Type::Void }
    }

    /// Tells of a parameter whose type does not fit its direction, or the place (section 6.8).
    fn parameter_type(&mut self, one: &'t tree::Parameter, of: &Type, place: Takes) {
        let directed = one.direction != Direction::None;
        let message = match self.kind_of(of) {
            _ if *of == Type::Void => "no parameter is of type void".to_owned(),
            None if directed && matches!(of, Type::Integer | Type::String) => {
                format!("a parameter of type {of} has no direction")
            }
            Some(_) if directed => format!("`{}` is an object: it has no direction", one.ident),
            None | Some(ObjectKind::Extern) => return,
            Some(ObjectKind::ParserType | ObjectKind::ControlType) if place == Takes::Constructor => return,
            Some(_) if place == Takes::Package => return,
            Some(_) => format!("only packages have parameters of type {of}"),
        };
        self.error(if *of == Type::Void { one.of.span } else { one.ident.span }, message);
    }

    /// Declares parameters in the innermost block; without a direction, those of `constant` types are known.
    pub fn declare_parameters(&mut self, signature: &Signature, constant: fn(&Type) -> bool) {
        for parameter in &signature.parameters {
            let writable = matches!(parameter.direction, Direction::Out | Direction::InOut);
            let is_constant = parameter.direction == Direction::None && constant(&parameter.of);
            let typed = Typed::new(parameter.of.clone(), None, is_constant);
            let typed = Typed { writable, is_parameter: true, ..typed };
            let ident = Ident { name: parameter.name.clone(), span: parameter.span };
            self.declare(&ident, Entity::Value(typed));
        }
    }

    /// The parameters and the result of a function or method, in a scope of their own (sections 7.2.10 and
    /// 10); a constructor returns nothing.
    pub fn whole_signature(&mut self, written: &'t tree::Signature, place: Takes) -> Signature {
        let type_parameters = self.type_parameters(&written.head.type_parameters);
        let signature = self.signature(&written.head.parameters, place);
        let mut returns = written.returns.as_ref().map_or(Type::Void, |of| self.complete_type(of));
        if let Some(written) = written.returns.as_ref().filter(|_| returns.contains(&Type::is_open)) {
            self.error(written.span, "the type that is returned has no `_`");
            returns = Type::Wrong;
        }
        Signature { type_parameters, returns, ..signature }
    }
}
