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

equal_by!(Composite: name, arguments);
equal_by!(Enum: name);

/// A type. Two types are equal if their values may be assigned to each other without a cast.
///
/// - `Wrong`: there is a message already, and whatever is done with the value is right;
/// - `Integer`: whole numbers without a width, known to the compiler; `New`: `type`;
/// - `Array`: a stack of headers, or an array; `Set`: a key of a `select` or an entry;
/// - `Record`: `{x = 1}` before it is known of which struct;
/// - `Object`: an extern, parser, control or package, with its type arguments and its name;
/// - `Applied`: the result of `table.apply()` with its members `hit`, `miss`, and `action_run` of type
///   `ActionRun`;
/// - `Parameter`: a type parameter; `Variable`: to be inferred.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    Wrong,
    Void,
    Bool,
    Error,
    String,
    MatchKind,
    Integer,
    Bits { width: u32, signed: bool },
    Varbit(u32),
    Composite(Rc<Composite>),
    Enum(Rc<Enum>),
    New(Rc<New>),
    Array(Rc<Type>, u32),
    Tuple(Rc<[Type]>),
    List(Rc<Type>),
    Set(Rc<Type>),
    Record(Rc<[(Name, Type)]>),
    Object(ObjectId, Rc<[Type]>, Name),
    Action,
    Table,
    Applied,
    ActionRun,
    Parameter(TypeParameter),
    Variable(super::infer::Hole),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

#[derive(Clone, Debug)]
pub struct Field {
    pub name: Name,
    pub of: Type,
    pub span: Span,
}

impl Composite {
    pub fn new(shape: Shape, name: Name, arguments: Vec<Type>, fields: Vec<Field>, span: Span) -> Self {
        let parts = fields.iter().fold(1_u32, |sum, field| sum.saturating_add(field.of.parts()));
        Self { shape, name, arguments, fields, parts, span }
    }

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
    pub fn bits(width: u32) -> Type {
        Type::Bits { width, signed: false }
    }

    pub fn is_wrong(&self) -> bool {
        *self.known() == Type::Wrong
    }

    pub fn is_header(&self) -> bool {
        matches!(self.known(), Type::Composite(composite) if composite.shape == Shape::Header)
    }

    pub fn is_union(&self) -> bool {
        matches!(self.known(), Type::Composite(composite) if composite.shape == Shape::Union)
    }

    /// An array of headers or unions.
    pub fn is_stack(&self) -> bool {
        matches!(self.known(), Type::Array(element, _) if element.is_header() || element.is_union())
    }

    /// `bit<8>` and `int<8>`.
    pub fn is_bits(&self) -> bool {
        matches!(self.known(), Type::Bits { .. })
    }

    /// Numbers with a width and without (section 7.4).
    pub fn is_number(&self) -> bool {
        matches!(self.known(), Type::Bits { .. } | Type::Integer)
    }

    /// An extern, parser, control or package.
    pub fn is_object(&self) -> bool {
        matches!(self.known(), Type::Object(..))
    }

    /// The type whose values it has: `type`s and enums with a type are made of another.
    pub fn underlying(&self) -> &Type {
        match self.known() {
            Type::New(new) => new.of.underlying(),
            known => known.enum_values().map_or(known, Type::underlying),
        }
    }

    /// The type of the values of an enum's members, if they have one.
    pub fn enum_values(&self) -> Option<&Type> {
        match self.known() {
            Type::Enum(one) => one.of.as_ref(),
            _ => None,
        }
    }

    /// The bits that a value takes in a packet or a register; the most for a varbit field. `None` if it has
    /// no size.
    pub fn width(&self) -> Option<u32> {
        self.measured(false)
    }

    /// The most bits that a value takes, or the least ones.
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

    /// The number of values that a value of the type is made of: types that name each other grow by a power
    /// of two.
    pub fn parts(&self) -> u32 {
        match self {
            Type::Composite(composite) => composite.parts,
            Type::Array(of, size) => of.parts().saturating_mul(*size),
            Type::Tuple(types) => types.iter().fold(1, |sum, one| sum.saturating_add(one.parts())),
            _ => 1,
        }
    }

    /// Replaces type parameters and variables for which `find` has a type.
    pub fn replace(&self, find: &dyn Fn(&Type) -> Option<Type>) -> Type {
        let all = |types: &[Type]| types.iter().map(|one| one.replace(find)).collect::<Vec<_>>();
        match self {
            Type::Parameter(_) | Type::Variable(_) => find(self).unwrap_or_else(|| self.clone()),
            Type::Composite(composite) if !composite.arguments.is_empty() => {
                let field = |one: &Field| Field { of: one.of.replace(find), ..one.clone() };
                let (shape, name, span) = (composite.shape, composite.name.clone(), composite.span);
                let (arguments, fields) = (all(&composite.arguments), composite.fields.iter().map(field));
                Type::Composite(Rc::new(Composite::new(shape, name, arguments, fields.collect(), span)))
            }
            Type::Array(of, size) => Type::Array(Rc::new(of.replace(find)), *size),
            Type::Tuple(types) => Type::Tuple(all(types).into()),
            Type::List(of) => Type::List(Rc::new(of.replace(find))),
            Type::Set(of) => Type::Set(Rc::new(of.replace(find))),
            Type::Object(id, arguments, name) => Type::Object(*id, all(arguments).into(), name.clone()),
            Type::Record(fields) => {
                Type::Record(fields.iter().map(|(name, of)| (name.clone(), of.replace(find))).collect())
            }
            _ => self.clone(),
        }
    }

    /// Whether a part of the type is one for which `test` holds.
    pub fn contains(&self, test: &dyn Fn(&Type) -> bool) -> bool {
        test(self)
            || match self {
                Type::Composite(composite) => composite.fields.iter().any(|field| field.of.contains(test)),
                Type::Array(of, _) | Type::List(of) | Type::Set(of) => of.contains(test),
                Type::Tuple(types) | Type::Object(_, types, _) => types.iter().any(|one| one.contains(test)),
                Type::Record(fields) => fields.iter().any(|(_, of)| of.contains(test)),
                Type::New(new) => new.of.contains(test),
                _ => false,
            }
    }
}

fn sum(mut widths: impl Iterator<Item = Option<u32>>) -> Option<u32> {
    widths.try_fold(0_u32, |sum, width| sum.checked_add(width?))
}

/// `name<a, b>`, or the name alone.
fn generic(name: &str, arguments: &[Type]) -> String {
    match arguments {
        [] => name.to_owned(),
        _ => format!("{name}<{}>", arguments.iter().map(Type::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// The type as messages name it.
impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.known() {
            Type::Wrong => "an unknown type",
            Type::Void => "void",
            Type::Bool => "bool",
            Type::Error => "error",
            Type::String => "string",
            Type::MatchKind => "match_kind",
            Type::Integer => "int",
            Type::Action => "an action",
            Type::Table => "a table",
            Type::Applied => "the result of apply()",
            Type::ActionRun => "action_run",
            Type::Variable(_) => "_",
            Type::Enum(one) => &one.name,
            Type::New(new) => &new.name,
            Type::Parameter(parameter) => &parameter.name,
            Type::Bits { width, signed: false } => return write!(formatter, "bit<{width}>"),
            Type::Bits { width, signed: true } => return write!(formatter, "int<{width}>"),
            Type::Varbit(width) => return write!(formatter, "varbit<{width}>"),
            Type::Composite(one) => return formatter.write_str(&generic(&one.name, &one.arguments)),
            Type::Object(_, arguments, name) => return formatter.write_str(&generic(name, arguments)),
            Type::Tuple(types) => return formatter.write_str(&generic("tuple", types)),
            Type::Array(of, size) => return write!(formatter, "{of}[{size}]"),
            Type::List(of) => return write!(formatter, "list<{of}>"),
            Type::Set(of) => return write!(formatter, "a set of {of}"),
            Type::Record(fields) => {
                let fields: Vec<String> = fields.iter().map(|(name, of)| format!("{name}: {of}")).collect();
                return write!(formatter, "{{{}}}", fields.join(", "));
            }
        };
        formatter.write_str(name)
    }
}
