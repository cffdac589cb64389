//! All expressions of statements, for what is looked for in many places.

use super::tree::{
    Block, DeclarationKind, Expression, ExpressionKind, Ident, Path, Statement, StatementKind, Transition,
};

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

    /// The expression and all in it, the outer ones first.
    pub fn all(&self) -> Vec<&Expression> {
        let inside = self.parts().into_iter().flat_map(Expression::all);
        std::iter::once(self).chain(inside).collect()
    }

    /// Whether two expressions are the same but for their places, as far as names, members and numbers go.
    pub fn is_like(&self, other: &Expression) -> bool {
        match (&self.kind, &other.kind) {
            (ExpressionKind::Name(one), ExpressionKind::Name(other)) => one.ident.name == other.ident.name,
            (ExpressionKind::Number(one), ExpressionKind::Number(other)) => one == other,
            (ExpressionKind::Member(_, one), ExpressionKind::Member(_, other)) if one.name != other.name => {
                false
            }
            (ExpressionKind::Record { fields, .. }, ExpressionKind::Record { fields: others, .. }) => {
                let like = |(one, value): &(Ident, Expression)| {
                    others.iter().any(|(other, same)| one.name == other.name && value.is_like(same))
                };
                fields.len() == others.len() && fields.iter().all(like)
            }
            (one, other_kind) => {
                let (parts, others) = (self.parts(), other.parts());
                std::mem::discriminant(one) == std::mem::discriminant(other_kind)
                    && parts.len() == others.len()
                    && parts.into_iter().zip(others).all(|(one, other)| one.is_like(other))
            }
        }
    }

    /// The name that members, indices and slices are taken of.
    pub fn base(&self) -> Option<&Path> {
        match &self.kind {
            ExpressionKind::Name(path) => Some(path),
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

    /// The statement and all in it.
    pub fn all(&self) -> Vec<&Statement> {
        let inside = self.parts().1.into_iter().flat_map(Statement::all);
        std::iter::once(self).chain(inside).collect()
    }

    /// The expressions in it, but for those of its statements.
    pub fn own(&self) -> Vec<&Expression> {
        self.parts().0.into_iter().flat_map(Expression::all).collect()
    }

    /// All expressions in it.
    pub fn expressions(&self) -> Vec<&Expression> {
        self.all().into_iter().flat_map(Statement::own).collect()
    }

    /// Whether a `return` is in it.
    pub fn returns(&self) -> bool {
        self.all().iter().any(|one| matches!(one.kind, StatementKind::Return(_)))
    }

    /// Whether nothing behind it is reached; `exits`: whether `exit` counts.
    pub fn ends(&self, exits: bool) -> bool {
        match &self.kind {
            StatementKind::Return(_) | StatementKind::Break | StatementKind::Continue => true,
            StatementKind::Exit => exits,
            StatementKind::Block(block) => block.iter().any(|one| one.ends(exits)),
            StatementKind::Switch { cases, .. } => {
                let ends = |body: &Block| body.iter().any(|one| one.ends(exits));
                let default = cases.last().filter(|case| matches!(case.label.kind, ExpressionKind::Any));
                default.is_some_and(|case| case.body.is_some())
                    && cases.iter().filter_map(|case| case.body.as_ref()).all(ends)
            }
            StatementKind::If { then, otherwise: Some(other), .. } => then.ends(exits) && other.ends(exits),
            _ => false,
        }
    }
}
