//! Controls, node by node.

use super::interpreter::Interpreter;
use crate::program::control::ControlNode;
use crate::program::expr::Env;
use crate::program::table::Next;
use crate::state::meter_amount;
use crate::state::table::TableState;

/// Runs a control from its first node.
pub(crate) fn run(interpreter: &mut Interpreter<'_>, tables: &mut [TableState], start: Next) {
    let program = interpreter.program;
    let mut at = start;
    while let Some(node) = at {
        at = match &program.nodes[node as usize] {
            ControlNode::Condition { condition, on_true, on_false } => {
                let env = Env { layout: &program.layout, phv: interpreter.phv, locals: &[] };
                if condition.is_true(env) {
                    *on_true
                } else {
                    *on_false
                }
            }
            ControlNode::Table(table) => apply(interpreter, &mut tables[*table as usize], *table),
            ControlNode::Call { action, next } => {
                interpreter.run(&program.bodies[*action as usize].ops, &[]);
                *next
            }
        };
        if interpreter.pass.exit {
            return;
        }
    }
}

/// Looks the packet up and runs the action of the entry, or of the default entry.
fn apply(interpreter: &mut Interpreter<'_>, state: &mut TableState, table: u32) -> Next {
    let program = interpreter.program;
    let table = &program.match_tables[table as usize];
    let found = if table.key.is_empty() {
        None
    } else {
        table.gather(interpreter.phv, &mut interpreter.externs.key);
        state.lookup(&interpreter.externs.key)
    };
    match found.and_then(|row| state.row_mut(row)) {
        Some(row) => {
            if table.counted {
                row.counter.add(interpreter.pass.received);
            }
            if let Some((unit, target)) = table.metered {
                let amount = meter_amount(unit, interpreter.pass.received);
                target.write(interpreter.phv, row.meter.colour(interpreter.pass.now, amount));
            }
            interpreter.run(&program.bodies[row.bound.action as usize].ops, &row.bound.arguments);
            table.next_hit.unwrap_or(row.bound.next)
        }
        None => {
            let next = match &state.miss {
                Some(bound) => {
                    interpreter.run(&program.bodies[bound.action as usize].ops, &bound.arguments);
                    bound.next
                }
                None => table.next_default,
            };
            table.next_miss.unwrap_or(next)
        }
    }
}
