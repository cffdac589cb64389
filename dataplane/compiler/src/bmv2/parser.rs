//! Parser states: conditions and jumps in them become states of their own.

use std::collections::{BTreeMap, HashMap};

use num_bigint::BigInt;
use serde_json::{json, Value};

use super::{numbered, typed, Writer};
use crate::lower::assign::ones;
use crate::lower::ir::{
    each_kind, Expr, FieldRef, HeaderRef, Label, Next, Pattern, State, Statement, StatementKind,
};
use crate::source::Span;

/// A state of the target.
#[derive(Default)]
struct Block {
    name: String,
    operations: Vec<Value>,
    key: Vec<Value>,
    transitions: Vec<Value>,
    span: Span,
}

/// The states that are being made. A state is known by its name.
struct Blocks {
    made: Vec<Block>,
    labels: HashMap<Label, String>,
    /// States that parsers lead back to: their statements are known later.
    continued: BTreeMap<usize, (Vec<Statement>, usize)>,
}

impl Writer<'_> {
    pub fn parser(&mut self) -> Value {
        let program = self.program;
        let mut blocks = Blocks { made: Vec::new(), labels: HashMap::new(), continued: BTreeMap::new() };
        let no_match = program.states.iter().any(needs_no_match);
        for (id, state) in program.states.iter().enumerate() {
            if state.cases.is_empty() && state.body.is_empty() {
                continue;
            }
            self.state(id, &state.body, id, &mut blocks);
        }
        while let Some((id, (rest, of))) = blocks.continued.pop_first() {
            self.state(id, &rest, of, &mut blocks);
        }
        if no_match {
            blocks.made.push(self.no_match());
        }
        let states = numbered(blocks.made.into_iter().map(|block| self.block(block)));
        json!({"name": "parser", "init_state": program.states[program.first].name, "parse_states": states})
    }

    fn state(&mut self, id: usize, body: &[Statement], of: usize, blocks: &mut Blocks) {
        let state = &self.program.states[id];
        let block = Block { name: state.name.clone(), span: state.span, ..Block::default() };
        let last = self.statements(body, block, of, blocks);
        if let Some(mut last) = last {
            self.transitions(of, &mut last);
            blocks.made.push(last);
        }
    }

    /// Adds statements to a state; the state in which they end, unless they leave it.
    fn statements(
        &mut self, statements: &[Statement], mut block: Block, of: usize, blocks: &mut Blocks,
    ) -> Option<Block> {
        for (place, statement) in statements.iter().enumerate() {
            match &statement.kind {
                StatementKind::Operation(name, operands) => {
                    let operation = self.operation(name, operands, statement.span);
                    block.operations.push(operation);
                }
                StatementKind::Labelled(label, inner) => {
                    if !leaves(inner) {
                        block = self.statements(inner, block, of, blocks)?;
                        continue;
                    }
                    let after = self.fresh(blocks, "joined");
                    blocks.labels.insert(*label, after.clone());
                    self.joined(inner, block, of, &after, blocks);
                    block = Block { name: after, span: statement.span, ..Block::default() };
                }
                StatementKind::Leave(label) => {
                    let to = blocks.labels.get(label).cloned().unwrap_or_default();
                    block.transitions = vec![always(&to)];
                    blocks.made.push(block);
                    return None;
                }
                StatementKind::If(condition, then, otherwise) => {
                    let (yes, no) = (self.fresh(blocks, "then"), self.fresh(blocks, "otherwise"));
                    let after = self.fresh(blocks, "joined");
                    self.branch(condition, &yes, &no, &mut block);
                    blocks.made.push(block);
                    for (name, inner) in [(yes, then), (no, otherwise)] {
                        let branch = Block { name, span: statement.span, ..Block::default() };
                        self.joined(inner, branch, of, &after, blocks);
                    }
                    block = Block { name: after, span: statement.span, ..Block::default() };
                }
                StatementKind::Parse { start, accept } => {
                    block.transitions = vec![always(&self.program.states[*start].name)];
                    blocks.made.push(block);
                    blocks.continued.insert(*accept, (statements[place + 1..].to_vec(), of));
                    return None;
                }
                StatementKind::Exit | StatementKind::Apply { .. } | StatementKind::Again(..) => {
                    self.diagnostics.error(statement.span, "a parser applies no tables");
                }
            }
        }
        Some(block)
    }

    /// Adds statements that go on with the state `after`, unless they leave.
    fn joined(&mut self, inner: &[Statement], block: Block, of: usize, after: &str, blocks: &mut Blocks) {
        if let Some(mut end) = self.statements(inner, block, of, blocks) {
            end.transitions = vec![always(after)];
            blocks.made.push(end);
        }
    }

    fn fresh(&self, blocks: &mut Blocks, kind: &str) -> String {
        let number = blocks.labels.len() + blocks.made.len();
        let name = format!("{kind}_{number}_{}", blocks.continued.len());
        blocks.labels.insert(Label::MAX - blocks.labels.len(), name.clone());
        name
    }

    /// Chooses by a condition: its value goes to a field that the transition compares.
    fn branch(&mut self, condition: &Expr, yes: &str, no: &str, block: &mut Block) {
        let header = &self.program.header_types[0];
        let field = header.fields.iter().position(|field| field.name == "condition").unwrap_or(0);
        let place = FieldRef { header: HeaderRef::Fixed(0), field };
        let operands = [Expr::Field(place), condition.clone().into_bit()];
        block.operations.push(self.operation("assign", &operands, Span::default()));
        block.key = vec![self.expression(&operands[0])];
        block.transitions = vec![transition("hexstr", json!("0x01"), None, Some(yes)), always(no)];
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
            HeaderRef::Member(union, member) => {
                if let HeaderRef::Next(stack) = **union {
                    let stack = &self.program.stacks[stack];
                    let name = &self.program.unions[stack.elements[0]].members[*member].0;
                    return typed("union_stack", vec![&*stack.name, &**name]);
                }
            }
            _ => {}
        }
        self.diagnostics.error(span, "a parser extracts headers and the next element of stacks");
        Value::Null
    }

    fn transitions(&mut self, of: usize, block: &mut Block) {
        let program = self.program;
        let state = &program.states[of];
        block.key = state.key.iter().map(|(value, _)| self.parameter(value)).collect();
        for case in &state.cases {
            let next = match case.next {
                Next::State(id) => Some(&*program.states[id].name),
                Next::Accept | Next::Reject => None,
            };
            block.transitions.push(match &case.pattern {
                Pattern::Any => transition("default", Value::Null, None, next),
                Pattern::ValueSet(set) => {
                    transition("parse_vset", json!(program.value_sets[*set].name), None, next)
                }
                Pattern::Bits(parts) => {
                    let widths = || state.key.iter().map(|(_, width)| *width);
                    let (values, masks): (Vec<BigInt>, Vec<BigInt>) = parts.iter().cloned().unzip();
                    let whole = masks.iter().zip(widths()).all(|(mask, width)| *mask == ones(width));
                    let mask = (!whole).then(|| bytes(&masks, widths()));
                    transition("hexstr", json!(bytes(&values, widths())), mask, next)
                }
            });
            if matches!(case.pattern, Pattern::Any) {
                return;
            }
        }
        block.transitions.push(always("noMatch"));
    }

    /// The end of packets that no case of a `select` takes.
    fn no_match(&mut self) -> Block {
        let error = self.program.errors.iter().position(|name| &**name == "NoMatch").unwrap_or(0);
        let verify = [Expr::Bool(false), Expr::Number(error.into())];
        let operations = vec![self.operation("verify", &verify, Span::default())];
        let transitions = vec![transition("default", Value::Null, None, None)];
        Block { name: "noMatch".to_owned(), operations, transitions, ..Block::default() }
    }

    fn block(&self, block: Block) -> Value {
        let value = json!({
            "name": block.name, "parser_ops": block.operations, "transition_key": block.key,
            "transitions": block.transitions,
        });
        self.placed(value, block.span)
    }
}

fn needs_no_match(state: &State) -> bool {
    !state.key.is_empty() && !state.cases.iter().any(|case| matches!(case.pattern, Pattern::Any))
}

fn leaves(statements: &[Statement]) -> bool {
    let mut found = false;
    each_kind(statements, &mut |kind| found |= matches!(kind, StatementKind::Leave(_)));
    found
}

fn always(next: &str) -> Value {
    transition("default", Value::Null, None, Some(next))
}

fn transition(kind: &str, value: Value, mask: Option<String>, next: Option<&str>) -> Value {
    json!({"type": kind, "value": value, "mask": mask, "next_state": next})
}

/// The parts of a key one after the other, each of whole bytes.
fn bytes(values: &[BigInt], widths: impl Iterator<Item = u32>) -> String {
    let mut text = "0x".to_owned();
    for (value, width) in values.iter().zip(widths) {
        let digits = 2 * width.div_ceil(8) as usize;
        text += &format!("{value:0>digits$x}");
    }
    text
}
