//! Expressions and places in JSON.

use num_bigint::BigInt;
use serde_json::{json, Value};

use super::{hex, Writer};
use crate::lower::ir::{Expr, FieldRef, HeaderRef, UnionRef};
use crate::syntax::tree::Binary;

impl Writer<'_> {
    /// An argument of a primitive.
    pub fn parameter(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Number(number) => json!({"type": "hexstr", "value": hex(number)}),
            Expr::Field(field) => self.field(field),
            Expr::Parameter(place) => json!({"type": "runtime_data", "value": place}),
            Expr::Lookahead(offset, width) => json!({"type": "lookahead", "value": [offset, width]}),
            other => json!({"type": "expression", "value": self.expression(other)}),
        }
    }

    /// A condition: an expression that is true or false.
    pub fn condition(&mut self, expr: &Expr) -> Value {
        match self.expression(expr) {
            value if value["type"] == "expression" => value,
            value => json!({"type": "expression", "value": value}),
        }
    }

    pub fn expression(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Number(number) => json!({"type": "hexstr", "value": hex(number)}),
            Expr::Bool(truth) => json!({"type": "bool", "value": truth}),
            Expr::Field(field) => self.field(field),
            Expr::Parameter(place) => json!({"type": "local", "value": place}),
            Expr::Lookahead(offset, width) => json!({"type": "lookahead", "value": [offset, width]}),
            Expr::Valid(header) => self.valid(header),
            Expr::UnionValid(union) => {
                let union = self.union(union);
                operation("valid_union", Value::Null, union)
            }
            Expr::Not(value) => self.unary("not", value),
            Expr::Complement(value) => self.unary("~", value),
            Expr::FromBool(value) => self.unary("b2d", value),
            Expr::ToBool(value) => self.unary("d2b", value),
            Expr::LastIndex(stack) => {
                let stack = json!({"type": "header_stack", "value": self.program.stacks[*stack].name});
                operation("last_stack_index", Value::Null, stack)
            }
            Expr::Wrap(value, width, false) => {
                let mask: BigInt = (BigInt::from(1) << *width) - 1;
                let value = self.expression(value);
                operation("&", value, json!({"type": "hexstr", "value": hex(&mask)}))
            }
            Expr::Wrap(value, width, true) => self.cast("two_comp_mod", value, *width),
            Expr::Clamp(value, width, signed) => {
                self.cast(if *signed { "sat_cast" } else { "usat_cast" }, value, *width)
            }
            Expr::Binary(operator, left, right) => {
                let (left, right) = (self.expression(left), self.expression(right));
                operation(symbol(*operator), left, right)
            }
            Expr::Choice(condition, then, otherwise) => {
                let (condition, then, otherwise) =
                    (self.expression(condition), self.expression(then), self.expression(otherwise));
                json!({"type": "expression", "value": {"op": "?", "cond": condition, "left": then, "right": otherwise}})
            }
        }
    }

    fn unary(&mut self, name: &str, value: &Expr) -> Value {
        let value = self.expression(value);
        operation(name, Value::Null, value)
    }

    fn cast(&mut self, name: &str, value: &Expr, width: u32) -> Value {
        let value = self.expression(value);
        operation(name, value, json!({"type": "hexstr", "value": hex(&width.into())}))
    }

    pub fn field(&mut self, field: &FieldRef) -> Value {
        let names =
            |writer: &Self, kind: usize| writer.program.header_types[kind].fields[field.field].name.clone();
        match &field.header {
            HeaderRef::Fixed(_) => json!({"type": "field", "value": self.names(field)}),
            HeaderRef::Last(stack) => {
                let stack = &self.program.stacks[*stack];
                json!({"type": "stack_field", "value": [stack.name, names(self, stack.of)]})
            }
            header => {
                let header = self.header(header);
                json!({"type": "expression", "value": {"op": "access_field", "left": header, "right": field.field}})
            }
        }
    }

    pub fn header(&mut self, header: &HeaderRef) -> Value {
        match header {
            HeaderRef::Fixed(id) => json!({"type": "header", "value": self.program.headers[*id].name}),
            HeaderRef::Element(stack, index) => {
                let stack = json!({"type": "header_stack", "value": self.program.stacks[*stack].name});
                let index = self.expression(index);
                operation("dereference_header_stack", stack, index)
            }
            HeaderRef::Last(stack) => {
                json!({"type": "stack_field", "value": [self.program.stacks[*stack].name, ""]})
            }
            HeaderRef::Next(stack) => {
                let stack = json!({"type": "header_stack", "value": self.program.stacks[*stack].name});
                let size = operation("size_stack", Value::Null, stack.clone());
                operation("dereference_header_stack", stack, size)
            }
            HeaderRef::Member(union, member) => {
                let union = self.union(union);
                json!({"type": "expression", "value": {"op": "access_union_header", "left": union, "right": member}})
            }
        }
    }

    pub fn union(&mut self, union: &UnionRef) -> Value {
        let stack = |writer: &Self, id: usize| {
            let name = &writer.program.union_stacks[id].name;
            json!({"type": "header_union_stack", "value": name})
        };
        match union {
            UnionRef::Fixed(id) => json!({"type": "header_union", "value": self.program.unions[*id].name}),
            UnionRef::Element(id, index) => {
                let index = self.expression(index);
                operation("dereference_union_stack", stack(self, *id), index)
            }
            UnionRef::Next(id) | UnionRef::Last(id) => {
                let last = operation("last_stack_index", Value::Null, stack(self, *id));
                operation("dereference_union_stack", stack(self, *id), last)
            }
        }
    }

    fn valid(&mut self, header: &HeaderRef) -> Value {
        match header {
            HeaderRef::Fixed(id) => {
                let field = json!({"type": "field", "value": [self.program.headers[*id].name, "$valid$"]});
                operation("d2b", Value::Null, field)
            }
            other => {
                let header = self.header(other);
                operation("valid", Value::Null, header)
            }
        }
    }
}

/// `left op right`; an operator of one side has no left one.
fn operation(name: &str, left: Value, right: Value) -> Value {
    json!({"type": "expression", "value": {"op": name, "left": left, "right": right}})
}

fn symbol(operator: Binary) -> &'static str {
    match operator {
        Binary::And => "and",
        Binary::Or => "or",
        other => crate::check::operator::symbol(other),
    }
}
