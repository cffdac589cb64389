//! Controls, node by node.

use groupflow_base::Nanos;

use super::interpreter::Interpreter;
use crate::program::info::{shown, ActionId};
use crate::program::table::{ControlNode, Next};
use crate::state::table::TableState;
use crate::trace::Step;

/// Runs a control from its first node.
pub(crate) fn run(interpreter: &mut Interpreter<'_>, tables: &mut [TableState], start: Next) {
    let program = interpreter.program;
    let mut at = start;
    while let Some(node) = at {
        at = match &program.nodes[node as usize] {
            ControlNode::Condition { condition, on_true, on_false } => {
                let result = interpreter.eval(condition, &[]) != 0;
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
                interpreter.record(|program, _| {
                    let at = program.names.nodes[node as usize].1.to_string();
                    program.actions[*action as usize].step(&[], at)
                });
                interpreter.act(*action, &[]);
                *next
            }
        };
        if interpreter.context.exit != 0 {
            return;
        }
    }
}

/// Looks the packet up and runs the action of the entry, or of the default entry.
fn apply(interpreter: &mut Interpreter<'_>, state: &mut TableState, number: u32, node: u32) -> Next {
    let program = interpreter.program;
    let table = &program.match_tables[number as usize];
    let tracing = interpreter.externs.recording.is_some();
    if let (Some(call), Some(next), false) = (&table.default, table.bare, tracing) {
        interpreter.act(call.action.0, &call.arguments);
        return next;
    }
    let row = if table.key.is_empty() || state.is_vacant() && !tracing {
        0
    } else {
        interpreter.run(&table.before, &[]);
        table.gather(interpreter.phv, &state.shape.words, &mut interpreter.externs.key);
        state.search(&interpreter.externs.key)
    };
    if tracing {
        record(interpreter, state, number, row, node);
    }
    let (now, received) = (Nanos(interpreter.context.now), interpreter.context.received as u32);
    if table.counted {
        let mut counter = state.counter(row);
        counter.add(received);
        state.set_counter(row, counter);
    }
    if table.timed {
        state.set_hit(row, now.0);
    }
    // As in BMv2, a miss leaves the colour alone; P4Runtime can give the default entry a meter.
    let coloured = row != 0 || state.meter(row).is_some_and(|meter| meter.config().is_some());
    if let (Some((unit, target)), true) = (table.metered, coloured) {
        let colour = state.meter_mut(row).colour(now, unit, received);
        target.write(interpreter.phv, colour);
    }
    let next = match state.action(row) {
        Some(position) => {
            let info = &program.tables[number as usize];
            let action = info.actions[position];
            let mut arguments = std::mem::take(&mut interpreter.externs.arguments);
            arguments.clear();
            arguments.extend(state.shape.get_arguments(state.row(row), position));
            interpreter.act(action.0, &arguments);
            interpreter.externs.arguments = arguments;
            let chosen = interpreter.context.selected.checked_sub(1).map(|chosen| ActionId(chosen as u32));
            let chosen = chosen.filter(|_| table.follows && Some(action) == info.select);
            let chosen = chosen.and_then(|chosen| info.actions.iter().position(|action| *action == chosen));
            table.next[chosen.unwrap_or(position)]
        }
        None => table.next_default,
    };
    if row == 0 { table.next_miss } else { table.next_hit }.unwrap_or(next)
}

/// Records a look-up, which found this row.
fn record(interpreter: &mut Interpreter<'_>, state: &TableState, table: u32, row: u32, node: u32) {
    let program = interpreter.program;
    let info = &program.tables[table as usize];
    let action = state.action(row).map(|position| &program.actions[info.actions[position].index()]);
    let Some(recording) = &mut interpreter.externs.recording else { return };
    let at = program.names.nodes[node as usize].1.to_string();
    // p4c makes a table without a key of a statement between tables.
    if let (true, true, Some(action)) = (info.key.is_empty(), info.const_default, action) {
        return recording.step(action.step(&[], at));
    }
    let key = info.key.iter().zip(state.shape.values(&interpreter.externs.key));
    recording.step(Step::Table {
        table: info.name.clone(),
        key: key.map(|(f, value)| (f.name.clone(), shown(&f.name, f.width, &value))).collect(),
        hit: row != 0,
        action: action.map_or_else(String::new, |action| action.name.clone()),
        arguments: action
            .map_or_else(Vec::new, |action| action.shown(&state.arguments(row).collect::<Vec<_>>())),
        at,
    });
}
