//! Types that are not known yet (P4_16 specification, section 8.22).

use super::types::{Type, TypeParameter};

/// The types of variables, as far as they are known.
#[derive(Default)]
pub struct Inference(Vec<Option<Type>>);

impl Inference {
    pub fn fresh(&mut self) -> Type {
        self.0.push(None);
        Type::Variable(self.0.len() as u32 - 1)
    }

    /// The type with all that is known of it.
    #[must_use]
    pub fn resolve(&self, of: &Type) -> Type {
        of.replace(&|one| match one {
            Type::Variable(number) => self.0[*number as usize].as_ref().map(|known| self.resolve(known)),
            _ => None,
        })
    }

    /// The type that a variable stands for; other types are themselves.
    #[must_use]
    pub fn shallow(&self, of: &Type) -> Type {
        let mut of = of.clone();
        while let Type::Variable(number) = of {
            match &self.0[number as usize] {
                Some(known) => of = known.clone(),
                None => break,
            }
        }
        of
    }

    /// Makes two types one; `false` if they are not, whatever the variables in them stand for.
    pub fn unify(&mut self, one: &Type, other: &Type) -> bool {
        let (one, other) = (self.shallow(one), self.shallow(other));
        match (&one, &other) {
            (Type::Wrong, _) | (_, Type::Wrong) => true,
            (Type::Variable(a), Type::Variable(b)) if a == b => true,
            (Type::Variable(number), of) | (of, Type::Variable(number)) => {
                let inside = self.resolve(of);
                if inside.contains(&|part| *part == Type::Variable(*number)) {
                    return false;
                }
                self.0[*number as usize] = Some(of.clone());
                true
            }
            (Type::Composite(a), Type::Composite(b)) => {
                a.name == b.name && self.unify_all(&a.arguments, &b.arguments)
            }
            (Type::Array(a, size), Type::Array(b, other_size)) => size == other_size && self.unify(a, b),
            (Type::Tuple(a), Type::Tuple(b)) => self.unify_all(a, b),
            (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) => self.unify(a, b),
            (Type::Object(a, a_arguments), Type::Object(b, b_arguments)) => {
                a == b && self.unify_all(a_arguments, b_arguments)
            }
            (one, other) => one == other,
        }
    }

    fn unify_all(&mut self, one: &[Type], other: &[Type]) -> bool {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| self.unify(one, other))
    }
}

/// The type with `arguments` in the place of `parameters`.
#[must_use]
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
