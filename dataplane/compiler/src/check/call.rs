//! Calls: which one is meant, and what its arguments are (P4_16 specification, sections 6.8 and 8.20).

use super::constant::Value;
use super::expression::Typed;
use super::infer::specialise;
use super::scope::{Entity, Function, Parameter, Signature};
use super::types::Type;
use super::{Call, Checker, Place, Target};
use crate::source::{nearest, Name, Span};
use crate::syntax::tree::{
    self, Argument, DeclarationKind, Direction, Expression, ExpressionKind, Ident, NodeId,
};

/// A call as it is written, but for the called name.
#[derive(Clone, Copy)]
pub struct Site<'t, 'w> {
    pub id: NodeId,
    pub span: Span,
    pub types: &'t [tree::Type],
    pub arguments: &'t [Argument],
    /// The type that fits the place of the call.
    pub want: Option<&'w Type>,
}

/// The called function, action, method or block, with its parameters.
pub struct Callee<'t> {
    /// Its name, where it is declared.
    pub ident: Ident,
    pub target: Target<'t>,
    pub signature: Signature,
}

impl<'t> Callee<'t> {
    pub fn of(one: &Function<'t>, target: Target<'t>) -> Self {
        Self { ident: one.declaration.ident.clone(), target, signature: one.signature.clone() }
    }
}

/// `1 argument`, `2 arguments`.
pub fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

impl<'t> Checker<'t, '_> {
    /// A call of a function, action, method or constructor (section 8.20).
    pub fn call(&mut self, call: Site<'t, '_>, callee: &'t Expression) -> Typed {
        let path = match &callee.kind {
            ExpressionKind::Name(path) => path,
            ExpressionKind::Type(written) => {
                let of = self.type_reference(written);
                return self.nameless(call, &of, written.span);
            }
            ExpressionKind::Member(of, member) => return self.method_call(call, of, member),
            _ => fail!(self, callee.span, "this cannot be called"),
        };
        match self.find(path).cloned().map(|found| (found.entity, found.span)) {
            None => {
                self.no_name(path, None);
                self.arguments_alone(call.arguments)
            }
            Some((Entity::Functions(functions), _)) => {
                let candidates = functions.iter().map(|one| Callee::of(one, Target::Function(one.clone())));
                self.overloaded(call, candidates.collect())
            }
            // Section 14.1.1 and appendix F.
            Some((Entity::Action(action), _)) => {
                if matches!(self.place, Place::Parser | Place::Function(_)) {
                    self.error(call.span, "actions are called by controls and actions");
                }
                let callee = Callee::of(&action, Target::Action(action.clone()));
                self.overloaded(Site { want: None, ..call }, vec![callee])
            }
            Some((entity, declared)) => {
                let name = &path.ident.name;
                let error = error!(self, path.ident.span, "`{name}` cannot be called");
                error.declared(name, declared);
                if matches!(entity, Entity::Table(_)) {
                    error.help(format!("`{name}.apply()`"));
                }
                self.arguments_alone(call.arguments)
            }
        }
    }

    /// Reads arguments of something that is not there, for their own mistakes.
    pub fn arguments_alone(&mut self, arguments: &'t [Argument]) -> Typed {
        for argument in arguments {
            if !matches!(argument.value.kind, ExpressionKind::Any) {
                self.expression(&argument.value, None);
            }
        }
        Typed::default()
    }

    /// Chooses by number and names of the arguments (sections 6.8 and 7.2.10).
    pub fn overloaded(&mut self, call: Site<'t, '_>, candidates: Vec<Callee<'t>>) -> Typed {
        let fits = |one: &Callee<'t>| {
            order((call.span, &one.ident.name), &one.signature.parameters, call.arguments).is_ok()
        };
        let (fitting, others): (Vec<_>, Vec<_>) = candidates.into_iter().partition(fits);
        if let [one, _, ..] = &fitting[..] {
            fail!(self, call.span, "more than one `{}` fits these arguments", one.ident);
        }
        match fitting.into_iter().chain(others).next() {
            Some(chosen) => self.called(call, chosen),
            None => self.arguments_alone(call.arguments),
        }
    }

    /// Checks a call whose declaration is chosen (section 8.20).
    fn called(&mut self, call: Site<'t, '_>, callee: Callee<'t>) -> Typed {
        let Callee { ident, target, signature } = &callee;
        let (parameters, arguments) = (&signature.type_parameters, call.arguments);
        let given = call.types.iter().map(|one| self.type_reference(one)).collect();
        let chosen = self.type_arguments((&ident.name, ident.span), parameters, given, call.span);
        let Some(chosen) = chosen else { return Typed::default() };
        let returns = specialise(&signature.returns, parameters, &chosen);
        if let Some(want) = call.want.filter(|_| matches!(signature.returns, Type::Parameter(_))) {
            // The result's place says what a generic function returns, unless the arguments do.
            if signature.parameters.is_empty() && *want.known() != Type::Integer {
                let _ = returns.unify(want);
            }
        }
        let Some(order) = self.ordered(call.span, ident, &signature.parameters, arguments) else {
            return self.arguments_alone(arguments);
        };
        self.pass(&callee, &chosen, arguments, &order);
        let wrong = |one: &Argument| self.facts.types.get(&one.value.id).is_some_and(Type::is_wrong);
        let excused = matches!(target, Target::Constructor(..))
            || signature.parameters.iter().zip(&order).any(|(_, argument)| argument.is_none())
            || arguments.iter().any(wrong);
        if let Some(place) = chosen.iter().position(Type::is_open).filter(|_| !excused) {
            let name = &parameters[place].name;
            error!(self, call.span, "nothing says what the type `{name}` of `{ident}` is")
                .help(format!("`{ident}<bit<32>>(...)`"));
        }
        if chosen.iter().any(|one| matches!(one.known(), Type::Record(_))) {
            self.error(call.span, "nothing says to which struct the values in braces belong")
                .help("a cast says it: `(struct_t) {...}`");
        }
        self.facts.calls.insert(call.id, Call { target: target.clone(), types: chosen, arguments: order });
        match target {
            Target::Function(_) if &*ident.name == "static_assert" => return self.asserted(call),
            // Section 13.7.
            Target::Function(_) if &*ident.name == "verify" && self.place != Place::Parser => {
                self.error(call.span, "`verify` is for parsers").help("`mark_to_drop(...)` drops a packet");
            }
            Target::Method(id, _) if self.object(*id).declaration.ident.name.starts_with("packet_") => {
                self.packet_method(call, &ident.name, &returns);
            }
            _ => {}
        }
        // A function of the target that makes an object: before the program runs, if its arguments are known.
        let known = |argument: &Argument| self.facts.values.contains_key(&argument.value.id);
        let is_constant = returns.is_object() && arguments.iter().all(known);
        Typed { is_constant, ..Typed::of(returns) }
    }

    /// `static_assert(check, message)` (section 19): true, or a message.
    fn asserted(&mut self, call: Site<'t, '_>) -> Typed {
        let value = |place: usize| self.facts.values.get(&call.arguments.get(place)?.value.id).cloned();
        match (value(0), value(1)) {
            (Some(Value::Bool(false)), Some(Value::String(text))) => {
                fail!(self, call.span, "static_assert failed: {text}")
            }
            (Some(Value::Bool(false)), _) => fail!(self, call.span, "static_assert failed"),
            (truth, _) => Typed::new(Type::Bool, truth, true),
        }
    }

    /// For each parameter its argument; tells of arguments that are missing or too many (section 6.8).
    pub fn ordered(
        &mut self, span: Span, ident: &Ident, parameters: &[Parameter], arguments: &'t [Argument],
    ) -> Option<Vec<Option<usize>>> {
        match order((span, &ident.name), parameters, arguments) {
            Ok(order) => Some(order),
            Err((place, message)) => {
                let named = |one: &'t Argument| one.ident.as_ref().filter(|ident| ident.span == place);
                let wrong = arguments.iter().find_map(named);
                let names = parameters.iter().map(|one| (&one.name, one.span));
                let form: Vec<&str> = parameters.iter().map(|one| &*one.name).collect();
                let error = self.error(place, message).declared(&ident.name, ident.span);
                if !form.is_empty() {
                    error.help(format!("`{ident}({})`", form.join(", ")));
                }
                error.meant(wrong.and_then(|wrong| nearest(&wrong.name, names)));
                None
            }
        }
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
                    let name = &parameter.name;
                    error!(self, argument.value.span, "`{}` needs a value for `{name}`", callee.ident);
                }
                continue;
            }
            let typed = self.expression(&argument.value, Some(&want));
            if typed.of == Type::Integer && want.is_open() {
                later.push((parameter, argument, typed, want));
            } else {
                self.argument(callee, parameter, argument, typed, &want);
            }
        }
        for (parameter, argument, typed, want) in later {
            if want.is_open() && (parameter.direction != Direction::None || runs) {
                self.error(argument.value.span, "nothing says how wide this number is")
                    .help("a number with a width: `32w10`");
                let _ = want.unify(&Type::Wrong);
            }
            self.argument(callee, parameter, argument, typed, &want);
        }
    }

    /// Checks an argument by the direction of its parameter (section 6.8).
    pub fn argument(
        &mut self, callee: &Callee<'t>, parameter: &Parameter, argument: &'t Argument, typed: Typed,
        want: &Type,
    ) {
        let (value, name) = (&argument.value, &callee.ident);
        let is_constructor = matches!(callee.target, Target::Constructor(..));
        match parameter.direction {
            Direction::Out | Direction::InOut if !typed.writable && !typed.of.is_wrong() => {
                error!(self, value.span, "`{name}` writes to `{}`: a variable belongs here", parameter.name)
                    .note(parameter.span, "the parameter");
                let _ = typed.of.unify(want);
            }
            Direction::Out | Direction::InOut => self.same_type(value.span, &typed.of, want),
            Direction::None if want.is_object() || typed.of.is_object() => {
                let before = self.diagnostics.len();
                self.object_argument(value, &typed, want, is_constructor);
                self.diagnostics.explain(before, parameter.span, "the parameter");
            }
            _ if matches!(typed.of, Type::Table | Type::Action | Type::Applied | Type::ActionRun) => {
                error!(self, value.span, "{} is no argument", typed.of).note(parameter.span, "the parameter");
            }
            Direction::None if !matches!(callee.target, Target::Action(_)) => {
                if self.coerce(value, typed, want).varies() {
                    error!(self, value.span, "the argument `{}` of `{name}` is a constant", parameter.name);
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
}

/// For each parameter the argument that belongs to it, or the place and reason why they do not belong
/// together (section 6.8).
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
            return Err((ident.span, format!("`{name}` has no parameter `{ident}`")));
        };
        if found[parameter].replace(place).is_some() {
            return Err((ident.span, format!("the argument `{ident}` is given twice")));
        }
    }
    let missing = parameters.iter().zip(&found).find(|(one, place)| place.is_none() && !one.optional);
    match missing {
        Some((one, _)) => Err((span, format!("`{name}` is called without its argument `{}`", one.name))),
        None => Ok(found),
    }
}
