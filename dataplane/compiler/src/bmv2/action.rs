//! Actions: primitives one after the other, with jumps for what is nested.

use std::collections::HashMap;

use serde_json::{json, Value};

use super::{calculation_name, hex, Writer};
use crate::lower::ir::{Action, Argument, ArrayKind, Label, Operation, Statement, StatementKind};
use crate::source::Span;

/// The primitives of an action, with jumps to places that are not known yet.
#[derive(Default)]
struct Code {
    primitives: Vec<Value>,
    /// Jumps by the number of their primitive and of their argument, and the label that they go to.
    jumps: Vec<(usize, usize, Label)>,
    labels: HashMap<Label, usize>,
    /// Labels of the code's own.
    own: Label,
}

/// The end of the action.
const END: Label = Label::MAX;

impl Code {
    fn label(&mut self) -> Label {
        self.own += 1;
        END - self.own
    }

    fn jump(&mut self, to: Label) {
        self.jumps.push((self.primitives.len(), 0, to));
        self.primitives.push(json!({"op": "_jump", "parameters": [null]}));
    }

    fn set(&mut self, label: Label) {
        self.labels.insert(label, self.primitives.len());
    }
}

impl Writer<'_> {
    pub fn action(&mut self, id: usize, action: &Action) -> Value {
        let parameters: Vec<Value> = action
            .parameters
            .iter()
            .map(|one| json!({"name": &*one.name, "bitwidth": one.of.width().unwrap_or(32)}))
            .collect();
        let primitives = self.primitives(&action.body);
        let mut value =
            json!({"name": action.name, "id": id, "runtime_data": parameters, "primitives": primitives});
        self.place(&mut value, action.span);
        value
    }

    pub fn primitives(&mut self, statements: &[Statement]) -> Vec<Value> {
        let mut code = Code::default();
        self.code(statements, &mut code);
        code.set(END);
        for (primitive, argument, label) in std::mem::take(&mut code.jumps) {
            let to = code.labels.get(&label).copied().unwrap_or(code.primitives.len());
            code.primitives[primitive]["parameters"][argument] =
                json!({"type": "hexstr", "value": format!("0x{to:x}")});
        }
        code.primitives
    }

    fn code(&mut self, statements: &[Statement], code: &mut Code) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Operation(operation) => {
                    let primitive = self.primitive(operation, statement.span);
                    code.primitives.push(primitive);
                }
                StatementKind::If(condition, then, otherwise) => {
                    let (no, end) = (code.label(), code.label());
                    code.jumps.push((code.primitives.len(), 1, no));
                    let condition = self.condition(condition);
                    code.primitives.push(json!({"op": "_jump_if_zero", "parameters": [condition, null]}));
                    self.code(then, code);
                    if !otherwise.is_empty() {
                        code.jump(end);
                    }
                    code.set(no);
                    self.code(otherwise, code);
                    code.set(end);
                }
                StatementKind::Again(label, inner) => {
                    code.set(*label);
                    self.code(inner, code);
                }
                StatementKind::Labelled(label, inner) => {
                    self.code(inner, code);
                    code.set(*label);
                }
                StatementKind::Leave(label) => {
                    code.jump(*label);
                    return;
                }
                StatementKind::Exit => {
                    code.primitives.push(json!({"op": "exit", "parameters": []}));
                    code.jump(END);
                    return;
                }
                StatementKind::Apply { .. } | StatementKind::Parse { .. } => {
                    self.diagnostics.error(statement.span, "an action applies no tables and parsers");
                }
            }
        }
    }

    pub fn primitive(&mut self, operation: &Operation, span: Span) -> Value {
        let stack = |writer: &Self, id: &usize| {
            let name = &writer.program.stacks[*id].name;
            json!({"type": "header_stack", "value": name})
        };
        let union_stack = |writer: &Self, id: &usize| {
            let name = &writer.program.union_stacks[*id].name;
            json!({"type": "header_union_stack", "value": name})
        };
        let (name, parameters) = match operation {
            Operation::Assign(field, value) => ("assign", vec![self.field(field), self.parameter(value)]),
            Operation::AssignVarbit(to, from) => ("assign_VL", vec![self.field(to), self.field(from)]),
            Operation::AssignHeader(to, from) => ("assign_header", vec![self.header(to), self.header(from)]),
            Operation::AssignUnion(to, from) => ("assign_union", vec![self.union(to), self.union(from)]),
            Operation::AssignStack(to, from) => {
                ("assign_header_stack", vec![stack(self, to), stack(self, from)])
            }
            Operation::AssignUnionStack(to, from) => {
                ("assign_union_stack", vec![union_stack(self, to), union_stack(self, from)])
            }
            Operation::SetValid(header) => ("add_header", vec![self.header(header)]),
            Operation::SetInvalid(header) => ("remove_header", vec![self.header(header)]),
            Operation::Push(id, count) => {
                ("push", vec![stack(self, id), json!({"type": "hexstr", "value": format!("0x{count:x}")})])
            }
            Operation::Pop(id, count) => {
                ("pop", vec![stack(self, id), json!({"type": "hexstr", "value": format!("0x{count:x}")})])
            }
            Operation::Primitive(name, given) => {
                (*name, given.iter().map(|one| self.argument(one)).collect())
            }
            Operation::Extract(_)
            | Operation::ExtractVarbit(..)
            | Operation::Advance(_)
            | Operation::Verify(..) => {
                self.diagnostics.error(span, "packets are read by parsers");
                ("no_op", Vec::new())
            }
        };
        let mut primitive = json!({"op": name, "parameters": parameters});
        self.place(&mut primitive, span);
        primitive
    }

    fn argument(&mut self, given: &Argument) -> Value {
        match given {
            Argument::Value(value) => self.parameter(value),
            Argument::Field(field) => self.field(field),
            Argument::Header(header) => {
                json!({"type": "header", "value": self.program.headers[*header].name})
            }
            Argument::Array(array) => {
                let array = &self.program.arrays[*array];
                let kind = match array.kind {
                    ArrayKind::Counter => "counter_array",
                    ArrayKind::Meter => "meter_array",
                    ArrayKind::Register { .. } => "register_array",
                };
                json!({"type": kind, "value": array.name})
            }
            Argument::Calculation(id) => json!({"type": "calculation", "value": calculation_name(*id)}),
            Argument::Number(number) => json!({"type": "hexstr", "value": hex(&(*number).into())}),
            Argument::Text(text) => json!({"type": "string", "value": &**text}),
            Argument::Values(values) => {
                let values: Vec<Value> = values.iter().map(|value| self.parameter(value)).collect();
                json!({"type": "parameters_vector", "value": values})
            }
        }
    }
}
