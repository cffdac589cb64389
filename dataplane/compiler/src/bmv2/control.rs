//! Controls as graphs: tables, conditions, and tables without keys for statements between them.

use std::collections::{HashMap, HashSet};

use serde_json::{json, Value};

use super::Writer;
use crate::lower::ir::{each_kind, is_leave, Control, Expr, Label, Outcome, Statement, StatementKind};
use crate::source::Span;

/// The node that comes next; `None` at the end of the pipeline.
type Next = Option<String>;

/// A pipeline that is being made.
#[derive(Default)]
struct Graph {
    tables: Vec<Value>,
    conditionals: Vec<Value>,
    labels: HashMap<Label, Next>,
    /// The way on after each table that is applied.
    applied: HashMap<usize, Value>,
    profiles: Vec<usize>,
}

impl Writer<'_> {
    pub fn pipeline(&mut self, name: &str, control: &Control) -> Value {
        let mut graph = Graph::default();
        let first = self.graph(&control.body, None, &mut graph);
        let profiles = graph.profiles.iter().map(|&profile| self.profile(profile)).collect::<Value>();
        let value = json!({
            "name": name, "init_table": first, "tables": graph.tables, "action_profiles": profiles,
            "conditionals": graph.conditionals,
        });
        self.placed(value, control.span)
    }

    /// The first node of statements that `next` follows.
    fn graph(&mut self, statements: &[Statement], next: Next, graph: &mut Graph) -> Next {
        let end = statements.iter().position(is_leave).map_or(statements.len(), |place| place + 1);
        let mut next = next;
        let mut run: Vec<Statement> = Vec::new();
        for statement in statements[..end].iter().rev() {
            if matches!(statement.kind, StatementKind::Operation(..)) || loops_alone(statement) {
                run.insert(0, statement.clone());
                continue;
            }
            next = self.run(&mut run, next, graph);
            next = match &statement.kind {
                StatementKind::If(condition, then, otherwise) => {
                    let yes = self.graph(then, next.clone(), graph);
                    let no = self.graph(otherwise, next.clone(), graph);
                    if yes == no {
                        yes
                    } else {
                        Some(self.conditional(condition, yes, no, statement.span, graph))
                    }
                }
                StatementKind::Labelled(label, inner) => {
                    graph.labels.insert(*label, next.clone());
                    self.graph(inner, next, graph)
                }
                StatementKind::Leave(label) => graph.labels.get(label).cloned().flatten(),
                StatementKind::Exit => None,
                StatementKind::Apply { table, then } => self.apply(*table, then, next, statement.span, graph),
                StatementKind::Again(..) => {
                    let message = "a loop that applies tables or returns has rounds that the compiler knows";
                    let error = self.diagnostics.error(statement.span, message);
                    error.help("constants as bounds, and no `return`");
                    next
                }
                StatementKind::Parse { .. } | StatementKind::Operation(..) => next,
            };
        }
        self.run(&mut run, next, graph)
    }

    fn conditional(
        &mut self, condition: &Expr, yes: Next, no: Next, span: Span, graph: &mut Graph,
    ) -> String {
        let name = format!("node_{}", self.nodes);
        let expression = self.expression(condition);
        let value = json!({"name": name, "expression": expression, "true_next": yes, "false_next": no});
        graph.conditionals.push(self.node(value, span));
        name
    }

    /// A table without keys whose action is a run of statements.
    fn run(&mut self, run: &mut Vec<Statement>, next: Next, graph: &mut Graph) -> Next {
        let statements = std::mem::take(run);
        let Some(Statement { span, .. }) = statements.first().cloned() else { return next };
        let file = &self.sources.file(span.file).path;
        let stem = file.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or("program");
        let id = self.actions.len();
        let name = format!("{}{}_{id}", stem.trim_matches(['<', '>']), self.sources.position(span).line);
        let primitives = self.primitives(&statements);
        let action = json!({"name": name, "runtime_data": [], "primitives": primitives});
        self.actions.push(self.placed(action, span));
        let table = format!("tbl_{name}");
        let value = json!({
            "name": table, "key": [], "match_type": "exact", "type": "simple", "max_size": 1024,
            "with_counters": false, "support_timeout": false, "direct_meters": null, "action_ids": [id],
            "actions": [name], "base_default_next": next, "next_tables": {&*name: next},
            "default_entry": {
                "action_id": id, "action_const": true, "action_data": [], "action_entry_const": true,
            },
        });
        graph.tables.push(self.node(value, span));
        Some(table)
    }

    fn apply(&mut self, id: usize, then: &Outcome, next: Next, span: Span, graph: &mut Graph) -> Next {
        let program = self.program;
        let table = &program.tables[id];
        let actions = || table.actions.iter().map(|one| (one.action, &program.actions[one.action].head.name));
        let mut following = json!({});
        let base = match then {
            Outcome::Same => {
                actions().for_each(|(_, name)| following[name] = json!(next));
                next
            }
            Outcome::Hit(hit, miss) => {
                let (yes, no) = (self.graph(hit, next.clone(), graph), self.graph(miss, next, graph));
                following["__HIT__"] = json!(yes);
                following["__MISS__"] = json!(no);
                no
            }
            Outcome::Actions(by_action, rest) => {
                let rest = self.graph(rest, next.clone(), graph);
                for (action, name) in actions() {
                    let own = by_action.iter().find(|(one, _)| *one == action);
                    let own = own.map_or(rest.clone(), |(_, own)| self.graph(own, next.clone(), graph));
                    following[name] = json!(own);
                }
                rest
            }
        };
        let after = json!([following, base]);
        match graph.applied.insert(id, after.clone()) {
            Some(known) if known == after => {}
            Some(_) => {
                let name = &table.head.name;
                let message =
                    format!("table `{name}` is applied at two places, and BMv2 knows one way on from it");
                self.diagnostics.error(span, message);
            }
            None => {
                graph.tables.push(self.table(id, following, base));
                let profile = table.profile.filter(|profile| !graph.profiles.contains(profile));
                graph.profiles.extend(profile);
            }
        }
        Some(table.head.name.clone())
    }
}

/// Whether it is a loop that one action can run, since tables and conditions lead back nowhere: it applies no
/// table, and leaves nothing around it.
fn loops_alone(statement: &Statement) -> bool {
    let (mut loops, mut applies) = (false, false);
    let (mut own, mut left) = (HashSet::new(), HashSet::new());
    if let StatementKind::Labelled(..) = statement.kind {
        each_kind(std::slice::from_ref(statement), &mut |kind| match kind {
            StatementKind::Again(label, _) => {
                loops = true;
                own.insert(*label);
            }
            StatementKind::Labelled(label, _) => drop(own.insert(*label)),
            StatementKind::Leave(label) => drop(left.insert(*label)),
            StatementKind::Apply { .. } => applies = true,
            _ => {}
        });
    }
    loops && !applies && left.is_subset(&own)
}
