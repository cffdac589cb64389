//! Types that are not known yet, and types in the place of type parameters (P4_16 specification, sections
//! 7.2.11, 7.2.14 and 8.20).

use std::cell::OnceCell;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use super::types::{Type, TypeParameter};

/// The type that a variable stands for, once something said it. Two variables are equal if they are the same
/// one.
#[derive(Clone, Debug, Default)]
pub struct Hole(Rc<OnceCell<Type>>);

impl PartialEq for Hole {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Hole {}

impl Hash for Hole {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Rc::as_ptr(&self.0).hash(state);
    }
}

impl Type {
    /// A type to be inferred (section 7.2.14).
    pub fn fresh() -> Type {
        Type::Variable(Hole::default())
    }

    /// The type that a variable stands for; other types are themselves.
    pub fn known(&self) -> &Type {
        match self {
            Type::Variable(hole) => hole.0.get().map_or(self, Type::known),
            _ => self,
        }
    }

    /// Whether nothing says so far what the type is.
    pub fn is_open(&self) -> bool {
        matches!(self.known(), Type::Variable(_))
    }

    /// The type with all that is known of it.
    pub fn resolve(&self) -> Type {
        self.replace(&|one| match one {
            Type::Variable(hole) => hole.0.get().map(Type::resolve),
            _ => None,
        })
    }

    /// Makes two types one (section 8.20); `false` if they are not, whatever the variables in them stand for.
    pub fn unify(&self, other: &Type) -> bool {
        let all = |one: &[Type], other: &[Type]| {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.unify(other))
        };
        match (self.known(), other.known()) {
            (Type::Wrong, _) | (_, Type::Wrong) => true,
            (Type::Variable(one), Type::Variable(other)) if one == other => true,
            (open @ Type::Variable(hole), of) | (of, open @ Type::Variable(hole)) => {
                !of.resolve().contains(&|part| part == open) && hole.0.set(of.clone()).is_ok()
            }
            (Type::Composite(one), Type::Composite(other)) => {
                one.name == other.name && all(&one.arguments, &other.arguments)
            }
            (Type::Array(one, size), Type::Array(other, other_size)) => {
                size == other_size && one.unify(other)
            }
            (Type::Tuple(one), Type::Tuple(other)) => all(one, other),
            (Type::List(one), Type::List(other)) | (Type::Set(one), Type::Set(other)) => one.unify(other),
            (Type::Object(one, types, _), Type::Object(other, other_types, _)) => {
                one == other && all(types, other_types)
            }
            (one, other) => one == other,
        }
    }
}

/// The type with `arguments` in the place of `parameters` (section 7.2.11).
pub fn specialise(of: &Type, parameters: &[TypeParameter], arguments: &[Type]) -> Type {
    if parameters.is_empty() {
        return of.clone();
    }
    of.replace(&|one| match one {
        Type::Parameter(parameter) => {
            let place = parameters.iter().position(|other| other == parameter)?;
            arguments.get(place).cloned()
        }
        _ => None,
    })
}
