//! Declarations: each name enters its block with what it is (P4_16 specification, sections 6.6.1, 10, 11,
//! 13.2 and 14).

use std::rc::Rc;

use super::expression::Typed;
use super::scope::{Entity, Found, Function, Parameter, Signature, Takes};
use super::types::{ObjectId, Type, TypeParameter};
use super::{Checker, Method, Object, ObjectKind, Place};
use crate::diagnostic::Diagnostic;
use crate::source::{Name, Span};
use crate::syntax::tree::{
    self, annotated, Applicable, Declaration, DeclarationKind, Direction, Expression, Ident, Member,
    Statement,
};

impl<'t> Checker<'t, '_> {
    pub fn declaration(&mut self, declaration: &'t Declaration) {
        let ident = &declaration.ident;
        self.annotations(&declaration.annotations);
        self.special_name(declaration);
        match &declaration.kind {
            DeclarationKind::Constant { of, value } => self.constant_declaration(ident, of, value),
            DeclarationKind::Variable { of, value } => self.variable(ident, of, value.as_ref()),
            DeclarationKind::Instance { .. } => self.instance(declaration),
            DeclarationKind::Function { signature, body } => {
                self.function(declaration, signature, body.as_deref())
            }
            DeclarationKind::Extern { type_parameters, methods } => {
                self.extern_object(declaration, type_parameters, methods);
            }
            DeclarationKind::Action { parameters, body } => self.action(declaration, parameters, body),
            DeclarationKind::Applicable(kind, one) => self.applicable(declaration, *kind, one),
            DeclarationKind::Composite { shape, type_parameters, fields } => {
                self.composite(ident, *shape, type_parameters, fields);
            }
            DeclarationKind::Enum { of, members } => self.enumeration(ident, of.as_ref(), members),
            DeclarationKind::Members(members) if &*ident.name == "error" => {
                self.members(members, "error", |checker| &mut checker.facts.errors);
            }
            DeclarationKind::Members(members) => {
                self.members(members, "match kind", |checker| &mut checker.match_kinds);
            }
            DeclarationKind::Typedef(of) => self.typedef(ident, of),
            DeclarationKind::NewType(of) => self.new_type(ident, of),
            // Section 13.11.
            DeclarationKind::ValueSet { of: written, size } => {
                let of = self.type_reference(written);
                if matches!(of, Type::Integer | Type::String | Type::Object(..) | Type::Void) {
                    error!(self, written.span, "a value set has no values of type {of}");
                }
                self.size(size, "the size of a value set", false);
                self.declare(ident, Entity::Value(Typed::of(Type::Set(Rc::new(of)))));
            }
            DeclarationKind::Table(table) => self.table(declaration, table),
        }
    }

    /// Names that the language or the architecture gives a meaning: `main`, `NoAction`, v1model's version.
    fn special_name(&mut self, declaration: &'t Declaration) {
        let ident = &declaration.ident;
        if self.scopes.depth() > 1 {
            return;
        }
        let message = match (&*ident.name, &declaration.kind) {
            ("main", DeclarationKind::Instance { .. } | DeclarationKind::Function { .. }) => return,
            ("main", _) => "`main` is the name of the program's package",
            ("NoAction", DeclarationKind::Action { parameters, .. }) if parameters.is_empty() => return,
            ("NoAction", _) => "`NoAction` is the name of an action without parameters",
            _ => return,
        };
        self.error(ident.span, message);
    }

    /// Adds the members of an `error` or `match_kind` declaration to those known (sections 7.1.2, 7.1.3).
    fn members(&mut self, members: &'t [Member], what: &str, known: fn(&mut Self) -> &mut Vec<Name>) {
        for ident in members.iter().map(|member| &member.ident) {
            if known(self).contains(&ident.name) {
                self.twice(ident, what);
            }
            known(self).push(ident.name.clone());
        }
    }

    pub fn twice(&mut self, ident: &Ident, what: &str) -> &mut Diagnostic {
        error!(self, ident.span, "the {what} `{ident}` is declared twice")
    }

    /// `const` (section 11.1).
    fn constant_declaration(&mut self, ident: &'t Ident, written: &'t tree::Type, value: &'t Expression) {
        let of = self.complete_type(written);
        let is_open = of.contains(&Type::is_open);
        let typed = self.value_of(value, &of);
        if of.is_object() {
            error!(self, ident.span, "`{ident}` is an object, and no constant")
                .help(format!("`Type(...) {ident};` makes an instance"));
        } else if typed.value.is_none() && typed.varies() {
            error!(self, value.span, "the value of constant `{ident}` is not known to the compiler");
        } else if is_open {
            self.error(written.span, "the type of a constant has no `_`");
        }
        // Versions are dates; p4c compiles programs for later ones than its own.
        let dates = num_bigint::BigInt::from(20_180_101)..=99_999_999.into();
        if &*ident.name == "__v1model_version" && typed.number().is_some_and(|one| !dates.contains(one)) {
            self.error(value.span, "the versions of v1model are 20180101 and later dates")
                .help("`#define V1MODEL_VERSION 20200408`");
        }
        self.declare(ident, Entity::Value(Typed::new(of, typed.value, true)));
    }

    /// A variable (section 11.2).
    fn variable(&mut self, ident: &'t Ident, written: &'t tree::Type, value: Option<&'t Expression>) {
        let of = self.type_reference(written);
        let unfit = matches!(of.known(), Type::Void | Type::String | Type::Integer | Type::MatchKind)
            || matches!(of.known(), Type::Set(_) | Type::List(_))
            || of.contains(&Type::is_object);
        if unfit {
            let error = error!(self, written.span, "`{ident}` cannot be a variable of type {of}");
            match of {
                Type::Object(..) => error.help(format!("`{of}(...) {ident};` makes an instance")),
                Type::Integer => error.help("a variable needs a width: `bit<32>`"),
                _ => error,
            };
        }
        if let Some(value) = value {
            self.value_of(value, &of);
        }
        self.declare_local(ident, Entity::Value(Typed::variable(of)));
    }

    /// Adds a name, and warns if it hides one that was meant perhaps. p4c has an error for a parameter,
    /// unless a declaration of its parser or control hides it.
    pub fn declare_local(&mut self, ident: &Ident, entity: Entity<'t>) {
        let is_outer = self.scopes.depth() == 3 && matches!(self.place, Place::Control | Place::Parser);
        if let Some(Found { entity: Entity::Value(hidden), span }) = self.scopes.hidden(&ident.name) {
            let (span, message) = (*span, format!("`{ident}` hides another name"));
            let told = match hidden.is_parameter && !is_outer {
                true => {
                    self.diagnostics.error(ident.span, format!("`{ident}` is a parameter's name already"))
                }
                false => self.diagnostics.warning(ident.span, message),
            };
            told.note(span, "the other one");
        }
        self.declare(ident, entity);
    }

    /// Declares type parameters (section 7.2.11).
    pub fn type_parameters(&mut self, idents: &'t [Ident]) -> Vec<TypeParameter> {
        let mut parameters = Vec::new();
        for ident in idents {
            self.parameters += 1;
            let parameter = TypeParameter { id: self.parameters, name: ident.name.clone() };
            self.declare(ident, Entity::Type(Vec::new(), Type::Parameter(parameter.clone())));
            parameters.push(parameter);
        }
        parameters
    }

    /// A function, or an extern one (sections 7.2.10.1 and 10).
    fn function(
        &mut self, declaration: &'t Declaration, written: &'t tree::Signature, body: Option<&'t [Statement]>,
    ) {
        let signature = self.scoped(|checker| {
            let takes = if body.is_some() { Takes::Code } else { Takes::Extern };
            let signature = checker.whole_signature(written, takes);
            let Some(body) = body else { return signature };
            checker.declare_parameters(&signature, |_| true);
            let place = Place::Function(signature.returns.clone());
            checker.placed(place, |checker| checker.block(body));
            if !body.iter().any(|one| one.ends(true))
                && !matches!(signature.returns, Type::Void | Type::Wrong)
            {
                let ident = &declaration.ident;
                error!(checker, ident.span, "function `{ident}` does not always return a value");
            }
            signature
        });
        self.add_function(Rc::new(Function { declaration, signature }));
    }

    /// Adds a function to those of its name (section 7.2.10.1).
    fn add_function(&mut self, function: Rc<Function<'t>>) {
        let ident = &function.declaration.ident;
        let (mut all, span) = match self.scopes.find(&ident.name, true) {
            Some(Found { entity: Entity::Functions(others), span }) => (others.clone(), *span),
            _ => (Vec::new(), ident.span),
        };
        if let Some(other) = all.iter().find(|other| same_names(&other.signature, &function.signature)) {
            self.twice(ident, "function").note(other.declaration.ident.span, "its first declaration");
            return;
        }
        all.push(function.clone());
        if all.len() == 1 {
            self.declare(ident, Entity::Functions(all));
        } else {
            self.scopes.declare(&ident.name, Found { entity: Entity::Functions(all), span });
        }
    }

    /// `extern name { ... }` (section 7.2.10.2).
    fn extern_object(
        &mut self, declaration: &'t Declaration, type_parameters: &'t [Ident], methods: &'t [tree::Method],
    ) {
        self.scopes.enter();
        let parameters = self.type_parameters(type_parameters);
        let mut constructors = Vec::new();
        let mut found: Vec<Method> = Vec::new();
        for method in methods {
            self.annotations(&method.annotations);
            let signature = self.scoped(|checker| checker.whole_signature(&method.signature, Takes::Extern));
            let ident = &method.ident;
            match &method.signature.returns {
                None => constructors.push(signature),
                Some(returns) if ident.name == declaration.ident.name => {
                    error!(self, ident.span, "the constructor `{ident}` returns nothing")
                        .note(returns.span, "no type belongs here");
                }
                Some(returns) => {
                    if signature.returns == Type::Integer {
                        self.error(returns.span, "a method returns no number without a width");
                    }
                    let same =
                        |other: &Method| other.name == ident.name && same_names(&other.signature, &signature);
                    if found.iter().any(same) {
                        self.twice(ident, "method");
                    }
                    let (name, is_abstract) = (ident.name.clone(), method.is_abstract);
                    let is_required = is_abstract && annotated(&method.annotations, "optional").is_none();
                    found.push(Method { name, signature, is_abstract, is_required });
                }
            }
        }
        self.scopes.leave();
        self.add_object(declaration, ObjectKind::Extern, parameters, constructors, found);
    }

    fn add_object(
        &mut self, declaration: &'t Declaration, kind: ObjectKind, type_parameters: Vec<TypeParameter>,
        constructors: Vec<Signature>, methods: Vec<Method>,
    ) {
        let id = ObjectId(self.facts.objects.len() as u32);
        self.facts.objects.push(Object { declaration, kind, type_parameters, constructors, methods });
        self.declare(&declaration.ident, Entity::Object(id));
    }

    /// A parser or control, the type of some, or a package (sections 7.2.12, 7.2.13, 13.2 and 14).
    fn applicable(&mut self, declaration: &'t Declaration, kind: ObjectKind, written: &'t Applicable) {
        let Applicable { head, constructor, .. } = written;
        self.scopes.enter();
        let type_parameters = self.type_parameters(&head.type_parameters);
        let made = self.signature(constructor, Takes::Constructor);
        if let Some(directed) = made.parameters.iter().find(|one| one.direction != Direction::None) {
            self.error(directed.span, "the parameters of a constructor have no direction");
        }
        let takes = if kind == ObjectKind::Package { Takes::Package } else { Takes::Extern };
        let signature = self.signature(&head.parameters, takes);
        if matches!(kind, ObjectKind::Parser | ObjectKind::Control) {
            self.declare_parameters(&made, |_| true);
            self.declare_parameters(&signature, |of| !of.is_object());
            self.scoped(|checker| checker.body(declaration, kind, written));
        }
        self.scopes.leave();
        let apply =
            |signature| Method { name: "apply".into(), signature, is_abstract: false, is_required: false };
        let (constructors, methods) = match kind {
            ObjectKind::Package => (vec![signature], Vec::new()),
            ObjectKind::ParserType | ObjectKind::ControlType => (Vec::new(), vec![apply(signature)]),
            _ => (vec![made], vec![apply(signature)]),
        };
        self.add_object(declaration, kind, type_parameters, constructors, methods);
    }

    fn body(&mut self, declaration: &'t Declaration, kind: ObjectKind, written: &'t Applicable) {
        let Applicable { head, locals, states, apply, .. } = written;
        let place = if kind == ObjectKind::Parser { Place::Parser } else { Place::Control };
        self.placed(place, |checker| {
            locals.iter().for_each(|local| checker.declaration(local));
            if kind == ObjectKind::Parser {
                return checker.states(&declaration.ident, states);
            }
            checker.block(apply);
            checker.unused(&declaration.ident, &head.parameters, locals, apply);
            checker.validity(apply);
        });
    }

    /// An action (section 14.1).
    fn action(
        &mut self, declaration: &'t Declaration, written: &'t [tree::Parameter], body: &'t [Statement],
    ) {
        self.scopes.enter();
        let signature = self.signature(written, Takes::Code);
        let mut first: Option<Span> = None;
        for Parameter { direction, of, span, .. } in &signature.parameters {
            match (direction, first) {
                (Direction::None, _) => first = Some(*span),
                (_, Some(first)) => {
                    let message = "parameters with a direction come before those of the control plane";
                    self.error(*span, message).note(first, "a parameter of the control plane");
                }
                _ => {}
            }
            if matches!(of, Type::Integer | Type::String | Type::Object(..)) {
                error!(self, *span, "an action has no parameters of type {of}");
            }
        }
        self.declare_parameters(&signature, |_| false);
        self.placed(Place::Action, |checker| checker.block(body));
        self.scopes.leave();
        self.declare(&declaration.ident, Entity::Action(Rc::new(Function { declaration, signature })));
    }
}

/// Whether calls cannot tell two signatures apart (section 6.9): by the number of their parameters and the
/// names.
fn same_names(one: &Signature, other: &Signature) -> bool {
    one.parameters.len() == other.parameters.len()
        && one.parameters.iter().zip(&other.parameters).all(|(one, other)| one.name == other.name)
}
