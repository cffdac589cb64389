//! Expressions and places in JSON.

use serde_json::{json, Value};

use super::{number, ones, typed, Writer};
use crate::lower::ir::{Expr, FieldRef, HeaderRef, StackId};
use crate::syntax::tree::Binary;

impl Writer<'_> {
    /// An argument of a primitive.
    pub fn parameter(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Parameter(place) => typed("runtime_data", *place),
            Expr::Bool(_) => typed("expression", self.expression(expr)),
            other => operand(self.expression(other)),
        }
    }

    pub fn expression(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Number(value) => number(value),
            Expr::Bool(truth) => typed("bool", *truth),
            Expr::Field(field) => self.field(field),
            Expr::Parameter(place) => typed("local", *place),
            Expr::Lookahead(offset, width) => typed("lookahead", vec![*offset, *width]),
            Expr::Valid(HeaderRef::Fixed(id)) => {
                unary("d2b", typed("field", vec![&*self.program.headers[*id].name, "$valid$"]))
            }
            Expr::Valid(header) => unary("valid", self.header(header)),
            Expr::UnionValid(union) => unary("valid_union", self.union(union)),
            Expr::Not(value) => unary("not", self.expression(value)),
            Expr::Complement(value) => unary("~", self.expression(value)),
            Expr::FromBool(value) => unary("b2d", self.expression(value)),
            Expr::ToBool(value) => unary("d2b", self.expression(value)),
            Expr::LastIndex(stack) => unary("last_stack_index", self.stack(*stack)),
            Expr::Wrap(value, width, false) => binary("&", self.expression(value), number(&ones(*width))),
            Expr::Wrap(value, width, true) => self.cast("two_comp_mod", value, *width),
            Expr::Clamp(value, width, signed) => {
                self.cast(if *signed { "sat_cast" } else { "usat_cast" }, value, *width)
            }
            Expr::Binary(operator, left, right) => {
                binary(symbol(*operator), self.expression(left), self.expression(right))
            }
            Expr::Choice(condition, then, otherwise) => {
                let (then, otherwise) = (self.expression(then), self.expression(otherwise));
                let condition = self.expression(condition);
                typed("expression", json!({"op": "?", "cond": condition, "left": then, "right": otherwise}))
            }
        }
    }

    fn cast(&mut self, name: &str, value: &Expr, width: u32) -> Value {
        binary(name, self.expression(value), number(&width.into()))
    }

    pub fn field(&mut self, field: &FieldRef) -> Value {
        match &field.header {
            HeaderRef::Fixed(_) => typed("field", self.names(field)),
            HeaderRef::Last(stack) => {
                let fields = &self.program.header_types[self.program.type_of(&field.header)].fields;
                typed("stack_field", vec![&*self.program.stacks[*stack].name, &*fields[field.field].name])
            }
            header => binary("access_field", self.header(header), field.field),
        }
    }

    pub fn header(&mut self, header: &HeaderRef) -> Value {
        match header {
            HeaderRef::Fixed(id) => typed("header", &*self.program.headers[*id].name),
            HeaderRef::Element(stack, index) => {
                binary("dereference_header_stack", self.stack(*stack), self.expression(index))
            }
            HeaderRef::Last(stack) => {
                let last = unary("last_stack_index", self.stack(*stack));
                binary("dereference_header_stack", self.stack(*stack), last)
            }
            HeaderRef::Next(stack) => {
                let size = unary("size_stack", self.stack(*stack));
                binary("dereference_header_stack", self.stack(*stack), size)
            }
            HeaderRef::Member(union, member) => binary("access_union_header", self.union(union), *member),
        }
    }

    pub fn union(&mut self, union: &HeaderRef) -> Value {
        match union {
            HeaderRef::Element(id, index) => {
                binary("dereference_union_stack", self.stack(*id), self.expression(index))
            }
            HeaderRef::Next(id) | HeaderRef::Last(id) => {
                let last = unary("last_stack_index", self.stack(*id));
                binary("dereference_union_stack", self.stack(*id), last)
            }
            HeaderRef::Fixed(id) | HeaderRef::Member(_, id) => {
                typed("header_union", &*self.program.unions[*id].name)
            }
        }
    }

    pub fn stack(&self, id: StackId) -> Value {
        let stack = &self.program.stacks[id];
        typed(if stack.of_unions { "header_union_stack" } else { "header_stack" }, &*stack.name)
    }
}

/// A value or place as a primitive takes it: BMv2 reads an expression in an expression.
pub fn operand(value: Value) -> Value {
    match value["type"] == "expression" {
        true => typed("expression", value),
        false => value,
    }
}

fn unary(name: &str, value: Value) -> Value {
    binary(name, Value::Null, value)
}

/// `left op right`; an operator of one side has no left one.
fn binary(name: &str, left: Value, right: impl Into<Value>) -> Value {
    typed("expression", json!({"op": name, "left": left, "right": right.into()}))
}

fn symbol(operator: Binary) -> &'static str {
    match operator {
        Binary::And => "and",
        Binary::Or => "or",
        other => crate::check::operator::symbol(other),
    }
}
