//! All expressions of statements, for what is looked for in many places.

use super::tree::{Block, DeclarationKind, Expression, ExpressionKind, Statement, StatementKind};

impl Expression {
    /// Visits the expression and those in it.
    pub fn visit<'t>(&'t self, visit: &mut dyn FnMut(&'t Expression)) {
        visit(self);
        match &self.kind {
            ExpressionKind::Member(of, _) | ExpressionKind::Unary(_, of) | ExpressionKind::Cast(_, of) => {
                of.visit(visit);
            }
            ExpressionKind::Index(one, other)
            | ExpressionKind::Binary(_, one, other)
            | ExpressionKind::Mask(one, other)
            | ExpressionKind::Range(one, other) => [one, other].iter().for_each(|one| one.visit(visit)),
            ExpressionKind::Slice { value, high, low } => {
                [value, high, low].iter().for_each(|one| one.visit(visit))
            }
            ExpressionKind::Part { value, low, width } => {
                [value, low, width].iter().for_each(|one| one.visit(visit))
            }
            ExpressionKind::Choice { condition, then, otherwise } => {
                [condition, then, otherwise].iter().for_each(|one| one.visit(visit));
            }
            ExpressionKind::Call { callee, arguments, .. } => {
                callee.visit(visit);
                arguments.iter().for_each(|one| one.value.visit(visit));
            }
            ExpressionKind::List { items, .. } => items.iter().for_each(|one| one.visit(visit)),
            ExpressionKind::Record { fields, .. } => fields.iter().for_each(|(_, one)| one.visit(visit)),
            _ => {}
        }
    }

    /// The name that members, indices and slices are taken of.
    #[must_use]
    pub fn base(&self) -> Option<&str> {
        match &self.kind {
            ExpressionKind::Name(path) => Some(&path.ident.name),
            ExpressionKind::Member(of, _)
            | ExpressionKind::Index(of, _)
            | ExpressionKind::Slice { value: of, .. }
            | ExpressionKind::Part { value: of, .. } => of.base(),
            _ => None,
        }
    }
}

impl Block {
    /// Visits all expressions; `written` sees those that are assigned to.
    pub fn visit<'t>(
        &'t self, visit: &mut dyn FnMut(&'t Expression), written: &mut dyn FnMut(&'t Expression),
    ) {
        self.statements.iter().for_each(|one| one.visit(visit, written));
    }
}

impl Statement {
    pub fn visit<'t>(
        &'t self, visit: &mut dyn FnMut(&'t Expression), written: &mut dyn FnMut(&'t Expression),
    ) {
        match &self.kind {
            StatementKind::Assign { left, right, .. } => {
                written(left);
                left.visit(visit);
                right.visit(visit);
            }
            StatementKind::Call(call) => call.visit(visit),
            StatementKind::Block(block) => block.visit(visit, written),
            StatementKind::If { condition, then, otherwise } => {
                condition.visit(visit);
                std::iter::once(then).chain(otherwise).for_each(|one| one.visit(visit, written));
            }
            StatementKind::Switch { on, cases } => {
                on.visit(visit);
                cases.iter().filter_map(|case| case.body.as_ref()).for_each(|one| one.visit(visit, written));
            }
            StatementKind::For { start, condition, step, body } => {
                condition.visit(visit);
                start.iter().chain(step).for_each(|one| one.visit(visit, written));
                body.visit(visit, written);
            }
            StatementKind::ForIn { items, body, .. } => {
                items.visit(visit);
                body.visit(visit, written);
            }
            StatementKind::Return(Some(value)) => value.visit(visit),
            StatementKind::Declaration(declaration) => match &declaration.kind {
                DeclarationKind::Variable { value: Some(value), .. }
                | DeclarationKind::Constant { value, .. } => value.visit(visit),
                _ => {}
            },
            _ => {}
        }
    }
}
