//! Statements (P4_16 specification, section 12).

use super::constant::Value;
use super::scope::{Entity, Variable};
use super::types::Type;
use super::{Checker, Place};
use crate::source::Span;
use crate::syntax::tree::{
    Binary, Block, Case, DeclarationKind, Expression, ExpressionKind, Statement, StatementKind,
};

impl<'t> Checker<'t, '_> {
    /// Checks a block; whether it ends the function, action or control around it, whatever happens.
    pub fn block(&mut self, block: &'t Block) -> bool {
        self.scoped(|checker| checker.statements(&block.statements))
    }

    pub fn statements(&mut self, statements: &'t [Statement]) -> bool {
        let mut ends = false;
        let mut warned = false;
        for statement in statements {
            if ends && !warned && !matches!(statement.kind, StatementKind::Empty) {
                self.warning(statement.span, "this is never reached");
                warned = true;
            }
            ends |= self.statement(statement);
        }
        ends
    }

    fn statement(&mut self, statement: &'t Statement) -> bool {
        match &statement.kind {
            StatementKind::Empty => false,
            StatementKind::Assign { left, operator, right } => {
                self.assignment(statement.span, left, *operator, right);
                false
            }
            StatementKind::Call(call) => {
                self.expression(call, None);
                false
            }
            StatementKind::Block(block) => self.block(block),
            StatementKind::If { condition, then, otherwise } => {
                self.truth(condition);
                let first = self.alone(then);
                let second = otherwise.as_ref().is_some_and(|otherwise| self.alone(otherwise));
                first && second
            }
            StatementKind::Switch { on, cases } => self.switch(statement.span, on, cases),
            StatementKind::For { start, condition, step, body } => {
                self.scopes.enter();
                self.statements(start);
                self.truth(condition);
                self.statements(step);
                self.looped(body);
                self.scopes.leave();
                false
            }
            StatementKind::ForIn { of, ident, items, body } => {
                let of = self.type_reference(of);
                self.items(items, &of);
                self.scopes.enter();
                self.declare_local(ident, Entity::Value(Variable::new(of, true)));
                self.looped(body);
                self.scopes.leave();
                false
            }
            StatementKind::Return(value) => {
                self.returned(statement.span, value.as_ref());
                true
            }
            StatementKind::Exit => {
                if matches!(self.place, Place::Parser | Place::Function(_)) {
                    self.error(statement.span, "`exit` is for controls and actions");
                }
                true
            }
            StatementKind::Break | StatementKind::Continue => {
                if self.loops == 0 {
                    self.error(statement.span, "`break` and `continue` are for loops");
                }
                true
            }
            StatementKind::Declaration(declaration) => {
                if matches!(declaration.kind, DeclarationKind::Instance { .. }) {
                    let message = "an instance is declared outside of the statements that use it";
                    self.error(declaration.span, message);
                }
                self.declaration(declaration);
                false
            }
        }
    }

    /// A statement that is a block of its own: the branch of an `if`.
    fn alone(&mut self, statement: &'t Statement) -> bool {
        self.scoped(|checker| checker.statement(statement))
    }

    fn looped(&mut self, body: &'t Statement) {
        self.loops += 1;
        self.alone(body);
        self.loops -= 1;
    }

    fn truth(&mut self, condition: &'t Expression) {
        let (_typed, of) = self.typed(condition, Some(&Type::Bool));
        if !matches!(of, Type::Bool | Type::Wrong) {
            let kind = self.spell(&of);
            let error =
                self.error(condition.span, format!("a condition is true or false, and this is {kind}"));
            if matches!(of.underlying(), Type::Bits { .. } | Type::Integer) {
                error.help("a number is compared: `x != 0`");
            } else if of == Type::Applied {
                error.help("`.hit` says whether an entry matched");
            } else if of.is_header() {
                error.help("`.isValid()` says whether the header is there");
            }
        }
    }

    fn assignment(
        &mut self, span: Span, left: &'t Expression, operator: Option<Binary>, right: &'t Expression,
    ) {
        let target = self.expression(left, None);
        if !target.writable && !target.of.is_wrong() {
            self.not_writable(left);
            return;
        }
        match operator {
            None => {
                self.value_of(right, &target.of);
            }
            Some(operator) => {
                let of = self.operation(operator, span, (left, target.clone()), right).of;
                if !self.inference.unify(&of, &target.of) {
                    self.mismatch(span, &of, &target.of);
                }
            }
        }
    }

    /// Tells that something cannot be assigned to.
    pub fn not_writable(&mut self, left: &'t Expression) {
        let mut base = left;
        while let ExpressionKind::Member(inner, _)
        | ExpressionKind::Index(inner, _)
        | ExpressionKind::Slice { value: inner, .. } = &base.kind
        {
            base = inner;
        }
        let error = self.diagnostics.error(left.span, "this cannot be assigned to");
        let ExpressionKind::Name(path) = &base.kind else { return };
        if let Some(found) = self.scopes.find(&path.ident.name, path.absolute) {
            error
                .declared(&path.ident.name, found.span)
                .help("constants, and parameters that are not `out` or `inout`, keep their value");
        }
    }

    fn returned(&mut self, span: Span, value: Option<&'t Expression>) {
        let wants = match &self.place {
            Place::Function(returns) => returns.clone(),
            Place::Parser => {
                self.error(span, "`return` is for functions, actions and controls");
                Type::Wrong
            }
            _ => Type::Void,
        };
        match (value, &wants) {
            (None, Type::Void | Type::Wrong) => {}
            (None, _) => {
                self.error(span, format!("this function returns a value of type {}", self.spell(&wants)));
            }
            (Some(value), Type::Void) => {
                self.error(value.span, "nothing is returned here");
            }
            (Some(value), _) => {
                self.value_of(value, &wants);
            }
        }
    }

    /// The values of a `for`: a list, an array or a range.
    fn items(&mut self, items: &'t Expression, of: &Type) {
        if let ExpressionKind::Range(low, high) = &items.kind {
            self.value_of(low, of);
            self.value_of(high, of);
            self.facts.types.insert(items.id, Type::Set(std::rc::Rc::new(of.clone())));
            return;
        }
        let wants = Type::List(std::rc::Rc::new(of.clone()));
        let literal = matches!(items.kind, ExpressionKind::List { .. });
        let typed = self.expression(items, literal.then_some(&wants));
        let element = match self.inference.shallow(&typed.of) {
            Type::List(element) | Type::Array(element, _) => (*element).clone(),
            Type::Wrong => return,
            other => {
                self.error(
                    items.span,
                    format!("`for` goes through lists, arrays and ranges, not {}", self.spell(&other)),
                );
                return;
            }
        };
        if !self.inference.unify(&element, of) {
            self.mismatch(items.span, &element, of);
        }
    }

    fn switch(&mut self, span: Span, on: &'t Expression, cases: &'t [Case]) -> bool {
        if self.place == Place::Parser {
            self.error(span, "parsers choose with `transition select`, not with `switch`");
        }
        let (_typed, of) = self.typed(on, None);
        if self.place == Place::Action && of == Type::ActionRun {
            self.error(span, "actions do not apply tables");
        }
        if of == Type::String {
            self.error(on.span, "`switch` chooses by numbers, enums, errors and actions, not by strings");
            return false;
        }
        let mut seen: Vec<(Value, Span)> = Vec::new();
        let mut default: Option<Span> = None;
        let before = self.diagnostics.len();
        for label in cases.iter().map(|case| &case.label) {
            if let Some(before) = default {
                self.error(label.span, "this case is behind `default`, which takes everything")
                    .note(before, "the `default`");
            }
            if matches!(label.kind, ExpressionKind::Any) {
                default = Some(label.span);
            } else {
                self.label(on, &of, label, &mut seen);
            }
        }
        self.diagnostics.explain(before, on.span, "what is chosen by");
        let mut ends = !cases.is_empty();
        for body in cases.iter().filter_map(|case| case.body.as_ref()) {
            ends &= self.block(body);
        }
        ends && default.is_some()
    }

    fn label(&mut self, on: &'t Expression, of: &Type, label: &'t Expression, seen: &mut Vec<(Value, Span)>) {
        let value = if *of == Type::ActionRun {
            self.action_label(on, label)
        } else if of.is_wrong() {
            None
        } else {
            let typed = self.value_of(label, of);
            if typed.value.is_none() && !typed.is_constant && !typed.of.is_wrong() {
                self.error(label.span, "the label of a case is a constant");
            }
            typed.value
        };
        let Some(value) = value else { return };
        if let Some((_, first)) = seen.iter().find(|(other, _)| *other == value) {
            let first = *first;
            self.error(label.span, "this case is there twice").note(first, "the first one");
        }
        seen.push((value, label.span));
    }
}
