//! Statements (P4_16 specification, section 12): nested still, with loops unrolled.

use num_bigint::BigInt;

use super::assign::binary;
use super::ir::{Expr, Label, Outcome, Statement as Made, StatementKind as Kind};
use super::value::{Binding, Value};
use super::{Lowered, Lowering, Place};
use crate::check::constant;
use crate::check::table::applied;
use crate::check::types::Type;
use crate::check::Target;
use crate::source::Name;
use crate::syntax::tree::{
    Binary, Case, Declaration, DeclarationKind, Expression, ExpressionKind, Statement, StatementKind, Unary,
};

/// The most rounds of a loop.
const MOST_ROUNDS: usize = 10_000;

pub const UNKNOWN: &str = "the rounds of this loop are not known to the compiler";

/// The targets of `return`, `break` and `continue`.
#[derive(Clone, Default)]
pub struct Leaves {
    end: Label,
    /// The place of a returned value, and its type.
    result: Option<(Value, Type)>,
    /// `break` and `continue`, and the number of counters outside of the loop.
    around: Option<(Label, Label, usize)>,
    /// Whether code behind an `exit` is left out. p4c has it in P4Info if its control has no `return`.
    exits: bool,
    /// The branches around that may not be taken.
    branches: usize,
}

impl Leaves {
    /// Whether the statement at hand may be left out.
    pub fn is_conditional(&self) -> bool {
        self.branches > 0
    }
}

/// The parts of a `for` statement.
#[derive(Clone, Copy)]
struct Loop<'t> {
    start: &'t [Statement],
    condition: &'t Expression,
    step: &'t [Statement],
    body: &'t Statement,
}

/// The labels of one block of a `switch`.
type Group<'t> = (Vec<&'t Expression>, &'t [Statement]);

impl<'t> Lowering<'t, '_> {
    pub fn label(&mut self) -> Label {
        self.labels += 1;
        self.labels
    }

    /// The body of a function, action or control where it is called; `return` ends it (section 12.4).
    pub fn inlined(&mut self, body: &'t [Statement], result: Option<(Value, Type)>) -> Lowered<()> {
        let end = self.label();
        let has_objects = self.place == Place::Control && !self.environment.is_open();
        let exits = !has_objects || body.iter().any(Statement::returns);
        let leaves = Leaves { end, result, around: None, exits, branches: self.leaves.branches };
        let make = |lowering: &mut Self| lowering.code(|one| one.block(|one| one.statements(body)));
        let statements = self.with(|lowering| &mut lowering.leaves, leaves, make)?;
        self.emit(Kind::Labelled(end, statements));
        Ok(())
    }

    pub fn statements(&mut self, statements: &'t [Statement]) -> Lowered<()> {
        let last = statements.iter().position(|one| one.ends(self.leaves.exits));
        let statements = &statements[..last.map_or(statements.len(), |last| last + 1)];
        statements.iter().try_for_each(|one| self.statement(one))
    }

    fn made(&self, kind: Kind) -> Made {
        Made { kind, span: self.span }
    }

    fn statement(&mut self, statement: &'t Statement) -> Lowered<()> {
        self.at(statement.span, |lowering| lowering.statement_here(statement))
    }

    fn statement_here(&mut self, statement: &'t Statement) -> Lowered<()> {
        match &statement.kind {
            StatementKind::Empty => {}
            StatementKind::Assign { left, operator, right } => self.assignment(left, *operator, right)?,
            StatementKind::Call(call) => {
                if let Value::Applied(table) = self.value(call)? {
                    self.emit(Kind::Apply { table, then: Outcome::Same });
                }
            }
            StatementKind::Block(block) => self.block(|lowering| lowering.statements(block))?,
            StatementKind::If { condition, then, otherwise } => {
                self.condition(condition, then, otherwise.as_deref())?;
            }
            StatementKind::Switch { on, cases } => self.switch(on, cases)?,
            StatementKind::For { start, condition, step, body } => {
                self.counted(Loop { start, condition, step, body })?;
            }
            StatementKind::ForIn { of, ident, items, body } => {
                let of = self.type_of(of.id);
                self.each(&ident.name, &of, items, body)?;
            }
            StatementKind::Return(value) => {
                if let (Some(value), Some((place, of))) = (value, self.leaves.result.clone()) {
                    let result = self.value(value)?;
                    self.assign(&place, &result, &of)?;
                }
                self.emit(Kind::Leave(self.leaves.end));
            }
            // Section 12.5: all calls around end, and copy their results back.
            StatementKind::Exit => {
                for passed in self.pending.clone().iter().rev() {
                    self.copy_back(passed)?;
                }
                self.emit(Kind::Exit);
            }
            StatementKind::Break | StatementKind::Continue => {
                let is_break = matches!(statement.kind, StatementKind::Break);
                let Some((end, next, outside)) = self.leaves.around else { return Ok(()) };
                self.emit(Kind::Leave(if is_break { end } else { next }));
                if is_break {
                    // The rest of the loop may be left out, where its own counters are not needed any more.
                    self.counters[..outside].iter_mut().for_each(|(_, around, _)| *around = usize::MAX);
                } else {
                    // The rest of the round may be.
                    self.leaves.branches += 1;
                }
            }
            StatementKind::Declaration(one) => {
                self.at(one.span, |lowering| lowering.local(one, None))?;
            }
        }
        Ok(())
    }

    /// The place is known before the right side has effects (section 12.1).
    fn assignment(
        &mut self, left: &'t Expression, operator: Option<Binary>, right: &'t Expression,
    ) -> Lowered<()> {
        let of = self.type_of(left.id);
        let mut place = self.value(left)?;
        let mut first = place.clone();
        let mut value = self.value_after(right, |lowering, _| {
            place = lowering.settled(&place)?;
            first = if operator.is_some() { lowering.save(&place, &of)? } else { place.clone() };
            Ok(())
        })?;
        if let Some(operator) = operator {
            value = self.arithmetic(operator, left, right, (&first, &value), &of)?;
        }
        match &left.kind {
            // The variable of a loop has a value that is known.
            ExpressionKind::Name(path) if place.constant().is_some() => {
                let name = &path.ident.name;
                let counter = self.counters.iter().rev().find(|(counter, ..)| counter == name).cloned();
                match counter {
                    Some((_, around, outside))
                        if around == self.leaves.branches && value.constant().is_some() =>
                    {
                        self.assign_parts(&outside, &value, &of)?;
                        self.environment.rebind(name, Binding::Value(value));
                        Ok(())
                    }
                    _ => self.refuse(UNKNOWN),
                }
            }
            _ => self.assign(&place, &value, &of),
        }
    }

    /// `if` (section 12.6)
    fn condition(
        &mut self, condition: &'t Expression, then: &'t Statement, otherwise: Option<&'t Statement>,
    ) -> Lowered<()> {
        if let Some((call, hit)) = self.hit(condition) {
            let Value::Applied(table) = self.value(call)? else { return self.refuse("no table") };
            let (then, otherwise) = self.branches(then, otherwise)?;
            let (then, otherwise) = if hit { (then, otherwise) } else { (otherwise, then) };
            self.emit(Kind::Apply { table, then: Outcome::Hit(then, otherwise) });
            return Ok(());
        }
        let truth = self.expr(condition)?;
        if let Expr::Bool(truth) = truth {
            let taken = if truth { Some(then) } else { otherwise };
            return taken.map_or(Ok(()), |taken| self.block(|one| one.statement(taken)));
        }
        let (then, otherwise) = self.branches(then, otherwise)?;
        self.at(condition.span, |lowering| lowering.emit(Kind::If(truth, then, otherwise)));
        Ok(())
    }

    /// `table.apply().hit`, `.miss`, `!` of them (section 14.2.2): the call, and whether a hit is true.
    fn hit(&self, condition: &'t Expression) -> Option<(&'t Expression, bool)> {
        match &condition.kind {
            ExpressionKind::Member(call, member) => {
                let is_table = matches!(self.facts.calls.get(&call.id)?.target, Target::Table(_));
                let in_control = self.place == Place::Control;
                (is_table && in_control).then(|| (&**call, &*member.name == "hit"))
            }
            ExpressionKind::Unary(Unary::Not, inner) => self.hit(inner).map(|(call, hit)| (call, !hit)),
            _ => None,
        }
    }

    fn branches(
        &mut self, then: &'t Statement, otherwise: Option<&'t Statement>,
    ) -> Lowered<(Vec<Made>, Vec<Made>)> {
        let then = self.maybe(|lowering| lowering.statement(then))?;
        let otherwise = otherwise.map(|one| self.maybe(|lowering| lowering.statement(one)));
        Ok((then, otherwise.transpose()?.unwrap_or_default()))
    }

    /// The statements of a branch that may not be taken, in a block of its own.
    fn maybe(&mut self, make: impl FnOnce(&mut Self) -> Lowered<()>) -> Lowered<Vec<Made>> {
        self.leaves.branches += 1;
        let made = self.code(|lowering| lowering.block(make));
        self.leaves.branches -= 1;
        made
    }

    /// `switch` (section 12.7)
    fn switch(&mut self, on: &'t Expression, cases: &'t [Case]) -> Lowered<()> {
        // A label without a block shares that of the next (section 12.7.3).
        let mut groups: Vec<Group<'t>> = Vec::new();
        let mut labels = Vec::new();
        for case in cases {
            labels.push(&case.label);
            if let Some(body) = &case.body {
                groups.push((std::mem::take(&mut labels), body));
            }
        }
        match applied(on) {
            Some(call) => self.switch_on_action(call, groups),
            None => self.switch_on_value(on, groups),
        }
    }

    /// `switch (table.apply().action_run)` (section 12.7.1)
    fn switch_on_action(&mut self, call: &'t Expression, groups: Vec<Group<'t>>) -> Lowered<()> {
        let Value::Applied(table) = self.value(call)? else { return self.refuse("no table") };
        let (mut by_action, mut rest) = (Vec::new(), Vec::new());
        for (labels, block) in groups {
            let statements = self.maybe(|lowering| lowering.statements(block))?;
            for label in labels {
                if let ExpressionKind::Name(path) = &label.kind {
                    let action = self.program.tables[table].action(&path.ident.name);
                    by_action.extend(action.map(|action| (action, statements.clone())));
                } else {
                    rest = statements.clone();
                }
            }
        }
        self.emit(Kind::Apply { table, then: Outcome::Actions(by_action, rest) });
        Ok(())
    }

    /// `switch (value)` (section 12.7.2)
    fn switch_on_value(&mut self, on: &'t Expression, groups: Vec<Group<'t>>) -> Lowered<()> {
        let of = self.converted_type(on);
        let value = self.value(on)?;
        let value = self.save(&value, &of)?;
        let mut made = Vec::new();
        for (labels, block) in groups {
            let mut matches = Some(Vec::new());
            for label in labels {
                match (&label.kind, &mut matches) {
                    (ExpressionKind::Any, _) => matches = None,
                    (_, Some(matches)) => {
                        let constant = self.value(label)?;
                        matches.push(self.equal(&value, &constant, &of)?);
                    }
                    (_, None) => {}
                }
            }
            let matches =
                matches.and_then(|all| all.into_iter().reduce(|one, other| binary("or", one, other)));
            made.push((matches, self.maybe(|lowering| lowering.statements(block))?));
        }
        let rest = made.into_iter().rev().fold(Vec::new(), |rest, (matches, statements)| match matches {
            None => statements,
            Some(condition) => vec![self.made(Kind::If(condition, statements, rest))],
        });
        self.out.extend(rest);
        Ok(())
    }

    /// `for (start; condition; step) body`: its rounds are unrolled, or if the compiler does not know them,
    /// an action jumps back.
    fn counted(&mut self, parts: Loop<'t>) -> Lowered<()> {
        let (begin, told, known) = (self.out.len(), self.diagnostics.len(), self.counters.clone());
        let unrolled = self.block(|lowering| lowering.unrolled(parts));
        self.counters.clone_from(&known);
        let unknown = self.diagnostics.iter().nth(told).is_some_and(|one| one.message == UNKNOWN);
        if unrolled.is_ok() || !unknown || !matches!(self.place, Place::Action | Place::Control) {
            return unrolled;
        }
        self.diagnostics.truncate(told);
        self.out.truncate(begin);
        self.block(|lowering| lowering.repeated(parts))?;
        self.counters = known;
        Ok(())
    }

    fn repeated(&mut self, parts: Loop<'t>) -> Lowered<()> {
        self.statements(parts.start)?;
        let (end, top) = (self.label(), self.label());
        let rounds = self.maybe(|lowering| {
            let truth = lowering.expr(parts.condition)?;
            let leave = lowering.made(Kind::Leave(end));
            lowering.emit(Kind::If(truth.negated(), vec![leave], Vec::new()));
            lowering.round(parts.body, end, lowering.counters.len())?;
            lowering.statements(parts.step)?;
            lowering.emit(Kind::Leave(top));
            Ok(())
        })?;
        let again = self.made(Kind::Again(top, rounds));
        self.emit(Kind::Labelled(end, vec![again]));
        Ok(())
    }

    /// The rounds of a loop one after the other, if they are known.
    fn unrolled(&mut self, parts: Loop<'t>) -> Lowered<()> {
        let outside = self.counters.len();
        for statement in parts.start {
            let (name, value, place, of) = match &statement.kind {
                StatementKind::Declaration(Declaration {
                    ident,
                    kind: DeclarationKind::Variable { value: Some(value), .. },
                    ..
                }) => (&ident.name, value, Value::Nothing, Type::Void),
                StatementKind::Assign { left, operator: None, right } => match &left.kind {
                    ExpressionKind::Name(path) => {
                        (&path.ident.name, right, self.value(left)?, self.type_of(left.id))
                    }
                    _ => return self.refuse_at(statement.span, UNKNOWN),
                },
                _ => return self.refuse_at(statement.span, UNKNOWN),
            };
            let first = self.value(value)?;
            if first.constant().is_none() {
                return self.refuse_at(statement.span, UNKNOWN);
            }
            self.assign(&place, &first, &of)?;
            self.bind(name, first);
            self.counters.push((name.clone(), self.leaves.branches, place));
        }
        let end = self.label();
        let rounds = self.code(|lowering| {
            for _ in 0..MOST_ROUNDS {
                match lowering.expr(parts.condition)? {
                    Expr::Bool(false) => return Ok(()),
                    Expr::Bool(true) => {}
                    _ => return lowering.refuse_at(parts.condition.span, UNKNOWN),
                }
                lowering.round(parts.body, end, outside)?;
                lowering.statements(parts.step)?;
            }
            lowering.refuse(format!("this loop has more than {MOST_ROUNDS} rounds"))
        })?;
        self.emit(Kind::Labelled(end, rounds));
        Ok(())
    }

    /// The body of a loop once.
    fn round(&mut self, body: &'t Statement, end: Label, outside: usize) -> Lowered<()> {
        let next = self.label();
        let leaves = Leaves { around: Some((end, next, outside)), ..self.leaves.clone() };
        let make = |lowering: &mut Self| lowering.code(|one| one.block(|one| one.statement(body)));
        let statements = self.with(|lowering| &mut lowering.leaves, leaves, make)?;
        self.emit(Kind::Labelled(next, statements));
        Ok(())
    }

    /// `for (name in items) body`
    fn each(&mut self, name: &Name, of: &Type, items: &'t Expression, body: &'t Statement) -> Lowered<()> {
        let values = self.items(items, of)?;
        if values.len() > MOST_ROUNDS {
            return self.refuse(format!("this loop has more than {MOST_ROUNDS} rounds"));
        }
        let (end, known) = (self.label(), self.counters.clone());
        let rounds = self.code(|lowering| {
            for value in values {
                lowering.block(|lowering| {
                    // A variable of its own: the body may write to it.
                    let mut own = value.clone();
                    if value.constant().is_none() {
                        own = lowering.temporary(of)?;
                        lowering.assign(&own, &value, of)?;
                    }
                    lowering.bind(name, own);
                    lowering.counters.push((name.clone(), lowering.leaves.branches, Value::Nothing));
                    lowering.round(body, end, known.len())
                })?;
            }
            Ok(())
        })?;
        self.counters = known;
        self.emit(Kind::Labelled(end, rounds));
        Ok(())
    }

    /// The values that a loop goes through.
    fn items(&mut self, items: &'t Expression, of: &Type) -> Lowered<Vec<Value>> {
        if let ExpressionKind::Range(low, high) = &items.kind {
            let (mut at, high) = (self.number(low, "a bound")?, self.number(high, "a bound")?);
            let mut values = Vec::new();
            while at <= high && values.len() <= MOST_ROUNDS {
                values.push(Value::number(constant::wrap(&at, of)));
                at += BigInt::from(1);
            }
            return Ok(values);
        }
        match self.value(items)? {
            value @ (Value::Group(_) | Value::Stack(_)) => {
                let parts = self.parts(&value, &self.type_of(items.id));
                Ok(parts.into_iter().map(|(part, _)| part).collect())
            }
            _ => self.refuse_at(items.span, "`for` goes through lists, arrays and ranges"),
        }
    }
}
