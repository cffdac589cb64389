//! Warnings about what is declared and never used.

use std::collections::HashSet;

use super::Checker;
use crate::syntax::tree::{
    Block, Declaration, DeclarationKind, Direction, Expression, ExpressionKind, Ident, Parameter,
};

/// The names that the bodies of a control use, and those whose values they may change.
#[derive(Default)]
struct Used<'t> {
    named: HashSet<&'t str>,
    written: HashSet<&'t str>,
}

impl<'t> Checker<'t, '_> {
    /// Tables of a control that are not applied, actions that nobody names, `out` parameters that nothing writes.
    pub fn unused(
        &mut self, control: &'t Ident, parameters: &'t [Parameter], locals: &'t [Declaration],
        apply: &'t Block,
    ) {
        let mut used = Used::default();
        used.block(apply);
        for local in locals {
            match &local.kind {
                DeclarationKind::Action { body, .. } => used.block(body),
                DeclarationKind::Table(table) => {
                    for action in &table.actions {
                        used.named.insert(&action.path.ident.name);
                        let arguments = action.arguments.iter().flatten();
                        used.written.extend(arguments.filter_map(|one| one.value.base()));
                    }
                }
                _ => {}
            }
        }
        for local in locals.iter().filter(|local| !used.named.contains(&*local.ident.name)) {
            let name = &local.ident.name;
            match &local.kind {
                DeclarationKind::Table(_) => self
                    .warning(local.ident.span, format!("table `{name}` is never applied"))
                    .help(format!("`{name}.apply();`")),
                DeclarationKind::Action { .. } => self.warning(
                    local.ident.span,
                    format!("no table names action `{name}`, and nobody calls it"),
                ),
                _ => continue,
            };
        }
        for ident in parameters.iter().filter(|one| one.direction == Direction::Out).map(|one| &one.ident) {
            if !used.written.contains(&*ident.name) {
                let message =
                    format!("`{}` is `out`, and control `{}` never writes it", ident.name, control.name);
                self.warning(ident.span, message);
            }
        }
    }
}

impl<'t> Used<'t> {
    fn block(&mut self, block: &'t Block) {
        let mut assigned = Vec::new();
        block.visit(&mut |one| self.expression(one), &mut |left| assigned.extend(left.base()));
        self.written.extend(assigned);
    }

    fn expression(&mut self, one: &'t Expression) {
        match &one.kind {
            ExpressionKind::Name(path) => {
                self.named.insert(&path.ident.name);
            }
            ExpressionKind::Call { callee, arguments, .. } => {
                self.written.extend(callee.base());
                self.written.extend(arguments.iter().filter_map(|argument| argument.value.base()));
            }
            _ => {}
        }
    }
}
