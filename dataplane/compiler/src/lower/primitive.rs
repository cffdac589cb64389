//! The externs of v1model as primitives of the target (P4_16 specification, section 8.22).

use num_bigint::BigInt;

use super::assign::stored;
use super::ir::{add, calculation_name, Calculation, Checksum, Expr, FieldList, FieldRef, HeaderRef, Order};
use super::pass::{Callee, Passed};
use super::storage::STANDARD;
use super::value::{Object, State, Value};
use super::{Lowered, Lowering, Place};
use crate::check::types::Type;
use crate::check::{constant, Call};
use crate::syntax::tree::{self, annotated};

/// The names of `HashAlgorithm` as the target calls them, by their number.
const ALGORITHMS: [&str; 8] =
    ["crc32", "crc32_custom", "crc16", "crc16_custom", "random", "identity", "csum16", "xor16"];

/// An argument of a primitive, made of an argument of the extern.
#[derive(Clone, Copy)]
enum Operand {
    Number,
    /// A field that the primitive writes.
    Field,
    /// A number, or a truth as a number.
    Bits,
    /// The counter, meter or register whose method is called.
    Object,
    /// A calculation over data, by the algorithm that the extern's argument 1 is.
    Hash,
    Digest,
    /// A list of the data's fields, if there are any.
    Data,
    /// A list of the metadata's fields that `@field_list` marks.
    Preserved,
    Text,
    /// All numbers of the data, if there are any.
    Values,
}

use Operand::{Bits, Data, Digest, Field, Hash, Number, Object as This, Preserved, Text, Values};

/// The number of an argument that no extern has.
const NONE: usize = usize::MAX;

const METHODS: [&str; 5] = ["advance", "count", "execute_meter", "read", "write"];

/// The name of an extern, the target's primitive, and what this gets of which argument.
type Extern = (&'static str, &'static str, &'static [(Operand, usize)]);

/// Functions of v1model, and methods of packets (section 13.8.4), counters, meters and registers.
const EXTERNS: &[Extern] = &[
    ("advance", "advance", &[(Number, 0)]),
    ("assert", "assert", &[(Number, 0)]),
    ("assume", "assume", &[(Number, 0)]),
    ("clone", CLONE, &[(Number, 1), (Data, NONE)]),
    ("clone3", CLONE, &[(Number, 1), (Data, 2)]),
    ("clone_preserving_field_list", CLONE, &[(Number, 1), (Preserved, 2)]),
    ("count", "count", &[(This, NONE), (Number, 0)]),
    ("digest", "generate_digest", &[(Number, 0), (Digest, 1)]),
    ("execute_meter", "execute_meter", &[(This, NONE), (Number, 0), (Field, 1)]),
    ("hash", HASH, &[(Field, 0), (Number, 2), (Hash, 3), (Number, 4)]),
    ("log_msg", "log_msg", &[(Text, 0), (Values, 1)]),
    ("random", "modify_field_rng_uniform", &[(Field, 0), (Number, 1), (Number, 2)]),
    ("read", "register_read", &[(Field, 0), (This, NONE), (Number, 1)]),
    ("recirculate", "recirculate", &[(Data, 0)]),
    ("recirculate_preserving_field_list", "recirculate", &[(Preserved, 0)]),
    ("resubmit", "resubmit", &[(Data, 0)]),
    ("resubmit_preserving_field_list", "resubmit", &[(Preserved, 0)]),
    ("truncate", "truncate", &[(Number, 0)]),
    // Section 13.7.
    ("verify", "verify", &[(Number, 0), (Number, 1)]),
    ("write", "register_write", &[(This, NONE), (Number, 0), (Bits, 1)]),
];

const HASH: &str = "modify_field_with_hash_based_offset";
/// The primitive of a clone, which starts in the ingress or in the egress.
const CLONE: &str = "clone_ingress_pkt_to_egress";
const CLONE_OF_EGRESS: &str = "clone_egress_pkt_to_egress";

/// The target's name of the algorithm that a member of `HashAlgorithm` is.
pub fn algorithm(value: Option<&Value>) -> &'static str {
    let number = value.and_then(Value::as_number).and_then(|number| usize::try_from(number).ok());
    number.and_then(|number| ALGORITHMS.get(number).copied()).unwrap_or(ALGORITHMS[0])
}

impl<'t> Lowering<'t, '_> {
    /// A method of an extern object.
    pub fn extern_method(
        &mut self, object: &Object, method: &str, call: &'t Call<'t>, arguments: &'t [tree::Argument],
    ) -> Lowered<Value> {
        let known = self.known(object.id);
        self.specialised(&known.type_parameters, &object.types, |lowering| match (object.state, method) {
            (State::Packet, "extract") => lowering.extract(arguments, &lowering.here(&call.types[0])),
            (State::Packet, "lookahead") => lowering.lookahead(&lowering.here(&call.types[0])),
            (State::Packet, "emit") => lowering.emit_headers(&arguments[0].value),
            (state, name) => lowering.call_extern(state, name, call, arguments),
        })
    }

    /// A function of the architecture, or a method of an object with this state.
    pub fn call_extern(
        &mut self, state: State, name: &str, call: &'t Call<'t>, arguments: &'t [tree::Argument],
    ) -> Lowered<Value> {
        let passed = self.pass(call, arguments, Callee::Target)?;
        match (state, name, &passed[..]) {
            // BMv2 counts for each packet that a table with a direct counter sees.
            (State::Array(_), "count", []) => {}
            (State::Array(meter), "read", [colour]) => {
                // The table meters before its action runs, into a field of the meter's own.
                let result = match self.program.arrays[meter].result.take() {
                    Some(field) => Value::Scalar(Expr::Field(field)),
                    None => self.temporary(&colour.of)?,
                };
                self.program.arrays[meter].result = result.field().cloned();
                self.assign(&colour.value, &result, &colour.of)?;
            }
            (State::None, "mark_to_drop", [metadata]) => self.mark_to_drop(&metadata.value)?,
            // Section 19.
            (State::None, "static_assert", [holds, text @ ..]) => {
                match (&holds.value, text.first().map(|one| &one.value)) {
                    (holds @ Value::Scalar(Expr::Bool(true)), _) => return Ok(holds.clone()),
                    (_, Some(Value::Text(text))) => {
                        return self.refuse(format!("static_assert failed: {text}"))
                    }
                    _ => return self.refuse("static_assert failed"),
                }
            }
            (State::None, _, [condition, data, checksum, method]) if name.contains("_checksum") => {
                self.checksum(name, condition, data, checksum, method)?;
            }
            _ => {
                let is_method = state != State::None;
                let mut known = EXTERNS.iter().filter(|(known, ..)| METHODS.contains(known) == is_method);
                let Some((_, primitive, operands)) = known.find(|(known, ..)| *known == name) else {
                    let kind = if is_method { "method" } else { "function" };
                    return self.refuse(format!("this target has no {kind} `{name}`"));
                };
                let kind = passed.first().and_then(|first| first.value.as_number());
                let is_egress = *primitive == CLONE && kind == Some(1.into());
                let mut given = Vec::new();
                for (operand, place) in *operands {
                    given.push(self.operand(*operand, passed.get(*place), &passed, state)?);
                }
                self.operate(if is_egress { CLONE_OF_EGRESS } else { primitive }, given);
            }
        }
        self.copy_back(&passed)?;
        Ok(Value::Nothing)
    }

    fn operand(
        &mut self, operand: Operand, argument: Option<&Passed>, all: &[Passed], state: State,
    ) -> Lowered<Expr> {
        let list = match (operand, argument, state) {
            (This, _, State::Array(array)) => {
                let array = &self.program.arrays[array];
                return Ok(Expr::Named(array.kind.word(), array.head.name.clone()));
            }
            (Values, None, _) => return Ok(Expr::Values(Vec::new())),
            (Data, None, _) => self.field_list(Vec::new(), &Type::Void),
            (_, None, _) => return self.refuse("an argument is missing"),
            (_, Some(Passed { value, of, .. }), _) => match operand {
                Bits if *of.underlying() == Type::Bool => return Ok(self.scalar(value)?.into_bit()),
                Number | Bits | This => return self.scalar(value),
                Field => return Ok(Expr::Field(self.target(value)?)),
                Hash => {
                    let method = algorithm(all.get(1).map(|one| &one.value));
                    // The value of a field in an invalid header counts, which a calculation would leave out.
                    let data = self.save(value, of)?;
                    let number = self.calculation(method, &data, of, false)?;
                    return Ok(Expr::Named("calculation", calculation_name(number)));
                }
                Text => {
                    let Value::Text(text) = value else { return self.refuse("the message is a string") };
                    // P4's `\"`, `\\` and `\n` are JSON's.
                    let read = serde_json::from_str(&format!("\"{text}\""));
                    return Ok(Expr::Named("string", read.unwrap_or_else(|_| text.to_string())));
                }
                Values => {
                    let mut values = Vec::new();
                    self.leaves(value, of, &mut values)?;
                    return Ok(Expr::Values(values.into_iter().map(|(value, _)| value).collect()));
                }
                Digest => self.digest(value, of)?,
                Preserved => self.preserved(value)?,
                Data => {
                    let values = self.fields(value, of)?;
                    self.field_list(values, of)
                }
            },
        };
        Ok(Expr::Number(list.into()))
    }

    /// The target drops by its own metadata; for a copy of that, what it writes is taken from there.
    fn mark_to_drop(&mut self, metadata: &Value) -> Lowered<()> {
        let mut written = Vec::new();
        for (field, kind) in self.program.header_types[STANDARD].fields.iter().enumerate() {
            let place = Value::Scalar(Expr::Field(FieldRef { header: HeaderRef::Fixed(STANDARD), field }));
            let copy = metadata.part(&kind.name);
            if let ("egress_spec" | "mcast_grp", Some(copy)) = (&*kind.name, copy) {
                if !copy.overlaps(&place) {
                    written.push((place, copy.clone(), Type::bits(kind.width)));
                }
            }
        }
        let saved: Lowered<Vec<_>> = written.iter().map(|(place, _, of)| self.save(place, of)).collect();
        self.operate("mark_to_drop", vec![Expr::Header(HeaderRef::Fixed(STANDARD))]);
        for ((place, copy, of), saved) in written.iter().zip(&saved?) {
            self.assign(copy, place, of)?;
            self.assign(place, saved, of)?;
        }
        Ok(())
    }

    fn target(&mut self, value: &Value) -> Lowered<FieldRef> {
        value.field().cloned().map_or_else(|| self.refuse("a field is written here"), Ok)
    }

    /// The numbers that a value is made of, with their widths.
    fn leaves(&mut self, value: &Value, of: &Type, found: &mut Vec<(Expr, u32)>) -> Lowered<()> {
        match value {
            Value::Scalar(expr) => {
                let expr = stored(expr.clone(), of);
                found.push((expr, of.width().unwrap_or(32)));
            }
            Value::Group(_) | Value::Header(_) | Value::Stack(_) => {
                for (part, of) in self.parts(value, of) {
                    self.leaves(&part, &of, found)?;
                }
            }
            Value::Nothing => {}
            _ => return self.refuse("this is not made of numbers"),
        }
        Ok(())
    }

    /// The same as fields and constants: the others are computed before.
    fn fields(&mut self, value: &Value, of: &Type) -> Lowered<Vec<(Expr, u32)>> {
        let mut found = Vec::new();
        self.leaves(value, of, &mut found)?;
        for (expr, width) in &mut found {
            let value = Value::Scalar(expr.clone());
            if value.as_number().is_none() {
                let field = self.in_field(&value, &Type::bits(*width))?;
                *expr = field.unwrap_or_else(|| expr.clone());
            }
        }
        Ok(found)
    }

    fn calculation(
        &mut self, algorithm: &'static str, data: &Value, of: &Type, with_payload: bool,
    ) -> Lowered<usize> {
        let input = self.fields(data, of)?;
        let made = Calculation { algorithm, input, with_payload, span: self.span };
        Ok(add(&mut self.program.calculations, made))
    }

    /// `verify_checksum` and its like.
    fn checksum(
        &mut self, name: &str, condition: &Passed, data: &Passed, checksum: &Passed, method: &Passed,
    ) -> Lowered<()> {
        let verify = name.starts_with("verify");
        if self.place != (Place::Checksum { verify }) {
            let does = if verify { "verifies" } else { "updates" };
            return self.refuse(format!("`{name}` belongs into the control that {does} checksums"));
        }
        if self.leaves.is_conditional() {
            return self.refuse(format!("`{name}` stands in no `if`: its first argument is its condition"));
        }
        let condition = self.scalar(&condition.value)?;
        let target = self.target(&checksum.value)?;
        let with_payload = name.ends_with("_with_payload");
        let algorithm = algorithm(Some(&method.value));
        let calculation = self.calculation(algorithm, &data.value, &data.of, with_payload)?;
        self.program.checksums.push(Checksum { target, calculation, condition, verify, span: self.span });
        Ok(())
    }

    fn digest(&mut self, data: &Value, of: &Type) -> Lowered<u32> {
        // The target reads the fields when ingress has ended: a copy keeps the values of the call.
        let copy = self.temporary(of)?;
        self.assign_parts(&copy, data, of)?;
        let values = self.fields(&copy, of)?;
        let name = match of {
            Type::Composite(composite) => composite.name.to_string(),
            _ => format!("digest_{}", self.program.digests.len()),
        };
        // p4c inlines controls: a digest in the body of one comes behind those in all actions of the block.
        let order = match self.in_action() {
            true => self.order.clone(),
            false => vec![self.order[0], usize::MAX],
        };
        self.program.digests.push(FieldList { name, order, values, of: of.clone(), span: self.span });
        Ok(self.program.digests.len() as u32)
    }

    /// The number of a new list. An empty one has a number, too: BMv2 resubmits and recirculates by numbers
    /// but 0.
    fn field_list(&mut self, values: Vec<(Expr, u32)>, of: &Type) -> u32 {
        let number = self.program.field_lists.len() as u32 + 1;
        let name = format!("fl_{number}");
        let order = Order::new();
        self.program.field_lists.push(FieldList { name, order, values, of: of.clone(), span: self.span });
        number
    }

    /// The fields of the metadata that `@field_list(index)` marks.
    fn preserved(&mut self, index: &Value) -> Lowered<u32> {
        let Some(index) = index.as_number() else { return self.refuse("the list is a constant") };
        let (meta, of) = self.meta.clone().unwrap_or((Value::Nothing, Type::Void));
        let mut values = Vec::new();
        self.marked(&meta, &of, &index, &mut values)?;
        Ok(self.field_list(values, &of))
    }

    fn marked(
        &mut self, value: &Value, of: &Type, index: &BigInt, found: &mut Vec<(Expr, u32)>,
    ) -> Lowered<()> {
        let Type::Composite(composite) = of.underlying() else { return Ok(()) };
        let Some(written) = self.structs.get(&composite.name).copied() else { return Ok(()) };
        let Value::Group(_) = value else { return Ok(()) };
        for ((part, of), written) in self.parts(value, of).iter().zip(written) {
            let lists = annotated(&written.annotations, "field_list").and_then(|one| one.values.as_deref());
            let mut lists = lists.unwrap_or_default().iter().map(|one| self.facts.values.get(&one.value.id));
            if lists.any(|list| list.and_then(constant::Value::number) == Some(index)) {
                self.leaves(part, of, found)?;
            } else {
                self.marked(part, of, index, found)?;
            }
        }
        Ok(())
    }

    /// `packet.emit(headers)` (section 16.1)
    fn emit_headers(&mut self, argument: &'t tree::Expression) -> Lowered<Value> {
        if self.place != Place::Deparser {
            return self.refuse("headers are emitted by the deparser");
        }
        if self.leaves.is_conditional() {
            return self.refuse("this target emits a header whenever it is valid, on no other condition");
        }
        let value = self.value(argument)?;
        self.emitted(&value, &self.type_of(argument.id))?;
        Ok(Value::Nothing)
    }

    fn emitted(&mut self, value: &Value, of: &Type) -> Lowered<()> {
        match value {
            Value::Header(HeaderRef::Fixed(header)) => self.program.emitted.push(*header),
            Value::Stack(_) | Value::Union(HeaderRef::Fixed(_)) | Value::Group(_) => {
                for (part, of) in self.parts(value, of) {
                    self.emitted(&part, &of)?;
                }
            }
            Value::Invalid => {}
            _ => return self.refuse("headers are emitted, and structs of them"),
        }
        Ok(())
    }
}
