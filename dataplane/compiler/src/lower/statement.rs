//! Statements: nested still, with loops unrolled.

use num_bigint::BigInt;

use super::assign::{binary, element_of};
use super::environment::Binding;
use super::expression::folded;
use super::ir::{Expr, Label, Outcome, Statement as Made, StatementKind as Kind};
use super::value::Value;
use super::{Lowered, Lowering, Place};
use crate::check::constant;
use crate::check::table::applied;
use crate::check::types::Type;
use crate::check::Target;
use crate::source::{Name, Span};
use crate::syntax::tree::{
    Binary, Block, Case, Declaration, DeclarationKind, Expression, ExpressionKind, Statement, StatementKind,
    Unary,
};

/// The most rounds of a loop.
const MOST_ROUNDS: usize = 10_000;

const UNKNOWN: &str = "the rounds of this loop are not known to the compiler";

/// The targets of `return`, `break` and `continue`.
#[derive(Clone)]
pub struct Leaves {
    end: Label,
    /// The place of a returned value, and its type.
    result: Option<(Value, Type)>,
    /// `break` and `continue`.
    around: Option<(Label, Label)>,
}

impl Leaves {
    pub fn to(end: Label, result: Option<(Value, Type)>) -> Self {
        Self { end, result, around: None }
    }
}

impl<'t> Lowering<'t, '_> {
    /// The statements of a body, in a block of its own.
    pub fn body(&mut self, body: &'t Block, leaves: Leaves) -> Lowered<()> {
        self.block(|lowering| lowering.statements(&body.statements, &leaves))
    }

    pub fn statements(&mut self, statements: &'t [Statement], leaves: &Leaves) -> Lowered<()> {
        for statement in statements {
            self.statement(statement, leaves)?;
        }
        Ok(())
    }

    fn statement(&mut self, statement: &'t Statement, leaves: &Leaves) -> Lowered<()> {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Empty => {}
            StatementKind::Assign { left, operator, right } => {
                self.assignment(left, *operator, right, span)?
            }
            StatementKind::Call(call) => {
                let value = self.value(call)?;
                self.applied(&value, span);
            }
            StatementKind::Block(block) => {
                self.block(|lowering| lowering.statements(&block.statements, leaves))?
            }
            StatementKind::If { condition, then, otherwise } => {
                self.condition(condition, then, otherwise.as_deref(), leaves, span)?;
            }
            StatementKind::Switch { on, cases } => self.switch(on, cases, leaves, span)?,
            StatementKind::For { start, condition, step, body } => {
                self.block(|lowering| lowering.counted(start, condition, step, body, leaves, span))?;
            }
            StatementKind::ForIn { of, ident, items, body } => {
                let of = self.type_of(of.id);
                self.each(&ident.name, &of, items, body, leaves, span)?;
            }
            StatementKind::Return(value) => {
                if let (Some(value), Some((place, of))) = (value, &leaves.result) {
                    let result = self.value(value)?;
                    self.assign(place, &result, of, span)?;
                }
                self.emit(span, Kind::Leave(leaves.end));
            }
            StatementKind::Exit => {
                for passed in self.pending.clone().iter().rev() {
                    self.copy_back(passed, span)?;
                }
                self.emit(span, Kind::Exit);
            }
            StatementKind::Break | StatementKind::Continue => {
                if let Some((end, next)) = leaves.around {
                    let to = if matches!(statement.kind, StatementKind::Break) { end } else { next };
                    self.emit(span, Kind::Leave(to));
                }
            }
            StatementKind::Declaration(declaration) => self.declared(declaration)?,
        }
        Ok(())
    }

    /// A variable or constant of a block.
    pub fn declared(&mut self, declaration: &'t Declaration) -> Lowered<()> {
        let name = &declaration.ident.name;
        match &declaration.kind {
            DeclarationKind::Variable { of, value } => {
                let of = self.type_of(of.id);
                let place = self.allocate(name, &of, declaration.span)?;
                match value {
                    Some(value) => {
                        let value = self.value(value)?;
                        self.assign(&place, &value, &of, declaration.span)?;
                    }
                    // A state of a parser may be entered again.
                    None if self.place == Place::Parser => self.clear(&place, &of, declaration.span),
                    None => {}
                }
                self.bind(name, place);
            }
            DeclarationKind::Constant { value, .. } => {
                let value = self.value(value)?;
                self.bind(name, value);
            }
            _ => return self.refuse(declaration.span, "this declaration is not supported here"),
        }
        Ok(())
    }

    fn assignment(
        &mut self, left: &'t Expression, operator: Option<Binary>, right: &'t Expression, span: Span,
    ) -> Lowered<()> {
        if let (ExpressionKind::Name(path), true) = (&left.kind, self.is_counter(left)) {
            return self.count(&path.ident.name, left, operator, right, span);
        }
        let of = self.type_of(left.id);
        let place = self.value(left)?;
        self.assign_to(&place, left, operator, right, &of, span)
    }

    /// The place is known before the right side has effects (specification, section 12.1).
    fn assign_to(
        &mut self, place: &Value, left: &'t Expression, operator: Option<Binary>, right: &'t Expression,
        of: &Type, span: Span,
    ) -> Lowered<()> {
        let (value, effects) = self.collect(|lowering| lowering.value(right))?;
        let (mut place, mut first) = (place.clone(), place.clone());
        if !effects.is_empty() {
            place = self.settled(&place, span)?;
            first = if operator.is_some() { self.save(&place, of, span)? } else { place.clone() };
            self.out.extend(effects);
        }
        let value = match operator {
            None => value,
            Some(operator) => self.arithmetic(operator, left, right, (&first, &value), of)?,
        };
        self.assign(&place, &value, of, span)
    }

    fn compound(
        &mut self, operator: Binary, left: &'t Expression, right: &'t Expression, of: &Type,
    ) -> Lowered<Value> {
        let (first, second) = (self.value(left)?, self.value(right)?);
        self.arithmetic(operator, left, right, (&first, &second), of)
    }

    /// Whether a name is a loop's variable, whose value is known.
    fn is_counter(&self, left: &Expression) -> bool {
        match &left.kind {
            ExpressionKind::Name(path) => matches!(
                self.environment.find(&path.ident.name),
                Some(Binding::Value(Value::Scalar(Expr::Number(_) | Expr::Bool(_))))
            ),
            _ => false,
        }
    }

    /// Gives a loop's variable its next value.
    fn count(
        &mut self, name: &Name, left: &'t Expression, operator: Option<Binary>, right: &'t Expression,
        span: Span,
    ) -> Lowered<()> {
        let of = self.type_of(left.id);
        let value = match operator {
            None => self.value(right)?,
            Some(operator) => self.compound(operator, left, right, &of)?,
        };
        let known = matches!(&value, Value::Scalar(expr) if folded(expr).is_some());
        if !known {
            return self.refuse(span, UNKNOWN);
        }
        self.environment.rebind(name, Binding::Value(value));
        Ok(())
    }

    fn condition(
        &mut self, condition: &'t Expression, then: &'t Statement, otherwise: Option<&'t Statement>,
        leaves: &Leaves, span: Span,
    ) -> Lowered<()> {
        if let Some((call, hit)) = self.hit(condition) {
            let Value::Applied(table) = self.value(call)? else { return self.refuse(span, "no table") };
            let (then, otherwise) = self.branches(then, otherwise, leaves)?;
            let (then, otherwise) = if hit { (then, otherwise) } else { (otherwise, then) };
            self.emit(span, Kind::Apply { table, then: Outcome::Hit(then, otherwise) });
            return Ok(());
        }
        let truth = self.expr(condition)?;
        if let Expr::Bool(truth) = truth {
            let taken = if truth { Some(then) } else { otherwise };
            return match taken {
                Some(taken) => self.block(|lowering| lowering.statement(taken, leaves)),
                None => Ok(()),
            };
        }
        let (then, otherwise) = self.branches(then, otherwise, leaves)?;
        self.emit(condition.span, Kind::If(truth, then, otherwise));
        Ok(())
    }

    /// `table.apply().hit`, `.miss`, with or without `!`: the call, and whether a hit is true.
    fn hit(&self, condition: &'t Expression) -> Option<(&'t Expression, bool)> {
        match &condition.kind {
            ExpressionKind::Member(call, member) => {
                let is_table = matches!(self.facts.calls.get(&call.id)?.target, Target::Table(_));
                (is_table && self.in_control()).then(|| (&**call, &*member.name == "hit"))
            }
            ExpressionKind::Unary(Unary::Not, inner) => self.hit(inner).map(|(call, hit)| (call, !hit)),
            _ => None,
        }
    }

    fn branches(
        &mut self, then: &'t Statement, otherwise: Option<&'t Statement>, leaves: &Leaves,
    ) -> Lowered<(Vec<Made>, Vec<Made>)> {
        let ((), then) =
            self.collect(|lowering| lowering.block(|lowering| lowering.statement(then, leaves)))?;
        let otherwise = match otherwise {
            Some(one) => {
                self.collect(|lowering| lowering.block(|lowering| lowering.statement(one, leaves)))?.1
            }
            None => Vec::new(),
        };
        Ok((then, otherwise))
    }

    fn switch(&mut self, on: &'t Expression, cases: &'t [Case], leaves: &Leaves, span: Span) -> Lowered<()> {
        // A label without a block shares that of the next.
        let mut groups: Vec<(Vec<&'t Expression>, &'t Block)> = Vec::new();
        let mut labels = Vec::new();
        for case in cases {
            labels.push(&case.label);
            if let Some(body) = &case.body {
                groups.push((std::mem::take(&mut labels), body));
            }
        }
        match applied(on) {
            Some(call) => self.switch_on_action(call, groups, leaves, span),
            None => self.switch_on_value(on, groups, leaves, span),
        }
    }

    fn switch_on_action(
        &mut self, call: &'t Expression, groups: Vec<(Vec<&'t Expression>, &'t Block)>, leaves: &Leaves,
        span: Span,
    ) -> Lowered<()> {
        let Value::Applied(table) = self.value(call)? else { return self.refuse(span, "no table") };
        let (mut by_action, mut rest) = (Vec::new(), Vec::new());
        for (labels, block) in groups {
            let ((), statements) = self.collect(|lowering| lowering.body(block, leaves.clone()))?;
            for label in labels {
                match &label.kind {
                    ExpressionKind::Any => rest = statements.clone(),
                    ExpressionKind::Name(path) => {
                        let action = self.action_of_table(table, &path.ident.name, span)?;
                        by_action.push((action, statements.clone()));
                    }
                    _ => return self.refuse(label.span, "the label is an action"),
                }
            }
        }
        self.emit(span, Kind::Apply { table, then: Outcome::Actions(by_action, rest) });
        Ok(())
    }

    fn switch_on_value(
        &mut self, on: &'t Expression, groups: Vec<(Vec<&'t Expression>, &'t Block)>, leaves: &Leaves,
        span: Span,
    ) -> Lowered<()> {
        let of = self.converted_type(on);
        let value = self.value(on)?;
        let value = self.save(&value, &of, span)?;
        let mut made: Vec<(Option<Expr>, Vec<Made>)> = Vec::new();
        for (labels, block) in groups {
            let mut matches: Option<Expr> = None;
            let mut all = false;
            for label in labels {
                if matches!(label.kind, ExpressionKind::Any) {
                    all = true;
                    continue;
                }
                let constant = self.value(label)?;
                let one = self.equal(&value, &constant, &of, span)?;
                matches = Some(match matches {
                    Some(before) => binary(Binary::Or, before, one),
                    None => one,
                });
            }
            let ((), statements) = self.collect(|lowering| lowering.body(block, leaves.clone()))?;
            made.push((if all { None } else { matches }, statements));
        }
        let mut rest = Vec::new();
        for (matches, statements) in made.into_iter().rev() {
            rest = match matches {
                None => statements,
                Some(condition) => vec![Made { kind: Kind::If(condition, statements, rest), span }],
            };
        }
        self.out.extend(rest);
        Ok(())
    }

    fn counted(
        &mut self, start: &'t [Statement], condition: &'t Expression, step: &'t [Statement],
        body: &'t Statement, leaves: &Leaves, span: Span,
    ) -> Lowered<()> {
        let (outer, told) = (self.environment.clone(), self.diagnostics.len());
        let unrolled = self.block(|lowering| lowering.unrolled(start, condition, step, body, leaves, span));
        if unrolled.is_ok() || self.place != Place::Action || self.diagnostics.len() != told + 1 {
            return unrolled;
        }
        // An action can jump back.
        self.diagnostics.truncate(told);
        self.within(super::environment::Environment::inside(&outer), |lowering| {
            lowering.statements(start, leaves)?;
            let (end, top) = (lowering.label(), lowering.label());
            let ((), rounds) = lowering.collect(|lowering| {
                let truth = lowering.expr(condition)?;
                lowering.emit(
                    span,
                    Kind::If(
                        Expr::Not(Box::new(truth)),
                        vec![Made { kind: Kind::Leave(end), span }],
                        Vec::new(),
                    ),
                );
                lowering.round(body, leaves, end, span)?;
                lowering.statements(step, leaves)?;
                lowering.emit(span, Kind::Leave(top));
                Ok(())
            })?;
            lowering.emit(span, Kind::Labelled(end, vec![Made { kind: Kind::Again(top, rounds), span }]));
            Ok(())
        })
    }

    /// The rounds of a loop one after the other, if they are known.
    fn unrolled(
        &mut self, start: &'t [Statement], condition: &'t Expression, step: &'t [Statement],
        body: &'t Statement, leaves: &Leaves, span: Span,
    ) -> Lowered<()> {
        // Variables outside of the loop, which have its values, too.
        let mut outside: Vec<(Name, Value, Type)> = Vec::new();
        for statement in start {
            let (name, value) = match &statement.kind {
                StatementKind::Declaration(Declaration {
                    ident,
                    kind: DeclarationKind::Variable { value: Some(value), .. },
                    ..
                }) => (&ident.name, value),
                StatementKind::Assign { left, operator: None, right } => match &left.kind {
                    ExpressionKind::Name(path) => {
                        let place = self.value(left)?;
                        outside.push((path.ident.name.clone(), place, self.type_of(left.id)));
                        (&path.ident.name, right)
                    }
                    _ => return self.refuse(statement.span, UNKNOWN),
                },
                _ => return self.refuse(statement.span, UNKNOWN),
            };
            match self.value(value)? {
                known @ Value::Scalar(Expr::Number(_) | Expr::Bool(_)) => self.bind(name, known),
                _ => return self.refuse(statement.span, UNKNOWN),
            }
        }
        let end = self.label();
        let ((), rounds) = self.collect(|lowering| {
            for _ in 0..MOST_ROUNDS {
                for (name, place, of) in &outside {
                    let value = lowering.name(name, false, span)?;
                    lowering.assign(place, &value, of, span)?;
                }
                match lowering.expr(condition)? {
                    Expr::Bool(false) => return Ok(()),
                    Expr::Bool(true) => {}
                    _ => return lowering.refuse(condition.span, UNKNOWN),
                }
                lowering.round(body, leaves, end, span)?;
                lowering.statements(step, leaves)?;
            }
            lowering.refuse(span, format!("this loop has more than {MOST_ROUNDS} rounds"))
        })?;
        self.emit(span, Kind::Labelled(end, rounds));
        Ok(())
    }

    /// The body of a loop once.
    fn round(&mut self, body: &'t Statement, leaves: &Leaves, end: Label, span: Span) -> Lowered<()> {
        let next = self.label();
        let inner = Leaves { around: Some((end, next)), ..leaves.clone() };
        let ((), statements) =
            self.collect(|lowering| lowering.block(|lowering| lowering.statement(body, &inner)))?;
        self.emit(span, Kind::Labelled(next, statements));
        Ok(())
    }

    fn each(
        &mut self, name: &Name, of: &Type, items: &'t Expression, body: &'t Statement, leaves: &Leaves,
        span: Span,
    ) -> Lowered<()> {
        let values: Vec<Value> = match &items.kind {
            ExpressionKind::Range(low, high) => {
                let (low, high) = (self.number(low, "a bound")?, self.number(high, "a bound")?);
                let mut values = Vec::new();
                let mut at = low;
                while at <= high && values.len() <= MOST_ROUNDS {
                    values.push(Value::number(constant::wrap(&at, of)));
                    at += BigInt::from(1);
                }
                values
            }
            _ => match self.value(items)? {
                Value::Group(parts) => parts.into_iter().map(|(_, part)| part).collect(),
                stack @ (Value::Stack(_) | Value::UnionStack(_)) => {
                    let size = match self.type_of(items.id) {
                        Type::Array(_, size) => size as usize,
                        _ => 0,
                    };
                    (0..size).map(|place| self.element(&stack, place)).collect()
                }
                _ => return self.refuse(items.span, "`for` goes through lists, arrays and ranges"),
            },
        };
        if values.len() > MOST_ROUNDS {
            return self.refuse(span, format!("this loop has more than {MOST_ROUNDS} rounds"));
        }
        let end = self.label();
        let ((), rounds) = self.collect(|lowering| {
            for value in values {
                lowering.block(|lowering| {
                    // A variable of its own: the body may write to it.
                    let known = matches!(&value, Value::Scalar(expr) if folded(expr).is_some());
                    let value = if known { value } else { lowering.copied(&value, of, span)? };
                    lowering.bind(name, value);
                    lowering.round(body, leaves, end, span)
                })?;
            }
            Ok(())
        })?;
        self.emit(span, Kind::Labelled(end, rounds));
        Ok(())
    }

    fn copied(&mut self, value: &Value, of: &Type, span: Span) -> Lowered<Value> {
        let of = if of.is_wrong() { element_of(of) } else { of.clone() };
        let place = self.temporary(&of, span)?;
        self.assign(&place, value, &of, span)?;
        Ok(place)
    }
}
