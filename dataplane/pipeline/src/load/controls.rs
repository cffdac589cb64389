//! The two controls from JSON: tables and conditions, and the way between them.

use std::collections::HashSet;

use super::entries::{action_id, TableScope};
use super::expr::expression;
use super::externs::DirectMeters;
use super::json::Json;
use super::scope::Scope;
use super::tables::{next, table, Names};
use crate::error::LoadError;
use crate::program::info::{ActionInfo, TableId, TableInfo};
use crate::program::table::{ControlNode, Next, Table};

#[derive(Default)]
pub(crate) struct Controls {
    pub tables: Vec<TableInfo>,
    pub match_tables: Vec<Table>,
    pub nodes: Vec<ControlNode>,
    pub ingress: Next,
    pub egress: Next,
}

/// Reads `pipelines`.
pub(crate) fn controls(
    root: &Json<'_>, scope: &Scope, actions: &[ActionInfo], direct_meters: &DirectMeters,
) -> Result<Controls, LoadError> {
    let context = TableScope { scope, actions, direct_meters };
    let pipelines = root.get("pipelines")?;
    let mut controls = Controls::default();
    let mut seen = HashSet::new();
    for node in pipelines.items()? {
        let name = node.get("name")?;
        let start = control(&node, &context, &mut controls)?;
        match name.str()? {
            "ingress" => controls.ingress = start,
            "egress" => controls.egress = start,
            other => return Err(name.unsupported(format!("the pipeline {other:?}"))),
        }
        if !seen.insert(name.str()?) {
            return Err(name.invalid("a second pipeline of this name"));
        }
    }
    for name in ["ingress", "egress"] {
        if !seen.contains(name) {
            return Err(pipelines.dangling("pipeline", name));
        }
    }
    refuse_cycles(&controls, &pipelines)?;
    Ok(controls)
}

fn control(node: &Json<'_>, context: &TableScope<'_>, controls: &mut Controls) -> Result<Next, LoadError> {
    let tables = node.list("tables")?;
    let conditions = node.list("conditionals")?;
    let calls = node.list("action_calls")?;
    let mut names = Names::new();
    for (i, named) in tables.iter().chain(&conditions).chain(&calls).enumerate() {
        let name = named.get("name")?;
        if names.insert(name.str()?.to_owned(), (controls.nodes.len() + i) as u32).is_some() {
            return Err(name.invalid(format!("a second node {:?}", name.str()?)));
        }
    }
    for node in &tables {
        let id = TableId(controls.tables.len() as u32);
        let (info, table) = table(node, id, context, &names)?;
        controls.tables.push(info);
        controls.match_tables.push(table);
        controls.nodes.push(ControlNode::Table(id.0));
    }
    for node in &conditions {
        let condition = expression(&node.get("expression")?, context.scope, &[])?;
        let (on_true, on_false) = (next(node, "true_next", &names)?, next(node, "false_next", &names)?);
        controls.nodes.push(ControlNode::Condition { condition, on_true, on_false });
    }
    for node in &calls {
        let action = action_id(&node.get("action_id")?, context.scope)?;
        if !context.actions[action.index()].params.is_empty() {
            return Err(node.get("action_id")?.invalid("the action has parameters"));
        }
        controls.nodes.push(ControlNode::Call { action: action.0, next: next(node, "next_node", &names)? });
    }
    next(node, "init_table", &names)
}

/// Refuses controls in which a packet could go round for ever. P4 has no loops between tables.
fn refuse_cycles(controls: &Controls, place: &Json<'_>) -> Result<(), LoadError> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; controls.nodes.len()];
    for root in [controls.ingress, controls.egress].into_iter().flatten() {
        let mut path = vec![(root, successors(controls, root))];
        while let Some((node, left)) = path.last_mut() {
            marks[*node as usize] = Mark::Open;
            match left.pop() {
                Some(to) if marks[to as usize] == Mark::Open => {
                    return Err(place.invalid("tables and conditions form a cycle"));
                }
                Some(to) if marks[to as usize] == Mark::New => path.push((to, successors(controls, to))),
                Some(_) => {}
                None => {
                    marks[*node as usize] = Mark::Done;
                    path.pop();
                }
            }
        }
    }
    Ok(())
}

fn successors(controls: &Controls, node: u32) -> Vec<u32> {
    match &controls.nodes[node as usize] {
        ControlNode::Condition { on_true, on_false, .. } => on_true.iter().chain(on_false).copied().collect(),
        ControlNode::Call { next, .. } => next.iter().copied().collect(),
        ControlNode::Table(table) => {
            let table = &controls.match_tables[*table as usize];
            let ends = [table.next_hit.flatten(), table.next_miss.flatten(), table.next_default];
            table.next.iter().copied().chain(ends).flatten().collect()
        }
    }
}
