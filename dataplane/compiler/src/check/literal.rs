//! Lists, records, default values and invalid headers (P4_16 specification, sections 7.3, 8.12 to 8.17 and
//! 8.26).

use super::constant::Value;
use super::expression::Typed;
use super::types::{Composite, Shape, Type};
use super::Checker;
use crate::source::{Name, Span};
use crate::syntax::tree::{Expression, Ident};

impl<'t> Checker<'t, '_> {
    /// `{a, b}` (sections 8.12 to 8.14): a tuple, unless its place wants a struct, an array or a list.
    pub fn list(
        &mut self, items: &'t [Expression], defaults: bool, want: Option<&Type>, span: Span,
    ) -> Typed {
        let want = want.map(|want| want.known().clone());
        let wanted: Vec<Type> = match &want {
            Some(Type::Composite(composite)) if composite.shape != Shape::Union => {
                composite.fields.iter().map(|field| field.of.clone()).collect()
            }
            Some(Type::Tuple(types)) => types.to_vec(),
            Some(Type::Array(of, size)) => vec![(**of).clone(); *size as usize],
            Some(Type::List(of)) => vec![(**of).clone(); items.len()],
            _ if defaults => fail!(self, span, "`...` needs a place whose type is known"),
            _ => {
                let parts: Vec<Typed> = items.iter().map(|item| self.expression(item, None)).collect();
                return whole(Type::Tuple(parts.iter().map(|one| one.of.clone()).collect()), parts);
            }
        };
        if items.len() > wanted.len() || items.len() < wanted.len() && !defaults {
            let (kind, wants, has) = (want.unwrap_or(Type::Wrong), wanted.len(), items.len());
            fail!(self, span, "{kind} has {wants} values, and {has} are given");
        }
        let given = items.iter().zip(&wanted).map(|(item, of)| self.value_of(item, of));
        let left_out = wanted.iter().skip(items.len()).map(by_default);
        let parts = given.chain(left_out).collect();
        whole(want.unwrap_or(Type::Wrong), parts)
    }

    /// `{x = a, y = b}` (section 8.13).
    pub fn record(
        &mut self, fields: &'t [(Ident, Expression)], defaults: bool, want: Option<&Type>, span: Span,
    ) -> Typed {
        for (place, (ident, _)) in fields.iter().enumerate() {
            if fields[..place].iter().any(|(other, _)| other.name == ident.name) {
                fail!(self, ident.span, "the field `{ident}` is given twice");
            }
        }
        let want = want.map(|want| want.known().clone());
        let composite = match &want {
            Some(Type::Composite(composite)) if composite.shape != Shape::Union => composite.clone(),
            // Nothing says to which struct it belongs.
            Some(Type::Variable(_) | Type::Parameter(_)) | None if !defaults => {
                let parts: Vec<Typed> =
                    fields.iter().map(|(_, value)| self.expression(value, None)).collect();
                let types =
                    fields.iter().zip(&parts).map(|((one, _), part)| (one.name.clone(), part.of.clone()));
                return whole(Type::Record(types.collect()), parts);
            }
            Some(Type::Wrong) => return Typed::default(),
            Some(other) => fail!(self, span, "{other} has no fields"),
            None => fail!(self, span, "`...` needs a place whose type is known"),
        };
        let of = Type::Composite(composite.clone());
        let mut given: Vec<(&Name, Typed)> = Vec::new();
        for (ident, value) in fields {
            let Some(field) = composite.field(&ident.name) else { return self.no_field(ident, &of) };
            given.push((&ident.name, self.value_of(value, &field.of)));
        }
        let mut parts = Vec::new();
        for field in &composite.fields {
            match given.iter().find(|(name, _)| **name == field.name) {
                Some((_, typed)) => parts.push(typed.clone()),
                None if defaults => parts.push(by_default(&field.of)),
                None => fail!(self, span, "the field `{}` of {of} has no value", field.name),
            }
        }
        whole(of, parts)
    }

    /// `...` alone (section 8.26).
    pub fn default_value(&mut self, want: Option<&Type>, span: Span) -> Typed {
        let Some(of) = want.map(|want| want.resolve()) else {
            fail!(self, span, "`...` needs a place whose type is known");
        };
        let value = default_of(&of);
        if value.is_none() && !matches!(of, Type::Wrong | Type::Parameter(_)) {
            fail!(self, span, "{of} has no default value");
        }
        Typed::new(of, value, true)
    }

    /// `{#}` (sections 8.17 and 8.19).
    pub fn invalid(&mut self, want: Option<&Type>, span: Span) -> Typed {
        match want.map(|want| want.known().clone()) {
            Some(of) if of.is_header() || of.is_union() || of.is_wrong() => Typed::known(of, Value::Invalid),
            Some(of) if of.is_open() => Typed::new(of, None, true),
            Some(of) => fail!(self, span, "`{{#}}` is an invalid header, and {of} is none"),
            None => fail!(self, span, "`{{#}}` needs a place whose type is known: `(header_t) {{#}}`"),
        }
    }
}

/// The default value of a type, for a part that is left out.
fn by_default(of: &Type) -> Typed {
    Typed::new(of.clone(), default_of(of), true)
}

/// A value of all its parts.
fn whole(of: Type, parts: Vec<Typed>) -> Typed {
    let is_constant = parts.iter().all(|one| one.is_constant);
    let values: Option<Vec<Value>> = parts.into_iter().map(|one| one.value).collect();
    let value = values.map(|values| match &of {
        Type::Composite(composite) => record_of(composite, values),
        Type::Record(fields) => {
            Value::Record(fields.iter().map(|(name, _)| name.clone()).zip(values).collect())
        }
        _ => Value::List(values),
    });
    Typed::new(of, value, is_constant)
}

fn record_of(composite: &Composite, values: Vec<Value>) -> Value {
    Value::Record(composite.fields.iter().map(|field| field.name.clone()).zip(values).collect())
}

/// The default value of a type (section 7.3).
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
