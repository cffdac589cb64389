//! Statements (specification, section 12).

use super::cursor::{Parsed, Parser, Told, BLOCK};
use super::tree::{
    Binary, Block, Case, Expression, ExpressionKind, Ident, Statement, StatementKind, Type, TypeKind,
};

/// `=` and the operators of compound assignments.
const ASSIGNMENTS: [(&str, Option<Binary>); 12] = [
    ("=", None),
    ("+=", Some(Binary::Add)),
    ("-=", Some(Binary::Subtract)),
    ("*=", Some(Binary::Multiply)),
    ("/=", Some(Binary::Divide)),
    ("%=", Some(Binary::Modulo)),
    ("|+|=", Some(Binary::AddSaturating)),
    ("|-|=", Some(Binary::SubtractSaturating)),
    ("<<=", Some(Binary::ShiftLeft)),
    ("&=", Some(Binary::BitAnd)),
    ("|=", Some(Binary::BitOr)),
    ("^=", Some(Binary::BitXor)),
];

impl Parser<'_> {
    /// `{ ... }`, a scope of its own; `after` says behind what it belongs.
    pub fn block(&mut self, after: &str) -> Parsed<Block> {
        let annotations = self.annotations()?;
        let start = self.expect("{", after)?;
        let statements = self.scoped(|parser| parser.items(BLOCK, Self::statement))?;
        if self.begins_local() {
            self.open = false;
        }
        Ok(Block { annotations, statements, span: start.to(self.last()) })
    }

    /// Whether a declaration of a control or parser begins here, which is no statement.
    pub fn begins_local(&self) -> bool {
        let named = matches!(&*self.word().text, "table" | "action" | "state") && self.name_ahead(1);
        self.word().first && (named || self.at("apply") && self.ahead(1).is("{"))
    }

    pub fn statement(&mut self) -> Parsed<Statement> {
        self.nested(|parser| {
            let start = parser.span();
            let kind = parser.statement_kind()?;
            Ok(Statement { kind, span: start.to(parser.last()) })
        })
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind> {
        let before = self.mark();
        let annotations = self.annotations()?;
        let kind = match &*self.text() {
            "{" => {
                self.reset(before);
                return Ok(StatementKind::Block(self.block("a statement")?));
            }
            "while" if self.ahead(1).is("(") => {
                self.diagnostics.error(self.span(), "P4 has no `while`").help(
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
            "exit" => self.word_statement(StatementKind::Exit),
            "break" => self.word_statement(StatementKind::Break),
            "continue" => self.word_statement(StatementKind::Continue),
            _ if self.declares() && !self.sees(Self::direct_application) => {
                let declaration = self.annotated(annotations, Self::variable_or_instance)?;
                return Ok(StatementKind::Declaration(declaration));
            }
            _ => self.assignment_or_call()?,
        };
        self.semicolon("a statement")?;
        Ok(kind)
    }

    fn word_statement(&mut self, kind: StatementKind) -> StatementKind {
        self.advance();
        kind
    }

    /// `Type(...)` without a name behind it is a call; so is `Type.apply(...)`.
    fn direct_application(&mut self) -> Parsed<bool> {
        self.known_type()?;
        Ok(self.at("(") && self.arguments().is_ok() && !self.name_ahead(0))
    }

    fn condition(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let condition = self.in_parentheses("the condition of", "`if`")?;
        let then = Box::new(self.statement()?);
        let otherwise = self.behind("else", Self::statement)?.map(Box::new);
        Ok(StatementKind::If { condition, then, otherwise })
    }

    fn switch(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let on = self.in_parentheses("the expression of", "`switch`")?;
        self.expect("{", "the expression of `switch`")?;
        let cases = self.items("the cases of `switch`", |parser| {
            let label = if parser.at("default") { parser.key()? } else { parser.value()? };
            parser.expect(":", "the label of a case")?;
            let body = if parser.at("{") || parser.at("@") { Some(parser.block("a label")?) } else { None };
            Ok(Case { label, body })
        })?;
        Ok(StatementKind::Switch { on, cases })
    }

    fn for_loop(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.expect("(", "`for`")?;
        self.scoped(|parser| match parser.attempt(Self::for_each) {
            Some((of, ident)) => parser.for_in(of, ident),
            None => parser.for_steps(),
        })
    }

    fn for_each(&mut self) -> Parsed<(Type, Ident)> {
        self.annotations()?;
        let of = self.type_reference()?;
        let ident = self.name("the variable of `for`")?;
        self.expect("in", "the variable of `for`")?;
        Ok((of, ident))
    }

    fn for_in(&mut self, of: Type, ident: Ident) -> Parsed<StatementKind> {
        self.scopes.declare(&ident.name, false);
        let items = self.value()?;
        let items = self.mask_or_range(items)?;
        self.expect(")", "what `for` goes through")?;
        Ok(StatementKind::ForIn { of, ident, items, body: Box::new(self.statement()?) })
    }

    fn for_steps(&mut self) -> Parsed<StatementKind> {
        let start = self.for_statements(";")?;
        let condition = self.value()?;
        self.expect(";", "the condition of `for`")?;
        let step = self.for_statements(")")?;
        Ok(StatementKind::For { start, condition, step, body: Box::new(self.statement()?) })
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

    /// `left = right` or a call, without its `;`.
    fn assignment_or_call(&mut self) -> Parsed<StatementKind> {
        let left = self.postfix()?;
        let shifts = self.at(">") && self.ahead(1).is(">=") && !self.ahead(1).spaced;
        let operator = if shifts {
            self.advance();
            Some(Some(Binary::ShiftRight))
        } else {
            ASSIGNMENTS.iter().find(|(text, _)| self.at(text)).map(|(_, operator)| *operator)
        };
        match operator {
            Some(operator) => {
                self.advance();
                let right = self.value()?;
                Ok(StatementKind::Assign { left, operator, right })
            }
            None if matches!(left.kind, ExpressionKind::Call { .. }) => Ok(StatementKind::Call(left)),
            None => self.no_statement(&left),
        }
    }

    fn no_statement(&mut self, left: &Expression) -> Parsed<StatementKind> {
        let mistakes = [
            ("==", "`==` compares, and a comparison is no statement", "`=` assigns"),
            ("++", "P4 has no `++` and `--`", "`x = x + 1;`"),
            ("--", "P4 has no `++` and `--`", "`x = x - 1;`"),
        ];
        if let Some((_, message, help)) = mistakes.iter().find(|(text, ..)| self.at(text)) {
            self.diagnostics.error(self.span(), *message).help(*help);
            return Err(Told);
        }
        if let ExpressionKind::Type(Type { kind: TypeKind::Named(_) | TypeKind::Specialized(..), .. }) =
            &left.kind
        {
            return self.unexpected("a name behind the type, or `.apply(...)`");
        }
        self.unexpected("`=` or the arguments of a call")
    }
}
