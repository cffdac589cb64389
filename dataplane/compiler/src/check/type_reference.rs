//! From a type as it is written to the type that it is.

use std::rc::Rc;

use num_bigint::BigInt;

use super::constant::Value;
use super::infer::specialise;
use super::scope::Entity;
use super::types::{Shape, Type};
use super::{Checker, ObjectKind};
use crate::source::Span;
use crate::syntax::number::WIDEST;
use crate::syntax::tree::{self, Expression, Path, TypeKind};

/// The most fields and elements of a type, those of its fields among them.
const MOST_PARTS: u32 = 1 << 17;

impl<'t> Checker<'t, '_> {
    /// The type that is written; [`Type::Wrong`] with a message if there is none.
    pub fn type_reference(&mut self, written: &'t tree::Type) -> Type {
        let mut of = self.read_type(written);
        if of.parts() > MOST_PARTS {
            self.error(written.span, format!("values of this type have more than {MOST_PARTS} parts"));
            of = Type::Wrong;
        }
        self.facts.types.insert(written.id, of.clone());
        of
    }

    fn read_type(&mut self, written: &'t tree::Type) -> Type {
        match &written.kind {
            TypeKind::Void => Type::Void,
            TypeKind::Bool => Type::Bool,
            TypeKind::Error => Type::Error,
            TypeKind::String => Type::String,
            TypeKind::MatchKind => Type::MatchKind,
            TypeKind::Integer => Type::Integer,
            TypeKind::Any => self.inference.fresh(),
            TypeKind::Bits { signed, width: written } => {
                match self.known_size(written, "the width of a type") {
                    Some(0) if *signed => {
                        self.error(written.span, "a number with a sign has one bit at least");
                        Type::Wrong
                    }
                    Some(width) => Type::Bits { width, signed: *signed },
                    None => Type::Wrong,
                }
            }
            TypeKind::Varbit(width) => {
                self.known_size(width, "the width of a type").map_or(Type::Wrong, Type::Varbit)
            }
            TypeKind::Named(path) => self.named(path, &[], written.span),
            TypeKind::Specialized(path, arguments) => {
                let arguments: Vec<Type> = arguments.iter().map(|one| self.type_argument(one)).collect();
                self.named(path, &arguments, written.span)
            }
            TypeKind::Array(of, size) => self.array(of, size),
            TypeKind::Tuple(types) => Type::Tuple(types.iter().map(|one| self.element(one)).collect()),
            TypeKind::List(of) => Type::List(Rc::new(self.type_reference(of))),
        }
    }

    /// A number of bits or elements that the compiler must know.
    pub fn size(&mut self, written: &'t Expression, what: &str) -> Option<u32> {
        let typed = self.constant(written, what)?;
        let Value::Number(number) = &typed.1 else {
            let message = format!("{what} is a number, found {}", self.spell(&typed.0));
            self.error(written.span, message);
            return None;
        };
        let size = u32::try_from(number).ok().filter(|&size| size <= WIDEST);
        if size.is_none() {
            let message = if *number < BigInt::from(0) {
                format!("{what} cannot be negative: it is {number}")
            } else {
                format!("{what} is at most {WIDEST}: it is {number}")
            };
            self.error(written.span, message);
        }
        size
    }

    /// A size that may not depend on the parameters of a constructor.
    fn known_size(&mut self, written: &'t Expression, what: &str) -> Option<u32> {
        let before = self.diagnostics.len();
        let size = self.size(written, what);
        if size.is_none() && self.diagnostics.len() == before {
            self.error(written.span, format!("{what} is a constant, and this is not known before"));
        }
        size
    }

    fn array(&mut self, of: &'t tree::Type, size: &'t Expression) -> Type {
        let element = self.type_reference(of);
        let Some(size) = self.known_size(size, "the size of an array") else { return Type::Wrong };
        if element.is_wrong() {
            return element;
        }
        let allowed = element.is_header()
            || element.is_union()
            || matches!(element, Type::Parameter(_) | Type::Object(..) | Type::Array(..))
            || element.width().is_some();
        if !allowed {
            let message = format!("there are no arrays of {}", self.spell(&element));
            self.error(of.span, message);
            return Type::Wrong;
        }
        Type::Array(Rc::new(element), size)
    }

    /// The type of a part of a tuple.
    fn element(&mut self, written: &'t tree::Type) -> Type {
        let of = self.complete_type(written);
        if matches!(of, Type::Object(..) | Type::Void) {
            self.error(written.span, format!("a tuple has no parts of type {}", self.spell(&of)));
            return Type::Wrong;
        }
        of
    }

    /// A type between `<` and `>`.
    fn type_argument(&mut self, written: &'t tree::Type) -> Type {
        let of = self.complete_type(written);
        match &of {
            Type::Object(id, _) if !matches!(self.object(*id).kind, ObjectKind::Extern) => {
                let kind = self.spell(&of);
                self.error(written.span, format!("`{kind}` cannot stand for a type parameter"));
                Type::Wrong
            }
            _ => of,
        }
    }

    /// A type in a place that does not tell what the type parameters of a generic one are.
    pub fn complete_type(&mut self, written: &'t tree::Type) -> Type {
        let of = self.type_reference(written);
        let open =
            |types: &[Type]| types.iter().any(|one| matches!(self.inference.shallow(one), Type::Variable(_)));
        let open = match &of {
            Type::Composite(composite) => open(&composite.arguments),
            Type::Object(_, arguments) => open(arguments),
            _ => false,
        };
        if let (TypeKind::Named(path), true) = (&written.kind, open) {
            let name = &path.ident.name;
            self.error(written.span, format!("`{name}` is generic, and its type parameters have no types"))
                .help(format!("`{name}<bit<32>>`, say"));
            return Type::Wrong;
        }
        of
    }

    fn named(&mut self, path: &Path, arguments: &[Type], span: Span) -> Type {
        let name = &path.ident.name;
        let Some(found) = self.scopes.find(name, path.absolute).cloned() else {
            return self.no_type(path);
        };
        let parameters = match &found.entity {
            Entity::Type(of) if arguments.is_empty() || of.is_wrong() => return of.clone(),
            Entity::Type(_) => Vec::new(),
            Entity::Generic(generic) => generic.parameters.clone(),
            Entity::Object(id) => self.object(*id).type_parameters.clone(),
            _ => {
                self.error(path.ident.span, format!("`{name}` is not a type")).declared(name, found.span);
                return Type::Wrong;
            }
        };
        let arguments = if arguments.is_empty() {
            // They are inferred, where something is made of the type.
            parameters.iter().map(|_| self.inference.fresh()).collect()
        } else if arguments.len() == parameters.len() {
            arguments.to_vec()
        } else {
            let (wants, has) = (parameters.len(), arguments.len());
            self.error(span, format!("`{name}` has {wants} type parameters, and {has} types are given"))
                .declared(name, found.span);
            return Type::Wrong;
        };
        let of = match &found.entity {
            Entity::Generic(generic) => specialise(&generic.of, &parameters, &arguments),
            Entity::Object(id) => Type::Object(*id, arguments.clone().into()),
            _ => return Type::Wrong,
        };
        self.check_arguments(&of, &arguments, span);
        of
    }

    /// Tells of a generic type that is an argument of itself, and of fields that get a type which they cannot have.
    fn check_arguments(&mut self, of: &Type, arguments: &[Type], span: Span) {
        let same = |part: &Type| match (part, of) {
            (Type::Composite(one), Type::Composite(other)) => one.name == other.name,
            (Type::Object(one, _), Type::Object(other, _)) => one == other,
            _ => false,
        };
        if arguments.iter().any(|one| one.contains(&same)) {
            self.error(span, format!("{} has itself between `<` and `>`", self.spell(of)));
        } else if let Type::Composite(composite) = of {
            for field in &composite.fields {
                let field_type = self.inference.resolve(&field.of);
                if !field_type.contains(&|part| matches!(part, Type::Variable(_))) {
                    self.check_field(composite.shape, &field_type, span);
                }
            }
        }
    }

    fn no_type(&mut self, path: &Path) -> Type {
        let name = &path.ident.name;
        let near = self.similar(name, |entity| {
            matches!(entity, Entity::Type(_) | Entity::Generic(_) | Entity::Object(_))
        });
        if !self.unknown.insert(name.clone()) {
            return Type::Wrong;
        }
        let c =
            "uint uint8_t uint16_t uint32_t uint64_t uint64 uint32 uint16 uint8 char float double long short";
        let error = self.error(path.ident.span, format!("there is no type `{name}`"));
        if c.split(' ').any(|one| one == &**name) {
            error.help("P4 writes the width of a number: `bit<32>`");
        } else if let Some(file) = file_of(name) {
            error.help(format!("`#include <{file}>`"));
        } else {
            error.meant(near);
        }
        Type::Wrong
    }

    /// Tells of a type that a field cannot have.
    pub fn check_field(&mut self, shape: Shape, of: &Type, span: Span) {
        let of = self.inference.resolve(of);
        let fits = match (&of, shape) {
            (Type::Wrong | Type::Parameter(_), _) => true,
            (Type::Bits { .. } | Type::Bool | Type::Varbit(_), Shape::Header) => true,
            (Type::Enum(one), Shape::Header) => one.of.is_some(),
            (Type::New(new), _) => return self.check_field(shape, &new.of, span),
            (Type::Composite(inner), Shape::Header) => {
                inner.shape == Shape::Struct && inner.fields.iter().all(|field| field.of.width().is_some())
            }
            (Type::Array(inner, _), Shape::Header) => {
                !inner.is_header() && !inner.is_union() && inner.width().is_some()
            }
            (of, Shape::Union) => of.is_header(),
            (Type::Varbit(_), Shape::Struct) => true,
            (Type::Integer | Type::String | Type::Void | Type::Set(_) | Type::MatchKind, _) => false,
            (Type::Object(..), _) => false,
            (_, Shape::Struct) => true,
            _ => false,
        };
        if !fits {
            let what = match shape {
                Shape::Header => "a header",
                Shape::Union => "a header union",
                Shape::Struct => "a struct",
            };
            let of = self.spell(&of);
            self.error(span, format!("{what} has no fields of type {of}"));
        }
    }
}

/// The file that declares a name which programs use without including it.
pub fn file_of(name: &str) -> Option<&'static str> {
    match name {
        "packet_in" | "packet_out" | "NoAction" | "verify" => Some("core.p4"),
        "V1Switch" | "standard_metadata_t" | "mark_to_drop" | "register" | "counter" | "meter" => {
            Some("v1model.p4")
        }
        _ => None,
    }
}
