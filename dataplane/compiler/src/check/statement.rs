//! Statements (P4_16 specification, section 12).

use std::rc::Rc;

use super::constant::Value;
use super::expression::{condition_of, Typed};
use super::scope::Entity;
use super::types::Type;
use super::{Checker, Place};
use crate::source::Span;
use crate::syntax::tree::{
    Binary, Case, DeclarationKind, Expression, ExpressionKind, Statement, StatementKind,
};

impl<'t> Checker<'t, '_> {
    /// Checks a block (section 12.3).
    pub fn block(&mut self, block: &'t [Statement]) {
        self.scoped(|checker| checker.statements(block));
    }

    pub fn statements(&mut self, statements: &'t [Statement]) {
        let mut behind = statements.iter().skip_while(|one| !one.ends(true)).skip(1);
        let never = behind.find(|one| !matches!(one.kind, StatementKind::Empty));
        for statement in statements {
            if never.is_some_and(|never| std::ptr::eq(never, statement)) {
                self.warning(statement.span, "this is never reached");
            }
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'t Statement) {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Empty => {}
            StatementKind::Assign { left, operator, right } => self.assignment(span, left, *operator, right),
            StatementKind::Call(call) => {
                self.expression(call, None);
            }
            StatementKind::Block(block) => self.block(block),
            // Section 12.6.
            StatementKind::If { condition, then, otherwise } => {
                self.truth(condition);
                if matches!((&then.kind, otherwise), (StatementKind::Empty, None)) {
                    self.warning(then.span, "this `;` is all that depends on the condition");
                }
                std::iter::once(then).chain(otherwise).for_each(|branch| self.alone(branch));
            }
            StatementKind::Switch { on, cases } => self.switch(span, on, cases),
            // Loops are of the draft after 1.2.5.
            StatementKind::For { start, condition, step, body } => self.scoped(|checker| {
                checker.statements(start);
                checker.truth(condition);
                checker.statements(step);
                checker.looped(body);
            }),
            StatementKind::ForIn { of, ident, items, body } => {
                let of = self.type_reference(of);
                self.items(items, &of);
                self.scoped(|checker| {
                    checker.declare_local(ident, Entity::Value(Typed::variable(of)));
                    checker.looped(body);
                });
            }
            StatementKind::Return(value) => self.returned(span, value.as_ref()),
            // Section 12.5.
            StatementKind::Exit => {
                if matches!(self.place, Place::Parser | Place::Function(_)) {
                    self.error(span, "`exit` is for controls and actions");
                }
            }
            StatementKind::Break | StatementKind::Continue => {
                if self.loops == 0 {
                    self.error(span, "`break` and `continue` are for loops");
                }
            }
            StatementKind::Declaration(declaration) => {
                if matches!(declaration.kind, DeclarationKind::Instance { .. }) {
                    let message = "an instance is declared outside of the statements that use it";
                    self.error(declaration.span, message);
                }
                self.declaration(declaration);
            }
        }
    }

    /// A statement that is a block of its own: the branch of an `if`.
    fn alone(&mut self, statement: &'t Statement) {
        if let StatementKind::Declaration(one) = &statement.kind {
            self.error(one.span, "a declaration is in a block, where its name is used").help("`{ ... }`");
        }
        self.scoped(|checker| checker.statement(statement));
    }

    fn looped(&mut self, body: &'t Statement) {
        self.loops += 1;
        self.alone(body);
        self.loops -= 1;
    }

    /// The condition of an `if` or a loop (section 12.6).
    fn truth(&mut self, condition: &'t Expression) {
        let of = self.expression(condition, Some(&Type::Bool)).of;
        if matches!(of, Type::Bool | Type::Wrong) {
            return;
        }
        error!(self, condition.span, "a condition is true or false, and this is {of}").help =
            condition_of(&of).map(str::to_owned);
    }

    /// `left = right`, or with an operator (section 12.1, and the draft after 1.2.5).
    fn assignment(
        &mut self, span: Span, left: &'t Expression, operator: Option<Binary>, right: &'t Expression,
    ) {
        let target = self.expression(left, None);
        if !target.writable && !target.of.is_wrong() {
            return self.not_writable(left);
        }
        match operator {
            None => {
                self.value_of(right, &target.of);
            }
            Some(operator) => {
                let of = self.operation(operator, span, (left, target.clone()), right).of;
                self.same_type(span, &of, &target.of);
            }
        }
    }

    /// Tells that something cannot be assigned to (section 6.7).
    fn not_writable(&mut self, left: &'t Expression) {
        let error = self.diagnostics.error(left.span, "this cannot be assigned to");
        let Some(path) = left.base() else { return };
        if let Some(found) = self.scopes.find(&path.ident.name, path.absolute) {
            error
                .declared(&path.ident.name, found.span)
                .help("constants, and parameters that are not `out` or `inout`, keep their value");
        }
    }

    /// `return` (section 12.4).
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
                error!(self, span, "this function returns a value of type {wants}");
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
            self.facts.types.insert(items.id, Type::Set(Rc::new(of.clone())));
            return;
        }
        let wants = Type::List(Rc::new(of.clone()));
        let literal = matches!(items.kind, ExpressionKind::List { .. });
        match self.expression(items, literal.then_some(&wants)).of {
            Type::List(element) | Type::Array(element, _) => self.same_type(items.span, &element, of),
            Type::Wrong => {}
            other => {
                error!(self, items.span, "`for` goes through lists, arrays and ranges, not {other}");
            }
        }
    }

    /// `switch` (section 12.7); labels differ, and `default` is the last one (section 12.7.3).
    fn switch(&mut self, span: Span, on: &'t Expression, cases: &'t [Case]) {
        if self.place == Place::Parser {
            self.error(span, "parsers choose with `transition select`, not with `switch`");
        }
        let of = self.expression(on, None).of;
        if self.place == Place::Action && of == Type::ActionRun {
            self.error(span, "actions do not apply tables");
        }
        let has_cases = matches!(of, Type::Bits { .. } | Type::Enum(_) | Type::Error | Type::ActionRun);
        if !has_cases && !of.is_wrong() {
            let message = format!("`switch` chooses by numbers, enums, errors and actions, not by {of}");
            let error = self.error(on.span, message);
            if of == Type::Applied {
                error.help("`.action_run` says which action ran");
            }
            return;
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
        cases.iter().filter_map(|case| case.body.as_ref()).for_each(|body| self.block(body));
    }

    /// The label of a case (section 12.7.2).
    fn label(&mut self, on: &'t Expression, of: &Type, label: &'t Expression, seen: &mut Vec<(Value, Span)>) {
        let value = if *of == Type::ActionRun {
            self.action_label(on, label)
        } else if of.is_wrong() {
            None
        } else {
            self.constant_of(label, of, "the label of a case is a constant").value
        };
        let Some(value) = value else { return };
        if let Some((_, first)) = seen.iter().find(|(other, _)| *other == value) {
            self.error(label.span, "this case is there twice").note(*first, "the first one");
        }
        seen.push((value, label.span));
    }
}
