//! Values of expressions: code for numbers, places for headers and structs, objects; and the names that stand
//! for them (P4_16 specification, section 6.9).

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use num_bigint::BigInt;

use super::ir::{Expr, FieldRef, HeaderRef, Order, StackId};
use super::pass::Passed;
use crate::check::constant;
use crate::check::types::{ObjectId, Type};
use crate::source::Name;
use crate::syntax::tree::{Declaration, Table};

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number, truth or member of an enum. A field can be assigned to.
    Scalar(Expr),
    Header(HeaderRef),
    Union(HeaderRef),
    Stack(StackId),
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
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    pub id: ObjectId,
    pub types: Vec<Type>,
    /// A parser's or control's arguments.
    pub arguments: Vec<(Name, Value)>,
    /// The name that the control plane knows, piece by piece.
    pub path: Vec<Name>,
    pub order: Order,
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

    /// The value of a place: truths are numbers there.
    pub fn of(place: Expr, of: &Type) -> Value {
        Value::Scalar(if *of.underlying() == Type::Bool { Expr::ToBool(Box::new(place)) } else { place })
    }

    pub fn part(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Group(parts) => parts.iter().find(|(part, _)| &**part == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The field that a scalar is, if it is one.
    pub fn field(&self) -> Option<&FieldRef> {
        match self {
            Value::Scalar(Expr::Field(field)) => Some(field),
            Value::Scalar(Expr::ToBool(inner)) => match &**inner {
                Expr::Field(field) => Some(field),
                _ => None,
            },
            _ => None,
        }
    }

    /// The field that it is, if the target can name it: keys and field lists are made of those.
    pub fn fixed(&self) -> Option<Expr> {
        let is_fixed = |field: &&FieldRef| matches!(field.header, HeaderRef::Fixed(_));
        self.field().filter(is_fixed).map(|field| Expr::Field(field.clone()))
    }

    /// The number or truth that the compiler knows.
    pub fn constant(&self) -> Option<constant::Value> {
        match self {
            Value::Scalar(Expr::Number(number)) => Some(constant::Value::Number(number.clone())),
            Value::Scalar(Expr::Bool(truth)) => Some(constant::Value::Bool(*truth)),
            _ => None,
        }
    }

    /// A known number as the target takes it.
    pub fn as_number(&self) -> Option<BigInt> {
        match self.constant()? {
            constant::Value::Number(number) => Some(number),
            constant::Value::Bool(truth) => Some(i32::from(truth).into()),
            _ => None,
        }
    }
}

#[derive(Clone)]
pub enum Binding<'t> {
    Value(Value),
    /// A constant or an instance outside of all blocks: made when it is used first.
    Late(&'t Declaration),
    /// An action with the names that its body sees, and its order.
    Action(&'t Declaration, Rc<Environment<'t>>, Order),
    Table(&'t Table, usize),
}

/// The names of a block, and the block around it.
pub struct Environment<'t> {
    outer: Option<Rc<Environment<'t>>>,
    /// Whether it is an action's: what it finds outside was not passed to it.
    open: bool,
    names: RefCell<HashMap<Name, Binding<'t>>>,
}

impl<'t> Environment<'t> {
    pub fn outermost() -> Rc<Self> {
        Rc::new(Self { outer: None, open: false, names: RefCell::default() })
    }

    pub fn inside(outer: &Rc<Self>) -> Rc<Self> {
        outer.with(false, &[])
    }

    /// The names of a function, or of an action in its control.
    pub fn with(self: &Rc<Self>, open: bool, passed: &[Passed]) -> Rc<Self> {
        let names = passed.iter().map(|one| (one.name.clone(), Binding::Value(one.value.clone())));
        Rc::new(Self { outer: Some(self.clone()), open, names: RefCell::new(names.collect()) })
    }

    pub fn declare(&self, name: &Name, binding: Binding<'t>) {
        self.names.borrow_mut().insert(name.clone(), binding);
    }

    /// Gives a name something else to stand for, where it is declared.
    pub fn rebind(&self, name: &Name, binding: Binding<'t>) {
        match (self.names.borrow_mut().get_mut(name), &self.outer) {
            (Some(old), _) => *old = binding,
            (None, Some(outer)) => outer.rebind(name, binding),
            (None, None) => {}
        }
    }

    /// Whether it is in an action.
    pub fn is_open(&self) -> bool {
        self.open || self.outer.as_ref().is_some_and(|outer| outer.is_open())
    }

    pub fn find(&self, name: &str) -> Option<Binding<'t>> {
        self.reach(name).map(|(binding, _)| binding)
    }

    /// The meaning of a name, and whether an action finds it outside.
    pub fn reach(&self, name: &str) -> Option<(Binding<'t>, bool)> {
        if let Some(binding) = self.names.borrow().get(name) {
            return Some((binding.clone(), false));
        }
        self.outer.as_ref()?.reach(name).map(|(binding, outside)| (binding, outside || self.open))
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
                let name = index_name(place);
                let of = part_of(of, &name);
                (name, known(item, &of, errors))
            };
            Value::Group(items.iter().enumerate().map(part).collect())
        }
        (constant::Value::Record(fields), _) => {
            let part = |(name, value): &(Name, constant::Value)| {
                (name.clone(), known(value, &part_of(of, name), errors))
            };
            Value::Group(fields.iter().map(part).collect())
        }
        (constant::Value::Invalid, _) => Value::Invalid,
    }
}

/// The parts of a type by name: fields of headers, unions and structs, elements of tuples and arrays.
pub fn parts_of(of: &Type) -> Vec<(Name, Type)> {
    match of.underlying() {
        Type::Composite(one) => {
            one.fields.iter().map(|field| (field.name.clone(), field.of.clone())).collect()
        }
        Type::Tuple(types) => (0..).map(index_name).zip(types.iter().cloned()).collect(),
        Type::Array(element, size) => {
            (0..*size as usize).map(|place| (index_name(place), (**element).clone())).collect()
        }
        Type::Record(fields) => fields.to_vec(),
        _ => Vec::new(),
    }
}

/// The type of a part.
pub fn part_of(of: &Type, name: &str) -> Type {
    let found = parts_of(of).into_iter().find(|(part, _)| &**part == name);
    found.map_or_else(|| element_of(of), |(_, of)| of)
}

pub fn element_of(of: &Type) -> Type {
    match of.underlying() {
        Type::Array(element, _) | Type::List(element) => (**element).clone(),
        _ => Type::Wrong,
    }
}

/// The name of an element of a tuple or array.
pub fn index_name(place: usize) -> Name {
    Name::from(&*place.to_string())
}

/// The names of a value's parts: for messages and fields.
pub fn dotted(path: &[Name]) -> String {
    path.iter().map(|name| &**name).collect::<Vec<_>>().join(".")
}
