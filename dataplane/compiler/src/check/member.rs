//! Members: names behind a dot (P4_16 specification, sections 8.18 to 8.20).

use super::constant::Value;
use super::expression::Typed;
use super::types::Type;
use super::{Checker, Place};
use crate::source::{nearest, Span};
use crate::syntax::tree::{Expression, ExpressionKind, Ident};

impl<'t> Checker<'t, '_> {
    pub fn member(&mut self, of: &'t Expression, member: &'t Ident) -> Typed {
        if let ExpressionKind::Type(written) = &of.kind {
            let kind = self.type_reference(written);
            return self.member_of_type(&kind, member);
        }
        let (typed, kind) = self.typed(of, None);
        match &kind {
            Type::Wrong => Typed::wrong(),
            Type::Composite(composite) => match composite.field(&member.name) {
                Some(field) => Typed {
                    of: field.of.clone(),
                    writable: typed.writable,
                    value: field_of(typed.value.as_ref(), &member.name),
                    is_constant: typed.is_constant,
                },
                None => self.no_field(member, &kind),
            },
            Type::Array(element, _) if element.is_header() || element.is_union() => {
                self.member_of_stack(&typed, (**element).clone(), member, &kind)
            }
            Type::Applied => match &*member.name {
                "hit" | "miss" => Typed::of(Type::Bool),
                "action_run" => Typed::of(Type::ActionRun),
                _ => self.no_field(member, &kind),
            },
            Type::Record(fields) => match fields.iter().find(|(name, _)| *name == member.name) {
                Some((_, of)) => Typed {
                    value: field_of(typed.value.as_ref(), &member.name),
                    is_constant: typed.is_constant,
                    ..Typed::of(of.clone())
                },
                None => self.no_field(member, &kind),
            },
            _ => self.no_field(member, &kind),
        }
    }

    fn member_of_type(&mut self, of: &Type, member: &Ident) -> Typed {
        let nowhere = |name| (name, Span::default());
        let name = &member.name;
        match of {
            Type::Wrong => {}
            Type::Error if self.facts.errors.contains(name) => {
                return Typed::known(Type::Error, Value::Member(name.clone()));
            }
            Type::Error => {
                let near = nearest(name, self.facts.errors.iter().map(nowhere));
                self.error(member.span, format!("`error` has no member `{name}`")).meant(near);
            }
            Type::Enum(one) => match one.members.iter().find(|(other, _)| other == name) {
                Some((_, Some(value))) => return Typed::known(of.clone(), value.clone()),
                Some(_) if one.of.is_none() => {
                    return Typed::known(of.clone(), Value::Member(name.clone()));
                }
                Some(_) => {}
                None => {
                    let near = nearest(name, one.members.iter().map(|(name, _)| nowhere(name)));
                    self.error(member.span, format!("enum `{}` has no member `{name}`", one.name))
                        .declared(&one.name, one.span)
                        .meant(near);
                }
            },
            _ => {
                self.error(member.span, format!("the type {} has no member `{name}`", self.spell(of)));
            }
        }
        Typed::wrong()
    }

    fn member_of_stack(&mut self, typed: &Typed, element: Type, member: &Ident, of: &Type) -> Typed {
        let name = &*member.name;
        let element = Typed { writable: typed.writable, ..Typed::of(element) };
        match (name, of) {
            ("next" | "last" | "lastIndex", _) if self.place != Place::Parser => {
                self.wrong(member.span, format!("`{name}` of a stack is for parsers"))
            }
            ("next" | "last", _) => element,
            ("lastIndex", _) => Typed::of(Type::bits(32)),
            ("size", Type::Array(_, size)) => Typed::known(Type::bits(32), Value::Number((*size).into())),
            _ => self.no_field(member, of),
        }
    }

    /// Tells that there is no such member.
    pub fn no_field(&mut self, member: &Ident, of: &Type) -> Typed {
        let kind = self.spell(of);
        let mut message = format!("{kind} has no field `{}`", member.name);
        let mut declared = None;
        let mut near = None;
        match of {
            Type::Composite(composite) => {
                declared = Some(composite.span);
                let names = composite.fields.iter().map(|field| (&field.name, field.span));
                near = nearest(&member.name, names);
            }
            Type::Array(..) => {
                message = format!("the stack {kind} has no `{}`: its elements are `[0]`...", member.name)
            }
            Type::Table | Type::Action | Type::Object(..) => {
                message = format!("{kind} has no member `{}` that is a value", member.name);
            }
            _ => {}
        }
        let is_method = matches!(&*member.name, "isValid" | "setValid" | "setInvalid" | "apply");
        let error = self.error(member.span, message);
        if let Some(span) = declared {
            error.note(span, "the type");
        }
        if is_method {
            error.help(format!("a method is called: `.{}()`", member.name));
        }
        error.meant(near);
        Typed::wrong()
    }
}

fn field_of(value: Option<&Value>, name: &str) -> Option<Value> {
    match value {
        Some(Value::Record(fields)) => {
            fields.iter().find(|(field, _)| &**field == name).map(|(_, value)| value.clone())
        }
        _ => None,
    }
}
