//! Controls and actions (P4_16 specification, sections 14, 14.1 and 14.4). Each instance of a control has
//! one set of tables and variables, and its body is inlined where it is applied. Actions are inlined where
//! controls call them; where tables do, the control plane gives them data.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::assign::ones;
use super::expression::bits_as;
use super::ir::{add, Action, ActionCall, ActionParameter, Expr, Order, Statement, Table};
use super::pass::{Callee, Passed};
use super::value::{Binding, Environment, Object, Value};
use super::{Lowered, Lowering, Place};
use crate::check::{Call, ObjectKind};
use crate::source::Name;
use crate::syntax::tree::{
    Applicable, Argument, Declaration, DeclarationKind, Direction, NodeId, Parameter, Path,
};

/// An instance whose names are made.
pub struct Instance<'t> {
    /// The names outside of its declarations.
    pub environment: Rc<Environment<'t>>,
    /// The meanings of its parameters.
    bound: Vec<Passed>,
    /// Its declarations, since it was applied first.
    pub locals: Locals<'t>,
}

pub type Locals<'t> = RefCell<HashMap<Name, Binding<'t>>>;

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
            lowering.copying(passed.clone(), |lowering| match is_control {
                true => lowering.run_control(object, passed),
                false => lowering.run_subparser(object, passed),
            })
        })?;
        Ok(Value::Nothing)
    }

    /// The body of a control with what its parameters stand for.
    pub fn run_control(&mut self, object: &Object, bound: Vec<Passed>) -> Lowered<()> {
        let known = self.known(object.id);
        let DeclarationKind::Applicable(_, Applicable { locals, apply, .. }) = &known.declaration.kind else {
            return self.refuse("no control");
        };
        self.named(&object.path, &object.order, |lowering| {
            lowering.in_instance(object, bound, |lowering, known| {
                lowering.locals(locals, known)?;
                lowering.inlined(apply, None)
            })
        })
    }

    /// Runs `make` with the names of an instance; its second argument are those that are known already.
    fn in_instance(
        &mut self, object: &Object, bound: Vec<Passed>,
        make: impl FnOnce(&mut Self, &Locals<'t>) -> Lowered<()>,
    ) -> Lowered<()> {
        // Each place that applies a type has an instance of its own, by one name (section 15.1).
        let key = (object.path.clone(), object.order.clone());
        let is_shared = self.shared.contains(&key);
        let instance = match self.instances.get(&key) {
            Some(instance) => instance.clone(),
            None => {
                let own = if is_shared { self.own(&bound)? } else { bound.clone() };
                let instance = Rc::new(self.new_instance(object, own));
                self.instances.insert(key.clone(), instance.clone());
                instance
            }
        };
        let environment = Environment::inside(&instance.environment);
        let make = |lowering: &mut Self| lowering.within(environment, |one| make(one, &instance.locals));
        let own = |given: &Passed| instance.bound.iter().find(|own| own.name == given.name);
        let pairs = || bound.iter().filter_map(|given| Some((own(given)?, given)));
        if !is_shared {
            if pairs().all(|(own, given)| own.value == given.value) {
                return make(self);
            }
            // Told by beginning again.
            self.shared.insert(key);
            return Err(super::Told);
        }
        let mut passed = Vec::new();
        for (own, given) in pairs().filter(|(own, _)| !matches!(own.value, Value::Object(_))) {
            passed.push(self.copied(given, own.value.clone())?);
        }
        self.copying(passed, make)
    }

    /// Variables for parameters.
    fn own(&mut self, bound: &[Passed]) -> Lowered<Vec<Passed>> {
        let variable = |one: &Passed| match one.value {
            Value::Object(_) => Ok(one.clone()),
            _ => Ok(Passed { value: self.allocate(&one.name, &one.of)?, ..one.clone() }),
        };
        bound.iter().map(variable).collect()
    }

    pub fn new_instance(&self, object: &Object, bound: Vec<Passed>) -> Instance<'t> {
        let environment = self.globals.with(false, &bound);
        for (name, value) in &object.arguments {
            environment.declare(name, Binding::Value(value.clone()));
        }
        Instance { environment, bound, locals: Locals::default() }
    }

    /// The declarations of a control or parser.
    pub fn locals(&mut self, locals: &'t [Declaration], known: &Locals<'t>) -> Lowered<()> {
        for (place, local) in locals.iter().enumerate() {
            self.order.push(place);
            let before = known.borrow().get(&local.ident.name).cloned();
            let binding = self.at(local.span, |lowering| lowering.local(local, before))?;
            known.borrow_mut().insert(local.ident.name.clone(), binding);
            self.order.pop();
        }
        // The body comes behind them.
        self.order.push(locals.len());
        Ok(())
    }

    /// A declaration of a control, parser or block (section 11), which may be known: variables get their
    /// value each time.
    pub fn local(
        &mut self, declaration: &'t Declaration, known: Option<Binding<'t>>,
    ) -> Lowered<Binding<'t>> {
        let name = &declaration.ident.name;
        let binding = match (&declaration.kind, known) {
            (DeclarationKind::Variable { of, value }, known) => {
                let of = self.type_of(of.id);
                let place = match known {
                    Some(Binding::Value(place)) => place,
                    _ => self.allocate(name, &of)?,
                };
                match value.as_ref().map(|value| self.value(value)).transpose()? {
                    Some(value) => self.assign(&place, &value, &of)?,
                    None => self.clear(&place, &of)?,
                }
                Binding::Value(place)
            }
            (_, Some(known)) => known,
            (DeclarationKind::Constant { value, .. }, _) => Binding::Value(self.value(value)?),
            (DeclarationKind::Instance { .. }, _) => Binding::Value(self.instance(declaration)?),
            (DeclarationKind::Action { .. }, _) => {
                Binding::Action(declaration, self.environment.clone(), self.order.clone())
            }
            (DeclarationKind::Table(written), _) => {
                Binding::Table(written, self.table(declaration, written)?)
            }
            (DeclarationKind::ValueSet { size, of }, _) => {
                Binding::Value(self.value_set(declaration, of, size)?)
            }
            _ => return self.refuse("this is not declared here"),
        };
        // Declarations before this one still see another meaning of the name (section 6.10).
        if self.environment.find(name).is_some() {
            self.environment = Environment::inside(&self.environment);
        }
        self.environment.declare(name, binding.clone());
        Ok(binding)
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
        let mut here = self.order.clone();
        if !self.in_action() {
            here = self.order_of(&order);
            let action = self.action_of(declaration, &outer, here.clone(), Vec::new(), Vec::new());
            self.program.called.push(action);
        }
        let given = self.given(call, arguments)?;
        self.with(|lowering| &mut lowering.order, here, |one| one.open(&given, &outer, body))?;
        Ok(Value::Nothing)
    }

    pub fn in_action(&self) -> bool {
        self.place == Place::Action || self.environment.is_open()
    }

    /// The place of an action: one that is declared outside of all controls comes first in its block.
    fn order_of(&self, declared: &Order) -> Order {
        match declared.is_empty() {
            true => self.order[..1].to_vec(),
            false => declared.clone(),
        }
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
        let make = |lowering: &mut Self| {
            let mut given = lowering.action_data(parameters, &mut data);
            let own = parameters.iter().filter(|one| one.direction != Direction::None);
            for (place, one) in own.enumerate() {
                let (name, of) = (&one.ident.name, lowering.type_of(one.of.id));
                let is_its = |by: &&Argument| by.ident.as_ref().is_some_and(|by| by.name == *name);
                let argument = bound.iter().find(is_its).or(bound.get(place)).map(|found| &found.value);
                lowering.give(&mut given, name, one.direction, of, argument)?;
            }
            lowering.open(&given, outer, body)
        };
        let path = self.path.clone();
        let here = self.order_of(order);
        let make =
            |one: &mut Self| one.named(&path, &here, |one| one.at(declaration.span, |one| one.code(make)));
        let body = self.with(|lowering| &mut lowering.place, Place::Action, make)?;
        let action = self.action_of(declaration, outer, order.clone(), data, body);
        let action = add(&mut self.program.actions, action);
        self.actions.insert(key, action);
        Ok(action)
    }

    /// An action with its name (section 18.3.1.4).
    fn action_of(
        &mut self, declaration: &Declaration, outer: &Rc<Environment<'t>>, order: Order,
        parameters: Vec<ActionParameter>, body: Vec<Statement>,
    ) -> Action {
        let path = if Rc::ptr_eq(outer, &self.globals) { Vec::new() } else { self.path.clone() };
        let head = self.named(&path, &order, |lowering| lowering.head(declaration));
        Action { head, parameters, body }
    }

    /// The parameters without a direction, which the control plane gives values.
    fn action_data(&mut self, parameters: &'t [Parameter], data: &mut Vec<ActionParameter>) -> Vec<Passed> {
        let mut given = Vec::new();
        for parameter in parameters.iter().filter(|one| one.direction == Direction::None) {
            let (name, of) = (parameter.ident.name.clone(), self.type_of(parameter.of.id));
            let value = Value::of(bits_as(Expr::Parameter(data.len()), &of, true), &of);
            let direction = Direction::None;
            given.push(Passed { name: name.clone(), direction, of: of.clone(), value, back: None });
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
        let matched = self.facts.calls.get(&node).map(|call| self.matched(call, arguments));
        let mut values = Vec::new();
        for (parameter, _, argument) in matched.unwrap_or_default() {
            if let (Direction::None, Some(argument)) = (parameter.direction, argument) {
                let width = parameter.of.width().unwrap_or(32);
                values.push(self.number(argument, "this argument")? & ones(width));
            }
        }
        Ok(ActionCall { action, arguments: values })
    }
}
