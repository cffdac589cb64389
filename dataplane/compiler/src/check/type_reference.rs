//! Types as programs write them: where they are used, and where they are declared (P4_16 specification,
//! section 7).

use std::rc::Rc;

use num_bigint::BigInt;

use super::constant::{fits, Value};
use super::infer::specialise;
use super::scope::Entity;
use super::types::{Composite, Enum, Field, New, Shape, Type, TypeParameter};
use super::{Checker, ObjectKind};
use crate::source::{Name, Span};
use crate::syntax::number::WIDEST;
use crate::syntax::tree::{self, Aliased, Expression, Ident, Member, Path, TypeKind};

/// The most fields and elements of a type, those of its fields among them.
const MOST_PARTS: u32 = 1 << 17;

impl<'t> Checker<'t, '_> {
    /// The type that is written; [`Type::Wrong`] with a message if there is none.
    pub fn type_reference(&mut self, written: &'t tree::Type) -> Type {
        let mut of = self.read_type(written);
        if of.parts() > MOST_PARTS {
            error!(self, written.span, "values of this type have more than {MOST_PARTS} parts");
            of = Type::Wrong;
        }
        self.facts.types.insert(written.id, of.clone());
        of
    }

    /// The kind of type (sections 7.1 and 7.2).
    fn read_type(&mut self, written: &'t tree::Type) -> Type {
        match &written.kind {
            TypeKind::Void => Type::Void,
            TypeKind::Bool => Type::Bool,
            TypeKind::Error => Type::Error,
            TypeKind::String => Type::String,
            TypeKind::MatchKind => Type::MatchKind,
            TypeKind::Integer => Type::Integer,
            TypeKind::Any => Type::fresh(),
            TypeKind::Bits { signed, width: written } => {
                match self.size(written, "the width of a type", true) {
                    Some(0) if *signed => {
                        self.error(written.span, "a number with a sign has one bit at least");
                        Type::Wrong
                    }
                    width => width.map_or(Type::Wrong, |width| Type::Bits { width, signed: *signed }),
                }
            }
            TypeKind::Varbit(width) => {
                self.size(width, "the width of a type", true).map_or(Type::Wrong, Type::Varbit)
            }
            TypeKind::Named(path) => self.named(path, Vec::new(), written.span),
            TypeKind::Specialized(path, arguments) => {
                let arguments = arguments.iter().map(|one| self.type_within(one, false)).collect();
                self.named(path, arguments, written.span)
            }
            TypeKind::Array(of, size) => self.array(of, size),
            TypeKind::Tuple(types) => {
                Type::Tuple(types.iter().map(|one| self.type_within(one, true)).collect())
            }
            TypeKind::List(of) => Type::List(Rc::new(self.type_reference(of))),
        }
    }

    /// A number of bits or elements that the compiler must know (section 18.1). The parameters of a
    /// constructor have no value here: they are checked where an object is made, but for sizes of types.
    pub fn size(&mut self, written: &'t Expression, what: &str, of_type: bool) -> Option<u32> {
        let before = self.diagnostics.len();
        let typed = self.expression(written, None);
        if typed.value.is_none() && (typed.varies() || of_type && self.diagnostics.len() == before) {
            error!(self, written.span, "{what} is a constant, and this is not known before");
        }
        let Value::Number(number) = typed.value? else {
            fail!(self, written.span, "{what} is a number, found {}", typed.of);
        };
        let size = u32::try_from(&number).ok().filter(|&size| size <= WIDEST);
        if number < BigInt::from(0) {
            error!(self, written.span, "{what} cannot be negative: it is {number}");
        } else if size.is_none() {
            error!(self, written.span, "{what} is at most {WIDEST}: it is {number}");
        }
        size
    }

    /// A stack of headers, or an array (section 7.2.3).
    fn array(&mut self, of: &'t tree::Type, size: &'t Expression) -> Type {
        let element = self.type_reference(of);
        let Some(size) = self.size(size, "the size of an array", true) else { return Type::Wrong };
        let fits = matches!(&element, Type::Wrong | Type::Parameter(_) | Type::Object(..) | Type::Array(..))
            || element.is_header()
            || element.is_union()
            || element.width().is_some();
        if !fits {
            error!(self, of.span, "there are no arrays of {element}");
        }
        if !fits || element.is_wrong() {
            return Type::Wrong;
        }
        Type::Array(Rc::new(element), size)
    }

    /// A type between `<` and `>`: of a tuple (section 7.2.8), or for a type parameter (section 7.2.11).
    fn type_within(&mut self, written: &'t tree::Type, of_tuple: bool) -> Type {
        let of = self.complete_type(written);
        match self.kind_of(&of) {
            Some(ObjectKind::Extern) if !of_tuple => return of,
            None if !of_tuple || of != Type::Void => return of,
            _ if of_tuple => error!(self, written.span, "a tuple has no parts of type {of}"),
            _ => error!(self, written.span, "`{of}` cannot stand for a type parameter"),
        };
        Type::Wrong
    }

    /// A type in a place that does not tell what the type parameters of a generic one are (section 7.2.11).
    pub fn complete_type(&mut self, written: &'t tree::Type) -> Type {
        let of = self.type_reference(written);
        let arguments = match &of {
            Type::Composite(composite) => &composite.arguments[..],
            Type::Object(_, arguments, _) => arguments,
            _ => &[],
        };
        match &written.kind {
            TypeKind::Named(path) if arguments.iter().any(Type::is_open) => {
                let name = &path.ident;
                error!(self, written.span, "`{name}` is generic, and its type parameters have no types")
                    .help(format!("`{name}<bit<32>>`, say"));
                Type::Wrong
            }
            _ => of,
        }
    }

    /// The type of a name, with types for its type parameters (sections 6.9 and 7.2.11).
    fn named(&mut self, path: &Path, arguments: Vec<Type>, span: Span) -> Type {
        let name = &path.ident.name;
        let Some(found) = self.find(path).cloned() else { return self.no_type(path) };
        let parameters = match &found.entity {
            Entity::Type(parameters, of)
                if parameters.is_empty() && (arguments.is_empty() || of.is_wrong()) =>
            {
                return of.clone();
            }
            Entity::Type(parameters, _) => parameters.clone(),
            Entity::Object(id) => self.object(*id).type_parameters.clone(),
            _ => {
                error!(self, path.ident.span, "`{name}` is not a type").declared(name, found.span);
                return Type::Wrong;
            }
        };
        let arguments = self.type_arguments((name, found.span), &parameters, arguments, span);
        let Some(arguments) = arguments else { return Type::Wrong };
        let of = match &found.entity {
            Entity::Type(_, of) => specialise(of, &parameters, &arguments),
            Entity::Object(id) => Type::Object(*id, arguments.clone().into(), name.clone()),
            _ => return Type::Wrong,
        };
        self.check_arguments(&of, &arguments, span);
        of
    }

    /// The types for type parameters: the given ones, or else those to be inferred where something is made or
    /// called.
    pub fn type_arguments(
        &mut self, (name, declared): (&Name, Span), parameters: &[TypeParameter], given: Vec<Type>,
        span: Span,
    ) -> Option<Vec<Type>> {
        let (wants, has) = (parameters.len(), given.len());
        if has == 0 {
            return Some(parameters.iter().map(|_| Type::fresh()).collect());
        }
        if has != wants {
            error!(self, span, "`{name}` has {wants} type parameters, and {has} types are given")
                .declared(name, declared);
        }
        (has == wants).then_some(given)
    }

    /// Tells of a generic type that is an argument of itself, and of fields that get a type which they cannot
    /// have (section 7.2.8).
    fn check_arguments(&mut self, of: &Type, arguments: &[Type], span: Span) {
        let same = |part: &Type| match (part, of) {
            (Type::Composite(one), Type::Composite(other)) => one.name == other.name,
            (Type::Object(one, ..), Type::Object(other, ..)) => one == other,
            _ => false,
        };
        if arguments.iter().any(|one| one.contains(&same)) {
            error!(self, span, "{of} has itself between `<` and `>`");
        } else if let Type::Composite(composite) = of {
            for field in &composite.fields {
                let of = field.of.resolve();
                if !of.contains(&Type::is_open) {
                    self.check_field(composite.shape, &of, span);
                }
            }
        }
    }

    fn no_type(&mut self, path: &Path) -> Type {
        let name = &path.ident.name;
        let near = self.similar(name, |entity| matches!(entity, Entity::Type(..) | Entity::Object(_)));
        if !self.unknown.insert(name.clone()) {
            return Type::Wrong;
        }
        let error = error!(self, path.ident.span, "there is no type `{name}`");
        match cure_of(name) {
            Some(cure) => error.help(cure),
            None => error.meant(near),
        };
        Type::Wrong
    }

    /// Tells of a type that a field cannot have (section 7.2.8).
    pub fn check_field(&mut self, shape: Shape, of: &Type, span: Span) {
        let fits = match (of.known(), shape) {
            (Type::Wrong | Type::Parameter(_), _) => true,
            (Type::New(new), _) => return self.check_field(shape, &new.of, span),
            (of, Shape::Union) => of.is_header(),
            (Type::Bits { .. } | Type::Bool | Type::Varbit(_), Shape::Header) => true,
            (Type::Enum(one), Shape::Header) => one.of.is_some(),
            (Type::Composite(inner), Shape::Header) => {
                inner.shape == Shape::Struct && of.width().is_some() && !of.contains(&Type::is_header)
            }
            (Type::Array(inner, _), Shape::Header) => {
                !inner.is_header() && !inner.is_union() && inner.width().is_some()
            }
            (_, Shape::Header) => false,
            (Type::Integer | Type::String | Type::Void | Type::Set(_) | Type::MatchKind, _) => false,
            (of, Shape::Struct) => !of.is_object() && !of.is_open(),
        };
        if !fits {
            error!(self, span, "a {} has no fields of type {of}", shape.word());
        }
    }

    /// A header, header union or struct (sections 7.2.2, 7.2.4 and 7.2.5).
    pub fn composite(
        &mut self, ident: &'t Ident, shape: Shape, type_parameters: &'t [Ident], fields: &'t [tree::Field],
    ) {
        self.scopes.enter();
        let parameters = self.type_parameters(type_parameters);
        let mut found: Vec<Field> = Vec::new();
        let mut varbit: Option<Span> = None;
        for field in fields {
            self.annotations(&field.annotations);
            let (of, Ident { name, span }) = (self.complete_type(&field.of), field.ident.clone());
            self.check_field(shape, &of, field.of.span);
            if shape == Shape::Header && matches!(of.underlying(), Type::Varbit(_)) {
                if let Some(first) = varbit.replace(span) {
                    self.error(span, "a header has one varbit field at most").note(first, "the first one");
                }
            }
            if let Some(first) = found.iter().find(|other| other.name == name) {
                self.twice(&field.ident, "field").note(first.span, "its first declaration");
            }
            found.push(Field { name, of, span });
        }
        self.scopes.leave();
        let arguments = parameters.iter().cloned().map(Type::Parameter).collect();
        let composite = Composite::new(shape, ident.name.clone(), arguments, found, ident.span);
        let of = Type::Composite(Rc::new(composite));
        self.declare(ident, Entity::Type(parameters, of));
    }

    /// An enum, with values if it has a type (section 7.2.1).
    pub fn enumeration(&mut self, ident: &'t Ident, of: Option<&'t tree::Type>, members: &'t [Member]) {
        let of = of.map(|written| {
            let of = self.type_reference(written);
            if matches!(of, Type::Bits { .. } | Type::Wrong) {
                return of;
            }
            error!(self, written.span, "the values of an enum are `bit` or `int`, not {of}");
            Type::Wrong
        });
        let mut found: Vec<(Name, Option<Value>)> = Vec::new();
        for member in members {
            if found.iter().any(|(name, _)| *name == member.ident.name) {
                self.twice(&member.ident, "member");
            }
            let value = match (&of, &member.value) {
                (Some(of), Some(value)) => {
                    let typed = self.expression(value, Some(of));
                    match typed.number() {
                        Some(number) if typed.of == Type::Integer && !fits(number, of) => {
                            error!(self, value.span, "{number} is no value of {of}");
                            None
                        }
                        _ => self.coerce(value, typed, of).value,
                    }
                }
                (Some(_), None) => {
                    error!(self, member.ident.span, "`{}` needs a value: the enum has a type", member.ident);
                    None
                }
                (None, Some(value)) => {
                    self.error(value.span, "members have values only if the enum has a type")
                        .help(format!("`enum bit<8> {ident} {{ ... }}`"));
                    None
                }
                (None, None) => None,
            };
            found.push((member.ident.name.clone(), value));
        }
        let one = Enum { name: ident.name.clone(), of, members: found, span: ident.span };
        self.declare(ident, Entity::Type(Vec::new(), Type::Enum(Rc::new(one))));
    }

    /// `typedef` (section 7.5).
    pub fn typedef(&mut self, ident: &'t Ident, of: &'t Aliased) {
        let of = match of {
            Aliased::Type(written) => self.complete_type(written),
            Aliased::Declared(declaration) => {
                self.declaration(declaration);
                match self.scopes.find(&declaration.ident.name, false).map(|found| &found.entity) {
                    Some(Entity::Type(parameters, of)) if parameters.is_empty() => of.clone(),
                    _ => Type::Wrong,
                }
            }
        };
        self.declare(ident, Entity::Type(Vec::new(), of));
    }

    /// `type` (section 7.6).
    pub fn new_type(&mut self, ident: &'t Ident, written: &'t tree::Type) {
        let of = self.type_reference(written);
        match of {
            Type::Bits { .. } | Type::Bool | Type::New(_) | Type::Wrong => {}
            _ => {
                error!(self, written.span, "`type` makes new types of bit<>, int<> and bool, not of {of}");
            }
        }
        let of = Type::New(Rc::new(New { name: ident.name.clone(), of }));
        self.declare(ident, Entity::Type(Vec::new(), of));
    }
}

/// The cure for an unknown name: one of a file that is not included, or a word of another language.
pub fn cure_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "packet_in" | "packet_out" | "NoAction" | "verify" => "`#include <core.p4>`",
        "V1Switch" | "standard_metadata_t" | "mark_to_drop" | "register" | "counter" | "meter" => {
            "`#include <v1model.p4>`"
        }
        "goto" => "`transition accept;`",
        "apply" => "`table.apply();`",
        "extract" | "lookahead" | "advance" | "emit" => "a method of the packet: `packet.extract(...)`",
        "True" | "TRUE" => "`true`",
        "False" | "FALSE" => "`false`",
        "null" | "NULL" | "None" | "isValid" | "valid" => "`.isValid()` says whether a header is there",
        "sizeof" => "`.minSizeInBytes()` of a type or a value",
        "printf" | "print" => "`log_msg(\"...\", {...})`",
        "drop" => "`mark_to_drop(...)` drops a packet",
        _ => match name.trim_end_matches("_t").trim_end_matches(|one: char| one.is_ascii_digit()) {
            "bit" | "int" | "uint" | "char" | "short" | "long" | "float" | "double" | "var" | "let"
            | "auto" => "P4 writes the width of a number: `bit<32>`",
            _ => return None,
        },
    })
}
