//! Statements (section 12).

use super::cursor::{Parsed, Parser, Told, BLOCK};
use super::tree::{Binary, Block, Case, ExpressionKind, Ident, Statement, StatementKind, Type};

/// Words that begin statements, and what stands behind them, as `OUTER`. A call is no `switch`.
const STATEMENTS: &str = "switch ( return ; return _; exit ; const bit";

impl Parser<'_> {
    /// `{ ... }`, a scope of its own (section 12.3); `after` says behind what it belongs.
    pub fn block(&mut self, after: &str) -> Parsed<Block> {
        self.annotations()?;
        let statements = self.scoped(|parser| parser.braces(after, BLOCK, Self::statement))?;
        if self.begins_local() {
            self.open = false;
        }
        Ok(statements)
    }

    /// Whether a declaration of a control or parser begins here, which is no statement.
    pub fn begins_local(&self) -> bool {
        let named = matches!(&*self.word().text, "table" | "action" | "state")
            && self.name_ahead(1)
            && !self.ahead(2).is(".");
        self.word().first && (named || self.at("apply") && self.ahead(1).is("{"))
    }

    /// A statement of any kind (section 12).
    pub fn statement(&mut self) -> Parsed<Statement> {
        self.nested(|parser| {
            let start = parser.span();
            let kind = parser.statement_kind()?;
            Ok(Statement { kind, span: start.to(parser.last()) })
        })
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind> {
        let before = self.place;
        let annotations = self.annotations()?;
        let is_call = self.name_ahead(0)
            && self.ahead(1).is("(")
            && self.sees(|parser| {
                parser.advance();
                parser.arguments()?;
                Ok(parser.at(";"))
            });
        let kind = match &*self.beginning(&STATEMENTS[if is_call { 9 } else { 0 }..]) {
            "{" => {
                self.place = before;
                return Ok(StatementKind::Block(self.block("a statement")?));
            }
            "while" if self.ahead(1).is("(") => {
                self.error(self.span(), "P4 has no `while`").help(
                    "`for (int<8> i = 0; i < 8; i = i + 1)`, or a parser whose state comes back to itself",
                );
                return Err(Told);
            }
            "if" => return self.condition(),
            "switch" => return self.switch(),
            "for" => return self.for_loop(),
            "const" => return Ok(StatementKind::Declaration(self.annotated(annotations, Self::constant)?)),
            ";" => StatementKind::Empty,
            "return" => {
                self.advance();
                StatementKind::Return(if self.at(";") { None } else { Some(self.value()?) })
            }
            "exit" | "break" | "continue" => match &*self.advance().text {
                "exit" => StatementKind::Exit,
                "break" => StatementKind::Break,
                _ => StatementKind::Continue,
            },
            _ if self.declares() && !self.sees(Self::direct_application) => {
                let declaration = self.annotated(annotations, Self::variable_or_instance)?;
                return Ok(StatementKind::Declaration(declaration));
            }
            _ => self.assignment_or_call()?,
        };
        self.semicolon("a statement")?;
        Ok(kind)
    }

    /// `Type(...)` without a name behind it is a call (section 15.1); so is `Type.apply(...)`.
    fn direct_application(&mut self) -> Parsed<bool> {
        self.known_type()?;
        Ok(self.at("(") && self.arguments().is_ok() && !self.name_ahead(0))
    }

    /// `if` (section 12.6).
    fn condition(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let condition = self.in_parentheses("the condition of", "`if`")?;
        let then = Box::new(self.statement()?);
        self.beginning("else { else if");
        let is_word = ["elif", "elseif", "elsif"].contains(&&*self.text()) && self.ahead(1).is("(");
        if is_word {
            self.error(self.span(), format!("P4 has no `{}`", self.text())).help("`else if`");
            self.words[self.place].text = "if".into();
        }
        let has_other = is_word || self.eat("else");
        let otherwise = if has_other { Some(Box::new(self.statement()?)) } else { None };
        Ok(StatementKind::If { condition, then, otherwise })
    }

    /// `switch` (section 12.7).
    fn switch(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let on = self.in_parentheses("the expression of", "`switch`")?;
        let mut told = false;
        let cases = self.braces("the expression of `switch`", "the cases of `switch`", |parser| {
            parser.label();
            let label = if parser.at("default") { parser.key()? } else { parser.value()? };
            parser.expect(":", "the label of a case, as in `a: b: { ... }`")?;
            let body = if parser.at("{") || parser.at("@") { Some(parser.block("a label")?) } else { None };
            if body.is_none() && !parser.ends_case() {
                if !std::mem::replace(&mut told, true) {
                    let message = "the statements of a case are in braces";
                    parser.error(parser.span(), message).help("`label: { ... }`");
                }
                while !parser.ends_case() {
                    parser.advance();
                }
            }
            Ok(Case { label, body })
        })?;
        Ok(StatementKind::Switch { on, cases })
    }

    /// Whether another case is at hand, or none.
    fn ends_case(&mut self) -> bool {
        let ends = self.at("}") || self.at_end() || self.at("default") || self.at("case");
        ends || self.sees(|parser| Ok(parser.value().is_ok() && parser.at(":")))
    }

    fn for_loop(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.expect("(", "`for`")?;
        self.scoped(|parser| {
            if let Some((of, ident)) = parser.attempt(Self::for_each) {
                parser.scopes.declare(&ident.name, false);
                let items = parser.value()?;
                let items = parser.mask_or_range(items)?;
                parser.expect(")", "what `for` goes through")?;
                return Ok(StatementKind::ForIn { of, ident, items, body: Box::new(parser.statement()?) });
            }
            let start = parser.for_statements(";")?;
            let condition = parser.value()?;
            parser.expect(";", "the condition of `for`")?;
            let step = parser.for_statements(")")?;
            Ok(StatementKind::For { start, condition, step, body: Box::new(parser.statement()?) })
        })
    }

    fn for_each(&mut self) -> Parsed<(Type, Ident)> {
        self.annotations()?;
        let of = self.type_reference()?;
        let ident = self.name("the variable of `for`")?;
        self.expect("in", "the variable of `for`")?;
        Ok((of, ident))
    }

    fn for_statements(&mut self, close: &str) -> Parsed<Vec<Statement>> {
        self.list(close, "the statements of `for`", |parser| {
            let start = parser.span();
            let annotations = parser.annotations()?;
            let kind = if parser.declares() {
                StatementKind::Declaration(parser.annotated(annotations, Self::variable)?)
            } else {
                parser.assignment_or_call()?
            };
            Ok(Statement { kind, span: start.to(parser.last()) })
        })
    }

    /// `left = right` or a call, without its `;` (sections 12.1 and 8.20).
    fn assignment_or_call(&mut self) -> Parsed<StatementKind> {
        let left = self.postfix()?;
        match self.assignment() {
            Some((operator, words)) => {
                self.place += words;
                Ok(StatementKind::Assign { left, operator, right: self.value()? })
            }
            None if matches!(left.kind, ExpressionKind::Call { .. }) => Ok(StatementKind::Call(left)),
            None => self.unexpected("`=` or the arguments of a call"),
        }
    }

    /// The operator of the assignment at hand, none for `=`; and how many words it is.
    fn assignment(&self) -> Option<(Option<Binary>, usize)> {
        let (text, words) = self.symbol();
        match text.strip_suffix('=')? {
            "" => Some((None, words)),
            "<" | ">" => None,
            text => Some((Some(Binary::ALL.iter().find(|(one, ..)| *one == text)?.1), words)),
        }
    }
}
