//! Actions: primitives one after the other, with jumps for what is nested; expressions and places.

use std::collections::HashMap;

use serde_json::{json, Value};

use super::{number, typed, Writer};
use crate::lower::expression::slice;
use crate::lower::ir::{
    Action, ActionParameter, Expr, FieldRef, HeaderRef, Label, StackId, Statement, StatementKind,
};
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
        let value = json!({"name": action.head.name, "runtime_data": parameters, "primitives": primitives});
        self.placed(value, action.head.span)
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
        // Appendix F of the P4_16 specification.
        if matches!(name, "extract" | "extract_VL" | "advance" | "verify") {
            self.diagnostics.error(span, "packets are read by parsers");
        }
        let operands: Vec<Value> = operands.iter().map(|one| self.parameter(one)).collect();
        self.placed(json!({"op": name, "parameters": operands}), span)
    }

    /// An argument of a primitive.
    pub fn parameter(&mut self, expr: &Expr) -> Value {
        match (expr, self.expression(expr)) {
            (Expr::Parameter(place), _) => typed("runtime_data", *place),
            // BMv2 reads an expression in an expression.
            (Expr::Bool(_), value) => typed("expression", value),
            (_, value) if value["type"] == "expression" => typed("expression", value),
            (_, value) => value,
        }
    }

    pub fn expression(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Number(value) => number(value),
            Expr::Bool(truth) => typed("bool", *truth),
            Expr::Field(field) => self.field(field),
            Expr::Slice(field, high, low) => self.expression(&slice(Expr::Field(field.clone()), *high, *low)),
            Expr::Parameter(place) => typed("local", *place),
            Expr::Lookahead(offset, width) => typed("lookahead", vec![*offset, *width]),
            Expr::Valid(HeaderRef::Fixed(id)) => {
                unary("d2b", typed("field", vec![&*self.program.headers[*id].name, "$valid$"]))
            }
            Expr::Valid(header) => unary("valid", self.place(header, false)),
            Expr::ToBool(value) => unary("d2b", self.expression(value)),
            Expr::Header(header) => self.place(header, false),
            Expr::Union(union) => self.place(union, true),
            Expr::Stack(stack) => self.stack(*stack),
            Expr::Named(kind, name) => typed(kind, &**name),
            Expr::Values(values) => {
                let values: Vec<Value> = values.iter().map(|value| self.parameter(value)).collect();
                typed("parameters_vector", values)
            }
            Expr::Operation(name, operands) => match &operands[..] {
                [condition, left, right] => {
                    let (left, right) = (self.expression(left), self.expression(right));
                    let condition = self.expression(condition);
                    typed("expression", json!({"op": name, "cond": condition, "left": left, "right": right}))
                }
                [left, right] => binary(name, self.expression(left), self.expression(right)),
                [only] => unary(name, self.expression(only)),
                _ => Value::Null,
            },
        }
    }

    fn field(&mut self, field: &FieldRef) -> Value {
        match &field.header {
            HeaderRef::Fixed(_) => typed("field", self.names(field)),
            HeaderRef::Last(stack) => {
                let fields = &self.program.header_types[self.program.type_of(&field.header)].fields;
                typed("stack_field", vec![&*self.program.stacks[*stack].name, &*fields[field.field].name])
            }
            header => binary("access_field", self.place(header, false), field.field),
        }
    }

    /// A header or a union.
    fn place(&mut self, at: &HeaderRef, is_union: bool) -> Value {
        let (kind, element) = match is_union {
            true => ("header_union", "dereference_union_stack"),
            false => ("header", "dereference_header_stack"),
        };
        match at {
            HeaderRef::Fixed(id) if is_union => typed(kind, &*self.program.unions[*id].name),
            HeaderRef::Fixed(id) => typed(kind, &*self.program.headers[*id].name),
            HeaderRef::Element(stack, index) => binary(element, self.stack(*stack), self.expression(index)),
            HeaderRef::Next(stack) if !is_union => {
                binary(element, self.stack(*stack), unary("size_stack", self.stack(*stack)))
            }
            HeaderRef::Next(stack) | HeaderRef::Last(stack) => {
                binary(element, self.stack(*stack), unary("last_stack_index", self.stack(*stack)))
            }
            HeaderRef::Member(stack, member) => {
                binary("access_union_header", self.place(&HeaderRef::Next(*stack), true), *member)
            }
        }
    }

    fn stack(&self, id: StackId) -> Value {
        let stack = &self.program.stacks[id];
        typed(if stack.of_unions { "header_union_stack" } else { "header_stack" }, &*stack.name)
    }
}

fn unary(name: &str, value: Value) -> Value {
    binary(name, Value::Null, value)
}

/// `left op right`; an operator of one side has no left one.
fn binary(name: &str, left: Value, right: impl Into<Value>) -> Value {
    typed("expression", json!({"op": name, "left": left, "right": right.into()}))
}
