//! The externs of v1model as primitives of the target.

use super::assign::field_of;
use super::instance::annotated;
use super::ir::{Argument as Given, Calculation, Checksum, Expr, FieldList, FieldRef, HeaderRef, Operation};
use super::pass::Callee;
use super::storage::STANDARD;
use super::value::{Object, State, Value};
use super::{Lowered, Lowering, Place};
use crate::check::scope::Signature;
use crate::check::types::Type;
use crate::check::{Call, Method};
use crate::source::{Name, Span};
use crate::syntax::tree::{Argument, Expression, ExpressionKind};

/// The names of `HashAlgorithm` as the target calls them, by their number.
#[must_use]
pub fn algorithm(number: usize) -> Name {
    const NAMES: [&str; 8] =
        ["crc32", "crc32_custom", "crc16", "crc16_custom", "random", "identity", "csum16", "xor16"];
    Name::from(NAMES.get(number).copied().unwrap_or("crc32"))
}

impl<'t> Lowering<'t, '_> {
    pub fn extern_function(
        &mut self, call: &'t Expression, name: &Name, found: &Call<'t>, signature: &Signature,
        arguments: &'t [Argument],
    ) -> Lowered<Value> {
        let span = call.span;
        let passed = self.pass(found, signature, arguments, Callee::Target, span)?;
        let values: Vec<Value> = passed.iter().map(|one| one.value.clone()).collect();
        let types: Vec<Type> = passed.iter().map(|one| one.of.clone()).collect();
        match (&**name, self.place) {
            ("verify", _) => {
                let (check, error) = (self.scalar(&values[0], span)?, self.scalar(&values[1], span)?);
                self.operate(span, Operation::Verify(check, error));
            }
            ("mark_to_drop", _) => self.mark_to_drop(values.first(), span)?,
            ("hash", _) => {
                let target = self.target(&values[0], span)?;
                let number = super::instance::as_number(&values[1])
                    .and_then(|one| usize::try_from(one).ok())
                    .unwrap_or(0);
                // The value of a field in an invalid header counts, which a calculation would leave out.
                let data = self.save(&values[3], &types[3], span)?;
                let calculation = self.calculation(number, &data, &types[3], false, span)?;
                let (base, max) = (self.scalar(&values[2], span)?, self.scalar(&values[4], span)?);
                let given = vec![
                    Given::Field(target),
                    Given::Value(base),
                    Given::Calculation(calculation),
                    Given::Value(max),
                ];
                self.primitive(span, "modify_field_with_hash_based_offset", given);
            }
            ("random", _) => {
                let target = self.target(&values[0], span)?;
                let (low, high) = (self.scalar(&values[1], span)?, self.scalar(&values[2], span)?);
                let given = vec![Given::Field(target), Given::Value(low), Given::Value(high)];
                self.primitive(span, "modify_field_rng_uniform", given);
            }
            ("digest", _) => {
                let receiver = self.scalar(&values[0], span)?;
                let list = self.digest(&values[1], &types[1], span)?;
                self.primitive(span, "generate_digest", vec![Given::Value(receiver), Given::Number(list)]);
            }
            ("clone" | "clone3" | "clone_preserving_field_list", _) => {
                let list = match (&**name, values.get(2)) {
                    ("clone", _) | (_, None) => self.field_list(Vec::new(), &Type::Void, span),
                    ("clone3", Some(data)) => self.data_list(&data.clone(), &types[2], span)?,
                    (_, Some(index)) => self.preserved(&index.clone(), span)?,
                };
                let egress = super::instance::as_number(&values[0]).is_some_and(|kind| kind == 1.into());
                let session = self.scalar(&values[1], span)?;
                let primitive =
                    if egress { "clone_egress_pkt_to_egress" } else { "clone_ingress_pkt_to_egress" };
                self.primitive(span, primitive, vec![Given::Value(session), Given::Number(list)]);
            }
            ("resubmit" | "recirculate", _) => {
                let list = self.data_list(&values[0], &types[0], span)?;
                let primitive = if &**name == "resubmit" { "resubmit" } else { "recirculate" };
                self.primitive(span, primitive, vec![Given::Number(list)]);
            }
            ("resubmit_preserving_field_list" | "recirculate_preserving_field_list", _) => {
                let list = self.preserved(&values[0], span)?;
                let primitive = if name.starts_with("resubmit") { "resubmit" } else { "recirculate" };
                self.primitive(span, primitive, vec![Given::Number(list)]);
            }
            ("truncate", _) => {
                let length = self.scalar(&values[0], span)?;
                self.primitive(span, "truncate", vec![Given::Value(length)]);
            }
            ("assert" | "assume", _) => {
                let check = self.scalar(&values[0], span)?;
                let primitive = if &**name == "assert" { "assert" } else { "assume" };
                self.primitive(span, primitive, vec![Given::Value(check)]);
            }
            ("log_msg", _) => {
                let Value::Text(text) = &values[0] else {
                    return self.refuse(span, "the message is a string");
                };
                let mut listed = Vec::new();
                if let Some(data) = values.get(1) {
                    self.leaves(data, &types[1], &mut listed, span)?;
                }
                let listed = listed.into_iter().map(|(value, _)| value).collect();
                self.primitive(span, "log_msg", vec![Given::Text(text.clone()), Given::Values(listed)]);
            }
            (
                "verify_checksum"
                | "update_checksum"
                | "verify_checksum_with_payload"
                | "update_checksum_with_payload",
                Place::Checksum { verify },
            ) => {
                if name.starts_with("verify") != verify {
                    return self
                        .refuse(span, format!("`{name}` belongs into the other control of checksums"));
                }
                self.checksum(&values, &types, name.ends_with("_with_payload"), verify, span)?;
            }
            (
                "verify_checksum"
                | "update_checksum"
                | "verify_checksum_with_payload"
                | "update_checksum_with_payload",
                _,
            ) => {
                return self.refuse(span, format!("`{name}` belongs into the control of checksums"));
            }
            ("static_assert", _) => {
                return match &values[0] {
                    Value::Scalar(Expr::Bool(true)) => Ok(Value::Scalar(Expr::Bool(true))),
                    _ => match values.get(1) {
                        Some(Value::Text(text)) => self.refuse(span, format!("static_assert failed: {text}")),
                        _ => self.refuse(span, "static_assert failed"),
                    },
                };
            }
            _ => return self.refuse(span, format!("this target has no function `{name}`")),
        }
        self.copy_back(&passed, span)?;
        Ok(Value::Nothing)
    }

    fn primitive(&mut self, span: Span, name: &'static str, given: Vec<Given>) {
        self.operate(span, Operation::Primitive(name, given));
    }

    /// The target drops by its own metadata; for a copy of that, what it writes is taken from there.
    fn mark_to_drop(&mut self, metadata: Option<&Value>, span: Span) -> Lowered<()> {
        let given = vec![Given::Header(STANDARD)];
        let mut written = Vec::new();
        for (field, kind) in self.program.header_types[STANDARD].fields.iter().enumerate() {
            let place = Value::Scalar(Expr::Field(FieldRef { header: HeaderRef::Fixed(STANDARD), field }));
            match metadata.and_then(|metadata| metadata.part(&kind.name)) {
                Some(copy)
                    if ["egress_spec", "mcast_grp"].contains(&&*kind.name) && !copy.overlaps(&place) =>
                {
                    written.push((place, copy.clone(), Type::bits(kind.width)));
                }
                _ => {}
            }
        }
        let mut saved = Vec::new();
        for (place, _, of) in &written {
            saved.push(self.save(place, of, span)?);
        }
        self.primitive(span, "mark_to_drop", given);
        for ((place, copy, of), saved) in written.iter().zip(&saved) {
            self.assign(copy, place, of, span)?;
            self.assign(place, saved, of, span)?;
        }
        Ok(())
    }

    fn target(&mut self, value: &Value, span: Span) -> Lowered<FieldRef> {
        match field_of(value) {
            Some(field) => Ok(field.clone()),
            None => self.refuse(span, "a field is written here"),
        }
    }

    /// The numbers that a value is made of, with their widths.
    pub fn leaves(
        &mut self, value: &Value, of: &Type, found: &mut Vec<(Expr, u32)>, span: Span,
    ) -> Lowered<()> {
        match (value, of.underlying()) {
            (Value::Group(parts), _) => {
                for (name, part) in parts {
                    self.leaves(part, &super::assign::part_of(of, name), found, span)?;
                }
            }
            (Value::Header(header), Type::Composite(composite)) => {
                for field in &composite.fields {
                    let part = self.header_field(header, &field.name, &field.of);
                    self.leaves(&part, &field.of, found, span)?;
                }
            }
            (Value::Stack(_), Type::Array(element, size)) => {
                for place in 0..*size as usize {
                    self.leaves(&self.element(value, place), element, found, span)?;
                }
            }
            (Value::Scalar(_) | Value::Slice(..), _) => {
                let expr = self.scalar(value, span)?;
                let expr = match expr {
                    Expr::ToBool(inner) => *inner,
                    other if *of.underlying() == Type::Bool => Expr::FromBool(Box::new(other)),
                    other => other,
                };
                found.push((expr, of.width().unwrap_or(32)));
            }
            (Value::Nothing, _) => {}
            _ => return self.refuse(span, "this is not made of numbers"),
        }
        Ok(())
    }

    /// The same as fields: what is none is computed before.
    fn fields(&mut self, value: &Value, of: &Type, span: Span) -> Lowered<Vec<(Expr, u32)>> {
        let mut found = Vec::new();
        self.leaves(value, of, &mut found, span)?;
        for (expr, width) in &mut found {
            if !super::table::is_fixed(expr) && !matches!(expr, Expr::Number(_)) {
                let of = Type::bits(*width);
                let place = self.temporary(&of, span)?;
                self.assign(&place, &Value::Scalar(expr.clone()), &of, span)?;
                *expr = self.scalar(&place, span)?;
            }
        }
        Ok(found)
    }

    fn calculation(
        &mut self, number: usize, data: &Value, of: &Type, with_payload: bool, span: Span,
    ) -> Lowered<usize> {
        let input = self.fields(data, of, span)?;
        self.program.calculations.push(Calculation {
            algorithm: algorithm(number),
            input,
            with_payload,
            span,
        });
        Ok(self.program.calculations.len() - 1)
    }

    fn checksum(
        &mut self, values: &[Value], types: &[Type], with_payload: bool, verify: bool, span: Span,
    ) -> Lowered<()> {
        let condition = self.scalar(&values[0], span)?;
        let target = match &values[2] {
            Value::Scalar(_) => self.target(&values[2], span)?,
            _ => return self.refuse(span, "the checksum is a field"),
        };
        let number =
            super::instance::as_number(&values[3]).and_then(|one| usize::try_from(one).ok()).unwrap_or(0);
        let calculation = self.calculation(number, &values[1], &types[1], with_payload, span)?;
        self.program.checksums.push(Checksum { target, calculation, condition, verify, span });
        Ok(())
    }

    fn digest(&mut self, data: &Value, of: &Type, span: Span) -> Lowered<u32> {
        let values = self.fields(data, of, span)?;
        let name = match of {
            Type::Composite(composite) => composite.name.to_string(),
            _ => format!("digest_{}", self.program.digests.len()),
        };
        self.program.digests.push(FieldList { name, values, of: of.clone(), span });
        Ok(self.program.digests.len() as u32)
    }

    fn field_list(&mut self, values: Vec<(Expr, u32)>, of: &Type, span: Span) -> u32 {
        if values.is_empty() {
            return 0;
        }
        let number = self.program.field_lists.len() as u32 + 1;
        self.program.field_lists.push(FieldList {
            name: format!("fl_{number}"),
            values,
            of: of.clone(),
            span,
        });
        number
    }

    fn data_list(&mut self, data: &Value, of: &Type, span: Span) -> Lowered<u32> {
        let values = self.fields(data, of, span)?;
        Ok(self.field_list(values, of, span))
    }

    /// The fields of the metadata that `@field_list(index)` marks.
    fn preserved(&mut self, index: &Value, span: Span) -> Lowered<u32> {
        let Some(index) = super::instance::as_number(index) else {
            return self.refuse(span, "the list is a constant");
        };
        let Some((meta, of)) = self.meta.clone() else { return Ok(0) };
        let mut values = Vec::new();
        self.marked(&meta, &of, &index.to_string(), &mut values, span)?;
        Ok(self.field_list(values, &of, span))
    }

    fn marked(
        &mut self, value: &Value, of: &Type, index: &str, found: &mut Vec<(Expr, u32)>, span: Span,
    ) -> Lowered<()> {
        let (Value::Group(parts), Type::Composite(composite)) = (value, of.underlying()) else {
            return Ok(());
        };
        let Some(written) = self.structs.get(&composite.name).copied() else { return Ok(()) };
        for ((_, part), (field, written)) in parts.iter().zip(composite.fields.iter().zip(written)) {
            let lists = annotated(&written.annotations, "field_list").and_then(|one| one.body.as_ref());
            if lists.is_some_and(|words| words.iter().any(|word| &*word.text == index)) {
                self.leaves(part, &field.of, found, span)?;
            } else {
                self.marked(part, &field.of, index, found, span)?;
            }
        }
        Ok(())
    }

    pub fn extern_method(
        &mut self, call: &'t Expression, object: &Object, method: &Method, found: &Call<'t>,
        arguments: &'t [Argument],
    ) -> Lowered<Value> {
        let span = call.span;
        let known = &self.facts.objects[object.id.0 as usize];
        let before = self.types.len();
        self.types.extend(known.type_parameters.iter().cloned().zip(object.types.iter().cloned()));
        let result = match (object.state, &*method.name) {
            (State::Packet, "extract") => {
                let of = self.here(&found.types[0]);
                self.extract(arguments, &of, span)
            }
            (State::Packet, "lookahead") => {
                let of = self.here(&found.types[0]);
                self.lookahead(&of, span)
            }
            (State::Packet, "emit") => self.emit_header(&arguments[0], span),
            _ => {
                let passed = self.pass(found, &method.signature, arguments, Callee::Target, span)?;
                let values: Vec<Value> = passed.iter().map(|one| one.value.clone()).collect();
                let result = self.array_method(object, &method.name, &values, span);
                self.copy_back(&passed, span)?;
                result
            }
        };
        self.types.truncate(before);
        result
    }

    fn array_method(&mut self, object: &Object, name: &str, values: &[Value], span: Span) -> Lowered<Value> {
        match (object.state, name) {
            (State::Packet, "advance") => {
                let bits = self.scalar(&values[0], span)?;
                self.operate(span, Operation::Advance(bits));
            }
            (State::Array(array), "count") if values.is_empty() => {
                // BMv2 counts for each packet that a table with a direct counter sees.
                let _ = array;
            }
            (State::Array(array), "count") => {
                let index = self.scalar(&values[0], span)?;
                self.primitive(span, "count", vec![Given::Array(array), Given::Value(index)]);
            }
            (State::Array(array), "execute_meter") => {
                let (index, target) = (self.scalar(&values[0], span)?, self.target(&values[1], span)?);
                self.primitive(
                    span,
                    "execute_meter",
                    vec![Given::Array(array), Given::Value(index), Given::Field(target)],
                );
            }
            (State::Array(array), "read") if values.len() == 1 => {
                let target = self.target(&values[0], span)?;
                self.program.arrays[array].result = Some(target);
            }
            (State::Array(array), "read") => {
                let (target, index) = (self.target(&values[0], span)?, self.scalar(&values[1], span)?);
                self.primitive(
                    span,
                    "register_read",
                    vec![Given::Field(target), Given::Array(array), Given::Value(index)],
                );
            }
            (State::Array(array), "write") => {
                let (index, value) = (self.scalar(&values[0], span)?, self.scalar(&values[1], span)?);
                let value = if matches!(self.program.arrays[array].element.underlying(), Type::Bool) {
                    Expr::FromBool(Box::new(value))
                } else {
                    value
                };
                self.primitive(
                    span,
                    "register_write",
                    vec![Given::Array(array), Given::Value(index), Given::Value(value)],
                );
            }
            _ => return self.refuse(span, format!("this target has no method `{name}`")),
        }
        Ok(Value::Nothing)
    }

    fn extract(&mut self, arguments: &'t [Argument], of: &Type, span: Span) -> Lowered<Value> {
        let argument = &arguments[0].value;
        // `extract<T>(_)` passes a header over.
        let passes = matches!(argument.kind, ExpressionKind::Any);
        let value = if passes { self.temporary(of, span)? } else { self.value(argument)? };
        let Value::Header(header) = value else { return self.refuse(span, "a header is extracted") };
        match arguments.get(1) {
            None => self.operate(span, Operation::Extract(header)),
            Some(bits) => {
                let bits = self.expr(&bits.value)?;
                self.operate(span, Operation::ExtractVarbit(header, bits));
            }
        }
        Ok(Value::Nothing)
    }

    fn emit_header(&mut self, argument: &'t Argument, span: Span) -> Lowered<Value> {
        if self.place != Place::Deparser {
            return self.refuse(span, "headers are emitted by the deparser");
        }
        let value = self.value(&argument.value)?;
        self.emitted(&value, span)?;
        Ok(Value::Nothing)
    }

    fn emitted(&mut self, value: &Value, span: Span) -> Lowered<()> {
        match value {
            Value::Header(HeaderRef::Fixed(header)) => self.program.deparser.push(*header),
            Value::Stack(stack) => {
                let headers = self.program.stacks[*stack].headers.clone();
                self.program.deparser.extend(headers);
            }
            Value::Union(super::ir::UnionRef::Fixed(union)) => {
                let members: Vec<usize> =
                    self.program.unions[*union].members.iter().map(|(_, id)| *id).collect();
                self.program.deparser.extend(members);
            }
            Value::UnionStack(stack) => {
                for union in self.program.union_stacks[*stack].unions.clone() {
                    self.emitted(&Value::Union(super::ir::UnionRef::Fixed(union)), span)?;
                }
            }
            Value::Group(parts) => {
                for (_, part) in parts {
                    self.emitted(part, span)?;
                }
            }
            Value::Invalid => {}
            _ => return self.refuse(span, "headers are emitted, and structs of them"),
        }
        Ok(())
    }
}
