//! Parser states: conditions and jumps in them become states of their own.

use std::collections::HashMap;

use serde_json::{json, Value};

use super::{bytes, numbered, typed, Writer};
use crate::lower::assign::ones;
use crate::lower::ir::{
    each_kind, is_leave, Expr, FieldRef, HeaderRef, Label, Pattern, State, Statement, StatementKind,
};
use crate::lower::storage::CONDITION;
use crate::source::Span;

/// A state of the target that has no name yet.
#[derive(Clone, Default)]
struct Block {
    operations: Vec<Value>,
    key: Vec<Value>,
    transitions: Vec<Value>,
}

impl Block {
    fn to(next: &str) -> Block {
        Block { transitions: vec![always(next)], ..Block::default() }
    }
}

/// The states that are being made, and those behind labels.
#[derive(Default)]
struct States {
    made: Vec<Value>,
    labels: HashMap<Label, Block>,
}

impl Writer<'_> {
    pub fn parser(&mut self) -> Value {
        let program = self.program;
        let mut states = States::default();
        // The state behind a parser that is applied is made where this is.
        for state in program.states.iter().filter(|state| !state.key.is_empty() || !state.cases.is_empty()) {
            let end = self.transitions(state);
            let block = self.states(&state.body, end, &mut states);
            self.add(&state.name, block, state.span, &mut states);
        }
        if program.states.iter().any(needs_no_match) {
            let end = self.no_match();
            self.add("noMatch", end, Span::default(), &mut states);
        }
        let states = numbered(states.made);
        json!({"name": "parser", "init_state": program.states[program.first].name, "parse_states": states})
    }

    /// The first state of statements that `next` follows, made from their end.
    fn states(&mut self, statements: &[Statement], mut next: Block, states: &mut States) -> Block {
        let end = statements.iter().position(is_leave).map_or(statements.len(), |place| place + 1);
        for Statement { kind, span } in statements[..end].iter().rev() {
            next = match kind {
                StatementKind::Operation(name, operands) => {
                    next.operations.insert(0, self.operation(name, operands, *span));
                    next
                }
                StatementKind::If(condition, then, otherwise) => {
                    let next = Block::to(&self.entered("joined", next, *span, states));
                    let yes = self.states(then, next.clone(), states);
                    let no = self.states(otherwise, next, states);
                    let yes = self.entered("then", yes, *span, states);
                    let no = self.entered("otherwise", no, *span, states);
                    self.branch(condition, &yes, &no)
                }
                StatementKind::Labelled(label, inner) => {
                    let mut is_left = false;
                    each_kind(inner, &mut |kind| is_left |= matches!(kind, StatementKind::Leave(_)));
                    if is_left {
                        next = Block::to(&self.entered("joined", next, *span, states));
                        states.labels.insert(*label, next.clone());
                    }
                    self.states(inner, next, states)
                }
                StatementKind::Leave(label) => states.labels.get(label).cloned().unwrap_or_default(),
                StatementKind::Parse { start, accept } => {
                    self.add(&self.program.states[*accept].name, next, *span, states);
                    Block::to(&self.program.states[*start].name)
                }
                StatementKind::Exit | StatementKind::Apply { .. } | StatementKind::Again(..) => {
                    self.diagnostics.error(*span, "a parser applies no tables");
                    next
                }
            };
        }
        next
    }

    /// Chooses by a condition: its value goes to a field that the transition compares.
    fn branch(&mut self, condition: &Expr, yes: &str, no: &str) -> Block {
        let operands = [Expr::Field(CONDITION), condition.clone().into_bit()];
        Block {
            operations: vec![self.operation("assign", &operands, Span::default())],
            key: vec![self.expression(&operands[0])],
            transitions: vec![transition("hexstr", json!("0x01"), None, Some(yes)), always(no)],
        }
    }

    fn add(&self, name: &str, block: Block, span: Span, states: &mut States) {
        let Block { operations, key, transitions } = block;
        let value = json!({
            "name": name, "parser_ops": operations, "transition_key": key, "transitions": transitions,
        });
        states.made.push(self.placed(value, span));
    }

    /// The name of a block: that of a new state, unless it only goes on to another.
    fn entered(&self, kind: &str, block: Block, span: Span, states: &mut States) -> String {
        if let ([], [], [only]) = (&block.operations[..], &block.key[..], &block.transitions[..]) {
            if let Some(next) = only["next_state"].as_str() {
                return next.to_owned();
            }
        }
        let name = format!("{kind}.{}", states.made.len());
        self.add(&name, block, span, states);
        name
    }

    fn operation(&mut self, name: &str, operands: &[Expr], span: Span) -> Value {
        let (name, parameters) = match (name, operands) {
            ("extract", [Expr::Header(header)]) => (name, vec![self.extracted(header, span)]),
            ("extract_VL", [Expr::Header(header), bits]) => {
                let bits = typed("expression", self.expression(bits));
                (name, vec![self.extracted(header, span), bits])
            }
            ("advance", [bits]) => (name, vec![self.source(bits)]),
            ("verify", [check, error]) => (name, vec![self.expression(check), self.expression(error)]),
            ("assign", [place @ Expr::Field(FieldRef { header: HeaderRef::Fixed(_), .. }), value]) => {
                ("set", vec![self.expression(place), self.source(value)])
            }
            _ => ("primitive", vec![self.primitive(name, operands, span)]),
        };
        self.placed(json!({"op": name, "parameters": parameters}), span)
    }

    /// The value that a parser assigns: BMv2 takes a field of a stack's last element in an expression only.
    fn source(&mut self, value: &Expr) -> Value {
        match self.parameter(value) {
            last if last["type"] == "stack_field" => typed("expression", last),
            other => other,
        }
    }

    fn extracted(&mut self, header: &HeaderRef, span: Span) -> Value {
        match header {
            HeaderRef::Fixed(id) => return typed("regular", &*self.program.headers[*id].name),
            HeaderRef::Next(stack) => return typed("stack", &*self.program.stacks[*stack].name),
            HeaderRef::Member(stack, member) => {
                let stack = &self.program.stacks[*stack];
                let name = &self.program.unions[stack.elements[0]].members[*member].0;
                return typed("union_stack", vec![&*stack.name, &**name]);
            }
            _ => {}
        }
        self.diagnostics.error(span, "a parser extracts headers and the next element of stacks");
        Value::Null
    }

    fn transitions(&mut self, state: &State) -> Block {
        let program = self.program;
        let key = state.key.iter().map(|(value, _)| self.parameter(value)).collect();
        let mut block = Block { key, ..Block::default() };
        for case in &state.cases {
            let next = case.next.map(|id| &*program.states[id].name);
            block.transitions.push(match &case.pattern {
                Pattern::Any => transition("default", Value::Null, None, next),
                Pattern::ValueSet(set) => transition("parse_vset", json!(**set), None, next),
                Pattern::Bits(parts) => {
                    let parts = || parts.iter().zip(&state.key).map(|(part, (_, width))| (part, *width));
                    let is_whole = parts().all(|((_, mask), width)| *mask == ones(width));
                    let mask = (!is_whole).then(|| bytes(parts().map(|((_, mask), width)| (mask, width))));
                    let value = bytes(parts().map(|((value, _), width)| (value, width)));
                    transition("hexstr", json!(value), mask, next)
                }
            });
            if matches!(case.pattern, Pattern::Any) {
                return block;
            }
        }
        block.transitions.push(always("noMatch"));
        block
    }

    /// The end of packets that no case of a `select` takes.
    fn no_match(&mut self) -> Block {
        let error = self.program.errors.iter().position(|name| &**name == "NoMatch").unwrap_or(0);
        let verify = [Expr::Bool(false), Expr::Number(error.into())];
        let operations = vec![self.operation("verify", &verify, Span::default())];
        let transitions = vec![transition("default", Value::Null, None, None)];
        Block { operations, transitions, ..Block::default() }
    }
}

fn needs_no_match(state: &State) -> bool {
    !state.key.is_empty() && !state.cases.iter().any(|case| matches!(case.pattern, Pattern::Any))
}

fn always(next: &str) -> Value {
    transition("default", Value::Null, None, Some(next))
}

fn transition(kind: &str, value: Value, mask: Option<String>, next: Option<&str>) -> Value {
    json!({"type": kind, "value": value, "mask": mask, "next_state": next})
}
