//! Warnings about what is declared and never used, and about fields of headers that may be invalid (P4_16
//! specification, sections 8.17 and 8.25).

use std::collections::{HashMap, HashSet};

use super::Checker;
use crate::source::Span;
use crate::syntax::tree::{
    Declaration, DeclarationKind, Direction, Expression, ExpressionKind, Ident, Parameter, Path, State,
    Statement, StatementKind, Unary,
};

/// Headers known to be valid or invalid at a place, by their names as `hdr.ipv4`.
#[derive(Clone, Default)]
struct Headers {
    /// Those that the control asks about somewhere.
    asked: HashSet<String>,
    /// Those that are valid, as far as the conditions around say.
    valid: HashSet<String>,
    /// Those that were made invalid, and where.
    invalid: HashMap<String, Span>,
}

/// For each header that parsers extract, the headers that they extract before on every way there.
#[derive(Default)]
pub struct Extracted(HashMap<String, HashSet<String>>);

impl Extracted {
    pub fn note(&mut self, states: &[State]) {
        let mut before = HashMap::from([("start", HashSet::new())]);
        loop {
            let known = before.clone();
            for state in states {
                let Some(mut seen) = before.get(&*state.ident.name).cloned() else { continue };
                seen.extend(extracts(state));
                for next in state.transition.targets() {
                    let common = before.get(next).map(|old| old & &seen);
                    before.insert(next, common.unwrap_or_else(|| seen.clone()));
                }
            }
            if known == before {
                break;
            }
        }
        for state in states {
            let mut seen = before.remove(&*state.ident.name).unwrap_or_default();
            for header in extracts(state) {
                let common = self.0.get(&header).map(|old| old & &seen);
                self.0.insert(header.clone(), common.unwrap_or_else(|| seen.clone()));
                seen.insert(header);
            }
        }
    }

    /// The header that a condition asks for, and those that are valid because it is.
    fn with(&self, header: String) -> Vec<String> {
        let (base, name) = header.split_once('.').unwrap_or(("", &header));
        let others = self.0.get(name).into_iter().flatten().map(|other| format!("{base}.{other}"));
        others.chain([header.clone()]).collect()
    }
}

/// The headers that a state extracts, without the name of the parameter that has them.
fn extracts(state: &State) -> Vec<String> {
    let calls = state.statements.iter().flat_map(Statement::expressions).filter_map(|one| match &one.kind {
        ExpressionKind::Call { callee, arguments, .. } => Some((&callee.kind, arguments.first()?)),
        _ => None,
    });
    let extracts = calls
        .filter(|(callee, _)| matches!(callee, ExpressionKind::Member(_, name) if &*name.name == "extract"));
    extracts.filter_map(|(_, one)| Some(dotted(&one.value)?.split_once('.')?.1.to_owned())).collect()
}

impl<'t> Checker<'t, '_> {
    /// Tables of a control that are not applied, actions that nobody names, `out` parameters that nothing
    /// writes.
    pub fn unused(
        &mut self, control: &'t Ident, parameters: &'t [Parameter], locals: &'t [Declaration],
        apply: &'t [Statement],
    ) {
        // The names that the bodies use, and those whose values they may change.
        let (mut named, mut written) = (HashSet::new(), HashSet::new());
        let name = |path: &'t Path| &*path.ident.name;
        let bodies = locals.iter().filter_map(|local| match &local.kind {
            DeclarationKind::Action { body, .. } => Some(&body[..]),
            _ => None,
        });
        for statement in bodies.chain([apply]).flatten().flat_map(Statement::all) {
            if let StatementKind::Assign { left, .. } = &statement.kind {
                written.extend(left.base().map(name));
            }
            for one in statement.own() {
                match &one.kind {
                    ExpressionKind::Name(path) => named.extend([&*path.ident.name]),
                    ExpressionKind::Call { callee, arguments, .. } => {
                        let values = arguments.iter().map(|one| &one.value).chain([&**callee]);
                        written.extend(values.filter_map(Expression::base).map(name));
                    }
                    _ => {}
                }
            }
        }
        for local in locals {
            let DeclarationKind::Table(table) = &local.kind else { continue };
            named.extend(table.actions.iter().map(|action| &*action.path.ident.name));
            let arguments = table.actions.iter().flat_map(|action| action.arguments.iter().flatten());
            written.extend(arguments.filter_map(|one| one.value.base()).map(name));
        }
        for Declaration { ident, kind, .. } in locals.iter().filter(|one| !named.contains(&*one.ident.name)) {
            match kind {
                DeclarationKind::Table(_) => self
                    .warning(ident.span, format!("table `{ident}` is never applied"))
                    .help(format!("`{ident}.apply();`")),
                DeclarationKind::Action { .. } => {
                    self.warning(ident.span, format!("no table names action `{ident}`, and nobody calls it"))
                }
                _ => continue,
            };
        }
        for ident in parameters.iter().filter(|one| one.direction == Direction::Out).map(|one| &one.ident) {
            if !written.contains(&*ident.name) {
                let message = format!("`{ident}` is `out`, and control `{control}` never writes it");
                self.warning(ident.span, message);
            }
        }
    }

    /// Warns of fields that are used behind `setInvalid()`, or where nothing asked `isValid()` although the
    /// control does so elsewhere (section 8.17).
    pub fn validity(&mut self, apply: &'t [Statement]) {
        self.doubtful.clear();
        let expressions = apply.iter().flat_map(Statement::expressions);
        let asked = expressions.filter_map(|one| method_of(one, "isValid")).collect();
        self.valid_statements(apply, &mut Headers { asked, ..Headers::default() });
    }

    fn valid_statements(&mut self, statements: &'t [Statement], headers: &mut Headers) {
        for statement in statements {
            let own = statement.own();
            let change = |headers: &mut Headers| {
                own.iter().for_each(|one| changes(one, statement.span, headers));
            };
            match &statement.kind {
                StatementKind::Block(block) => self.valid_statements(block, headers),
                StatementKind::If { then, otherwise, .. } => {
                    let before = headers.valid.clone();
                    self.fields_in(&own, headers);
                    change(headers);
                    let mut branches = std::iter::once(&**then).chain(otherwise.as_deref());
                    let mut ends: Vec<HashSet<String>> = Vec::new();
                    for branch in branches.clone() {
                        let mut inside = headers.clone();
                        self.valid_statements(std::slice::from_ref(branch), &mut inside);
                        ends.push(inside.valid);
                    }
                    headers.invalid.clear();
                    // `if (!hdr.ipv4.isValid()) { return; }` says something about what is behind it.
                    let is_not = |one: &&Expression| matches!(one.kind, ExpressionKind::Unary(Unary::Not, _));
                    if !own.iter().any(is_not) && !branches.any(|branch| branch.ends(true)) {
                        headers.valid = before;
                    }
                    if let [one, other] = &ends[..] {
                        headers.valid.extend(one & other);
                    }
                }
                // The condition of such a call says when its fields are read.
                StatementKind::Call(call) if is_checksum(call) => {}
                StatementKind::Assign { .. } | StatementKind::Call(_) => {
                    // `isValid()` in the statement says when its fields are read.
                    let before = headers.valid.clone();
                    self.fields_in(&own, headers);
                    headers.valid = before;
                    change(headers);
                    if let StatementKind::Assign { left, .. } = &statement.kind {
                        // A header that is assigned is valid or not as the other one is.
                        headers.valid.extend(dotted(left));
                        headers.invalid.retain(|header, _| dotted(left).as_ref() != Some(header));
                    }
                }
                StatementKind::Switch { cases, .. } => {
                    change(headers);
                    for body in cases.iter().filter_map(|case| case.body.as_ref()) {
                        self.valid_statements(body, &mut headers.clone());
                    }
                    headers.invalid.clear();
                }
                StatementKind::Declaration(_) => change(headers),
                StatementKind::For { body, .. } | StatementKind::ForIn { body, .. } => {
                    headers.invalid.clear();
                    self.valid_statements(std::slice::from_ref(body), &mut headers.clone());
                }
                _ => {}
            }
        }
    }

    /// Notes the headers for which expressions ask as valid, and warns of fields of others among them.
    fn fields_in(&mut self, own: &[&'t Expression], headers: &mut Headers) {
        let asked = own.iter().filter_map(|one| method_of(one, "isValid"));
        headers.valid.extend(asked.flat_map(|header| self.extracted.with(header)));
        for field in own {
            let ExpressionKind::Member(of, name) = &field.kind else { continue };
            let is_method = matches!(&*name.name, "isValid" | "setValid" | "setInvalid");
            let Some(header) = dotted(of).filter(|_| !is_method) else { continue };
            if let Some(place) = headers.invalid.get(&header) {
                self.warning(field.span, format!("`{header}` is invalid here"))
                    .note(*place, "made invalid here");
            } else if headers.asked.contains(&header)
                && !headers.valid.contains(&header)
                && self.doubtful.insert(header.clone())
            {
                self.warning(field.span, format!("`{header}` may be invalid here"))
                    .help(format!("`if ({header}.isValid()) {{ ... }}`, as elsewhere in this control"));
            }
        }
    }
}

/// Notes what `setValid()` and `setInvalid()` do. A table, an action or a function may do anything: no header
/// is known to be invalid behind it, and none is doubtful.
fn changes(one: &Expression, span: Span, headers: &mut Headers) {
    if let Some(header) = method_of(one, "setInvalid") {
        headers.valid.remove(&header);
        headers.invalid.insert(header, span);
    } else if let Some(header) = method_of(one, "setValid") {
        headers.invalid.remove(&header);
        headers.valid.insert(header);
    } else if let ExpressionKind::Call { callee, .. } = &one.kind {
        let may_change = match &callee.kind {
            ExpressionKind::Member(_, name) => &*name.name == "apply",
            ExpressionKind::Name(path) => &*path.ident.name != "mark_to_drop",
            _ => false,
        };
        if may_change {
            headers.invalid.clear();
            headers.asked.clear();
        }
    }
}

/// Whether a call is `verify_checksum(...)` or the like.
fn is_checksum(call: &Expression) -> bool {
    let ExpressionKind::Call { callee, .. } = &call.kind else { return false };
    let ExpressionKind::Name(path) = &callee.kind else { return false };
    let name = path.ident.name.trim_end_matches("_with_payload");
    matches!(name, "verify_checksum" | "update_checksum")
}

/// The header of which a method is called.
fn method_of(one: &Expression, method: &str) -> Option<String> {
    let ExpressionKind::Call { callee, .. } = &one.kind else { return None };
    match &callee.kind {
        ExpressionKind::Member(of, name) if &*name.name == method => dotted(of),
        _ => None,
    }
}

/// `hdr.ipv4` as text.
fn dotted(of: &Expression) -> Option<String> {
    match &of.kind {
        ExpressionKind::Name(path) => Some(path.ident.name.to_string()),
        ExpressionKind::Member(of, member) => Some(format!("{}.{}", dotted(of)?, member.name)),
        _ => None,
    }
}
