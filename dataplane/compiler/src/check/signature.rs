//! Parameters and results of functions, methods, actions, parsers and controls (specification, section 6.8).

use super::scope::{Entity, Parameter, Signature, Variable};
use super::types::{Type, TypeParameter};
use super::{Checker, ObjectKind};
use crate::syntax::tree::{self, Direction};

/// Whose parameters are read: what they may be differs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Package,
    Extern,
    Constructor,
    Code,
}

impl<'t> Checker<'t, '_> {
    /// The parameters as others see them. The names are not declared.
    pub fn signature(
        &mut self, type_parameters: Vec<TypeParameter>, written: &'t [tree::Parameter], place: Takes,
    ) -> Signature {
        let mut parameters: Vec<Parameter> = Vec::new();
        for one in written {
            self.annotations(&one.annotations);
            let of = self.complete_type(&one.of);
            if parameters.iter().any(|other| other.name == one.ident.name) {
                self.twice(&one.ident, "parameter");
            }
            self.parameter_type(one, &of, place);
            if let Some(default) = &one.default {
                let typed = if self.is_object(&of) {
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
            let optional = one.annotations.iter().find(|note| &*note.name.name == "optional");
            if let Some(note) = optional.filter(|_| matches!(place, Takes::Code | Takes::Constructor)) {
                self.error(
                    one.ident.span,
                    "parameters of externs and packages may be left out, and no others",
                )
                .note(note.name.span, "this says so");
            }
            parameters.push(Parameter {
                name: one.ident.name.clone(),
                direction: one.direction,
                of,
                optional: one.default.is_some() || optional.is_some(),
                span: one.ident.span,
            });
        }
        Signature { type_parameters, parameters, returns: Type::Void }
    }

    /// Tells of a parameter whose type does not fit its direction, or the place (specification, section 6.8).
    fn parameter_type(&mut self, one: &'t tree::Parameter, of: &Type, place: Takes) {
        let kind = self.spell(of);
        let span = one.ident.span;
        let directed = one.direction != Direction::None;
        match of {
            Type::Void => {
                self.error(one.of.span, "no parameter is of type void");
            }
            Type::Integer | Type::String if directed => {
                self.error(span, format!("a parameter of type {kind} has no direction"));
            }
            Type::Object(..) if directed => {
                self.error(span, format!("`{}` is an object: it has no direction", one.ident.name));
            }
            Type::Object(id, _) => {
                let is_type =
                    matches!(self.object(*id).kind, ObjectKind::ParserType | ObjectKind::ControlType);
                let fits =
                    self.object(*id).kind == ObjectKind::Extern || is_type && place == Takes::Constructor;
                if !fits && place != Takes::Package {
                    self.error(span, format!("only packages have parameters of type {kind}"));
                }
            }
            _ => {}
        }
    }

    /// Declares parameters as names of the innermost block.
    pub fn declare_parameters(
        &mut self, written: &'t [tree::Parameter], signature: &Signature, constant: bool,
    ) {
        for (one, parameter) in written.iter().zip(&signature.parameters) {
            let writable = matches!(parameter.direction, Direction::Out | Direction::InOut);
            let is_constant = constant && parameter.direction == Direction::None;
            let variable = Variable { is_constant, ..Variable::new(parameter.of.clone(), writable) };
            self.declare(&one.ident.name, Entity::Value(variable), one.ident.span);
        }
    }

    /// The type that a function or method returns; none for a constructor.
    pub fn returns(&mut self, written: &'t tree::Signature) -> Type {
        let Some(returns) = &written.returns else { return Type::Void };
        let of = self.complete_type(returns);
        if returns.has_any() {
            self.error(returns.span, "the type that is returned has no `_`");
            return Type::Wrong;
        }
        of
    }
}
