//! Members and methods: names behind a dot (P4_16 specification, sections 8.2, 8.3 and 8.16 to 8.22).

use super::call::{count, Callee, Site};
use super::constant::Value;
use super::expression::Typed;
use super::scope::Entity;
use super::types::{ObjectId, Shape, Type};
use super::{Call, Checker, ObjectKind, Place, Target};
use crate::source::{near, nearest};
use crate::syntax::tree::{self, Expression, ExpressionKind, Ident, TypeKind};

type Builtin = (&'static str, fn(&Type) -> bool, usize, Type, bool);

/// The methods of headers, unions and stacks (sections 8.17 to 8.19): name, types that have it, number of
/// arguments, result, and whether the method changes its header or stack.
const BUILTINS: [Builtin; 5] = [
    ("isValid", |of| of.is_header() || of.is_union(), 0, Type::Bool, false),
    ("setValid", Type::is_header, 0, Type::Void, true),
    ("setInvalid", Type::is_header, 0, Type::Void, true),
    ("push_front", Type::is_stack, 1, Type::Void, true),
    ("pop_front", Type::is_stack, 1, Type::Void, true),
];

/// The methods of types and values that `size_of` computes.
const SIZES: [&str; 4] = ["minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes"];

impl<'t> Checker<'t, '_> {
    /// A member of a value (sections 8.16 to 8.18).
    pub fn member(&mut self, of: &'t Expression, member: &'t Ident) -> Typed {
        if let ExpressionKind::Type(written) = &of.kind {
            match &written.kind {
                // The parser knows this type already: it is the block around.
                TypeKind::Named(path) if self.find(path).is_none() => {
                    fail!(self, of.span, "`{}` is around this: `{member}` alone belongs here", path.ident)
                }
                _ => {}
            }
            let kind = self.type_reference(written);
            return self.member_of_type(&kind, member);
        }
        let typed = self.expression(of, None);
        let name = &member.name;
        let found = match &typed.of {
            Type::Wrong => Some(Type::Wrong),
            Type::Composite(composite) => composite.field(name).map(|field| field.of.clone()),
            Type::Record(fields) => fields.iter().find(|(one, _)| one == name).map(|(_, of)| of.clone()),
            Type::Array(element, size) if typed.of.is_stack() => {
                return self.member_of_stack(&typed, (element, *size), member);
            }
            // The result of `table.apply()` (section 14.2.2).
            Type::Applied if matches!(&**name, "hit" | "miss") => Some(Type::Bool),
            Type::Applied if &**name == "action_run" => Some(Type::ActionRun),
            _ => None,
        };
        let Some(of) = found else { return self.no_field(member, &typed.of) };
        if of.is_wrong() {
            return Typed::default();
        }
        let value = match typed.value {
            Some(Value::Record(fields)) => {
                fields.into_iter().find(|(one, _)| one == name).map(|(_, value)| value)
            }
            _ => None,
        };
        Typed { of, value, ..typed }
    }

    /// Members of `error` and of enums (sections 8.2 and 8.3).
    fn member_of_type(&mut self, of: &Type, member: &Ident) -> Typed {
        let name = &member.name;
        match of {
            Type::Wrong => {}
            Type::Error if self.facts.errors.contains(name) => {
                return Typed::known(Type::Error, Value::Member(name.clone()));
            }
            Type::Error => {
                let near = near(name, &self.facts.errors);
                error!(self, member.span, "`error` has no member `{name}`").meant(near);
            }
            Type::Enum(one) => match one.members.iter().find(|(other, _)| other == name) {
                Some((_, Some(value))) => return Typed::known(of.clone(), value.clone()),
                Some(_) if one.of.is_none() => {
                    return Typed::known(of.clone(), Value::Member(name.clone()));
                }
                Some(_) => {}
                None => {
                    let near = near(name, one.members.iter().map(|(name, _)| name));
                    error!(self, member.span, "enum `{}` has no member `{name}`", one.name)
                        .declared(&one.name, one.span)
                        .meant(near);
                }
            },
            _ => {
                error!(self, member.span, "the type {of} has no member `{name}`");
            }
        }
        Typed::default()
    }

    /// Members of header stacks (sections 8.18 and 13.9).
    fn member_of_stack(&mut self, typed: &Typed, (element, size): (&Type, u32), member: &Ident) -> Typed {
        match &*member.name {
            "next" | "last" | "lastIndex" if self.place != Place::Parser => {
                fail!(self, member.span, "`{member}` of a stack is for parsers")
            }
            "next" => Typed { writable: typed.writable, ..Typed::of(element.clone()) },
            "last" => Typed::of(element.clone()),
            "lastIndex" => Typed::of(Type::bits(32)),
            "size" => Typed::known(Type::bits(32), Value::Number(size.into())),
            _ => self.no_field(member, &typed.of),
        }
    }

    /// Tells that there is no such member.
    pub fn no_field(&mut self, member: &Ident, of: &Type) -> Typed {
        let name = &member.name;
        let error = match of {
            Type::Array(..) => {
                error!(self, member.span, "the stack {of} has no `{member}`: its elements are `[0]`...")
            }
            Type::Table | Type::Action | Type::Object(..) => {
                error!(self, member.span, "{of} has no member `{member}` that is a value")
            }
            _ => error!(self, member.span, "{of} has no field `{member}`"),
        };
        if let Type::Composite(composite) = of {
            error.note(composite.span, "the type");
        }
        let methods = ["isValid", "setValid", "setInvalid", "apply"];
        if let Some(method) = methods.iter().find(|one| one.eq_ignore_ascii_case(name)) {
            error.help(format!("a method is called: `.{method}()`"));
        } else if *of == Type::Table {
            error.help(format!("`.apply().{member}`"));
        }
        error.meant(match of {
            Type::Composite(of) => nearest(name, of.fields.iter().map(|field| (&field.name, field.span))),
            Type::Record(fields) => near(name, fields.iter().map(|(name, _)| name)),
            Type::Array(..) => near(name, ["next", "last", "lastIndex", "size"]),
            Type::Applied => near(name, ["hit", "miss", "action_run"]),
            _ => None,
        });
        Typed::default()
    }

    /// Arguments of a packet's `extract`, `lookahead` and `emit` (sections 13.8 and 16.1).
    pub fn packet_method(&mut self, call: Site<'t, '_>, name: &str, returns: &Type) {
        let of = call.arguments.first().and_then(|one| self.facts.types.get(&one.value.id));
        let of = of.map_or(Type::Wrong, Type::resolve);
        let span = call.arguments.first().map_or(call.span, |one| one.value.span);
        let has_varbit = |of: &Type| of.contains(&|part| matches!(part, Type::Varbit(_)));
        let is_unknown = matches!(of, Type::Wrong | Type::Parameter(_) | Type::Variable(_));
        match (name, call.arguments.len()) {
            ("emit", 1) if matches!(of, Type::Bits { .. } | Type::Bool | Type::Enum(_) | Type::Error) => {
                fail!(self, span, "`emit` writes headers, and this is {of}")
            }
            ("extract", 1..) if matches!(of, Type::Array(..)) => {
                let message = "`extract` fills one header, and this is a stack";
                self.error(span, message).help("its next one: `.next`");
            }
            ("extract", 1..) if !of.is_header() && !is_unknown => {
                fail!(self, span, "`extract` fills a header, and this is {of}")
            }
            ("extract", 1) if has_varbit(&of) => {
                fail!(self, span, "the length of its varbit field is missing: `extract(header, bits)`")
            }
            ("extract", 2) if of.is_header() && !has_varbit(&of) => {
                fail!(self, span, "this header has no varbit field, and so takes no length")
            }
            ("lookahead", _) => {
                let of = returns.resolve();
                let is_unknown = of.contains(&|part| matches!(part, Type::Parameter(_) | Type::Wrong));
                if !is_unknown && (of.width().is_none() || has_varbit(&of)) {
                    error!(self, span, "`lookahead` reads a known number of bits, and {of} has none");
                }
            }
            _ => {}
        }
    }

    /// A method of a value or of a type (section 8.20).
    pub fn method_call(&mut self, call: Site<'t, '_>, of: &'t Expression, member: &'t Ident) -> Typed {
        if let ExpressionKind::Type(written) = &of.kind {
            let kind = self.type_reference(written);
            return self.method_of_type(call, &kind, written, member);
        }
        let typed = self.expression(of, None);
        match &typed.of {
            Type::Wrong => self.arguments_alone(call.arguments),
            Type::Table if &*member.name == "apply" => self.apply_table(call, of),
            Type::Object(id, own, _) => self.method(call, (*id, own), member),
            _ => self.builtin(call, &typed, member),
        }
    }

    /// `table.apply()` (section 14.2.2).
    fn apply_table(&mut self, call: Site<'t, '_>, of: &'t Expression) -> Typed {
        if !call.arguments.is_empty() {
            self.error(call.span, "`apply` of a table takes no arguments");
        }
        let place = match self.place {
            Place::Control => None,
            Place::Action => Some("an action"),
            Place::Function(_) => Some("a function"),
            _ => Some("a parser"),
        };
        if let Some(place) = place {
            error!(self, call.span, "tables are applied by controls, not by {place}")
                .help("`apply { ... }` of the control");
        }
        if let ExpressionKind::Name(path) = &of.kind {
            if let Some(Entity::Table(table)) = self.find(path).map(|found| &found.entity) {
                self.facts.calls.insert(call.id, Call::of(Target::Table(table)));
            }
        }
        Typed::of(Type::Applied)
    }

    /// A method of an extern, or `apply` of a parser or control (sections 8.22, 13.10 and 14.4, and
    /// appendix F).
    fn method(&mut self, call: Site<'t, '_>, (id, own): (ObjectId, &[Type]), member: &'t Ident) -> Typed {
        let object = self.object(id);
        let (kind, declared) = (object.kind, &object.declaration.ident);
        let callee = |place: usize| {
            let signature = object.methods[place].signature.specialised(&object.type_parameters, own);
            let ident = Ident { name: member.name.clone(), span: declared.span };
            Callee { ident, target: Target::Method(id, place), signature }
        };
        let places = (0..object.methods.len()).filter(|&place| object.methods[place].name == member.name);
        let candidates: Vec<Callee<'t>> = places.map(callee).collect();
        if candidates.is_empty() {
            let near = near(&member.name, object.methods.iter().map(|method| &method.name));
            error!(self, member.span, "`{declared}` has no method `{member}`")
                .declared(&declared.name, declared.span)
                .meant(near);
            return self.arguments_alone(call.arguments);
        }
        match kind {
            ObjectKind::Control | ObjectKind::ControlType if self.place != Place::Control => {
                self.error(call.span, "controls are applied by controls");
            }
            ObjectKind::Parser | ObjectKind::ParserType if self.place != Place::Parser => {
                self.error(call.span, "parsers are applied by parsers");
            }
            _ => {}
        }
        self.overloaded(call, candidates)
    }

    /// `Type.apply(...)` (section 15.1): an instance that is used once; and the sizes of a type (section 9).
    fn method_of_type(
        &mut self, call: Site<'t, '_>, of: &Type, written: &'t tree::Type, member: &'t Ident,
    ) -> Typed {
        if let Some(size) = size_of(of, &member.name) {
            self.facts.calls.insert(call.id, Call::of(Target::Builtin(member.name.clone())));
            return Typed::known(Type::Integer, Value::Number(size.into()));
        }
        match of {
            Type::Object(id, own, name)
                if matches!(self.object(*id).kind, ObjectKind::Control | ObjectKind::Parser) =>
            {
                let mut made = self.object(*id).constructors.iter();
                if made.any(|made| made.parameters.iter().any(|one| !one.optional)) {
                    error!(self, written.span, "`{name}` needs the arguments of its constructor");
                }
                self.method(Site { types: &[], want: None, ..call }, (*id, own), member)
            }
            Type::Wrong => self.arguments_alone(call.arguments),
            other => {
                error!(self, member.span, "the type {other} has no `{member}`")
                    .meant(near(&member.name, SIZES));
                self.arguments_alone(call.arguments)
            }
        }
    }

    /// The methods of headers, unions and stacks (sections 8.17 to 8.19), and sizes (section 9).
    fn builtin(&mut self, call: Site<'t, '_>, typed: &Typed, member: &'t Ident) -> Typed {
        let (of, arguments) = (&typed.of, call.arguments);
        self.facts.calls.insert(call.id, Call::of(Target::Builtin(member.name.clone())));
        if let Some(size) = size_of(of, &member.name).filter(|_| arguments.is_empty()) {
            return Typed::known(Type::Integer, Value::Number(size.into()));
        }
        let own = BUILTINS.into_iter().find(|(name, fits, ..)| *name == &*member.name && fits(of));
        let Some((_, _, takes, returns, writes)) = own else {
            self.no_method(of, member);
            return self.arguments_alone(arguments);
        };
        if arguments.len() != takes {
            let (wants, has) = (count(takes, "argument"), arguments.len());
            error!(self, call.span, "`{member}` takes {wants}, and {has} are given");
            return Typed::of(returns);
        }
        for argument in arguments {
            self.size(&argument.value, "the number of elements", false);
        }
        if writes && !typed.writable {
            error!(self, call.span, "`{member}` changes a header that may only be read here");
        } else if takes > 0 && self.place == Place::Parser {
            // As p4c has it: the parser's `next` goes on behind what was extracted.
            error!(self, call.span, "`{member}` belongs into a control");
        }
        Typed::of(returns)
    }

    fn no_method(&mut self, of: &Type, member: &Ident) {
        let error = error!(self, member.span, "{of} has no method `{member}`");
        let fitting = BUILTINS.into_iter().filter(|(_, fits, ..)| fits(of)).map(|(name, ..)| name);
        match of {
            Type::Composite(composite) if composite.shape == Shape::Struct => {
                error.note(composite.span, "a struct: only headers are valid or not")
            }
            Type::Applied => error.help("a member, not a method: `.hit`"),
            Type::Table => error.meant(near(&member.name, ["apply"])),
            _ => error.meant(near(&member.name, fitting.chain(SIZES))),
        };
    }
}

/// `minSizeInBits()` and its like (section 9).
fn size_of(of: &Type, name: &str) -> Option<u32> {
    let place = SIZES.iter().position(|known| *known == name)?;
    let bits = of.measured(place < 2)?;
    Some(if place % 2 == 1 { bits.div_ceil(8) } else { bits })
}
