//! Controls: each instance has one set of tables and variables, its body is inlined where it is applied.

use std::rc::Rc;

use super::environment::{Binding, Environment};
use super::ir::StatementKind;
use super::pass::{Callee, Passed};
use super::statement::Leaves;
use super::value::{Object, Value};
use super::{Lowered, Lowering};
use crate::check::scope::Signature;
use crate::check::types::Type;
use crate::check::Call;
use crate::source::{Name, Span};
use crate::syntax::tree::{Argument, Declaration, DeclarationKind, Direction};

/// An instance whose names are made.
pub struct Instance<'t> {
    pub environment: Rc<Environment<'t>>,
    /// The meanings of its parameters.
    bound: Vec<(Name, Value)>,
}

impl<'t> Lowering<'t, '_> {
    pub fn apply_control(
        &mut self, span: Span, object: &Object, call: &Call<'t>, signature: &Signature,
        arguments: &'t [Argument],
    ) -> Lowered<Value> {
        let before = self.types.len();
        let known = &self.facts.objects[object.id.0 as usize];
        self.types.extend(known.type_parameters.iter().cloned().zip(object.types.iter().cloned()));
        let passed = self.pass(call, signature, arguments, Callee::Closed, span)?;
        let bound = passed.iter().map(|one| (one.name.clone(), one.value.clone())).collect();
        let result = self.copying(passed, span, |lowering| {
            lowering.deeper(span, |lowering| lowering.run_control(object, bound, span))
        });
        self.types.truncate(before);
        result.map(|()| Value::Nothing)
    }

    /// The body of a control with what its parameters stand for.
    pub fn run_control(&mut self, object: &Object, bound: Vec<(Name, Value)>, span: Span) -> Lowered<()> {
        let known = &self.facts.objects[object.id.0 as usize];
        let DeclarationKind::Control { locals, apply, .. } = &known.declaration.kind else {
            return self.refuse(span, "no control");
        };
        let signature = &known.methods[0].signature;
        let path = std::mem::replace(&mut self.path, object.path.clone());
        let result = self.in_instance(object, signature, bound, span, |lowering, first| {
            for local in locals {
                lowering.local(local, first)?;
            }
            let label = lowering.label();
            let ((), statements) =
                lowering.collect(|lowering| lowering.body(apply, Leaves::to(label, None)))?;
            lowering.emit(span, StatementKind::Labelled(label, statements));
            Ok(())
        });
        self.path = path;
        result
    }

    /// Runs `make` with the names of an instance; its second argument says whether they are new.
    fn in_instance(
        &mut self, object: &Object, signature: &Signature, bound: Vec<(Name, Value)>, span: Span,
        make: impl FnOnce(&mut Self, bool) -> Lowered<()>,
    ) -> Lowered<()> {
        let (instance, first) = match self.instances.get(&object.path) {
            Some(instance) => (instance.clone(), false),
            None => {
                let own = if self.shared.contains(&object.path) {
                    self.own(signature, &bound, span)?
                } else {
                    bound.clone()
                };
                let instance = Rc::new(self.new_instance(object, own));
                self.instances.insert(object.path.clone(), instance.clone());
                (instance, true)
            }
        };
        let pairs: Vec<(&Value, &Value)> =
            instance.bound.iter().zip(&bound).map(|(own, given)| (&own.1, &given.1)).collect();
        if !self.shared.contains(&object.path) {
            if pairs.iter().all(|(own, given)| same(own, given)) {
                return self.within(instance.environment.clone(), |lowering| make(lowering, first));
            }
            // Told by beginning again.
            self.shared.insert(object.path.clone());
            return Err(super::Told);
        }
        let types: Vec<Type> =
            signature.parameters.iter().map(|parameter| self.here(&parameter.of)).collect();
        let mut passed = Vec::new();
        for ((parameter, of), (own, given)) in signature.parameters.iter().zip(&types).zip(&pairs) {
            match parameter.direction {
                Direction::Out => self.clear(own, of, span),
                _ if matches!(own, Value::Object(_)) => {}
                _ => self.assign(own, given, of, span)?,
            }
            let writes = matches!(parameter.direction, Direction::Out | Direction::InOut);
            let (name, value) = (parameter.name.clone(), (*own).clone());
            passed.push(Passed { name, value, of: of.clone(), back: writes.then(|| (*given).clone()) });
        }
        let environment = instance.environment.clone();
        self.copying(passed, span, |lowering| lowering.within(environment, |lowering| make(lowering, first)))
    }

    /// Variables for parameters.
    fn own(
        &mut self, signature: &Signature, bound: &[(Name, Value)], span: Span,
    ) -> Lowered<Vec<(Name, Value)>> {
        let mut own = Vec::new();
        for (parameter, (name, value)) in signature.parameters.iter().zip(bound) {
            let of = self.here(&parameter.of);
            let value = match value {
                Value::Object(_) => value.clone(),
                _ => self.allocate(name, &of, span)?,
            };
            own.push((name.clone(), value));
        }
        Ok(own)
    }

    pub fn new_instance(&self, object: &Object, bound: Vec<(Name, Value)>) -> Instance<'t> {
        let outer = Environment::inside(&self.globals);
        for (name, value) in object.arguments.iter().chain(&bound) {
            outer.declare(name, Binding::Value(value.clone()));
        }
        Instance { environment: Environment::inside(&outer), bound }
    }

    /// A declaration of a control or parser: variables get their value each time.
    pub fn local(&mut self, declaration: &'t Declaration, first: bool) -> Lowered<()> {
        let name = &declaration.ident.name;
        match &declaration.kind {
            DeclarationKind::Variable { of, value } => {
                let of = self.type_of(of.id);
                if first {
                    let place = self.allocate(name, &of, declaration.span)?;
                    self.bind(name, place);
                }
                if let (Some(value), Some(Binding::Value(place))) = (value, self.environment.find(name)) {
                    let value = self.value(value)?;
                    self.assign(&place, &value, &of, declaration.span)?;
                }
            }
            _ if !first => {}
            DeclarationKind::Constant { value, .. } => {
                let value = self.value(value)?;
                self.bind(name, value);
            }
            DeclarationKind::Instance { .. } => {
                let value = self.instance(declaration)?;
                self.bind(name, value);
            }
            DeclarationKind::Action { .. } => {
                let environment = self.environment.clone();
                environment.declare(name, Binding::Action(declaration, environment.clone()));
            }
            DeclarationKind::Table(_) => {
                let table = self.table(declaration)?;
                self.environment.declare(name, Binding::Table(declaration, table));
            }
            DeclarationKind::ValueSet { size, of } => self.value_set(declaration, of, size)?,
            _ => {}
        }
        Ok(())
    }
}

/// Whether two values are the same places.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Scalar(a), Value::Scalar(b)) => a == b,
        (Value::Header(a), Value::Header(b)) => a == b,
        (Value::Union(a), Value::Union(b)) => a == b,
        (Value::Stack(a), Value::Stack(b)) | (Value::UnionStack(a), Value::UnionStack(b)) => a == b,
        (Value::Group(a), Value::Group(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(&a.1, &b.1))
        }
        (Value::Object(a), Value::Object(b)) => a.path == b.path,
        (Value::Nothing, Value::Nothing) | (Value::Invalid, Value::Invalid) => true,
        _ => false,
    }
}
