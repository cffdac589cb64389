//! Declarations of types (P4_16 specification, section 7.2).

use std::rc::Rc;

use super::constant::Value;
use super::scope::{Entity, GenericType};
use super::types::{Composite, Enum, Field, New, Shape, Type};
use super::Checker;
use crate::source::{Name, Span};
use crate::syntax::tree::{self, Aliased, Ident, Member};

impl<'t> Checker<'t, '_> {
    pub fn composite(
        &mut self, ident: &'t Ident, shape: Shape, type_parameters: &'t [Ident], fields: &'t [tree::Field],
    ) {
        self.scopes.enter();
        let parameters = self.type_parameters(type_parameters);
        let mut found: Vec<Field> = Vec::new();
        let mut varbit: Option<Span> = None;
        for field in fields {
            self.annotations(&field.annotations);
            let of = self.complete_type(&field.of);
            self.check_field(shape, &of, field.of.span);
            if shape == Shape::Header && matches!(of.underlying(), Type::Varbit(_)) {
                if let Some(first) = varbit.replace(field.ident.span) {
                    self.error(field.ident.span, "a header has one varbit field at most")
                        .note(first, "the first one");
                }
            }
            if let Some(first) = found.iter().find(|other| other.name == field.ident.name) {
                self.error(field.ident.span, format!("the field `{}` is declared twice", field.ident.name))
                    .note(first.span, "its first declaration");
            }
            found.push(Field { name: field.ident.name.clone(), of, span: field.ident.span });
        }
        self.scopes.leave();
        let arguments = parameters.iter().cloned().map(Type::Parameter).collect();
        let composite = Composite::new(shape, ident.name.clone(), arguments, found, ident.span);
        let of = Type::Composite(Rc::new(composite));
        let entity = if parameters.is_empty() {
            Entity::Type(of)
        } else {
            Entity::Generic(Rc::new(GenericType { parameters, of }))
        };
        self.declare(&ident.name, entity, ident.span);
    }

    pub fn enumeration(&mut self, ident: &'t Ident, of: Option<&'t tree::Type>, members: &'t [Member]) {
        let of = of.map(|written| {
            let of = self.type_reference(written);
            if matches!(of, Type::Bits { .. } | Type::Wrong) {
                return of;
            }
            let kind = self.spell(&of);
            self.error(written.span, format!("the values of an enum are `bit` or `int`, not {kind}"));
            Type::Wrong
        });
        let mut found: Vec<(Name, Option<Value>)> = Vec::new();
        for member in members {
            if found.iter().any(|(name, _)| *name == member.ident.name) {
                self.twice(&member.ident, "member");
            }
            let value = match (&of, &member.value) {
                (Some(of), Some(value)) => self.value_of(value, of).value,
                (Some(_), None) => {
                    let message = format!("`{}` needs a value: the enum has a type", member.ident.name);
                    self.error(member.ident.span, message);
                    None
                }
                (None, Some(value)) => {
                    self.error(value.span, "members have values only if the enum has a type")
                        .help(format!("`enum bit<8> {} {{ ... }}`", ident.name));
                    None
                }
                (None, None) => None,
            };
            found.push((member.ident.name.clone(), value));
        }
        let one = Enum { name: ident.name.clone(), of, members: found, span: ident.span };
        self.declare(&ident.name, Entity::Type(Type::Enum(Rc::new(one))), ident.span);
    }

    pub fn typedef(&mut self, ident: &'t Ident, of: &'t Aliased) {
        let of = match of {
            Aliased::Type(written) => self.complete_type(written),
            Aliased::Declared(declaration) => {
                self.declaration(declaration);
                match self.scopes.find(&declaration.ident.name, false).map(|found| &found.entity) {
                    Some(Entity::Type(of)) => of.clone(),
                    _ => Type::Wrong,
                }
            }
        };
        self.declare(&ident.name, Entity::Type(of), ident.span);
    }

    pub fn new_type(&mut self, ident: &'t Ident, written: &'t tree::Type) {
        let of = self.type_reference(written);
        let fits = matches!(
            of,
            Type::Bits { .. }
                | Type::Bool
                | Type::Error
                | Type::Enum(_)
                | Type::New(_)
                | Type::Wrong
                | Type::Varbit(_)
        );
        if !fits {
            self.error(
                written.span,
                format!("`type` makes new types of numbers, not of {}", self.spell(&of)),
            );
        }
        let of = Type::New(Rc::new(New { name: ident.name.clone(), of }));
        self.declare(&ident.name, Entity::Type(of), ident.span);
    }
}
