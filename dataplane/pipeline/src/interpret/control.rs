//! Controls, node by node.

use super::interpreter::Interpreter;
use crate::program::control::ControlNode;
use crate::program::expr::Env;
use crate::program::info::shown;
use crate::program::table::Next;
use crate::state::table::TableState;
use crate::trace::Step;

/// Runs a control from its first node.
pub(crate) fn run(interpreter: &mut Interpreter<'_>, tables: &mut [TableState], start: Next) {
    let program = interpreter.program;
    let mut at = start;
    while let Some(node) = at {
        at = match &program.nodes[node as usize] {
            ControlNode::Condition { condition, on_true, on_false } => {
                let env = Env { layout: &program.layout, phv: interpreter.phv, locals: &[] };
                let result = condition.is_true(env);
                interpreter.record(|program, _| {
                    let (text, at) = &program.names.nodes[node as usize];
                    Step::Condition { text: text.clone(), result, at: at.to_string() }
                });
                if result {
                    *on_true
                } else {
                    *on_false
                }
            }
            ControlNode::Table(table) => apply(interpreter, &mut tables[*table as usize], *table, node),
            ControlNode::Call { action, next } => {
                interpreter.record(|program, _| Step::Action {
                    action: program.actions[*action as usize].name.clone(),
                    arguments: Vec::new(),
                    at: program.names.nodes[node as usize].1.to_string(),
                });
                interpreter.act(*action, &[]);
                *next
            }
        };
        if interpreter.pass.exit {
            return;
        }
    }
}

/// Looks the packet up and runs the action of the entry, or of the default entry.
fn apply(interpreter: &mut Interpreter<'_>, state: &mut TableState, number: u32, node: u32) -> Next {
    let program = interpreter.program;
    let table = &program.match_tables[number as usize];
    let found = if table.key.is_empty() {
        None
    } else {
        interpreter.run(&table.before, &[]);
        table.gather(interpreter.phv, &mut interpreter.externs.key);
        state.lookup(&interpreter.externs.key)
    };
    if interpreter.externs.recording.is_some() {
        record(interpreter, state, number, found, node);
    }
    match found.and_then(|row| state.row_mut(row)) {
        Some(row) => {
            if table.counted {
                row.counter.add(interpreter.pass.received);
            }
            if table.timed {
                row.hit = interpreter.pass.now;
            }
            if let Some((unit, target)) = table.metered {
                let meter = row.meter.get_or_insert_with(Box::default);
                let colour = meter.colour(interpreter.pass.now, unit, interpreter.pass.received);
                target.write(interpreter.phv, colour);
            }
            interpreter.act(row.bound.action, &row.bound.arguments);
            table.next_hit.unwrap_or(row.bound.next)
        }
        None => {
            if table.counted {
                state.miss_counter.add(interpreter.pass.received);
            }
            // As in BMv2, a miss leaves the colour alone; P4Runtime can give the default entry a meter.
            if let (Some((unit, target)), Some(_)) = (table.metered, state.miss_meter.config()) {
                let colour = state.miss_meter.colour(interpreter.pass.now, unit, interpreter.pass.received);
                target.write(interpreter.phv, colour);
            }
            let next = match &state.miss {
                Some(bound) => {
                    interpreter.act(bound.action, &bound.arguments);
                    bound.next
                }
                None => table.next_default,
            };
            table.next_miss.unwrap_or(next)
        }
    }
}

/// Records a look-up, whose entry was `found`.
fn record(interpreter: &mut Interpreter<'_>, state: &TableState, table: u32, found: Option<u32>, node: u32) {
    let program = interpreter.program;
    let info = &program.tables[table as usize];
    let bound = found.and_then(|row| state.row(row)).map(|row| &row.bound).or(state.miss.as_ref());
    let action = bound.map(|bound| &program.actions[bound.action as usize]);
    let arguments = action.into_iter().flat_map(|action| &action.params);
    let values = bound.into_iter().flat_map(|bound| &bound.arguments);
    let Some(recording) = &mut interpreter.externs.recording else { return };
    let at = program.names.nodes[node as usize].1.to_string();
    // p4c makes a table without a key of a statement between tables.
    if let (true, true, Some(action)) = (info.key.is_empty(), info.const_default, action) {
        return recording.step(Step::Action { action: action.name.clone(), arguments: Vec::new(), at });
    }
    let key = info.key.iter().zip(&interpreter.externs.key);
    recording.step(Step::Table {
        table: info.name.clone(),
        key: key.map(|(f, value)| (f.name.clone(), shown(&f.name, f.width, *value))).collect(),
        hit: found.is_some(),
        action: action.map_or_else(String::new, |action| action.name.clone()),
        arguments: arguments.zip(values).map(|(param, value)| param.shown(*value)).collect(),
        at,
    });
    if info.direct_counter {
        recording.counted.push((table, found));
    }
}
