//! Calls: functions and actions are inlined, objects used, tables applied.

use super::environment::{Binding, Environment};
use super::ir::{Operation, Outcome, StatementKind};
use super::pass::Callee;
use super::statement::Leaves;
use super::value::{Object, State, Value};
use super::{Lowered, Lowering, Place};
use crate::check::scope::Signature;
use crate::check::types::Type;
use crate::check::{Call, ObjectKind, Target};
use crate::source::Span;
use crate::syntax::tree::{
    Argument, Block, Declaration, DeclarationKind, Expression, ExpressionKind, StatementKind as Written,
};

impl<'t> Lowering<'t, '_> {
    pub fn call(
        &mut self, call: &'t Expression, callee: &'t Expression, arguments: &'t [Argument],
    ) -> Lowered<Value> {
        let Some(found) = self.facts.calls.get(&call.id) else {
            return self.refuse(call.span, "this call is not known");
        };
        let base = match &callee.kind {
            ExpressionKind::Member(base, _) => Some(&**base),
            _ => None,
        };
        match &found.target {
            Target::Function(function) => match &function.declaration.kind {
                DeclarationKind::Function { body: Some(body), .. } => {
                    self.function(call.span, found, &function.signature, body, arguments)
                }
                _ => self.extern_function(
                    call,
                    &function.declaration.ident.name,
                    found,
                    &function.signature,
                    arguments,
                ),
            },
            Target::Action(function) => {
                self.action_call(call.span, found, function.declaration, &function.signature, arguments)
            }
            Target::Table(_) => self.apply_table(call.span, base),
            Target::Builtin(name) => self.builtin(call.span, name, base, arguments),
            Target::Constructor(id, _) => self.construct(call.id, *id, arguments, call.span, None),
            Target::Method(id, number) => {
                let (id, number) = (*id, *number);
                let object = self.object_of(base, call.span)?;
                let method = &self.facts.objects[id.0 as usize].methods[number];
                // The parameter of a constructor may be of a type of controls.
                match self.facts.objects[object.id.0 as usize].kind {
                    ObjectKind::Extern => self.extern_method(call, &object, method, found, arguments),
                    ObjectKind::Control => {
                        self.apply_control(call.span, &object, found, &method.signature, arguments)
                    }
                    _ => self.apply_parser(call.span, &object, found, &method.signature, arguments),
                }
            }
        }
    }

    fn object_of(&mut self, base: Option<&'t Expression>, span: Span) -> Lowered<Object> {
        let Some(base) = base else { return self.refuse(span, "no object") };
        if let ExpressionKind::Type(written) = &base.kind {
            // `Type.apply(...)`: an instance with the name of its type.
            let Type::Object(id, types) = self.type_of(written.id) else {
                return self.refuse(span, "no object");
            };
            let name = &self.facts.objects[id.0 as usize].declaration.ident.name;
            let path = self.control_name(name, &[]);
            return Ok(Object { id, types: types.to_vec(), arguments: Vec::new(), path, state: State::None });
        }
        match self.value(base)? {
            Value::Object(object) => Ok(object),
            _ => self.refuse(span, "this is no object that the compiler knows"),
        }
    }

    fn function(
        &mut self, span: Span, call: &Call<'t>, signature: &Signature, body: &'t Block,
        arguments: &'t [Argument],
    ) -> Lowered<Value> {
        let passed = self.pass(call, signature, arguments, Callee::Closed, span)?;
        let types: Vec<Type> = call.types.iter().map(|one| self.here(one)).collect();
        let before = self.types.len();
        self.types.extend(signature.type_parameters.iter().cloned().zip(types));
        let returns = self.here(&signature.returns);
        let environment = Environment::inside(&self.globals);
        for one in &passed {
            environment.declare(&one.name, Binding::Value(one.value.clone()));
        }
        let result = self.copying(passed, span, |lowering| {
            lowering.deeper(span, |lowering| {
                lowering.within(environment, |lowering| lowering.returning(body, &returns, span))
            })
        });
        self.types.truncate(before);
        result
    }

    /// A body that returns a value.
    fn returning(&mut self, body: &'t Block, of: &Type, span: Span) -> Lowered<Value> {
        if let [only] = &body.statements[..] {
            if let Written::Return(Some(value)) = &only.kind {
                let result = self.value(value)?;
                return self.save(&result, of, span);
            }
        }
        let place = if *of == Type::Void { Value::Nothing } else { self.allocate("returned", of, span)? };
        let label = self.label();
        let ((), statements) = self
            .collect(|lowering| lowering.body(body, Leaves::to(label, Some((place.clone(), of.clone())))))?;
        self.emit(span, StatementKind::Labelled(label, statements));
        Ok(place)
    }

    fn action_call(
        &mut self, span: Span, call: &Call<'t>, declaration: &'t Declaration, signature: &Signature,
        arguments: &'t [Argument],
    ) -> Lowered<Value> {
        let DeclarationKind::Action { body, .. } = &declaration.kind else {
            return self.refuse(span, "no action");
        };
        let outer = match self.environment.find(&declaration.ident.name) {
            Some(Binding::Action(found, outer)) if std::ptr::eq(found, declaration) => outer,
            _ => self.globals.clone(),
        };
        let given = self.given(call, signature, arguments, span)?;
        let label = self.label();
        self.open(&given, &outer, span, |lowering| {
            let ((), statements) = lowering.collect(|lowering| {
                lowering.deeper(span, |lowering| lowering.body(body, Leaves::to(label, None)))
            })?;
            lowering.emit(span, StatementKind::Labelled(label, statements));
            Ok(())
        })?;
        Ok(Value::Nothing)
    }

    fn apply_table(&mut self, span: Span, base: Option<&'t Expression>) -> Lowered<Value> {
        let table = self.prepared_table(span, base)?;
        Ok(Value::Applied(table))
    }

    /// The table that is applied, after the statements that compute its keys.
    pub fn prepared_table(&mut self, span: Span, base: Option<&'t Expression>) -> Lowered<usize> {
        let Some(Expression { kind: ExpressionKind::Name(path), .. }) = base else {
            return self.refuse(span, "no table");
        };
        match self.environment.find(&path.ident.name) {
            Some(Binding::Table(declaration, table)) => {
                self.compute_keys(declaration, table)?;
                Ok(table)
            }
            _ => self.refuse(span, format!("`{}` is no table here", path.ident.name)),
        }
    }

    /// `table.apply();` as a statement.
    pub fn applied(&mut self, value: &Value, span: Span) {
        if let Value::Applied(table) = value {
            self.emit(span, StatementKind::Apply { table: *table, then: Outcome::Same });
        }
    }

    fn builtin(
        &mut self, span: Span, name: &str, base: Option<&'t Expression>, arguments: &'t [Argument],
    ) -> Lowered<Value> {
        let Some(base) = base else { return self.refuse(span, "no header") };
        let value = self.value(base)?;
        let count = match arguments.first() {
            Some(argument) => {
                u32::try_from(self.number(&argument.value, "the number of elements")?).unwrap_or(u32::MAX)
            }
            None => 0,
        };
        match (name, &value) {
            ("isValid", Value::Header(header)) => {
                return Ok(Value::Scalar(super::ir::Expr::Valid(header.clone())))
            }
            ("isValid", Value::Union(union)) => {
                return Ok(Value::Scalar(super::ir::Expr::UnionValid(union.clone())))
            }
            ("isValid", Value::Invalid) => return Ok(Value::Scalar(super::ir::Expr::Bool(false))),
            ("isValid", Value::Group(_)) => return Ok(Value::Scalar(super::ir::Expr::Bool(true))),
            ("setValid", Value::Header(header)) => self.operate(span, Operation::SetValid(header.clone())),
            ("setInvalid", Value::Header(header)) => {
                self.operate(span, Operation::SetInvalid(header.clone()))
            }
            ("push_front", Value::Stack(stack)) => self.operate(span, Operation::Push(*stack, count)),
            ("pop_front", Value::Stack(stack)) => self.operate(span, Operation::Pop(*stack, count)),
            _ => return self.refuse(span, format!("`{name}` is not supported here")),
        }
        Ok(Value::Nothing)
    }

    pub fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    /// Whether the code is a control's.
    pub fn in_control(&self) -> bool {
        matches!(self.place, Place::Control(_))
    }
}
