//! Lists, records, default values and invalid headers (P4_16 specification, sections 8.13 to 8.17).

use super::constant::Value;
use super::expression::Typed;
use super::types::{Composite, Field, Shape, Type};
use super::Checker;
use crate::source::{Name, Span};
use crate::syntax::tree::{Expression, Ident};

impl<'t> Checker<'t, '_> {
    /// `{a, b}`: a tuple, unless its place wants a struct, an array or a list.
    pub fn list(
        &mut self, items: &'t [Expression], defaults: bool, want: Option<&Type>, span: Span,
    ) -> Typed {
        let want = want.map(|want| self.inference.shallow(want));
        let wanted: Vec<Type> = match &want {
            Some(Type::Composite(composite)) if composite.shape != Shape::Union => {
                composite.fields.iter().map(|field| field.of.clone()).collect()
            }
            Some(Type::Tuple(types)) => types.to_vec(),
            Some(Type::Array(of, size)) => vec![(**of).clone(); *size as usize],
            Some(Type::List(of)) => vec![(**of).clone(); items.len()],
            _ if defaults => {
                return self.wrong(span, "`...` needs a place whose type is known");
            }
            _ => return self.tuple(items),
        };
        if items.len() > wanted.len() || items.len() < wanted.len() && !defaults {
            let (wants, has) = (wanted.len(), items.len());
            let kind = want.map(|want| self.spell(&want)).unwrap_or_default();
            return self.wrong(span, format!("{kind} has {wants} values, and {has} are given"));
        }
        let typed: Vec<Typed> = items.iter().zip(&wanted).map(|(item, of)| self.value_of(item, of)).collect();
        let of = want.unwrap_or(Type::Wrong);
        let is_constant = typed.iter().all(|one| one.is_constant);
        let given = typed.into_iter().map(|one| one.value);
        let left_out = wanted[items.len()..].iter().map(default_of);
        let values: Option<Vec<Value>> = given.chain(left_out).collect();
        let value = values.map(|values| match &of {
            Type::Composite(composite) => record_of(composite, values),
            _ => Value::List(values),
        });
        Typed::new(of, value, is_constant)
    }

    fn tuple(&mut self, items: &'t [Expression]) -> Typed {
        let typed: Vec<Typed> = items.iter().map(|item| self.expression(item, None)).collect();
        let is_constant = typed.iter().all(|one| one.is_constant);
        let of = Type::Tuple(typed.iter().map(|one| one.of.clone()).collect());
        let values: Option<Vec<Value>> = typed.into_iter().map(|one| one.value).collect();
        Typed::new(of, values.map(Value::List), is_constant)
    }

    /// `{x = a, y = b}`
    pub fn record(
        &mut self, fields: &'t [(Ident, Expression)], defaults: bool, want: Option<&Type>, span: Span,
    ) -> Typed {
        for (place, (ident, _)) in fields.iter().enumerate() {
            if fields[..place].iter().any(|(other, _)| other.name == ident.name) {
                return self.wrong(ident.span, format!("the field `{}` is given twice", ident.name));
            }
        }
        let want = want.map(|want| self.inference.shallow(want));
        let composite = match &want {
            Some(Type::Composite(composite)) if composite.shape != Shape::Union => composite.clone(),
            Some(Type::Variable(_) | Type::Parameter(_)) | None if !defaults => {
                return self.anonymous(fields)
            }
            Some(Type::Wrong) => return Typed::wrong(),
            Some(other) => {
                return self.wrong(span, format!("{} has no fields", self.spell(other)));
            }
            None => {
                return self.wrong(span, "`...` needs a place whose type is known");
            }
        };
        let of = Type::Composite(composite.clone());
        let mut given: Vec<(&Name, Typed)> = Vec::new();
        for (ident, value) in fields {
            let Some(field) = composite.field(&ident.name) else { return self.no_field(ident, &of) };
            given.push((&ident.name, self.value_of(value, &field.of)));
        }
        let missing = |field: &&Field| given.iter().all(|(name, _)| **name != field.name);
        if let Some(field) = composite.fields.iter().find(missing).filter(|_| !defaults) {
            let message = format!("the field `{}` of {} has no value", field.name, self.spell(&of));
            return self.wrong(span, message);
        }
        let is_constant = given.iter().all(|(_, typed)| typed.is_constant);
        let value_of = |field: &Field| match given.iter().find(|(name, _)| **name == field.name) {
            Some((_, typed)) => typed.value.clone(),
            None => default_of(&field.of),
        };
        let values: Option<Vec<Value>> = composite.fields.iter().map(value_of).collect();
        Typed::new(of, values.map(|values| record_of(&composite, values)), is_constant)
    }

    /// A record of which nothing says to which struct it belongs.
    fn anonymous(&mut self, fields: &'t [(Ident, Expression)]) -> Typed {
        let typed: Vec<(Name, Typed)> =
            fields.iter().map(|(ident, value)| (ident.name.clone(), self.expression(value, None))).collect();
        let is_constant = typed.iter().all(|(_, one)| one.is_constant);
        let of = Type::Record(typed.iter().map(|(name, one)| (name.clone(), one.of.clone())).collect());
        let values: Option<_> = typed.into_iter().map(|(name, one)| Some((name, one.value?))).collect();
        Typed::new(of, values.map(Value::Record), is_constant)
    }

    pub fn default_value(&mut self, want: Option<&Type>, span: Span) -> Typed {
        let Some(of) = want.map(|want| self.inference.resolve(want)) else {
            return self.wrong(span, "`...` needs a place whose type is known");
        };
        let value = default_of(&of);
        if value.is_none() && !matches!(of, Type::Wrong | Type::Parameter(_)) {
            return self.wrong(span, format!("{} has no default value", self.spell(&of)));
        }
        Typed::new(of, value, true)
    }

    /// `{#}`
    pub fn invalid(&mut self, want: Option<&Type>, span: Span) -> Typed {
        let of = want.map(|want| self.inference.shallow(want));
        match of {
            Some(of) if of.is_header() || of.is_union() || of.is_wrong() => Typed::known(of, Value::Invalid),
            Some(of) if matches!(of, Type::Variable(_)) => Typed { is_constant: true, ..Typed::of(of) },
            Some(of) => {
                self.wrong(span, format!("`{{#}}` is an invalid header, and {} is none", self.spell(&of)))
            }
            None => self.wrong(span, "`{#}` needs a place whose type is known: `(header_t) {#}`"),
        }
    }
}

fn record_of(composite: &Composite, values: Vec<Value>) -> Value {
    Value::Record(composite.fields.iter().map(|field| field.name.clone()).zip(values).collect())
}

/// The default value of a type (specification, section 7.3).
#[must_use]
pub fn default_of(of: &Type) -> Option<Value> {
    Some(match of {
        Type::Bits { .. } | Type::Integer => Value::Number(0.into()),
        Type::Bool => Value::Bool(false),
        Type::Error => Value::Member("NoError".into()),
        Type::Enum(one) if one.of.is_some() => Value::Number(0.into()),
        Type::Enum(one) => Value::Member(one.members.first()?.0.clone()),
        Type::New(new) => default_of(&new.of)?,
        Type::Tuple(types) => Value::List(types.iter().map(default_of).collect::<Option<_>>()?),
        Type::Array(element, size) => Value::List(vec![default_of(element)?; *size as usize]),
        Type::Composite(composite) if composite.shape == Shape::Struct => {
            let values: Option<Vec<Value>> =
                composite.fields.iter().map(|field| default_of(&field.of)).collect();
            record_of(composite, values?)
        }
        Type::Composite(_) | Type::Varbit(_) => Value::Invalid,
        _ => return None,
    })
}
