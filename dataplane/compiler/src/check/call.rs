//! Calls: which one is meant, and what its arguments are (P4_16 specification, sections 6.8 and 8.20).

use std::rc::Rc;

use super::constant::Value;
use super::expression::Typed;
use super::infer::specialise;
use super::scope::{Entity, Function, Parameter, Signature};
use super::types::Type;
use super::{Call, Checker, ObjectKind, Place, Target};
use crate::source::{Name, Span};
use crate::syntax::tree::{
    self, Argument, DeclarationKind, Direction, Expression, ExpressionKind, Ident, NodeId,
};

/// The place of a call.
#[derive(Clone, Copy)]
pub struct Site {
    pub id: NodeId,
    pub span: Span,
}

/// The called function, action, method or block, with its parameters.
pub struct Callee<'t> {
    /// Its name, where it is declared.
    pub ident: Ident,
    pub target: Target<'t>,
    pub signature: Signature,
}

/// `1 argument`, `2 arguments`.
pub fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

impl<'t> Checker<'t, '_> {
    pub fn call(
        &mut self, call: Site, callee: &'t Expression, types: &'t [tree::Type], arguments: &'t [Argument],
        want: Option<&Type>,
    ) -> Typed {
        match &callee.kind {
            ExpressionKind::Name(path) => {
                let Some(found) = self.scopes.find(&path.ident.name, path.absolute).cloned() else {
                    self.no_name(path);
                    return self.arguments_alone(arguments);
                };
                match found.entity {
                    Entity::Functions(functions) => {
                        let candidates = functions
                            .iter()
                            .map(|one| Self::callee_of(one, Target::Function(one.clone())))
                            .collect();
                        self.overloaded(call, candidates, types, arguments, want)
                    }
                    Entity::Action(action) => self.action_call(call, &action, types, arguments),
                    _ => {
                        let name = &path.ident.name;
                        self.error(path.ident.span, format!("`{name}` cannot be called"))
                            .declared(name, found.span);
                        self.arguments_alone(arguments)
                    }
                }
            }
            ExpressionKind::Type(written) => {
                let of = self.type_reference(written);
                self.nameless(call, &of, arguments, written.span)
            }
            ExpressionKind::Member(of, member) => self.method_call(call, of, member, types, arguments, want),
            _ => self.wrong(callee.span, "this cannot be called"),
        }
    }

    /// Tells that something cannot be called.
    pub fn uncallable(&mut self, span: Span, message: String, arguments: &'t [Argument]) -> Typed {
        self.error(span, message);
        self.arguments_alone(arguments)
    }

    /// Reads arguments of something that is not there, for their own mistakes.
    pub fn arguments_alone(&mut self, arguments: &'t [Argument]) -> Typed {
        for argument in arguments {
            if !matches!(argument.value.kind, ExpressionKind::Any) {
                self.expression(&argument.value, None);
            }
        }
        Typed::wrong()
    }

    fn callee_of(function: &Rc<Function<'t>>, target: Target<'t>) -> Callee<'t> {
        let ident = &function.declaration.ident;
        let signature = function.signature.clone();
        Callee { ident: ident.clone(), target, signature }
    }

    fn action_call(
        &mut self, call: Site, action: &Rc<Function<'t>>, types: &'t [tree::Type], arguments: &'t [Argument],
    ) -> Typed {
        if matches!(self.place, Place::Parser | Place::Function(_)) {
            self.error(call.span, "actions are called by controls and actions");
        }
        let callee = Self::callee_of(action, Target::Action(action.clone()));
        self.overloaded(call, vec![callee], types, arguments, None)
    }

    /// Chooses by number and names of the arguments (specification, section 8.20).
    pub fn overloaded(
        &mut self, call: Site, mut candidates: Vec<Callee<'t>>, types: &'t [tree::Type],
        arguments: &'t [Argument], want: Option<&Type>,
    ) -> Typed {
        if candidates.len() > 1 {
            let fits = |one: &Callee<'t>| {
                order((call.span, &one.ident.name), &one.signature.parameters, arguments).is_ok()
            };
            let fitting: Vec<usize> =
                (0..candidates.len()).filter(|&place| fits(&candidates[place])).collect();
            if let [one] = fitting[..] {
                candidates.swap(0, one);
            } else if fitting.len() > 1 {
                let name = &candidates[0].ident.name;
                return self.wrong(call.span, format!("more than one `{name}` fits these arguments"));
            }
        }
        let chosen = candidates.swap_remove(0);
        self.called(call, chosen, types, arguments, want)
    }

    fn called(
        &mut self, call: Site, callee: Callee<'t>, types: &'t [tree::Type], arguments: &'t [Argument],
        want: Option<&Type>,
    ) -> Typed {
        let parameters = &callee.signature.type_parameters;
        let given: Vec<Type> = types.iter().map(|one| self.type_reference(one)).collect();
        if !given.is_empty() && given.len() != parameters.len() {
            let (wants, has) = (parameters.len(), given.len());
            let message =
                format!("`{}` has {wants} type parameters, and {has} types are given", callee.ident.name);
            return self.wrong(call.span, message);
        }
        let chosen: Vec<Type> = if given.is_empty() {
            parameters.iter().map(|_| self.inference.fresh()).collect()
        } else {
            given
        };
        let returns = specialise(&callee.signature.returns, parameters, &chosen);
        if let Some(want) = want.filter(|_| matches!(callee.signature.returns, Type::Parameter(_))) {
            // The result's place says what a generic function returns, unless the arguments do.
            if callee.signature.parameters.is_empty() && self.inference.shallow(want) != Type::Integer {
                let _ = self.inference.unify(&returns, want);
            }
        }
        let Some(order) = self.ordered(call.span, &callee.ident, &callee.signature.parameters, arguments)
        else {
            return self.arguments_alone(arguments);
        };
        self.pass(&callee, &chosen, arguments, &order);
        let left_out = callee.signature.parameters.iter().zip(&order).any(|(_, argument)| argument.is_none());
        let unknown = chosen.iter().position(|one| matches!(self.inference.shallow(one), Type::Variable(_)));
        let wrong = |one: &Argument| {
            self.facts.types.get(&one.value.id).is_some_and(|of| self.inference.shallow(of).is_wrong())
        };
        let unknown = unknown.filter(|_| !left_out && !arguments.iter().any(wrong));
        if let Some(place) = unknown.filter(|_| !matches!(callee.target, Target::Constructor(..))) {
            let name = &parameters[place].name;
            let message = format!("nothing says what the type `{name}` of `{}` is", callee.ident.name);
            self.error(call.span, message).help(format!("`{}<bit<32>>(...)`", callee.ident.name));
        }
        if chosen.iter().any(|one| matches!(self.inference.shallow(one), Type::Record(_))) {
            self.error(call.span, "nothing says to which struct the values in braces belong")
                .help("a cast says it: `(struct_t) {...}`");
        }
        let declared = callee.target.clone();
        let name = callee.ident.name.clone();
        self.facts.calls.insert(call.id, Call { target: callee.target, types: chosen, arguments: order });
        match declared {
            Target::Function(_) if &*name == "static_assert" => return self.asserted(call, arguments),
            Target::Function(_) if &*name == "verify" && self.place != Place::Parser => {
                self.error(call.span, "`verify` is for parsers").help("`mark_to_drop(...)` drops a packet");
            }
            Target::Method(id, _) if self.object(id).declaration.ident.name.starts_with("packet_") => {
                self.packet_method(call, &name, &returns, arguments);
            }
            _ => {}
        }
        // A function of the target that makes an object: before the program runs, if its arguments are known.
        let is_object = self.is_object(&returns);
        let known = |argument: &Argument| self.facts.values.contains_key(&argument.value.id);
        let is_constant = is_object && arguments.iter().all(known);
        Typed { is_constant, ..Typed::of(returns) }
    }

    /// `static_assert(check, message)`: true, or a message.
    fn asserted(&mut self, call: Site, arguments: &'t [Argument]) -> Typed {
        let value = |place: usize| arguments.get(place).and_then(|one| self.facts.values.get(&one.value.id));
        match (value(0), value(1)) {
            (Some(Value::Bool(false)), Some(Value::String(text))) => {
                let message = format!("static_assert failed: {text}");
                self.wrong(call.span, message)
            }
            (Some(Value::Bool(false)), _) => self.wrong(call.span, "static_assert failed"),
            (Some(truth), _) => Typed::known(Type::Bool, truth.clone()),
            (None, _) => Typed::new(Type::Bool, None, true),
        }
    }

    /// For each parameter its argument; tells of arguments that are missing or too many.
    pub fn ordered(
        &mut self, span: Span, ident: &Ident, parameters: &[Parameter], arguments: &'t [Argument],
    ) -> Option<Vec<Option<usize>>> {
        let (place, message) = match order((span, &ident.name), parameters, arguments) {
            Ok(order) => return Some(order),
            Err(misfit) => misfit,
        };
        self.error(place, message).declared(&ident.name, ident.span);
        None
    }

    /// Checks the arguments. Numbers without a width come last: others may say what their type is.
    fn pass(
        &mut self, callee: &Callee<'t>, types: &[Type], arguments: &'t [Argument], order: &[Option<usize>],
    ) {
        let mut later = Vec::new();
        let runs = matches!(&callee.target, Target::Function(function)
            if matches!(&function.declaration.kind, DeclarationKind::Function { body: Some(_), .. }));
        for (parameter, place) in callee.signature.parameters.iter().zip(order) {
            let Some(argument) = place.map(|place| &arguments[place]) else { continue };
            let want = specialise(&parameter.of, &callee.signature.type_parameters, types);
            if matches!(argument.value.kind, ExpressionKind::Any) {
                if matches!(parameter.direction, Direction::In | Direction::InOut) {
                    let message = format!("`{}` needs a value for `{}`", callee.ident.name, parameter.name);
                    self.error(argument.value.span, message);
                }
                continue;
            }
            let (typed, of) = self.typed(&argument.value, Some(&want));
            if of == Type::Integer && matches!(self.inference.shallow(&want), Type::Variable(_)) {
                later.push((parameter, argument, typed, want));
                continue;
            }
            self.argument(callee, parameter, argument, typed, &want);
        }
        for (parameter, argument, typed, want) in later {
            if matches!(self.inference.shallow(&want), Type::Variable(_))
                && (parameter.direction != Direction::None || runs)
            {
                self.error(argument.value.span, "nothing says how wide this number is")
                    .help("a number with a width: `32w10`");
                let _ = self.inference.unify(&want, &Type::Wrong);
            }
            self.argument(callee, parameter, argument, typed, &want);
        }
    }

    fn argument(
        &mut self, callee: &Callee<'t>, parameter: &Parameter, argument: &'t Argument, typed: Typed,
        want: &Type,
    ) {
        let value = &argument.value;
        let is_constructor = matches!(callee.target, Target::Constructor(..));
        match parameter.direction {
            Direction::Out | Direction::InOut => {
                if !typed.writable && !typed.of.is_wrong() {
                    let message = format!(
                        "`{}` writes to `{}`: a variable belongs here",
                        callee.ident.name, parameter.name
                    );
                    self.error(value.span, message).note(parameter.span, "the parameter");
                } else if !self.inference.unify(&typed.of, want) {
                    self.mismatch(value.span, &typed.of, want);
                }
            }
            Direction::None if self.is_object(want) || self.is_object(&typed.of) => {
                let before = self.diagnostics.len();
                self.object_argument(value, &typed, want, is_constructor);
                self.diagnostics.explain(before, parameter.span, "the parameter");
            }
            _ if matches!(typed.of, Type::Table | Type::Action | Type::Applied | Type::ActionRun) => {
                let kind = self.spell(&typed.of);
                self.error(value.span, format!("{kind} is no argument"))
                    .note(parameter.span, "the parameter");
            }
            Direction::None if !matches!(callee.target, Target::Action(_)) => {
                let is_block = |id| self.object(id).kind != ObjectKind::Extern;
                let is_apply = matches!(callee.target, Target::Method(id, _) if is_block(id));
                let typed = self.coerce(value, typed, want);
                // Externs of other architectures take what changes, too, unless it is a number without a width.
                let must = is_constructor || !is_apply && matches!(want, Type::Integer | Type::String);
                if !typed.is_constant && !typed.of.is_wrong() && must {
                    let message =
                        format!("the argument `{}` of `{}` is a constant", parameter.name, callee.ident.name);
                    self.error(value.span, message);
                }
            }
            _ if typed.of == Type::String => {
                self.error(value.span, "a string is no argument for a parameter with a direction")
                    .note(parameter.span, "the parameter");
            }
            _ => {
                self.coerce(value, typed, want);
            }
        }
    }

    pub fn is_object(&self, of: &Type) -> bool {
        matches!(self.inference.shallow(of), Type::Object(..))
    }
}

/// For each parameter the argument that belongs to it, or the place and reason why they do not belong together.
fn order(
    (span, name): (Span, &Name), parameters: &[Parameter], arguments: &[Argument],
) -> Result<Vec<Option<usize>>, (Span, String)> {
    let named = arguments.iter().filter(|argument| argument.ident.is_some()).count();
    if named != 0 && named != arguments.len() {
        return Err((span, "either all arguments have names or none".to_owned()));
    }
    if arguments.len() > parameters.len() {
        let (wants, has) = (count(parameters.len(), "argument"), arguments.len());
        return Err((span, format!("`{name}` takes {wants}, and {has} are given")));
    }
    let mut found = vec![None; parameters.len()];
    for (place, argument) in arguments.iter().enumerate() {
        let Some(ident) = &argument.ident else {
            found[place] = Some(place);
            continue;
        };
        let Some(parameter) = parameters.iter().position(|parameter| parameter.name == ident.name) else {
            return Err((ident.span, format!("`{name}` has no parameter `{}`", ident.name)));
        };
        if found[parameter].replace(place).is_some() {
            return Err((ident.span, format!("the argument `{}` is given twice", ident.name)));
        }
    }
    let missing = parameters.iter().zip(&found).find(|(one, place)| place.is_none() && !one.optional);
    match missing {
        Some((one, _)) => Err((span, format!("`{name}` is called without its argument `{}`", one.name))),
        None => Ok(found),
    }
}
