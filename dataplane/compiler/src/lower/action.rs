//! Actions: inlined where controls call them, with data of the control plane where tables do (P4_16
//! specification, section 14.1).

use std::rc::Rc;

use super::environment::{Binding, Environment};
use super::ir::{add, Action, ActionCall, ActionParameter, Expr, Order, Statement, Table};
use super::pass::Given;
use super::value::{dotted, Value};
use super::{Lowered, Lowering, Place};
use crate::check::scope::Signature;
use crate::check::Call;
use crate::syntax::tree::{Argument, Declaration, DeclarationKind, Direction, NodeId, Parameter, Path};

impl<'t> Lowering<'t, '_> {
    /// `action(arguments);` in a control or action (section 14.1.1).
    pub fn action_call(
        &mut self, call: &Call<'t>, declaration: &'t Declaration, signature: &Signature,
        arguments: &'t [Argument],
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
        let given = self.given(call, signature, arguments)?;
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
