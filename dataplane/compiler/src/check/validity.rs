//! Warnings about fields of headers that may be invalid (P4_16 specification, section 8.18).

use std::collections::{HashMap, HashSet};

use super::Checker;
use crate::source::Span;
use crate::syntax::tree::{Block, Expression, ExpressionKind, Statement, StatementKind, Unary};

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

impl<'t> Checker<'t, '_> {
    /// Warns of fields that are used behind `setInvalid()`, or where nothing asked `isValid()` although the control
    /// does so elsewhere.
    pub fn validity(&mut self, apply: &'t Block) {
        let mut headers = Headers::default();
        apply.visit(&mut |one| headers.asked.extend(method_of(one, "isValid")), &mut |_| {});
        self.valid_statements(&apply.statements, &mut headers);
    }

    fn valid_statements(&mut self, statements: &'t [Statement], headers: &mut Headers) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Block(block) => self.valid_statements(&block.statements, headers),
                StatementKind::If { condition, then, otherwise } => {
                    let before = headers.valid.clone();
                    let (mut negated, mut visited) = (false, Vec::new());
                    condition.visit(&mut |one| {
                        visited.push(one);
                        headers.valid.extend(method_of(one, "isValid"));
                        negated |= matches!(one.kind, ExpressionKind::Unary(Unary::Not, _));
                    });
                    self.fields_in(&visited, headers);
                    for branch in std::iter::once(then).chain(otherwise) {
                        self.valid_statements(std::slice::from_ref(branch), &mut headers.clone());
                    }
                    headers.invalid.clear();
                    // `if (!hdr.ipv4.isValid()) { return; }` says something about what is behind it.
                    if !negated {
                        headers.valid = before;
                    }
                }
                StatementKind::Assign { .. } | StatementKind::Call(_) => {
                    let mut visited = Vec::new();
                    statement.visit(&mut |one| visited.push(one), &mut |_| {});
                    self.fields_in(&visited, headers);
                    visited.iter().for_each(|one| changes(one, statement.span, headers));
                }
                StatementKind::Switch { cases, .. } => {
                    for body in cases.iter().filter_map(|case| case.body.as_ref()) {
                        self.valid_statements(&body.statements, &mut headers.clone());
                    }
                    headers.invalid.clear();
                }
                StatementKind::For { body, .. } | StatementKind::ForIn { body, .. } => {
                    headers.invalid.clear();
                    self.valid_statements(std::slice::from_ref(body), &mut headers.clone());
                }
                _ => {}
            }
        }
    }

    /// Warns of fields among expressions.
    fn fields_in(&mut self, visited: &[&'t Expression], headers: &Headers) {
        for field in visited {
            let ExpressionKind::Member(of, name) = &field.kind else { continue };
            let is_method = matches!(&*name.name, "isValid" | "setValid" | "setInvalid");
            let Some(header) = dotted(of).filter(|_| !is_method) else { continue };
            if let Some(place) = headers.invalid.get(&header) {
                self.warning(field.span, format!("`{header}` is invalid here"))
                    .note(*place, "made invalid here");
            } else if headers.asked.contains(&header) && !headers.valid.contains(&header) {
                self.warning(field.span, format!("`{header}` may be invalid here"))
                    .help(format!("`if ({header}.isValid()) {{ ... }}`, as elsewhere in this control"));
            }
        }
    }
}

/// Notes what `setValid()` and `setInvalid()` do; other calls may do anything.
fn changes(one: &Expression, span: Span, headers: &mut Headers) {
    if let Some(header) = method_of(one, "setInvalid") {
        headers.valid.remove(&header);
        headers.invalid.insert(header, span);
    } else if let Some(header) = method_of(one, "setValid") {
        headers.invalid.remove(&header);
        headers.valid.insert(header);
    } else if matches!(one.kind, ExpressionKind::Call { .. }) {
        headers.invalid.clear();
    }
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
