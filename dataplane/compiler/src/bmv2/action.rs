//! Actions: primitives one after the other, with jumps for what is nested.

use std::collections::HashMap;

use serde_json::{json, Value};

use super::{number, Writer};
use crate::lower::ir::{Action, ActionParameter, Expr, Label, Statement, StatementKind};
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
    pub fn action(&mut self, action: &Action) -> Value {
        let parameter =
            |one: &ActionParameter| json!({"name": &*one.name, "bitwidth": one.of.width().unwrap_or(32)});
        let parameters: Vec<Value> = action.parameters.iter().map(parameter).collect();
        let primitives = self.primitives(&action.body);
        let value = json!({"name": action.name, "runtime_data": parameters, "primitives": primitives});
        self.placed(value, action.span)
    }

    pub fn primitives(&mut self, statements: &[Statement]) -> Vec<Value> {
        let mut code = Code::default();
        self.code(statements, &mut code);
        code.set(END);
        for (primitive, argument, label) in std::mem::take(&mut code.jumps) {
            let to = code.labels.get(&label).copied().unwrap_or(code.primitives.len());
            code.primitives[primitive]["parameters"][argument] = number(&to.into());
        }
        code.primitives
    }

    fn code(&mut self, statements: &[Statement], code: &mut Code) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Operation(name, operands) => {
                    let primitive = self.primitive(name, operands, statement.span);
                    code.primitives.push(primitive);
                }
                StatementKind::If(condition, then, otherwise) => {
                    let (no, end) = (code.label(), code.label());
                    code.jumps.push((code.primitives.len(), 1, no));
                    let condition = self.parameter(&condition.clone().into_bit());
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

    pub fn primitive(&mut self, name: &str, operands: &[Expr], span: Span) -> Value {
        if matches!(name, "extract" | "extract_VL" | "advance" | "verify") {
            self.diagnostics.error(span, "packets are read by parsers");
        }
        let operands: Vec<Value> = operands.iter().map(|one| self.parameter(one)).collect();
        self.placed(json!({"op": name, "parameters": operands}), span)
    }
}
