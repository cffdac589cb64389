//! Calls: functions and actions are inlined, objects used, tables applied (P4_16 specification, sections 6.8
//! and 8.20).

use super::ir::Expr;
use super::pass::Callee;
use super::value::{Binding, Object, State, Value};
use super::{Lowered, Lowering};
use crate::check::scope::Signature;
use crate::check::types::Type;
use crate::check::{Call, ObjectKind, Target};
use crate::syntax::tree::{Argument, DeclarationKind, Expression, ExpressionKind, Statement, StatementKind};

impl<'t> Lowering<'t, '_> {
    pub fn call(
        &mut self, call: &'t Expression, callee: &'t Expression, arguments: &'t [Argument],
    ) -> Lowered<Value> {
        let Some(found) = self.facts.calls.get(&call.id) else {
            return self.refuse("this call is not known");
        };
        let base = match &callee.kind {
            ExpressionKind::Member(base, _) => Some(&**base),
            _ => None,
        };
        match &found.target {
            Target::Function(function) => match &function.declaration.kind {
                DeclarationKind::Function { body: Some(body), .. } => {
                    self.function(found, &function.signature, body, arguments)
                }
                _ => self.call_extern(State::None, &function.declaration.ident.name, found, arguments),
            },
            Target::Action(function) => self.action_call(found, function.declaration, arguments),
            Target::Table(_) => self.apply_table(base),
            Target::Builtin(name) => self.builtin(name, base, arguments),
            Target::Constructor(id, _) => {
                let name = &self.known(*id).declaration.ident.name;
                self.construct(call.id, *id, arguments, name, &[])
            }
            Target::Method(id, number) => {
                let object = self.object_of(base)?;
                let name = &self.known(*id).methods[*number].name;
                // The parameter of a constructor may be of a type of controls.
                match self.known(object.id).kind {
                    ObjectKind::Extern => self.extern_method(&object, name, found, arguments),
                    _ => self.apply(&object, found, arguments),
                }
            }
        }
    }

    fn object_of(&mut self, base: Option<&'t Expression>) -> Lowered<Object> {
        let value = match base {
            // `Type.apply(...)`: an instance with the name of its type (section 15.1).
            Some(Expression { kind: ExpressionKind::Type(written), .. }) => {
                let Type::Object(id, types, ..) = self.type_of(written.id) else {
                    return self.refuse("no object");
                };
                let path = self.control_name(&self.known(id).declaration.ident.name, &[]);
                let types = types.to_vec();
                let order = [&self.order[..], &[written.id.0 as usize]].concat();
                Value::Object(Object { id, types, arguments: Vec::new(), path, order, state: State::None })
            }
            Some(base) => self.value(base)?,
            None => Value::Nothing,
        };
        match value {
            Value::Object(object) => Ok(object),
            _ => self.refuse("this is no object that the compiler knows"),
        }
    }

    /// A function of the program (section 10).
    fn function(
        &mut self, call: &'t Call<'t>, signature: &Signature, body: &'t [Statement],
        arguments: &'t [Argument],
    ) -> Lowered<Value> {
        let passed = self.pass(call, arguments, Callee::Closed)?;
        let types: Vec<Type> = call.types.iter().map(|one| self.here(one)).collect();
        self.specialised(&signature.type_parameters, &types, |lowering| {
            let returns = lowering.here(&signature.returns);
            let environment = lowering.globals.with(false, &passed);
            lowering.copying(passed, |lowering| {
                lowering.within(environment, |lowering| lowering.returning(body, &returns))
            })
        })
    }

    /// A body that returns a value.
    fn returning(&mut self, body: &'t [Statement], of: &Type) -> Lowered<Value> {
        if let [only] = body {
            if let StatementKind::Return(Some(value)) = &only.kind {
                let result = self.value(value)?;
                return self.save(&result, of);
            }
        }
        let place = if *of == Type::Void { Value::Nothing } else { self.allocate("returned", of)? };
        self.inlined(body, Some((place.clone(), of.clone())))?;
        Ok(place)
    }

    fn apply_table(&mut self, base: Option<&'t Expression>) -> Lowered<Value> {
        let found = match base {
            Some(Expression { kind: ExpressionKind::Name(path), .. }) => self.find(path),
            _ => None,
        };
        let Some(Binding::Table(written, table)) = found else { return self.refuse("this is no table here") };
        self.compute_keys(written, table)?;
        Ok(Value::Applied(table))
    }

    /// Methods of headers, unions and stacks (sections 8.17 to 8.19).
    fn builtin(
        &mut self, name: &str, base: Option<&'t Expression>, arguments: &'t [Argument],
    ) -> Lowered<Value> {
        let Some(base) = base else { return self.refuse("no header") };
        let value = self.value(base)?;
        match (name, &value, arguments) {
            ("isValid", Value::Header(header), _) => return Ok(Value::Scalar(Expr::Valid(header.clone()))),
            ("isValid", Value::Union(union), _) => {
                return Ok(Value::Scalar(Expr::Operation("valid_union", vec![Expr::Union(union.clone())])));
            }
            ("isValid", Value::Invalid, _) => return Ok(Value::Scalar(Expr::Bool(false))),
            ("isValid", Value::Group(_), _) => return Ok(Value::Scalar(Expr::Bool(true))),
            ("setValid" | "setInvalid", Value::Header(header), _) => {
                self.set_valid(header, name == "setValid")
            }
            ("push_front" | "pop_front", Value::Stack(stack), [count])
                if !self.program.stacks[*stack].of_unions =>
            {
                let count = self.number(&count.value, "the number of elements")?;
                let count = Expr::Number(u32::try_from(count).unwrap_or(u32::MAX).into());
                let primitive = if name == "push_front" { "push" } else { "pop" };
                self.operate(primitive, vec![Expr::Stack(*stack), count]);
            }
            _ => return self.refuse(format!("`{name}` is not supported here")),
        }
        Ok(Value::Nothing)
    }
}
