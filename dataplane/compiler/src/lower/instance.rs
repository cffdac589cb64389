//! Objects: what instances are, and the package of the architecture (P4_16 specification, sections 8.21, 11.3
//! and 18.2).

use super::annotation::string;
use super::ir::{add, Array, ArrayKind, Control, Head, Order, Profile, Statement, StatementKind};
use super::pass::Passed;
use super::primitive::algorithm;
use super::value::{dotted, parts_of, Binding, Object, State, Value};
use super::{Lowered, Lowering, Place};
use crate::check::infer::specialise;
use crate::check::scope::Parameter;
use crate::check::types::{ObjectId, Type};
use crate::check::{ObjectKind, Target};
use crate::source::Name;
use crate::syntax::tree::{self, Annotation, Argument, Declaration, DeclarationKind, ExpressionKind, NodeId};

const ONLY_CHECKSUMS: &str =
    "this control of the target computes checksums of fields and constants, and does nothing else";

/// The order of the first block of the package: objects outside of them come before.
const PARSER: usize = 1;

impl<'t> Lowering<'t, '_> {
    /// The name that the control plane knows (section 18.3.1): that of `@name`, or of the instances around.
    pub fn control_name(&self, ident: &Name, annotations: &[Annotation]) -> Vec<Name> {
        let own = string(annotations, "name");
        let own = own.as_deref().unwrap_or(ident);
        match own.strip_prefix('.') {
            Some(absolute) => vec![Name::from(absolute)],
            None => [&self.path[..], &[Name::from(own)]].concat(),
        }
    }

    /// The head of an object that is declared here.
    pub fn head(&self, declaration: &Declaration) -> Head {
        let (order, annotations) = (self.order.clone(), declaration.annotations.clone());
        let name = dotted(&self.control_name(&declaration.ident.name, &annotations));
        Head { name, order, annotations, span: declaration.ident.span }
    }

    /// A constant or instance outside of all blocks, when it is used first.
    pub fn late(&mut self, declaration: &'t Declaration) -> Lowered<Value> {
        let value = self.named(&[], &[], |lowering| {
            lowering.within(lowering.globals.clone(), |lowering| match &declaration.kind {
                DeclarationKind::Constant { value, .. } => lowering.value(value),
                _ => lowering.instance(declaration),
            })
        })?;
        self.globals.declare(&declaration.ident.name, Binding::Value(value.clone()));
        Ok(value)
    }

    /// The control plane also has externs outside of all blocks that no block uses.
    pub fn unused(&mut self, program: &'t [Declaration]) -> Lowered<()> {
        for declaration in program {
            let DeclarationKind::Instance { of, .. } = &declaration.kind else { continue };
            let is_extern =
                |of| matches!(of, Type::Object(id, ..) if self.known(id).kind == ObjectKind::Extern);
            let binding = self.globals.find(&declaration.ident.name);
            if is_extern(self.type_of(of.id)) && matches!(binding, Some(Binding::Late(_))) {
                self.late(declaration)?;
            }
        }
        Ok(())
    }

    /// `Type(arguments) name;` (sections 11.3 and 18.3.1.5)
    pub fn instance(&mut self, declaration: &'t Declaration) -> Lowered<Value> {
        self.at(declaration.span, |lowering| {
            let (of, arguments, id) = lowering.object_type(declaration)?;
            lowering.construct(of.id, id, arguments, &declaration.ident.name, &declaration.annotations)
        })
    }

    /// The type of an instance, and its arguments.
    fn object_type(
        &mut self, declaration: &'t Declaration,
    ) -> Lowered<(&'t tree::Type, &'t [Argument], ObjectId)> {
        if let DeclarationKind::Instance { of, arguments, .. } = &declaration.kind {
            if let Type::Object(id, ..) = self.type_of(of.id) {
                return Ok((of, arguments, id));
            }
        }
        self.refuse("this instance is not supported")
    }

    /// Makes an object (section 8.21).
    pub fn construct(
        &mut self, node: NodeId, id: ObjectId, arguments: &'t [Argument], name: &Name,
        annotations: &[Annotation],
    ) -> Lowered<Value> {
        let known = self.known(id);
        let path = self.control_name(name, annotations);
        let types = match self.type_of(node) {
            Type::Object(_, types, ..) => types.to_vec(),
            _ => Vec::new(),
        };
        let order = if self.order.is_empty() { vec![0, node.0 as usize] } else { self.order.clone() };
        let arguments =
            self.named(&path, &order, |lowering| lowering.constructor_arguments(node, arguments))?;
        let mut object = Object { id, types, arguments, path, order, state: State::None };
        if known.kind == ObjectKind::Extern {
            object.state = self.extern_object(&known.declaration.ident.name, &object, annotations)?;
        }
        Ok(Value::Object(object))
    }

    /// An object that is made for a parameter has the parameter's name; one of the package that of its type.
    fn constructor_arguments(
        &mut self, node: NodeId, arguments: &'t [Argument],
    ) -> Lowered<Vec<(Name, Value)>> {
        let Some(call) = self.facts.calls.get(&node) else { return Ok(Vec::new()) };
        let mut given = Vec::new();
        for (parameter, _, argument) in self.matched(call, arguments) {
            let Some(argument) = argument else { continue };
            let made = self.facts.calls.get(&argument.id).map(|call| &call.target);
            let value = match (&argument.kind, made) {
                (ExpressionKind::Call { arguments, .. }, Some(Target::Constructor(id, _))) => {
                    let of = &self.known(*id).declaration.ident.name;
                    let name = if self.path.is_empty() { of } else { &parameter.name };
                    self.construct(argument.id, *id, arguments, name, &[])?
                }
                _ => self.value(argument)?,
            };
            given.push((parameter.name.clone(), value));
        }
        Ok(given)
    }

    /// The part of an extern that the target keeps.
    fn extern_object(&mut self, of: &str, object: &Object, annotations: &[Annotation]) -> Lowered<State> {
        let argument = |wanted: &str| {
            object.arguments.iter().find(|(name, _)| &**name == wanted).map(|(_, value)| value)
        };
        let number = |wanted: &str| {
            let number = argument(wanted).and_then(Value::as_number);
            number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
        };
        let (name, order, annotations) = (dotted(&object.path), object.order.clone(), annotations.to_vec());
        let head = Head { name, order, annotations, span: self.span };
        let element = object.types.first().cloned().unwrap_or(Type::Void);
        let kind = match of {
            "counter" | "direct_counter" => ArrayKind::Counter,
            "meter" | "direct_meter" => ArrayKind::Meter,
            "register" => {
                if element.width().is_none() || !parts_of(&element).is_empty() {
                    let message = format!("a register of {element} is not supported: its cells are numbers");
                    return self.refuse(message);
                }
                ArrayKind::Register
            }
            "action_profile" | "action_selector" => {
                let selector =
                    (of == "action_selector").then(|| (algorithm(argument("algorithm")), Vec::new()));
                let profile = Profile { head, size: number("size"), selector };
                return Ok(State::Profile(add(&mut self.program.profiles, profile)));
            }
            "Checksum16" => return Ok(State::Checksum16),
            _ => return self.refuse(format!("v1model has no extern `{of}`")),
        };
        let array = Array {
            head,
            kind,
            unit: ["packets", "bytes", "packets_and_bytes"][number("type").min(2) as usize],
            size: number("size"),
            direct: of.starts_with("direct_"),
            table: None,
            result: None,
            element,
        };
        Ok(State::Array(add(&mut self.program.arrays, array)))
    }

    /// `V1Switch(...) main;` (section 7.2.13)
    pub fn package(&mut self, main: &'t Declaration) -> Lowered<()> {
        let (of, arguments, id) = self.object_type(main)?;
        let name = &self.known(id).declaration.ident.name;
        if &**name != "V1Switch" {
            let message = format!(
                "`{name}` is a package of another architecture: this compiler makes programs for v1model"
            );
            self.diagnostics.error(of.span, message).help("p4c compiles for other architectures");
            return Err(super::Told);
        }
        let given = self.constructor_arguments(of.id, arguments)?;
        let objects = given.into_iter().filter_map(|(_, value)| match value {
            Value::Object(object) => Some(object),
            _ => None,
        });
        match <[Object; 6]>::try_from(objects.collect::<Vec<_>>()) {
            Ok(mut blocks) => {
                for (place, block) in blocks.iter_mut().enumerate() {
                    block.order = vec![PARSER + place];
                }
                self.architecture(blocks)
            }
            Err(_) => self.refuse("the package is made of six parsers and controls"),
        }
    }

    fn architecture(&mut self, blocks: [Object; 6]) -> Lowered<()> {
        let [parser, verify, ingress, egress, compute, deparser] = blocks;
        let parameters = self.parameters_of(&parser, Vec::new());
        let [packet_in, first, second, third] = &parameters[..] else {
            return self.refuse("a parser of v1model has four parameters");
        };
        let Type::Composite(_) = first.of else { return self.refuse("the headers are a struct") };
        let headers = Value::Group(self.allocate_parts(&first.of, |part| part.to_string())?);
        let meta_name = self.parameters_of(&ingress, Vec::new()).get(1).map(|one| one.name.clone());
        let meta = self.allocate(&meta_name.unwrap_or("meta".into()), &second.of)?;
        let standard = self.standard_metadata(&third.of);
        self.meta = Some((meta.clone(), second.of.clone()));
        let all = vec![headers.clone(), meta.clone(), standard];
        self.top_parser(&parser, [vec![packet(&packet_in.of)], all.clone()].concat())?;
        let both = vec![headers.clone(), meta];
        self.straight(&verify, both.clone(), Place::Checksum { verify: true })?;
        self.program.ingress = self.top(&ingress, all.clone(), Place::Control)?;
        self.program.egress = self.top(&egress, all, Place::Control)?;
        self.straight(&compute, both, Place::Checksum { verify: false })?;
        let packet_out = self.parameters_of(&deparser, Vec::new());
        let packet_out = packet(packet_out.first().map_or(&Type::Wrong, |one| &one.of));
        self.program.deparser = self.straight(&deparser, vec![packet_out, headers], Place::Deparser)?;
        Ok(())
    }

    /// The parameters of a parser or control, with values for the first ones.
    pub fn parameters_of(&self, object: &Object, values: Vec<Value>) -> Vec<Passed> {
        let known = self.known(object.id);
        let mut values = values.into_iter();
        let passed = |parameter: &Parameter| Passed {
            name: parameter.name.clone(),
            direction: parameter.direction,
            of: specialise(&parameter.of, &known.type_parameters, &object.types),
            value: values.next().unwrap_or(Value::Nothing),
            back: None,
        };
        known.methods[0].signature.parameters.iter().map(passed).collect()
    }

    /// A control that only computes checksums, which become objects of the target, or a deparser.
    fn straight(&mut self, object: &Object, values: Vec<Value>, place: Place) -> Lowered<Control> {
        let made = self.top(object, values, place)?;
        let mut body = Vec::new();
        let other = operations(&made.body, &mut body);
        let (other, message) = match place {
            Place::Deparser => (other, "a deparser of this target emits headers, and decides nothing"),
            _ => (other.or(body.first()), ONLY_CHECKSUMS),
        };
        match other {
            Some(other) => self.refuse_at(other.span, message),
            None => Ok(Control { body, ..made }),
        }
    }

    /// A control of the architecture.
    fn top(&mut self, object: &Object, values: Vec<Value>, place: Place) -> Lowered<Control> {
        let declaration = self.known(object.id).declaration;
        self.place = place;
        let bound = self.parameters_of(object, values);
        let body = self
            .at(declaration.span, |lowering| lowering.code(|lowering| lowering.run_control(object, bound)))?;
        Ok(Control { span: declaration.ident.span, body })
    }
}

/// `packet_in` or `packet_out`
fn packet(of: &Type) -> Value {
    match of {
        Type::Object(id, ..) => Value::Object(Object {
            id: *id,
            types: Vec::new(),
            arguments: Vec::new(),
            path: Vec::new(),
            order: Order::new(),
            state: State::Packet,
        }),
        _ => Value::Nothing,
    }
}

/// Adds the operations of statements to those that were found, up to the first statement that is neither one
/// nor does nothing.
fn operations<'s>(statements: &'s [Statement], found: &mut Vec<Statement>) -> Option<&'s Statement> {
    statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Labelled(_, inner) => operations(inner, found),
        StatementKind::If(_, then, otherwise) if then.is_empty() && otherwise.is_empty() => None,
        StatementKind::Leave(_) => None,
        StatementKind::Operation(..) => {
            found.push(statement.clone());
            None
        }
        _ => Some(statement),
    })
}
