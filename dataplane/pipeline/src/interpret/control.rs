//! Controls, node by node.

use super::machine::Machine;
use crate::control::Node;
use crate::expr::Env;
use crate::state::meter_amount;
use crate::table::{Next, TableState};

/// Runs a control from its first node.
pub(crate) fn run(machine: &mut Machine<'_>, tables: &mut [TableState], start: Next) {
    let program = machine.program;
    let mut at = start;
    while let Some(node) = at {
        at = match &program.nodes[node as usize] {
            Node::Condition { condition, on_true, on_false } => {
                let env = Env { layout: &program.layout, phv: machine.phv, locals: &[] };
                if condition.is_true(env) {
                    *on_true
                } else {
                    *on_false
                }
            }
            Node::Table(table) => apply(machine, &mut tables[*table as usize], *table),
            Node::Call { action, next } => {
                machine.run(&program.bodies[*action as usize].ops, &[]);
                *next
            }
        };
        if machine.pass.exit {
            return;
        }
    }
}

/// Looks the packet up and runs the action of the entry, or of the default entry.
fn apply(machine: &mut Machine<'_>, state: &mut TableState, table: u32) -> Next {
    let program = machine.program;
    let table = &program.match_tables[table as usize];
    let found = if table.key.is_empty() {
        None
    } else {
        table.gather(machine.phv, &mut machine.externs.key);
        state.lookup(&machine.externs.key)
    };
    match found.and_then(|row| state.row_mut(row)) {
        Some(row) => {
            if table.counted {
                row.counter.add(machine.pass.received);
            }
            if let Some((unit, target)) = table.metered {
                let amount = meter_amount(unit, machine.pass.received);
                target.write(machine.phv, row.meter.colour(machine.pass.now, amount));
            }
            machine.run(&program.bodies[row.bound.action as usize].ops, &row.bound.arguments);
            table.next_hit.unwrap_or(row.bound.next)
        }
        None => {
            let next = match &state.miss {
                Some(bound) => {
                    machine.run(&program.bodies[bound.action as usize].ops, &bound.arguments);
                    bound.next
                }
                None => table.next_default,
            };
            table.next_miss.unwrap_or(next)
        }
    }
}
