//! Values of expressions: code for numbers, places for headers and structs, objects.

use num_bigint::BigInt;

use super::ir::{Expr, FieldRef, HeaderRef, StackId, UnionRef};
use super::storage::STANDARD;
use crate::check::constant;
use crate::check::types::{ObjectId, Type};
use crate::source::Name;

#[derive(Clone, Debug)]
pub enum Value {
    /// A number, truth or member of an enum. A field can be assigned to.
    Scalar(Expr),
    /// Bits of a field: `field[high:low]`.
    Slice(FieldRef, u32, u32),
    Header(HeaderRef),
    Union(UnionRef),
    Stack(StackId),
    UnionStack(usize),
    /// A struct, tuple, list or array: its parts by name.
    Group(Vec<(Name, Value)>),
    /// `{#}`
    Invalid,
    Text(Name),
    Object(Object),
    /// The table that was applied.
    Applied(usize),
    Nothing,
}

/// An instance.
#[derive(Clone, Debug)]
pub struct Object {
    pub id: ObjectId,
    pub types: Vec<Type>,
    /// A parser's or control's arguments.
    pub arguments: Vec<(Name, Value)>,
    /// The name that the control plane knows, piece by piece.
    pub path: Vec<Name>,
    /// The part that the target keeps.
    pub state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    None,
    /// A counter, meter or register, by its number.
    Array(usize),
    Profile(usize),
    /// The packet, in parser and deparser.
    Packet,
    Checksum16,
}

impl Value {
    pub fn number(number: impl Into<BigInt>) -> Value {
        Value::Scalar(Expr::Number(number.into()))
    }

    #[must_use]
    pub fn part(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Group(parts) => parts.iter().find(|(part, _)| &**part == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Whether two values share a field that a program may write to.
    #[must_use]
    pub fn overlaps(&self, other: &Value) -> bool {
        let (mut mine, mut others) = (Vec::new(), Vec::new());
        self.places(&mut mine);
        other.places(&mut others);
        mine.iter().any(|one| others.iter().any(|two| one.meets(two)))
    }

    fn places(&self, found: &mut Vec<Touched>) {
        match self {
            Value::Scalar(expr) => touched(expr, found),
            Value::Slice(field, ..) => touched(&Expr::Field(field.clone()), found),
            Value::Header(header) => found.push(Touched(header.clone(), None)),
            Value::Group(parts) => parts.iter().for_each(|(_, part)| part.places(found)),
            Value::Stack(stack) => found.push(Touched(HeaderRef::Next(*stack), None)),
            Value::Union(_) | Value::UnionStack(_) => {
                found.push(Touched(HeaderRef::Member(UnionRef::Fixed(0), 0), None))
            }
            _ => {}
        }
    }
}

/// A header, or one field of it.
struct Touched(HeaderRef, Option<usize>);

impl Touched {
    fn meets(&self, other: &Touched) -> bool {
        let same = match (&self.0, &other.0) {
            (HeaderRef::Fixed(a), HeaderRef::Fixed(b)) => a == b,
            // Elements of stacks and unions are not told apart, but none is metadata.
            (HeaderRef::Fixed(id), _) | (_, HeaderRef::Fixed(id)) => *id > STANDARD,
            _ => true,
        };
        same && (self.1.is_none() || other.1.is_none() || self.1 == other.1)
    }
}

fn touched(expr: &Expr, found: &mut Vec<Touched>) {
    match expr {
        Expr::Field(field) => found.push(Touched(field.header.clone(), Some(field.field))),
        Expr::Valid(header) => found.push(Touched(header.clone(), None)),
        Expr::Not(a)
        | Expr::Complement(a)
        | Expr::Wrap(a, ..)
        | Expr::Clamp(a, ..)
        | Expr::FromBool(a)
        | Expr::ToBool(a) => touched(a, found),
        Expr::Binary(_, a, b) => {
            touched(a, found);
            touched(b, found);
        }
        Expr::Choice(a, b, c) => [a, b, c].into_iter().for_each(|part| touched(part, found)),
        _ => {}
    }
}

/// The code of a value that the compiler knows.
pub fn known(value: &constant::Value, of: &Type, errors: &[Name]) -> Value {
    match (value, of) {
        (constant::Value::Bool(truth), _) => Value::Scalar(Expr::Bool(*truth)),
        (constant::Value::Number(number), _) => Value::number(number.clone()),
        (constant::Value::String(text), _) => Value::Text(text.clone()),
        (constant::Value::Member(name), Type::Error) => {
            Value::number(errors.iter().position(|one| one == name).unwrap_or(0))
        }
        (constant::Value::Member(name), Type::Enum(one)) => {
            Value::number(one.members.iter().position(|(member, _)| member == name).unwrap_or(0))
        }
        (constant::Value::Member(name), _) => Value::Text(name.clone()),
        (constant::Value::List(items), _) => {
            let part = |(place, item): (usize, &constant::Value)| {
                let element = match of {
                    Type::Tuple(types) => types.get(place).cloned(),
                    Type::Array(element, _) | Type::List(element) => Some((**element).clone()),
                    _ => None,
                };
                (index_name(place), known(item, &element.unwrap_or(Type::Wrong), errors))
            };
            Value::Group(items.iter().enumerate().map(part).collect())
        }
        (constant::Value::Record(fields), of) => {
            let part = |(name, value): &(Name, constant::Value)| {
                let of = match of {
                    Type::Composite(composite) => composite.field(name).map(|field| field.of.clone()),
                    Type::New(_) => None,
                    _ => None,
                };
                (name.clone(), known(value, &of.unwrap_or(Type::Wrong), errors))
            };
            Value::Group(fields.iter().map(part).collect())
        }
        (constant::Value::Invalid, _) => Value::Invalid,
    }
}

/// The name of an element of a tuple or array.
#[must_use]
pub fn index_name(place: usize) -> Name {
    Name::from(&*place.to_string())
}
