//! The externs of v1model as primitives of the target (P4_16 specification, section 8.22).

use super::assign::stored;
use super::ir::{add, Argument, Calculation, Checksum, Expr, FieldList, FieldRef, HeaderRef, Operation};
use super::pass::{Callee, Passed};
use super::storage::STANDARD;
use super::value::{Object, State, Value};
use super::{Lowered, Lowering, Place};
use crate::check::types::Type;
use crate::check::{Call, Method};
use crate::syntax::tree::{self, annotated};

/// The names of `HashAlgorithm` as the target calls them, by their number.
const ALGORITHMS: [&str; 8] =
    ["crc32", "crc32_custom", "crc16", "crc16_custom", "random", "identity", "csum16", "xor16"];

/// An argument of a primitive, by the number of the extern's argument that it is made of.
#[derive(Clone, Copy)]
enum Operand {
    Value(usize),
    /// A field that the primitive writes.
    Field(usize),
    /// A number, or a truth as a number.
    Bits(usize),
    /// The counter, meter or register whose method is called.
    Object,
    /// A calculation over data, by an algorithm.
    Hash(usize, usize),
    Digest(usize),
    /// A list of the data's fields.
    Data(usize),
    /// A list of the metadata's fields that `@field_list` marks.
    Preserved(usize),
    NoFields,
    Text(usize),
    /// All numbers of the data, if there are any.
    Values(usize),
}

use Operand::{Bits, Data, Digest, Field, Hash, NoFields, Preserved, Text, Values};

/// Functions of v1model: their names, the target's primitives and what these get.
const FUNCTIONS: &[(&str, &str, &[Operand])] = &[
    ("assert", "assert", &[Operand::Value(0)]),
    ("assume", "assume", &[Operand::Value(0)]),
    ("clone", CLONE, &[Operand::Value(1), NoFields]),
    ("clone3", CLONE, &[Operand::Value(1), Data(2)]),
    ("clone_preserving_field_list", CLONE, &[Operand::Value(1), Preserved(2)]),
    ("digest", "generate_digest", &[Operand::Value(0), Digest(1)]),
    ("hash", HASH, &[Field(0), Operand::Value(2), Hash(3, 1), Operand::Value(4)]),
    ("log_msg", "log_msg", &[Text(0), Values(1)]),
    ("random", "modify_field_rng_uniform", &[Field(0), Operand::Value(1), Operand::Value(2)]),
    ("recirculate", "recirculate", &[Data(0)]),
    ("recirculate_preserving_field_list", "recirculate", &[Preserved(0)]),
    ("resubmit", "resubmit", &[Data(0)]),
    ("resubmit_preserving_field_list", "resubmit", &[Preserved(0)]),
    ("truncate", "truncate", &[Operand::Value(0)]),
];

/// Methods of counters, meters and registers.
const METHODS: &[(&str, &str, &[Operand])] = &[
    ("count", "count", &[Operand::Object, Operand::Value(0)]),
    ("execute_meter", "execute_meter", &[Operand::Object, Operand::Value(0), Field(1)]),
    ("read", "register_read", &[Field(0), Operand::Object, Operand::Value(1)]),
    ("write", "register_write", &[Operand::Object, Operand::Value(0), Bits(1)]),
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
    /// A function of the architecture.
    pub fn extern_function(&mut self, name: &str, passed: &[Passed]) -> Lowered<Value> {
        if let Some((_, primitive, operands)) = FUNCTIONS.iter().find(|(known, ..)| *known == name) {
            let of_egress = passed[0].value.as_number().is_some_and(|kind| kind == 1.into());
            let primitive = if *primitive == CLONE && of_egress { CLONE_OF_EGRESS } else { primitive };
            return self.call_primitive(primitive, operands, passed, None);
        }
        match name {
            // Section 13.7.
            "verify" => {
                let (check, error) = (self.scalar(&passed[0].value)?, self.scalar(&passed[1].value)?);
                self.operate(Operation::Verify(check, error));
            }
            "mark_to_drop" => self.mark_to_drop(&passed[0].value)?,
            "verify_checksum"
            | "update_checksum"
            | "verify_checksum_with_payload"
            | "update_checksum_with_payload" => self.checksum(name, passed)?,
            // Section 19.
            "static_assert" => match (&passed[0].value, passed.get(1).map(|text| &text.value)) {
                (holds @ Value::Scalar(Expr::Bool(true)), _) => return Ok(holds.clone()),
                (_, Some(Value::Text(text))) => return self.refuse(format!("static_assert failed: {text}")),
                _ => return self.refuse("static_assert failed"),
            },
            _ => return self.refuse(format!("this target has no function `{name}`")),
        }
        Ok(Value::Nothing)
    }

    /// A method of an extern object.
    pub fn extern_method(
        &mut self, object: &Object, method: &Method, call: &Call<'t>, arguments: &'t [tree::Argument],
    ) -> Lowered<Value> {
        let known = self.known(object.id);
        self.specialised(&known.type_parameters, &object.types, |lowering| {
            match (object.state, &*method.name) {
                (State::Packet, "extract") => lowering.extract(arguments, &lowering.here(&call.types[0])),
                (State::Packet, "lookahead") => lowering.lookahead(&lowering.here(&call.types[0])),
                (State::Packet, "emit") => lowering.emit_headers(&arguments[0].value),
                (state, name) => {
                    let passed = lowering.pass(call, &method.signature, arguments, Callee::Target)?;
                    let result = lowering.array_method(state, name, &passed);
                    lowering.copy_back(&passed)?;
                    result
                }
            }
        })
    }

    fn array_method(&mut self, state: State, name: &str, passed: &[Passed]) -> Lowered<Value> {
        let known = METHODS.iter().find(|(known, ..)| *known == name);
        match (state, name, passed, known) {
            // Section 13.8.4.
            (State::Packet, "advance", [bits], _) => {
                let bits = self.scalar(&bits.value)?;
                self.operate(Operation::Advance(bits));
                Ok(Value::Nothing)
            }
            // BMv2 counts for each packet that a table with a direct counter sees.
            (State::Array(_), "count", [], _) => Ok(Value::Nothing),
            (State::Array(meter), "read", [colour], _) => {
                let place = self.target(&colour.value)?;
                let before = self.program.arrays[meter].result.replace(place.clone());
                if before.is_some_and(|before| before != place) {
                    return self.refuse("a direct meter has one place for its colour: this is another");
                }
                Ok(Value::Nothing)
            }
            (State::Array(array), _, _, Some((_, primitive, operands))) => {
                self.call_primitive(primitive, operands, passed, Some(array))
            }
            _ => self.refuse(format!("this target has no method `{name}`")),
        }
    }

    fn call_primitive(
        &mut self, name: &'static str, operands: &[Operand], passed: &[Passed], array: Option<usize>,
    ) -> Lowered<Value> {
        let mut given = Vec::new();
        for operand in operands {
            given.push(self.operand(*operand, passed, array)?);
        }
        self.operate(Operation::Extern(name, given));
        Ok(Value::Nothing)
    }

    fn operand(&mut self, operand: Operand, passed: &[Passed], array: Option<usize>) -> Lowered<Argument> {
        Ok(match operand {
            Operand::Value(place) => Argument::Value(self.scalar(&passed[place].value)?),
            Bits(place) => match (self.scalar(&passed[place].value)?, passed[place].of.underlying()) {
                (truth, Type::Bool) => Argument::Value(Expr::FromBool(Box::new(truth))),
                (number, _) => Argument::Value(number),
            },
            Field(place) => Argument::Field(self.target(&passed[place].value)?),
            Operand::Object => Argument::Array(array.unwrap_or_default()),
            Hash(data, method) => {
                let method = algorithm(Some(&passed[method].value));
                let Passed { value, of, .. } = &passed[data];
                // The value of a field in an invalid header counts, which a calculation would leave out.
                let data = self.save(value, of)?;
                Argument::Calculation(self.calculation(method, &data, of, false)?)
            }
            Digest(place) => Argument::Number(self.digest(&passed[place])?),
            Data(place) => match passed.get(place) {
                Some(Passed { value, of, .. }) => {
                    let values = self.fields(value, of, true)?;
                    Argument::Number(self.field_list(values, of))
                }
                None => Argument::Number(self.field_list(Vec::new(), &Type::Void)),
            },
            Preserved(place) => Argument::Number(self.preserved(&passed[place].value)?),
            NoFields => Argument::Number(self.field_list(Vec::new(), &Type::Void)),
            Text(place) => match &passed[place].value {
                // P4's `\"`, `\\` and `\n` are JSON's.
                Value::Text(text) => Argument::Text(
                    serde_json::from_str(&format!("\"{text}\"")).unwrap_or_else(|_| text.to_string()),
                ),
                _ => return self.refuse("the message is a string"),
            },
            Values(place) => {
                let mut values = Vec::new();
                if let Some(data) = passed.get(place) {
                    self.leaves(&data.value, &data.of, &mut values)?;
                }
                Argument::Values(values.into_iter().map(|(value, _)| value).collect())
            }
        })
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
        let mut saved = Vec::new();
        for (place, _, of) in &written {
            saved.push(self.save(place, of)?);
        }
        let given = vec![Argument::Header(HeaderRef::Fixed(STANDARD))];
        self.operate(Operation::Extern("mark_to_drop", given));
        for ((place, copy, of), saved) in written.iter().zip(&saved) {
            self.assign(copy, place, of)?;
            self.assign(place, saved, of)?;
        }
        Ok(())
    }

    fn target(&mut self, value: &Value) -> Lowered<FieldRef> {
        match value.field() {
            Some(field) => Ok(field.clone()),
            None => self.refuse("a field is written here"),
        }
    }

    /// The numbers that a value is made of, with their widths.
    fn leaves(&mut self, value: &Value, of: &Type, found: &mut Vec<(Expr, u32)>) -> Lowered<()> {
        match value {
            Value::Scalar(_) | Value::Slice(..) => {
                let expr = stored(self.scalar(value)?, of);
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

    /// The same as fields: the others are computed before, constants only where the target takes none.
    fn fields(&mut self, value: &Value, of: &Type, constants: bool) -> Lowered<Vec<(Expr, u32)>> {
        let mut found = Vec::new();
        self.leaves(value, of, &mut found)?;
        for (expr, width) in &mut found {
            let value = Value::Scalar(expr.clone());
            if !constants || value.as_number().is_none() {
                let field = self.in_field(&value, &Type::bits(*width))?;
                *expr = field.unwrap_or_else(|| expr.clone());
            }
        }
        Ok(found)
    }

    fn calculation(
        &mut self, algorithm: &'static str, data: &Value, of: &Type, with_payload: bool,
    ) -> Lowered<usize> {
        let input = self.fields(data, of, true)?;
        let made = Calculation { algorithm, input, with_payload, span: self.span };
        Ok(add(&mut self.program.calculations, made))
    }

    /// `verify_checksum` and its like: condition, data, checksum, algorithm.
    fn checksum(&mut self, name: &str, passed: &[Passed]) -> Lowered<()> {
        let Place::Checksum { verify } = self.place else {
            return self.refuse(format!("`{name}` belongs into the control of checksums"));
        };
        if name.starts_with("verify") != verify {
            return self.refuse(format!("`{name}` belongs into the other control of checksums"));
        }
        let [condition, data, checksum, method] = passed else { return self.refuse("no checksum") };
        let condition = self.scalar(&condition.value)?;
        if !matches!(checksum.value, Value::Scalar(_)) {
            return self.refuse("the checksum is a field");
        }
        let target = self.target(&checksum.value)?;
        let with_payload = name.ends_with("_with_payload");
        let algorithm = algorithm(Some(&method.value));
        let calculation = self.calculation(algorithm, &data.value, &data.of, with_payload)?;
        self.program.checksums.push(Checksum { target, calculation, condition, verify, span: self.span });
        Ok(())
    }

    fn digest(&mut self, data: &Passed) -> Lowered<u32> {
        let values = self.fields(&data.value, &data.of, false)?;
        let name = match &data.of {
            Type::Composite(composite) => composite.name.to_string(),
            _ => format!("digest_{}", self.program.digests.len()),
        };
        self.program.digests.push(FieldList { name, values, of: data.of.clone(), span: self.span });
        Ok(self.program.digests.len() as u32)
    }

    /// The number of a new list. An empty one has a number, too: BMv2 resubmits and recirculates by numbers
    /// but 0.
    fn field_list(&mut self, values: Vec<(Expr, u32)>, of: &Type) -> u32 {
        let number = self.program.field_lists.len() as u32 + 1;
        let name = format!("fl_{number}");
        self.program.field_lists.push(FieldList { name, values, of: of.clone(), span: self.span });
        number
    }

    /// The fields of the metadata that `@field_list(index)` marks.
    fn preserved(&mut self, index: &Value) -> Lowered<u32> {
        let Some(index) = index.as_number() else { return self.refuse("the list is a constant") };
        let (meta, of) = self.meta.clone().unwrap_or((Value::Nothing, Type::Void));
        let mut values = Vec::new();
        self.marked(&meta, &of, &index.to_string(), &mut values)?;
        Ok(self.field_list(values, &of))
    }

    fn marked(&mut self, value: &Value, of: &Type, index: &str, found: &mut Vec<(Expr, u32)>) -> Lowered<()> {
        let Type::Composite(composite) = of.underlying() else { return Ok(()) };
        let Some(written) = self.structs.get(&composite.name).copied() else { return Ok(()) };
        let Value::Group(_) = value else { return Ok(()) };
        for ((part, of), written) in self.parts(value, of).iter().zip(written) {
            let lists = annotated(&written.annotations, "field_list").and_then(|one| one.body.as_ref());
            if lists.is_some_and(|words| words.iter().any(|word| &*word.text == index)) {
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
        let value = self.value(argument)?;
        self.emitted(&value, &self.type_of(argument.id))?;
        Ok(Value::Nothing)
    }

    fn emitted(&mut self, value: &Value, of: &Type) -> Lowered<()> {
        match value {
            Value::Header(HeaderRef::Fixed(header)) => self.program.deparser.push(*header),
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
