//! The types of values (P4_16 specification, section 7).

use std::fmt;
use std::rc::Rc;

use crate::source::{Name, Span};
pub use crate::syntax::tree::Shape;

/// A declaration that types refer to: an extern, parser, control or package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

/// Makes values equal if some of their fields are.
macro_rules! equal_by {
    ($of:ident: $($field:ident),+) => {
        impl PartialEq for $of {
            fn eq(&self, other: &Self) -> bool {
                $(self.$field == other.$field)&&+
            }
        }

        impl Eq for $of {}

        impl std::hash::Hash for $of {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                $(self.$field.hash(state);)+
            }
        }
    };
}

equal_by!(TypeParameter: id);
equal_by!(Composite: name, arguments);
equal_by!(Enum: name);

/// A type. Two types are equal if their values may be assigned to each other without a cast.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// There is a message already: whatever is done with it is right.
    Wrong,
    Void,
    Bool,
    Error,
    String,
    MatchKind,
    /// Whole numbers without a width, known to the compiler.
    Integer,
    Bits {
        width: u32,
        signed: bool,
    },
    Varbit(u32),
    Composite(Rc<Composite>),
    Enum(Rc<Enum>),
    /// `type`
    New(Rc<New>),
    /// A stack of headers, or an array.
    Array(Rc<Type>, u32),
    Tuple(Rc<[Type]>),
    List(Rc<Type>),
    /// A key of a `select` or an entry.
    Set(Rc<Type>),
    /// `{x = 1}` before it is known of which struct.
    Record(Rc<[(Name, Type)]>),
    Object(ObjectId, Rc<[Type]>),
    Action,
    Table,
    /// The result of `table.apply()`: `hit`, `miss`, `action_run`.
    Applied,
    /// `action_run`
    ActionRun,
    /// A type parameter.
    Parameter(TypeParameter),
    /// To be inferred.
    Variable(u32),
}

#[derive(Clone, Debug)]
pub struct TypeParameter {
    pub id: u32,
    pub name: Name,
}

/// A header, header union or struct. One name is one type; generic ones differ by their arguments.
#[derive(Debug)]
pub struct Composite {
    pub shape: Shape,
    pub name: Name,
    pub arguments: Vec<Type>,
    pub fields: Vec<Field>,
    /// [`Type::parts`] of all fields together.
    pub parts: u32,
    pub span: Span,
}

#[derive(Debug)]
pub struct Field {
    pub name: Name,
    pub of: Type,
    pub span: Span,
}

impl Composite {
    #[must_use]
    pub fn new(shape: Shape, name: Name, arguments: Vec<Type>, fields: Vec<Field>, span: Span) -> Self {
        let parts = fields.iter().fold(1_u32, |sum, field| sum.saturating_add(field.of.parts()));
        Self { shape, name, arguments, fields, parts, span }
    }

    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| &*field.name == name)
    }
}

#[derive(Debug)]
pub struct Enum {
    pub name: Name,
    /// The type of the members' values, if they have any.
    pub of: Option<Type>,
    pub members: Vec<(Name, Option<super::constant::Value>)>,
    pub span: Span,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct New {
    pub name: Name,
    pub of: Type,
}

impl Type {
    #[must_use]
    pub fn bits(width: u32) -> Type {
        Type::Bits { width, signed: false }
    }

    #[must_use]
    pub fn is_wrong(&self) -> bool {
        *self == Type::Wrong
    }

    #[must_use]
    pub fn is_header(&self) -> bool {
        matches!(self, Type::Composite(composite) if composite.shape == Shape::Header)
    }

    #[must_use]
    pub fn is_union(&self) -> bool {
        matches!(self, Type::Composite(composite) if composite.shape == Shape::Union)
    }

    /// The type whose values it has: `type`s and enums with a type are made of another.
    #[must_use]
    pub fn underlying(&self) -> &Type {
        match self {
            Type::New(new) => new.of.underlying(),
            Type::Enum(one) => one.of.as_ref().map_or(self, Type::underlying),
            _ => self,
        }
    }

    /// The bits that a value takes in a packet or a register; the most for a varbit field. `None` if it has no size.
    #[must_use]
    pub fn width(&self) -> Option<u32> {
        self.measured(false)
    }

    /// The most bits that a value takes, or the least ones.
    #[must_use]
    pub fn measured(&self, least: bool) -> Option<u32> {
        match self.underlying() {
            Type::Bool => Some(1),
            Type::Varbit(_) if least => Some(0),
            Type::Bits { width, .. } | Type::Varbit(width) => Some(*width),
            Type::Composite(composite) => {
                let mut widths = composite.fields.iter().map(|field| field.of.measured(least));
                match composite.shape {
                    Shape::Union if least => widths.min()?,
                    Shape::Union => widths.max()?,
                    _ => sum(widths.by_ref()),
                }
            }
            Type::Tuple(types) => sum(types.iter().map(|one| one.measured(least))),
            Type::Array(of, size) => of.measured(least)?.checked_mul(*size),
            _ => None,
        }
    }

    /// How many values a value of the type is made of: types that name each other grow by a power of two.
    #[must_use]
    pub fn parts(&self) -> u32 {
        match self {
            Type::Composite(composite) => composite.parts,
            Type::Array(of, size) => of.parts().saturating_mul(*size),
            Type::Tuple(types) => types.iter().fold(1, |sum, one| sum.saturating_add(one.parts())),
            _ => 1,
        }
    }

    /// Replaces type parameters and variables for which `find` has a type.
    #[must_use]
    pub fn replace(&self, find: &dyn Fn(&Type) -> Option<Type>) -> Type {
        let all = |types: &[Type]| types.iter().map(|one| one.replace(find)).collect::<Vec<_>>();
        match self {
            Type::Parameter(_) | Type::Variable(_) => find(self).unwrap_or_else(|| self.clone()),
            Type::Composite(composite) if !composite.arguments.is_empty() => {
                let field = |field: &Field| Field {
                    name: field.name.clone(),
                    of: field.of.replace(find),
                    span: field.span,
                };
                let fields = composite.fields.iter().map(field).collect();
                let (name, arguments) = (composite.name.clone(), all(&composite.arguments));
                Type::Composite(Rc::new(Composite::new(
                    composite.shape,
                    name,
                    arguments,
                    fields,
                    composite.span,
                )))
            }
            Type::Array(of, size) => Type::Array(Rc::new(of.replace(find)), *size),
            Type::Tuple(types) => Type::Tuple(all(types).into()),
            Type::List(of) => Type::List(Rc::new(of.replace(find))),
            Type::Set(of) => Type::Set(Rc::new(of.replace(find))),
            Type::Object(id, arguments) => Type::Object(*id, all(arguments).into()),
            Type::Record(fields) => {
                Type::Record(fields.iter().map(|(name, of)| (name.clone(), of.replace(find))).collect())
            }
            _ => self.clone(),
        }
    }

    /// Whether a part of the type is one for which `test` holds.
    #[must_use]
    pub fn contains(&self, test: &dyn Fn(&Type) -> bool) -> bool {
        test(self)
            || match self {
                Type::Composite(composite) => composite.fields.iter().any(|field| field.of.contains(test)),
                Type::Array(of, _) | Type::List(of) | Type::Set(of) => of.contains(test),
                Type::Tuple(types) | Type::Object(_, types) => types.iter().any(|one| one.contains(test)),
                Type::Record(fields) => fields.iter().any(|(_, of)| of.contains(test)),
                Type::New(new) => new.of.contains(test),
                _ => false,
            }
    }
}

fn sum(mut widths: impl Iterator<Item = Option<u32>>) -> Option<u32> {
    widths.try_fold(0_u32, |sum, width| sum.checked_add(width?))
}

struct Arguments<'a>(&'a [Type]);

impl fmt::Display for Arguments<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, one) in self.0.iter().enumerate() {
            let before = if place == 0 { "<" } else { ", " };
            write!(formatter, "{before}{one}")?;
        }
        formatter.write_str(if self.0.is_empty() { "" } else { ">" })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Wrong => formatter.write_str("an unknown type"),
            Type::Void => formatter.write_str("void"),
            Type::Bool => formatter.write_str("bool"),
            Type::Error => formatter.write_str("error"),
            Type::String => formatter.write_str("string"),
            Type::MatchKind => formatter.write_str("match_kind"),
            Type::Integer => formatter.write_str("int"),
            Type::Bits { width, signed: false } => write!(formatter, "bit<{width}>"),
            Type::Bits { width, signed: true } => write!(formatter, "int<{width}>"),
            Type::Varbit(width) => write!(formatter, "varbit<{width}>"),
            Type::Composite(composite) => {
                write!(formatter, "{}{}", composite.name, Arguments(&composite.arguments))
            }
            Type::Enum(one) => write!(formatter, "{}", one.name),
            Type::New(new) => write!(formatter, "{}", new.name),
            Type::Array(of, size) => write!(formatter, "{of}[{size}]"),
            Type::Tuple(types) => write!(formatter, "tuple{}", Arguments(types)),
            Type::List(of) => write!(formatter, "list<{of}>"),
            Type::Set(of) => write!(formatter, "a set of {of}"),
            Type::Record(fields) => {
                formatter.write_str("{")?;
                for (place, (name, of)) in fields.iter().enumerate() {
                    write!(formatter, "{}{name}: {of}", if place == 0 { "" } else { ", " })?;
                }
                formatter.write_str("}")
            }
            Type::Object(_, _) => formatter.write_str("an object"),
            Type::Action => formatter.write_str("an action"),
            Type::Table => formatter.write_str("a table"),
            Type::Applied => formatter.write_str("the result of apply()"),
            Type::ActionRun => formatter.write_str("action_run"),
            Type::Parameter(parameter) => write!(formatter, "{}", parameter.name),
            Type::Variable(_) => formatter.write_str("_"),
        }
    }
}
