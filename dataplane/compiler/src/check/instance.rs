//! Objects: what makes them, and what they are passed to (P4_16 specification, sections 11.3 and 18).

use super::call::{count, Callee, Site};
use super::expression::Typed;
use super::scope::{Entity, Parameter, Signature, Variable};
use super::types::{ObjectId, Type};
use super::{Checker, ObjectKind, Place, Target};
use crate::source::{Name, Span};
use crate::syntax::tree::{Argument, Declaration, DeclarationKind, Expression, Ident};

impl<'t> Checker<'t, '_> {
    /// An object for a parameter: of the same type, or a parser or control of the parameter's kind.
    pub fn object_argument(
        &mut self, value: &'t Expression, typed: &Typed, want: &Type, is_constructor: bool,
    ) {
        let (of, want) = (self.inference.shallow(&typed.of), self.inference.shallow(want));
        match &of {
            Type::Object(id, _) if !is_constructor && self.object(*id).kind != ObjectKind::Extern => {
                self.error(
                    value.span,
                    format!("`{}` is no argument: only packages take such", self.spell(&of)),
                );
                return;
            }
            _ => {}
        }
        if is_constructor && !typed.is_constant && !of.is_wrong() {
            self.error(value.span, "an object is made before the program runs: this depends on what runs");
            return;
        }
        if of.is_wrong() || self.inference.unify(&of, &want) {
            return;
        }
        let (Type::Object(id, arguments), Type::Object(kind, wants)) = (&of, &want) else {
            self.mismatch(value.span, &of, &want);
            return;
        };
        let fits = matches!(
            (self.object(*id).kind, self.object(*kind).kind),
            (ObjectKind::Parser, ObjectKind::ParserType) | (ObjectKind::Control, ObjectKind::ControlType)
        );
        if !fits {
            self.mismatch(value.span, &of, &want);
            return;
        }
        self.same_apply(value, (*id, arguments), (*kind, wants));
    }

    /// Compares the parameters of a parser or control with those that a package expects.
    fn same_apply(&mut self, value: &'t Expression, one: (ObjectId, &[Type]), wants: (ObjectId, &[Type])) {
        let parameters = |checker: &Self, (id, arguments): (ObjectId, &[Type])| -> Vec<Parameter> {
            let object = checker.object(id);
            object.methods[0].signature.specialised(&object.type_parameters, arguments).parameters
        };
        let (has, expected) = (parameters(self, one), parameters(self, wants));
        let name = self.object(one.0).declaration.ident.name.clone();
        let expected_name = self.object(wants.0).declaration.ident.name.clone();
        if has.len() != expected.len() {
            let (has, wants) = (count(has.len(), "parameter"), expected.len());
            self.error(value.span, format!("`{name}` has {has}, and {expected_name} has {wants}"));
            return;
        }
        for (one, wants) in has.iter().zip(&expected) {
            let differs = if one.direction != wants.direction {
                format!("the direction of its parameter `{}` differs", one.name)
            } else if !self.inference.unify(&one.of, &wants.of) {
                let (of, wants) = (self.spell(&one.of), self.spell(&wants.of));
                format!("its parameter `{}` is {of}, and {wants} is expected", one.name)
            } else {
                continue;
            };
            self.error(value.span, format!("`{name}` is no {expected_name}: {differs}"))
                .note(one.span, "the parameter")
                .note(wants.span, "the parameter that is expected");
            return;
        }
    }

    /// `Type(arguments)`: makes an object.
    pub fn construct(&mut self, call: Site, of: &Type, arguments: &'t [Argument], span: Span) -> Typed {
        let (id, types) = match of {
            Type::Wrong => return self.arguments_alone(arguments),
            Type::Object(id, types) => (*id, types.clone()),
            other => {
                return self.uncallable(
                    span,
                    format!("{} is not made by a call", self.spell(other)),
                    arguments,
                );
            }
        };
        let object = self.object(id);
        let ident = &object.declaration.ident;
        let callee = |(place, constructor): (usize, &Signature)| {
            let signature = Signature {
                returns: of.clone(),
                type_parameters: Vec::new(),
                ..constructor.specialised(&object.type_parameters, &types)
            };
            let target = Target::Constructor(id, place);
            Callee { ident: ident.clone(), target, signature }
        };
        let candidates: Vec<Callee<'t>> = object.constructors.iter().enumerate().map(callee).collect();
        if candidates.is_empty() {
            return self.uncallable(span, format!("`{}` has no constructor", ident.name), arguments);
        }
        let typed = self.overloaded(call, candidates, &[], arguments, None);
        Typed { is_constant: true, ..typed }
    }

    /// An instance without a name: the argument of another.
    pub fn nameless(&mut self, call: Site, of: &Type, arguments: &'t [Argument], span: Span) -> Typed {
        if let Type::Object(id, _) = of {
            if self.object(*id).methods.iter().any(|method| method.is_abstract) {
                self.error(
                    span,
                    format!("`{}` has abstract methods: it is made by a declaration", self.spell(of)),
                );
            }
        }
        self.construct(call, of, arguments, span)
    }

    /// `Type(arguments) name;`
    pub fn instance(&mut self, declaration: &'t Declaration) {
        let DeclarationKind::Instance { of: written, arguments, initializer } = &declaration.kind else {
            return;
        };
        let all = self.type_reference(written);
        let mut of = all.clone();
        while let Type::Array(inner, _) = of {
            of = (*inner).clone();
        }
        // The call is noted under the type: the declaration has no expression.
        let call = Site { id: written.id, span: declaration.span };
        let made = self.construct(call, &of, arguments, written.span);
        self.facts.types.insert(written.id, of.clone());
        self.initializer(declaration, &of, initializer.as_deref());
        let ident = &declaration.ident;
        let kind = match &made.of {
            Type::Object(id, _) => self.object(*id).kind,
            _ => ObjectKind::Extern,
        };
        let outermost = self.scopes.is_outermost();
        let misplaced = match kind {
            ObjectKind::Package if !outermost => "a package is made outside of all blocks",
            ObjectKind::Parser | ObjectKind::Control if outermost => {
                "parsers and controls are made by packages, parsers and controls"
            }
            ObjectKind::Extern if outermost && &*ident.name == "main" && !made.of.is_wrong() => {
                "`main` is the name of the program's package"
            }
            _ => "",
        };
        if !misplaced.is_empty() {
            self.error(ident.span, misplaced);
        }
        self.open_parameters(ident, &made.of);
        let of = if matches!(all, Type::Array(..)) { all } else { made.of };
        let variable = Variable { is_constant: true, ..Variable::new(of, false) };
        self.declare(&ident.name, Entity::Value(variable), ident.span);
    }

    /// Tells of type parameters of an instance that nothing says.
    fn open_parameters(&mut self, ident: &Ident, of: &Type) {
        let Type::Object(id, types) = of else { return };
        if self.object(*id).kind != ObjectKind::Extern {
            return;
        }
        let unknown = |one: &Type| matches!(self.inference.shallow(one), Type::Variable(_) | Type::Integer);
        if let Some(place) = types.iter().position(unknown) {
            let object = self.object(*id);
            let (name, parameter) = (&object.declaration.ident.name, &object.type_parameters[place].name);
            let message = format!("nothing says what the type `{parameter}` of `{name}` is");
            self.error(ident.span, message);
        }
    }

    /// The methods that an instance has in braces: the extern's abstract ones (specification, section 11.3.2).
    fn initializer(&mut self, declaration: &'t Declaration, of: &Type, given: Option<&'t [Declaration]>) {
        let Type::Object(id, types) = of else { return };
        let span = declaration.ident.span;
        let is_extern = self.object(*id).kind == ObjectKind::Extern;
        if given.is_some() && !is_extern {
            self.error(span, "only an extern has methods in braces");
        }
        if let Some(given) = given {
            let before = std::mem::replace(&mut self.in_initializer, true);
            self.scoped(|checker| {
                checker.placed(Place::Outside, |checker| {
                    for one in given {
                        checker.declaration(one);
                        checker.implements(one, (*id, types), span);
                    }
                });
            });
            self.in_initializer = before;
        }
        let has = |name: &Name| given.is_some_and(|given| given.iter().any(|one| one.ident.name == *name));
        let missing = self.object(*id).methods.iter().find(|method| method.is_required && !has(&method.name));
        if let Some(name) = missing.map(|method| method.name.clone()) {
            self.error(span, format!("the method `{name}` of this instance has no body"));
        }
    }

    /// Compares the body of a method with the method that it is a body of.
    fn implements(&mut self, one: &'t Declaration, (id, types): (ObjectId, &[Type]), instance: Span) {
        let name = &one.ident.name;
        let Some(Entity::Functions(own)) = self.scopes.find(name, false).map(|found| found.entity.clone())
        else {
            return;
        };
        let object = self.object(id);
        let ident = &object.declaration.ident;
        let wants: Vec<Signature> = object
            .methods
            .iter()
            .filter(|method| method.name == *name && method.is_abstract)
            .map(|method| method.signature.specialised(&object.type_parameters, types))
            .collect();
        let Some(function) = own.last() else { return };
        let same = |checker: &mut Self, want: &Signature| {
            let has = &function.signature;
            checker.inference.unify(&has.returns, &want.returns)
                && has.parameters.len() <= want.parameters.len()
                && want.parameters[has.parameters.len()..].iter().all(|one| one.optional)
                && has.parameters.iter().zip(&want.parameters).all(|(one, other)| {
                    one.direction == other.direction && checker.inference.unify(&one.of, &other.of)
                })
        };
        let message = if wants.is_empty() {
            format!("`{}` has no abstract method `{name}`", ident.name)
        } else if !wants.iter().any(|want| same(self, want)) {
            format!("`{name}` has other parameters, or another result, than in `{}`", ident.name)
        } else {
            return;
        };
        self.error(one.ident.span, message).declared(&ident.name, ident.span).note(instance, "the instance");
    }
}
