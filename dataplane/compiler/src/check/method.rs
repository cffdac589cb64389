//! Calls of methods: of externs, parsers and controls, tables, headers and stacks (specification,
//! sections 8.18 to 8.20).

use super::call::{count, Callee, Site};
use super::constant::Value;
use super::expression::Typed;
use super::scope::Entity;
use super::types::{ObjectId, Shape, Type};
use super::{Call, Checker, ObjectKind, Place, Target};
use crate::source::{nearest, Name, Span};
use crate::syntax::tree::{self, Argument, Expression, ExpressionKind, Ident};

impl<'t> Checker<'t, '_> {
    /// Arguments of a packet's `extract`, `lookahead` and `advance` (specification, section 13.8).
    pub fn packet_method(&mut self, call: Site, name: &str, returns: &Type, arguments: &'t [Argument]) {
        let header = arguments.first().and_then(|one| self.facts.types.get(&one.value.id));
        let header = header.map_or(Type::Wrong, |of| self.inference.resolve(of));
        let has_varbit = |of: &Type| of.contains(&|part| matches!(part, Type::Varbit(_)));
        let fits =
            header.is_header() || matches!(header, Type::Wrong | Type::Parameter(_) | Type::Variable(_));
        let (span, message) = match (name, arguments) {
            ("emit", [first])
                if matches!(header, Type::Bits { .. } | Type::Bool | Type::Enum(_) | Type::Error) =>
            {
                (first.value.span, format!("`emit` writes headers, and this is {}", self.spell(&header)))
            }
            ("extract", [first, ..]) if matches!(header, Type::Array(..)) => {
                let span = first.value.span;
                self.error(span, "`extract` fills one header, and this is a stack")
                    .help("its next one: `.next`");
                return;
            }
            ("extract", [first, ..]) if !fits => {
                (first.value.span, format!("`extract` fills a header, and this is {}", self.spell(&header)))
            }
            ("extract", [only]) if has_varbit(&header) => {
                (only.value.span, "the length of its varbit field is missing: `extract(header, bits)`".into())
            }
            ("extract", [first, _]) if header.is_header() && !has_varbit(&header) => {
                (first.value.span, "this header has no varbit field, and so takes no length".into())
            }
            ("lookahead", _) => {
                let of = self.inference.resolve(returns);
                if of.width().is_some() && !has_varbit(&of)
                    || of.contains(&|part| matches!(part, Type::Parameter(_) | Type::Wrong))
                {
                    return;
                }
                (
                    call.span,
                    format!("`lookahead` reads a known number of bits, and {} has none", self.spell(&of)),
                )
            }
            _ => return,
        };
        self.error(span, message);
    }

    pub fn method_call(
        &mut self, call: Site, of: &'t Expression, member: &'t Ident, types: &'t [tree::Type],
        arguments: &'t [Argument], want: Option<&Type>,
    ) -> Typed {
        if let ExpressionKind::Type(written) = &of.kind {
            let kind = self.type_reference(written);
            return self.method_of_type(call, &kind, written, member, arguments);
        }
        let (typed, kind) = self.typed(of, None);
        match &kind {
            Type::Wrong => self.arguments_alone(arguments),
            Type::Table if &*member.name == "apply" => self.apply_table(call, of, arguments),
            Type::Object(id, own) => self.method(call, (*id, own), member, types, arguments, want),
            Type::Composite(_)
            | Type::Array(..)
            | Type::Enum(_)
            | Type::Bits { .. }
            | Type::New(_)
            | Type::Tuple(_)
            | Type::Bool
            | Type::Varbit(_)
            | Type::Error => self.builtin(call, &typed, &kind, member, arguments),
            _ => {
                let message = format!("{} has no method `{}`", self.spell(&kind), member.name);
                self.uncallable(member.span, message, arguments)
            }
        }
    }

    fn apply_table(&mut self, call: Site, of: &'t Expression, arguments: &'t [Argument]) -> Typed {
        if !arguments.is_empty() {
            self.error(call.span, "`apply` of a table takes no arguments");
        }
        if self.place != Place::Control {
            let place = match self.place {
                Place::Action => "an action",
                Place::Function(_) => "a function",
                _ => "a parser",
            };
            self.error(call.span, format!("tables are applied by controls, not by {place}"))
                .help("`apply { ... }` of the control");
        }
        if let ExpressionKind::Name(path) = &of.kind {
            if let Some(Entity::Table(table)) =
                self.scopes.find(&path.ident.name, path.absolute).map(|found| found.entity.clone())
            {
                self.facts.calls.insert(
                    call.id,
                    Call { target: Target::Table(table), types: Vec::new(), arguments: Vec::new() },
                );
            }
        }
        Typed::of(Type::Applied)
    }

    fn method(
        &mut self, call: Site, (id, own): (ObjectId, &[Type]), member: &'t Ident, types: &'t [tree::Type],
        arguments: &'t [Argument], want: Option<&Type>,
    ) -> Typed {
        let object = self.object(id);
        let declared = &object.declaration.ident;
        let candidates: Vec<Callee<'t>> = object
            .methods
            .iter()
            .enumerate()
            .filter(|(_, method)| method.name == member.name)
            .map(|(place, method)| Callee {
                ident: Ident { name: member.name.clone(), span: declared.span },
                target: Target::Method(id, place),
                signature: method.signature.specialised(&object.type_parameters, own),
            })
            .collect();
        if candidates.is_empty() {
            let names = object.methods.iter().map(|method| (&method.name, Span::default()));
            let near = nearest(&member.name, names);
            self.error(member.span, format!("`{}` has no method `{}`", declared.name, member.name))
                .declared(&declared.name, declared.span)
                .meant(near);
            return self.arguments_alone(arguments);
        }
        let is_control = matches!(object.kind, ObjectKind::Control | ObjectKind::ControlType);
        let is_parser = matches!(object.kind, ObjectKind::Parser | ObjectKind::ParserType);
        if is_control && self.place != Place::Control {
            self.error(call.span, "controls are applied by controls");
        } else if is_parser && self.place != Place::Parser {
            self.error(call.span, "parsers are applied by parsers");
        }
        self.overloaded(call, candidates, types, arguments, want)
    }

    /// `Type.apply(...)`: an instance that is used once; and the sizes of a header's type.
    fn method_of_type(
        &mut self, call: Site, of: &Type, written: &'t tree::Type, member: &'t Ident,
        arguments: &'t [Argument],
    ) -> Typed {
        if let Some(size) = size_of(of, &member.name) {
            self.facts.calls.insert(call.id, builtin_call(&member.name));
            return Typed::known(Type::Integer, Value::Number(size.into()));
        }
        match of {
            Type::Object(id, own)
                if matches!(self.object(*id).kind, ObjectKind::Control | ObjectKind::Parser) =>
            {
                let mut made = self.object(*id).constructors.iter();
                if made.any(|made| made.parameters.iter().any(|one| !one.optional)) {
                    let name = self.object(*id).declaration.ident.name.clone();
                    self.error(written.span, format!("`{name}` needs the arguments of its constructor"));
                }
                self.method(call, (*id, own), member, &[], arguments, None)
            }
            Type::Wrong => self.arguments_alone(arguments),
            other => {
                let message = format!("the type {} has no `{}`", self.spell(other), member.name);
                self.uncallable(member.span, message, arguments)
            }
        }
    }

    /// The methods of headers and stacks.
    fn builtin(
        &mut self, call: Site, typed: &Typed, of: &Type, member: &'t Ident, arguments: &'t [Argument],
    ) -> Typed {
        self.facts.calls.insert(call.id, builtin_call(&member.name));
        if let Some(size) = size_of(of, &member.name).filter(|_| arguments.is_empty()) {
            return Typed::known(Type::Integer, Value::Number(size.into()));
        }
        let is_stack = matches!(of, Type::Array(element, _) if element.is_header() || element.is_union());
        let (takes, returns, writes) = match &*member.name {
            "isValid" if of.is_header() || of.is_union() => (0, Type::Bool, false),
            "setValid" | "setInvalid" if of.is_header() => (0, Type::Void, true),
            "push_front" | "pop_front" if is_stack => (1, Type::Void, true),
            _ => {
                self.no_method(of, member);
                return self.arguments_alone(arguments);
            }
        };
        if arguments.len() != takes {
            let message = format!(
                "`{}` takes {}, and {} are given",
                member.name,
                count(takes, "argument"),
                arguments.len()
            );
            self.error(call.span, message);
            return Typed::of(returns);
        }
        for argument in arguments {
            self.size(&argument.value, "the number of elements");
        }
        if writes && !typed.writable {
            self.error(call.span, format!("`{}` changes a header that may only be read here", member.name));
        }
        Typed::of(returns)
    }

    fn no_method(&mut self, of: &Type, member: &Ident) {
        let kind = self.spell(of);
        let error = self.error(member.span, format!("{kind} has no method `{}`", member.name));
        let names = ["isValid", "setValid", "setInvalid", "push_front", "pop_front"].map(Name::from);
        match of {
            Type::Composite(composite) if composite.shape == Shape::Struct => {
                error.note(composite.span, "a struct: only headers are valid or not");
            }
            _ => {
                error.meant(nearest(&member.name, names.iter().map(|name| (name, Span::default()))));
            }
        }
    }
}

fn builtin_call<'t>(name: &Name) -> Call<'t> {
    Call { target: Target::Builtin(name.clone()), types: Vec::new(), arguments: Vec::new() }
}

/// `minSizeInBits()` and its like (specification, section 9).
fn size_of(of: &Type, name: &str) -> Option<u32> {
    let (least, bytes) = match name {
        "minSizeInBits" => (true, false),
        "minSizeInBytes" => (true, true),
        "maxSizeInBits" => (false, false),
        "maxSizeInBytes" => (false, true),
        _ => return None,
    };
    let bits = of.measured(least)?;
    Some(if bytes { bits.div_ceil(8) } else { bits })
}
