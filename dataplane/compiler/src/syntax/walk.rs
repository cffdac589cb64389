//! All expressions of statements, for what is looked for in many places.

use super::tree::{DeclarationKind, Expression, ExpressionKind, Statement, StatementKind, Transition};

impl Expression {
    /// The expressions that an expression is made of.
    fn parts(&self) -> Vec<&Expression> {
        match &self.kind {
            ExpressionKind::Member(of, _) | ExpressionKind::Unary(_, of) | ExpressionKind::Cast(_, of) => {
                vec![of]
            }
            ExpressionKind::Index(one, other)
            | ExpressionKind::Binary(_, one, other)
            | ExpressionKind::Mask(one, other)
            | ExpressionKind::Range(one, other) => vec![one, other],
            ExpressionKind::Slice { value, high, low } => vec![value, high, low],
            ExpressionKind::Part { value, low, width } => vec![value, low, width],
            ExpressionKind::Choice { condition, then, otherwise } => vec![condition, then, otherwise],
            ExpressionKind::Call { callee, arguments, .. } => {
                std::iter::once(&**callee).chain(arguments.iter().map(|one| &one.value)).collect()
            }
            ExpressionKind::List { items, .. } => items.iter().collect(),
            ExpressionKind::Record { fields, .. } => fields.iter().map(|(_, one)| one).collect(),
            _ => Vec::new(),
        }
    }

    /// Visits the expression and those in it.
    pub fn visit<'t>(&'t self, visit: &mut dyn FnMut(&'t Expression)) {
        visit(self);
        self.parts().into_iter().for_each(|one| one.visit(visit));
    }

    /// The name that members, indices and slices are taken of.
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

impl Transition {
    /// The states that may come next.
    pub fn targets(&self) -> Vec<&str> {
        match self {
            Transition::To(target) => vec![&target.name],
            Transition::Select { cases, .. } if !cases.is_empty() => {
                cases.iter().map(|case| &*case.target.name).collect()
            }
            _ => vec!["reject"],
        }
    }
}

impl Statement {
    /// The expressions and the statements that a statement is made of.
    fn parts(&self) -> (Vec<&Expression>, Vec<&Statement>) {
        match &self.kind {
            StatementKind::Assign { left, right, .. } => (vec![left, right], Vec::new()),
            StatementKind::Call(call) => (vec![call], Vec::new()),
            StatementKind::Block(block) => (Vec::new(), block.iter().collect()),
            StatementKind::If { condition, then, otherwise } => {
                (vec![condition], std::iter::once(then).chain(otherwise).map(|one| &**one).collect())
            }
            StatementKind::Switch { on, cases } => {
                (vec![on], cases.iter().filter_map(|case| case.body.as_ref()).flatten().collect())
            }
            StatementKind::For { start, condition, step, body } => {
                (vec![condition], start.iter().chain(step).chain([&**body]).collect())
            }
            StatementKind::ForIn { items, body, .. } => (vec![items], vec![body]),
            StatementKind::Return(value) => (value.iter().collect(), Vec::new()),
            StatementKind::Declaration(declaration) => match &declaration.kind {
                DeclarationKind::Variable { value, .. } => (value.iter().collect(), Vec::new()),
                DeclarationKind::Constant { value, .. } => (vec![value], Vec::new()),
                _ => Default::default(),
            },
            _ => Default::default(),
        }
    }

    /// Whether a `return` is in it.
    pub fn returns(&self) -> bool {
        matches!(self.kind, StatementKind::Return(_)) || self.parts().1.into_iter().any(Statement::returns)
    }

    /// Whether nothing behind it is reached; `exits`: whether `exit` counts.
    pub fn ends(&self, exits: bool) -> bool {
        match &self.kind {
            StatementKind::Return(_) | StatementKind::Break | StatementKind::Continue => true,
            StatementKind::Exit => exits,
            StatementKind::Block(block) => block.iter().any(|one| one.ends(exits)),
            StatementKind::If { then, otherwise: Some(other), .. } => then.ends(exits) && other.ends(exits),
            _ => false,
        }
    }

    /// Visits all expressions; `written` sees those that are assigned to.
    pub fn visit<'t>(
        &'t self, visit: &mut dyn FnMut(&'t Expression), written: &mut dyn FnMut(&'t Expression),
    ) {
        if let StatementKind::Assign { left, .. } = &self.kind {
            written(left);
        }
        let (expressions, statements) = self.parts();
        expressions.into_iter().for_each(|one| one.visit(visit));
        statements.into_iter().for_each(|one| one.visit(visit, written));
    }
}
