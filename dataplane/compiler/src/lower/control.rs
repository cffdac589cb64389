//! Controls and actions (P4_16 specification, sections 14, 14.1 and 14.4). Each instance of a control has
//! one set of tables and variables, and its body is inlined where it is applied. Actions are inlined where
//! controls call them; where tables do, the control plane gives them data.

use std::rc::Rc;

use super::ir::{add, Action, ActionCall, ActionParameter, Expr, Order, Statement, Table};
use super::pass::{Callee, Given, Passed};
use super::value::{dotted, Binding, Environment, Object, Value};
use super::{Lowered, Lowering, Place};
use crate::check::scope::Signature;
use crate::check::{Call, ObjectKind};
use crate::source::Name;
use crate::syntax::tree::{
    Applicable, Argument, Declaration, DeclarationKind, Direction, NodeId, Parameter, Path,
};

/// An instance whose names are made.
pub struct Instance<'t> {
    pub environment: Rc<Environment<'t>>,
    /// The meanings of its parameters.
    bound: Vec<(Name, Value)>,
}

impl<'t> Lowering<'t, '_> {
    /// `object.apply(arguments)` of a control or parser.
    pub fn apply(
        &mut self, object: &Object, call: &'t Call<'t>, arguments: &'t [Argument],
    ) -> Lowered<Value> {
        let known = self.known(object.id);
        let is_control = known.kind == ObjectKind::Control;
        self.specialised(&known.type_parameters, &object.types, |lowering| {
            let callee = if is_control { Callee::Closed } else { Callee::Parser };
            let passed = lowering.pass(call, arguments, callee)?;
            let bound = passed.iter().map(|one| (one.name.clone(), one.value.clone())).collect();
            lowering.copying(passed, |lowering| match is_control {
                true => lowering.run_control(object, bound),
                false => lowering.run_subparser(object, bound),
            })
        })?;
        Ok(Value::Nothing)
    }

    /// The body of a control with what its parameters stand for.
    pub fn run_control(&mut self, object: &Object, bound: Vec<(Name, Value)>) -> Lowered<()> {
        let known = self.known(object.id);
        let DeclarationKind::Applicable(_, Applicable { locals, apply, .. }) = &known.declaration.kind else {
            return self.refuse("no control");
        };
        let signature = &known.methods[0].signature;
        self.named(&object.path, &object.order, |lowering| {
            lowering.in_instance(object, signature, bound, |lowering, first| {
                lowering.locals(locals, first)?;
                lowering.inlined(apply, None)
            })
        })
    }

    /// Runs `make` with the names of an instance; its second argument says whether they are new.
    fn in_instance(
        &mut self, object: &Object, signature: &Signature, bound: Vec<(Name, Value)>,
        make: impl FnOnce(&mut Self, bool) -> Lowered<()>,
    ) -> Lowered<()> {
        let is_shared = self.shared.contains(&object.path);
        let (instance, first) = match self.instances.get(&object.path) {
            Some(instance) => (instance.clone(), false),
            None => {
                let own = if is_shared { self.own(signature, &bound)? } else { bound.clone() };
                let instance = Rc::new(self.new_instance(object, own));
                self.instances.insert(object.path.clone(), instance.clone());
                (instance, true)
            }
        };
        let environment = instance.environment.clone();
        let pairs = || instance.bound.iter().map(|(_, own)| own).zip(bound.iter().map(|(_, given)| given));
        if !is_shared {
            if pairs().all(|(own, given)| same(own, given)) {
                return self.within(environment, |lowering| make(lowering, first));
            }
            // Told by beginning again.
            self.shared.insert(object.path.clone());
            return Err(super::Told);
        }
        let mut passed = Vec::new();
        for (parameter, (own, given)) in signature.parameters.iter().zip(pairs()) {
            let of = self.here(&parameter.of);
            match parameter.direction {
                Direction::Out => self.clear(own, &of),
                _ if matches!(own, Value::Object(_)) => {}
                _ => self.assign(own, given, &of)?,
            }
            let writes = matches!(parameter.direction, Direction::Out | Direction::InOut);
            let back = writes.then(|| given.clone());
            passed.push(Passed { name: parameter.name.clone(), value: own.clone(), of, back });
        }
        self.copying(passed, |lowering| lowering.within(environment, |lowering| make(lowering, first)))
    }

    /// Variables for parameters.
    fn own(&mut self, signature: &Signature, bound: &[(Name, Value)]) -> Lowered<Vec<(Name, Value)>> {
        let each = signature.parameters.iter().zip(bound);
        each.map(|(parameter, (name, value))| match value {
            Value::Object(_) => Ok((name.clone(), value.clone())),
            _ => Ok((name.clone(), self.allocate(name, &self.here(&parameter.of))?)),
        })
        .collect()
    }

    pub fn new_instance(&self, object: &Object, bound: Vec<(Name, Value)>) -> Instance<'t> {
        let outer = Environment::inside(&self.globals);
        for (name, value) in object.arguments.iter().chain(&bound) {
            outer.declare(name, Binding::Value(value.clone()));
        }
        Instance { environment: Environment::inside(&outer), bound }
    }

    /// The declarations of a control or parser.
    pub fn locals(&mut self, locals: &'t [Declaration], first: bool) -> Lowered<()> {
        for (place, local) in locals.iter().enumerate() {
            self.order.push(place);
            self.at(local.span, |lowering| lowering.local(local, first))?;
            self.order.pop();
        }
        // The body comes behind them.
        self.order.push(locals.len());
        Ok(())
    }

    /// A declaration of a control, parser or block (section 11): variables get their value each time.
    pub fn local(&mut self, declaration: &'t Declaration, first: bool) -> Lowered<()> {
        let name = &declaration.ident.name;
        match &declaration.kind {
            DeclarationKind::Variable { of, value } => {
                let of = self.type_of(of.id);
                let place = match self.environment.find(name) {
                    Some(Binding::Value(place)) if !first => place,
                    _ => self.allocate(name, &of)?,
                };
                match value.as_ref().map(|value| self.value(value)).transpose()? {
                    Some(value) => self.assign(&place, &value, &of)?,
                    None => self.clear(&place, &of),
                }
                self.bind(name, place);
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
                let binding = Binding::Action(declaration, environment.clone(), self.order.clone());
                environment.declare(name, binding);
            }
            DeclarationKind::Table(written) => {
                let table = self.table(declaration, written)?;
                self.environment.declare(name, Binding::Table(written, table));
            }
            DeclarationKind::ValueSet { size, of } => self.value_set(declaration, of, size)?,
            _ => {}
        }
        Ok(())
    }

    /// `action(arguments);` in a control or action (section 14.1.1).
    pub fn action_call(
        &mut self, call: &'t Call<'t>, declaration: &'t Declaration, arguments: &'t [Argument],
    ) -> Lowered<Value> {
        let DeclarationKind::Action { body, .. } = &declaration.kind else {
            return self.refuse("no action");
        };
        let (outer, order) = match self.environment.find(&declaration.ident.name) {
            Some(Binding::Action(found, outer, order)) if std::ptr::eq(found, declaration) => (outer, order),
            _ => (self.globals.clone(), Order::new()),
        };
        if !self.environment.is_open() && self.place != Place::Action {
            let order = if order.is_empty() { self.order[..1].to_vec() } else { order };
            let action = self.action_of(declaration, &outer, order, Vec::new(), Vec::new());
            self.program.called.push(action);
        }
        let given = self.given(call, arguments)?;
        self.open(&given, &outer, |lowering| lowering.inlined(body, None))?;
        Ok(Value::Nothing)
    }

    /// An action as a table calls it (section 14.2.1.2): the table binds the parameters with a direction.
    pub fn lower_action(
        &mut self, declaration: &'t Declaration, outer: &Rc<Environment<'t>>, order: &Order,
        bound: &'t [Argument],
    ) -> Lowered<usize> {
        let DeclarationKind::Action { parameters, body } = &declaration.kind else {
            return self.refuse("no action");
        };
        let at: *const Declaration = declaration;
        let key = (at, Rc::as_ptr(outer));
        if let (Some(&action), []) = (self.actions.get(&key), bound) {
            return Ok(action);
        }
        let mut data = Vec::new();
        let body = self.with(
            |lowering| &mut lowering.place,
            Place::Action,
            |lowering| {
                lowering.at(declaration.span, |lowering| {
                    lowering.code(|lowering| {
                        let mut given = lowering.action_data(parameters, &mut data);
                        let mut own = bound.iter();
                        for one in parameters.iter().filter(|one| one.direction != Direction::None) {
                            let of = lowering.type_of(one.of.id);
                            let argument = own.next().map(|argument| &argument.value);
                            lowering.give(&mut given, &one.ident.name, one.direction, of, argument)?;
                        }
                        lowering.open(&given, outer, |lowering| lowering.inlined(body, None))
                    })
                })
            },
        )?;
        let action = self.action_of(declaration, outer, order.clone(), data, body);
        let action = add(&mut self.program.actions, action);
        self.actions.insert(key, action);
        Ok(action)
    }

    fn action_of(
        &mut self, declaration: &Declaration, outer: &Rc<Environment<'t>>, order: Order,
        parameters: Vec<ActionParameter>, body: Vec<Statement>,
    ) -> Action {
        let (annotations, span) = (declaration.annotations.clone(), declaration.ident.span);
        let path = if Rc::ptr_eq(outer, &self.globals) { Vec::new() } else { self.path.clone() };
        let name =
            |lowering: &mut Self| dotted(&lowering.control_name(&declaration.ident.name, &annotations));
        let name = self.with(|lowering| &mut lowering.path, path, name);
        Action { name, order, parameters, body, span, annotations }
    }

    /// The parameters without a direction, which the control plane gives values.
    fn action_data(&mut self, parameters: &'t [Parameter], data: &mut Vec<ActionParameter>) -> Vec<Given> {
        let mut given = Vec::new();
        for parameter in parameters.iter().filter(|one| one.direction == Direction::None) {
            let (name, of) = (parameter.ident.name.clone(), self.type_of(parameter.of.id));
            let value = Some(Value::of(Expr::Parameter(data.len()), &of));
            given.push(Given { name: name.clone(), direction: Direction::None, of: of.clone(), value });
            data.push(ActionParameter { name, of, annotations: parameter.annotations.clone() });
        }
        given
    }

    /// A table's action with the values of its parameters: the default action, or that of an entry.
    pub fn complete(
        &mut self, table: &Table, path: &Path, node: NodeId, arguments: &'t [Argument],
    ) -> Lowered<ActionCall> {
        let Some(Binding::Action(declaration, outer, order)) = self.find(path) else {
            return self.refuse("no action");
        };
        let action = match table.action(&path.ident.name) {
            Some(action) => action,
            None => self.lower_action(declaration, &outer, &order, &[])?,
        };
        let DeclarationKind::Action { parameters, .. } = &declaration.kind else {
            return self.refuse("no action");
        };
        let order = self.facts.calls.get(&node).map(|call| call.arguments.clone()).unwrap_or_default();
        let mut values = Vec::new();
        for (parameter, place) in parameters.iter().zip(order) {
            if let (Direction::None, Some(place)) = (parameter.direction, place) {
                values.push(self.number(&arguments[place].value, "this argument")?);
            }
        }
        Ok(ActionCall { action, arguments: values })
    }
}

/// Whether two values are the same places.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Scalar(a), Value::Scalar(b)) => a == b,
        (Value::Header(a), Value::Header(b)) | (Value::Union(a), Value::Union(b)) => a == b,
        (Value::Stack(a), Value::Stack(b)) => a == b,
        (Value::Group(a), Value::Group(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(&a.1, &b.1))
        }
        (Value::Object(a), Value::Object(b)) => a.path == b.path,
        (Value::Nothing, Value::Nothing) | (Value::Invalid, Value::Invalid) => true,
        _ => false,
    }
}
