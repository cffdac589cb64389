//! Declarations: each name enters its block with what it is.

use std::rc::Rc;

use super::constant::Value;
use super::scope::{Entity, Found, Function, Signature, Variable};
use super::signature::Takes;
use super::types::{ObjectId, Type, TypeParameter};
use super::{Checker, Method, Object, ObjectKind, Place};
use crate::source::{Name, Span};
use crate::syntax::tree::{self, Block, Declaration, DeclarationKind, Direction, Head, Ident, Member};

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
                self.function(declaration, signature, body.as_ref())
            }
            DeclarationKind::Extern { type_parameters, methods } => {
                self.extern_object(declaration, type_parameters, methods);
            }
            DeclarationKind::Action { parameters, body } => self.action(declaration, parameters, body),
            DeclarationKind::Parser { .. } | DeclarationKind::Control { .. } => self.applicable(declaration),
            DeclarationKind::ParserType(head) => self.bodiless(declaration, ObjectKind::ParserType, head),
            DeclarationKind::ControlType(head) => self.bodiless(declaration, ObjectKind::ControlType, head),
            DeclarationKind::Package(head) => self.bodiless(declaration, ObjectKind::Package, head),
            DeclarationKind::Composite { shape, type_parameters, fields } => {
                self.composite(ident, *shape, type_parameters, fields);
            }
            DeclarationKind::Enum { of, members } => self.enumeration(ident, of.as_ref(), members),
            DeclarationKind::Error { members } => {
                let known = std::mem::take(&mut self.facts.errors);
                self.facts.errors = self.members(known, members, "error");
            }
            DeclarationKind::MatchKind { members } => {
                let known = std::mem::take(&mut self.match_kinds);
                self.match_kinds = self.members(known, members, "match kind");
            }
            DeclarationKind::Typedef(of) => self.typedef(ident, of),
            DeclarationKind::NewType(of) => self.new_type(ident, of),
            DeclarationKind::ValueSet { of: written, size } => {
                let of = self.type_reference(written);
                if matches!(of, Type::Integer | Type::String | Type::Object(..) | Type::Void) {
                    self.error(
                        written.span,
                        format!("a value set has no values of type {}", self.spell(&of)),
                    );
                }
                self.size(size, "the size of a value set");
                let variable = Variable::new(Type::Set(Rc::new(of)), false);
                self.declare(&ident.name, Entity::Value(variable), ident.span);
            }
            DeclarationKind::Table(table) => self.table(declaration, table),
        }
    }

    /// Names that the language or the architecture gives a meaning: `main`, `NoAction`, v1model's version.
    fn special_name(&mut self, declaration: &'t Declaration) {
        let ident = &declaration.ident;
        if !self.scopes.is_outermost() {
            return;
        }
        self.control_name(None, declaration);
        let message = match (&*ident.name, &declaration.kind) {
            ("main", DeclarationKind::Instance { .. } | DeclarationKind::Function { .. }) => return,
            ("main", _) => "`main` is the name of the program's package",
            ("NoAction", DeclarationKind::Action { parameters, .. }) if parameters.is_empty() => return,
            ("NoAction", _) => "`NoAction` is the name of an action without parameters",
            _ => return,
        };
        self.error(ident.span, message);
    }

    /// Adds the members of an `error` or `match_kind` declaration to those that are known.
    fn members(&mut self, mut known: Vec<Name>, members: &'t [Member], what: &str) -> Vec<Name> {
        for ident in members.iter().map(|member| &member.ident) {
            if known.contains(&ident.name) {
                self.twice(ident, what);
            }
            known.push(ident.name.clone());
        }
        known
    }

    pub fn twice(&mut self, ident: &Ident, what: &str) {
        self.error(ident.span, format!("the {what} `{}` is declared twice", ident.name));
    }

    fn constant_declaration(
        &mut self, ident: &'t Ident, written: &'t tree::Type, value: &'t tree::Expression,
    ) {
        let of = self.complete_type(written);
        let typed = self.value_of(value, &of);
        if matches!(of, Type::Object(..)) {
            self.error(ident.span, format!("`{}` is an object, and no constant", ident.name))
                .help(format!("`Type(...) {};` makes an instance", ident.name));
        } else if typed.value.is_none() && !typed.is_constant && !typed.of.is_wrong() {
            let message = format!("the value of constant `{}` is not known to the compiler", ident.name);
            self.error(value.span, message);
        } else if written.has_any() {
            self.error(written.span, "the type of a constant has no `_`");
        }
        if &*ident.name == "__v1model_version" {
            let version =
                typed.value.as_ref().and_then(Value::number).and_then(|one| u32::try_from(one).ok());
            if !version.is_some_and(|version| (20_180_101..=20_200_408).contains(&version)) {
                self.error(value.span, "v1model has the versions 20180101 to 20200408");
            }
        }
        let variable = Variable { value: typed.value, is_constant: true, ..Variable::new(of, false) };
        self.declare(&ident.name, Entity::Value(variable), ident.span);
    }

    fn variable(&mut self, ident: &'t Ident, written: &'t tree::Type, value: Option<&'t tree::Expression>) {
        let of = self.type_reference(written);
        let unfit = matches!(
            self.inference.shallow(&of),
            Type::Void
                | Type::String
                | Type::Integer
                | Type::MatchKind
                | Type::Set(_)
                | Type::List(_)
                | Type::Object(..)
        );
        if unfit {
            let kind = self.spell(&of);
            let error =
                self.error(written.span, format!("`{}` cannot be a variable of type {kind}", ident.name));
            match of {
                Type::Object(..) => error.help(format!("`{kind}(...) {};` makes an instance", ident.name)),
                Type::Integer => error.help("a variable needs a width: `bit<32>`"),
                _ => error,
            };
        }
        if let Some(value) = value {
            self.value_of(value, &of);
            if self.place == Place::Control && value.base() == Some(&*ident.name) {
                self.error(
                    ident.span,
                    format!("`{}` begins with the value of another `{}`", ident.name, ident.name),
                )
                .help("two names tell them apart");
            }
        }
        self.declare_local(ident, Entity::Value(Variable::new(of, true)));
    }

    /// Adds a name, and warns if it hides one that was meant perhaps.
    pub fn declare_local(&mut self, ident: &Ident, entity: Entity<'t>) {
        if let Some(hidden) = self.scopes.hidden(&ident.name) {
            if matches!(hidden.entity, Entity::Value(_)) {
                let place = hidden.span;
                let message = format!("`{}` hides another name", ident.name);
                self.warning(ident.span, message).note(place, "the other one");
            }
        }
        self.declare(&ident.name, entity, ident.span);
    }

    pub fn type_parameters(&mut self, idents: &'t [Ident]) -> Vec<TypeParameter> {
        let mut parameters = Vec::new();
        for ident in idents {
            self.parameters += 1;
            let parameter = TypeParameter { id: self.parameters, name: ident.name.clone() };
            self.declare(&ident.name, Entity::Type(Type::Parameter(parameter.clone())), ident.span);
            parameters.push(parameter);
        }
        parameters
    }

    fn function(
        &mut self, declaration: &'t Declaration, written: &'t tree::Signature, body: Option<&'t Block>,
    ) {
        self.scopes.enter();
        let type_parameters = self.type_parameters(&written.head.type_parameters);
        let takes = if body.is_some() { Takes::Code } else { Takes::Extern };
        let mut signature = self.signature(type_parameters, &written.head.parameters, takes);
        signature.returns = self.returns(written);
        if let Some(body) = body {
            self.declare_parameters(&written.head.parameters, &signature, true);
            let place = Place::Function(signature.returns.clone());
            let ends = self.placed(place, |checker| checker.block(body));
            if !ends && !matches!(signature.returns, Type::Void | Type::Wrong) {
                let name = &declaration.ident.name;
                let message = format!("function `{name}` does not always return a value");
                self.error(declaration.ident.span, message);
            }
        }
        self.scopes.leave();
        self.add_function(Rc::new(Function { declaration, signature }));
    }

    /// Adds a function to those of its name.
    fn add_function(&mut self, function: Rc<Function<'t>>) {
        let ident = &function.declaration.ident;
        let mut all = Vec::new();
        let mut span = ident.span;
        if let Some((Entity::Functions(others), first)) =
            self.scopes.find(&ident.name, true).map(|found| (&found.entity, found.span))
        {
            all = others.clone();
            span = first;
        }
        if let Some(other) = all.iter().find(|other| same_names(&other.signature, &function.signature)) {
            let first = other.declaration.ident.span;
            self.error(ident.span, format!("the function `{}` is declared twice", ident.name))
                .note(first, "its first declaration");
            return;
        }
        let is_first = all.is_empty();
        all.push(function.clone());
        if is_first {
            self.declare(&ident.name, Entity::Functions(all), span);
        } else {
            self.scopes.declare(&ident.name, Found { entity: Entity::Functions(all), span });
        }
    }

    fn extern_object(
        &mut self, declaration: &'t Declaration, type_parameters: &'t [Ident], methods: &'t [tree::Method],
    ) {
        self.scopes.enter();
        let parameters = self.type_parameters(type_parameters);
        let mut constructors = Vec::new();
        let mut found: Vec<Method> = Vec::new();
        for method in methods {
            self.annotations(&method.annotations);
            self.scopes.enter();
            let own = self.type_parameters(&method.signature.head.type_parameters);
            let mut signature = self.signature(own, &method.signature.head.parameters, Takes::Extern);
            signature.returns = self.returns(&method.signature);
            self.scopes.leave();
            let ident = &method.ident;
            match &method.signature.returns {
                None => constructors.push(signature),
                Some(returns) if ident.name == declaration.ident.name => {
                    self.error(ident.span, format!("the constructor `{}` returns nothing", ident.name))
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
                    let optional = method.annotations.iter().any(|note| &*note.name.name == "optional");
                    let (name, is_abstract) = (ident.name.clone(), method.is_abstract);
                    found.push(Method {
                        name,
                        signature,
                        is_abstract,
                        is_required: is_abstract && !optional,
                    });
                }
            }
        }
        self.scopes.leave();
        self.add_object(declaration, ObjectKind::Extern, parameters, constructors, found);
    }

    fn add_object(
        &mut self, declaration: &'t Declaration, kind: ObjectKind, type_parameters: Vec<TypeParameter>,
        constructors: Vec<Signature>, methods: Vec<Method>,
    ) -> ObjectId {
        let id = ObjectId(self.facts.objects.len() as u32);
        self.facts.objects.push(Object { declaration, kind, type_parameters, constructors, methods });
        self.declare(&declaration.ident.name, Entity::Object(id), declaration.ident.span);
        id
    }

    /// A type of parsers or controls, or a package.
    fn bodiless(&mut self, declaration: &'t Declaration, kind: ObjectKind, head: &'t Head) {
        self.scopes.enter();
        let parameters = self.type_parameters(&head.type_parameters);
        let is_package = kind == ObjectKind::Package;
        let takes = if is_package { Takes::Package } else { Takes::Extern };
        let signature = self.signature(Vec::new(), &head.parameters, takes);
        self.scopes.leave();
        if is_package {
            self.add_object(declaration, kind, parameters, vec![signature], Vec::new());
        } else {
            self.add_object(declaration, kind, parameters, Vec::new(), vec![Method::apply(signature)]);
        }
    }

    /// A parser or control with its body.
    fn applicable(&mut self, declaration: &'t Declaration) {
        let (head, constructor, kind, place) = match &declaration.kind {
            DeclarationKind::Parser { head, constructor, .. } => {
                (head, constructor, ObjectKind::Parser, Place::Parser)
            }
            DeclarationKind::Control { head, constructor, .. } => {
                (head, constructor, ObjectKind::Control, Place::Control)
            }
            _ => return,
        };
        self.scopes.enter();
        let type_parameters = self.type_parameters(&head.type_parameters);
        let made = self.signature(Vec::new(), constructor, Takes::Constructor);
        if let Some(directed) = made.parameters.iter().find(|one| one.direction != Direction::None) {
            self.error(directed.span, "the parameters of a constructor have no direction");
        }
        let signature = self.signature(Vec::new(), &head.parameters, Takes::Extern);
        self.declare_parameters(constructor, &made, true);
        self.declare_parameters(&head.parameters, &signature, false);
        self.scoped(|checker| {
            checker.placed(place, |checker| match &declaration.kind {
                DeclarationKind::Parser { locals, states, .. } => {
                    checker.parser_body(declaration, locals, states);
                }
                DeclarationKind::Control { locals, apply, .. } => {
                    checker.locals(declaration, locals);
                    checker.block(apply);
                    checker.unused(&declaration.ident, &head.parameters, locals, apply);
                    checker.validity(apply);
                }
                _ => {}
            });
        });
        self.scopes.leave();
        let apply = vec![Method::apply(signature)];
        self.add_object(declaration, kind, type_parameters, vec![made], apply);
    }

    /// The declarations of a parser or control, none of which has the name of a parameter.
    pub fn locals(&mut self, around: &'t Declaration, locals: &'t [Declaration]) {
        self.control_names(around, locals);
        for local in locals {
            self.declaration(local);
        }
    }

    fn action(&mut self, declaration: &'t Declaration, written: &'t [tree::Parameter], body: &'t Block) {
        self.scopes.enter();
        let signature = self.signature(Vec::new(), written, Takes::Code);
        let mut first: Option<Span> = None;
        for parameter in &signature.parameters {
            match (parameter.direction, first) {
                (Direction::None, _) => first = Some(parameter.span),
                (_, Some(first)) => {
                    let message = "parameters with a direction come before those of the control plane";
                    self.error(parameter.span, message).note(first, "a parameter of the control plane");
                }
                _ => {}
            }
            if matches!(parameter.of, Type::Integer | Type::String | Type::Object(..)) {
                self.error(
                    parameter.span,
                    format!("an action has no parameters of type {}", self.spell(&parameter.of)),
                );
            }
        }
        self.declare_parameters(written, &signature, false);
        self.placed(Place::Action, |checker| checker.block(body));
        self.scopes.leave();
        let function = Rc::new(Function { declaration, signature });
        self.declare(&declaration.ident.name, Entity::Action(function), declaration.ident.span);
    }
}

/// Whether calls cannot tell two signatures apart: by the number of their parameters and the names.
fn same_names(one: &Signature, other: &Signature) -> bool {
    one.parameters.len() == other.parameters.len()
        && one.parameters.iter().zip(&other.parameters).all(|(one, other)| one.name == other.name)
}
