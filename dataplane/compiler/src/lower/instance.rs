//! Objects: what instances are, and the package of the architecture.

use num_bigint::BigInt;

use super::environment::Binding;
use super::ir::{Array, ArrayKind, Control, Expr, Gress, Profile, Statement, StatementKind};
use super::value::{Object, State, Value};
use super::{Lowered, Lowering, Place};
use crate::check::types::{ObjectId, Type};
use crate::check::{Call, Object as Known, ObjectKind, Target};
use crate::source::{Name, Span};
use crate::syntax::tree::{Annotation, Argument, Declaration, DeclarationKind, Expression, NodeId};

/// The text of `@name("...")` and its like.
#[must_use]
pub fn annotated<'a>(annotations: &'a [Annotation], name: &str) -> Option<&'a Annotation> {
    annotations.iter().find(|one| &*one.name.name == name)
}

/// The string of an annotation.
#[must_use]
pub fn text_of(annotation: &Annotation) -> Option<String> {
    let words = annotation.body.as_ref()?;
    let text: String = words.iter().map(|word| word.text.trim_matches('"')).collect();
    (!words.is_empty()).then_some(text)
}

impl<'t> Lowering<'t, '_> {
    /// The name that the control plane knows: of the instances around, unless `@name` says another.
    pub fn control_name(&self, ident: &Name, annotations: &[Annotation]) -> Vec<Name> {
        let own = annotated(annotations, "name").and_then(text_of);
        let own = own.as_deref().unwrap_or(ident);
        if let Some(absolute) = own.strip_prefix('.') {
            return vec![Name::from(absolute)];
        }
        let mut path = self.path.clone();
        path.push(Name::from(own));
        path
    }

    /// A constant or instance outside of all blocks, when it is used first.
    pub fn late(&mut self, declaration: &'t Declaration) -> Lowered<Value> {
        let path = std::mem::take(&mut self.path);
        let globals = self.globals.clone();
        let value = self.within(globals, |lowering| match &declaration.kind {
            DeclarationKind::Constant { value, .. } => lowering.value(value),
            _ => lowering.instance(declaration),
        });
        self.path = path;
        let value = value?;
        self.globals.declare(&declaration.ident.name, Binding::Value(value.clone()));
        Ok(value)
    }

    /// `Type(arguments) name;`
    pub fn instance(&mut self, declaration: &'t Declaration) -> Lowered<Value> {
        let DeclarationKind::Instance { of, arguments, .. } = &declaration.kind else {
            return self.refuse(declaration.span, "no instance");
        };
        let Type::Object(id, _) = self.type_of(of.id) else {
            return self.refuse(declaration.span, "this instance is not supported");
        };
        self.construct(of.id, id, arguments, declaration.span, Some(declaration))
    }

    /// Makes an object; without a declaration it has the name of its type.
    pub fn construct(
        &mut self, node: NodeId, id: ObjectId, arguments: &'t [Argument], span: Span,
        declaration: Option<&'t Declaration>,
    ) -> Lowered<Value> {
        let facts = self.facts;
        let known = &facts.objects[id.0 as usize];
        let (path, annotations) = match declaration {
            Some(one) => (self.control_name(&one.ident.name, &one.annotations), one.annotations.clone()),
            None => (self.control_name(&known.declaration.ident.name, &[]), Vec::new()),
        };
        let types = match self.type_of(node) {
            Type::Object(_, types) => types.to_vec(),
            _ => Vec::new(),
        };
        let given = self.constructor_arguments(node, arguments, span)?;
        let state = match known.kind {
            ObjectKind::Extern => self.extern_object(known, &types, &path, &given, annotations, span)?,
            _ => State::None,
        };
        Ok(Value::Object(Object { id, types, arguments: given, path, state }))
    }

    fn constructor_arguments(
        &mut self, node: NodeId, arguments: &'t [Argument], span: Span,
    ) -> Lowered<Vec<(Name, Value)>> {
        let facts = self.facts;
        let Some(call) = facts.calls.get(&node) else { return Ok(Vec::new()) };
        let Target::Constructor(id, number) = call.target else { return self.refuse(span, "no constructor") };
        let signature = &facts.objects[id.0 as usize].constructors[number];
        let mut given = Vec::new();
        for (parameter, place) in signature.parameters.iter().zip(&call.arguments) {
            if let Some(place) = place {
                let value = self.value(&arguments[*place].value)?;
                given.push((parameter.name.clone(), value));
            } else if let Some(default) = self.default_argument(call, &parameter.name) {
                let value = self.value(default)?;
                given.push((parameter.name.clone(), value));
            }
        }
        Ok(given)
    }

    /// The value of a parameter that has no argument.
    pub fn default_argument(&self, call: &Call<'t>, name: &Name) -> Option<&'t Expression> {
        let (declaration, constructs) = match &call.target {
            Target::Function(function) | Target::Action(function) => (function.declaration, false),
            Target::Method(id, _) => (self.facts.objects[id.0 as usize].declaration, false),
            Target::Constructor(id, _) => (self.facts.objects[id.0 as usize].declaration, true),
            Target::Table(_) | Target::Builtin(_) => return None,
        };
        let parameters = match &declaration.kind {
            DeclarationKind::Parser { head, constructor, .. }
            | DeclarationKind::Control { head, constructor, .. } => {
                if constructs {
                    constructor
                } else {
                    &head.parameters
                }
            }
            DeclarationKind::Package(head) => &head.parameters,
            DeclarationKind::Function { signature, .. } => &signature.head.parameters,
            DeclarationKind::Action { parameters, .. } => parameters,
            _ => return None,
        };
        parameters.iter().find(|one| one.ident.name == *name)?.default.as_ref()
    }

    /// The part of an extern that the target keeps.
    fn extern_object(
        &mut self, known: &Known<'t>, types: &[Type], path: &[Name], given: &[(Name, Value)],
        annotations: Vec<Annotation>, span: Span,
    ) -> Lowered<State> {
        let name = super::assign::dotted(path);
        let number = |wanted: &str| -> u64 {
            given
                .iter()
                .find(|(name, _)| &**name == wanted)
                .and_then(|(_, value)| match value {
                    Value::Scalar(Expr::Number(number)) => u64::try_from(number).ok(),
                    _ => None,
                })
                .unwrap_or(0)
        };
        let kind = &*known.declaration.ident.name;
        let index = types.last().cloned().unwrap_or_else(|| Type::bits(32));
        let array =
            |kind: ArrayKind, unit: &str, direct: bool, element: Type, index: Type, size: u64| Array {
                name: name.clone(),
                kind,
                unit: unit.into(),
                size,
                direct,
                table: None,
                result: None,
                element,
                index,
                annotations: annotations.clone(),
                span,
            };
        let unit = |names: [&'static str; 3]| names[usize::try_from(number("type")).unwrap_or(0).min(2)];
        let units = ["packets", "bytes", "packets_and_bytes"];
        let made = match kind {
            "counter" => array(ArrayKind::Counter, unit(units), false, Type::Void, index, number("size")),
            "direct_counter" => array(ArrayKind::Counter, unit(units), true, Type::Void, index, 0),
            "meter" => array(ArrayKind::Meter, unit(units), false, Type::Void, index, number("size")),
            "direct_meter" => {
                let element = types.first().cloned().unwrap_or(Type::Wrong);
                array(ArrayKind::Meter, unit(units), true, element, Type::bits(32), 0)
            }
            "register" => {
                let element = types.first().cloned().unwrap_or(Type::Wrong);
                let Some(width) = element.width() else {
                    return self.refuse(span, format!("a register of {element} is not supported"));
                };
                if matches!(element.underlying(), Type::Composite(_) | Type::Tuple(_) | Type::Array(..)) {
                    return self.refuse(
                        span,
                        format!("a register of {element} is not supported: its cells are numbers"),
                    );
                }
                let signed = matches!(element.underlying(), Type::Bits { signed: true, .. });
                let index = types.get(1).cloned().unwrap_or_else(|| Type::bits(32));
                array(ArrayKind::Register { width, signed }, "", false, element, index, number("size"))
            }
            "action_profile" | "action_selector" => {
                let algorithm = known_member(given, "algorithm");
                let selector = (kind == "action_selector")
                    .then(|| (crate::lower::primitive::algorithm(algorithm), Vec::new()));
                self.program.profiles.push(Profile {
                    name,
                    size: number("size"),
                    selector,
                    annotations,
                    span,
                });
                return Ok(State::Profile(self.program.profiles.len() - 1));
            }
            "Checksum16" => return Ok(State::Checksum16),
            _ => return self.refuse(span, format!("v1model has no extern `{kind}`")),
        };
        self.program.arrays.push(made);
        Ok(State::Array(self.program.arrays.len() - 1))
    }

    /// `V1Switch(...) main;`
    pub fn package(&mut self, main: &'t Declaration) -> Lowered<()> {
        let DeclarationKind::Instance { of, arguments, .. } = &main.kind else { return Ok(()) };
        let Type::Object(id, _) = self.type_of(of.id) else {
            return self.refuse(main.span, "`main` is no package");
        };
        let name = &self.facts.objects[id.0 as usize].declaration.ident.name;
        if &**name != "V1Switch" {
            let message = format!(
                "`{name}` is a package of another architecture: this compiler makes programs for v1model"
            );
            self.diagnostics.error(of.span, message).help("p4c compiles for other architectures");
            return Err(super::Told);
        }
        let given = self.constructor_arguments(of.id, arguments, main.span)?;
        let mut objects = Vec::new();
        for (_, value) in given {
            match value {
                Value::Object(object) => objects.push(object),
                _ => return self.refuse(main.span, "the package is made of parsers and controls"),
            }
        }
        let Ok([parser, verify, ingress, egress, compute, deparser]) = <[Object; 6]>::try_from(objects)
        else {
            return self.refuse(main.span, "the package is made of six parsers and controls");
        };
        self.architecture(main.span, parser, [verify, ingress, egress, compute, deparser])
    }

    fn architecture(&mut self, span: Span, parser: Object, controls: [Object; 5]) -> Lowered<()> {
        let types = self.parameters_of(&parser);
        let [_, (_, headers_type), (_, meta_type), (_, standard_type)] = &types[..] else {
            return self.refuse(span, "a parser of v1model has four parameters");
        };
        let headers = self.top_headers(headers_type, span)?;
        let meta_name =
            self.parameters_of(&controls[1]).get(1).map_or_else(|| "meta".into(), |(name, _)| name.clone());
        let meta = self.allocate(&meta_name, meta_type, span)?;
        let standard = match standard_type {
            Type::Composite(composite) => self.standard_metadata(composite),
            _ => Value::Nothing,
        };
        let packet = |id| {
            Value::Object(Object {
                id,
                types: Vec::new(),
                arguments: Vec::new(),
                path: Vec::new(),
                state: State::Packet,
            })
        };
        let packet_in = match &types[0].1 {
            Type::Object(id, _) => packet(*id),
            _ => Value::Nothing,
        };
        self.meta = Some((meta.clone(), meta_type.clone()));
        self.top_parser(&parser, vec![packet_in, headers.clone(), meta.clone(), standard.clone()])?;
        let [verify, ingress, egress, compute, deparser] = controls;
        let both = vec![headers.clone(), meta.clone()];
        let all = vec![headers.clone(), meta, standard];
        self.top(&verify, both.clone(), Place::Checksum { verify: true })?;
        self.program.ingress = self.top(&ingress, all.clone(), Place::Control(Gress::Ingress))?;
        self.program.egress = self.top(&egress, all, Place::Control(Gress::Egress))?;
        self.top(&compute, both, Place::Checksum { verify: false })?;
        let packet_out = match self.parameters_of(&deparser).first() {
            Some((_, Type::Object(id, _))) => packet(*id),
            _ => Value::Nothing,
        };
        let deparsed = self.top(&deparser, vec![packet_out, headers], Place::Deparser)?;
        self.program.deparser_span = deparsed.span;
        if let Some(other) = first_effect(&deparsed.body) {
            return self.refuse(other.span, "a deparser of this target emits headers, and does nothing else");
        }
        Ok(())
    }

    /// Names and types of the parameters of a parser or control.
    pub fn parameters_of(&self, object: &Object) -> Vec<(Name, Type)> {
        let known = &self.facts.objects[object.id.0 as usize];
        let parameters = &known.methods[0].signature.parameters;
        let of = |of: &Type| crate::check::infer::specialise(of, &known.type_parameters, &object.types);
        parameters.iter().map(|parameter| (parameter.name.clone(), of(&parameter.of))).collect()
    }

    /// The headers have the names of their fields.
    fn top_headers(&mut self, of: &Type, span: Span) -> Lowered<Value> {
        let Type::Composite(composite) = of else { return self.refuse(span, "the headers are a struct") };
        let mut parts = Vec::new();
        for field in &composite.fields {
            parts.push((field.name.clone(), self.allocate(&field.name, &field.of, span)?));
        }
        Ok(Value::Group(parts))
    }

    /// A control of the architecture.
    fn top(&mut self, object: &Object, values: Vec<Value>, place: Place) -> Lowered<Control> {
        let declaration = self.facts.objects[object.id.0 as usize].declaration;
        self.place = place;
        let bound = self.parameters_of(object).into_iter().map(|(name, _)| name).zip(values).collect();
        let ((), body) = self.collect(|lowering| lowering.run_control(object, bound, declaration.span))?;
        self.place = Place::Outside;
        Ok(Control { name: declaration.ident.name.to_string(), span: Some(declaration.ident.span), body })
    }
}

fn known_member(given: &[(Name, Value)], wanted: &str) -> usize {
    let value = given.iter().find(|(name, _)| &**name == wanted).map(|(_, value)| value);
    match value {
        Some(Value::Scalar(Expr::Number(number))) => usize::try_from(number).unwrap_or(0),
        _ => 0,
    }
}

/// A number as the target takes it.
#[must_use]
pub fn as_number(value: &Value) -> Option<BigInt> {
    match value {
        Value::Scalar(Expr::Number(number)) => Some(number.clone()),
        Value::Scalar(Expr::Bool(truth)) => Some(i32::from(*truth).into()),
        _ => None,
    }
}

/// The first statement that does something.
fn first_effect(statements: &[Statement]) -> Option<&Statement> {
    statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Labelled(_, inner) => first_effect(inner),
        StatementKind::Leave(_) => None,
        _ => Some(statement),
    })
}
