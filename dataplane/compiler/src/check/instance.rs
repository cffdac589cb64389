//! Objects: what makes them, and what they are passed to (P4_16 specification, sections 8.21, 11.3 and 15).

use super::call::{count, Callee, Site};
use super::expression::Typed;
use super::scope::{Entity, Parameter, Signature};
use super::types::{ObjectId, Type};
use super::{Checker, ObjectKind, Place, Target};
use crate::source::{Name, Span};
use crate::syntax::tree::{Declaration, DeclarationKind, Expression, Ident};

impl<'t> Checker<'t, '_> {
    /// An object for a parameter (section 15): of the same type, or a parser or control of the parameter's
    /// kind.
    pub fn object_argument(
        &mut self, value: &'t Expression, typed: &Typed, want: &Type, is_constructor: bool,
    ) {
        let (of, want) = (typed.of.known(), want.known());
        if !is_constructor && self.kind_of(of).is_some_and(|kind| kind != ObjectKind::Extern) {
            fail!(self, value.span, "`{of}` is no argument: only packages take such");
        }
        if is_constructor && typed.varies() {
            fail!(self, value.span, "an object is made before the program runs: this depends on what runs");
        }
        if of.is_wrong() || of.unify(want) {
            return;
        }
        let fits = matches!(
            (self.kind_of(of), self.kind_of(want)),
            (Some(ObjectKind::Parser), Some(ObjectKind::ParserType))
                | (Some(ObjectKind::Control), Some(ObjectKind::ControlType))
        );
        match (of, want) {
            (Type::Object(id, arguments, _), Type::Object(kind, wants, _)) if fits => {
                self.same_apply(value, (*id, arguments), (*kind, wants));
            }
            _ => self.mismatch(value.span, of, want),
        }
    }

    /// Compares the parameters of a parser or control with those that a package expects (section 17).
    fn same_apply(&mut self, value: &'t Expression, one: (ObjectId, &[Type]), wants: (ObjectId, &[Type])) {
        let parts = |(id, arguments): (ObjectId, &[Type])| -> (&'t Ident, Vec<Parameter>) {
            let object = self.object(id);
            let apply = object.methods[0].signature.specialised(&object.type_parameters, arguments);
            (&object.declaration.ident, apply.parameters)
        };
        let ((name, has), (expected_name, expected)) = (parts(one), parts(wants));
        if has.len() != expected.len() {
            let (has, wants) = (count(has.len(), "parameter"), expected.len());
            fail!(self, value.span, "`{name}` has {has}, and {expected_name} has {wants}");
        }
        for (one, wants) in has.iter().zip(&expected) {
            let differs = if one.direction != wants.direction {
                format!("the direction of its parameter `{}` differs", one.name)
            } else if !one.of.unify(&wants.of) {
                format!("its parameter `{}` is {}, and {} is expected", one.name, one.of, wants.of)
            } else {
                continue;
            };
            error!(self, value.span, "`{name}` is no {expected_name}: {differs}")
                .note(one.span, "the parameter")
                .note(wants.span, "the parameter that is expected");
            return;
        }
    }

    /// `Type(arguments)`: makes an object before the program runs (sections 8.21 and 18.2).
    pub fn construct(&mut self, call: Site<'t, '_>, of: &Type, span: Span) -> Typed {
        let (id, types) = match of {
            Type::Wrong => return self.arguments_alone(call.arguments),
            Type::Object(id, types, _) => (*id, types),
            other => {
                error!(self, span, "{other} is not made by a call");
                return self.arguments_alone(call.arguments);
            }
        };
        let object = self.object(id);
        let ident = &object.declaration.ident;
        let callee = |(place, constructor): (usize, &Signature)| {
            let parameters = constructor.specialised(&object.type_parameters, types).parameters;
            let signature = Signature { returns: of.clone(), type_parameters: Vec::new(), parameters };
            Callee { ident: ident.clone(), target: Target::Constructor(id, place), signature }
        };
        let candidates: Vec<Callee<'t>> = object.constructors.iter().enumerate().map(callee).collect();
        if candidates.is_empty() {
            error!(self, span, "`{ident}` has no constructor");
        }
        Typed { is_constant: true, ..self.overloaded(call, candidates) }
    }

    /// An instance without a name (section 15): the argument of another.
    pub fn nameless(&mut self, call: Site<'t, '_>, of: &Type, span: Span) -> Typed {
        if let Type::Object(id, ..) = of {
            if self.object(*id).methods.iter().any(|method| method.is_abstract) {
                error!(self, span, "`{of}` has abstract methods: it is made by a declaration");
            }
        }
        self.construct(Site { types: &[], want: None, ..call }, of, span)
    }

    /// `Type(arguments) name;` (section 11.3).
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
        let call = Site { id: written.id, span: declaration.span, types: &[], arguments, want: None };
        let made = self.construct(call, &of, written.span);
        self.facts.types.insert(written.id, of.clone());
        self.initializer(declaration, &of, initializer.as_deref());
        let ident = &declaration.ident;
        let outermost = self.scopes.depth() == 1;
        let misplaced = match self.kind_of(&made.of).unwrap_or(ObjectKind::Extern) {
            ObjectKind::Package if !outermost => "a package is made outside of all blocks",
            // Section 11.3.2.
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
        self.declare(ident, Entity::Value(Typed::new(of, None, true)));
    }

    /// Tells of type parameters of an instance that nothing says (section 11.3).
    fn open_parameters(&mut self, ident: &Ident, of: &Type) {
        let Type::Object(id, types, name) = of else { return };
        let unknown = |one: &Type| one.is_open() || *one.known() == Type::Integer;
        let place = types.iter().position(unknown);
        if let Some(place) = place.filter(|_| self.object(*id).kind == ObjectKind::Extern) {
            let parameter = &self.object(*id).type_parameters[place].name;
            error!(self, ident.span, "nothing says what the type `{parameter}` of `{name}` is")
                .help(format!("`{name}<bit<32>>(...)`"));
        }
    }

    /// The methods that an instance has in braces: the extern's abstract ones (section 11.3.1).
    fn initializer(&mut self, declaration: &'t Declaration, of: &Type, given: Option<&'t [Declaration]>) {
        let Type::Object(id, types, _) = of else { return };
        let span = declaration.ident.span;
        if given.is_some() && self.object(*id).kind != ObjectKind::Extern {
            self.error(span, "only an extern has methods in braces");
        }
        let given = given.unwrap_or_default();
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
        let has = |name: &Name| given.iter().any(|one| one.ident.name == *name);
        let missing = self.object(*id).methods.iter().find(|method| method.is_required && !has(&method.name));
        if let Some(name) = missing.map(|method| &method.name) {
            error!(self, span, "the method `{name}` of this instance has no body");
        }
    }

    /// Compares the body of a method with the method that it is a body of (section 7.2.10.2.1).
    fn implements(&mut self, one: &'t Declaration, (id, types): (ObjectId, &[Type]), instance: Span) {
        let name = &one.ident.name;
        let Some(Entity::Functions(own)) = self.scopes.find(name, false).map(|found| &found.entity) else {
            return;
        };
        let Some(has) = own.last().map(|function| &function.signature) else { return };
        let object = self.object(id);
        let ident = &object.declaration.ident;
        let same = |want: &Signature| {
            has.returns.unify(&want.returns)
                && has.parameters.len() <= want.parameters.len()
                && want.parameters[has.parameters.len()..].iter().all(|one| one.optional)
                && has
                    .parameters
                    .iter()
                    .zip(&want.parameters)
                    .all(|(one, other)| one.direction == other.direction && one.of.unify(&other.of))
        };
        let methods = object.methods.iter().filter(|method| method.name == *name && method.is_abstract);
        let mut wants =
            methods.map(|method| method.signature.specialised(&object.type_parameters, types)).peekable();
        let message = if wants.peek().is_none() {
            format!("`{ident}` has no abstract method `{name}`")
        } else if !wants.any(|want| same(&want)) {
            format!("`{name}` has other parameters, or another result, than in `{ident}`")
        } else {
            return;
        };
        self.error(one.ident.span, message).declared(&ident.name, ident.span).note(instance, "the instance");
    }
}
